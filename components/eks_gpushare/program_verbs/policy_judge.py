"""A pack, and what it says of one stack or state in each format."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.cli import FINE, FOUND
from eks_gpushare.findings.text import wrapped
from eks_gpushare.program.policies.pack_files import PackFolder, bundled_pack, packs_beside
from eks_gpushare.program_verbs.aside import aside
from eks_gpushare.program_verbs.policy_report import (
    PolicySubject,
    as_document,
    columns,
    print_judged,
    report_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eks_gpushare.program.policies.stack_silences import StackSilence
    from eks_gpushare.program.policies.violations import Judged
    from eks_gpushare.program.recording import Recording
    from eks_gpushare.reports.report import Report


class PolicyUsageError(Exception):
    """The command cannot start; the text says why."""


class Verdict(NamedTuple):
    """What is to be said of one stack or state, in each format."""

    code: int
    name: str
    text: Callable[[], None]
    document: dict[str, Any]
    report: Callable[[], Report]
    told: bool = False
    """Whether its text stands on standard error by now."""


class PackJudge:
    """A pack with its configuration, loaded once for all stacks."""

    def __init__(self, given: str | None, config: dict[str, Any]) -> None:
        """Load the pack that was named, or that of the package: no folder beside a program counts.

        Raises:
            PolicyUsageError: If it cannot be loaded.
        """
        from eks_gpushare.program.policies.packs import PackError, load_pack

        self._folder = PackFolder.named(Path(given) if given else bundled_pack())
        self._config = config
        try:
            with aside():
                self.pack = load_pack(self._folder.directory)
        except PackError as error:
            raise PolicyUsageError(str(error)) from None

    def of(
        self,
        recording: Recording,
        subject: PolicySubject,
        program: Path,
        silences: Sequence[StackSilence] = (),
    ) -> Verdict | None:
        """What the pack says of one stack or state; None, and a message, if it stops."""
        from eks_gpushare.program.policies.coverage import coverage_of

        judged = self._judged(recording, silences)
        if judged is None:
            return None
        folder, policies = self._folder, self.pack.policies
        beside = packs_beside(program)
        passed = [each for each in beside if each.directory.resolve() != folder.directory.resolve()]
        where = {
            "path": str(folder.directory),
            "bundled": folder.bundled,
            "passedOver": [str(each.directory) for each in passed],
        }
        refused = any(v.level == "mandatory" for v in judged.violations)
        coverage = coverage_of(policies, recording)
        seen = "" if coverage is None else f"{coverage.text()}."
        exported = recording.exported  # the recording itself is as large as the stack

        def text() -> None:
            print_judged(subject, judged)
            for note in subject.notes:
                said = f"note: {note}" if exported else f"assumed: {note}"
                print("\n".join(wrapped(said, columns())))
            print("\n".join(["", *wrapped(seen, columns())]) if seen else "")
            print(f"The pack is {_named(folder)}.")
            for pack in passed:
                told = os.path.relpath(pack.directory)
                told = f"The pack in {told} is passed over; {pack.how_to_run} has it judge."
                print("\n".join(wrapped(told, columns())))

        return Verdict(
            FOUND if refused else FINE,
            subject.name,
            text,
            {
                **as_document(subject, judged),
                "coverage": coverage and coverage._asdict(),
                "pack": where,
            },
            lambda: report_of(
                subject._replace(notes=(*subject.notes, *filter(None, [seen]))), judged, policies
            ),
        )

    def _judged(self, recording: Recording, silences: Sequence[StackSilence]) -> Judged | None:
        from eks_gpushare.findings.defects import in_one_line
        from eks_gpushare.program.policies.analyzer import judge
        from eks_gpushare.program.policies.config import PolicyConfigError
        from eks_gpushare.program.running.endings import ProcessEndedError, kept_alive

        pack = self.pack
        try:
            with aside(), kept_alive():
                return judge(
                    pack.policies,
                    recording,
                    config=self._config,
                    initial_config=pack.initial_config,
                    pack=pack.name,
                    level=pack.level,
                    silences=silences,
                )
        except PolicyConfigError as error:
            print(f"eks-gpushare: {error}", file=sys.stderr)
        except (Exception, SystemExit, ProcessEndedError) as error:  # noqa: BLE001  (the pack's, of any kind)
            told = in_one_line(error, placed=False)
            message = f"a policy of {self._folder.directory} stopped: {told}"
            print(f"eks-gpushare: {message}", file=sys.stderr)
        return None


def _named(pack: PackFolder) -> str:
    if pack.bundled:
        return "the one of this package"
    return f"the one in {os.path.relpath(pack.directory)}"
