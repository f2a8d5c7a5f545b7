"""What modules of a registry make beside groups of nodes and charts: roles, and who may join."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eks_gpushare.lint.hcl.values import HclObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.lint.hcl.blocks import MadeResource

ENTRY: Final = "aws_eks_access_entry"
OF_HYBRID: Final = "HYBRID_LINUX"
"""The type of the entry by which nodes outside of AWS join:
https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-cluster-prep.html."""
_REMOTE: Final = ("remote_network_config", "cluster_remote_network_config")


_GOOGLE_CLUSTER: Final = (
    r"(?!.*//modules/(?:workload-identity|auth|asm|acm|hub|fleet|binary-auth|services|k8s-op))"
    r".*(?:kubernetes-engine|gke).*"
)
"""Modules that make clusters of Google's with their pools, by whichever inputs."""


def google_cluster(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    """What stands for nodes that the module makes, of which nothing is read."""
    address, values = f"{call.address}.google_container_cluster", HclObject({"node_pool": True})
    yield replace(call, address=address, kind="google_container_cluster", values=values)


def hybrid_nodes(call: MadeResource) -> Iterator[MadeResource]:
    """What stands for nodes outside of AWS, where a call of the EKS module names their networks."""
    if any(call.values.get(name) for name in _REMOTE):
        address, values = f"{call.address}.{ENTRY}.hybrid", HclObject({"type": OF_HYBRID})
        yield replace(call, address=address, kind=ENTRY, values=values)


def karpenter(call: MadeResource, _: int | None) -> Iterator[MadeResource]:
    """The role of Karpenter's nodes, where the call names it, with the inputs as they are."""
    if call.values.get("node_iam_role_name") is not None:
        yield replace(call, address=f"{call.address}.aws_iam_role.node[0]", kind="aws_iam_role")


OF_GOOGLE: Final = {_GOOGLE_CLUSTER: google_cluster}
"""By the sources of modules."""
