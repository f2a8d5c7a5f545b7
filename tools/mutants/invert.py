"""Invert the conditions of rules, one at a time, and say which no test notices.

python tools/mutants/invert.py                          all modules of rules, and their tests
python tools/mutants/invert.py --write                  and keep what it found for the documentation
python tools/mutants/invert.py --room lint --write      those of one room, and keep it with the rest
python tools/mutants/invert.py MODULE... --tests FILE   some of them

What no test can notice has its reason in `rule_mutants/equivalent`, and is not told of.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rule_mutants.trial import Trial

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "rules.json"
ROOMS = {
    "facts": (
        "components/eks_gpushare/facts",
        [
            "tests/facts",
            *(f"tests/policies/test_policy_{each}.py" for each in ("cluster", "kubernetes")),
        ],
    ),
    "policies": ("policies/gpushare_policies", ["tests/policies"]),
    "inventory": ("components/eks_gpushare/inventory", ["tests/inventory"]),
    "manifests": ("components/eks_gpushare/manifests", ["tests/lint"]),
    "lint": ("components/eks_gpushare/lint", ["tests/lint"]),
    "edits": (
        "components/eks_gpushare/program/edits/refused.py",
        ["tests/unit/test_rules_edits.py", "tests/unit/test_rules_karpenter_install.py"],
    ),
    "live": (
        "components/eks_gpushare/live",
        [
            "tests/live",
            "tests/commands/test_cost_command.py",
            *(f"tests/unit/test_{each}.py" for each in ("cost_split", "costs_by_use")),
        ],
    ),
    "rules": (
        "components/eks_gpushare/rules",
        [
            f"tests/unit/test_{each}.py"
            for each in (
                "rules_*",
                "given_*",
                "karpenter_*",
                "exporter_*",
                "one_mistake",
                "finding_examples",
            )
        ],
    ),
}
"""Where rules are, and where their tests are."""


def main(words: list[str]) -> int:
    """Try them; 1 if a test fails without any inversion, which is left out then."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--room", nargs="+", default=list(ROOMS), choices=ROOMS)
    parser.add_argument("--tests", nargs="+", help="other tests than those of the rooms")
    parser.add_argument("--share", type=int, default=1, help="try only one of so many")
    parser.add_argument("--seconds", type=float, default=10, help="of CPU, before one hangs")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--write", action="store_true", help="keep the results for the pages")
    options = parser.parse_args(words)
    if options.write and options.share > 1:
        parser.error("--write keeps what was tried whole; leave --share out")
    sys.path[:0] = [str(ROOT / part) for part in ("tools/mutants", "components", "policies")]
    from rule_mutants.reasons import open_of
    from rule_mutants.trial import Trial

    out = sys.stdout

    def after(trial: Trial) -> None:
        """Of each module at once, so that an interrupted run is not lost."""
        path, result = list(trial.results.items())[-1]
        if options.write:
            write(_found(trial))
        if not options.json and result.tried:
            left = list(open_of(_shown(path), result))
            print(f"{_shown(path)}: {result.tried} inverted, {len(left)} not noticed", file=out)
            print("".join(f"  {what}\n" for what in left), end="", file=out, flush=True)

    modules = [Path(name).resolve() for name in options.modules] or modules_of(*options.room)
    trial = Trial(modules, options.share, after, options.seconds)
    tests = [ROOT / each for each in options.tests or ()] or tests_of(*options.room)
    with redirect_stdout(sys.stderr):
        pytest.main(["-q", "-p", "no:cacheprovider", *map(str, tests)], plugins=[trial])
    if trial.failed:
        print("left out, since they fail as it is:", *trial.failed, sep="\n  ", file=sys.stderr)
    if options.json:
        print(json.dumps(_found(trial)))
    return 1 if trial.failed else 0


def modules_of(*rooms: str) -> list[Path]:
    """The modules of rooms, or the one that a room is."""
    places = [ROOT / ROOMS[room][0] for room in rooms]
    found = (
        path for place in places for path in (place.rglob("*.py") if place.is_dir() else [place])
    )
    return sorted(path.resolve() for path in found)


def tests_of(*rooms: str) -> list[Path]:
    """The tests of rooms."""
    return [file for room in rooms for each in ROOMS[room][1] for file in sorted(ROOT.glob(each))]


def write(found: dict[str, dict[str, Any]]) -> None:
    """Keep results beside those of modules that were not tried now and are still there."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    all_of_them = {name: of for name, of in kept.items() if (ROOT / name).is_file()} | found
    text = json.dumps(dict(sorted(all_of_them.items())), indent=1)
    RESULTS.write_text(f"{text}\n", encoding="utf-8")


def _found(trial: Trial) -> dict[str, dict[str, Any]]:
    results = sorted(trial.results.items())
    return {_shown(name): asdict(result) for name, result in results if result.tried}


def _shown(name: str) -> str:
    file = Path(name)
    return file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
