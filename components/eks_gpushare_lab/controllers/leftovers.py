"""What an earlier run has launched: its AWS is gone, and nobody ends those nodes any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.cloud.node_groups import SCALING_GROUP
from eks_gpushare_lab.controllers import kueue

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Client, Object

_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
_NODES = "/api/v1/nodes"
_KINDS = (
    "/apis/karpenter.sh/v1/nodepools",
    "/apis/karpenter.sh/v1alpha1/nodeoverlays",
    _CLAIMS,
    "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
)
_LAUNCHED = "karpenter.sh/nodepool"
_IN_GROUP = "eks.amazonaws.com/nodegroup"
_STATUS = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"


def remove(client: Client) -> None:
    """Remove what controllers have left, before anything is installed."""
    kueue.let_go(client)
    _remove_groups_nodes(client)
    try:
        client.list(_CLAIMS)
    except ApiError:
        return  # no run on this control plane had Karpenter
    for base in _KINDS:
        for obj in client.list(base)[0]:
            _delete(client, f"{base}/{obj['metadata']['name']}", obj)
    for node in client.list(_NODES, labelSelector=_LAUNCHED)[0]:
        _delete(client, f"{_NODES}/{node['metadata']['name']}", node)


def _remove_groups_nodes(client: Client) -> None:
    """Remove nodes of Auto Scaling groups, and what Cluster Autoscaler last said of them."""
    for node in client.list(_NODES, labelSelector=_IN_GROUP)[0]:
        if SCALING_GROUP in (node["metadata"].get("annotations") or {}):
            _delete(client, f"{_NODES}/{node['metadata']['name']}", node)
    client.delete(_STATUS)


def _delete(client: Client, path: str, given: Object) -> None:
    """Delete an object that waits for a controller which is not there."""
    client.delete(path)
    if given["metadata"].get("finalizers"):
        try:
            client.patch(path, {"metadata": {"finalizers": None}})
        except ApiError as error:
            if error.status != 404:  # noqa: PLR2004  (it has gone)
                raise
