"""What EC2 is told about machines to start: launch templates, and all that says the same elsewhere.

Instances, Spot requests and launch configurations name the same things differently: rules read them
here, and say what they find in the words of the resource.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.inventory.scaling_groups import makes_nodes
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import decoded
from gpushare_policies.gpus import is_gpu_type
from gpushare_policies.props import each, given, is_true, peek, read
from gpushare_policies.tokens import (
    INSTANCE,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    SPOT_FLEET,
    SPOT_INSTANCE,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pulumi_policy import PolicyResource, ResourceValidationArgs

    from gpushare_policies.checks import Check

KINDS: Mapping[str, str] = {
    LAUNCH_TEMPLATE: "launch template",
    INSTANCE: "instance",
    SPOT_INSTANCE: "Spot request",
    LAUNCH_CONFIGURATION: "launch configuration",
    SPOT_FLEET: "Spot fleet",
}
"""Type token to what messages call it."""

# Roots are /dev/xvda, /dev/sda1 or /dev/sda by the image; a letter from b on is another disk.
_DATA_DEVICE = re.compile(r"(/dev/)?(sd|xvd)[b-z][a-z]?[0-9]*")


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume that a machine is started with."""

    name: str
    """Its device, or what the resource calls it."""
    ebs: Any
    """What EBS is told of it: `encrypted`, `volumeSize`, `volumeType`."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What one resource, or one part of it, tells EC2."""

    token: str
    """Type token of the resource."""
    name: str
    """Its name."""
    props: Any
    """Its properties, or those of the part."""

    @property
    def kind(self) -> str:
        """What messages call the resource."""
        return KINDS[self.token]

    @property
    def called(self) -> str:
        """How a message names it."""
        return f"The {self.kind} {self.name}"

    @property
    def whose(self) -> str:
        """Whose volumes a message speaks of: an instance may be no node of a cluster."""
        return "the nodes'" if self.is_of_nodes else "its"

    @property
    def is_of_nodes(self) -> bool:
        """Whether its machines may be nodes of Kubernetes; a server, or one of ECS, is none."""
        return is_node(self.props) if self.token == INSTANCE else not _is_of_ecs(self.props)

    def inherits(self) -> bool:
        """Whether a launch template says what this leaves open, and is judged for it."""
        return self.token != LAUNCH_TEMPLATE and given(self.props, "launchTemplate")

    def volumes(self) -> Iterator[Volume]:
        """The volumes it speaks of; instance stores and devices taken away are none."""
        if self.token == LAUNCH_TEMPLATE:
            for mapping in each(read(self.props, "blockDeviceMappings")):
                if given(mapping, "ebs"):
                    yield Volume(str(read(mapping, "deviceName") or "unset"), read(mapping, "ebs"))
            return
        for key in ("rootBlockDevice", "rootBlockDevices"):
            for ebs in each(read(self.props, key)):
                yield Volume("rootBlockDevice", ebs)
        for ebs in each(read(self.props, "ebsBlockDevices")):
            yield Volume(str(read(ebs, "deviceName") or "unset"), ebs)

    def root_is_mapped(self) -> bool:
        """Whether one of the volumes is the root, as far as a device's name tells."""
        return any(not _DATA_DEVICE.fullmatch(volume.name) for volume in self.volumes())

    def gives_public_address(self) -> bool:
        """Whether its machines get a public address whatever their subnet says."""
        if self.token != LAUNCH_TEMPLATE:
            return is_true(read(self.props, "associatePublicIpAddress"))
        return any(
            is_true(read(interface, "associatePublicIpAddress"))
            for interface in each(read(self.props, "networkInterfaces"))
        )

    def image(self) -> str | None:
        """The image it names, None if it leaves that to others."""
        key = "imageId" if self.token in (LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION) else "ami"
        return str(read(self.props, key) or "") or None


def launch_of(resource: ResourceValidationArgs | PolicyResource) -> Iterator[Launch]:
    """What a resource tells EC2; a Spot fleet tells several things."""
    if resource.resource_type != SPOT_FLEET:
        yield Launch(resource.resource_type, resource.name, resource.props)
        return
    for specification in each(read(resource.props, "launchSpecifications")):
        yield Launch(SPOT_FLEET, resource.name, specification)


_JOINS = (
    *("nodeadm", "bootstrap.sh", "node.eks.aws", "settings.kubernetes", "kubelet"),
    *("kubeadm join", "get.k3s.io", "get.rke2.io"),
)
_OF_EKS = ("/aws/service/eks/", "/aws/service/bottlerocket/", "amazon-eks-")
"""In what names an image of nodes: a parameter of Systems Manager, or the image's own name."""


def is_node(props: Any) -> bool:
    """Whether an instance by itself is a node: it joins a cluster, or has a GPU as nodes have.

    What is not known counts: most user data names the cluster that is made beside it.
    """
    return are_of_cluster(read(props, "tags") or ()) or may_join(props)


def are_of_cluster(keys: Iterable[Any]) -> bool:
    """Whether the keys of tags say that machines are nodes of a cluster."""
    return makes_nodes((str(key), None) for key in keys)


def may_join(props: Any) -> bool:
    """Whether machines have a GPU, an image of EKS, or user data that joins or is not known."""
    image = str(peek(props, "imageId") or peek(props, "ami") or "")
    if is_gpu_type(peek(props, "instanceType")) or any(word in image for word in _OF_EKS):
        return True
    data = user_data(props)
    return data is None or any(word in data for word in _JOINS)


def user_data(props: Any) -> str | None:
    """User data as it stands and decoded, which templates need; None where it is not known."""
    told = ""
    try:
        for text in filter(None, (read(props, "userData"), read(props, "userDataBase64"))):
            plain = decoded(text)
            if plain is UNKNOWN:
                return None
            told += f"{text}{plain}"
    except UnknownValueError:
        return None
    return told


def _is_of_ecs(props: Any) -> bool:
    """Whether machines join a cluster of ECS, as their user data says, and none of Kubernetes."""
    data = user_data(props) or ""
    return "ECS_CLUSTER" in data and not any(word in data for word in _JOINS)


def on_launches(check: Check) -> dict[str, Check]:
    """A check for everything that starts machines."""
    return dict.fromkeys(KINDS, check)
