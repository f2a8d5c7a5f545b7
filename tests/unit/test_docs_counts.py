"""How many there are of a thing is what the code says: a number on a page is held, or says why not.

Versions are in `test_docs_versions.py`, sums of money in `test_docs_cost.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aws_oracle.variants import NAMES, TRIED
from tests.commands.test_preview_pods import OFTEN, STACKS
from tests.commands.test_several_stacks import UNLIKE
from tests.engine.languages import LANGUAGES
from tests.lab.walkthroughs import test_walkthrough_dump as dump
from tests.unit import test_program_lean_packages as lean
from tests.unit.test_docs_tables import rows
from tests.unit.test_docs_versions import PAGES
from tests.unit.test_one_mistake import OFTEN as MISTAKEN
from tests.unit.test_one_mistake import RARE_PARTS

import eks_gpushare
from eks_gpushare.aws.karpenter_interruptions import _EVENTS
from eks_gpushare.aws.karpenter_policies import PURPOSES
from eks_gpushare.aws.node_group import NODE_POLICIES
from eks_gpushare.catalog.managed_prometheus import MOST_RULES
from eks_gpushare.cluster import LOG_TYPES
from eks_gpushare.config.sharing import MODES
from eks_gpushare.lint.reading import MOST_ITEMS
from eks_gpushare.manifests import files, nodes
from eks_gpushare.sharing.monitoring.boards import boards

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).parents[2]
COMPONENTS: Final = {
    each.removesuffix("Args") for each in eks_gpushare.__all__ if each.endswith("Args")
}
WORDS: Final = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)
_NUMBER = rf"(?<![\w.,])({'|'.join(reversed(WORDS[2:]))}|\d[\d,]*)"
THINGS: Final = re.compile(
    rf"{_NUMBER}( [a-z]+)? (components|verbs|commands|modules|rules|stacks|languages|modes|"
    r"policies|presets|alerts|boards|suites|formats|hooks|distributions|regions|charts|layouts|variants|"
    r"look-ups|types|packages)\b",
    re.IGNORECASE,
)
"""What the code has some of; the page has a number of it."""


def often(test: Callable[..., object]) -> int:
    """How many values a test has for every change; the others are marked for the night."""
    (mark,) = (each for each in vars(test)["pytestmark"] if each.name == "parametrize")
    return sum(not getattr(value, "marks", ()) for value in mark.args[1])


def every(test: Callable[..., object]) -> int:
    (mark,) = (each for each in vars(test)["pytestmark"] if each.name == "parametrize")
    return len(mark.args[1])


DUMPED: Final = dump.test_a_stack_that_runs_is_clean_and_a_pod_that_cannot_is_found
LEAN: Final = lean.test_every_name_of_a_package_is_the_same_object_as_when_loaded_whole
CLAIMS: Final[dict[tuple[str, str], Any]] = {
    ("CONTRIBUTING.md", "# stacks and variants, which"): len(TRIED),
    ("CONTRIBUTING.md", "(`TRIED` in `aws_oracle/variants.py`) | all #"): len(NAMES),
    ("CONTRIBUTING.md", "pods of # stacks"): len(OFTEN),
    ("CONTRIBUTING.md", "verdicts of # unlike stacks"): len(UNLIKE),
    ("CONTRIBUTING.md", "of itself is clean, of one stack | of #"): every(DUMPED),
    ("CONTRIBUTING.md", "one rare key of #"): RARE_PARTS,
    ("CONTRIBUTING.md", ", # unlike stacks"): len(MISTAKEN),
    ("CONTRIBUTING.md", "the names and classes of # packages"): often(LEAN),
    ("docs/adopt-lint.md", "call reads up to # files"): files.MAX_FILES,
    ("docs/adopt-lint.md", "files and # GiB"): files.MAX_TOTAL >> 30,
    ("docs/adopt-lint.md", "one file # MiB"): files.MAX_BYTES >> 20,
    ("docs/adopt-lint.md", "MiB and # keys and values"): nodes.MAX_ITEMS,
    ("docs/adopt-lint.md", "keys and values, a group #"): MOST_ITEMS,
    ("docs/benchmarks.md", "| # stacks in one process"): len(STACKS),
    ("docs/benchmarks.md", "Of # stacks what each takes"): len(STACKS),
    ("docs/choose-a-mode.md", "in one of # ways"): len(MODES),
    ("docs/commands.md", "is done once: # stacks"): len(STACKS),
    ("docs/commands.md", "and # boards for Grafana"): len(boards()),
    ("docs/components.md", "# Pulumi components"): len(COMPONENTS),
    ("docs/components.md", "out of the other #"): len(COMPONENTS) - 1,
    ("docs/cost.md", "all # types, always"): len(LOG_TYPES),
    ("docs/karpenter.md", "with # policies by purpose"): len(PURPOSES),
    ("docs/karpenter.md", "a queue and # EventBridge rules"): len(_EVENTS),
    ("docs/lint.md", "written out; a call # files"): files.MAX_FILES,
    ("docs/observability.md", "a rule file and # boards"): len(boards()),
    ("docs/observability.md", "CloudWatch Logs, all # types"): len(LOG_TYPES),
    ("docs/observability.md", "groups of # rules at most"): MOST_RULES,
    ("docs/security.md", "# policies of AWS"): len(NODE_POLICIES),
    ("docs/unproven.md", "the # policies are enough"): len(PURPOSES),
    ("examples/languages/README.md", "One program in # languages"): len(LANGUAGES) + 1,
}
"""What stands around a number, #, and the number; Python is a language without a plugin."""

OTHERWISE: Final = {
    "CONTRIBUTING.md 20 broken stacks": "the number is in the test that it stands beside",
    "CONTRIBUTING.md two distributions": "both are named, and tests/packaging builds them",
    "CONTRIBUTING.md two look-ups": "that no component makes one is held by the house rules",
    "CONTRIBUTING.md two stacks": "the stacks of AGAINST in test_stack_goldens.py",
    "docs/components.md Two stacks": "an example",
    "docs/gpu-operator.md 17, charts": "a line of a file, in an output that is run",
    "docs/how-it-works.md Two look-ups": "the same",
    "docs/how-it-works.md two look-ups": "those of aws_lookups, which the house rules allow alone",
    "docs/karpenter.md two charts": "both are named",
    "docs/mig.md 37 layouts": "test_mig_geometry.py finds as many",
    "docs/mig.md Three layouts": "of a picture, which is drawn from the code",
}
"""Numbers that no line above holds, and why."""


def number(text: str) -> int:
    word = text.lower()
    return WORDS.index(word) if word in WORDS else int(word.replace(",", ""))


def read(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())


def shape(around: str) -> re.Pattern[str]:
    before, after = map(re.escape, around.split("#"))
    return re.compile(f"{before}{_NUMBER}{after}", re.IGNORECASE)


def test_a_number_on_a_page_is_what_there_are() -> None:
    wrong = {}
    for (page, around), there in CLAIMS.items():
        found = [number(each) for each in shape(around).findall(read(ROOT / page))]
        if found != [there]:
            wrong[page, around] = (found, there)

    assert wrong == {}


def test_every_number_of_what_the_code_has_is_held_or_says_why_not() -> None:
    open_, reasons = set(), set()
    for page in PAGES:
        name, text = page.relative_to(ROOT).as_posix(), read(page)
        for claim, around in CLAIMS:
            text = shape(around).sub("", text) if claim == name else text
        for found in THINGS.finditer(text):
            reason = {name, f"{name} {found[0]}"} & {*OTHERWISE}
            reasons |= reason
            open_ |= set() if reason else {f"{name} {found[0]}"}

    assert open_ == set()
    assert reasons == {*OTHERWISE}


def test_the_table_of_components_has_all() -> None:
    told = {cells[0].strip("`") for cells in rows("docs/components.md", "| component | makes |")}

    assert told == COMPONENTS
