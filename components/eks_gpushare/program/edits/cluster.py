"""What an edit does to the control plane and to the network that nodes and control plane are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.program.edits.compared import CLUSTER, bare, by_urn, changed, inputs
from eks_gpushare.program.edits.kinds import Consequence, edit
from eks_gpushare.program.edits.versions import clusters_of
from eks_gpushare.program.recording import STACK_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource

_PROVIDER = "pulumi:providers:kubernetes"
_WHICH = "clusterIdentifier"
_ROUTE = "aws:ec2/route:Route"
_SUBNET = "aws:ec2/subnet:Subnet"
_SUBNETS = ("privateSubnetIds", "publicSubnetIds")
_GATEWAY = "natGatewayId"

_REPLACED = "the cluster is replaced, and with it everything that runs on it"
_PROTECTED = "it is protected from deletion, so Pulumi refuses to replace it"
_STILL_PROTECTED = (
    "it is protected until this update is over, so EKS refuses to delete it when the new one "
    "stands beside it: turn protection off in an update of its own"
)
_KEPT_BY_PULUMI = (
    "it is protected from deletion, so Pulumi refuses to delete it: turn protection off in an "
    "update of its own first"
)
_KEPT_BY_EKS = (
    "it is protected from deletion, so EKS refuses to delete it: turn protection off in an update "
    "of its own first"
)
_GONE = "the cluster goes, and with it everything that runs on it"
_NO_OTHER_KEY = (
    "EKS changes no key for secrets, and another cluster cannot be made while there is one of its "
    "name; the update stops there"
)
_NO_OTHER_ROLE = (
    "EKS changes no role of a control plane, and another cluster cannot be made while there is one "
    "of its name; the update stops there"
)
_NO_OTHER_NETWORK = (
    "EKS refuses it: a control plane stays in its VPC and takes subnets of the zones it was made "
    "with alone; the update stops there, with what it has made until then"
)
_OTHER_SUBNETS = (
    "its control plane gets other subnets in place; EKS refuses ones outside of the zones that it "
    "was made with"
)
_GUARDED = (
    "from now on EKS refuses to delete it, and Pulumi to replace it and to destroy the stack; what "
    "an edit takes away still goes"
)
_SHUT = (
    "its API server answers within the VPC alone from then on: whoever updates the stack from "
    "elsewhere loses it in this very update"
)
_OPENED = "its API server answers from the internet too, to {who}"
_UPGRADED = (
    "the control plane becomes {now} in place, and never {was} again; nodes that change with it "
    "are told of by themselves"
)
_ELSEWHERE = (
    "all that the stack has in the cluster {was} goes, with the pods of it that run there, and is "
    "made anew in {now}"
)
# EKS user guide, view-support-status: what it does when standard support of a version ends.
_SUPPORTED: Mapping[object, str] = {
    "EXTENDED": (
        "EKS leaves the control plane at its version when that one's standard support ends, and "
        "takes the price of extended support from then on"
    ),
    "STANDARD": (
        "EKS upgrades the control plane by itself when the standard support of its version ends"
    ),
}
_UNGUARDED = "EKS and Pulumi no longer refuse to delete it; no node is touched"


def of_clusters(
    before: Recording, after: Recording, replaced: Mapping[str, tuple[str, ...]]
) -> Iterator[Consequence]:
    """What happens to control planes.

    Args:
        before: What is up.
        after: What it is to become.
        replaced: Properties that replace a resource, by its URN.
    """
    olds = by_urn(before, CLUSTER)
    for urn, new in by_urn(after, CLUSTER).items():
        if (old := olds.get(urn)) is None:
            continue
        found = _refused(old, new, before, after, replaced.get(new.urn, ()))
        if found is None and new.urn in replaced:
            found = edit(new.name, "replace", replaced[new.urn], _REPLACED)
        yield from [found] if found else _in_place(old, new)


def of_clusters_gone(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Control planes that the program no longer makes."""
    there = {bare(resource.urn) for resource in clusters_of(after)}
    for old in clusters_of(before):
        if bare(old.urn) in there:
            continue
        if old.protect:
            yield edit(old.name, "refused", (), _KEPT_BY_PULUMI)
        elif inputs(old).get("deletionProtection") is True:
            yield edit(old.name, "refused", (), _KEPT_BY_EKS)
        else:
            yield edit(old.name, "delete", (), _GONE)


def of_other_clusters(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Clusters of others in place of which the stack is told of another one.

    The provider of Kubernetes compares its identifier alone where it has one
    (provider/pkg/provider/provider.go of pulumi-kubernetes, DiffConfig), and with a provider that
    is replaced the engine replaces whatever it manages.
    """
    yield from _by_another_provider(before, after)
    if clusters_of(before) or clusters_of(after):
        return  # of these it is told by themselves
    olds = by_urn(before, _PROVIDER)
    for urn, new in by_urn(after, _PROVIDER).items():
        was, now = (inputs(each).get(_WHICH) if each else None for each in (olds.get(urn), new))
        if was and now and was != now:
            within = after.by_urn.get(new.parent)
            name = new.name if within is None else within.name
            yield edit(name, "replace", (_WHICH,), _ELSEWHERE.format(was=was, now=now))


def _by_another_provider(before: Recording, after: Recording) -> Iterator[Consequence]:
    """What a cluster of the stack has, and had in one of others, or the other way round."""
    told = set[str]()
    for old, new in in_other_hands(before, after):
        top = new
        while (above := after.by_urn.get(top.parent)) and above.type != STACK_TYPE:
            top = above
        if top.urn not in told:
            told.add(top.urn)
            was, now = (
                inputs(run.by_urn[each.provider]).get(_WHICH) or each.provider.rpartition("::")[2]
                for run, each in ((before, old), (after, new))
            )
            yield edit(top.name, "replace", ("provider",), _ELSEWHERE.format(was=was, now=now))


def in_other_hands(before: Recording, after: Recording) -> list[tuple[Resource, Resource]]:
    """Objects of Kubernetes that another provider has from then on, for which they are replaced.

    The engine does so wherever one of them is no default provider (`providerChanged` in
    pkg/resource/deploy/step_generator.go of pulumi/pulumi): no two are of one cluster for it.
    """
    olds = {bare(each.urn): each for each in before.resources if each.provider}
    return [
        (old, new)
        for new in after.resources
        if _PROVIDER in (new.provider or "") and (old := olds.get(bare(new.urn)))
        if old.provider and new.provider and bare(old.provider) != bare(new.provider)
    ]


def _refused(
    old: Resource,
    new: Resource,
    before: Recording,
    after: Recording,
    replacing: tuple[str, ...],
) -> Consequence | None:
    moved = {"vpcId"} & set(replacing)
    zones = _zones(old, before), _zones(new, after)
    if all(zones) and zones[0] != zones[1]:
        moved |= {name for name in _SUBNETS if name in new.inputs}
    if moved:
        return edit(new.name, "refused", tuple(sorted(moved)), _NO_OTHER_NETWORK)
    if replacing and inputs(old).get("name") == inputs(new).get("name"):
        says = _NO_OTHER_ROLE if "roleArn" in replacing else _NO_OTHER_KEY
        return edit(new.name, "refused", replacing, says)
    if replacing and old.protect:
        says = _PROTECTED if new.protect else _STILL_PROTECTED
        return edit(new.name, "refused", replacing, says)
    return None


def _zones(cluster: Resource, run: Recording) -> set[object]:
    """Zones of the cluster's subnets; none where the stack does not make them."""
    urns = {urn for name in _SUBNETS for urn in cluster.property_dependencies.get(name, ())}
    return {
        inputs(resource).get("availabilityZone")
        for resource in run.of_type(_SUBNET)
        if resource.urn in urns
    }


def _in_place(old: Resource, new: Resource) -> Iterator[Consequence]:
    names = set(changed(old, new))
    if "version" in names:
        was, now = (inputs(resource).get("version") for resource in (old, new))
        says = _UPGRADED.format(was=was or "what it was", now=now or "what EKS takes")
        yield edit(new.name, "update", ("version",), says)
    if subnets := tuple(sorted(names & {*_SUBNETS})):
        yield edit(new.name, "update", subnets, _OTHER_SUBNETS)
    how = (inputs(new).get("upgradePolicy") or {}).get("supportType")
    if "upgradePolicy" in names and how in _SUPPORTED:
        yield edit(new.name, "update", ("upgradePolicy",), _SUPPORTED[how])
    if "endpointPublicAccess" in names or "publicAccessCidrs" in names:
        yield _of_endpoint(old, new)
    if "deletionProtection" in names:
        on = inputs(new).get("deletionProtection")
        says = _GUARDED if on else _UNGUARDED
        yield edit(new.name, "update", ("deletionProtection",), says)


def _of_endpoint(old: Resource, new: Resource) -> Consequence:
    was, now = (inputs(resource) for resource in (old, new))
    who = ", ".join(map(str, now.get("publicAccessCidrs") or ())) or "everybody"
    # Where it is not said, EKS has it public: API_VpcConfigRequest of its API.
    shut = was.get("endpointPublicAccess") is not False and now.get("endpointPublicAccess") is False
    because = "endpointPublicAccess" if shut else "publicAccessCidrs"
    return edit(new.name, "update", (because,), _SHUT if shut else _OPENED.format(who=who))


def of_ways_out(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Zones whose nodes leave by another NAT gateway, and so by another public address."""
    olds, moved = by_urn(before, _ROUTE), dict[tuple[str, str], set[str]]()
    for urn, new in by_urn(after, _ROUTE).items():
        gates = [_gateway(resource) for resource in (olds.get(urn), new)]
        if gates[0] and gates[1] and bare(gates[0]) != bare(gates[1]):
            network = new.parent.rpartition("::")[2]
            moved.setdefault((network, gates[1]), set()).add(gates[0])
    for (network, now), was in moved.items():
        names = " and ".join(sorted(_name(urn) for urn in was))
        says = (
            f"nodes behind {names} leave by {_name(now)} from then on, which has another public "
            "address: let that in, wherever the old one is let in"
        )
        yield edit(network, "update", (_GATEWAY,), says)


def _gateway(route: Resource | None) -> str:
    urns = route.property_dependencies.get(_GATEWAY, ()) if route else ()
    return urns[0] if urns else ""


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]
