"""What is broken between Cluster Autoscaler and its nodes is named, as the real one breaks it.

It takes minutes, so it runs only where EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER is set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.cloud.settings import CloudSettings
from eks_gpushare_lab.reporting.agreements import agreement_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER"),
    reason="minutes of Cluster Autoscaler: EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER=1",
)

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
TEN, TEN_RENAMED = (
    "mode: timeSlicing, replicas: 10",
    "mode: timeSlicing, replicas: 10, rename: true",
)
# Five minutes are five seconds here, and the plugin comes long after.
LATE = CloudSettings(start=0, plugin=200)


def said_of(lab: Any) -> dict[str, list[Any]]:
    """What is found now, by pool."""
    lab.session.scaling.look()
    lab.session.scaling.take_stock()
    by_pool: dict[str, list[Any]] = {}
    for each in agreement_findings(lab.session):
        by_pool.setdefault(each.path.split(".")[1], []).append(each)
    return by_pool


@pytest.fixture(scope="module")
def found(
    scaled_lab: Any, pool: Any, breaks: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, list[Any]]]:
    """Findings by pool."""
    pools = {
        "fine": pool(f"{{{TEN_RENAMED}}}", SHARED, 15),
        "at-its-limit": pool(f"{{{TEN_RENAMED}}}", SHARED, 25, most=2),
        "unlabelled": pool(f"{{{TEN}}}", GPU, 5, change=breaks["unlabelled"]),
    }
    folder = tmp_path_factory.mktemp("stack")
    with scaled_lab(pools, folder, None, "{scaleDownAfter: 5m}") as lab:
        first = [name for name in pools if name != "unlabelled"]
        lab.deploy(*first)
        lab.await_that(lambda: lab.running("fine") == 15, "pods run")
        # It says so at the end of its scale-up, about a minute after the last node.
        lab.await_that(lambda: "at-its-limit" in said_of(lab), "the limit is told", 200)
        by_pool = said_of(lab)

        lab.cloud.change(LATE)
        lab.deploy("unlabelled")

        def is_endless() -> bool:
            lab.session.scaling.look()
            return "unlabelled" in lab.session.scaling.endless

        lab.await_that(is_endless, "nodes go before their plugin comes", 300)
        by_pool["unlabelled"] = said_of(lab)["unlabelled"]
        yield by_pool


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("at-its-limit", "GPU967", "max is 2 and 2 are there"),
        ("unlabelled", "GPU963", "launches and removes: "),
    ],
)
def test_what_is_broken_is_named(
    found: dict[str, list[Any]], name: str, code: str, words: str
) -> None:
    said = {each.code: each.message for each in found.get(name, ())}
    assert said.get(code, "").startswith(words), said


def test_what_is_well_is_not(found: dict[str, list[Any]]) -> None:
    assert [each.message for each in found.get("fine", ())] == []
