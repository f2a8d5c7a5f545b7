"""What an edit does to the device plugin, and to what pods have to ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.edits.compared import RELEASE, by_urn, changed, inputs, same_order
from eks_gpushare.program.edits.karpenter import CONTROLLER, DEFINITIONS, REINSTALLED, RESTARTS
from eks_gpushare.program.edits.kinds import Edit, edit
from eks_gpushare.program.pools import ENVIRONMENT_TYPE, POOL_TYPES
from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource

_MANAGERS = {
    "eks-gpushare:index:DevicePlugin": "the device plugin's chart",
    "eks-gpushare:index:GpuOperator": "the GPU Operator",
}
_ANOTHER_MANAGER = (
    "{new} takes over from {old}: device plugin and feature discovery are removed from the nodes "
    "of every pool and come back; by itself that leaves nodes and running pods as they are, but no "
    "new pod gets a GPU until the new device plugin has registered"
)
_EFA_PLUGIN = "eks-gpushare:index:EfaDevicePlugin"
_EFA_RESTARTS = (
    "AWS's device plugin restarts on the nodes with EFA; nodes and running pods stay, and keep "
    "their interfaces"
)
_CLUSTER_AUTOSCALER = "eks-gpushare:index:ClusterAutoscaler"
_AUTOSCALER_RESTARTS = (
    "Cluster Autoscaler restarts; nodes and pods stay, and no group changes its size meanwhile"
)
_AUTOSCALER_ANEW = (
    "Cluster Autoscaler is removed and installed anew; nodes and pods stay, and no group changes "
    "its size meanwhile"
)
_ANOTHER_RELEASE = (
    "the device plugin is removed and installed anew; nodes and running pods stay, but no new pod "
    "gets a GPU meanwhile"
)
_REMOVED = "{old} is removed, since no pool that is left needs it; running pods keep their GPUs"
_INSTALLED = "{new} is installed on the nodes of the pools that need it; no node is touched"
_ASKED = {
    "request": "ask for",
    "nodeSelector": "select",
    "tolerations": "have to tolerate",
}
"""What a pod says to get a share, by its key in the output `pools`."""


def of_managers(before: Recording, after: Recording) -> Iterator[Edit]:
    """One who runs the device plugin in place of the other, or come or gone."""
    old, new = (
        {token: parts for token in _MANAGERS if (parts := run.of_type(token))}
        for run in (before, after)
    )
    for token, parts in new.items():
        gone = [other for other in old if other not in new]
        if token in old:
            continue
        if gone:
            says = _ANOTHER_MANAGER.format(new=_MANAGERS[token], old=_MANAGERS[gone[0]])
            yield from (edit(part.name, "replace", ("gpuStack.manager",), says) for part in parts)
        else:
            says = _INSTALLED.format(new=_MANAGERS[token])
            yield from (edit(part.name, "create", (), says) for part in parts)
    if old and not new:
        for token, parts in old.items():
            says = _REMOVED.format(old=_MANAGERS[token])
            yield from (edit(part.name, "delete", (), says) for part in parts)


def of_releases(
    before: Recording, after: Recording, replaced: Mapping[str, tuple[str, ...]]
) -> Iterator[Edit]:
    """Releases that are there before and after.

    Args:
        before: What is up.
        after: What it is to become.
        replaced: Properties that replace a resource, by its URN.
    """
    olds = by_urn(before, RELEASE)
    for urn, release in by_urn(after, RELEASE).items():
        if release.urn in replaced:
            says = REINSTALLED if _is_karpenters(release) else _ANOTHER_RELEASE
            if _is_cluster_autoscalers(release):
                says = _AUTOSCALER_ANEW
            yield edit(release.name, "replace", replaced[release.urn], says)
        elif urn in olds and (names := changed(olds[urn], release)):
            says = _EFA_RESTARTS if f"{_EFA_PLUGIN}$" in release.urn else ""
            if _is_cluster_autoscalers(release):
                says = _AUTOSCALER_RESTARTS
            elif _is_karpenters(release):
                crds = inputs(release).get("name") == _DEFINITIONS
                says = DEFINITIONS if crds else RESTARTS
            yield edit(release.name, "restart", names, says)


_DEFINITIONS = "karpenter-crd"


def _is_karpenters(release: Resource) -> bool:
    return f"{CONTROLLER}$" in release.urn


def _is_cluster_autoscalers(release: Resource) -> bool:
    return f"{_CLUSTER_AUTOSCALER}$" in release.urn


def of_requests(before: Recording, after: Recording) -> Iterator[Edit]:
    """Pools whose pods have to be written otherwise."""
    olds = _pools(before)
    for name, new in _pools(after).items():
        old = olds.get(name, {})
        differing = [k for k in _ASKED if k in old and same_order(old[k]) != same_order(new[k])]
        if not differing:
            continue
        asks = [
            f"{_ASKED[key]} {_text(old[key])} before and {_text(new.get(key))} after"
            for key in differing
        ]
        says = "pods that are started later " + ", and ".join(asks)
        if "request" in differing and old.get("perNode") != new.get("perNode"):
            says += "; " + "; ".join(
                _advertised(old.get("perNode") or {}, new.get("perNode") or {})
            )
        yield edit(name, "request", tuple(differing), f"{says}; running pods stay")


def _pools(run: Recording) -> dict[str, dict[str, Any]]:
    """What pools offer, by the name of their node group."""
    found: dict[str, dict[str, Any]] = {}
    for environment in run.of_type(ENVIRONMENT_TYPE):
        pools = to_json(environment.outputs.get("pools", {}))
        found |= {f"{environment.name}-{name}": pool for name, pool in pools.items()}
    for pool in (each for kind in POOL_TYPES for each in run.of_type(kind)):
        found.setdefault(pool.name, to_json(pool.outputs))
    return found


def _advertised(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for instance_type, shares in new.items():
        if instance_type in old and old[instance_type] != shares:
            was = _text(old[instance_type])
            yield f"a {instance_type} advertises {was} before and {_text(shares)} after"


def _text(value: object) -> str:
    """What a pod's manifest would say, in one line."""
    if isinstance(value, list):
        return " and ".join(_text(each) for each in value) or "nothing"
    if isinstance(value, dict) and "operator" in value:
        taint = value.get("key", "")
        taint += f"={value['value']}" if "value" in value else ""
        return f"{taint}:{value['effect']}" if value.get("effect") else str(taint)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {each}" for key, each in value.items()) or "nothing"
    return str(value)
