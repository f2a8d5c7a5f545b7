"""Rules about nodes, whichever format declares them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.ami_names import ami_type_of
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.nodes import CATALOG, has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.plain import mapping
from eks_gpushare.manifests.rules.karpenter_pools import INPUT_LABELS
from eks_gpushare.sharing.labels import OWNED_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe, Source

OWNED_LABEL = Rule(
    "GPU1077",
    "warning",
    "A label that feature discovery writes is not set by others.",
    "GPU feature discovery or NFD overwrites it once it runs, with a value of its own: pods that "
    "select the given one no longer match.",
    "https://github.com/NVIDIA/k8s-device-plugin/tree/main/docs/gpu-feature-discovery",
)
REFUSED_LABEL: Final = Rule(
    "GPU1396",
    "error",
    "A node group has labels that its kubelets may give their nodes.",
    "A kubelet that is to set another label of Kubernetes, such as node-role.kubernetes.io/gpu, "
    "does not start: no node joins the cluster.",
    "https://github.com/aws/containers-roadmap/issues/2465",
)
NOBODY_JOINS: Final = Rule(
    "GPU1392",
    "error",
    "Nodes of an image of one's own are told how to join the cluster.",
    "EKS and Karpenter tell it to nodes of their own images alone: of others that boot without "
    "user data none joins the cluster, and the group fails with NodeCreationFailure.",
    "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-custom-ami",
)
_OLD_SCRIPT: Final = re.compile(r"^[^#\n]*/etc/eks/bootstrap\.sh", re.MULTILINE)
"""A line that runs it."""
_PREFIX: Final = "nvidia.com/gpu."
_MAKERS: Final = ("NVIDIA", "Tesla")
"""How names of products begin, before the model: `NVIDIA-A10G`, `Tesla-T4`."""
RETIRED_TYPE = rule_of("GPU1069")


def owned_labels(
    source: Source, labels: Any, path: FieldPath, types: Maybe[tuple[str, ...]] = ()
) -> Iterator[Judgement]:
    """Labels among those of nodes that are feature discovery's own.

    Args:
        source: The nodes.
        labels: Their labels.
        path: Where these stand below the source.
        types: Instance types that the nodes may be of.
    """
    for key, value in mapping(labels).items():
        if _will_be(key, value, types):
            continue  # which tells an autoscaler of a group without nodes what these will have
        if key.startswith(OWNED_PREFIXES) and not key.startswith(INPUT_LABELS):
            yield Problem(
                OWNED_LABEL,
                source,
                (*path, key),
                f"{key} is written by feature discovery, which takes it over.",
                "Use a key of your own, or select by the value that discovery writes.",
            )


def not_joined(
    nodes: NodeSet, image: Maybe[str], user_data: Maybe[str], *, looked_up: bool = False
) -> Iterator[Judgement]:
    """A managed node group with GPUs whose launch template has an image and no user data.

    Args:
        nodes: The group.
        image: What its launch template starts from.
        user_data: What that boots with, decoded.
        looked_up: Whether an image that is not known is surely one.
    """
    is_own = looked_up if image is UNKNOWN else image.startswith("ami-")
    if is_own:
        yield from by_old_script(nodes, user_data)
    if is_own and user_data == "" and has_gpus(nodes):
        yield Problem(
            NOBODY_JOINS,
            nodes.source,
            (),
            f"{at_start(nodes.source.name)} starts from an image of its own, and its launch "
            "template has no user data: no node joins the cluster.",
            "Write user data that does: a NodeConfig for Amazon Linux 2023. Or name no image, and "
            "take EKS's by its AMI type.",
        )


def by_old_script(nodes: NodeSet, user_data: Maybe[str]) -> Iterator[Judgement]:
    """Nodes with GPUs of an AL2023 image of EKS that are to join by what Amazon Linux 2 had.

    Args:
        nodes: The group, whose image is its own or that of its Auto Scaling group.
        user_data: What that boots with, decoded.
    """
    kind = "" if nodes.ami is UNKNOWN else ami_type_of(nodes.ami) or nodes.ami
    if user_data is UNKNOWN or "NodeConfig" in user_data or not kind.startswith("AL2023_"):
        return
    if _OLD_SCRIPT.search(user_data) and has_gpus(nodes):
        yield Problem(
            NOBODY_JOINS,
            nodes.source,
            (),
            f"{at_start(nodes.source.name)} starts from {kind}, and its user data runs "
            "/etc/eks/bootstrap.sh, which Amazon Linux 2023 does not have: no node joins the "
            "cluster.",
            "Write a NodeConfig of node.eks.aws/v1alpha1 with the cluster's name, endpoint, "
            "certificate authority and CIDR in its place.",
        )


def _will_be(key: str, value: Any, types: Maybe[tuple[str, ...]]) -> bool:
    """Whether a label is what feature discovery gives each node of some types."""
    found = [] if types is UNKNOWN else [CATALOG.find(str(name)) for name in types]
    known = [each for each in found if each is not None and each.gpu is not None]
    if not known or len(known) < len(found):
        return False
    if key == f"{_PREFIX}count":
        return {str(each.gpu_count) for each in known} == {str(value)}
    maker, _, rest = str(value).partition("-")
    models = {each.gpu.model for each in known if each.gpu is not None}
    ours = key == f"{_PREFIX}product" and maker in _MAKERS
    return ours and models == {rest.partition("-")[0]}
