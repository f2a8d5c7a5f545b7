"""`eks-gpushare mig profiles|layouts|check`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.streams import print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eks_gpushare.cli.mig_target import Checked, Target

_WIDTH = 98
_TYPE_HELP = "EC2 instance type, such as p4d.24xlarge, or GPU model, such as A100-40GB"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `mig` and their options."""
    verbs = parser.add_subparsers(dest="mig_verb", metavar="VERB", required=True)
    for verb, summary in _SUMMARIES.items():
        sub = verbs.add_parser(
            verb, help=summary, description=f"{summary[:1].upper()}{summary[1:]}."
        )
        # Suppressed: the default would undo a --json that stands before the verb.
        described = {"action": "store_true", "default": argparse.SUPPRESS}
        sub.add_argument("--json", help="print one JSON document", **described)  # type: ignore[arg-type]  # keywords of argparse
        sub.add_argument("type", metavar="TYPE", help=_TYPE_HELP)
        if verb == "layouts":
            sub.add_argument(
                "--maximal", action="store_true", help="only those to which nothing can be added"
            )
            sub.add_argument(
                "--all", action="store_true", help="with the media and graphics profiles as well"
            )
        elif verb == "check":
            sub.add_argument(
                "layouts",
                nargs="+",
                metavar="LAYOUT",
                help="name of a layout, or devices per GPU such as 1g.5gb=2,2g.10gb=1",
            )
            sub.add_argument("--svg", metavar="FILE", help="draw those that fit into FILE")


def run(options: argparse.Namespace) -> int:
    """Do what the verb says."""
    from eks_gpushare.cli.mig_target import UsageError, target

    try:
        code: int = _VERBS[options.mig_verb](options, target(options.type))
    except UsageError as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE
    return code


def _profiles(options: argparse.Namespace, target: Target) -> int:
    from eks_gpushare.sharing.resources import mig_resource

    model = target.model
    profiles = model.profiles.values() if model else ()
    if options.json:
        print_json(
            {
                **target.as_json(),
                "profiles": [
                    {
                        "name": profile.name,
                        "maxCount": profile.max_count,
                        "computeSlices": profile.compute_slices,
                        "memorySlices": profile.memory_slices,
                        "memoryGB": profile.memory_gb,
                        "placements": list(profile.starts),
                        "resource": mig_resource(profile.name),
                    }
                    for profile in profiles
                ],
            }
        )
    elif model:
        print(f"{target.heading()}\n")
        rows = [
            (
                profile.name,
                str(profile.max_count),
                str(profile.compute_slices),
                str(profile.memory_slices),
                ",".join(map(str, profile.starts)),
                mig_resource(profile.name),
            )
            for profile in profiles
        ]
        _print_table(("profile", "most", "compute", "memory", "begins at", "pods ask for"), rows)
        print()
        _print_wrapped(target.footnote(), "")
    return _without_mig(target)


def _layouts(options: argparse.Namespace, target: Target) -> int:
    from eks_gpushare.catalog import named_layouts
    from eks_gpushare.sharing.mig.geometry import all_layouts, is_maximal, unused

    model = target.model
    if model is None:
        if options.json:
            print_json({**target.as_json(), "named": {}, "layouts": []})
        return _without_mig(target)
    names = [name for name, p in model.profiles.items() if options.all or not p.attributes]
    found = [
        layout
        for layout in all_layouts(model, names)
        if not options.maximal or is_maximal(model, layout, names)
    ]
    named = named_layouts(model)
    if options.json:
        lists = [
            {
                "devices": devices,
                "maximal": is_maximal(model, devices, names),
                "unused": dict(zip(_UNUSED_KEYS, unused(model, devices), strict=False)),
            }
            for devices in found
        ]
        print_json({**target.as_json(), "named": named, "layouts": lists})
        return _without_mig(target)
    print(f"{target.heading()}\n")
    names_of = {_key(devices): name for name, devices in named.items()}
    rows = []
    for devices in found:
        left = unused(model, devices)
        rows.append(
            (
                _words(devices),
                names_of.get(_key(devices), ""),
                str(left.compute_slices),
                f"{left.memory_slices} ({left.memory_gb} GB)" if left.memory_slices else "0",
                "" if any(name in names for name in left.addable) else "yes",
            )
        )
    _print_table(("devices of a GPU", "name", "compute left", "memory left", "maximal"), rows)
    kind = "maximal layouts" if options.maximal else "layouts"
    print()
    _print_wrapped(f"{len(found)} {kind}. {target.footnote()}", "")
    return _without_mig(target)


_NUMBERS = {"most", "compute", "memory", "compute left", "memory left"}
"""Headings of columns that stand to the right."""
_UNUSED_KEYS = ("computeSlices", "memorySlices", "memoryGB")


def _check(options: argparse.Namespace, target: Target) -> int:
    from eks_gpushare.cli.mig_target import check_layout

    results = [check_layout(target, text) for text in options.layouts]
    drawn = _draw(target, results, options.svg) if options.svg else FINE
    if options.json:
        print_json([result.as_json() for result in results])
    else:
        _print_checked(target, results)
    return drawn if all(result.fits for result in results) else max(drawn, FOUND)


def _print_checked(target: Target, results: Sequence[Checked]) -> None:
    from eks_gpushare.cli.mig_picture import print_picture

    print(target.heading() if target.model else f"{target.name} has no MIG")
    for result in results:
        print(f"\n{result.layout}: {'fits' if result.fits else 'does not fit'}")
        if not result.fits:
            _print_wrapped(result.why)
            if result.nearest:
                listed = "; ".join(_words(counts) for counts in result.nearest)
                print(f"  nearest that fit: {listed}")
            continue
        if result.placements and target.model:
            print_picture(target.model, result.placements)
        for line in result.notes:
            print(f"  {line}")
        listed = ", ".join(f"{name}: {count}" for name, count in result.advertised.items())
        _print_wrapped(f"a {'node' if target.instance else 'GPU'} advertises {listed}")
    if target.model and target.model.confidence != "verified":
        print()
        _print_wrapped(target.footnote(), "")


def _draw(target: Target, results: Sequence[Checked], file: str) -> int:
    from eks_gpushare.cli.mig_svg import picture

    fitting = [result for result in results if result.fits and result.placements]
    if target.model is None or not fitting:
        print(f"eks-gpushare: nothing fits, so {file} was not written", file=sys.stderr)
        return FOUND
    text = picture(target.model, [(checked.layout, checked.placements) for checked in fitting])
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"eks-gpushare: {file} cannot be written: {error.strerror}", file=sys.stderr)
        return WRONG_USAGE
    return FINE


def _without_mig(target: Target) -> int:
    if target.why_not is None:
        return FINE
    print(f"eks-gpushare: {target.why_not}", file=sys.stderr)
    return FOUND


def _key(devices: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(devices.items()))


def _words(devices: Mapping[str, int]) -> str:
    """Devices as LAYOUT takes them: `3g.20gb=1,1g.5gb=2`."""
    return ",".join(f"{name}={count}" for name, count in devices.items())


def _print_wrapped(text: str, indent: str = "  ") -> None:
    import textwrap

    wrapped = textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    print(wrapped)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as what stands in them."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for row in (headings, *rows):
        cells = [
            cell.rjust(width) if heading in _NUMBERS else cell.ljust(width)
            for cell, width, heading in zip(row, widths, headings, strict=True)
        ]
        print(("  " + "  ".join(cells)).rstrip())


_SUMMARIES = {
    "profiles": "list the MIG profiles of a GPU",
    "layouts": "list every layout that fits on a GPU",
    "check": "say whether layouts fit on a GPU, show them, or say why not",
}

_VERBS: dict[str, Callable[[argparse.Namespace, Target], int]] = {
    "profiles": _profiles,
    "layouts": _layouts,
    "check": _check,
}
