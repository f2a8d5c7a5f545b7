"""Tenants that are to be kept apart, and the GPUs that they would share.

A namespace belongs to a tenant by its label `eks-gpushare.io/tenant`, and is to share no GPU with
another by the label `eks-gpushare.io/isolation=isolated`; with `memory` it may where the way of
sharing gives each its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.isolation import keeps_apart
from eks_gpushare.inventory.advertised import Offer, offers
from eks_gpushare.inventory.bottlerocket import runs_bottlerocket
from eks_gpushare.inventory.items import Namespace, Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import Request, gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.tenants import ISOLATED, ISOLATION_LABEL, ISOLATION_VALUES, TENANT_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.facts.isolation import Isolation
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.problem import Judgement

_BY_VALUE: Mapping[object, Isolation] = {value: each for each, value in ISOLATION_VALUES.items()}
SHARED_BY_TENANTS = rule_of("GPU1160")
LEAK = rule_of("GPU1161")
NO_WAY = rule_of("GPU1162")
_SETTING = "accept-nvidia-visible-devices-envvar-when-unprivileged"
_CLOSED = re.compile(rf"{_SETTING}\s*=\s*false")
_OPEN_ON_BOTTLEROCKET = re.compile(r"visible-devices-envvar-when-unprivileged\s*=\s*true")
_SETTING_FIX = (
    "In the nodes' user data run `nvidia-ctk config --in-place --set "
    f"{_SETTING}=false --set accept-nvidia-visible-devices-as-volume-mounts=true` before kubelet "
    "starts, and set `deviceListStrategy: volume-mounts` of the device plugin."
)


class _Stay(NamedTuple):
    """A tenant's workload on nodes."""

    tenant: str
    isolation: Isolation
    workload: Workload
    offer: Offer


@edge(SHARED_BY_TENANTS, LEAK, NO_WAY)
def apart(inventory: Inventory) -> Iterator[Judgement]:
    """Nodes that pods of several tenants may be on."""
    for cluster in inventory.clusters():
        every = offers(inventory, cluster).every
        ground = grounds(inventory, cluster)
        yield from _no_way(every)
        spaces = {
            namespace.name: namespace
            for namespace in inventory.of(Namespace, cluster)
            if namespace.name is not UNKNOWN
        }
        stays = [
            _Stay(*whose, workload, offer)
            for workload, requests in gpu_workloads(inventory, cluster)
            if (whose := _whose(spaces.get(_space(workload)), inventory)) is not None
            for offer in ground.places(workload, requests).seen
            if _shares(offer, requests)
        ]
        yield from _judged(stays)
        yield from _leaks([stay for stay in stays if stay.tenant], spaces, every)


def _whose(space: Namespace | None, inventory: Inventory) -> tuple[str, Isolation] | None:
    """The tenant of a namespace with its isolation, an empty one of what is nobody's for certain.

    A namespace that is not seen may have its labels from elsewhere, but in a cluster of the
    program's own.
    """
    if space is None:
        return ("", "none") if inventory.complete else None
    is_nobodys = space.labels is not UNKNOWN and TENANT_LABEL not in space.labels
    return _tenant(space) or (("", "none") if is_nobodys else None)


def _space(workload: Workload) -> str:
    return "" if workload.namespace is UNKNOWN else workload.namespace


def _tenant(space: Namespace | None) -> tuple[str, Isolation] | None:
    """The tenant of a namespace, and how far it is to be kept apart."""
    if space is None or space.labels is UNKNOWN:
        return None
    named = text(space.labels.get(TENANT_LABEL))
    isolation = text(space.labels.get(ISOLATION_LABEL))
    if named is UNKNOWN or not (named or isolation == ISOLATED):
        return None
    return str(named or space.name), _BY_VALUE.get(isolation, "none")


def _shares(offer: Offer, requests: Sequence[Request]) -> bool:
    """Whether pods take turns on what is asked for, of those that are known to be offered."""
    return any(offer.is_shared(request.resource) for request in requests) and bool(offer.resources)


def _judged(stays: Sequence[_Stay]) -> Iterator[Problem]:
    first: dict[int, dict[str, _Stay]] = {}  # of each tenant, by nodes
    for stay in stays:
        first.setdefault(id(stay.offer.kind.nodes), {}).setdefault(stay.tenant, stay)
    said: set[tuple[int, int]] = set()
    for stay in stays:
        nodes = stay.offer.kind.nodes
        once = (id(stay.workload), id(nodes))
        others = (found for tenant, found in first[id(nodes)].items() if tenant != stay.tenant)
        by_mps = stay.offer.config is not None and stay.offer.config.sharing == "mps"
        is_kept = keeps_apart(stay.isolation, "mps" if by_mps else "timeSlicing")
        other = None if is_kept or not stay.tenant or once in said else next(others, None)
        if other is None:
            continue
        said.add(once)
        how = "by MPS" if by_mps else "by time slicing"
        whose = f"the tenant {other.tenant}" if other.tenant else "no tenant"
        yield Problem(
            SHARED_BY_TENANTS,
            stay.workload.source,
            stay.workload.spec_path,
            f"{at_start(stay.workload.source.name)} of the tenant {stay.tenant}, which is "
            f"marked {ISOLATION_VALUES[stay.isolation]}, and {other.workload.source.name} of "
            f"{whose} may share a GPU {how} on {nodes.source.name}.",
            "Give each tenant a pool of its own by taints and node selectors, or MIG devices.",
        )


def _leaks(
    stays: Sequence[_Stay], spaces: dict[str, Namespace], every: Sequence[Offer]
) -> Iterator[Judgement]:
    tenants = {whose[0] for space in spaces.values() if (whose := _tenant(space)) is not None}
    if len(tenants) < 2:  # noqa: PLR2004  (several)
        return
    by_nodes: dict[int, set[str]] = {}
    isolated: set[int] = set()
    for stay in stays:
        by_nodes.setdefault(id(stay.offer.kind.nodes), set()).add(stay.tenant)
        if stay.isolation == "fault":
            isolated.add(id(stay.offer.kind.nodes))
    seen: set[int] = set()
    for offer in every:
        nodes = offer.kind.nodes
        number = id(nodes)
        if number in seen or len(by_nodes.get(number, ())) < 2:  # noqa: PLR2004  (several)
            continue
        seen.add(number)
        is_open = leaks(nodes)
        if is_open is None:
            yield NotSeen(LEAK, nodes.source, f"the user data of {nodes.source.name}")
        elif is_open:
            listed = ", ".join(sorted(by_nodes[number]))
            yield Problem(
                LEAK,
                nodes.source,
                (),
                f"Pods of the tenants {listed} may be on {nodes.source.name}, where "
                "NVIDIA_VISIBLE_DEVICES gives any container every GPU.",
                _SETTING_FIX,
                "error" if number in isolated else None,
            )


def leaks(nodes: NodeSet) -> bool | None:
    """Whether an unprivileged container gets the GPUs that a variable of its own names.

    The open default of NVIDIA's container toolkit holds on EKS's AL2023 AMIs; Bottlerocket's is
    closed. None where it is not known.
    """
    if nodes.user_data is UNKNOWN or nodes.ami is UNKNOWN:
        return None
    if runs_bottlerocket(nodes):
        return bool(_OPEN_ON_BOTTLEROCKET.search(nodes.user_data))
    if _CLOSED.search(nodes.user_data):
        return False
    return None if nodes.ami.startswith("ami-") else True


def _no_way(every: Sequence[Offer]) -> Iterator[Problem]:
    """Nodes that ignore the variable, by which the plugin hands out GPUs unless it is told."""
    seen: set[int] = set()
    for offer in every:
        nodes, config = offer.kind.nodes, offer.config
        if config is None or id(nodes) in seen or nodes.user_data is UNKNOWN:
            continue
        seen.add(id(nodes))
        by_variable = config.device_lists in ((), ("envvar",))
        of_operator = any(plugin.of_operator for plugin in offer.plugins)  # it uses CDI by itself
        if offer.plugins and not of_operator and by_variable and _CLOSED.search(nodes.user_data):
            yield Problem(
                NO_WAY,
                nodes.source,
                (),
                f"The user data of {nodes.source.name} sets {_SETTING}=false, and the device "
                "plugin hands out GPUs by that variable.",
                "Set `deviceListStrategy: volume-mounts` of the device plugin, and "
                "`accept-nvidia-visible-devices-as-volume-mounts=true` in the user data.",
            )
