"""The rule on people with all rights: nobody is in system:masters or bound to cluster-admin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.props import each, format_value, given, is_true, peek, read
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import at, items
from gpushare_policies.rule import Rule, Unjudged, cis
from gpushare_policies.tokens import ACCESS_ENTRY, EKS_CLUSTER
from gpushare_policies.words import Fix, is_of_pulumi_eks

MASTERS = "system:masters"
"""The group whose rights nothing can take away, not even deleting its binding."""

# Users that are no people: Kubernetes' own components, nodes, and EKS itself.
_MACHINES = ("system:", "eks:")
_NOBODY = "system:anonymous"
"""Whoever gives no name."""
_EVERYBODY = ("system:authenticated", "system:unauthenticated")


_ENTRY = (
    "with the access policy arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy, "
    "which can be revoked."
)
_ADMINS = Fix(
    "List the IAM role under `cluster.admins` in the stack file, which makes an access entry with "
    "AmazonEKSClusterAdminPolicy.",
    f"Make an entry of `accessEntries` for the IAM role {_ENTRY}",
    f"Make an aws.eks.AccessEntry for the IAM role {_ENTRY}",
)


def _masters(who: str, urn: str) -> str:
    return (
        f"{who} is in the group {MASTERS}. Nobody must be: its rights pass by every check and "
        f"cannot be revoked. {_ADMINS.of(urn)}"
    )


def _principal(holder: Mapping[str, Any], key: str, where: str) -> str:
    arn = peek(holder, key)  # often a role made in the same stack, with no ARN yet
    return f"The principal {where}" if arn is None else f"The principal {arn} {where}"


def _entry(args: ResourceValidationArgs) -> Iterator[str]:
    if MASTERS in each(read(args.props, "kubernetesGroups")):
        where = f"of the access entry {args.name}"
        yield _masters(_principal(args.props, "principalArn", where), args.urn)


def _cluster(args: ResourceValidationArgs) -> Iterator[str]:
    # Access entries are resources below the cluster, and so is aws-auth; but roles that are made in
    # the same stack leave the whole of that unknown.
    if not _makes_roles(args):
        return
    for kind, arn in (("roleMappings", "roleArn"), ("userMappings", "userArn")):
        for mapping in each(read(args.props, kind)):
            if MASTERS in each(read(mapping, "groups")):
                yield _masters(_principal(mapping, arn, f"of {kind}"), args.urn)


def _makes_roles(args: ResourceValidationArgs) -> bool:
    """Whether a cluster of pulumi_eks has roles of nodes in aws-auth beside what it is given."""
    named = given(args.props, "instanceRole") or given(args.props, "instanceRoles")
    asked = peek(args.props, "createInstanceRole")
    by_default = not is_true(peek(args.props, "skipDefaultNodeGroup"))
    return named or (by_default if asked is None else is_true(asked))


def _aws_auth(subject: Subject) -> Iterator[str | Unjudged]:
    # A name that is not known yet is made up by Pulumi or computed, and never this one.
    if subject.object.name != "aws-auth":
        return
    data = at(subject.object.body, "data")
    for key, arn in (("mapRoles", "rolearn"), ("mapUsers", "userarn")):
        text = at(data, key)
        if text is UNKNOWN:
            # Of pulumi_eks until roles of nodes are made; its cluster's mappings are judged.
            if not is_of_pulumi_eks(subject.args.urn):
                yield Unjudged(key)
            continue
        try:
            mappings = yaml.safe_load(text or "")
        except yaml.YAMLError:
            continue  # EKS ignores what it cannot read
        for mapping in each(mappings):
            if isinstance(mapping, Mapping) and MASTERS in each(mapping.get("groups")):
                yield _masters(_principal(mapping, arn, "of aws-auth"), subject.args.urn)


def _binding(subject: Subject) -> Iterator[str | Unjudged]:
    role, kind = (at(subject.object.body, "roleRef", key) for key in ("name", "kind"))
    if kind == "Role" or (role is not UNKNOWN and role != "cluster-admin"):
        return
    subjects = at(subject.object.body, "subjects")
    if UNKNOWN in (role, subjects) or UNKNOWN in items(subjects):
        yield Unjudged("roleRef" if role is UNKNOWN else "subjects")
        return
    for holder in items(subjects):
        yield from _holder(subject, at(holder, "kind"), at(holder, "name"))


def _holder(subject: Subject, kind: Any, given: Any) -> Iterator[str | Unjudged]:
    if UNKNOWN in (kind, given):
        yield Unjudged("subjects")
        return
    name = format_value(given)
    if (kind == "Group" and name in _EVERYBODY) or (kind, name) == ("User", _NOBODY):
        what = "group" if kind == "Group" else "user"
        yield (
            f"{subject.opening} gives everybody the role cluster-admin ({what} {name}). Rights "
            f"must go to named principals. Remove the subject."
        )
    elif kind == "User" and not name.startswith(_MACHINES):
        yield (
            f"{subject.opening} gives the user {name} the role cluster-admin. People must get "
            f"rights through EKS access entries, where AWS logs and revokes them. Remove the "
            f"subject. {_ADMINS.of(subject.args.urn)}"
        )
    elif kind == "Group" and name == MASTERS:
        yield (
            f"{subject.opening} binds the group {MASTERS}. Nobody must be in that group, so it "
            f"needs no binding. Remove the subject. {_ADMINS.of(subject.args.urn)}"
        )


NO_HUMAN_IN_MASTERS = Rule(
    "no-human-in-masters",
    "People must not be in system:masters, nor be bound to cluster-admin by name.",
    checks=ObjectChecks(
        {
            Kind("", "ConfigMap"): _aws_auth,
            Kind("rbac.authorization.k8s.io", "ClusterRoleBinding"): _binding,
            Kind("rbac.authorization.k8s.io", "RoleBinding"): _binding,
        },
        {ACCESS_ENTRY: _entry, EKS_CLUSTER: _cluster},
    ),
    severity=Severity.CRITICAL,
    framework=cis("4.1.1", "The role cluster-admin is used only where it is needed."),
    fix=_ADMINS,
)
