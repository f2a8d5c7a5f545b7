"""Invert the conditions of rules, one at a time, and say which no test notices.

python tools/mutants/invert.py                          all modules of rules, and their tests
python tools/mutants/invert.py --write                  and keep what it found for the documentation
python tools/mutants/invert.py MODULE... --tests FILE   some of them
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
ROOMS = (
    "policies/gpushare_policies",
    "components/eks_gpushare/inventory",
    "components/eks_gpushare/lint/rules",
)
"""Where rules are."""
TESTS = ("tests/policies", "tests/inventory", "tests/lint")
"""Where their tests are."""
_NOT_RULES = {"describe.py", "__init__.py", "tokens.py"}


def main(words: list[str]) -> int:
    """Try them; 1 if a test fails without any inversion, which is left out then."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    parser.add_argument("--share", type=int, default=1, help="try only one of so many")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--write", action="store_true", help="keep the results for the pages")
    options = parser.parse_args(words)
    sys.path[:0] = [str(ROOT / part) for part in ("tools/mutants", "components", "policies")]
    from rule_mutants.trial import Trial

    def keep(trial: Trial) -> None:
        if options.write:  # after each module, so that an interrupted run is not lost
            results = {"share": options.share, "modules": _found(trial)}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

    trial = Trial(_modules(options.modules), options.share, keep)
    tests = [str(ROOT / each) for each in options.tests if (ROOT / each).exists()]
    with redirect_stdout(sys.stderr):
        pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[trial])
    if trial.failed:
        print("left out, since they fail as it is:", *trial.failed, sep="\n  ", file=sys.stderr)
    found = _found(trial)
    if options.json:
        print(json.dumps(found))
        return 1 if trial.failed else 0
    for name, each in found.items():
        left = [*each["survived"], *each["untested"]]
        print(f"{name}: {each['tried']} inverted, {len(left)} not noticed")
        print("".join(f"  {what}\n" for what in left), end="")
    return 1 if trial.failed else 0


def _found(trial: Trial) -> dict[str, dict[str, Any]]:
    results = sorted(trial.results.items())
    return {_shown(name): asdict(result) for name, result in results if result.tried}


def _shown(name: str) -> str:
    file = Path(name)
    return file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name


def _modules(names: list[str]) -> list[Path]:
    if names:
        return [Path(name).resolve() for name in names]
    found = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return sorted(path.resolve() for path in found if path.name not in _NOT_RULES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
