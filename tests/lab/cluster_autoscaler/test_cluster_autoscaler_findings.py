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
TEN, TEN_RENAMED, FOUR_RENAMED = (
    "mode: timeSlicing, replicas: 10",
    "mode: timeSlicing, replicas: 10, rename: true",
    "mode: timeSlicing, replicas: 4, rename: true",
)
# Five minutes are five seconds here, and the plugin comes long after.
LATE = CloudSettings(start=0, plugin=200)


def codes_of(found: list[Any]) -> set[str]:
    return {each.code for each in found}


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
    ten = breaks["promising"](SHARED, 10)
    pools = {
        "fine": pool(f"{{{TEN_RENAMED}}}", SHARED, 15),
        "at-its-limit": pool(f"{{{TEN_RENAMED}}}", SHARED, 25, most=2),
        "too-much": pool(f"{{{FOUR_RENAMED}}}", SHARED, 25, change=ten, most=4),
        "absent": pool(f"{{{TEN}}}", SHARED, 25, change=ten, most=4),
        "labelled": pool(f"{{{TEN_RENAMED}}}", SHARED, 15, change=breaks["labelled"]),
        "unlabelled": pool(f"{{{TEN}}}", GPU, 5, change=breaks["unlabelled"]),
    }
    folder = tmp_path_factory.mktemp("stack")
    with scaled_lab(pools, folder, None, "{scaleDownAfter: 5m}") as lab:
        first = [name for name in pools if name != "unlabelled"]
        lab.deploy(*first)
        lab.await_that(lambda: lab.running("fine") == 15, "pods run")
        # It says so at the end of its scale-up, about a minute after the last node.
        lab.await_that(lambda: lab.state()["labelled"] == (2, 15), "nodes come")
        asked = lab.asked_for_groups()
        lab.scale("labelled", 22)

        def is_told() -> bool:
            codes = {name: codes_of(each) for name, each in said_of(lab).items()}
            at_limit = all("GPU967" in codes.get(n, ()) for n in ("at-its-limit", "too-much"))
            return at_limit and lab.asked_for_groups() > asked + 1

        lab.await_that(is_told, "limits are told, and the groups were looked at again", 300)
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
        ("too-much", "GPU967", "max is 4 and 4 are there"),
        ("too-much", "GPU965", "A node of g5.xlarge advertises other than a tag"),
        ("absent", "GPU965", "A node of g5.xlarge advertises other than a tag"),
        (
            "labelled",
            "GPU964",
            "believes there is room: 2 pods wait, and Cluster Autoscaler takes ",
        ),
        ("unlabelled", "GPU963", "launches and removes: "),
    ],
)
def test_what_is_broken_is_named(
    found: dict[str, list[Any]], name: str, code: str, words: str
) -> None:
    said = {each.code: each.message for each in found.get(name, ())}
    assert said.get(code, "").startswith(words), said


def test_a_tag_that_is_wrong_is_not_called_belief_in_room(found: dict[str, list[Any]]) -> None:
    """Further nodes come, up to the limit."""
    assert "GPU964" not in codes_of(found["too-much"])


def test_what_is_well_is_not(found: dict[str, list[Any]]) -> None:
    assert [each.message for each in found.get("fine", ())] == []
