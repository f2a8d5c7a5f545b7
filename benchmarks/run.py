"""Measure what docs/benchmarks.md says: python benchmarks/run.py, or make bench.

Nothing here is a test. Times are CPU seconds of child processes, and what has a limit is a ratio of
two commands that ran in turn.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import ratios
import subjects
from peer import peer
from policy import policy
from report import as_json, as_text, write_markdown
from verify_at_rest import verify_at_rest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from report import Figure

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"

SUBJECTS = {
    "check": subjects.check,
    "preview": subjects.preview,
    "pools": subjects.pools,
    "growth": subjects.growth,
    "stages": subjects.stages,
    "mig": subjects.mig,
    "policy": policy,
    ratios.SUBJECT: ratios.ratios,
}


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print.

    Args:
        words: Command-line arguments. Default: those of this process.

    Returns:
        1 with `--strict` if a limit is exceeded, with `--kept` if a ratio has grown; 2 for wrong
        usage, else 0.
    """
    options = _parser().parse_args(words)
    if options.markdown and (options.quick or options.only):
        print("--markdown wants all subjects, measured in full", file=sys.stderr)
        return 2
    rounds = 3 if options.quick else 5
    sizes = (10, 30, 100) if options.quick else (10, 100, 1000)
    _compile()
    with tempfile.TemporaryDirectory() as scratch:
        setting = subjects.Setting(ROOT, Path(scratch), rounds, sizes)
        figures = _measured(setting, options)
    print(as_json(figures, rounds) if options.json else as_text(figures))
    if options.markdown:
        write_markdown(PAGE, figures, rounds)
    if options.keep:
        ratios.keep(figures)
    grown = ratios.grown(figures) if options.kept else []
    for sentence in grown:
        print(f"grown by more than a tenth: {sentence}", file=sys.stderr)
    over = any(figure.verdict == "over" for figure in figures)
    return 1 if grown or (options.strict and over) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure speed and memory.")
    parser.add_argument("--quick", action="store_true", help="fewer runs, and 100 pools at most")
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, help="these subjects")
    parser.add_argument(
        "--peer",
        nargs="?",
        const="",
        metavar="DIR",
        help="measure CDK EKS Blueprints as well; DIR keeps its 520 MB for the next time",
    )
    parser.add_argument(
        "--lab", action="store_true", help="measure verify --watch of a lab as well, for minutes"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--markdown", action="store_true", help=f"write {PAGE.name} as well")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a limit is exceeded")
    kept = "the ratios that are kept in benchmarks/ratios.json"
    parser.add_argument("--kept", action="store_true", help=f"exit 1 if one of {kept} has grown")
    parser.add_argument("--keep", action="store_true", help=f"write down {kept}")
    return parser


def _compile() -> None:
    """Write our bytecode, which an editable install does not; pip compiles what it installs."""
    spec = importlib.util.find_spec("eks_gpushare")
    if spec is None or spec.origin is None:
        raise SystemExit("eks_gpushare is not installed here: run make venv")
    compileall.compile_dir(Path(spec.origin).parent, quiet=1)


def _measured(setting: subjects.Setting, options: argparse.Namespace) -> list[Figure]:
    figures: list[Figure] = []
    for name in options.only or SUBJECTS:
        print(f"measuring {name}", file=sys.stderr)
        figures += SUBJECTS[name](setting)
    if options.peer is not None:
        print("measuring the peer", file=sys.stderr)
        cache = Path(options.peer or setting.scratch / "peer").resolve()
        figures += peer(setting, cache, subjects.STACK)
    if options.lab:
        print("measuring verify --watch", file=sys.stderr)
        figures += verify_at_rest(setting)
    return figures


if __name__ == "__main__":
    raise SystemExit(main())
