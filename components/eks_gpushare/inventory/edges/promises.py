"""What autoscalers are told of nodes agrees with what the nodes will advertise.

Karpenter and Cluster Autoscaler know the GPUs of an instance type and nothing of shares. Told less
than a node advertises, they pay for nodes that stay empty; told more, they leave pods waiting or
launch a node for each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog.autoscaler_tags import RESOURCE_TAGS
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.advertised import Offer, offers
from eks_gpushare.inventory.items import Overlay
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.promised import (
    count_of,
    gpu_part,
    meaning,
    meant_for,
    told_by,
    weight_of,
)
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.promised import Told


PROMISE_DIFFERS = rule_of("GPU1140")
NOT_PROMISED = rule_of("GPU1141")
NOT_TAKEN_BACK = rule_of("GPU1142")
SAME_WEIGHT = rule_of("GPU1143")


class _Untold(NamedTuple):
    """What nodes of a type advertise, and Karpenter takes them to have otherwise or not at all."""

    nodes: NodeSet
    type_name: str
    name: str
    amount: int
    said: int | None
    """None where nothing tells it of any."""
    severity: Severity | None


@edge(PROMISE_DIFFERS, NOT_PROMISED, NOT_TAKEN_BACK, SAME_WEIGHT)
def karpenter(inventory: Inventory) -> Iterator[Judgement]:
    """Overlays of Karpenter's pools."""
    for cluster in inventory.clusters():
        overlays = [
            overlay
            for overlay in inventory.of(Overlay, cluster)
            if gpu_part(overlay.capacity) != {}
        ]
        yield from _same_weight(overlays)
        every = offers(inventory, cluster).every
        meant = meaning(overlays, [offer.kind for offer in every])
        untold: dict[tuple[int, str, type], list[_Untold]] = {}
        left: dict[tuple[int, str], list[Problem]] = {}
        hurts = _if_whole(inventory, cluster)
        for position, offer in enumerate(every):
            is_told = offer.kind.nodes.provisioner == "karpenter" and offer.resources is not None
            if is_told and offer.kind.nodes.advertised is None:
                missing: Severity | None = None if overlays or inventory.complete else "warning"
                for found in _pool(offer, meant[position], missing):
                    if isinstance(found, _Untold):
                        key = (id(found.nodes), found.name, type(found.said))
                        untold.setdefault(key, []).append(found)
                    elif isinstance(found, Problem) and found.rule is NOT_TAKEN_BACK:
                        pool = (id(found.source), found.fix)
                        left.setdefault(pool, []).append(replace(found, severity=hurts))
                    else:
                        yield found
        yield from map(_of_pool, untold.values())
        for first, *others in left.values():
            yield replace(first, message=first.message + _alike(others))


def _if_whole(inventory: Inventory, cluster: str) -> Severity | None:
    """The severity of whole GPUs that nodes lack: pods have to ask for them, or it hurts nobody."""
    asked = {each.resource for _, found in gpu_workloads(inventory, cluster) for each in found}
    return "info" if asked and GPU not in asked and not inventory.complete else None


def _pool(
    offer: Offer, overlays: Sequence[Overlay], missing: Severity | None
) -> Iterator[Judgement | _Untold]:
    """Of files, overlays may be `missing`, unless there are some."""
    nodes, kind = offer.kind.nodes, offer.kind
    if nodes.most is UNKNOWN:
        yield NotSeen(NOT_PROMISED, nodes.source, f"whether {nodes.source.name} is static")
    if kind.type is None or nodes.most is not None:
        return  # of a static pool Karpenter keeps as many nodes, whatever pods wait for
    meant, unsure = meant_for(kind, overlays)
    if unsure:
        what = f"what {unsure[0].source.name} tells of {nodes.source.name}"
        yield NotSeen(PROMISE_DIFFERS, unsure[0].source, what)
        return
    told = told_by({GPU: kind.type.api_gpu_count}, meant)
    has = {name: count for name, count in (offer.resources or {}).items() if count}
    for name, count in has.items():
        yield from _compared(offer, name, count, told, missing)
    for name, said in told.resources.items():
        if name in has or not said:
            continue
        if name in told.by:
            yield from _compared(offer, name, 0, told, missing)
        elif meant:  # it knows of the GPUs by the instance type
            yield Problem(
                NOT_TAKEN_BACK,
                nodes.source,
                (),
                f"Karpenter takes {kind.type.name} of {nodes.source.name} to have {said} of "
                f"{name}, and its nodes have {_listed(has)} only.",
                f'Add `{name}: "0"` to the capacity of the NodeOverlay for it.',
            )


def _known_types(nodes: NodeSet) -> tuple[str, ...]:
    return nodes.instance_types if nodes.instance_types is not UNKNOWN else ()


def _listed(has: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in has.items()) or "none"


def _compared(
    offer: Offer, name: str, count: int, told: Told, missing: Severity | None
) -> Iterator[Problem | _Untold]:
    kind = offer.kind
    nodes, type_name = kind.nodes, kind.type.name if kind.type else ""
    if name not in told.resources:
        yield _Untold(nodes, type_name, name, count, None, missing)
        return
    said = told.resources[name]
    if said is None or said == count:
        return
    if not said and name not in told.by and len(_known_types(nodes)) > 1:
        return  # Karpenter takes another type for pods that ask for it
    if name in told.by:
        overlay = told.by[name].source
        yield Problem(
            PROMISE_DIFFERS,
            overlay,
            ("spec", "capacity", name),
            f"{at_start(overlay.name)} says that a {type_name} has {said} of {name}; nodes "
            f"of {nodes.source.name} advertise {count}.",
            f'Set it to "{count}", or change what the device plugin is told.',
        )
        return
    yield _Untold(nodes, type_name, name, count, said, "warning")


def _of_pool(untold: Sequence[_Untold]) -> Problem:
    """One of all types of a pool, since one mistake makes them."""
    first, *others = untold
    nodes, name, count = first.nodes.source, first.name, first.amount
    if first.said is None:
        message = (
            f"Nodes of {nodes.name} advertise {name}, and nothing tells Karpenter that a "
            f"{first.type_name} has any."
        )
    else:
        message = (
            f"Nodes of {nodes.name} advertise {count} of {name}, and Karpenter takes a "
            f"{first.type_name} to have {first.said}: it may launch "
            f"{_instead(first.said, count)}."
        )
    fix = f'Add a NodeOverlay for {first.type_name} with the capacity `{name}: "{count}"`'
    if others:
        message += _alike(others)
        fix += ", and one for " + ", ".join(
            f'{each.type_name} with "{each.amount}"' for each in others
        )
    return Problem(NOT_PROMISED, nodes, (), message, f"{fix}.", first.severity)


def _alike(others: Sequence[object]) -> str:
    count = len(others)
    return f" {count} more of its types {'is' if count == 1 else 'are'} like that." if count else ""


def _instead(said: int, count: int) -> str:
    return "more nodes than pods need" if said < count else "too few nodes for the pods"


def _same_weight(overlays: Sequence[Overlay]) -> Iterator[Problem]:
    earlier = _Earlier()
    for one in overlays:
        for other in earlier.like(one):
            known = (one.requirements, one.capacity, one.weight)
            if UNKNOWN in (*known, other.requirements, other.capacity, other.weight):
                continue
            if weight_of(one) != weight_of(other) or not _overlap(one, other):
                continue
            mine, others = (dict(pairs(gpu_part(overlay.capacity))) for overlay in (one, other))
            for name in mine:
                counts = {count_of(each.get(name, UNKNOWN)) for each in (mine, others)}
                if len(counts) > 1 and None not in counts:
                    yield Problem(
                        SAME_WEIGHT,
                        one.source,
                        ("spec", "weight"),
                        f"{at_start(one.source.name)} and {other.source.name} are for the same "
                        f"nodes with the weight {weight_of(one)}, and differ in {name}: "
                        f"{text(mine[name])} and {text(others[name])}.",
                        "Give the one that holds the greater weight, or narrow the requirements.",
                    )


class _Earlier:
    """Overlays that were met, found by what they require: of thousands few are for one node."""

    def __init__(self) -> None:
        self._by_keys: dict[tuple[str, ...], dict[Any, list[int]]] = {}
        self._met: list[Overlay] = []

    def like(self, overlay: Overlay) -> list[Overlay]:
        """Those that no key rules out to be for the same nodes, as it is met after them."""
        allowed = _allowed([overlay])
        found: set[int] = set()
        for keys, by_value in self._by_keys.items():
            common = next((key for key in keys if key in allowed), None)
            wanted = [None] if common is None else [(common, value) for value in allowed[common]]
            found.update(*(by_value.get(label, ()) for label in wanted))
        here = self._by_keys.setdefault(tuple(allowed), {})
        for label in (None, *((key, value) for key, values in allowed.items() for value in values)):
            here.setdefault(label, []).append(len(self._met))
        self._met.append(overlay)
        return [self._met[position] for position in sorted(found)]


def _overlap(one: Overlay, other: Overlay) -> bool:
    """Whether nodes may meet the requirements of both: no key rules it out."""
    return all(_allowed([one, other]).values())


def _allowed(overlays: Iterable[Overlay]) -> dict[str, set[str]]:
    """The values that requirements leave of a label."""
    allowed: dict[str, set[str]] = {}
    for requirement in (
        requirement for overlay in overlays for requirement in _requirements(overlay)
    ):
        if requirement.get("operator") == "In":
            values = {str(value) for value in items(requirement.get("values"))}
            key = str(requirement.get("key"))
            allowed[key] = allowed[key] & values if key in allowed else values
    return allowed


def _requirements(overlay: Overlay) -> Sequence[Mapping[str, Any]]:
    return () if overlay.requirements is UNKNOWN else overlay.requirements


@edge(PROMISE_DIFFERS, NOT_PROMISED, NOT_TAKEN_BACK)
def templates(inventory: Inventory) -> Iterator[Judgement]:
    """Tags of node groups, by which Cluster Autoscaler knows a node that is not there yet."""
    for cluster in inventory.clusters():
        hurts = _if_whole(inventory, cluster)
        for group in offers(inventory, cluster).by_nodes().values():
            if group[0].kind.nodes.provisioner not in ("managed", "selfManaged"):
                continue
            for found in _group(group):
                if isinstance(found, Problem) and found.rule is NOT_TAKEN_BACK:
                    yield replace(found, severity=hurts)
                else:
                    yield found


def _group(group: Sequence[Offer]) -> Iterator[Judgement]:
    nodes = group[0].kind.nodes
    if has_unknown(gpu_part(nodes.promised)):
        yield NotSeen(PROMISE_DIFFERS, nodes.source, f"the tags of {nodes.source.name}")
        return
    told = gpu_part(nodes.promised)
    if not told or any(offer.resources is None for offer in group):
        return
    for name in dict.fromkeys(
        [*told, *(name for offer in group for name in offer.resources or {})]
    ):
        counts = [(offer.resources or {}).get(name, 0) for offer in group]
        if None in counts:
            continue
        least = min(count for count in counts if count is not None)
        yield from _tag(nodes, name, least, told)
    whole = [found for offer in group if (found := offer.kind.type) and found.api_gpu_count]
    if GPU not in told and whole and not any(offer.has(GPU) for offer in group):
        yield _left(nodes, whole[0])


def _left(nodes: NodeSet, of: InstanceType) -> Problem:
    """Tags go over what Cluster Autoscaler knows of the type, each resource by itself.

    `buildNodeFromTemplate` of `cloudprovider/aws/aws_manager.go`, read 2026-11-22.
    """
    return Problem(
        NOT_TAKEN_BACK,
        nodes.source,
        ("tags",),
        f"Cluster Autoscaler takes {of.name} of {nodes.source.name} to have {of.api_gpu_count} of "
        f"{GPU}, and its nodes have none by that name.",
        f"Add the tag `{RESOURCE_TAGS}{GPU}: 0`.",
    )


def _tag(nodes: NodeSet, name: str, least: int, told: Mapping[str, Any]) -> Iterator[Problem]:
    path = ("tags", name)
    if name not in told:
        if least:
            yield Problem(
                NOT_PROMISED,
                nodes.source,
                ("tags",),
                f"Nodes of {nodes.source.name} advertise {least} of {name}, and its tags tell "
                "Cluster Autoscaler of none.",
                f"Add the tag `{RESOURCE_TAGS}{name}: {least}`.",
            )
        return
    said = count_of(told[name])
    if said is not None and said != least:
        yield Problem(
            PROMISE_DIFFERS,
            nodes.source,
            path,
            f"The tags of {nodes.source.name} tell Cluster Autoscaler of {said} of {name} on a "
            f"node; nodes advertise {least}.",
            f'Set the tag to "{least}", or change what the device plugin is told.',
        )
