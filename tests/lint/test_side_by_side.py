"""Clusters that lie side by side, each of which is told what it is told alone.

The property: whatever two reports have of mistakes, and however each is laid out, beside each other
nothing more is said of either that is grave, and nothing is left out. It may be a note: what a few
files lack may stand in those beside them, unless each folder is laid out as a cluster.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

import lint_reports
import pytest
from tests.conftest import sampled

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Mapping

SCENES = [
    side
    for half in lint_reports.HALVES
    for report in lint_reports.reports(half)
    for side in (report.wrong, report.right)
    if len(side) > 1
]
PAIRS = random.Random(1).sample(list(combinations(range(len(SCENES)), 2)), 400)  # noqa: S311
TOPS = {
    "names": ("vision", "speech"),
    "clusters": ("clusters/alpha", "clusters/beta"),
    "environments": ("environments/dev", "environments/prod"),
    "numbers": ("lab01", "lab02"),
}
PARTS = {"cluster": ("cluster", "group", "pool", ".tf"), "helm": ("values", "plugin", "operator")}


def laid_out(scene: Mapping[str, str], top: str, *, in_folders: bool) -> list[GivenFile]:
    """Files in one folder, or each in one that is called after what it has."""
    return [
        GivenFile(f"{top}/{_part(name) if in_folders else name}", text)
        for name, text in scene.items()
    ]


def _part(name: str) -> str:
    found = (part for part, words in PARTS.items() if any(word in name for word in words))
    return f"{next(found, 'apps')}/{name}"


def said(files: list[GivenFile], *, notes: bool = False) -> Counter[tuple[str, str, str]]:
    return Counter(
        (report.file, each.code, each.message)
        for report in lint_files(files)
        for each in report.findings
        if notes or each.severity != "info"
    )


@pytest.mark.parametrize("in_folders", [False, True])
@pytest.mark.parametrize("tops", TOPS)
@pytest.mark.parametrize(("one", "two"), sampled(PAIRS, 100))
def test_each_is_told_what_it_is_told_alone(
    one: int, two: int, tops: str, *, in_folders: bool
) -> None:
    first, second = (
        laid_out(SCENES[number], top, in_folders=in_folders)
        for number, top in zip((one, two), TOPS[tops], strict=True)
    )
    alone = said(first) + said(second)

    assert not said([*first, *second]) - alone
    assert not alone - said([*first, *second], notes=True)
