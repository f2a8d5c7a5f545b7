"""Whether network policies let Prometheus in where it is to take metrics of GPUs.

Source, November 2026: https://kubernetes.io/docs/concepts/services-networking/network-policies/:
policies add up, peers of `from` that name pods alone are of the policy's own namespace, and a
namespace has its name as the label kubernetes.io/metadata.name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import Namespace, Pointer, Release, Workload
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, every, has_unknown, items, pairs, some, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.charts import PROMETHEUS
from eks_gpushare.manifests.checks.metrics.scraped import ends_of, scraped, selects_pods
from eks_gpushare.manifests.rules.exporters import UNSCRAPED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe

_POLICY: Final = "NetworkPolicy"
_OF_OTHERS: Final = ("CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy")
"""Kinds of policies that let further ones in, by words of their own."""
_NAME: Final = "kubernetes.io/metadata.name"


@edge(UNSCRAPED)
def policies(inventory: Inventory) -> Iterator[Judgement]:
    """Where what is scraped lets some in, and the namespace of no Prometheus that is here."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        known = [each for each in pointers if each.kind == _POLICY]
        spaces = list(_servers(inventory, cluster))
        if not known or any(each.kind in _OF_OTHERS for each in pointers):
            continue
        labels = {each.name: each.labels for each in inventory.of(Namespace, cluster)}
        for monitor, found, served in scraped(inventory, cluster):
            for workload in served:
                closing = _closing(workload, known)
                ports = _ports(monitor, found, workload)
                verdicts = [
                    _lets_in(rule, policy.namespace, space, labels, ports)
                    for policy in closing
                    for rule in items(at(policy.spec, "ingress"))
                    for space in spaces
                ]
                if ports and verdicts and some(verdicts) is False:
                    yield _problem(monitor, workload, closing[0], spaces[0])


def _problem(monitor: Pointer, workload: Workload, policy: Pointer, space: Maybe[str]) -> Problem:
    return Problem(
        UNSCRAPED,
        policy.source,
        ("spec", "ingress"),
        f"{at_start(policy.source.name)} lets nothing of the namespace {space}, where Prometheus "
        f"is, in to what {monitor.source.name} has scraped of {workload.source.name}.",
        f"Let in a namespaceSelector with {_NAME}: {space}, to that port.",
    )


def _servers(inventory: Inventory, cluster: str) -> Iterator[Maybe[str]]:
    """The namespace of each Prometheus."""
    for release in inventory.of(Release, cluster):
        if release.chart == PROMETHEUS:
            yield at(release.values, "namespaceOverride") or release.namespace
    for each in inventory.of(Pointer, cluster):
        if each.kind == "Prometheus":
            yield each.namespace


def _closing(workload: Workload, known: Sequence[Pointer]) -> list[Pointer]:
    """The policies that say who may reach a workload; none where that is not certain."""
    spaces = [workload.namespace, *(each.namespace for each in known)]
    here = [each for each in known if each.namespace == workload.namespace]
    taken = [_is_for(each, workload) for each in here]
    closing = [each for each, is_for in zip(here, taken, strict=True) if is_for]
    if UNKNOWN in spaces or None in taken or at(workload.spec, "hostNetwork"):
        return []
    return [] if any(is_guide(each.source.file) for each in closing) else closing


def _is_for(policy: Pointer, workload: Workload) -> bool | None:
    """Whether a policy says who may reach a workload's pods."""
    kinds = at(policy.spec, "policyTypes")
    of_ingress = None if has_unknown(kinds) else kinds is None or "Ingress" in items(kinds)
    return every((of_ingress, selects_pods(at(policy.spec, "podSelector"), workload)))


def _ports(monitor: Pointer, found: Sequence[Any], workload: Workload) -> set[Any]:
    """What is scraped of a workload, as names and numbers of its ports."""
    wanted: list[Any] = []
    listed = [port for one in found for port in items(at(one.spec, "ports"))]
    for end in items(at(monitor.spec, ends_of(monitor))):
        name = at(end, "port")
        named = [port for port in listed if name is not None and at(port, "name") == name]
        wanted += [at(port, "targetPort") or at(port, "port") for port in named] or [name]
    told = [each for _, one in containers(workload.spec) for each in items(at(one, "ports"))]
    numbers = [at(port, "containerPort") for port in told]
    both = [
        (at(port, "name") or number, number) for port, number in zip(told, numbers, strict=True)
    ]
    ours = [each for pair in both if any(one in wanted for one in pair) for each in pair]
    return {each if isinstance(each, int | str) else UNKNOWN for each in (*wanted, *ours)}


def _lets_in(
    rule: Any, own: Maybe[str], space: Maybe[str], labels: Mapping[Any, Any], ports: set[Any]
) -> bool | None:
    """Whether a rule lets Prometheus of a namespace in to one of some ports."""
    peers, listed = at(rule, "from"), at(rule, "ports")
    if UNKNOWN in (peers, listed):
        return None
    comes = some(_is_from(peer, own, space, labels) for peer in items(peers)) if peers else True
    goes = some(_is_to(port, ports) for port in items(listed)) if listed else True
    return every((comes, goes))


def _is_from(
    peer: Any, own: Maybe[str], space: Maybe[str], labels: Mapping[Any, Any]
) -> bool | None:
    """Whether a peer is Prometheus, or may be one of its pods."""
    if has_unknown(peer) or space is UNKNOWN or at(peer, "ipBlock") is not None:
        return None
    selector = at(peer, "namespaceSelector")
    if selector is None:
        return own == space
    keys = [key for key, _ in pairs(at(selector, "matchLabels"))]
    keys += [text(at(each, "key")) for each in items(at(selector, "matchExpressions"))]
    given = labels.get(space, UNKNOWN)
    others = dict.fromkeys(keys, UNKNOWN) if given is UNKNOWN else dict(pairs(given))
    return selects(selector, {**others, _NAME: space})


def _is_to(port: Any, ports: set[Any]) -> bool | None:
    given, last = at(port, "port"), at(port, "endPort")
    numbers = [each for each in ports if isinstance(each, int)]
    if has_unknown([port, *ports]) or not numbers:
        return None
    if isinstance(given, int) and isinstance(last, int):
        return any(given <= each <= last for each in numbers)
    return given is None or given in ports
