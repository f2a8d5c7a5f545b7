"""What a run says of machines that are no nodes, and which releases bring a controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from eks_gpushare_lab.controllers.running import KARPENTER, Running, release_of
from eks_gpushare_lab.install.charts import render
from eks_gpushare_lab.install.desired_cluster import DesiredCluster
from eks_gpushare_lab.install.release import DeclaredRelease

if TYPE_CHECKING:
    from eks_gpushare_lab.cloud.emulation import Cloud

ENDS = "Karpenter ends it after 15 minutes."


@dataclass
class Launched:
    """AWS with machines."""

    given: list[dict[str, Any]]

    def machines(self) -> list[dict[str, Any]]:
        return self.given


def running(*said: tuple[str, str]) -> Running:
    machines = [{"pool": pool, "said": text} for pool, text in said]
    return Running(DesiredCluster((), (), ()), cloud=cast("Cloud", Launched(machines)))


def test_machines_that_never_join_are_told_once_for_each_reason() -> None:
    found = running(("gpu", "a stop"), ("gpu", ""), ("gpu", "a stop"), ("other", "b.")).findings()
    assert [(each.code, each.path, each.message) for each in found] == [
        (
            "GPU933",
            "pools.gpu",
            f"2 instances that were launched for it never join: a stop. {ENDS}",
        ),
        (
            "GPU933",
            "pools.other",
            f"An instance that was launched for it never joins: b. {ENDS}",
        ),
    ]


def test_nothing_is_told_where_all_join_or_nothing_runs() -> None:
    assert not list(running(("gpu", "")).findings())
    assert not list(Running(DesiredCluster((), (), ())).findings())


def test_a_controller_is_of_a_release_and_nothing_of_its_chart_is_missing() -> None:
    releases = [
        DeclaredRelease("a", "default", name, "1.14.1", {})
        for name in ("karpenter-crd", "karpenter")
    ]
    assert release_of(releases, KARPENTER) is releases[1]
    assert release_of(releases[:1], KARPENTER) is None
    assert [render(each) for each in releases] == [[], []]
