"""Where the GPU Operator's toolkit is told that containerd is, where a distribution has its own.

Sources, November 2026: "Specifying Configuration Options for containerd" of
https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html,
https://docs.rke2.io/add-ons/gpu_operators, https://docs.k3s.io/advanced,
https://microk8s.io/docs/addon-gpu and https://docs.k0sproject.io/stable/runtime/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, switch, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.toolkit import OTHER_CONTAINERD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


class _Distribution(NamedTuple):
    """Where a distribution has its containerd."""

    name: str
    socket: str
    configs: str
    """How paths of its configuration begin."""


_RANCHER: Final = _Distribution(
    "K3s and RKE2", "/run/k3s/containerd/containerd.sock", "/var/lib/rancher/"
)
_DISTRIBUTIONS: Final = (
    _RANCHER,
    _Distribution(
        "MicroK8s", "/var/snap/microk8s/common/run/containerd.sock", "/var/snap/microk8s/"
    ),
    _Distribution("k0s", "/run/k0s/containerd.sock", "/etc/k0s/"),
)
_PLAIN: Final = "/etc/containerd/"
"""Where the configuration of a containerd is that comes with no distribution, as by default."""
_CONTROLLER: Final = "helm.cattle.io"
"""The API group of the controller for charts that K3s and RKE2 come with."""
_ENV: Final = ("toolkit", "env")
_SOCKET: Final = "CONTAINERD_SOCKET"
_CONFIG: Final = "CONTAINERD_CONFIG"


@edge(OTHER_CONTAINERD)
def toolkits(inventory: Inventory) -> Iterator[Judgement]:
    """By the values alone, or by what says which distribution the nodes are of.

    A plugin of NRI needs no configuration of containerd.
    """
    for cluster in inventory.clusters():
        for release in inventory.of(Release, cluster):
            of_operator = chart_of(release.chart) == OPERATOR_CHART
            env = at(release.values, *_ENV)
            enabled = at(release.values, "toolkit", "enabled")
            is_on = enabled is None or switch(enabled) is True
            by_nri = at(release.values, "cdi", "nriPluginEnabled") not in (None, False)
            if (
                of_operator
                and is_on
                and not by_nri
                and release.values is not UNKNOWN
                and not has_unknown(env)
            ):
                yield from _judged(release, env, _of_nodes(inventory, cluster, release))


def _of_nodes(inventory: Inventory, cluster: str, release: Release) -> _Distribution | None:
    """The distribution that files say: by the kind of its Helm controller, or by its nodes."""
    nodes = inventory.of(NodeSet, cluster)
    if any(each.provisioner != "byHand" for each in nodes):
        return None  # of EKS, where that controller may be too
    if release.installer == _CONTROLLER:
        return _RANCHER
    versions = [
        str(text(at(each.source.document.value, "status", "nodeInfo", "kubeletVersion")))
        for each in nodes
        if isinstance(each.source.document, Document)
    ]
    return _RANCHER if any("+k3s" in each or "+rke2" in each for each in versions) else None


def _judged(release: Release, env: Any, nodes: _Distribution | None) -> Iterator[Problem]:
    told = {str(text(at(one, "name"))): str(text(at(one, "value"))) for one in items(env)}
    socket, config = told.get(_SOCKET), told.get(_CONFIG)
    by_config = next((each for each in _DISTRIBUTIONS if config and _is_of(each, config)), None)
    by_socket = next((each for each in _DISTRIBUTIONS if _same(socket, each.socket)), None)
    meant = nodes or by_config or by_socket
    if meant is None:
        return
    place, called = value_place(release, _ENV), at_start(release.source.name)
    if not _same(socket, meant.socket):
        has = f"has {_SOCKET} {socket}" if socket else f"has no {_SOCKET}"
        yield Problem(
            OTHER_CONTAINERD,
            release.source,
            place,
            f"{called} {has}, and {meant.name} have theirs at {meant.socket}.",
            f"Set {_SOCKET} to {meant.socket} under toolkit.env.",
        )
    elif config and config.startswith(_PLAIN):
        yield Problem(
            OTHER_CONTAINERD,
            release.source,
            place,
            f"{called} has {_CONFIG} {config}, which {meant.name} do not read.",
            f"Set {_CONFIG} to the file below {meant.configs}.",
        )


def _is_of(distribution: _Distribution, config: str) -> bool:
    return config.startswith(distribution.configs)


def _same(socket: str | None, wanted: str) -> bool:
    """Whether a path is that of a socket, which /var/run has too."""
    return socket is not None and socket.removeprefix("unix://").removeprefix("/var") in (
        wanted,
        wanted.removeprefix("/var"),
    )
