"""What an edit of a Helm release does: which programs restart, and what is not done meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.program.edits.compared import RELEASE, by_urn, changed, inputs
from eks_gpushare.program.edits.karpenter import CONTROLLER, DEFINITIONS, REINSTALLED, RESTARTS
from eks_gpushare.program.edits.kinds import SAYS, Consequence, edit
from eks_gpushare.program.edits.mps import with_clients
from eks_gpushare.program.edits.sharing import MANAGERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource


class _Says(NamedTuple):
    """What is said of a release."""

    changed: str
    """Where it is upgraded."""
    anew: str
    """Where it is removed and installed again."""


_OF_PLUGIN = _Says(
    SAYS["restart"],
    "the device plugin is removed and installed anew; nodes and running pods stay, but no new pod "
    "gets a GPU meanwhile",
)
_OF: Mapping[str, _Says] = {
    **dict.fromkeys(MANAGERS, _OF_PLUGIN),
    "eks-gpushare:index:EfaDevicePlugin": _Says(
        "AWS's device plugin restarts on the nodes with EFA; nodes and running pods stay, and keep "
        "their interfaces",
        "AWS's device plugin is removed and installed anew; nodes and running pods stay and keep "
        "their interfaces, but no new pod gets one meanwhile",
    ),
    "eks-gpushare:index:ClusterAutoscaler": _Says(
        "Cluster Autoscaler restarts; nodes and pods stay, and no group changes its size meanwhile",
        "Cluster Autoscaler is removed and installed anew; nodes and pods stay, and no group "
        "changes its size meanwhile",
    ),
    CONTROLLER: _Says(RESTARTS, REINSTALLED),
    "eks-gpushare:index:Kueue": _Says(
        "Kueue restarts; nodes and pods stay, and until it answers new pods of tenants are refused",
        "Kueue is removed and installed anew, and with it the queues of the stack; pods that run "
        "stay, and new ones of tenants are refused meanwhile",
    ),
    "eks-gpushare:index:GpuMetrics": _Says(
        "what of it the chart changes restarts; nodes and pods stay, and series have a gap",
        "it is removed and installed anew; nodes and pods stay, series have a gap, and with "
        "Prometheus goes what it has kept",
    ),
    # The chart has the definitions of its kinds among its templates, so they go with it
    # (keda/templates/crds of kedacore/charts, 2.20.2, read 2026-11-22).
    "eks-gpushare:index:Keda": _Says(
        "KEDA restarts; nodes and pods stay, and no workload changes its number of pods meanwhile",
        "KEDA is removed and installed anew, and with it the ScaledObjects of the stack; those of "
        "others go with the definitions of their kind; nodes and pods stay, and no workload "
        "changes its number of pods meanwhile",
    ),
}
_OF_OTHERS = _Says(
    "what the chart changes restarts; no node is touched",
    "it is removed and installed anew; no node is touched",
)
_HOW_HELM_WORKS = frozenset({"atomic", "disableWebhooks", "maxHistory", "skipCrds", "timeout"})
_SAME = "Helm works otherwise from then on; what it has installed stays as it is"
_DEFINITIONS = "karpenter-crd"


def of_releases(
    before: Recording,
    after: Recording,
    replaced: Mapping[str, tuple[str, ...]],
    drained: Collection[str],
) -> Iterator[Consequence]:
    """Releases that are there before and after.

    Args:
        before: What is up.
        after: What it is to become.
        replaced: Properties that replace a resource, by its URN.
        drained: Names of pools whose nodes go, with the pods on them.
    """
    olds = by_urn(before, RELEASE)
    for urn, release in by_urn(after, RELEASE).items():
        says = _said_of(release)
        if says is _OF_PLUGIN:
            was, now = (
                run.by_urn.get(each.parent) if each else None
                for run, each in ((before, olds.get(urn)), (after, release))
            )
            says = _Says(*(with_clients(words, was, now, drained) for words in says))
        if release.urn in replaced:
            yield edit(release.name, "replace", replaced[release.urn], says.anew)
        elif urn in olds and (names := changed(olds[urn], release)):
            if set(names) <= _HOW_HELM_WORKS:
                yield edit(release.name, "update", names, _SAME)
            else:
                yield edit(release.name, "restart", names, says.changed)


def _said_of(release: Resource) -> _Says:
    """By the component that it is a child of: a program may have releases of its own."""
    found = next((says for token, says in _OF.items() if f"{token}$" in release.urn), _OF_OTHERS)
    definitions = found.changed == RESTARTS and inputs(release).get("name") == _DEFINITIONS
    return found._replace(changed=DEFINITIONS) if definitions else found
