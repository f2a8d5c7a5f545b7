"""The page of mutants: who catches a stack with one thing broken, and which rules no test holds."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "golden" / "mutants.json"
RULES = ROOT / "tools" / "mutants" / "rules.json"

sys.path.insert(0, str(ROOT / "tools" / "mutants"))

from rule_mutants.reasons import open_of, reason_of  # noqa: E402  (where it is stands above)
from rule_mutants.result import Result  # noqa: E402
from stack_mutants.reasons import REASONS  # noqa: E402

_HEAD = """\
---
orphan: true
---

# Mutants

Two questions that tests of single rules do not answer: is there a mistake that no rule finds, and
is there a condition in a rule that no test holds? Both are answered by breaking things on purpose.

## Stacks with one thing broken

Every stack of `stacks/` is recorded, with a workload on each of its pools. Then one thing that has
to agree with another is broken at a time: a label, a key, a name, a count, a taint, a toleration, a
resource, an overlay, a tag, a value of a chart, user data, a subnet, a role. In stack files
themselves every key is misspelt, and every value made one of another kind or out of its range.
`check` judges stack files, the policy pack the registrations, `lint` the manifests that come of
them.

`tests/mutants` holds the table, of {tried} mutants. Each way of breaking a place is tried in one
stack, each time in another; `EKS_GPUSHARE_TEST_MUTANTS=1 make test ARGS=tests/mutants` tries it in
all, and on the lab what nothing else has caught.

"""
_CATCHERS = {
    "check": "`check`, before anything runs",
    "preview": "the policy pack, in a preview",
    "update": "the policy pack, once what an update makes is known",
    "lint": "`lint` on the manifests",
    "lab": "`lab run`",
    "nothing": "nothing",
}
_STAKES = {
    "pods": "pods do not run, or otherwise than said",
    "cost": "money",
    "leak": "others' data, secrets or devices",
    "rights": "rights",
    "upkeep": "care: what grows old unseen",
    "any": "any (stack files)",
}


class _Mutant(NamedTuple):
    place: str
    way: str
    stakes: str
    caught: dict[str, list[str]]
    """Who catches it, by which rules; `nothing`, by its reason."""

    @property
    def first(self) -> str:
        """Who of them is asked first."""
        return next(each for each in _CATCHERS if each in self.caught)


def page() -> str:
    """The page as it is to be."""
    found = list(_mutants())
    lines = [_HEAD.format(tried=len(found))]
    lines += [*_counts(found), *_caught(found), *_uncaught(found), *_rules()]
    return "\n".join(lines).rstrip() + "\n"


def _mutants() -> list[_Mutant]:
    found = []
    for key, mutants in json.loads(TABLE.read_text(encoding="utf-8")).items():
        place, _, rest = key.rpartition(": ")
        way, _, stakes = rest.removesuffix(")").rpartition(" (")
        found += [_Mutant(place, way, stakes, _read(verdict)) for verdict in mutants.values()]
    return found


def _read(verdict: str) -> dict[str, list[str]]:
    caught = {}
    for each in verdict.split("; "):
        who, _, rules = each.partition(": ")
        caught[who] = rules.split(", ") if rules else []
    return caught


def _counts(found: list[_Mutant]) -> list[str]:
    catchers = [each for each in _CATCHERS if any(one.first == each for one in found)]
    counts = Counter((each.stakes, each.first) for each in found)
    lines = [f"| at stake | {' | '.join(_CATCHERS[each] for each in catchers)} |"]
    lines.append("|---|" + "---:|" * len(catchers))
    for stakes, words in _STAKES.items():
        numbers = [str(counts[stakes, each] or "") for each in catchers]
        lines.append(f"| {words} | {' | '.join(numbers)} |")
    return [*lines, "", "Each is counted where it is caught first.", ""]


def _caught(found: list[_Mutant]) -> list[str]:
    by_place: dict[str, list[_Mutant]] = defaultdict(list)
    for each in found:
        if each.first != "nothing":
            by_place[_shown(each.place)].append(each)
    head = ["broken", "how", *(each for each in _CATCHERS if each not in {"nothing", "lab"})]
    lines = ["### What is caught", "", _row(head), "|---" * len(head) + "|"]
    for place, mutants in sorted(by_place.items()):
        ways = ", ".join(dict.fromkeys(each.way for each in mutants))
        rules = [
            ", ".join(sorted({rule for each in mutants for rule in each.caught.get(who, [])}))
            for who in head[2:]
        ]
        lines.append(_row([place, _cell(ways), *map(_cell, rules)]))
    return [*lines, ""]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _uncaught(found: list[_Mutant]) -> list[str]:
    by_reason: dict[str, list[_Mutant]] = defaultdict(list)
    for each in found:
        if each.first == "nothing":
            by_reason[", ".join(each.caught["nothing"])].append(each)
    lines = ["### What is not caught", ""]
    lines += [f"* **{name}**: {text}" for name, text in REASONS.items() if name in by_reason]
    lines += ["", "| why | broken | how |", "|---|---|---|"]
    for reason, mutants in sorted(by_reason.items()):
        ways: dict[str, list[str]] = defaultdict(list)
        for each in mutants:
            ways[_shown(each.place)].append(each.way)
        for place, how in sorted(ways.items()):
            words = ", ".join(dict.fromkeys(how))
            lines.append(f"| {reason or 'no rule yet'} | {place} | {_cell(words)} |")
    return [*lines, ""]


_OF_RULES = """\
## Rules with one condition inverted

Each condition of a rule is inverted in turn: a comparison, also at its border, `not`, `and` and
`or`, what an `if` asks, what a function answers, a switch, a number. The tests that run its line
are to fail. What they do not notice is a case that no test has, unless nothing could notice it.
`python tools/mutants/invert.py --write` measures it anew, in an hour; with `--room lint`, or with
modules and their tests, only these.

| module | inverted | nothing can notice | not noticed |
|---|---:|---:|---:|
"""


def _rules() -> list[str]:
    if not RULES.is_file():
        return []
    rows, left = [], []
    sums: Counter[str] = Counter()
    why: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module, given in json.loads(RULES.read_text(encoding="utf-8")).items():
        result = Result(**given)
        name = module.removeprefix("policies/").removeprefix("components/")
        missed = list(open_of(module, result))
        for what in (*result.survived, *result.untested):
            if (reason := reason_of(module, what)) is not None:
                why[name, reason].append(what)
        excused = len(result.survived) + len(result.untested) - len(missed)
        sums += Counter(tried=result.tried, excused=excused)
        rows.append(f"| `{name}` | {result.tried} | {excused or ''} | {len(missed) or ''} |")
        left += [f"| `{name}` | {_code(each)} |" for each in missed]
    rows.append(f"| all | {sums['tried']} | {sums['excused'] or ''} | {len(left) or ''} |")
    return [
        _OF_RULES + "\n".join(rows),
        *_left(left),
        *_reasoned(why),
    ]


def _left(rows: list[str]) -> list[str]:
    head = ["", "### What no test notices", "", "| module | condition -> inverted |", "|---|---|"]
    return [*head, *rows] if rows else []


def _reasoned(why: dict[tuple[str, str], list[str]]) -> list[str]:
    head = ["", "### What nothing can notice", "", "| module | condition -> inverted | why |"]
    rows = [
        f"| `{name}` | {'<br>'.join(map(_code, whats))} | {_cell(reason)} |"
        for (name, reason), whats in why.items()
    ]
    return [*head, "|---|---|---|", *rows] if rows else []


def _code(text: str) -> str:
    return f"`` {' '.join(text.split())} ``".replace("|", "\\|")


def _shown(place: str) -> str:
    kind, _, path = place.partition(" ")
    return f"{kind} `{path}`" if path and kind != "stack" else place


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
