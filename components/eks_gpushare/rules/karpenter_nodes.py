"""Rules about the nodes that Karpenter launches: image, volumes, kubelet, user data, price."""

from __future__ import annotations

import string
import tomllib
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import ami_release, gpu_instance_types
from eks_gpushare.catalog.instances import SMALL_NODE_PODS
from eks_gpushare.catalog.kubelet import (
    BOTTLEROCKET_SETTINGS,
    KARPENTER_BOTTLEROCKET_SETTINGS,
    KARPENTER_FIELDS,
)
from eks_gpushare.documents.node_config import NODE_CONFIG
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import is_bottlerocket

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_NODE_CLASSES = "https://karpenter.sh/docs/concepts/nodeclasses/"

NO_RELEASE = rule_of("GPU754", not_alone="It is told the version of its cluster, or asks for it.")
NO_PRICE = Rule(
    "GPU758",
    "warning",
    "Karpenter knows a price of every type of its pools.",
    "It launches no type of which it has no price on demand or as spot.",
    "https://karpenter.sh/docs/concepts/nodeoverlays/",
    not_alone="A pool is not told its region.",
)
CLASS_KUBELET = Rule(
    "GPU760",
    "error",
    "A kubelet setting of a Karpenter pool is one that Karpenter passes on.",
    "The EC2NodeClass is refused, or Karpenter drops the setting in silence.",
    f"{_NODE_CLASSES}#speckubelet",
)
SET_BY_KARPENTER = Rule(
    "GPU761",
    "error",
    "A part of the user data sets nothing that Karpenter sets or has to know.",
    "Karpenter's own wins, or it plans with other room for pods than its nodes have.",
    f"{_NODE_CLASSES}#specuserdata",
)
LARGE_VOLUME = Rule(
    "GPU762",
    "error",
    "The root volume of a Karpenter pool is one that an EC2NodeClass takes.",
    "The EC2NodeClass is refused.",
    f"{_NODE_CLASSES}#specblockdevicemappings",
)
CLASS_TAG = Rule(
    "GPU763",
    "error",
    "Tags of instances are none that Karpenter sets itself.",
    "The EC2NodeClass is refused.",
    f"{_NODE_CLASSES}#spectags",
    not_alone="The tags of an environment are not a pool's own.",
)
NO_PREFIXES = Rule(
    "GPU764",
    "warning",
    "Karpenter is told of the pods that prefix delegation makes room for.",
    "It counts the addresses of a node without prefixes, and tells its kubelet that many pods.",
    "https://karpenter.sh/docs/concepts/nodeclasses/#speckubelet",
    not_alone="A pool is not told how its cluster gives out addresses.",
)

_LARGEST_GIB = 59_000
"""blockDeviceMappings.ebs.volumeSize in the CRD of EC2NodeClass, v1.14.1."""
_SIGNALS = (
    *("memory.available", "nodefs.available", "nodefs.inodesFree"),
    *("imagefs.available", "imagefs.inodesFree", "pid.available"),
)
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_EVICTION = ("evictionHard", "evictionSoft", "evictionSoftGracePeriod")
_RESERVED = ("kubeReserved", "systemReserved")
_PERCENTS = ("imageGCHighThresholdPercent", "imageGCLowThresholdPercent")
_HUNDRED = 100
_LARGEST_INTEGER = 2**31 - 1
_OWN_TAGS = (
    *("eks:eks-cluster-name", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim"),
    "karpenter.k8s.aws/ec2nodeclass",
)


@check(Scope.POOL, NO_RELEASE)
def pinned(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "karpenter" or pool.ami_family == "custom" or pool.ami_version:
        return
    at = ("pools", name, "amiVersion")
    cluster = ctx.new_cluster
    fix = "Name a release, such as 1.35.8-20260930, or 1.65.0-0be31b34 of Bottlerocket."
    if cluster is None:
        message = "Which image fits a cluster that is there already is not known here."
        yield NO_RELEASE.finding(at, message, fix)
    elif ami_release(pool.ami_family, cluster.version) is None:
        message = f"No {pool.ami_family} release for Kubernetes {cluster.version} is known here."
        yield NO_RELEASE.finding(at, message, fix)


@check(Scope.POOL, NO_PRICE)
def priced(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "karpenter" or not {"onDemand", "spot"} & {*pool.bought_as}:
        return
    for found, _ in ctx.gpu_types(pool):
        if ctx.region is None or found.retired or found.price(ctx.region) is not None:
            continue
        if found.family.startswith("p6e-gb"):  # which Karpenter cannot launch anyway
            continue
        if any((gpu_instance_types().get(found.name) or found).prices.values()):
            continue  # AWS has a price of it, of which Karpenter is told
        yield NO_PRICE.finding(
            ("pools", name, "instanceTypes"),
            f"AWS published no price of {found.name} when the catalog was made.",
            f"Give catalog: {{instanceTypes: {{{found.name}: {{priceUsdPerHour: ...}}}}}}; "
            "the stack tells Karpenter of it.",
        )


@check(Scope.POOL, CLASS_KUBELET)
def kubelet(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "karpenter" or not pool.kubelet:
        return
    at: FieldPath = ("pools", name, "kubelet")
    rocket = is_bottlerocket(pool)
    for key, value in pool.kubelet.items():
        setting = BOTTLEROCKET_SETTINGS.get(key)
        if rocket and setting is not None and setting not in KARPENTER_BOTTLEROCKET_SETTINGS:
            message = f"Karpenter drops settings.kubernetes.{setting} from user data."
            yield CLASS_KUBELET.finding((*at, key), message, "Remove it.")
        elif key in KARPENTER_FIELDS and (fault := _class_fault(key, value)):
            yield CLASS_KUBELET.finding((*at, key), fault, "Correct it.")
    yield from _together(at, pool.kubelet)


def _class_fault(key: str, value: Any) -> str | None:
    """What an EC2NodeClass refuses that a kubelet might take."""
    if key in _EVICTION or key in _RESERVED:
        allowed = _SIGNALS if key in _EVICTION else _RESERVABLE
        for item, given in value.items() if isinstance(value, dict) else ():
            if item not in allowed:
                return f"{item} is none of {', '.join(allowed)}."
            if key != "evictionSoftGracePeriod" and not _is_amount(key, str(given)):
                return f'{item}: "{given}" is no quantity{_or_percent(key)}.'
    elif isinstance(value, int):  # True is 1
        most = _HUNDRED if key in _PERCENTS else _LARGEST_INTEGER
        least = -_LARGEST_INTEGER if key == "evictionMaxPodGracePeriod" else 0
        if not least <= value <= most:
            return f"{value} is not from {least} to {most}."
    return None


def _is_amount(key: str, text: str) -> bool:
    if key in _EVICTION and text.endswith("%"):
        number = quantity(text[:-1])
        return number is not None and text[-2:-1] in string.digits and 0 <= number <= _HUNDRED
    number = quantity(text)
    return number is not None and number >= 0


def _or_percent(key: str) -> str:
    return " and no percentage" if key in _EVICTION else ""


def _together(at: FieldPath, given: Mapping[str, Any]) -> Iterator[Finding]:
    """For settings that need each other."""
    soft, grace = (given.get(key) or {} for key in ("evictionSoft", "evictionSoftGracePeriod"))
    if isinstance(soft, dict) and isinstance(grace, dict):
        for signal in sorted({*soft} ^ {*grace}):
            has, lacks = "evictionSoft", "evictionSoftGracePeriod"
            if signal in grace:
                has, lacks = lacks, has
            message = f"{signal} is in {has} and not in {lacks}."
            yield CLASS_KUBELET.finding((*at, has), message, f"Add it to {lacks}.")
    high, low = (given.get(key) for key in _PERCENTS)
    if isinstance(high, int) and isinstance(low, int) and high <= low:
        yield CLASS_KUBELET.finding(
            (*at, _PERCENTS[0]),
            f"{_PERCENTS[0]} {high} is not more than {_PERCENTS[1]} {low}.",
            "Set it higher.",
        )


@check(Scope.POOL, SET_BY_KARPENTER)
def parts(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "karpenter":
        return
    for index, part in enumerate(pool.user_data or ()):
        at = ("pools", name, "userData", index, "content")
        if f"\n--{_BOUNDARY}" in f"\n{part.content}":
            message = f"A line begins with --{_BOUNDARY}, which Karpenter puts between parts."
            yield SET_BY_KARPENTER.finding(at, message, "Write it otherwise.")
        if is_bottlerocket(pool):
            yield from _settings(at, part.content)
        elif part.content_type.partition(";")[0].strip().lower() == NODE_CONFIG:
            yield from _node_config(at, part.content)


_BOUNDARY = "//"
"""What stands between the parts that Karpenter writes: pkg/providers/amifamily/bootstrap/mime of
karpenter-provider-aws v1.14.1."""


def _node_config(at: FieldPath, content: str) -> Iterator[Finding]:
    import yaml

    try:
        found = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError):
        return  # which has a finding of its own
    for key in ("spec", "kubelet", "config"):
        found = found.get(key) if isinstance(found, dict) else None
    for field in found if isinstance(found, dict) else ():
        if field in KARPENTER_FIELDS:
            message = f"spec.kubelet.config.{field} is Karpenter's to know."
            yield SET_BY_KARPENTER.finding(at, message, f"Give {field} under kubelet of the pool.")


def _settings(at: FieldPath, content: str) -> Iterator[Finding]:
    try:
        found = tomllib.loads(content).get("settings", {})
    except tomllib.TOMLDecodeError:
        return
    given = found.get("kubernetes") if isinstance(found, dict) else None
    known = {BOTTLEROCKET_SETTINGS[f]: f for f in KARPENTER_FIELDS if f in BOTTLEROCKET_SETTINGS}
    for setting in given if isinstance(given, dict) else ():
        if setting in known:
            message = f"settings.kubernetes.{setting} is Karpenter's to know."
            fix = f"Give {known[setting]} under kubelet of the pool."
            yield SET_BY_KARPENTER.finding(at, message, fix)
        elif setting not in KARPENTER_BOTTLEROCKET_SETTINGS:
            message = f"Karpenter drops settings.kubernetes.{setting} from user data."
            yield SET_BY_KARPENTER.finding(at, message, "Remove it, or use a managed node group.")


@check(Scope.POOL, LARGE_VOLUME)
def volume(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner == "karpenter" and pool.root_volume_gib > _LARGEST_GIB:
        message = f"{pool.root_volume_gib} GiB are more than the {_LARGEST_GIB} of an EC2NodeClass."
        at = ("pools", name, "rootVolumeGiB")
        yield LARGE_VOLUME.finding(at, message, f"Set {_LARGEST_GIB} or less.")


@check(Scope.ENVIRONMENT, CLASS_TAG)
def tags(ctx: Context) -> Iterator[Finding]:
    tagged = [
        name
        for name, pool in ctx.environment.pools.items()
        if pool.provisioner == "karpenter" and pool.tag_instances
    ]
    for key in ctx.environment.tags if tagged else ():
        if key in _OWN_TAGS or key.startswith("kubernetes.io/cluster"):
            yield CLASS_TAG.finding(
                ("tags", key),
                f"{key} would stand on the instances of {tagged[0]}, where Karpenter has its own.",
                f"Remove it, or tagInstances of {tagged[0]}.",
            )


@check(Scope.POOL, NO_PREFIXES)
def prefixes(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    cluster = ctx.new_cluster if pool.provisioner == "karpenter" else None
    if cluster is None or (pool.kubelet or {}).get("maxPods") is not None:
        return
    if cluster.addons.prefix_delegation:
        yield NO_PREFIXES.finding(
            ("pools", name, "kubelet"),
            "The cluster gives nodes prefixes of addresses, and Karpenter does not know of it.",
            f"Set kubelet: {{maxPods: {SMALL_NODE_PODS}}}, or as many as a node takes.",
        )
