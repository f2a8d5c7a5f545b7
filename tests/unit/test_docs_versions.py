"""What the documentation says of versions is what is pinned: none outlives its pin.

A version that a page names is one of the tables (charts, images, add-ons, machine images,
controllers), of a Pulumi SDK or of the lab's programs, or it stands in `HISTORY`, which says why
it stays when pins move. A version behind the name of a thing is that thing's.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import make_pages
import pytest

from eks_gpushare.catalog import eks_versions, versions
from eks_gpushare.catalog.ages import ages
from eks_gpushare_lab.binaries import versions as lab

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
_LEFT: Final = {"CHANGELOG.md", "lint-corpus.md", "benchmarks.md", "lab-scale.md"}
"""History, what lint found elsewhere, and what was measured on some day with something."""
PAGES: Final = [
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("examples/**/*.md")]
    if page.name not in _LEFT and not make_pages.is_generated(page)
]
"""Pages whose text is written by hand, some with tables that are not."""
_SUFFIX = r"-\d{8}|-[0-9a-f]{8}|-\d\.\d\.\d"
_VERSION = re.compile(rf"(?<![\w./-])v?(\d+\.\d+\.\d+(?:{_SUFFIX})?)(?![\w./-])")
_KUBERNETES = re.compile(r'(?<![\w-])version: "(\d\.\d+)"|\bKubernetes (1\.\d\d)\b')
_ADDRESS = re.compile(r"\b\d+\.\d+\.\d+\.\d+(/\d+)?\b")
_DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b")
_OLDER_AMI = "a release of before, which the page's recipe leaves behind"
HISTORY: Final = {
    "0.1.0": "the first version of this project",
    "1.2.3": "of an example of a heading",
    "1.0.0": "a version of this project, yet to be",
    "0.3.0": "of NVIDIA's mock of NVML, which does not know MIG",
    "1.25.0": "of Bottlerocket, since when it slices time",
    "1.34.0": "of Bottlerocket, since when it has MIG",
    "1.40.0": "of Bottlerocket, since when MIG manager makes four instances",
    "1.54.0": "of Bottlerocket, since when it has MPS",
    "1.55.0": "of Bottlerocket, since when containers have MPS",
    "1.61.0": "of Bottlerocket, since when pods of any user have MPS",
    "1.63.0": "of Bottlerocket, since when its device plugin can be turned off",
    "2.1.0": "of SARIF, a format",
    "4.5.3-4.8.2": "of the DCGM exporter, since when it tells processes",
    "4.6.0-4.8.3": "of the DCGM exporter, since when a label has another name",
    "7.25.0": "of pulumi-aws, with which pulumi-eks was made",
    "1.35.6-20260714": _OLDER_AMI,
}
"""Versions that stay when pins move, and what they are."""


def pinned() -> set[str]:
    """Every version that a table, the lab or a Pulumi SDK is pinned to, without a v before it."""
    tools = (lab.etcd(), lab.kubernetes(), lab.kwok(), lab.karpenter(), lab.cluster_autoscaler())
    found = chain((dated.value for dated in ages()), (tool.version for tool in tools))
    return {version.removeprefix("v") for version in found} | of_package(r"pulumi[\w-]*")


def read(*files: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def named(page: Path) -> Iterator[str]:
    """Versions that a page names; no addresses."""
    yield from _VERSION.findall(_ADDRESS.sub("", page.read_text(encoding="utf-8")))


def of_package(name: str) -> set[str]:
    return {*re.findall(rf"^{name}==([\d.]+)", read(*ROOT.glob("requirements*.txt")), re.MULTILINE)}


THINGS: Final = {
    r"Karpenter(?:'s own program)?(?: is installed as)?": {versions.KARPENTER.version},
    r"gpu-operator|GPU Operator": {versions.GPU_OPERATOR.version.removeprefix("v")},
    r"NVIDIA's(?: device)? plugin|nvidia-device-plugin": {versions.DEVICE_PLUGIN.version},
    r"Cluster Autoscaler|It is release": {lab.cluster_autoscaler().version.removeprefix("v")},
    r"pulumi-eks|`eks` \|": of_package("pulumi-eks"),
    r"`aws` \|": of_package("pulumi-aws"),
    r"`kubernetes` \|": of_package("pulumi-kubernetes"),
    r"karpenter/karpenter --version": {versions.KARPENTER.version},
}
"""What a version behind a name has to be."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_version_that_a_page_names_is_pinned_or_history(page: Path) -> None:
    unknown = set(named(page)) - pinned() - HISTORY.keys()

    assert unknown == set()


def test_history_holds_nothing_that_no_page_names() -> None:
    there = {version for page in PAGES for version in named(page)}

    assert HISTORY.keys() - there == set()


@pytest.mark.parametrize("thing", THINGS)
def test_a_version_behind_a_name_is_that_thing_s(thing: str) -> None:
    said = re.findall(rf"(?:{thing}) v?(\d+\.\d+\.\d+)(?![\w-])", read(*PAGES))

    assert said, "no page names it: take the line away"
    assert {*said} <= THINGS[thing]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_kubernetes_version_is_one_that_eks_has_and_the_tables_know(page: Path) -> None:
    found = _KUBERNETES.findall(page.read_text(encoding="utf-8"))

    assert {"".join(groups) for groups in found} <= {*versions.KUBERNETES_VERSIONS, "1.30"}


def test_a_day_on_a_page_is_one_of_the_tables_or_stands_in_an_example() -> None:
    """Facts have their day in the tables (`findings --ages`); pages name none beside."""
    known = {str(dated.read) for dated in ages()}
    known |= {day for dated in ages() for day in _DAY.findall(dated.source)}
    for version in eks_versions().values():
        known |= {str(version.standard_until), str(version.extended_until)}
    found = {
        f"{page.name}: {day}"
        for page in PAGES
        for day in _DAY.findall(without_examples(page.read_text(encoding="utf-8")))
        if day not in known
    }

    assert found == set()


def without_examples(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)
