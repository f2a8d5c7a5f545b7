"""What an edit takes away for good, or gives another name: whatever nobody else tells of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.documents.windows import ZonedWindow, hours_per_week
from eks_gpushare.program.edits.compared import ADDON, CLUSTER, bare, by_urn, inputs
from eks_gpushare.program.edits.kinds import Consequence, Effect, edit
from eks_gpushare.program.edits.stored import LOGS
from eks_gpushare.sharing.handed_namespaces import LABELLED as _LABELS
from eks_gpushare.sharing.handed_namespaces import MADE as _NAMESPACE
from eks_gpushare.sharing.handed_namespaces import TENANTS, heirs, of_tenant
from eks_gpushare.sharing.warm_room import NAMESPACE as WARM_ROOM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.program.recording import Recording, Resource

_DEPLOYMENT = "kubernetes:apps/v1:Deployment"
_SCALED = "kubernetes:keda.sh/v1alpha1:ScaledObject"
WORKSPACE = "aws:amp/workspace:Workspace"
_SAYS: Mapping[str, str] = {
    "eks-gpushare:index:SharedWorkload": "its pods end, and what leads to them goes",
    "eks-gpushare:index:ClusterAutoscaler": (
        "Cluster Autoscaler is removed: groups keep the nodes that they have, whatever pods need"
    ),
    # The chart has the definitions of its kinds among its templates
    # (keda/templates/crds of kedacore/charts, 2.20.2, read 2026-11-22).
    "eks-gpushare:index:Keda": (
        "KEDA is removed, and with the definitions of its kinds every ScaledObject in the cluster, "
        "those of others too; what they scaled keeps its pods, unless another number is told"
    ),
    "eks-gpushare:index:EfaDevicePlugin": (
        "AWS's device plugin is removed; running pods keep their interfaces, new ones get none"
    ),
    "eks-gpushare:index:Kueue": (
        "Kueue is removed, and with the definitions of its kinds every queue in the cluster; pods "
        "that run stay, and those that wait for it wait for ever"
    ),
    TENANTS: (
        "the tenants' namespaces go, and with them everything in them: pods, volumes, secrets"
    ),
    "eks-gpushare:index:ShareVerifier": (
        "nothing looks at the cluster any more; what looks at its metrics finds them old"
    ),
    "eks-gpushare:index:GpuMetrics": (
        "nothing measures the GPUs any more, rules and boards go, and with an installed Prometheus "
        "or a workspace of the stack what it has kept; workloads that follow what it measures keep "
        "as many pods as they have"
    ),
    _NAMESPACE: "the namespace goes, and with it everything in it",
    _LABELS: "the namespace stays, and everything in it; labels that the stack has put on it go",
    WORKSPACE: "the workspace goes, and with it every series that it has kept",
    ADDON: "EKS removes the add-on, and whatever it runs on the nodes",
    _SCALED: "KEDA scales it no more",
    LOGS: "the log group goes, and with it every record that it has kept",
}
"""What goes with a resource, by its type."""
_OTHERS = "it goes, with all that it has made"
_CONTRACTS = "what holds the tenants to their contracts goes; their namespaces stay"
_KEPT = "the namespace stays, with everything in it, and "
_OUTLIVES = "is no longer the stack's: it outlives its tenant"
_TAKEN_OVER = "is the stack's from now on: it goes with its {owner}, and everything in it too"
_PASSED_ON = "goes with its {owner} from now on, and everything in it too"
_ENDS = (
    *(ADDON, LOGS, WORKSPACE, _NAMESPACE),
    *(_SCALED, "kubernetes:apps/", "kubernetes:batch/", "kubernetes:helm.sh/"),
    "kubernetes:core/v1:P",  # pods and their volumes
)
"""How types begin with which pods, or what they have stored, come to an end."""
_POOLS = frozenset(
    f"eks-gpushare:index:{kind}"
    for kind in (
        *("GpuPool", "KarpenterPool", "Karpenter", "SystemNodes", "EksCluster"),
        *("DevicePlugin", "GpuOperator", "DeletionProtection"),
    )
) | {CLUSTER}
"""Components of which others say what their end means for nodes; the last has made nothing."""
_MOVED = (
    "the namespace {was} goes, with everything in it, and what the stack had there is made anew in "
    "{now}"
)
_LESS = "room is kept for {now} in place of {was} placeholders; nodes that are empty then go"
_MORE = "room is kept for {now} in place of {was} placeholders; nodes start for it, and are paid"
_OTHER_TIMES = "room is kept at other times; nodes start and go by them"
_HOURS_PER_WEEK = 168


def of_leavers(before: Recording, after: Recording) -> Iterator[Consequence]:
    """What is there before and not after: the uppermost of what goes together."""
    there = {bare(resource.urn) for resource in after.resources}
    gone = {
        bare(resource.urn): resource
        for resource in before.resources
        if bare(resource.urn) not in there
    }
    heir_of = {
        urn: heir
        for urn, resource in gone.items()
        for heir in heirs(urn, _name(resource))
        if heir in there
    }
    lost = {
        bare(resource.parent)
        for urn, resource in gone.items()
        if resource.type == _NAMESPACE
        and resource.parent
        and urn not in heir_of
        # The one of what tenants may has no tenant's pods.
        and resource.name.endswith(of_tenant("", _name(resource)))
    }
    for urn, resource in gone.items():
        if urn in heir_of:
            says = _handed_over(resource, heir_of[urn])
            yield edit(resource.name, "update", (), f"{_KEPT}{says}")
            continue
        within = resource.parent and bare(resource.parent) in gone
        if within or resource.existing or _space(resource) == WARM_ROOM:
            continue
        told = resource.type.startswith(_ENDS) if resource.custom else resource.type not in _POOLS
        if told:
            effect: Effect = "update" if resource.type == _LABELS else "delete"
            says = _SAYS.get(resource.type, _OTHERS)
            if resource.type == TENANTS and urn not in lost:
                says = _CONTRACTS
            yield edit(resource.name, effect, (), says)


def _handed_over(resource: Resource, heir: str) -> str:
    """What becomes of a namespace, by its URN afterwards."""
    if f"${_LABELS}::" in heir:
        return _OUTLIVES
    owner = "tenant" if f"${TENANTS}$" in heir else "workloads"
    return (_TAKEN_OVER if resource.type == _LABELS else _PASSED_ON).format(owner=owner)


def of_namespaces(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Namespaces that get another name, which Kubernetes knows as another one."""
    olds = by_urn(before, _NAMESPACE)
    for urn, new in by_urn(after, _NAMESPACE).items():
        names = [_name(resource) for resource in (olds.get(urn), new)]
        if all(names) and names[0] != names[1]:
            says = _MOVED.format(was=names[0], now=names[1])
            yield edit(new.name, "replace", ("metadata.name",), says)


def of_workspaces(
    after: Recording, replaced: Mapping[str, tuple[str, ...]]
) -> Iterator[Consequence]:
    """Workspaces of Amazon Managed Service for Prometheus that become others."""
    for resource in after.of_type(WORKSPACE):
        if resource.urn in replaced:
            names = replaced[resource.urn]
            yield edit(
                resource.name,
                "replace",
                names,
                "another workspace is made, and what this one has kept is gone",
            )


def of_warm_room(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Room that is kept free, more or less of it."""
    olds, news = (_placeholders(recording) for recording in (before, after))
    none = _Kept("", "", 0, _HOURS_PER_WEEK, ())
    for urn in {**news, **olds}:
        was, now = (kept.get(urn, none) for kept in (olds, news))
        name = (was.schedule and now.schedule) or now.name or was.name
        more = now.pods * now.hours - was.pods * was.hours
        what = ("replicas",) if was.times == now.times else ("schedule",)
        if more:
            says = (_MORE if more > 0 else _LESS).format(was=was, now=now)
            yield edit(name, "update" if more > 0 else "terminate", what, says)
        elif was != now:
            yield edit(name, "update", what, _OTHER_TIMES)


class _Kept(NamedTuple):
    """Placeholders of one kind."""

    name: str
    schedule: str
    """What starts and stops them; empty where they are always there."""
    pods: int
    hours: float
    """Of a week."""
    times: Sequence[object]

    def __str__(self) -> str:
        return f"{self.pods}, {self.hours:g} hours of a week," if self.times else f"{self.pods}"


def _placeholders(recording: Recording) -> dict[str, _Kept]:
    deployed, scaled = (
        [
            resource
            for resource in by_urn(recording, kind).items()
            if _space(resource[1]) == WARM_ROOM
        ]
        for kind in (_DEPLOYMENT, _SCALED)
    )
    by_time = {_name(resource): resource for _, resource in scaled}
    found: dict[str, _Kept] = {}
    for urn, deployment in deployed:
        pods, hours = _replicas(deployment), float(_HOURS_PER_WEEK)
        times: tuple[dict[str, str], ...] = ()
        schedule = by_time.get(_name(deployment))
        if schedule is not None:
            spec = inputs(schedule)["spec"]
            times = tuple(trigger["metadata"] for trigger in spec["triggers"])
            windows = (ZonedWindow(t["start"], t["end"], t["timezone"]) for t in times)
            pods, hours = int(spec["maxReplicaCount"]), hours_per_week(frozenset(windows))
        found[urn] = _Kept(deployment.name, schedule.name if schedule else "", pods, hours, times)
    return found


def _replicas(deployment: Resource) -> int:
    spec = inputs(deployment).get("spec")
    return int(spec.get("replicas", 1)) if isinstance(spec, dict) else 0


def _space(resource: Resource) -> object:
    metadata = inputs(resource).get("metadata")
    return metadata.get("namespace") if isinstance(metadata, dict) else None


def _name(resource: Resource | None) -> str:
    metadata = inputs(resource).get("metadata") if resource else None
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
