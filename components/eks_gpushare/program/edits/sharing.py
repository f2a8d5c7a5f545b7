"""What an edit does to who runs the device plugin, and to what pods have to ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.edits.compared import same_order
from eks_gpushare.program.edits.kinds import Consequence, edit
from eks_gpushare.program.edits.mps import with_clients
from eks_gpushare.program.pools import ENVIRONMENT_TYPE, POOL_TYPES
from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eks_gpushare.program.recording import Recording

MANAGERS = {
    "eks-gpushare:index:DevicePlugin": "the device plugin's chart",
    "eks-gpushare:index:GpuOperator": "the GPU Operator",
}
"""Components that run the device plugin, one of which a stack has."""
_ANOTHER_MANAGER = (
    "{new} takes over from {old}: device plugin and feature discovery are removed from the nodes "
    "of every pool and come back; by itself that leaves nodes and running pods as they are, but no "
    "new pod gets a GPU until the new device plugin has registered"
)
_REMOVED = "{old} is removed, since no pool that is left needs it; running pods keep their GPUs"
_INSTALLED = "{new} is installed on the nodes of the pools that need it; no node is touched"
_ASKED = {
    "request": "ask for",
    "nodeSelector": "select",
    "tolerations": "have to tolerate",
}
"""What a pod says to get a share, by its key in the output `pools`."""


def of_managers(
    before: Recording, after: Recording, drained: Collection[str]
) -> Iterator[Consequence]:
    """One who runs the device plugin in place of the other, or come or gone.

    Args:
        before: What is up.
        after: What it is to become.
        drained: Names of pools whose nodes go, with the pods on them.
    """
    old, new = (
        {token: parts for token in MANAGERS if (parts := run.of_type(token))}
        for run in (before, after)
    )
    for token, parts in new.items():
        gone = [other for other in old if other not in new]
        if token in old:
            continue
        if gone:
            says = _ANOTHER_MANAGER.format(new=MANAGERS[token], old=MANAGERS[gone[0]])
            for part in parts:
                words = with_clients(says, old[gone[0]][0], part, drained)
                yield edit(part.name, "replace", ("gpuStack.manager",), words)
        else:
            says = _INSTALLED.format(new=MANAGERS[token])
            yield from (edit(part.name, "create", (), says) for part in parts)
    if old and not new:
        for token, parts in old.items():
            says = _REMOVED.format(old=MANAGERS[token])
            for part in parts:
                yield edit(part.name, "delete", (), with_clients(says, part, None, drained))


def of_requests(
    before: Recording, after: Recording, drained: Collection[str]
) -> Iterator[Consequence]:
    """Pools whose pods have to be written otherwise.

    Args:
        before: What is up.
        after: What it is to become.
        drained: Names of pools whose nodes go, with the pods on them.
    """
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
        if "request" in differing:
            per_node = (each.get("perNode") or {} for each in (old, new))
            says = "; ".join([says, *_advertised(*per_node)])
        if name not in drained:
            says += "; running pods stay"
        yield edit(name, "request", tuple(differing), says)


def _pools(run: Recording) -> dict[str, dict[str, Any]]:
    """What pools offer, by the name of their node group."""
    found: dict[str, dict[str, Any]] = {}
    for environment in run.of_type(ENVIRONMENT_TYPE):
        pools = to_json(environment.outputs.get("pools", {}))
        found |= {f"{environment.name}-{name}": pool for name, pool in pools.items()}
    for pool in (resource for kind in POOL_TYPES for resource in run.of_type(kind)):
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
        return " and ".join(_text(part) for part in value) or "nothing"
    if isinstance(value, dict) and "operator" in value:
        taint = value.get("key", "")
        taint += f"={value['value']}" if "value" in value else ""
        return f"{taint}:{value['effect']}" if value.get("effect") else str(taint)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {item}" for key, item in value.items()) or "nothing"
    return str(value)
