"""The arguments of nodes that several blocks have."""

# No postponed annotations, unions, literals or tuples here: the component host reads these types.

from typing import Any, NotRequired, TypedDict

from pulumi import Input


class Taint(TypedDict):
    """A taint of the nodes of a pool."""

    key: str
    """Label-like key, for example `nvidia.com/gpu`."""
    value: NotRequired[str]
    """Value. Default: empty."""
    effect: str
    """NoSchedule, PreferNoSchedule or NoExecute."""


class Nodes(TypedDict):
    """How many nodes a pool may have."""

    min: NotRequired[int]
    """Fewest nodes. Default: 0."""
    desired: NotRequired[int]
    """Nodes at the start. Default: `min`, but at least 1 if `max` allows it."""
    max: NotRequired[int]
    """Most nodes. Default: `desired`."""


class UserDataPart(TypedDict):
    """A further part of the user data of nodes."""

    content_type: str
    """Such as text/x-shellscript, text/cloud-config or application/node.eks.aws."""
    content: str
    """The part itself."""


class NodeSettings(TypedDict):
    """What is changed about nodes of any kind."""

    node_role: NotRequired[Input[str]]
    """IAM role of the nodes by ARN, with all policies that they need. Default: one is made."""
    user_data: NotRequired[list[UserDataPart]]
    """Further parts of the nodes' user data. Default: none."""
    kubelet: NotRequired[dict[str, Any]]
    """Fields of `KubeletConfiguration`, such as `maxPods`. Default: those of the AMI."""
    max_unavailable: NotRequired[Any]
    """How many nodes are exchanged at a time, or how many in a hundred: `"33%"`. Default: 1."""


class SystemSettings(NodeSettings):
    """What nodes without GPUs are, wherever they join a cluster."""

    instance_types: NotRequired[list[str]]
    """EC2 instance types. Default: t3.large."""
    nodes: NotRequired[Nodes]
    """How many nodes. Default: 2, at most 4."""
    ami_version: NotRequired[str]
    """EKS AMI release version. Default: the newest at creation."""
    root_volume_gib: NotRequired[int]
    """Size of the encrypted gp3 root volume in GiB. Default: 50."""


class SystemBlock(SystemSettings):
    """Nodes without GPUs."""

    zones: NotRequired[list[str]]
    """Availability zones. Default: the network's; pinned, a new zone replaces no nodes."""
