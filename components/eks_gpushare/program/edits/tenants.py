"""What an edit does to tenants: quotas that get smaller under pods that run, and other queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.program.edits.compared import bare, by_urn, inputs
from eks_gpushare.program.edits.kinds import Consequence, edit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource

_QUOTA = "kubernetes:core/v1:ResourceQuota"
_LESS = (
    "{namespace} may have {now} of {name} in place of {was}: pods that run stay, and no new one is "
    "taken until enough of them have ended"
)


_QUEUE = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"
_LOCAL_QUEUE = "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue"
_COUNTED = "eks-gpushare.io/"
"""How resources begin that pods do not ask for, and that Kueue derives of what they ask for."""
_LESS_QUEUED = (
    "{queue} may have {now} of {name} in place of {was}, {sure} of them for sure: pods that run "
    "stay, until others of the cohort take back what is theirs, and new ones wait"
)
_LOWER = (
    "{queue} may have {now} GiB of {pool} in place of {was}: pods that run stay, and new ones wait "
    "until enough of them have ended"
)
# pkg/controller/core/clusterqueue_controller.go of kubernetes-sigs/kueue, 0.16.2: its finalizer.
_HELD = (
    "Kueue lets the queue {queue} go once all that it has admitted has ended, and the update waits "
    "for that"
)
_OTHER_QUEUE = (
    "what waits in {namespace} waits in the queue of {now} from then on, in place of that of "
    "{was}; what runs stays"
)


def of_queues(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Queues that give less than before, that go while Kueue stays, or that are another's."""
    there = {bare(resource.urn) for resource in after.resources}
    news = by_urn(after, _QUEUE)
    for urn, old in by_urn(before, _QUEUE).items():
        if (new := news.get(urn)) is not None:
            yield from _of_quota(old, new)
        elif bare(old.parent) in there:
            yield edit(old.name, "delete", (), _HELD.format(queue=_called(old)))
    olds = by_urn(before, _LOCAL_QUEUE)
    for urn, new in by_urn(after, _LOCAL_QUEUE).items():
        queues = [inputs(each)["spec"]["clusterQueue"] for each in (olds.get(urn), new) if each]
        if len({*queues}) > 1:
            says = _OTHER_QUEUE.format(namespace=_space(new), was=queues[0], now=queues[1])
            yield edit(new.name, "update", ("spec.clusterQueue",), says)


def _of_quota(old: Resource, new: Resource) -> Iterator[Consequence]:
    was, now = (_amounts(resource) for resource in (old, new))
    for (flavor, name), (sure, most) in was.items():
        less = now.get((flavor, name), (0, 0))
        if name.startswith(_COUNTED):
            # What is counted of pods, and no longer is, limits nobody.
            if (flavor, name) in now and _number(less[1]) < _number(most):
                says = _LOWER.format(queue=_called(new), pool=flavor, now=less[1], was=most)
                yield edit(new.name, "update", ("spec.resourceGroups",), says)
        elif less[0] < sure or _number(less[1]) < _number(most):
            says = _LESS_QUEUED.format(
                queue=_called(new),
                name=f"{name} of {flavor}",
                now="any number" if less[1] is None else less[1],
                was="any number" if most is None else most,
                sure=f"{less[0]} in place of {sure}" if less[0] < sure else less[0],
            )
            yield edit(new.name, "update", ("spec.resourceGroups",), says)


def _amounts(queue: Resource) -> dict[tuple[str, str], tuple[int, int | None]]:
    """How many are guaranteed, and how many there may be with what others leave: None is all."""
    return {
        (flavor["name"], amount["name"]): (
            int(amount["nominalQuota"]),
            None
            if amount.get("borrowingLimit") is None
            else int(amount["nominalQuota"]) + int(amount["borrowingLimit"]),
        )
        for group in inputs(queue)["spec"].get("resourceGroups") or ()
        for flavor in group["flavors"]
        for amount in flavor["resources"]
    }


def _number(most: int | None) -> float:
    return float("inf") if most is None else most


def of_quotas(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Quotas that allow less than before; Kubernetes evicts nobody for that."""
    olds = by_urn(before, _QUOTA)
    for urn, new in by_urn(after, _QUOTA).items():
        was, now = _hard(olds.get(urn)), _hard(new)
        for name, amount in now.items():
            old, given = quantity(str(was.get(name, "0"))), quantity(str(amount))
            if old is None or given is None or given >= old:
                continue
            says = _LESS.format(namespace=_space(new), now=amount, name=name, was=was[name])
            yield edit(new.name, "update", (f"spec.hard.{name}",), says)


def _hard(resource: Resource | None) -> Mapping[str, object]:
    spec = inputs(resource).get("spec") if resource else None
    hard = spec.get("hard") if isinstance(spec, dict) else None
    return hard if isinstance(hard, dict) else {}


def _space(resource: Resource) -> object:
    metadata = inputs(resource).get("metadata")
    return metadata.get("namespace") if isinstance(metadata, dict) else ""


def _called(resource: Resource) -> str:
    return str(inputs(resource)["metadata"]["name"])
