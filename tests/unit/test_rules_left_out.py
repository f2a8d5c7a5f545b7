"""Which modules of rules an environment needs: a check asks no others, and imports none of them."""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from finding_examples import TODAY, base

from eks_gpushare.catalog import Catalog
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.rules import check_environment, checks_of, pool_findings
from eks_gpushare.rules.context import Context
from eks_gpushare.rules.registry import Check, Runs, Scope
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding

CHARTS = frozenset(
    {
        *("charts", "chart_effects", "chart_images", "chart_sources"),
        *("chart_types", "chart_values", "chart_versions"),
    }
)
KARPENTER = frozenset(
    {
        *("karpenter", "karpenter_budgets", "karpenter_chart", "karpenter_disruption"),
        *("karpenter_gates", "karpenter_install", "karpenter_limits", "karpenter_nodes"),
    }
)
AUTOSCALER = frozenset({"cluster_autoscaler", "cluster_autoscaler_chart"})
WARM = frozenset({"namespaces", "schedules", "workload_pods"})
METRICS = frozenset(
    ("cloudwatch", "exporter", "host_engine", "managed_prometheus", "namespaces", "observability")
)
WORKLOADS = WARM | {"exporter", "keda", "wake", "workload_nodes", "workloads"}
MIG = frozenset({"mig", "mig_boot", "mig_manager"})
NODES = frozenset({"node_settings", "user_data"})
BOTTLEROCKET = frozenset({"bottlerocket", "bottlerocket_mig"})
OWN_TAINT = {"key": "eks-gpushare/mig", "effect": "NoSchedule"}


def environment(given: dict[str, Any]) -> Environment:
    found = parse(merge_values(base(), given)).environment
    assert found is not None
    return found


def modules(given: dict[str, Any]) -> frozenset[str]:
    looks = (each.look.__module__ for each in checks_of(environment(given)))
    return frozenset(name.rpartition(".")[2] for name in looks)


def pool(**keys: Any) -> dict[str, Any]:
    return {"pools": {"gpu": keys}}


def image(family: str) -> dict[str, Any]:
    ami = {"id": "ami-0123456789abcdef0", "family": family, "driverIncluded": True}
    return pool(amiFamily="custom", amiVersion=None, customAmi=ami)


def chart(key: str) -> dict[str, Any]:
    return {"charts": {key: {"version": "1.0.0"}}}


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({}, frozenset()),
        ({"charts": {}, "tags": {}, "workloads": {}, "system": None}, frozenset()),
        ({"cluster": {"addons": {}}, "gpuStack": {"namespace": "gpu"}}, frozenset()),
        ({"gpuStack": {"manager": "gpuOperator"}}, CHARTS | {"host_engine", "node_boot"}),
        ({"gpuStack": {"migTaintRemoverImage": "a/b:1"}}, MIG),
        ({"gpuStack": {"efaDevicePlugin": False}}, frozenset({"efa"})),
        ({"cluster": {"addons": {"ebsCsi": True}}}, frozenset({"addons", "addon_versions"})),
        ({"iam": {}}, frozenset({"roles"})),
        ({"tags": {"team": "ml"}}, frozenset({"tags"})),
        ({"system": {}}, frozenset({"system"})),
        ({"system": {"nodeRole": "arn:aws:iam::111122223333:role/n"}}, NODES | {"system"}),
        ({"karpenter": {}}, KARPENTER | {"namespaces"}),
        ({"clusterAutoscaler": {}}, AUTOSCALER),
        ({"keda": {"prometheus": {"url": "http://prometheus:9090"}}}, WORKLOADS),
        ({"observability": {"metrics": "cloudwatch"}}, METRICS),
        ({"workloads": {"w": {"image": "a/b:1", "pool": "gpu"}}}, WORKLOADS),
        (chart("devicePlugin"), CHARTS),
        (chart("efaDevicePlugin"), CHARTS | {"efa"}),
        (chart("karpenter"), CHARTS | KARPENTER),
        (chart("karpenterCrd"), CHARTS | KARPENTER),
        (chart("clusterAutoscaler"), CHARTS | AUTOSCALER),
        (chart("keda"), CHARTS | WORKLOADS),
        (pool(sharing={"mode": "mig", "layout": "all-1g.5gb"}), MIG | {"node_boot"}),
        (pool(taints=[]), frozenset({"taken_taints"})),
        (pool(taints=[OWN_TAINT]), MIG | {"taken_taints"}),
        (pool(amiFamily="bottlerocket", amiVersion=None), BOTTLEROCKET),
        (pool(bottlerocket={}), BOTTLEROCKET),
        (image("bottlerocket"), BOTTLEROCKET | NODES),
        (image("al2023"), NODES),
        (pool(userData="echo"), NODES),
        (pool(kubelet={"maxPods": 20}), NODES),
        (pool(maxUnavailable=1), NODES),
        (pool(localStorage="raid0"), NODES),
        (pool(nodeRole="arn:aws:iam::111122223333:role/n"), NODES),
        (pool(provisioner="existing", nodes=None), NODES),
        (pool(provisioner="karpenter", nodes={"max": 2}), KARPENTER),
        (pool(karpenter={}), KARPENTER),
        (pool(efa=True), frozenset({"efa"})),
        (pool(scaledBy="autoscaler"), frozenset({"autoscaling"})),
        (pool(waitForDriver=False), frozenset({"node_boot"})),
        (pool(warm={"nodes": 1}), WARM | {"warm_room"}),
    ],
)
def test_an_environment_is_asked_what_is_about_it(
    given: dict[str, Any], more: frozenset[str]
) -> None:
    assert modules(given) - modules({}) == more
    assert modules({}) <= modules(given)


def test_what_cannot_be_read_may_be_about_anything() -> None:
    of_pools = BOTTLEROCKET | NODES | MIG | {"autoscaling", "taken_taints", "warm_room"}

    assert modules({"pools": 7}) - modules({}) >= of_pools
    assert modules({"charts": 7}) - modules({}) >= CHARTS


def test_of_what_is_read_in_part_errors_are_told() -> None:
    given = environment(pool(instanceTypes=["g5.xlarg"], rootVolumeGiB=50))
    found = check_environment(given, region="us-west-2", today=TODAY)
    errors = check_environment(given, region="us-west-2", today=TODAY, partly_read=True)

    assert {each.severity for each in found} == {"error", "warning", "info"}
    assert errors == [each for each in found if each.severity == "error"]


def test_a_day_is_today_unless_it_is_given() -> None:
    late = date(2099, 1, 1)

    def codes(today: date | None) -> set[str]:
        found = check_environment(environment({}), region="us-west-2", today=today)
        return {each.code for each in found}

    assert "GPU602" in codes(late)
    assert CHECK_FAILED.id not in codes(None)
    assert codes(None) == codes(date.today())  # noqa: DTZ011  (a calendar day)


def test_a_pool_that_was_checked_before_is_asked_what_its_manager_changes() -> None:
    pools = {"new": base()["pools"]["gpu"]}
    ctx = Context(environment({"pools": pools}), Catalog(), "us-west-2", TODAY)
    asked: list[tuple[str, bool]] = []

    def look(_: Context, name: str, __: Pool, *, by_manager: bool) -> Iterator[Finding]:
        asked.append((name, by_manager))
        yield from ()

    checks = [
        Check(partial(look, by_manager=each), Scope.POOL, (), Runs.EVERYWHERE, by_manager=each)
        for each in (True, False)
    ]
    assert list(pool_findings(checks, ctx, ["gpu"])) == []
    assert asked == [("gpu", True), ("new", True), ("new", False)]
