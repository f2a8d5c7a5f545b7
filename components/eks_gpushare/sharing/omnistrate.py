"""Service plans of Omnistrate, as pools and workloads of a stack file.

Its `multiTenantGpu` says what a pool is, `autoscaling` and `serverlessConfiguration` how a workload
follows its use: https://docs.omnistrate.com, "GPU Slicing and Multi-Tenant GPU Configuration", read
2026-11-22. What is impossible is translated as it stands, MIG on a GPU that has none as well: the
findings of the stack file say what is wrong with it and what to do.

Units differ. A `M` of Compose is 2**20 bytes, so it becomes `Mi`; its `cpus` are CPUs or `m`, as in
Kubernetes. Thresholds are percent and times minutes on both sides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import Catalog
from eks_gpushare.sharing.mig.layout import LayoutError
from eks_gpushare.sharing.plan import plan_pool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.pools import Provisioner

_INTEGRATIONS = "x-internal-integrations"
_CAPABILITIES = "x-omnistrate-capabilities"
_POOL = "gpu"
_MEMORY = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?) *(?P<unit>[kmgt]?)i?b?", re.IGNORECASE)
_BINARY = {"": "", "k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti"}


def environment_parts(
    compose: Mapping[str, Any],
    *,
    wake: str | None = None,
    pool: str = _POOL,
    provisioner: Provisioner = "karpenter",
) -> dict[str, Any]:
    """The `pools` and `workloads` of a stack file that are what a service plan asks for.

    Nodes come and go with their pods, at most as many as all pods at once take. What
    wakes a stopped service is Omnistrate's own proxy there; here it is a query, which only whoever
    runs the ingress can name.

    Args:
        compose: The plan, as YAML reads it.
        wake: PromQL for the requests that wait. Default: none, which `check` refuses of a service
            that is stopped when idle.
        pool: Name for the pool.
        provisioner: Who makes the nodes: Karpenter, or a node group that an autoscaler scales.

    Raises:
        ValueError: If the plan has no `multiTenantGpu` with an instance type.
    """
    gpu = (compose.get(_INTEGRATIONS) or {}).get("multiTenantGpu") or {}
    if not gpu.get("instanceType"):
        message = f"{_INTEGRATIONS}.multiTenantGpu.instanceType is not given."
        raise ValueError(message)
    services = compose.get("services") or {}
    made = {
        _named(name): _workload(service or {}, pool, wake) for name, service in services.items()
    }
    asked = sum(_most(service) for service in made.values())
    least = [_capability(service, "serverlessConfiguration") for service in services.values()]
    warm = max((each.get("minimumNodesInPool") or 0 for each in least), default=0)
    return {"pools": {pool: _pool(gpu, asked, warm, provisioner)}, "workloads": made}


def _pool(
    gpu: Mapping[str, Any], asked: int, warm: int, provisioner: Provisioner
) -> dict[str, Any]:
    """A pool of the type, shared as asked, with nodes for so many pods."""
    made: dict[str, Any] = {
        "provisioner": provisioner,
        "instanceTypes": [gpu["instanceType"]],
        "sharing": _sharing(gpu),
    }
    on_a_node = _on_a_node(made) or 1
    most = max(1, warm, -(-asked // on_a_node))
    made["nodes"] = {"max": most}
    if provisioner == "managedNodeGroup":
        made |= {"nodes": {"min": 0, "desired": 0, "max": most}, "scaledBy": "autoscaler"}
    if warm:
        made["warm"] = {"nodes": warm}
    return made


def _sharing(gpu: Mapping[str, Any]) -> dict[str, Any]:
    profile, replicas = gpu.get("migProfile"), gpu.get("timeSlicingReplicas")
    if profile:
        # One profile for all of a GPU, as often as it goes.
        shared = {"timeSlicing": {"replicas": replicas}} if replicas else {}
        return {"mode": "mig", "layout": f"all-{profile}", **shared}
    if replicas:
        return {"mode": "timeSlicing", "replicas": replicas}
    return {"mode": "exclusive"}


def _on_a_node(pool: Mapping[str, Any]) -> int | None:
    """Shares of a node; None where the findings say that there are none."""
    from eks_gpushare.config.pools import Pool

    try:
        plan = plan_pool(_POOL, Pool.model_validate(dict(pool)), Catalog())
    except (KeyError, LayoutError, ValueError):
        return None
    (node,) = plan.per_node.values()
    return node[next(iter(plan.request))]


def _workload(service: Mapping[str, Any], pool: str, wake: str | None) -> dict[str, Any]:
    scaling = _capability(service, "autoscaling")
    serverless = _capability(service, "serverlessConfiguration")
    made: dict[str, Any] = {"pool": pool, "image": service.get("image")}
    if (port := _port(service, serverless)) is not None:
        made["port"] = port
    if resources := _resources(service):
        made["resources"] = resources
    if environment := service.get("environment"):
        made["env"] = _environment(environment)
    keys = {"min": "minReplicas", "max": "maxReplicas"}
    made["replicas"] = {key: scaling[given] for key, given in keys.items() if given in scaling}
    idle = {"threshold": "idleThreshold", "minutes": "idleMinutesBeforeScalingDown"}
    over = {
        "threshold": "overUtilizedThreshold",
        "minutes": "overUtilizedMinutesBeforeScalingUp",
    }
    for key, names in (("idle", idle), ("overUse", over)):
        if block := {name: scaling[given] for name, given in names.items() if given in scaling}:
            made[key] = block
    if serverless.get("enableAutoStop"):
        made["autoStop"] = True
        if wake is not None:
            made["wake"] = {"query": wake}
    return {key: value for key, value in made.items() if value not in ({}, None)}


def _capability(service: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    given = ((service or {}).get(_CAPABILITIES) or {}).get(name)
    return dict(given) if given else {}


def _most(workload: Mapping[str, Any]) -> int:
    replicas = workload.get("replicas") or {}
    return int(replicas.get("max") or replicas.get("min") or 1)


def _port(service: Mapping[str, Any], serverless: Mapping[str, Any]) -> int | None:
    """The port that requests go to, or the first that the container has open."""
    if serverless.get("targetPort") is not None:
        return int(serverless["targetPort"])
    for port in service.get("ports") or ():
        target = port.get("target") if isinstance(port, dict) else str(port)
        text = str(target).rpartition(":")[2].partition("/")[0]
        if text.isascii() and text.isdecimal():
            return int(text)
    return None


def _resources(service: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    given = (service.get("deploy") or {}).get("resources") or {}
    found = {}
    for key, name in (("reservations", "requests"), ("limits", "limits")):
        block = given.get(key) or {}
        amounts = {
            "cpu": None if block.get("cpus") is None else str(block["cpus"]),
            "memory": _memory(block.get("memory")),
        }
        if kept := {item: amount for item, amount in amounts.items() if amount is not None}:
            found[name] = kept
    return found


def _memory(given: object) -> str | None:
    """Memory of Compose, whose units are powers of two with or without the `i`."""
    if given is None:
        return None
    matched = _MEMORY.fullmatch(str(given).strip())
    # What is none is left for `check` to name.
    return str(given) if matched is None else matched["number"] + _BINARY[matched["unit"].lower()]


def _environment(given: Mapping[str, Any] | list[Any]) -> dict[str, str]:
    """Variables of Compose: a mapping, or a list of NAME=VALUE."""
    if isinstance(given, list):
        pairs = (str(pair).partition("=") for pair in given)
        return {name: value for name, _, value in pairs}
    return {name: "" if value is None else str(value) for name, value in given.items()}


def _named(service: str) -> str:
    """The name of a service as Kubernetes takes it; Compose allows capitals, _ and ."""
    return re.sub(r"[^a-z0-9]+", "-", service.lower()).strip("-") or "service"
