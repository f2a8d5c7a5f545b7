"""Where a component that stands alone has a finding: in its own arguments, not in a stack file's.

`test_rules_alone.py` has which findings there are; here is what they point at.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.config.component_specs import (
    ClusterAutoscalerSpec,
    DevicePluginSpec,
    EfaDevicePluginSpec,
    GpuOperatorSpec,
    GpuPoolSpec,
    KarpenterPoolSpec,
    KarpenterSpec,
    KedaSpec,
    NetworkSpec,
    SharedWorkloadSpec,
)
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules import component_rules
from eks_gpushare.rules.registry import Check, Runs, Scope
from eks_gpushare.validation.partial import read_block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

CHECKS: dict[str, tuple[Any, Any]] = {
    "autoscaler": (ClusterAutoscalerSpec, component_rules.check_cluster_autoscaler),
    "efa": (EfaDevicePluginSpec, component_rules.check_efa_device_plugin),
    "karpenter": (KarpenterSpec, component_rules.check_karpenter),
    "karpenter pool": (KarpenterPoolSpec, component_rules.check_karpenter_pool),
    "keda": (KedaSpec, partial(component_rules.check_keda, has_cluster=False)),
    "keda of a cluster": (KedaSpec, partial(component_rules.check_keda, has_cluster=True)),
    "network": (NetworkSpec, component_rules.check_network),
    "operator": (GpuOperatorSpec, component_rules.check_gpu_operator),
    "plugin": (DevicePluginSpec, component_rules.check_device_plugin),
    "pool": (GpuPoolSpec, component_rules.check_pool),
    "workload": (SharedWorkloadSpec, component_rules.check_shared_workload),
}
POOL: dict[str, Any] = {
    "instanceTypes": ["g5.xlarge"],
    "sharing": {"mode": "timeSlicing", "replicas": 4},
}
SERVED = {"name": "gpu", **POOL}
OF_AUTOSCALER = {"version": "1.35", "pools": ["gpu"], "nodes": [{}]}
WORKLOAD = {"name": "w", "image": "registry.example.com/w:1.0", "served": [SERVED]}
LATEST = {"version": "latest"}
ADDRESS = {"url": "http://prometheus.monitoring:9090"}
WORKSPACE = {
    "workspaceArn": "arn:aws:aps:us-west-2:111122223333:workspace/"
    "ws-12345678-1234-1234-1234-123456789012"
}
UNLIKE = ["p4d.24xlarge", "p5.48xlarge"]
MIG = {"mode": "mig", "layout": "all-balanced", "timeSlicing": {"replicas": 2}}
NO_DRIVER = {
    "amiFamily": "custom",
    "customAmi": {"id": "ami-0123456789abcdef0", "family": "al2023", "driverIncluded": False},
}


def errors(component: str, **given: Any) -> list[tuple[str, tuple[str | int, ...]]]:
    """Code and place of the errors in the arguments of a component."""
    spec, check = CHECKS[component]
    reading = read_block(spec, given, by_alias=True)
    assert not reading.details, reading.details
    found = [each for each in check(reading.block) if each.severity == "error"]
    assert all(each.path.replace("[", ".").startswith(str(each.at[0])) for each in found)
    return [(each.code, each.at) for each in found]


@pytest.mark.parametrize(
    ("component", "given", "code", "at"),
    [
        ("autoscaler", {**OF_AUTOSCALER, "chart": LATEST}, "GPU702", ("chart", "version")),
        ("autoscaler", {**OF_AUTOSCALER, "namespace": "A_"}, "GPU797", ("namespace",)),
        ("efa", {"pools": ["gpu"], "chart": LATEST}, "GPU702", ("chart", "version")),
        ("karpenter", {"chart": LATEST}, "GPU702", ("chart", "version")),
        ("karpenter", {"crdChart": LATEST}, "GPU702", ("crd_chart", "version")),
        ("karpenter", {"namespace": "A_"}, "GPU774", ("namespace",)),
        ("karpenter pool", {"pool": "A_", **POOL}, "GPU307", ("pool",)),
        (
            *("karpenter pool", {"pool": "gpu", **POOL, "instanceTypes": ["g5.x"]}),
            *("GPU101", ("instanceTypes", 0)),
        ),
        ("keda", {"prometheus": ADDRESS, "chart": LATEST}, "GPU702", ("chart", "version")),
        ("keda", {"prometheus": ADDRESS, "namespace": "A_"}, "GPU846", ("namespace",)),
        ("keda", {"prometheus": {}}, "GPU833", ("prometheus",)),
        ("keda", {"prometheus": WORKSPACE}, "GPU004", ("cluster_name",)),
        ("network", {"zones": ["a", "us-west-2b"]}, "GPU408", ("zones", 0)),
        ("network", {"zones": ["eu-west-1a", "eu-west-2b"]}, "GPU408", ("zones", 1)),
        (
            *("operator", {"pools": {"gpu": POOL}, "chart": LATEST}),
            *("GPU702", ("chart", "version")),
        ),
        (
            *("operator", {"pools": {"gpu": POOL}, "migTaintRemoverImage": "A B"}),
            *("GPU728", ("migTaintRemoverImage",)),
        ),
        (
            *("operator", {"pools": {"gpu": {**POOL, **NO_DRIVER}, "other": POOL}}),
            *("GPU716", ("pools", "gpu", "customAmi", "driverIncluded")),
        ),
        ("plugin", {"pools": {"gpu": POOL}, "namespace": "A_"}, "GPU311", ("namespace",)),
        (
            *(
                "plugin",
                {"pools": {"gpu": {**POOL, "sharing": {**POOL["sharing"], "replicas": 1}}}},
            ),
            *("GPU201", ("pools", "gpu", "sharing", "replicas")),
        ),
        (
            *("plugin", {"pools": {"gpu": {"instanceTypes": UNLIKE, "sharing": MIG}}}),
            *("GPU103", ("pools", "gpu", "instanceTypes")),
        ),
        ("workload", {**WORKLOAD, "served": []}, "GPU820", ("served",)),
        ("workload", {**WORKLOAD, "served": [SERVED, SERVED]}, "GPU820", ("served", 1)),
        ("workload", {**WORKLOAD, "prometheus": {"url": "x"}}, "GPU833", ("prometheus", "url")),
        ("workload", {**WORKLOAD, "image": "A B"}, "GPU829", ("image",)),
    ],
)
def test_a_finding_is_in_the_components_own_arguments(
    component: str, given: dict[str, Any], code: str, at: tuple[str | int, ...]
) -> None:
    assert (code, at) in errors(component, **given)


@pytest.mark.parametrize(
    ("component", "given"),
    [
        ("autoscaler", OF_AUTOSCALER),
        ("efa", {"pools": ["gpu"]}),
        ("karpenter", {}),
        ("karpenter pool", {"pool": "gpu", **POOL}),
        ("keda", {"prometheus": ADDRESS}),
        ("keda of a cluster", {"prometheus": WORKSPACE}),
        ("network", {"zones": ["eu-west-1a", "eu-west-1b"]}),
        ("network", {"zones": ["us-west-2a", "us-west-2b"]}),
        ("operator", {"pools": {"gpu": POOL}}),
        ("plugin", {"pools": {"gpu": {**POOL, "instanceTypes": UNLIKE}}}),
        ("pool", {"pool": "gpu", **POOL}),
        ("workload", WORKLOAD),
        ("workload", {**WORKLOAD, "prometheus": WORKSPACE}),
    ],
)
def test_right_arguments_have_no_error(component: str, given: dict[str, Any]) -> None:
    assert errors(component, **given) == []


def test_unlike_types_are_for_whoever_makes_the_nodes_to_part() -> None:
    unlike = {**POOL, "instanceTypes": UNLIKE}

    assert ("GPU103", ("instanceTypes",)) in errors("pool", pool="gpu", **unlike)
    assert errors("plugin", pools={"gpu": unlike}) == []


IN_POOL = ("pools", "gpu", "taints")
RULE = Rule("GPU999", "error", "What a check finds.", "For tests.", "https://example.com")


@pytest.mark.parametrize(
    ("component", "places"),
    [
        *((each, {(): ()}) for each in ("autoscaler", "efa", "karpenter", "keda", "operator")),
        *((each, {("charts",): ("chart",)}) for each in ("autoscaler", "efa", "keda", "plugin")),
        *((each, {IN_POOL: IN_POOL}) for each in ("efa", "karpenter", "keda", "operator")),
        ("karpenter", {("charts",): ("charts",)}),
        ("karpenter", {("charts", "karpenter"): ("chart",)}),
        ("karpenter", {("charts", "karpenterCrd"): ("crd_chart",)}),
        ("karpenter", {("charts", "keda", "version"): ("keda", "version")}),
    ],
)
def test_places_of_charts_are_those_of_the_component(
    component: str,
    places: dict[tuple[str, ...], tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [(found_at, place)] = places.items()

    def look(_: Context) -> Iterator[Finding]:
        yield RULE.finding(found_at, "It is found.", "Nothing to do.")

    check = Check(look, Scope.CHARTS, (RULE,), Runs.EVERYWHERE, by_manager=False)
    monkeypatch.setattr(component_rules, "checks_of", lambda _: (check,))
    needed: dict[str, dict[str, Any]] = {
        "autoscaler": OF_AUTOSCALER,
        "efa": {"pools": ["gpu"]},
        "keda": {"prometheus": ADDRESS},
    }
    given = needed.get(component, {})

    spec, run = CHECKS[component]
    [found] = run(read_block(spec, given, by_alias=True).block)
    assert found.at == place
