"""Options of `lint` that say what counts: which files, which findings, and what is known."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.findings.sets import SETS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from eks_gpushare.lint.baseline import Baseline
    from eks_gpushare.lint.settings import LintSettings


class GivenWronglyError(Exception):
    """An option has a value that it does not take; the text says which are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    group = parser.add_argument_group(
        "what counts", "beside what .gpushare-lint.yaml says, or [tool.gpushare-lint] in pyproject"
    )
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--config",
        metavar="FILE",
        help="the configuration for all files (default: of each file the nearest above it)",
    )
    which.add_argument(
        "--no-config",
        "--isolated",
        action="store_true",
        help="read no configuration, and no baseline that is not named",
    )
    codes = "codes, beginnings such as GPU11*, or policies that say the same, with commas between"
    group.add_argument(
        "--select", metavar="CODES", action="append", help=f"look for these alone: {codes}"
    )
    group.add_argument(
        "--ignore", metavar="CODES", action="append", help="do not look for these, as above"
    )
    group.add_argument(
        "--set",
        metavar="SET",
        action="append",
        help=f"look for a further set of findings: {', '.join(SETS[1:])}, of objects of any kind",
    )
    group.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        help="leave out files or folders, even those that are named; * stands for folders too",
    )
    group.add_argument(
        "--fail-on",
        choices=("error", "warning", "info", "never"),
        help="the least severity that makes the exit code 1 (default: error)",
    )
    group.add_argument(
        "--baseline",
        metavar="FILE",
        help="findings that are known, and neither shown nor counted "
        "(default: .gpushare-lint-baseline.json, where there is one)",
    )
    group.add_argument(
        "--write-baseline",
        action="store_true",
        help="take what is found now for known, and drop from the baseline what is gone",
    )
    group.add_argument(
        "--no-security",
        action="store_true",
        help="leave out how safe nodes start: metadata service, encryption, addresses, disks",
    )


def settings_of(options: argparse.Namespace) -> LintSettings:
    """What the command line and the configurations say.

    Raises:
        GivenWronglyError: If an option's value is none.
        ConfigurationError: If a configuration that is named cannot be used.
    """
    from eks_gpushare.lint.declared import wrong_pattern
    from eks_gpushare.lint.settings import Asked, LintSettings

    wrong = [
        f"--exclude {pattern!r} {why}"
        for pattern in options.exclude or ()
        if (why := wrong_pattern(pattern)) is not None
    ]
    wrong += [
        f"--set {name!r} is none of {', '.join(SETS)}"
        for name in options.set or ()
        if name not in SETS
    ]
    select = _codes("--select", options.select or (), wrong)
    ignore = _codes("--ignore", options.ignore or (), wrong)
    if wrong:
        raise GivenWronglyError("\n".join(wrong))
    asked = Asked(
        select=select if options.select else None,
        ignore=ignore,
        sets=frozenset(options.set or ()),
        exclude=tuple(options.exclude or ()),
        fail_on=options.fail_on,
        security=not options.no_security,
    )
    config = Path(options.config) if options.config else None
    return LintSettings(asked, config=config, isolated=options.no_config)


def _codes(option: str, given: Iterable[str], wrong: list[str]) -> frozenset[str]:
    from eks_gpushare.lint.codes import UnknownCodeError, meant

    found: set[str] = set()
    for name in (part.strip() for each in given for part in each.split(",")):
        try:
            found |= meant(name)
        except UnknownCodeError as error:
            wrong.append(f"{option}: {error}")
    return frozenset(found)


def baseline_of(
    options: argparse.Namespace, settings: LintSettings
) -> tuple[Path | None, Baseline | None]:
    """The file of the baseline, where there is to be one, and what is known by it so far.

    Raises:
        BaselineError: If it cannot be used.
        ConfigurationError: If the configuration that may name it cannot be used.
    """
    file = _baseline_file(options, settings)
    if file is None:
        return None, None
    from eks_gpushare.lint.baseline import Baseline, read_baseline

    if options.write_baseline and not file.exists():
        return file, Baseline(str(file.parent), {})
    return file, read_baseline(file)


def _baseline_file(options: argparse.Namespace, settings: LintSettings) -> Path | None:
    from eks_gpushare.lint.finding_files import BASELINE, found_baseline
    from eks_gpushare.lint.settings import common_folder

    if options.baseline:
        return Path(options.baseline)
    folder = common_folder(options.files)
    made = settings.of_folder(folder)
    if made.baseline is not None:
        return made.baseline if made.baseline.exists() or options.write_baseline else None
    if not options.no_config and (found := found_baseline(Path(folder))) is not None:
        return Path(os.path.relpath(found))
    if not options.write_baseline:
        return None
    if made.file is not None:
        return made.file.parent / BASELINE
    top = next((str(each) for each in _up(folder) if (each / ".git").exists()), folder)
    return Path(os.path.relpath(Path(top) / BASELINE))


def _up(folder: str) -> Iterable[Path]:
    return (Path(folder), *Path(folder).parents)
