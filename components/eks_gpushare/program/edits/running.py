"""What an edit does to pods that the stack runs itself: workloads, and the add-ons of EKS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.edits.compared import ADDON, by_urn, changed, inputs
from eks_gpushare.program.edits.kinds import Consequence, edit
from eks_gpushare.sharing.warm_room import NAMESPACE as WARM_ROOM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource

_APPS = ("Deployment", "DaemonSet", "StatefulSet")
_SCALED = "kubernetes:keda.sh/v1alpha1:ScaledObject"
_OF_EKS = frozenset({"resolveConflictsOnCreate", "resolveConflictsOnUpdate", "tags"})
"""Properties of an add-on that reach no pod."""

_EXCHANGED = "its pods are exchanged for new ones, some at a time"
_STOPPED_FIRST = "all its pods end, and only then new ones start"
_ANEW = "its pods end, and others start in its place"
_COUNT = "it has {now} in place of {was}"
_FIXED = "it has {now} from then on, however many it has now"
_FREED = "it had {was}; KEDA decides how many it has from then on"
_FOLLOWS = "KEDA keeps {now} of its pods by what it is told from then on"
_NARROWER = "KEDA keeps {now} of its pods in place of {was}; those above that end"
_ADDON = "EKS changes the add-on in place: its pods restart; nodes and other pods stay"
_ADDON_ANEW = "the add-on is removed and installed anew; nodes and other pods stay"
_ADDON_OF_ANOTHER = "the add-on goes with its cluster, and is installed on the new one"
_OTHER_ADDON = frozenset({"addonName", "clusterName"})


def of_pods(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Pods of Deployments and their like, and how many there are of them."""
    for kind in _APPS:
        token = f"kubernetes:apps/v1:{kind}"
        olds = by_urn(before, token)
        for urn, new in by_urn(after, token).items():
            old = olds.get(urn)
            if old is None or not changed(old, new):
                continue
            was, now = inputs(old), inputs(new)
            if _identity(was) != _identity(now):
                yield edit(new.name, "replace", ("metadata", "spec.selector"), _ANEW)
            elif parts := list(_differing(was["spec"]["template"], now["spec"]["template"])):
                first = (now["spec"].get("strategy") or {}).get("type") == "Recreate"
                says = _STOPPED_FIRST if first else _EXCHANGED
                yield edit(new.name, "restart", tuple(parts), says)
            if not _is_warm(new):
                yield from _of_count(new.name, was, now)
    yield from _of_scaling(before, after)


def _of_count(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Consequence]:
    counts = [each["spec"].get("replicas") for each in (was, now)]
    if counts[0] == counts[1]:
        return
    says = _FIXED if counts[0] is None else _FREED if counts[1] is None else _COUNT
    told = [f"{count} pod{'' if count == 1 else 's'}" for count in counts]
    yield edit(name, "update", ("replicas",), says.format(was=told[0], now=told[1]))


def _is_warm(resource: Resource) -> bool:
    """Whether it is of the warm room, of which leavers.py tells."""
    return bool((inputs(resource).get("metadata") or {}).get("namespace") == WARM_ROOM)


def of_addons(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Add-ons that are there before and after."""
    olds = by_urn(before, ADDON)
    for urn, new in by_urn(after, ADDON).items():
        old = olds.get(urn)
        names = set(changed(old, new)) - _OF_EKS if old else set()
        if names & _OTHER_ADDON:
            says = _ADDON_OF_ANOTHER if "clusterName" in names else _ADDON_ANEW
            yield edit(new.name, "replace", tuple(sorted(names)), says)
        elif names:
            yield edit(new.name, "restart", tuple(sorted(names)), _ADDON)


def _of_scaling(before: Recording, after: Recording) -> Iterator[Consequence]:
    olds = by_urn(before, _SCALED)
    for urn, new in by_urn(after, _SCALED).items():
        old = olds.get(urn)
        if old is None or inputs(old).get("spec") == inputs(new).get("spec") or _is_warm(new):
            continue
        was, now = (_range(inputs(resource)["spec"]) for resource in (old, new))
        says = (_NARROWER if now[1] < was[1] else _FOLLOWS).format(was=_text(was), now=_text(now))
        yield edit(new.name, "update", ("spec",), says)


def _range(spec: Mapping[str, Any]) -> tuple[int, int]:
    """Pods at least and at most; KEDA's own where they are not said: none, and a hundred."""
    return int(spec.get("minReplicaCount", 0)), int(spec.get("maxReplicaCount", 100))


def _text(pods: tuple[int, int]) -> str:
    return str(pods[0]) if pods[0] == pods[1] else f"{pods[0]} to {pods[1]}"


def _identity(given: Mapping[str, Any]) -> tuple[object, ...]:
    metadata = given.get("metadata") or {}
    return metadata.get("name"), metadata.get("namespace"), given["spec"].get("selector")


def _differing(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What of a pod's template is another, as its manifest names it."""
    if was.get("metadata") != now.get("metadata"):
        yield "metadata"
    old, new = was.get("spec") or {}, now.get("spec") or {}
    for key in sorted({*old, *new}):
        if old.get(key) == new.get(key):
            continue
        pairs = [settings.get(key) for settings in (old, new)]
        if key == "containers" and len(pairs[0] or ()) == len(pairs[1] or ()):
            parts = zip(*pairs, strict=True)
            yield from dict.fromkeys(
                part
                for left, right in parts
                for part in sorted({*left, *right})
                if left.get(part) != right.get(part)
            )
        else:
            yield key
