"""Rules about node groups that Terraform makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.values import at, holds
from eks_gpushare.lint.hcl.registry_user_data import OWN_IMAGE, POST, UNREAD_INPUTS
from eks_gpushare.manifests.plain import items, kubernetes_effect
from eks_gpushare.manifests.rules.eksctl import AMAZON_LINUX_2, size_rules
from eks_gpushare.manifests.rules.nodes import NOBODY_JOINS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

EKS_EFFECT = Rule(
    "GPU1081",
    "error",
    "Words of the EKS API are spelled as it has them: effects of taints, AMI types, ways to buy.",
    "Terraform and CloudFormation refuse another spelling.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html",
)
UNREAD = Rule(
    "GPU1265",
    "warning",
    "A node group of the EKS module is given what it reads: what of user data the template of its "
    "image takes, and volumes by block_device_mappings.",
    "The module leaves the rest out: labels, taints and commands for a script that the image lacks "
    "are on no node, disk_size beside a launch template leaves 20 GiB, and nothing says so.",
    "https://github.com/terraform-aws-modules/terraform-aws-eks/blob/master/docs/user_data.md",
)
NOT_TO_ITSELF = Rule(
    "GPU1400",
    "warning",
    "A security group of EFA interfaces lets in what comes from itself, and out what goes to it.",
    "What EFA sends has no address of IP, so that a rule for 0.0.0.0/0 is not for it: nodes reach "
    "each other by TCP, and NCCL fails or falls back to that.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html#efa-start-security",
)

_DISK: Final = "disk_size"
AMI_TYPES: Final = (
    *("AL2_x86_64", "AL2_x86_64_GPU", "AL2_ARM_64", "CUSTOM"),
    *("AL2023_x86_64_STANDARD", "AL2023_ARM_64_STANDARD", "AL2023_x86_64_NEURON"),
    *("AL2023_x86_64_NVIDIA", "AL2023_ARM_64_NVIDIA"),
    *("BOTTLEROCKET_x86_64", "BOTTLEROCKET_ARM_64"),
    *("BOTTLEROCKET_x86_64_FIPS", "BOTTLEROCKET_ARM_64_FIPS"),
    *("BOTTLEROCKET_x86_64_NVIDIA", "BOTTLEROCKET_ARM_64_NVIDIA"),
)
"""Those that nodes with GPUs may come to; https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html,
read in November 2026."""
_WAYS: Final = ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK")
_SIZES: Final = ("min_size", "desired_size", "max_size")
_OF_EKS: Final = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}


def node_group_rules(nodes: NodeSet, given: Any) -> Iterator[Judgement]:
    """What is wrong with the values of an `aws_eks_node_group`.

    Args:
        nodes: What they became.
        given: The values.
    """
    yield from ami_rules(nodes, ("ami_type",))
    yield from spelling_rules(nodes.source, given, ("ami_type", "capacity_type"))
    yield from taint_rules(nodes.source, given, ("taint", "effect"))
    size = at(given, _DISK)
    if isinstance(size, int | str) and disk_size(given) is None and has_gpus(nodes):
        yield Problem(
            UNREAD,
            nodes.source,
            (_DISK,),
            f"disk_size of {nodes.source.name} is {size}, and its volumes are those of a launch "
            "template.",
            "Give the size under block_device_mappings, or write use_custom_launch_template = "
            "false.",
        )
    if at(given, OWN_IMAGE) is not None and has_gpus(nodes):
        yield Problem(
            NOBODY_JOINS,
            nodes.source,
            (OWN_IMAGE,),
            f"{nodes.source.name} has {OWN_IMAGE}, and the module gives its nodes no user data: "
            "none of them joins the cluster.",
            "Write enable_bootstrap_user_data = true, or remove ami_id.",
        )
    place = ("scaling_config", 0)
    yield from size_rules(nodes.source, place, at(given, *place), _SIZES)


def disk_size(given: Any) -> Any:
    """The size of a group's volume, which a launch template takes the place of."""
    return None if items(at(given, "launch_template")) else at(given, _DISK)


def unread_rules(source: Source, given: Any) -> Iterator[Judgement]:
    """What the EKS module's group was given in vain.

    Args:
        source: The group.
        given: Its values; arguments are among them where nothing reads them.
    """
    for name in UNREAD_INPUTS:
        # Of a group that is not known whole, as where it is a template's, no argument is told.
        if not holds(given, name) or at(given, name) is None:
            continue
        message = f"{name} is in no user data of {source.name}: its image's template leaves it out."
        fix = "Write labels and taints of the group; else a part of cloudinit_pre_nodeadm."
        if name == POST:
            message = f"{name} of {source.name} is read where enable_bootstrap_user_data is true."
            fix = "Write the part in cloudinit_pre_nodeadm."
        yield Problem(UNREAD, source, (name,), message, fix)


def ami_rules(nodes: NodeSet, place: FieldPath) -> Iterator[Judgement]:
    """Whether an AMI type is of an Amazon Linux that EKS still has.

    Args:
        nodes: The group.
        place: Where its AMI type stands.
    """
    ami, types = nodes.ami, nodes.instance_types
    known = gpu_instance_types()
    gpus = (
        [instance_type for instance_type in types if instance_type in known]
        if isinstance(types, tuple)
        else []
    )
    if isinstance(ami, str) and ami.startswith("AL2_") and gpus:
        message = f"{ami} is an image of Amazon Linux 2."
        fix = "Write AL2023_x86_64_NVIDIA."
        yield Problem(AMAZON_LINUX_2, nodes.source, place, message, fix)


def spelling_rules(source: Source, given: Any, words: tuple[str, str]) -> Iterator[Judgement]:
    """Words of the API in other letters; what it may have got since is not judged.

    Args:
        source: The group.
        given: Its values.
        words: How the AMI type and the way to buy are called there.
    """
    for key, known in zip(words, (AMI_TYPES, _WAYS), strict=True):
        value = at(given, key)
        meant = _in_capitals(known).get(_plain(value)) if isinstance(value, str) else None
        if meant is not None and meant != value:
            message = f"{value} of {source.name} is no word of EKS; it is spelled {meant}."
            yield Problem(EKS_EFFECT, source, (key,), message, f"Write {meant}.")
    image = at(given, words[0])
    if isinstance(image, str) and image.startswith("ami-"):
        message = f"{image} of {source.name} is an image, and no type of images that EKS knows."
        fix = "Write CUSTOM with a launch template that names the image, or a type of EKS."
        yield Problem(EKS_EFFECT, source, (words[0],), message, fix)


def _in_capitals(words: tuple[str, ...]) -> dict[str, str]:
    return {_plain(word): word for word in words}


def _plain(word: str) -> str:
    return word.upper().replace("-", "").replace("_", "")


def taint_rules(source: Source, given: Any, words: tuple[str, str]) -> Iterator[Judgement]:
    """What is wrong with the taints of a node group of EKS.

    Args:
        source: The group.
        given: Its values.
        words: How taints and their effects are called there.
    """
    taints, key = words
    for index, taint in enumerate(items(at(given, taints))):
        effect = at(taint, key)
        if isinstance(effect, str) and effect not in _OF_EKS.values():
            meant = _OF_EKS.get(kubernetes_effect(effect) or "NoSchedule")
            yield Problem(
                EKS_EFFECT,
                source,
                (taints, index, key),
                f"{effect} is no effect; there are {', '.join(_OF_EKS.values())}.",
                f"Write {meant}.",
            )
