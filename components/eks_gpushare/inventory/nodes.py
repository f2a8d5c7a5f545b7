"""Nodes with GPUs among those of an inventory, and what labels they have."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import Catalog
from eks_gpushare.inventory.bottlerocket import own_plugin
from eks_gpushare.inventory.feature_labels import labels_of_rules
from eks_gpushare.inventory.items import OTHER_NODES, NodeSet, Pointer, Workload
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.type_labels import AUTO_MODE, KARPENTER, facts_of
from eks_gpushare.inventory.values import PartlyKnown, items, text
from eks_gpushare.sharing.labels import OPERANDS_LABEL, OWNED_PREFIXES, PRESENT_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.source import Maybe

CATALOG = Catalog()
"""The facts that come with the package."""

NVIDIA = "nvidia.com/"
"""What NVIDIA's labels, taints and resources begin with."""
# EC2's families with NVIDIA GPUs, for types that are newer than the catalog; g4ad has AMD's.
_FAMILY = re.compile(r"(p[0-9]|g[0-9])(?!ad)[a-z0-9-]*\.[a-z0-9-]+")
_FEATURES = ("feature.node.kubernetes.io/", NVIDIA)
_KNOWN = {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}
_BY_TYPE = {"karpenter": KARPENTER, "autoMode": AUTO_MODE}
"""What begins the labels by which these tell of a node's type."""
COMPUTE_TYPE = "eks.amazonaws.com/compute-type"
_OF_KARPENTER = ("karpenter.sh/", "karpenter.k8s.aws/")
_NOT_ITS = {"managed": _OF_KARPENTER, "autoMode": _OF_KARPENTER[1:]}
"""Auto Mode has its own for the latter:
https://docs.aws.amazon.com/eks/latest/userguide/associate-workload.html"""
TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_ARCH_LABELS = ("kubernetes.io/arch", "beta.kubernetes.io/arch")
_LABELLED_SINCE, _LABELLED_ON = 35, 20260203
_OF_AL2023 = re.compile("AL2023_|AmazonLinux2023|al2023@v?([0-9]{8})")
_MAY_BE_AL2023 = re.compile("al2023@|AL2023_|AmazonLinux2023|AL2023$|ami-|$")
"""Images of AL2023, such by ID too, and what is taken where nobody names one."""
_BOUGHT = "eks.amazonaws.com/capacityType"
"""https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html, read 2026-11-29."""
_WAYS = {"onDemand": "ON_DEMAND", "spot": "SPOT"}
OF_CONTROL_PLANES = (
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
)
_OF_HYPERPOD = frozenset(("HyperPodPyTorchJob", "InferenceEndpointConfig", "JumpStartModel"))
"""Kinds of SageMaker HyperPod, which gives a cluster nodes of its own:
https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks.html."""
_OF_OTHERS = (
    *(
        "kubernetes.io/",
        "beta.kubernetes.io/",
        "node.kubernetes.io/",
        "k8s.io/",
        "k8s.amazonaws.com/",
    ),
    *("topology.kubernetes.io/", "failure-domain.beta.kubernetes.io/", "topology.k8s.aws/"),
    *("karpenter.sh/", "karpenter.k8s.aws/", "eks.amazonaws.com/", "alpha.eksctl.io/"),
    *("topology.ebs.csi.aws.com/", "vpc.amazonaws.com/", "sagemaker.amazonaws.com/"),
    "node-role.kubernetes.io/",
)
"""Labels that EKS, its cloud controller, Karpenter or eksctl set; nothing here says to what."""


_OF_AL2 = "AL2_"
"""Types of images whose nodes of managed groups get labels from EKS alone, which runs bootstrap.sh
behind the user data. To user data of others it adds its own:
https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-user-data."""


@dataclass(frozen=True, slots=True)
class NodeKind:
    """Nodes of one declaration and of one instance type."""

    nodes: NodeSet
    type: InstanceType | None
    """None where it is not known which."""
    by_hand: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Values of labels that somebody, or a rule of NFD's, gives to nodes which may be these."""
    discovered: Mapping[str, Maybe[str | None]] = field(default_factory=dict)
    """What feature discovery is known to write."""
    known_labels: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    """Labels of which it is known that nodes have them; none where their labels are not known."""

    def __post_init__(self) -> None:
        """Put the labels together once: thousands of pods may ask for them."""
        own = self.nodes.labels
        known = {} if own is UNKNOWN else {**_KNOWN, **self._of_type, **self.discovered, **own}
        object.__setattr__(self, "known_labels", known)

    @property
    def is_partial(self) -> bool:
        """Whether only a label or so is known of these nodes, which somebody gave them by hand."""
        return self.nodes.provisioner == "byHand" and not self.nodes.instance_types

    @property
    def serves_itself(self) -> bool:
        """Whether its operating system brings a device plugin, so that the charts' is not for it.

        Bottlerocket's NVIDIA variants and EKS Auto Mode have one.
        """
        return self.nodes.provisioner == "autoMode" or own_plugin(self.nodes)

    def label(self, key: str) -> Maybe[str | None]:
        """The value of a label, None where the nodes have none."""
        known = self.known_labels
        if key in known:
            return UNKNOWN if known[key] is UNKNOWN else str(text(known[key]))
        return self.label_of_others(key)

    def label_of_others(self, key: str) -> Maybe[str | None]:
        """The value of a label that is none of the known ones: whether others may set it."""
        if self.has_more_labels:
            return UNKNOWN
        if self.nodes.provisioner == "byHand" and not self.is_partial:
            return None  # a node as it is, with all that it has
        if key.startswith(_NOT_ITS.get(self.nodes.provisioner, ())):
            return None  # Karpenter labels the nodes that it makes, and no others
        if key in OF_CONTROL_PLANES and self.nodes.provisioner != "byHand":
            return None  # EKS has its control plane elsewhere, and kubelets may not set these
        by_others = key.startswith((*OWNED_PREFIXES, *_OF_OTHERS))
        by_others = by_others or (self.is_labelled_by_boot and not key.startswith(_FEATURES))
        return UNKNOWN if self.is_partial or key in self.by_hand or by_others else None

    @property
    def has_more_labels(self) -> bool:
        """Whether not all of its declaration's labels are known."""
        return self.nodes.labels is UNKNOWN or isinstance(self.nodes.labels, PartlyKnown)

    @property
    def is_labelled_by_boot(self) -> bool:
        """Whether user data that is not known may give its nodes labels."""
        of_managed = self.nodes.provisioner == "managed" and not str(self.nodes.ami).startswith(
            _OF_AL2
        )
        return self.nodes.user_data is UNKNOWN and (
            self.nodes.provisioner == "selfManaged" or of_managed
        )

    def label_once_found(self, key: str) -> Maybe[str | None]:
        """The same once feature discovery has been there: it finds a GPU of NVIDIA."""
        found = self.label(key)
        if found is not UNKNOWN or not self.is_discovered(key):
            return found
        usual = key.endswith(".present") or key.startswith("nvidia.com/gpu.deploy.")
        return "true" if usual else UNKNOWN

    def is_discovered(self, key: str) -> bool:
        """Whether a label is one that NFD, GPU feature discovery or the operator may write here."""
        own = {} if self.nodes.labels is UNKNOWN else self.nodes.labels
        by_others = key in own or key in self.by_hand or self.nodes.labels is UNKNOWN
        return key.startswith(_FEATURES) and not by_others

    @property
    def _of_type(self) -> dict[str, Any]:
        """Labels that say of what type a node is, and who made it."""
        found: dict[str, Any] = {}
        if self.type is not None:
            found |= dict.fromkeys(TYPE_LABELS, self.type.name)
            found |= dict.fromkeys(_ARCH_LABELS, self.type.arch)
        if self.nodes.provisioner == "managed" and len(ways := items(self.nodes.bought_as)) == 1:
            found |= {_BOUGHT: _WAYS[ways[0]]} if ways[0] in _WAYS else {}
        if self.type is not None and labels_itself(self.nodes):
            found[PRESENT_LABEL] = "true"
        prefix = _BY_TYPE.get(self.nodes.provisioner)
        if prefix is not None:
            found["karpenter.sh/nodepool"] = self.nodes.name
            if prefix == AUTO_MODE:
                found[COMPUTE_TYPE] = "auto"
            facts = {} if self.type is None else facts_of(self.type)
            found |= {f"{prefix}{key}": value for key, value in facts.items() if value}
        return found


def labels_itself(nodes: NodeSet) -> bool | None:
    """Whether nodeadm gives nodes with GPUs the label of such: of Kubernetes 1.35 and later.

    Source: nodeadm/doc/api-concepts.md of awslabs/amazon-eks-ami (pull request 2607, merged on
    2026-02-03).
    """
    found = _OF_AL2023.match(nodes.ami) if isinstance(nodes.ami, str) else None
    if found is None:
        return None
    if found[1] and int(found[1]) < _LABELLED_ON:
        return False
    return _is_labelled_since(nodes)


def _is_labelled_since(nodes: NodeSet) -> bool | None:
    """Whether Kubernetes is of such a version; None where it is not known."""
    version = re.fullmatch(r"1\.([0-9]+)", str(nodes.kubernetes))
    return None if version is None else int(version[1]) >= _LABELLED_SINCE


def may_label_itself(nodes: NodeSet) -> bool:
    """Whether it may, as far as image and version of Kubernetes are known."""
    told = labels_itself(nodes)
    of_release = str(nodes.ami).partition("@")[2].strip("v")
    is_day = re.fullmatch("[0-9]{8}", of_release) is not None
    if told is not None or (is_day and int(of_release) < _LABELLED_ON):
        return bool(told)
    may_be_new = _is_labelled_since(nodes) is not False
    return may_be_new and nodes.ami is not UNKNOWN and bool(_MAY_BE_AL2023.match(nodes.ami))


def declared_nodes(inventory: Inventory, cluster: str) -> list[NodeKind]:
    """One kind of each declaration of nodes."""
    found: dict[int, NodeKind] = {}
    for kind in gpu_nodes(inventory, cluster):
        if not kind.is_partial:
            found.setdefault(id(kind.nodes), kind)
    return list(found.values())


def without_operands(nodes: NodeSet) -> bool | None:
    """Whether a label keeps what the GPU Operator installs away; None where it is not known."""
    given = UNKNOWN if nodes.labels is UNKNOWN else text(nodes.labels.get(OPERANDS_LABEL))
    return None if given is UNKNOWN else bool(given == "false")


@kept
def gpu_nodes(inventory: Inventory, cluster: str) -> tuple[NodeKind, ...]:
    """The nodes of a cluster that have GPUs of NVIDIA, by declaration and instance type."""
    declared = inventory.of(NodeSet, cluster)
    by_rules = dict.fromkeys(labels_of_rules(inventory, cluster), frozenset[str]())
    by_hand = by_rules | _by_hand(declared)
    return tuple(
        NodeKind(nodes, found, by_hand) for nodes in declared for found in _gpu_types(nodes)
    )


def has_gpus(nodes: NodeSet) -> bool:
    """Whether some of its nodes have GPUs of NVIDIA, by their types, or by signs without them."""
    return bool(_gpu_types(nodes))


def may_be_others(inventory: Inventory) -> bool:
    """Whether a cluster may have nodes that are not there now, not in AWS, or of SageMaker."""
    return any(each.kind == OTHER_NODES for each in inventory.of(Pointer)) or any(
        each.kind in _OF_HYPERPOD for each in inventory.of(Workload)
    )


def unseen_nodes(inventory: Inventory, cluster: str) -> list[NodeKind]:
    """The nodes of a cluster of which nothing tells whether they have GPUs."""
    return [
        NodeKind(nodes, None)
        for nodes in inventory.of(NodeSet, cluster)
        if (nodes.instance_types is UNKNOWN or nodes.leaves_gpus) and not has_gpus(nodes)
    ]


def _by_hand(declared: Iterable[NodeSet]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for nodes in declared:
        is_partial = nodes.provisioner == "byHand" and not nodes.instance_types
        if is_partial and nodes.labels is not UNKNOWN:
            for key, value in nodes.labels.items():
                found[key] = found.get(key, frozenset()) | {str(text(value))}
    return found


def _gpu_types(nodes: NodeSet) -> tuple[InstanceType | None, ...]:
    """The types with GPUs, or one None where only signs tell that there are any."""
    if nodes.instance_types is UNKNOWN or not nodes.instance_types:
        return (None,) if _has_signs(nodes) else ()
    known = [(name, CATALOG.find(str(name))) for name in nodes.instance_types]
    found: list[InstanceType | None] = [
        instance_type
        for _, instance_type in known
        if instance_type is not None and instance_type.gpu_count
    ]
    if any(instance_type is None and _FAMILY.match(str(name)) for name, instance_type in known):
        found.append(None)
    return tuple(found)


def _has_signs(nodes: NodeSet) -> bool:
    """Whether somebody who says no type has written what is meant for GPUs."""
    labels = {} if nodes.labels is UNKNOWN else nodes.labels
    taints = () if nodes.taints is UNKNOWN else nodes.taints
    promised = {} if nodes.promised is UNKNOWN else nodes.promised
    ami = "" if nodes.ami is UNKNOWN else nodes.ami.lower()
    keys = [*labels, *(taint.key for taint in taints), *promised]
    off = text(labels.get("nvidia.com/gpu.present")) == "false"
    return not off and (any(str(key).startswith(NVIDIA) for key in keys) or "nvidia" in ami)
