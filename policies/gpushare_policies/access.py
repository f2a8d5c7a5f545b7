"""The rule on people with all rights: nobody is in system:masters or bound to cluster-admin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import each, format_value, peek, read
from gpushare_policies.rule import Rule, cis
from gpushare_policies.tokens import ACCESS_ENTRY, CLUSTER_ROLE_BINDING, CONFIG_MAP, EKS_CLUSTER

MASTERS = "system:masters"
"""The group whose rights nothing can take away, not even deleting its binding."""

# Users that are no people: Kubernetes' own components, nodes, and EKS itself.
_MACHINES = ("system:", "eks:")
_EVERYBODY = ("system:authenticated", "system:unauthenticated")


def _masters(who: str) -> str:
    return (
        f"{who} is in the group {MASTERS}. Nobody must be: its rights pass by every check and "
        f"cannot be revoked. List the IAM role under `cluster.admins` in the stack file, which "
        f"makes an access entry with AmazonEKSClusterAdminPolicy."
    )


def _principal(holder: Mapping[str, Any], key: str, where: str) -> str:
    arn = peek(holder, key)  # often a role made in the same stack, with no ARN yet
    return f"The principal {where}" if arn is None else f"The principal {arn} {where}"


def _entry(args: ResourceValidationArgs) -> Iterator[str]:
    if MASTERS in each(read(args.props, "kubernetesGroups")):
        yield _masters(_principal(args.props, "principalArn", f"of the access entry {args.name}"))


def _cluster(args: ResourceValidationArgs) -> Iterator[str]:
    entries = read(args.props, "accessEntries") or {}
    for key in entries:
        if MASTERS in each(read(entries[key], "kubernetesGroups")):
            yield _masters(f"The principal of the access entry {key}")
    for kind, arn in (("roleMappings", "roleArn"), ("userMappings", "userArn")):
        for mapping in each(read(args.props, kind)):
            if MASTERS in each(read(mapping, "groups")):
                yield _masters(_principal(mapping, arn, f"of {kind}"))


def _aws_auth(args: ResourceValidationArgs) -> Iterator[str]:
    # A name that is not known yet is made up by Pulumi or computed, and never this one.
    if peek(args.props, "metadata", "name") != "aws-auth":
        return
    for key, arn in (("mapRoles", "rolearn"), ("mapUsers", "userarn")):
        try:
            mappings = yaml.safe_load(read(args.props, "data", key) or "")
        except yaml.YAMLError:
            continue  # EKS ignores what it cannot read
        for mapping in each(mappings):
            if isinstance(mapping, Mapping) and MASTERS in each(mapping.get("groups")):
                yield _masters(_principal(mapping, arn, "of aws-auth"))


def _binding(args: ResourceValidationArgs) -> Iterator[str]:
    if read(args.props, "roleRef", "name") != "cluster-admin":
        return
    for subject in each(read(args.props, "subjects")):
        kind, name = read(subject, "kind"), format_value(read(subject, "name"))
        if kind == "User" and not name.startswith(_MACHINES):
            yield (
                f"The ClusterRoleBinding {args.name} gives the user {name} the role "
                f"cluster-admin. People must get rights through EKS access entries, where AWS "
                f"logs and revokes them. List the IAM role under `cluster.admins` in the stack "
                f"file and remove the subject."
            )
        elif kind == "Group" and name in _EVERYBODY:
            yield (
                f"The ClusterRoleBinding {args.name} gives everybody the role cluster-admin "
                f"(group {name}). Rights must go to named principals. Remove the subject."
            )
        elif kind == "Group" and name == MASTERS:
            yield (
                f"The ClusterRoleBinding {args.name} binds the group {MASTERS}. Nobody must be "
                f"in that group, so it needs no binding. Remove the subject and list IAM roles "
                f"under `cluster.admins` in the stack file."
            )


NO_HUMAN_IN_MASTERS = Rule(
    "no-human-in-masters",
    "People must not be in system:masters, nor be bound to cluster-admin by name.",
    checks={
        ACCESS_ENTRY: _entry,
        EKS_CLUSTER: _cluster,
        CONFIG_MAP: _aws_auth,
        CLUSTER_ROLE_BINDING: _binding,
    },
    severity=Severity.CRITICAL,
    framework=cis("4.1.1", "The role cluster-admin is used only where it is needed."),
    fix="List IAM roles under `cluster.admins` in the stack file: each gets an access entry with "
    "AmazonEKSClusterAdminPolicy, which can be revoked.",
)

ACCESS_RULES = (NO_HUMAN_IN_MASTERS,)
"""The rules on access."""
