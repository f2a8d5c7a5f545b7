"""What pods say to get a share of a pool, and what nodes of somebody else need, ready to paste."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.pod import as_yaml, pod_manifest
from eks_gpushare.findings.text import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WIDTH = 78


class NoSuchPodError(LookupError):
    """A pool or resource that the stack does not have; its text is for the command line."""


def pod_of(pools: Mapping[str, Any], name: str, resource: str | None = None) -> dict[str, Any]:
    """The pod that asks for one share of a pool.

    Args:
        pools: The pools of a preview.
        name: Name of the pool.
        resource: Which of its resources. Default: the one that it has the most of.

    Raises:
        NoSuchPodError: If there is no such pool, or it does not advertise that resource.
    """
    if name not in pools:
        raise NoSuchPodError(_no_pool(pools, name))
    pool = pools[name]
    known = _resources(pool)
    wanted = resource or next(iter(pool["request"]))
    if wanted not in known:
        raise NoSuchPodError(
            f"pool {name} advertises no {wanted}; pods there ask for {' or '.join(known)}"
        )
    called = name if wanted == next(iter(pool["request"])) else f"{name}-{wanted.split('/')[-1]}"
    return pod_manifest(called, wanted, pool["nodeSelector"], pool["tolerations"])


def pod_text(pools: Mapping[str, Any], name: str, resource: str | None = None) -> str:
    """The same as YAML, with a comment that says of what else the pool has shares.

    Raises:
        NoSuchPodError: If there is no such pool, or it does not advertise that resource.
    """
    pod = pod_of(pools, name, resource)
    asked = next(iter(pod["spec"]["containers"][0]["resources"]["limits"]))
    others = [other for other in _resources(pools[name]) if other != asked]
    said = f"Pool {name}: one {asked}."
    if others:
        said += f" With --resource it asks for {' or '.join(others)}."
    comment = wrapped(said, _WIDTH, "# ", "# ")
    return "\n".join([*comment, as_yaml(pod)])


def pods_text(pools: Mapping[str, Any]) -> str:
    """The pods of all pools, as one stream of YAML documents."""
    return "---\n".join(pod_text(pools, name) for name in pools)


def node_commands(pools: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a shell that give nodes of somebody else the labels and taints of their pools."""
    for name, pool in pools.items():
        if not (labels := pool.get("nodeLabels")):
            continue
        yield f"# Nodes of pool {name}: put their names in place of NODE."
        yield from _command("label", [f"{key}={value}" for key, value in labels.items()])
        if taints := [_taint(toleration) for toleration in pool["tolerations"]]:
            yield from _command("taint", taints)


def _command(verb: str, words: list[str]) -> list[str]:
    head, rest = f"kubectl {verb} nodes NODE", [shlex.quote(word) for word in words]
    line = " ".join([head, *rest])
    return [line] if len(line) <= _WIDTH else [" \\\n  ".join([head, *rest])]


def _taint(toleration: Mapping[str, str]) -> str:
    value = f"={toleration['value']}" if "value" in toleration else ""
    return f"{toleration['key']}{value}:{toleration['effect']}"


def _resources(pool: Mapping[str, Any]) -> list[str]:
    return [share["resource"] for share in pool["shares"]]


def _no_pool(pools: Mapping[str, Any], name: str) -> str:
    from eks_gpushare.validation.shape import similar

    if not pools:
        return f"there is no pool {name}: the program makes none"
    meant = similar(name, pools)
    guess = f"did you mean {meant}? " if meant else ""
    return f"there is no pool {name}; {guess}the stack has {', '.join(pools)}"
