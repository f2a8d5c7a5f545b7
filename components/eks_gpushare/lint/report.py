"""What was found in the files of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.facts.index import names_of
from eks_gpushare.findings.finding import has_errors
from eks_gpushare.findings.pages import is_security

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding, Position
    from eks_gpushare.findings.silenced import Silence
    from eks_gpushare.inventory.problem import Edit
    from eks_gpushare.manifests.document import Document


class Placed(NamedTuple):
    """A finding with its place in a file."""

    finding: Finding
    position: Position | None
    """None where it is about the file as a whole."""
    document: Document | None = None
    edits: tuple[Edit, ...] = ()
    """What removes it for certain, with paths from the top of the document."""

    def as_json(self) -> dict[str, Any]:
        """As `lint --json` prints it."""
        line, column = self.position or (None, None)
        return {**self.finding.as_json(), "line": line, "column": column}


class Silenced(NamedTuple):
    """A finding that a comment of the file lets be."""

    placed: Placed
    silence: Silence

    def as_json(self) -> dict[str, Any]:
        """As `lint --json` prints it."""
        silence = self.silence
        told = {"until": str(silence.until), "reason": silence.reason}
        names = sorted(names_of(self.placed.finding.code))
        return {**self.placed.as_json(), "names": names, **told}


class FileReport(NamedTuple):
    """What was found in one file."""

    file: str
    """The file as it was given."""
    kinds: tuple[str, ...] = ()
    """What was read in it: `Kubernetes Deployment`, `Helm values of gpu-operator`."""
    found: tuple[Placed, ...] = ()
    """In the order of its lines."""
    readable: bool = True
    text: str = ""
    """The file's text; empty where it could not be read."""
    silenced: tuple[Silenced, ...] = ()
    """What comments of the file let be; none of it is in `found`."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings without their places."""
        return tuple(placed.finding for placed in self.found)

    def without_security(self) -> FileReport:
        """The same without findings on how safe something is."""
        return self._replace(
            found=tuple(placed for placed in self.found if not is_security(placed.finding.code)),
            silenced=tuple(
                silenced
                for silenced in self.silenced
                if not is_security(silenced.placed.finding.code)
            ),
        )

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return not has_errors(self.findings)

    def as_json(self) -> dict[str, Any]:
        """As `lint --json` prints it."""
        found = [placed.as_json() for placed in self.found]
        told = {"file": self.file, "ok": self.ok, "read": list(self.kinds), "findings": found}
        return {**told, "silenced": [silenced.as_json() for silenced in self.silenced]}
