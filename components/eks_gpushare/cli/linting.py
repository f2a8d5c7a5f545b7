"""The files of a call judged part by part, and what is kept of each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from eks_gpushare.lint.fixes import Fixed, Unwritten
    from eks_gpushare.lint.references import Naming
    from eks_gpushare.lint.report import FileReport
    from eks_gpushare.lint.settings import LintSettings
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.manifests.files import GivenFile


class Found(NamedTuple):
    """What was found in files, and what to correct of it."""

    before: tuple[FileReport, ...] = ()
    """As they are."""
    after: tuple[FileReport, ...] = ()
    """Once they are corrected."""
    fixed: tuple[Fixed, ...] = ()
    left: tuple[Unwritten, ...] = ()
    """Files that could be corrected and are not written."""


def linted(
    options: argparse.Namespace, stack: Stack | None, settings: LintSettings, *, corrects: bool
) -> Found:
    """What is found in the files of a call, with neither texts nor documents.

    Args:
        options: Those of the call.
        stack: The stack that files are held against.
        settings: What counts.
        corrects: Whether to correct what is certain too.

    Raises:
        ConfigurationError: If a configuration cannot be used.
    """
    from eks_gpushare.lint.declared import Declared
    from eks_gpushare.lint.streaming import Files, judged_in_parts

    files = Files(options.files, settings.leaves_out, ignored=options.no_respect_gitignore)
    declared = Declared(together=True) if options.together else settings.declared()

    def judge(part: list[GivenFile], everywhere: Naming | None) -> tuple[Found, Naming]:
        if corrects:
            from eks_gpushare.lint.fixes import fixed_part

            made, naming = fixed_part(
                part, stack, declared, everywhere=everywhere, choose=settings.choose
            )
            before, after = _light(made.before), _light(made.after)
            return Found(before, after, made.fixed, made.left), naming
        from eks_gpushare.lint.dispatch import judged_files

        reports, naming = judged_files(part, stack, declared, everywhere)
        return Found(_light(map(settings.choose, reports))), naming

    parts = judged_in_parts(files, declared, judge, together=stack is not None)
    order = {path: number for number, path in enumerate(files.names)}

    def place(named: FileReport | Fixed | Unwritten) -> int:
        return order.get(named.file, len(order))  # what is read besides comes last

    found = [part.made for part in parts]
    return Found(
        tuple(sorted(_once(each for made in found for each in made.before), key=place)),
        tuple(sorted(_once(each for made in found for each in made.after), key=place)),
        tuple(sorted((each for made in found for each in made.fixed), key=place)),
        tuple(sorted((each for made in found for each in made.left), key=place)),
    )


def _once(reports: Iterable[FileReport]) -> Iterable[FileReport]:
    """Reports, one a file: what several roots or commands name is read with each of them."""
    by_file: dict[str, FileReport] = {}
    for report in reports:
        had = by_file.get(report.file)
        by_file[report.file] = report if had is None else had.joined(report)
    return by_file.values()


def _light(reports: Iterable[FileReport]) -> tuple[FileReport, ...]:
    return tuple(report.light() for report in reports)
