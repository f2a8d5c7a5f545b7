"""Rules that compare one part of an environment with another, or with the catalog."""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from eks_gpushare.config import additions, mig_additions
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.sharing import Mig
from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.findings.rule import rules_in
from eks_gpushare.rules.context import Context, catalog_with
from eks_gpushare.rules.registry import Runs, Scope, checks_in, until_unread
from eks_gpushare.sharing.bottlerocket import is_bottlerocket
from eks_gpushare.sharing.labels import OWN_PREFIX
from eks_gpushare.validation import credentials, shape_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from types import ModuleType

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.rules.registry import Check


def _mig(environment: Environment) -> bool:
    return environment.gpu_stack.mig_taint_remover_image is not None or any(
        isinstance(pool.sharing, Mig) or any(t.key.startswith(OWN_PREFIX) for t in pool.taints)
        for pool in environment.pools.values()
    )


def _bottlerocket(environment: Environment) -> bool:
    pools = environment.pools.values()
    return any(pool.bottlerocket is not None or is_bottlerocket(pool) for pool in pools)


def _charts(environment: Environment) -> bool:
    other = environment.gpu_stack.manager != "devicePlugin"
    return other or bool(environment.charts.model_fields_set)


def _node_settings(environment: Environment) -> bool:
    if any(pool.provisioner == "existing" for pool in environment.pools.values()):
        return True
    nodes = [*environment.pools.values(), *([environment.system] if environment.system else [])]
    return any(
        getattr(node, key, None) is not None
        for node in nodes
        for key in (
            *("node_role", "user_data", "kubelet", "max_unavailable", "local_storage"),
            "custom_ami",  # whose user data has labels, and has to fit too
        )
    )


def _efa(environment: Environment) -> bool:
    keys = (environment.gpu_stack.efa_device_plugin, environment.charts.efa_device_plugin)
    return keys != (None, None) or any(pool.efa for pool in environment.pools.values())


def _system(environment: Environment) -> bool:
    return environment.system is not None


def _tags(environment: Environment) -> bool:
    return bool(environment.tags)


def _iam(environment: Environment) -> bool:
    return environment.iam is not None


def _addons(environment: Environment) -> bool:
    cluster = environment.cluster
    return isinstance(cluster, NewCluster) and bool(cluster.addons.model_fields_set)


def _karpenter(environment: Environment) -> bool:
    charts = environment.charts.model_fields_set
    if environment.karpenter is not None or charts & {"karpenter", "karpenter_crd"}:
        return True
    return any(
        pool.provisioner == "karpenter" or pool.karpenter is not None
        for pool in environment.pools.values()
    )


def _node_boot(environment: Environment) -> bool:
    return _operator(environment) or any(
        isinstance(pool.sharing, Mig) or pool.wait_for_driver is not None
        for pool in environment.pools.values()
    )


def _operator(environment: Environment) -> bool:
    return environment.gpu_stack.manager == "gpuOperator"


def _engines(environment: Environment) -> bool:
    given = (environment.gpu_stack.dcgm_exporter, environment.charts.dcgm_exporter)
    observed = environment.observability is not None
    return given != (None, None) or _operator(environment) or observed


def _taints(environment: Environment) -> bool:
    return any("taints" in pool.model_fields_set for pool in environment.pools.values())


def _scaled(environment: Environment) -> bool:
    return any(pool.scaled_by == "autoscaler" for pool in environment.pools.values())


def _autoscaler(environment: Environment) -> bool:
    return (environment.cluster_autoscaler, environment.charts.cluster_autoscaler) != (None, None)


def _workloads(environment: Environment) -> bool:
    keda = (environment.keda, environment.charts.keda)
    return bool(environment.workloads) or keda != (None, None)


def _measured(environment: Environment) -> bool:
    return environment.observability is not None or _workloads(environment)


def _warm(environment: Environment) -> bool:
    return any(pool.warm is not None for pool in environment.pools.values())


def _pods(environment: Environment) -> bool:
    return _warm(environment) or _workloads(environment)


def _namespaces(environment: Environment) -> bool:
    made = (_verifier, _pods, _tenants, _observability)
    return environment.karpenter is not None or any(some(environment) for some in made)


def _verifier(environment: Environment) -> bool:
    return environment.verifier is not None


def _observability(environment: Environment) -> bool:
    return (environment.observability, environment.charts.prometheus) != (None, None)


def _tenants(environment: Environment) -> bool:
    return bool(environment.tenants)


def _runtimes(environment: Environment) -> bool:
    pools = environment.pools.values()
    return _tenants(environment) or any(pool.gpus_on_request_only is not None for pool in pools)


def _any(_: Environment) -> bool:
    return True


_MODULES: dict[str, Callable[[Environment], bool]] = {
    "cluster": _any,
    "endpoint": _any,
    "addons": _addons,
    "addon_versions": _addons,
    "partitions": _any,
    "roles": _iam,
    "network": _any,
    "offerings": _any,
    "instances": _any,
    "sharing": _any,
    "mig": _mig,
    "mig_boot": _mig,
    "mig_manager": _mig,
    "autoscaling": _scaled,
    "cluster_autoscaler": _autoscaler,
    "cluster_autoscaler_chart": _autoscaler,
    "node_boot": _node_boot,
    "bottlerocket": _bottlerocket,
    "bottlerocket_mig": _bottlerocket,
    "sizes": _any,
    "system": _system,
    "placement": _any,
    "capacity": _any,
    "images": _any,
    "ami_releases": _any,
    "karpenter": _karpenter,
    "karpenter_limits": _karpenter,
    "karpenter_budgets": _karpenter,
    "karpenter_disruption": _karpenter,
    "karpenter_nodes": _karpenter,
    "karpenter_chart": _karpenter,
    "node_settings": _node_settings,
    "user_data": _node_settings,
    "names": _any,
    "namespaces": _namespaces,
    "tags": _tags,
    "placeholders": _any,
    "taken_taints": _taints,
    "stack": _any,
    "chart_sources": _charts,
    "charts": _charts,
    "chart_versions": _charts,
    "chart_values": _charts,
    "chart_types": _charts,
    "chart_effects": _charts,
    "chart_images": _charts,
    "efa": _efa,
    "host_engine": _engines,
    "karpenter_install": _karpenter,
    "karpenter_gates": _karpenter,
    "warm_room": _warm,
    "workloads": _workloads,
    "workload_nodes": _workloads,
    "workload_pods": _pods,
    "keda": _workloads,
    "exporter": _measured,
    "wake": _workloads,
    "tenants": _tenants,
    "tenant_guards": _tenants,
    "tenant_isolation": _tenants,
    "closed_runtime": _runtimes,
    "verifier": _verifier,
    "observability": _observability,
    "managed_prometheus": _observability,
    "cloudwatch": _observability,
    "schedules": _pods,
    "freshness": _any,
}
"""The modules of rules, in the order of their findings, and which environments they are about.

Most stacks have no MIG, no Bottlerocket and no values of their own. Importing what is about those
for every stack made `check` take 2.8 times what importing pydantic and PyYAML takes; 2.5 is the
limit (docs/benchmarks.md). This is the one place that knows of it.
"""


def checks_of(environment: Environment | None = None) -> tuple[Check[...], ...]:
    """The checks of stacks and of components that stand alone.

    Args:
        environment: What they are for: checks that could say nothing about it are left out.
            Default: all that there are.
    """
    # Each is asked once, since it looks at every pool.
    answers = {about: _is(about, environment) for about in set(_MODULES.values())}
    return _checks(tuple(name for name, about in _MODULES.items() if answers[about]))


def _is(about: Callable[[Environment], bool], environment: Environment | None) -> bool:
    try:
        return environment is None or about(environment)
    except Exception:  # noqa: BLE001  (the checks come to the same value and say what it is)
        return True


@cache
def _checks(names: tuple[str, ...]) -> tuple[Check[...], ...]:
    return checks_in(*map(_module, names))


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by number."""
    of_checks = map(_module, _MODULES)
    of_files, of_edits = _module("local_files"), _module("edits")
    return rules_in(
        shape_rules, credentials, additions, mig_additions, *of_checks, of_files, of_edits
    )


def edit_rules() -> tuple[Rule, ...]:
    """Those of them about an edit: `preview --before` asks them, and no check of one file."""
    return rules_in(_module("edits"))


def defect_rules() -> tuple[Rule, ...]:
    """Those about this package itself: no file can be an example of one."""
    return (CHECK_FAILED,)


def check_environment(
    environment: Environment,
    *,
    region: str | None,
    today: date | None = None,
    partly_read: bool = False,
) -> list[Finding]:
    """Everything the rules find in an environment.

    Args:
        environment: The environment, as far as it could be read.
        region: AWS region of the stack, None if it does not say.
        today: For versions that end. Default: today.
        partly_read: Whether something could not be read. Only errors are reported then: the rest
            is worth knowing once there is a stack.
    """
    found: list[Finding] = []
    catalog = catalog_with(environment, region, found)
    ctx = Context(environment, catalog, region, today or date.today())  # noqa: DTZ011  (a calendar day)
    checks = [check for check in checks_of(environment) if check.runs is not Runs.ALONE]
    for check in checks:
        if check.scope is not Scope.POOL:
            found += check(ctx)
    found += until_unread(pool_findings, checks, ctx)
    return [finding for finding in found if finding.severity == "error"] if partly_read else found


def pool_findings(
    checks: Iterable[Check[...]], ctx: Context, checked_before: Collection[str] = ()
) -> Iterator[Finding]:
    """What the checks of pools among some find, pool by pool.

    Args:
        checks: Checks of all scopes.
        ctx: What the checks see.
        checked_before: Names of pools that are right by themselves: only what depends on who
            manages their GPUs is looked at.
    """
    of_pools = [check for check in checks if check.scope is Scope.POOL]
    for name, pool in ctx.environment.pools.items():
        for each in of_pools:
            if each.by_manager or name not in checked_before:
                yield from each(ctx, name, pool)
