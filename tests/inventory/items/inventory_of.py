"""Items of inventories for tests, and what the checks say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import (
    ConfigMap,
    DeviceClaim,
    Namespace,
    NodeSet,
    NodeTaint,
    Overlay,
    Quota,
    Release,
    Workload,
)
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import UNKNOWN, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.registry import Edge

GPU = "nvidia.com/gpu"
USUAL = NodeTaint(GPU, "true", "NoSchedule")
PRESENT = {"nvidia.com/gpu.present": "true"}
ANY_GPU_TAINT = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}


def nodes(*types: str, taints: Any = (), **more: Any) -> NodeSet:
    """A managed node group called gpu, of one g5.xlarge unless other types are named."""
    name = more.pop("name", "gpu")
    more.setdefault("provisioner", "managed")
    if more["provisioner"] == "managed":
        more.setdefault("ami", "AmazonLinux2023")
    return NodeSet(
        source=Source(f"the node group {name}"),
        name=name,
        instance_types=more.pop("instance_types", types or ("g5.xlarge",)),
        taints=taints if taints is UNKNOWN else tuple(NodeTaint(*each) for each in taints),
        **more,
    )


def chart(of: str, values: Any = None, **more: Any) -> Release:
    """A release called as its chart, in the namespace kube-system."""
    called = more.pop("name", of)
    more.setdefault("namespace", "kube-system")
    return Release(
        source=Source(f"the Release {called}"),
        name=called,
        chart=of,
        values={} if values is None else values,
        **more,
    )


def plugin(values: Any = None, **more: Any) -> Release:
    """The chart of the device plugin."""
    return chart("nvidia-device-plugin", values, **more)


def operator(values: Any = None, **more: Any) -> Release:
    """The chart of the GPU Operator, which leaves driver and toolkit to the AMI."""
    if isinstance(values, dict) or values is None:
        values = {"driver": {"enabled": False}, "toolkit": {"enabled": False}, **(values or {})}
    return chart("gpu-operator", values, **more)


def config_map(name: Any, data: Any, namespace: Any = "kube-system", **more: Any) -> ConfigMap:
    """A ConfigMap."""
    source = Source(f"the ConfigMap {name}")
    return ConfigMap(source=source, name=name, namespace=namespace, data=data, **more)


def pods(limits: Any = None, requests: Any = None, **more: Any) -> Workload:
    """A Deployment called app; further names are keys of its pods' spec."""
    own = {key: more.pop(key) for key in tuple(more) if key in Workload.__dataclass_fields__}
    resources = {"limits": dict(limits or {}), "requests": dict(requests or {})}
    spec = {"containers": [{"name": "main", "image": "app:1", "resources": resources}], **more}
    name = own.pop("name", "app")
    own.setdefault("kind", "Deployment")
    return Workload(
        source=Source(f"the {own['kind']} {name}"),
        name=name,
        spec=own.pop("spec", spec),
        spec_path=("spec", "template", "spec"),
        **own,
    )


def daemon_set(image: str, **spec: Any) -> Workload:
    """A DaemonSet written out, of one container."""
    containers = [{"name": "main", "image": image}]
    return pods(
        kind="DaemonSet", name="daemon", replicas=None, spec={"containers": containers, **spec}
    )


def quota(hard: Any, kind: str = "ResourceQuota", **more: Any) -> Quota:
    """A quota called team."""
    return Quota(source=Source(f"the {kind} team"), kind=kind, name="team", hard=hard, **more)


def overlay(capacity: Any, *requirements: Any, **more: Any) -> Overlay:
    """A NodeOverlay called shares."""
    name = more.pop("name", "shares")
    source = Source(f"the NodeOverlay {name}")
    return Overlay(source=source, name=name, capacity=capacity, requirements=requirements, **more)


def namespace(name: Any, **labels: Any) -> Namespace:
    """A namespace; keys of labels with `__` for a slash."""
    given = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
    return Namespace(source=Source(f"the Namespace {name}"), name=name, labels=given)


def claim(kind: str, spec: Any, **more: Any) -> DeviceClaim:
    """A DeviceClass or ResourceClaimTemplate."""
    return DeviceClaim(source=Source(f"the {kind} gpu"), kind=kind, name="gpu", spec=spec, **more)


def judgements(*given: Item, complete: bool = True) -> list[Problem | NotSeen]:
    """What all checks say."""
    inventory = Inventory(given, complete)
    return [each for edge in EDGES for each in edge.look(inventory)]


def problems(*given: Item, complete: bool = True, of: Sequence[Rule] = ()) -> list[Problem]:
    """The problems among them, of some rules or of all."""
    return [
        each
        for each in judgements(*given, complete=complete)
        if isinstance(each, Problem) and (not of or each.rule in of)
    ]


def said(edge: Edge, *given: Item, complete: bool = True) -> list[tuple[str, str]]:
    """What one check says: codes with messages, those of what is not seen with `?` before them."""
    return [
        (each.rule.id, each.message)
        if isinstance(each, Problem)
        else (f"?{each.rule.id}", each.what)
        for each in edge.look(Inventory(given, complete))
    ]


def codes(*given: Item, complete: bool = True) -> list[str]:
    """Codes of the problems, each once, with those that are not seen as `?` and the code."""
    found = [
        each.rule.id if isinstance(each, Problem) else f"?{each.rule.id}"
        for each in judgements(*given, complete=complete)
    ]
    return sorted(set(found))
