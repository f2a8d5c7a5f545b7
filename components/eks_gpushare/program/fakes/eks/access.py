"""Fakes for who may do what in a cluster of ``pulumi_eks``: aws-auth and access entries.

Source: pulumi/pulumi-eks 4.4, in ``nodejs/eks``: ``cluster/authenticationMode.ts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.program.fakes.eks.children import Children, output, unwrap
from eks_gpushare.program.values import UNKNOWN, OutputValue, Properties, is_unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.program.recording import Resource

_NODE_USER = "system:node:{{EC2PrivateDNSName}}"
_NODE_GROUPS = ["system:bootstrappers", "system:nodes"]


def uses_config_map(args: Properties) -> bool:
    """Whether nodes and people are listed in aws-auth, as they are where no mode is given."""
    mode = unwrap(args.get("authenticationMode"))
    return mode in (None, "CONFIG_MAP", "API_AND_CONFIG_MAP")


def uses_access_entries(args: Properties) -> bool:
    """Whether access entries are made."""
    return unwrap(args.get("authenticationMode")) in ("API", "API_AND_CONFIG_MAP")


def aws_auth(
    children: Children, args: Properties, roles: Sequence[Any], provider: Resource
) -> Resource | None:
    """The ConfigMap aws-auth, if the authentication mode has one; `roles` are ARNs of nodes'."""
    if not uses_config_map(args):
        return None
    nodes = [{"roleArn": arn, "username": _NODE_USER, "groups": _NODE_GROUPS} for arn in roles]
    given = unwrap(args.get("roleMappings")) or []
    data = {"mapRoles": _mappings([*given, *nodes], "roleArn")}
    if args.get("userMappings") is not None:
        data["mapUsers"] = _mappings(unwrap(args["userMappings"]), "userArn")
    annotations = {"pulumi.com/patchForce": "true"}
    metadata = {"name": "aws-auth", "namespace": "kube-system", "annotations": annotations}
    return children.add(
        "kubernetes:core/v1:ConfigMap",
        f"{children.name}-nodeAccess",
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "immutable": False,
            "metadata": metadata,
            "data": data,
        },
        provider=provider.urn,
    )


def _mappings(mappings: Any, arn: str) -> Any:
    flat = _values(mappings)
    if is_unknown(flat):
        return UNKNOWN
    entries = [
        {
            arn.lower(): policy.get(arn),
            "username": policy.get("username"),
            "groups": policy.get("groups"),
        }
        for policy in flat
    ]
    return yaml.dump(entries, Dumper=_Indented, sort_keys=False)


class _Indented(yaml.SafeDumper):
    """Indents lists within mappings, as the plugin's js-yaml does."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  (the base class has it so)
        super().increase_indent(flow, False)  # noqa: FBT003


def _values(value: Any) -> Any:
    """A value without dependencies at any depth."""
    value = unwrap(value)
    if isinstance(value, dict):
        return {key: _values(item) for key, item in value.items()}
    return [_values(item) for item in value] if isinstance(value, list) else value


def access_entries(
    children: Children, cluster: Resource, args: Properties, node_role: OutputValue | None
) -> list[Resource]:
    """The access entries of people and, if the cluster made a role for nodes, of these."""
    if not uses_access_entries(args):
        return []
    wanted: Properties = {}
    if node_role is not None:
        wanted["defaultNodeGroupInstanceRole"] = {"principalArn": node_role, "type": "EC2_LINUX"}
    wanted |= unwrap(args.get("accessEntries")) or {}
    return [_access_entry(children, cluster, key, unwrap(item)) for key, item in wanted.items()]


def _access_entry(children: Children, cluster: Resource, key: str, entry: Properties) -> Resource:
    resource = children.add(
        "aws:eks/accessEntry:AccessEntry",
        f"{children.name}-{key}",
        {
            "clusterName": output(cluster, "name"),
            "principalArn": entry.get("principalArn"),
            "type": entry.get("type"),
            "kubernetesGroups": entry.get("kubernetesGroups"),
            "userName": entry.get("username"),
            "tags": entry.get("tags"),
        },
        depends_on=[cluster.urn],
    )
    for policy_key, policy in (unwrap(entry.get("accessPolicies")) or {}).items():
        children.add(
            "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
            f"{children.name}-{key}-{policy_key}",
            {
                "clusterName": output(cluster, "name"),
                "principalArn": entry.get("principalArn"),
                "policyArn": unwrap(policy).get("policyArn"),
                "accessScope": unwrap(policy).get("accessScope"),
            },
            depends_on=[resource.urn],
            parent=resource.urn,
        )
    return resource
