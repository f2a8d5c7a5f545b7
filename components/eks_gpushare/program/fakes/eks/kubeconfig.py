"""The kubeconfig that ``pulumi_eks`` writes.

Source: pulumi/pulumi-eks 4.4, ``nodejs/eks/cluster/cluster.ts``: ``generateKubeconfig``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.fakes.eks.children import unwrap
from eks_gpushare.program.values import UNKNOWN, Properties, is_unknown

if TYPE_CHECKING:
    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource

_CLIENT = "client.authentication.k8s.io/v1beta1"


def kubeconfig(
    plan: Plan, cluster: Resource, options: Any = None, *, with_profile: bool = True
) -> Any:
    """The JSON text of the kubeconfig of a cluster, unknown in a preview.

    `options` are ``roleArn`` and ``profileName``, as ``providerCredentialOpts`` has them.
    """
    given = unwrap(options) or {}
    if plan.preview or is_unknown(given):
        return UNKNOWN
    outputs = cluster.outputs
    region, name = outputs.get("region", ""), outputs["name"]
    token = ["--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"]
    if role := unwrap(given.get("roleArn")):
        token += ["--role", role]
    if with_profile and (profile := unwrap(given.get("profileName"))):
        token += ["--profile", profile]
    info = {"name": "KUBERNETES_EXEC_INFO", "value": json.dumps({"apiVersion": _CLIENT})}
    login = {"apiVersion": _CLIENT, "command": "aws", "args": token, "env": [info]}
    server = {
        "server": outputs["endpoint"],
        "certificate-authority-data": outputs["certificateAuthority"]["data"],
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "aws",
        "clusters": [{"name": "kubernetes", "cluster": server}],
        "contexts": [{"name": "aws", "context": {"cluster": "kubernetes", "user": "aws"}}],
        "users": [{"name": "aws", "user": {"exec": login}}],
    }
    return json.dumps(config, separators=(",", ":"))


def get_kubeconfig(plan: Plan, args: Properties) -> Properties:
    """What the method ``getKubeconfig`` of a cluster answers."""
    component = plan.resource(args["__self__"].urn)
    cluster = plan.resource(component.outputs["eksCluster"].urn)
    return {"result": kubeconfig(plan, cluster, args)}
