"""What EKS or Pulumi would refuse midway of an edit of a stack that is up, by `rules/edits.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.kubernetes import minor_version
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.network import ExistingNetwork, NewNetwork
from eks_gpushare.rules.edits import (
    CLUSTER_KEPT,
    ENTRY_KEPT,
    IMAGE_BEHIND,
    KARPENTER_KEPT,
    KEY_KEPT,
    NETWORK_KEPT,
    ONE_MINOR_UP,
    REGION_KEPT,
    SIZE_KEPT,
    STATIC_KEPT,
)
from eks_gpushare.sharing.nodes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.network import Network
    from eks_gpushare.findings.finding import FieldPath, Finding


def check_edit(
    before: Environment, after: Environment, regions: tuple[str | None, str | None] = (None, None)
) -> list[Finding]:
    """What of an edit EKS or Pulumi would refuse.

    Args:
        before: The environment that is up, as its file says.
        after: What it is to become.
        regions: The region of the stack before and after, where they are known.
    """
    if all(regions) and regions[0] != regions[1]:
        return list(_region(before, regions))
    found = [*_cluster(before, after), *_sizes(before, after)]
    found += _images(before, after)
    found += _karpenter(before, after)
    if _same_cluster(before, after):
        found += _entries(before, after)
        found += _network(before.network, after.network)
    return found


def _region(before: Environment, regions: tuple[str | None, str | None]) -> Iterator[Finding]:
    cluster = before.cluster
    if isinstance(cluster, NewCluster) and cluster.deletion_protection:
        message = (
            f"The cluster {cluster.name} is up in {regions[0]}, and it is protected; in "
            f"{regions[1]} it would be another."
        )
        fix = (
            f"Put back aws:region: {regions[0]} and make the other cluster in a stack of its own, "
            "or set deletionProtection: false and run pulumi up with nothing else changed first."
        )
        yield REGION_KEPT.finding(("cluster", "name"), message, fix)


def _karpenter(before: Environment, after: Environment) -> Iterator[Finding]:
    """What takes nodes of Karpenter's away, or what its API refuses."""
    both = [
        name
        for name, pool in after.pools.items()
        if pool.provisioner == "karpenter"
        and name in before.pools
        and before.pools[name].provisioner == "karpenter"
    ]
    if both and _installed(before) and not _installed(after):
        yield KARPENTER_KEPT.finding(
            ("karpenter", "install"),
            f"This stack has installed Karpenter, and {', '.join(both)} would stay without it.",
            "Put install: true back; or take the pools out first, in an update of its own, which "
            "drains their nodes.",
        )
    for name in both:
        was, now = (environment.pools[name].is_static for environment in (before, after))
        if was != now:
            yield STATIC_KEPT.finding(
                ("pools", name, "karpenter", "static"),
                f"The pool {name} is {_KINDS[was]}, and would become {_KINDS[now]}.",
                "Give it another name: pods move as the nodes of the old pool are drained.",
            )


_KINDS = {True: "static", False: "dynamic"}


def _installed(environment: Environment) -> bool:
    return environment.karpenter is None or environment.karpenter.install


def _images(before: Environment, after: Environment) -> Iterator[Finding]:
    """Pools whose image stays while their control plane goes up."""
    old, new = before.cluster, after.cluster
    if not (isinstance(old, NewCluster) and isinstance(new, NewCluster)):
        return
    if old.name != new.name or minor_version(old.version) >= minor_version(new.version):
        return
    for name, pool in after.pools.items():
        earlier = before.pools.get(name)
        image = pool.custom_ami
        if image is None or earlier is None or earlier.custom_ami is None:
            continue
        if earlier.custom_ami.id == image.id:
            yield IMAGE_BEHIND.finding(
                ("pools", name, "customAmi", "id"),
                f"The control plane goes to {new.version}, and the pool keeps {image.id} with the "
                "kubelet that is in it.",
                f"Build the image for {new.version} and name it here, in this update or after it, "
                "before the control plane is three versions ahead.",
            )


def _same_cluster(before: Environment, after: Environment) -> bool:
    old, new = before.cluster, after.cluster
    return isinstance(old, NewCluster) and isinstance(new, NewCluster) and old.name == new.name


def _cluster(before: Environment, after: Environment) -> Iterator[Finding]:
    old, new = before.cluster, after.cluster
    if not isinstance(old, NewCluster):
        return
    if not isinstance(new, NewCluster):
        if old.deletion_protection:
            message = f"The cluster {old.name} would be deleted, and it is protected."
            yield CLUSTER_KEPT.finding(("cluster", "existing"), message, _UNPROTECT)
    elif old.name != new.name:
        yield from _renamed(old, new)
    else:
        yield from _version(old, new)
        if old.secrets_key_arn != new.secrets_key_arn:
            keys = (_key(cluster.secrets_key_arn) for cluster in (old, new))
            message = "The cluster was made with {}, and the file now asks for {}.".format(*keys)
            fix = "Put back what was there; another key takes another cluster."
            yield KEY_KEPT.finding(("cluster", "secretsKeyArn"), message, fix)


_UNPROTECT = (
    "Set deletionProtection: false and run pulumi up with nothing else changed; then make this "
    "edit."
)


def _renamed(old: NewCluster, new: NewCluster) -> Iterator[Finding]:
    if not old.deletion_protection:
        return
    message = f"The cluster {old.name} would be replaced by {new.name}, and it is protected."
    if not new.deletion_protection:
        message += " EKS still protects it in the update that turns that off."
    yield CLUSTER_KEPT.finding(("cluster", "name"), message, _UNPROTECT)


def _key(arn: str | None) -> str:
    return arn or "a key of the stack's own"


def _version(old: NewCluster, new: NewCluster) -> Iterator[Finding]:
    was, now = (minor_version(cluster.version) for cluster in (old, new))
    at = ("cluster", "version")
    if now < was:
        message = f"The cluster is at {old.version}, and {new.version} is earlier."
        fix = (
            f'Put back "{old.version}". To go back within seven days of an upgrade, roll back the '
            "node groups and then the cluster with the AWS CLI, and run pulumi up --refresh with "
            "this file."
        )
        yield ONE_MINOR_UP.finding(at, message, fix)
    elif was[0] == now[0] and now[1] > was[1] + 1:
        between = ", ".join(f"{was[0]}.{minor}" for minor in range(was[1] + 1, now[1]))
        message = f"From {old.version} to {new.version} the cluster would skip {between}."
        fix = f'Set "{was[0]}.{was[1] + 1}" first, with every amiVersion, and run pulumi up.'
        yield ONE_MINOR_UP.finding(at, message, fix)


def _entries(before: Environment, after: Environment) -> Iterator[Finding]:
    olds = _entries_of(before)
    for arn, (entry, at) in _entries_of(after).items():
        was, _ = olds.get(arn, (entry, at))
        if was != entry:
            message = f"{arn} has an access entry by {was}, and would get another one by {entry}."
            fix = (
                f"Put it back into {was}. Or take it out, run pulumi up, and put it here then: in "
                "between it has no access, so somebody else has to run that."
            )
            yield ENTRY_KEPT.finding(at, message, fix)


def _entries_of(environment: Environment) -> dict[str, tuple[str, FieldPath]]:
    """Principals, each with what names its access entry, and where it stands."""
    cluster = environment.cluster
    found: dict[str, tuple[str, FieldPath]] = {}
    for name, tenant in (environment.tenants or {}).items():
        for index, arn in enumerate(tenant.admins):
            found[arn] = "tenants", ("tenants", name, "admins", index)
    if isinstance(cluster, NewCluster):
        for index, arn in enumerate(cluster.admins):
            found[arn] = "cluster.admins", ("cluster", "admins", index)
        for name, arn in (cluster.named_admins or {}).items():
            found[arn] = f"cluster.namedAdmins.{name}", ("cluster", "namedAdmins", name)
    return found


def _network(old: Network, new: Network) -> Iterator[Finding]:
    if isinstance(old, NewNetwork) and isinstance(new, NewNetwork):
        yield from _made_network(old, new)
    elif isinstance(old, ExistingNetwork) and isinstance(new, ExistingNetwork):
        if old.vpc_id != new.vpc_id:
            message = f"The cluster is in {old.vpc_id}, and the file now names {new.vpc_id}."
            yield NETWORK_KEPT.finding(("network", "vpcId"), message, _ANOTHER_STACK)
    else:
        made = "made" if isinstance(old, NewNetwork) else "did not make"
        message = f"The cluster is in a VPC that this stack {made}, and would have to leave it."
        yield NETWORK_KEPT.finding(("network",), message, _ANOTHER_STACK)


_ANOTHER_STACK = "Put back what was there, or make the other cluster in a stack of its own."


def _made_network(old: NewNetwork, new: NewNetwork) -> Iterator[Finding]:
    if old.cidr != new.cidr:
        message = f"The cluster is in a VPC with {old.cidr}; one with {new.cidr} is another VPC."
        yield NETWORK_KEPT.finding(("network", "cidr"), message, _ANOTHER_STACK)
    if _other_zones(old, new):
        was, now = (_zones(network) for network in (old, new))
        message = f"The control plane was made in {was}, and the file now says {now}."
        yield NETWORK_KEPT.finding(("network", "zones"), message, _ANOTHER_STACK)


def _other_zones(old: NewNetwork, new: NewNetwork) -> bool:
    was, now = old.zones, new.zones
    if isinstance(was, tuple) and isinstance(now, tuple):
        return set(was) != set(now)
    # Which zones a number stood for, the file does not say.
    counts = {zones if isinstance(zones, int) else len(zones) for zones in (was, now)}
    return len(counts) > 1


def _zones(network: NewNetwork) -> str:
    zones = network.zones
    return f"{zones} zones" if isinstance(zones, int) else ", ".join(zones)


def _sizes(before: Environment, after: Environment) -> Iterator[Finding]:
    for name, new in after.pools.items():
        old = before.pools.get(name)
        made = old is not None and old.provisioner == new.provisioner == "managedNodeGroup"
        if old is None or not made or new.scaled_by != "autoscaler":
            continue
        kept, wanted = sizes(old.nodes).desired, sizes(new.nodes)
        if kept < wanted.min:
            key, than = "min", "more"
        elif kept > wanted.max:
            key, than = "max", "less"
        else:
            continue
        limit = getattr(wanted, key)
        yield SIZE_KEPT.finding(
            ("pools", name, "nodes", key),
            f"{key} would be {limit}, {than} than the desired size of {kept} that the stack was "
            "last told and that updates leave alone.",
            "Where the autoscaler has made it another since, run pulumi up --refresh. Otherwise "
            f"set scaledBy: stack with desired: {limit} for one update, and then autoscaler again.",
        )
