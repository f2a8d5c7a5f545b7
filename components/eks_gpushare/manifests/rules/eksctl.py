"""What is wrong in eksctl's ClusterConfig."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.catalog.autoscaler_tags import ENABLED_TAG, LABEL_TAGS
from eks_gpushare.catalog.foreign_keys import eksctl_keys, unknown_keys
from eks_gpushare.findings.finding import dotted
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import EFFECTS, items, kubernetes_effect, mapping, whole
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

_SCHEMA = "https://schema.eksctl.io/"

UNKNOWN_KEY = Rule(
    "GPU1070",
    "error",
    "A ClusterConfig has keys that eksctl reads.",
    "eksctl refuses the file with an unknown field.",
    _SCHEMA,
)
REFUSED = Rule(
    "GPU1071",
    "error",
    "The values of a node group are ones that eksctl and EKS take.",
    "eksctl, or EKS behind it, refuses the node group.",
    _SCHEMA,
)
AMAZON_LINUX_2 = Rule(
    "GPU1072",
    "error",
    "GPU nodes start from an image that EKS still builds.",
    "Images of Amazon Linux 2 ended on 2025-11-26, with Kubernetes 1.32: there is none for a newer "
    "version, and no driver for newer GPUs.",
    "https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html",
)
FROM_ZERO = Rule(
    "GPU1073",
    "warning",
    "An autoscaler knows what nodes of an empty, self-managed group will have.",
    "Of a group with no node it sees only the tags of the Auto Scaling group; without them pods "
    "that need the labels or tolerate the taints get no node.",
    "https://docs.aws.amazon.com/eks/latest/eksctl/general-nodegroups.html",
)

NO_DRIVER = Rule(
    "GPU1262",
    "error",
    "A managed node group of types with GPUs starts from images that have a driver.",
    "eksctl says so and makes the group, and its nodes advertise no GPU unless something installs "
    "a driver on them, as the GPU Operator does on Ubuntu.",
    "https://docs.aws.amazon.com/eks/latest/eksctl/gpu-support.html",
)
NO_ACCELERATOR = Rule(
    "GPU1263",
    "warning",
    "Nodes of Cluster Autoscaler have the label by which it waits for nvidia.com/gpu, if they "
    "have that.",
    "A node is ready a minute before its GPUs are there. Without the label it takes such a node "
    "for one that has none, and launches another: for 25 pods it was seen to launch 6 nodes for 3. "
    "Where shares have another name it waits for ever.",
    "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md#special-note-on-gpu-instances",
)

DEFAULT_FAMILY = "AmazonLinux2023"
"""What eksctl takes where no family is named, its variant for GPUs with types that have them.

https://docs.aws.amazon.com/eks/latest/eksctl/custom-ami-support.html, gpu-support.html beside it,
November 2026.
"""
MANAGED: Final = "managedNodeGroups"
SELF_MANAGED: Final = "nodeGroups"
_BOOT: Final = "overrideBootstrapCommand"
_SCRIPT: Final = re.compile(r"^\s*#!|bootstrap\.sh\b")
_BOOTS_BY_SCRIPT: Final = ("AmazonLinux2", "Ubuntu")
"""How families begin of which eksctl asks for a command that boots; AmazonLinux2023 is none."""
_LAST_AL2: Final = (1, 32)
_METADATA: Final = "metadata"
_OF_MANAGED: Final = {
    "instanceTypes": "instanceTypes: [...]",
    "spot": "instanceTypes: [...], onDemandPercentageAboveBaseCapacity: 0",
}
"""Keys of managed groups alone, and what the distribution of the others has."""
_ELSEWHERE: Mapping[str, str] = {
    "minCapacity": "minSize",
    "maxCapacity": "maxSize",
    "desiredSize": "desiredCapacity",
    "desired": "desiredCapacity",
    "diskSize": "volumeSize",
    "amiType": "amiFamily",
    "nodeLabels": "labels",
    "nodeTaints": "taints",
}
"""Keys of other tools, and eksctl's own."""


def cluster_config(value: Mapping[str, Any], source: Source) -> Iterator[Judgement]:
    """What is wrong in a ClusterConfig."""
    for path, names in unknown_keys(value, eksctl_keys()):
        if "taints" in path[:-1]:
            above = path[: path.index("taints") + 1]
            if isinstance(at(value, *above), dict):
                continue  # the short spelling, whose keys are those of taints
        yield _unknown(value, source, path, names)
    version = at(value, "metadata", "version")
    for kind in (MANAGED, SELF_MANAGED):
        for index, group in enumerate(items(at(value, kind))):
            if isinstance(group, dict):
                yield from _group(source, (kind, index), group, kind, version)


def _unknown(
    value: Mapping[str, Any], source: Source, path: FieldPath, names: tuple[str, ...]
) -> Problem:
    key = str(path[-1])
    near = _ELSEWHERE.get(key) if _ELSEWHERE.get(key) in names else similar(key, names)
    edits: tuple[Edit, ...] = ()
    if key in _OF_MANAGED and path[0] == SELF_MANAGED:
        near = None
        fix = f"Of a self-managed group, write instancesDistribution: {{{_OF_MANAGED[key]}}}."
    elif len(path) == 1 and key in eksctl_keys()[_METADATA]:
        near, fix = None, f"Write it under {_METADATA}."
    else:
        fix = f"Write {near}." if near else f"Remove it; allowed there: {', '.join(names)}."
    if near and near not in mapping(at(value, *path[:-1])) and key != "amiType":
        edits = (Edit("rename", path, near),)
    return Problem(
        UNKNOWN_KEY, source, path, f"eksctl has no key {dotted(path)}.", fix, edits=edits
    )


def _group(
    source: Source, path: FieldPath, group: Mapping[str, Any], kind: str, version: Any
) -> Iterator[Judgement]:
    if kind == MANAGED and "instanceType" in group and "instanceTypes" in group:
        message = f"{_called(group)} has both instanceType and instanceTypes."
        fix = "Keep instanceTypes."
        yield Problem(REFUSED, source, (*path, "instanceType"), message, fix)
    yield from size_rules(source, path, group)
    yield from _taints(source, (*path, "taints"), at(group, "taints"))
    for key, given in mapping(at(group, "labels")).items():
        if isinstance(given, bool | int | float):
            as_text = str(given).lower() if isinstance(given, bool) else str(given)
            place = (*path, "labels", key)
            yield Problem(
                REFUSED,
                source,
                place,
                f"The label {key} is no string.",
                f'Write "{as_text}", in quotes.',
                edits=(Edit("set", place, as_text),),
            )
    yield from _image(source, path, group, version)
    yield from _family(source, path, group, kind)
    yield from _own_image(source, path, group)
    yield from _own_boot(source, path, group)
    if kind == SELF_MANAGED:
        yield from _from_zero(source, path, group)


def size_rules(
    source: Source,
    path: FieldPath,
    group: Any,
    names: tuple[str, str, str] = ("minSize", "desiredCapacity", "maxSize"),
) -> Iterator[Judgement]:
    """Sizes of a node group that are none, or the first that contradicts another.

    One of three that is wrong contradicts both others: one mistake is said once.

    Args:
        source: Where the group stands.
        path: Where its sizes stand there.
        group: What has them.
        names: How the least, the wanted and the greatest are called.
    """
    low, middle, high = names
    least, wanted, most = (whole(at(group, key)) for key in names)
    negative = [
        (key, size)
        for key, size in zip(names, (least, wanted, most), strict=True)
        if isinstance(size, int) and size < 0
    ]
    if negative:
        for key, size in negative:
            message = f"{key} {size} is less than 0."
            yield Problem(REFUSED, source, (*path, key), message, "Write 0 or more.")
    elif isinstance(least, int) and isinstance(most, int) and least > most:
        message = f"{low} {least} is more than {high} {most}."
        yield Problem(REFUSED, source, (*path, low), message, f"Raise {high}.")
    elif isinstance(wanted, int) and isinstance(most, int) and wanted > most:
        message = f"{middle} {wanted} is more than {high} {most}."
        yield Problem(REFUSED, source, (*path, middle), message, f"Raise {high}.")
    elif isinstance(wanted, int) and isinstance(least, int) and wanted < least:
        message = f"{middle} {wanted} is less than {low} {least}."
        yield Problem(REFUSED, source, (*path, middle), message, f"Lower {low}.")


def _taints(source: Source, path: FieldPath, given: Any) -> Iterator[Judgement]:
    """Both spellings: a list of key, value and effect, and `KEY: "VALUE:EFFECT"`."""
    if isinstance(given, dict):
        for key, short in given.items():
            if not isinstance(short, str):
                continue
            value, _, effect = short.rpartition(":")
            if effect not in EFFECTS:
                place = (*path, key)
                fix = f'Write "{value}:{kubernetes_effect(effect) or "NoSchedule"}".'
                message = f"The taint {key} is {short!r}, which names no effect."
                yield Problem(REFUSED, source, place, message, fix)
        return
    for index, name in enumerate(items(given)):
        effect = at(name, "effect")
        place = (*path, index, "effect")
        if isinstance(effect, str) and effect not in EFFECTS:
            meant = kubernetes_effect(effect)
            yield Problem(
                REFUSED,
                source,
                place,
                f"{effect} is no effect of a taint; there are {', '.join(EFFECTS)}.",
                f"Write {meant or 'NoSchedule'}.",
                edits=(Edit("set", place, meant),) if meant else (),
            )
        elif effect is None and isinstance(name, dict):
            message = f"The taint {at(name, 'key')} has no effect."
            yield Problem(REFUSED, source, place[:-1], message, "Add effect: NoSchedule.")


def _called(group: Mapping[str, Any]) -> str:
    """How a sentence about a node group begins, which may be yet to be named."""
    name = at(group, "name")
    return "A node group" if name is UNKNOWN else f"The node group {name}"


def _image(
    source: Source, path: FieldPath, group: Mapping[str, Any], version: Any
) -> Iterator[Judgement]:
    own = at(group, "ami") is not None or at(group, "launchTemplate") is not None
    if at(group, "amiFamily") != "AmazonLinux2" or own or not _has_gpus(group):
        return
    numbers = str(version).split(".")
    known = len(numbers) > 1 and all(
        number.isascii() and number.isdecimal() for number in numbers[:2]
    )
    if known and tuple(int(number) for number in numbers[:2]) <= _LAST_AL2:
        return
    yield Problem(
        AMAZON_LINUX_2,
        source,
        (*path, "amiFamily"),
        f"{_called(group)} starts from Amazon Linux 2.",
        "Write AmazonLinux2023 or Bottlerocket.",
    )


def _family(
    source: Source, path: FieldPath, group: Mapping[str, Any], kind: str
) -> Iterator[Judgement]:
    family = at(group, "amiFamily")
    own = at(group, "ami") is not None or at(group, "launchTemplate") is not None
    if kind != MANAGED or not isinstance(family, str) or own or not _has_gpus(group):
        return
    if family.startswith(("Ubuntu", "Windows")):
        yield Problem(
            NO_DRIVER,
            source,
            (*path, "amiFamily"),
            f"{_called(group)} has types with GPUs and images of {family}, "
            "which have no NVIDIA driver.",
            "Write AmazonLinux2023 or Bottlerocket, or name an image of your own as ami.",
            # The operator, which may be installed from elsewhere, brings driver and runtime there.
            "warning" if family.startswith("Ubuntu") else None,
        )


def _own_image(source: Source, path: FieldPath, group: Mapping[str, Any]) -> Iterator[Judgement]:
    """Images of one's own, which eksctl takes with a family and a way to boot.

    `validateNodeGroupBase` in pkg/apis/eksctl.io/v1alpha5/validation.go of eksctl-io/eksctl,
    November 2026; AL2023 and Bottlerocket boot by what eksctl writes.
    """
    image, family = at(group, "ami"), at(group, "amiFamily")
    if not isinstance(image, str) or not image.startswith("ami-") or not _has_gpus(group):
        return
    called = f"{_called(group)} has an image of its own"
    if family is None:
        fix = "Write amiFamily, such as AmazonLinux2023."
        yield Problem(REFUSED, source, (*path, "ami"), f"{called} and no amiFamily.", fix)
    elif (
        str(family) != DEFAULT_FAMILY
        and str(family).startswith(_BOOTS_BY_SCRIPT)
        and _BOOT not in group
    ):
        fix = f"Write {_BOOT}, which joins a node to the cluster."
        message = f"{called} of {family}, and nothing tells its nodes how to join the cluster."
        yield Problem(REFUSED, source, (*path, "ami"), message, fix)


def _own_boot(source: Source, path: FieldPath, group: Mapping[str, Any]) -> Iterator[Judgement]:
    """A script in place of the NodeConfig that eksctl reads for Amazon Linux 2023.

    `UserData` in pkg/nodebootstrap/al2023.go of eksctl-io/eksctl, and
    https://docs.aws.amazon.com/eks/latest/eksctl/node-bootstrapping.html, November 2026.
    """
    given = at(group, _BOOT)
    if at(group, "amiFamily") != DEFAULT_FAMILY or not isinstance(given, str):
        return
    if _has_gpus(group) and "NodeConfig" not in given and _SCRIPT.search(given):
        yield Problem(
            REFUSED,
            source,
            (*path, _BOOT),
            f"{_called(group)} is of {DEFAULT_FAMILY}, without bootstrap.sh: "
            f"eksctl takes a NodeConfig as its {_BOOT}, and this is a script.",
            "Write a NodeConfig of node.eks.aws/v1alpha1, or leave it out: eksctl joins the nodes.",
        )


def _has_gpus(group: Mapping[str, Any]) -> bool:
    """Whether types of a group have GPUs; types that are not known may."""
    listed = at(group, "instanceTypes") or at(group, "instancesDistribution", "instanceTypes")
    named = items(listed) or [at(group, "instanceType")]
    return any(name in gpu_instance_types() for name in named if isinstance(name, str))


def _is_scaled(group: Mapping[str, Any]) -> bool:
    """Whether a group is one that Cluster Autoscaler looks for, or whose nodes may call it."""
    by_role = at(group, "iam", "withAddonPolicies", "autoScaler")
    return by_role not in (None, False) or any(
        "cluster-autoscaler" in str(key) for key in mapping(at(group, "tags"))
    )


def _from_zero(source: Source, path: FieldPath, group: Mapping[str, Any]) -> Iterator[Judgement]:
    tags = mapping(at(group, "tags"))
    tagged = any("node-template" in str(key) for key in tags)
    needs = [key for key in ("labels", "taints") if at(group, key)]
    if whole(at(group, "minSize")) != 0 or at(group, "propagateASGTags") in (True, UNKNOWN):
        return
    if whole(at(group, "desiredCapacity")) not in (None, 0, UNKNOWN) and not _is_scaled(group):
        return  # it starts with nodes, and nothing says that somebody takes them away
    for key in mapping(at(group, "labels")) if tagged else ():
        if f"{LABEL_TAGS}{key}" not in tags and ENABLED_TAG in tags:
            yield Problem(
                FROM_ZERO,
                source,
                (*path, "labels", key),
                f"{_called(group)} may be empty, and of its labels nothing tells "
                f"an autoscaler of {key}.",
                f"Add the tag {LABEL_TAGS}{key}, or propagateASGTags: true.",
            )
    if needs and not tagged:
        yield Problem(
            FROM_ZERO,
            source,
            (*path, "minSize"),
            f"{_called(group)} may be empty, and nothing tells an autoscaler of "
            f"its {' and '.join(needs)}.",
            "Add propagateASGTags: true.",
        )
