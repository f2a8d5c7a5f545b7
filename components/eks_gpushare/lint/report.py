"""What was found in the files of a call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.facts.index import names_of
from eks_gpushare.findings.finding import is_at_least
from eks_gpushare.findings.pages import is_security
from eks_gpushare.inventory.problem import NotSeen
from eks_gpushare.lint.identity import cause, identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.findings.finding import Finding, Position, Severity
    from eks_gpushare.findings.silenced import Silence
    from eks_gpushare.inventory.problem import Edit, Judgement
    from eks_gpushare.manifests.document import Document


class Placed(NamedTuple):
    """A finding with its place in a file."""

    finding: Finding
    position: Position | None
    """None where it is about the file as a whole."""
    document: Document | None = None
    edits: tuple[Edit, ...] = ()
    """What removes it for certain, with paths from the top of the document."""
    identity: str = ""
    """What it is known by in later calls; empty as long as its document is held."""
    cause: str = ""
    """What findings of one cause have alike; empty as long as its document is held."""

    def light(self, lines: Sequence[str]) -> Placed:
        """The same without its document, which holds all of a file.

        Args:
            lines: Those of the file.
        """
        known_by = identity(self.finding, self.position, self.document, lines)
        alike = cause(self.finding, self.document)
        return Placed(
            self.finding, self.position, None, (), sys.intern(known_by), sys.intern(alike)
        )

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
    known: tuple[Placed, ...] = ()
    """What a baseline has; none of it is in `found`."""
    fails_on: Severity | None = "error"
    """The least severity of a finding that refuses the file; None if none does."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings without their places."""
        return tuple(each.finding for each in self.found)

    def without_security(self) -> FileReport:
        """The same without findings on how safe something is."""
        return self._replace(
            found=tuple(each for each in self.found if not is_security(each.finding.code)),
            silenced=tuple(
                each for each in self.silenced if not is_security(each.placed.finding.code)
            ),
        )

    @property
    def ok(self) -> bool:
        """Whether no finding is one that refuses the file: an error, unless somebody wants more."""
        return not any(is_at_least(each.severity, self.fails_on) for each in self.findings)

    def light(self) -> FileReport:
        """The same without the text and the documents of the file."""
        lines = self.text.splitlines()
        return self._replace(
            text="",
            found=tuple(each.light(lines) for each in self.found),
            silenced=tuple(
                each._replace(placed=each.placed.light(lines)) for each in self.silenced
            ),
        )

    def joined(self, other: FileReport) -> FileReport:
        """What two readings of the same file found, each thing once."""
        found = {(each.finding, each.position): each for each in (*self.found, *other.found)}
        silenced = {
            (each.placed.finding, each.placed.position): each
            for each in (*self.silenced, *other.silenced)
        }
        known = {(each.finding, each.position): each for each in (*self.known, *other.known)}
        return self._replace(
            kinds=tuple(dict.fromkeys((*self.kinds, *other.kinds))),
            found=tuple(sorted(found.values(), key=lambda each: each.position or (0, 0))),
            readable=self.readable and other.readable,
            silenced=tuple(silenced.values()),
            known=tuple(known.values()),
        )

    def as_json(self) -> dict[str, Any]:
        """As `lint --json` prints it."""
        found = [each.as_json() for each in self.found]
        told = {"file": self.file, "ok": self.ok, "read": list(self.kinds), "findings": found}
        told = {**told, "silenced": [each.as_json() for each in self.silenced]}
        return {**told, "known": [each.as_json() for each in self.known]} if self.known else told


def finding_of(judgement: Judgement, at: tuple[str | int, ...]) -> Finding:
    """A judgement as a finding at a place."""
    if isinstance(judgement, NotSeen):
        what = judgement.what.rstrip(".")
        message = (
            f"It cannot be decided, since something is not known: {what}. {judgement.rule.title}"
        )
        return judgement.rule.finding(at, message, "Give files with the final values.", "info")
    rule = judgement.rule
    return rule.finding(at, judgement.message, judgement.fix, judgement.severity)
