"""Which configuration is for which file of a call, and what of the findings is left by it.

Of several configurations the nearest above a file is for it, as with ruff: what is found in a file
does not depend on what else is given.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import STDIN
from eks_gpushare.findings.finding import SEVERITIES
from eks_gpushare.findings.pages import is_security
from eks_gpushare.findings.sets import KUBERNETES, set_of
from eks_gpushare.lint.declared import Declared, below, is_in_any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eks_gpushare.findings.finding import Finding, Severity
    from eks_gpushare.lint.finding_files import LintConfiguration, Threshold
    from eks_gpushare.lint.report import FileReport, Placed

_OF_GPUS: Final = re.compile(r"nvidia|gpu|cuda|karpenter|\bmig\b|mig-", re.IGNORECASE)
_UNREADABLE: Final = "GPU1000"
_OWN: Final = (".gpushare-lint.yaml", ".gpushare-lint-baseline.json")
"""What lint itself reads, which is no file of anybody's cluster."""


class Asked(NamedTuple):
    """What the command line says besides."""

    select: frozenset[str] | None = None
    """Codes in place of those that configurations select."""
    ignore: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    exclude: tuple[str, ...] = ()
    """Patterns from the folder of the call on."""
    fail_on: Threshold | None = None
    security: bool = True
    """Whether to tell how safe nodes start."""


class LintSettings:
    """The configurations of a call.

    Args:
        asked: What the command line says besides.
        config: The one configuration for all files. Default: of each file the nearest above it.
        isolated: Whether there is none.
    """

    def __init__(
        self, asked: Asked | None = None, *, config: Path | None = None, isolated: bool = False
    ) -> None:
        self._asked = asked or Asked()
        self._isolated = isolated
        self._made: dict[Path | None, LintConfiguration] = {}
        self._one = self._read(config) if config is not None else None
        self._by_folder: dict[str, LintConfiguration] = {}
        self._passed_over: Path | None = None

    def pass_over(self, file: Path) -> None:
        """Leave out a file that this command writes itself: a baseline by whatever name."""
        self._passed_over = file.absolute()

    def of(self, file: str) -> LintConfiguration:
        """The configuration of a file.

        Raises:
            ConfigurationError: If it cannot be used.
        """
        if self._one is not None:
            return self._one
        folder = "." if file == STDIN else os.path.dirname(file)  # noqa: PTH120  (once a file)
        if folder not in self._by_folder:
            self._by_folder[folder] = self.of_folder(folder)
        return self._by_folder[folder]

    def of_folder(self, folder: str) -> LintConfiguration:
        """The configuration of what lies in a folder.

        Raises:
            ConfigurationError: If it cannot be used.
        """
        if self._one is not None:
            return self._one
        if self._isolated:
            return self._read(None)
        from eks_gpushare.lint.finding_files import found_configuration

        return self._read(found_configuration(Path(os.path.abspath(folder))))  # noqa: PTH100

    def _read(self, file: Path | None) -> LintConfiguration:
        if file not in self._made:
            from eks_gpushare.lint.finding_files import LintConfiguration

            if file is None:
                made = LintConfiguration()
            else:  # its models take longer to make than most calls need for the rest
                from eks_gpushare.lint.configuration import configuration_in

                made = configuration_in(file)
            asked = self._asked
            self._made[file] = replace(
                made,
                select=made.select if asked.select is None else asked.select,
                ignore=made.ignore | asked.ignore,
                sets=made.sets | asked.sets,
                fail_on=asked.fail_on or made.fail_on,
            )
        return self._made[file]

    def leaves_out(self, file: str) -> bool:
        """Whether a file is not read."""
        if file == STDIN:
            return False
        name = os.path.basename(file)  # noqa: PTH119  (once a file)
        own = self._passed_over
        if name in _OWN or (own is not None and name == own.name and Path(file).absolute() == own):
            return True
        made = self.of(file)
        if made.exclude and is_in_any(below(file, made.folder), made.exclude):
            return True
        return bool(self._asked.exclude) and is_in_any(below(file, "."), self._asked.exclude)

    def looks_for(self, code: str) -> bool:
        """Whether the command line leaves a code in."""
        asked = self._asked
        is_selected = asked.select is None or code in asked.select
        is_security_wanted = asked.security or not is_security(code)
        return is_selected and is_security_wanted and code not in asked.ignore

    def declared(self) -> Declared:
        """How files belong together, by the configurations of those that were asked for."""
        every = [each for each in self._made.values() if each.scopes]
        parts = [
            replace(each.declared, is_for=_of(self, each) if self._one is None else None)
            for each in every
        ]
        return Declared(more=tuple(parts))

    def choose(self, report: FileReport) -> FileReport:
        """What of a file's findings counts, with the severities that it has here."""
        made = self.of(report.file)
        path = below(report.file, made.folder)
        away = made.ignore.union(
            *(codes for pattern, codes in made.by_path.items() if is_in_any(path, (pattern,)))
        )

        def is_wanted(placed: Placed) -> bool:
            code = placed.finding.code
            if code == _UNREADABLE:
                return True
            if code in away or (not self._asked.security and is_security(code)):
                return False
            if made.select is not None:
                return code in made.select
            is_on = KUBERNETES in made.sets or set_of(code) != KUBERNETES
            return is_on or _is_about_gpus(placed, report.text)

        return report._replace(
            found=tuple(
                each._replace(finding=_as_severe(each.finding, made.severities))
                for each in report.found
                if is_wanted(each)
            ),
            silenced=tuple(each for each in report.silenced if is_wanted(each.placed)),
            fails_on=None if made.fail_on == "never" else made.fail_on,
        )


def _of(settings: LintSettings, made: LintConfiguration) -> Callable[[str], bool]:
    return lambda file: settings.of(file) is made


def _as_severe(finding: Finding, severities: Mapping[str, Severity]) -> Finding:
    """A finding with the severity that its code has here.

    One that says less than its code, since something is not known, is not made to say more.
    """
    wanted = severities.get(finding.code)
    if wanted is None:
        return finding
    is_less = finding.severity != _severity_of(finding.code)
    if is_less and SEVERITIES.index(wanted) < SEVERITIES.index(finding.severity):
        return finding
    return replace(finding, severity=wanted)


@cache
def _severity_of(code: str) -> Severity | None:
    from eks_gpushare.lint.all_rules import lint_rules

    return next((rule.severity for rule in lint_rules() if rule.id == code), None)


def _is_about_gpus(placed: Placed, text: str) -> bool:
    """Whether the object of a finding says something of GPUs; of what has none, its file."""
    if placed.document is not None:
        text = json.dumps(placed.document.value, default=str)
    return _OF_GPUS.search(text) is not None


def common_folder(names: Iterable[str]) -> str:
    """The folder that all of some files and folders are in."""
    found = [
        each if Path(each).is_dir() else str(Path(each).parent)
        for each in (os.path.abspath("." if name == STDIN else name) for name in names)  # noqa: PTH100
    ]
    return os.path.commonpath(found)
