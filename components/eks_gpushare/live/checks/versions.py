"""Whether kubelets go with the API server, and nodes are of the images that their pools declare."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.catalog.kubelet import OLDEST_KUBELET
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.inventory.values import at
from eks_gpushare.live import rules
from eks_gpushare.live.faults import ClusterFault, Link, NodeFault, folded
from eks_gpushare.live.nodes import GROUP_LABEL, NODEPOOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.sharing.plan import PoolPlan

_IMAGE_LABEL: Final = "eks.amazonaws.com/nodegroup-image"
_VERSION: Final = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?![0-9])")
_BOTTLEROCKET: Final = re.compile(r"Bottlerocket OS ([0-9]+\.[0-9]+\.[0-9]+)")
_SYSTEMS: Final = {
    "al2023": "Amazon Linux 2023",
    "al2": "Amazon Linux 2",
    "bottlerocket": "Bottlerocket OS",
}
"""How images of families call themselves; each has a plugin, user data and a MIG set-up of its own.

The first that fits counts."""
_IMAGE: Final = re.compile(r"ami-[0-9a-f]+")
_REPLACE: Final = "Update the node group, which replaces its nodes: pulumi up."


class Version(NamedTuple):
    """A version of Kubernetes."""

    major: int
    minor: int
    patch: int | None = None

    @property
    def of_both(self) -> tuple[int, int]:
        """Major and minor."""
        return self.major, self.minor

    def __str__(self) -> str:
        return ".".join(str(part) for part in self if part is not None)


def version_of(given: object) -> Version | None:
    """The version that a text begins with, such as `v1.35.8-eks-1a2b3c`; None if with none."""
    found = _VERSION.match(given) if isinstance(given, str) else None
    if found is None:
        return None
    return Version(int(found[1]), int(found[2]), int(found[3]) if found[3] else None)


def version_faults(
    objects: ClusterObjects, stack: Stack | None, nodes: Sequence[LiveNode]
) -> Iterator[ClusterFault]:
    """Kubelets that the API server does not support or that are behind, and other images.

    Args:
        objects: The cluster.
        stack: What it should be; None where nothing says.
        nodes: Its nodes with GPUs.
    """
    plans = stack.plans if stack is not None else {}
    server, declared = version_of(objects.version), _of_stack(stack)
    if server is not None and declared is not None and declared.of_both != server.of_both:
        yield _of_control_plane(server, declared)
    images = _newest_images(nodes)
    found = (
        _of_kubelet(node, server, declared, plans.get(node.pool))
        or _of_image(objects, node, plans.get(node.pool), images)
        for node in nodes
        if not node.is_leaving
    )
    # It explains nothing else, and nothing explains it: pods run there as on any other node.
    yield from (replace(fault, is_cause_only=True) for fault in folded(filter(None, found)))


def _of_stack(stack: Stack | None) -> Version | None:
    environment = stack.environment if stack is not None else None
    cluster = environment.cluster if environment is not None else None
    return version_of(cluster.version) if isinstance(cluster, NewCluster) else None


def _of_control_plane(server: Version, declared: Version) -> ClusterFault:
    finding = rules.VERSION_DIFFERS.finding(
        ("cluster", "version"),
        f"The API server is {server}, and the stack declares {declared}.",
        "Run pulumi up, or declare the version that there is: no control plane goes back.",
        "warning",
    )
    return ClusterFault(finding, Link.PODS, evidence=("/version",), is_cause_only=True)


def _of_kubelet(
    node: LiveNode, server: Version | None, declared: Version | None, plan: PoolPlan | None
) -> NodeFault | None:
    given = str(at(node.object, "status", "nodeInfo", "kubeletVersion") or "")
    kubelet = version_of(given)
    if kubelet is None:
        return None
    evidence = f"status.nodeInfo.kubeletVersion {given}"
    if server is not None and kubelet.of_both > server.of_both:
        what = f"its kubelet is {kubelet}, newer than the API server, which is {server}."
        fix = "Upgrade the control plane first, or give the pool an image for its version."
        return _fault(node, what, fix, evidence, "error")
    if server is not None and server.minor - kubelet.minor > OLDEST_KUBELET:
        what = (
            f"its kubelet is {kubelet}, {server.minor - kubelet.minor} minor versions behind the "
            f"API server, which is {server}; {OLDEST_KUBELET} are supported."
        )
        return _fault(node, what, _how(node), evidence, "error")
    release = _release(plan)
    if release is not None:
        parts = 2 if release.patch is None else 3
        same = kubelet[:parts] == release[:parts]
        told = f"its pool declares an image with {release}"
    else:
        least = server or declared
        same = least is None or kubelet.of_both >= least.of_both
        told = f"the API server is {server}" if server else f"the stack declares {declared}"
    what = f"its kubelet is {kubelet}, and {told}."
    return None if same else _fault(node, what, _how(node), evidence)


def _release(plan: PoolPlan | None) -> Version | None:
    """The kubelet of the AL2023 release that a pool declares, whose version begins with it."""
    if plan is None or plan.pool.ami_family != "al2023":
        return None
    return version_of(plan.pool.ami_version)


def _newest_images(nodes: Sequence[LiveNode]) -> Mapping[str, str]:
    """The image of the youngest node of each managed node group, by the group's name.

    A group gives one image to all the nodes that it starts.
    """
    images: dict[str, str] = {}
    for node in sorted(
        nodes, key=lambda each: str(at(each.object, "metadata", "creationTimestamp") or "")
    ):
        group, image = node.labels.get(GROUP_LABEL), node.labels.get(_IMAGE_LABEL)
        if group and image:
            images[group] = image
    return images


def _of_image(
    objects: ClusterObjects, node: LiveNode, plan: PoolPlan | None, newest: Mapping[str, str]
) -> NodeFault | None:
    system = str(at(node.object, "status", "nodeInfo", "osImage") or "")
    family = _family_declared(plan)
    runs = next((one for one, start in _SYSTEMS.items() if system.startswith(start)), family)
    if family in _SYSTEMS and runs != family:
        what = f"it runs {system}, and its pool declares {family}."
        return _fault(node, what, _how(node), f"status.nodeInfo.osImage {system}", "error")
    if plan is not None and plan.pool.ami_family == "bottlerocket":
        found, declared = _BOTTLEROCKET.match(system), str(plan.pool.ami_version or "")
        if found and declared and found[1] != declared.partition("-")[0]:
            what = f"it runs Bottlerocket {found[1]}, and its pool declares {declared}."
            return _fault(node, what, _how(node), f"status.nodeInfo.osImage {system}")
    image = node.labels.get(_IMAGE_LABEL) or _image_of_claim(objects, node)
    custom = plan.pool.custom_ami if plan is not None else None
    if custom is not None and image and _IMAGE.fullmatch(custom.id) and image != custom.id:
        what = f"its image is {image}, and its pool declares {custom.id}."
        return _fault(node, what, _how(node), f"image {image}")
    of_group = newest.get(node.labels.get(GROUP_LABEL, ""))
    mine = node.labels.get(_IMAGE_LABEL)
    if of_group and mine and mine != of_group:
        what = f"its image is {mine}, and younger nodes of its group have {of_group}."
        return _fault(node, what, _REPLACE, f"label {_IMAGE_LABEL}={mine}")
    return None


def _family_declared(plan: PoolPlan | None) -> str:
    """Of which family a pool's image is, that of its own image too; empty where nothing says."""
    if plan is None:
        return ""
    custom = plan.pool.custom_ami
    return str(custom.family if custom is not None else plan.pool.ami_family)


def _image_of_claim(objects: ClusterObjects, node: LiveNode) -> str:
    """The image that Karpenter says of a node's NodeClaim."""
    if NODEPOOL_LABEL not in node.labels:
        return ""
    claims = (
        str(at(claim, "status", "imageID") or "")
        for claim in objects.of("NodeClaim")
        if at(claim, "status", "nodeName") == node.name
    )
    return next(claims, "")


def _how(node: LiveNode) -> str:
    """How a node comes to another image."""
    if NODEPOOL_LABEL in node.labels:
        return (
            "Karpenter replaces nodes that differ from their EC2NodeClass as far as the NodePool's "
            "budgets let it: kubectl describe nodepool."
        )
    return _REPLACE


def _fault(
    node: LiveNode, what: str, fix: str, evidence: str, severity: Severity = "warning"
) -> NodeFault:
    return NodeFault(rules.VERSION_DIFFERS, Link.PODS, node, what, fix, evidence, severity)
