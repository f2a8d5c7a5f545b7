"""A component that stands alone refuses what a stack file refuses.

Each rule's example is held against both ways in: the stack file, and the arguments of the component
whose block it is about. A rule that such a component cannot have says why, beside the rule.
"""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

import finding_examples
import pytest
import yaml
from tests.conftest import sampled

from eks_gpushare.config.component_specs import (
    ClusterAutoscalerSpec,
    DevicePluginSpec,
    EfaDevicePluginSpec,
    EksClusterSpec,
    GpuMetricsSpec,
    GpuOperatorSpec,
    GpuPoolSpec,
    KarpenterPoolSpec,
    KarpenterSpec,
    KedaSpec,
    NetworkSpec,
    SharedWorkloadSpec,
    ShareVerifierSpec,
    SystemNodesSpec,
    TenantsSpec,
)
from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.rule import rules_in
from eks_gpushare.rules import (
    all_rules,
    checks_of,
    component_rules,
    edit_rules,
    local_files,
    metrics_alone,
)
from eks_gpushare.rules.context import Context, catalog_with
from eks_gpushare.rules.registry import Runs, Scope
from eks_gpushare.validation.parse import parse
from eks_gpushare.validation.partial import read_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.findings.rule import Rule

SHARED = (
    *("provisioner", "instanceTypes", "sharing", "taints"),
    *("amiFamily", "customAmi", "bottlerocket"),
)
ALONE = set(Scope) - {Scope.ENVIRONMENT}
CHECKED = sorted(
    {rule for each in checks_of() if each.scope in ALONE for rule in each.rules}, key=lambda r: r.id
)


class Today(date):
    @classmethod
    def today(cls) -> Today:
        day = finding_examples.TODAY
        return cls(day.year, day.month, day.day)


@pytest.fixture(autouse=True)
def a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component_rules, "date", Today)


def wrong_environment(rule: Rule) -> dict[str, Any]:
    wrong = finding_examples.example(rule.id).wrong
    if wrong.whole:
        whole: dict[str, Any] = yaml.load(wrong.text, yaml.CSafeLoader)["config"][ENVIRONMENT_KEY]
        return whole
    merged: dict[str, Any] = merge_values(
        finding_examples.base(), yaml.load(wrong.text, yaml.CSafeLoader)
    )
    return merged


def read(spec: Any, check: Callable[[Any], Iterator[Finding]], given: dict[str, Any]) -> set[str]:
    """Ids of what a check finds in the arguments of a component."""
    reading = read_block(spec, given, by_alias=True)
    assert not reading.details, reading.details
    return {found.code for found in check(reading.block)}


def alone(given: dict[str, Any]) -> set[str]:
    """Ids of what components find in their parts of an environment."""
    common: dict[str, Any] = {key: given[key] for key in ("tags", "catalog", "iam") if key in given}
    stack, charts = given.get("gpuStack", {}), given.get("charts", {})
    manager = stack.get("manager", "devicePlugin")
    cluster, network = given.get("cluster", {}), given.get("network", {})
    found: set[str] = set()
    if "existing" not in cluster:
        found |= read(
            EksClusterSpec,
            component_rules.check_cluster,
            {**cluster, **{k: v for k, v in common.items() if k != "catalog"}},
        )
    if isinstance(network.get("zones"), list):
        found |= read(NetworkSpec, component_rules.check_network, network)
    if "system" in given:
        found |= read(SystemNodesSpec, component_rules.check_system_nodes, given["system"])
    pools = given.get("pools", {})
    for name, pool in pools.items():
        version = {"version": cluster["version"]} if "version" in cluster else {}
        args = {**pool, "pool": name, **version, **common}
        found |= read(GpuPoolSpec, lambda spec: component_rules.check_pool(spec, 2), args)
    shared = {n: {k: pool[k] for k in SHARED if k in pool} for n, pool in pools.items()}
    args = {"pools": shared, **{k: v for k, v in common.items() if k == "catalog"}}
    args |= {key: stack[key] for key in ("namespace", "migTaintRemoverImage") if key in stack}
    args |= {"chart": charts[manager]} if manager in charts else {}
    found |= read(GpuOperatorSpec, component_rules.check_gpu_operator, args)
    if manager == "devicePlugin":
        args.pop("migTaintRemoverImage", None)
        found |= read(DevicePluginSpec, component_rules.check_device_plugin, args)
    with_efa = [name for name, pool in pools.items() if pool.get("efa")]
    if with_efa:
        args = {"pools": with_efa}
        args |= {"chart": charts["efaDevicePlugin"]} if "efaDevicePlugin" in charts else {}
        found |= read(EfaDevicePluginSpec, component_rules.check_efa_device_plugin, args)
    if "clusterAutoscaler" in given:
        scaled = [name for name, pool in pools.items() if pool.get("scaledBy") == "autoscaler"]
        args = {**given["clusterAutoscaler"], "pools": scaled, "version": cluster.get("version")}
        args["nodes"] = [pools[name].get("nodes", {}) for name in scaled]
        args |= {"chart": charts["clusterAutoscaler"]} if "clusterAutoscaler" in charts else {}
        if args["version"] is not None:
            found |= read(ClusterAutoscalerSpec, component_rules.check_cluster_autoscaler, args)
    found |= of_the_whole_cluster(given, common)
    return found | karpenter_alone(given, common) | of_workloads(given, shared)


def of_the_whole_cluster(given: dict[str, Any], common: Mapping[str, Any]) -> set[str]:
    """The same for tenants, and for what looks at the cluster."""
    found: set[str] = set()
    if "tenants" in given:
        args = {"tenants": given["tenants"], "pools": given.get("pools", {})}
        args |= {k: v for k, v in given.get("cluster", {}).items() if k == "version"}
        args |= {key: each for key, each in common.items() if key in {"catalog", "tags"}}
        check = partial(component_rules.check_tenants, has_cluster=True)
        found |= read(TenantsSpec, check, args)
    if "verifier" in given:
        found |= read(ShareVerifierSpec, component_rules.check_share_verifier, given["verifier"])
    if "observability" in given:
        args = {**given["observability"], "pools": given.get("pools", {})}
        args["region"] = finding_examples.REGION
        args |= {key: given[key] for key in ("tenants", "gpuStack", "verifier") if key in given}
        own = {"dcgmExporter": "exporterChart", "prometheus": "prometheusChart"}
        args |= {own[key]: each for key, each in given.get("charts", {}).items() if key in own}
        args |= {key: each for key, each in common.items() if key == "catalog"}
        of_metrics = partial(metrics_alone.check_gpu_metrics, wired=metrics_alone.COLLECTED_INPUTS)
        found |= read(GpuMetricsSpec, of_metrics, args)
    return found


def karpenter_alone(given: dict[str, Any], common: Mapping[str, Any]) -> set[str]:
    """The same for Karpenter and its pools."""
    found: set[str] = set()
    charts, cluster = given.get("charts", {}), given.get("cluster", {})
    version = {"version": cluster["version"]} if "version" in cluster else {}
    for name, pool in given.get("pools", {}).items():
        if pool.get("provisioner") == "karpenter":
            args = {**pool, "pool": name, **version}
            args |= {key: each for key, each in common.items() if key != "iam"}
            found |= read(KarpenterPoolSpec, component_rules.check_karpenter_pool, args)
    if "karpenter" in given or {"karpenter", "karpenterCrd"} & {*charts}:
        args = {**given.get("karpenter", {})}
        args |= {key: each for key, each in common.items() if key != "catalog"}
        for key, own in (("karpenter", "chart"), ("karpenterCrd", "crdChart")):
            args |= {own: charts[key]} if key in charts else {}
        found |= read(KarpenterSpec, component_rules.check_karpenter, args)
    return found


def of_workloads(given: dict[str, Any], shared: dict[str, Any]) -> set[str]:
    """The same of what runs on the pools."""
    found: set[str] = set()
    keda = given.get("keda")
    if keda is not None:
        args = {key: value for key, value in keda.items() if key != "install"}
        check = partial(component_rules.check_keda, has_cluster=True)
        found |= read(KedaSpec, check, args)
    for name, workload in given.get("workloads", {}).items():
        named = workload.get("pools") or [workload.get("pool")]
        served = [{"name": each, **shared[each]} for each in named if each in shared]
        args = {**workload, "name": name, "served": served}
        args |= {"prometheus": keda["prometheus"]} if keda else {}
        found |= read(SharedWorkloadSpec, component_rules.check_shared_workload, args)
    return found


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_what_a_stack_file_refuses_a_component_refuses_too(rule: Rule) -> None:
    found = rule.id in alone(wrong_environment(rule))

    assert found != bool(rule.not_alone), rule.not_alone or "neither found nor is there a reason"


@pytest.mark.parametrize("catalog", [7, {"instanceTypes": 7}, {"instanceTypse": {}}])
def test_a_catalog_that_cannot_be_read_may_know_every_type(catalog: object) -> None:
    pool = {"instanceTypes": ["p9.48xlarge"], "sharing": {"mode": "exclusive"}}
    alone = read_block(GpuPoolSpec, {**pool, "pool": "gpu", "catalog": catalog}, by_alias=True)
    manager = {"pools": {"gpu": pool}, "catalog": catalog}
    served = read_block(DevicePluginSpec, manager, by_alias=True)

    assert "GPU101" not in {found.code for found in component_rules.check_pool(alone.block)}
    assert list(component_rules.check_device_plugin(served.block)) == []


def test_a_reason_is_a_sentence() -> None:
    for rule in all_rules():
        why = rule.not_alone
        assert not why or (why[0].isupper() and why.endswith(".")), rule.id


def test_every_rule_of_the_rules_has_a_check() -> None:
    shape = {rule for rule in all_rules() if rule.id < "GPU100"} | ADDITIONS | OF_FILES
    checked = {rule for each in checks_of() for rule in each.rules}

    of_files = set(rules_in(local_files))  # asked where there is a file system to ask

    assert set(all_rules()) - checked == shape | set(edit_rules()) | of_files


ADDITIONS = {rule for rule in all_rules() if rule.id in {"GPU108", "GPU235"}}
"""Found while the catalog is made, for a stack and for each component that takes one."""


OF_FILES = {rule for rule in all_rules() if rule.id == "GPU463"}
"""Found in the text of a stack file: what a program hands over was never in one."""


def test_an_addition_to_the_catalog_is_checked_in_components() -> None:
    for rule in ADDITIONS:
        assert rule.id in alone(wrong_environment(rule))


@pytest.mark.parametrize("rule", sampled(all_rules(), 3), ids=lambda rule: rule.id)
def test_a_check_names_the_rules_of_all_its_findings(rule: Rule) -> None:
    """Pages, and which component runs it, follow from the rules that a check names."""
    example = finding_examples.example(rule.id)
    sides = [side for side in (example.wrong, example.right) if not side.whole]
    for side in sides:
        given = merge_values(finding_examples.base(), yaml.load(side.text, yaml.CSafeLoader))
        environment = parse(given).environment
        assert environment is not None
        catalog = catalog_with(environment, finding_examples.REGION, [])
        ctx = Context(environment, catalog, finding_examples.REGION, finding_examples.TODAY)
        for check in checks_of():
            pools = environment.pools.items() if check.scope is Scope.POOL else [()]
            found = {each.code for pool in pools for each in check(ctx, *pool)}

            assert found <= {each.id for each in check.rules}, check.look.__name__


def test_a_check_that_runs_alone_only_has_a_rule_of_stacks_too() -> None:
    of_stacks = {rule for each in checks_of() if each.runs is not Runs.ALONE for rule in each.rules}
    of_components = {rule for each in checks_of() if each.runs is Runs.ALONE for rule in each.rules}

    assert of_components <= of_stacks
