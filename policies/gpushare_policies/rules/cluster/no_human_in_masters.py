"""The rule on people with all rights: nobody is in system:masters or bound to cluster-admin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import each, given, is_true, peek, read
from gpushare_policies.reading.accounts import cluster_role
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.tokens import ACCESS_ENTRY, EKS_CLUSTER
from gpushare_policies.words import Fix, is_of_pulumi_eks

MASTERS = "system:masters"
"""The group whose rights nothing can take away, not even deleting its binding."""

# Users that are no people: Kubernetes' own components, nodes, and EKS itself.
_MACHINES = ("system:", "eks:")
_ANONYMOUS = "system:anonymous"
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
    return f"The principal {where}" if arn in (None, UNKNOWN) else f"The principal {arn} {where}"


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
    urn = subject.args.urn
    for key, arn in (("mapRoles", "rolearn"), ("mapUsers", "userarn")):
        text = at(subject.object.body, "data", key)
        if text is UNKNOWN:
            # Of pulumi_eks it is unknown until roles of nodes are made; its cluster's mappings are
            # judged.
            if not is_of_pulumi_eks(urn):
                yield Unjudged(f"`data.{key}`")
            continue
        try:
            mappings = yaml.safe_load(text or "")
        except yaml.YAMLError:
            continue  # EKS ignores what it cannot read
        for mapping in each(mappings):
            if isinstance(mapping, Mapping) and MASTERS in each(mapping.get("groups")):
                yield _masters(_principal(mapping, arn, "of aws-auth"), urn)


def _mapping(subject: Subject) -> Iterator[str]:
    """What aws-iam-authenticator reads beside aws-auth."""
    spec = at(subject.object.body, "spec")
    if isinstance(spec, dict) and MASTERS in each(spec.get("groups")):
        yield _masters(_principal(spec, "arn", f"of {subject.title}"), subject.args.urn)


def _binding(subject: Subject) -> Iterator[str | Unjudged]:
    role, subjects = cluster_role(subject.object.body), subject.object.body.get("subjects")
    if role not in ("cluster-admin", UNKNOWN):
        return
    if subjects is UNKNOWN:
        yield Unjudged("subjects")
        return
    for bound in each(subjects):
        kind, name = at(bound, "kind"), at(bound, "name")
        if kind not in ("User", "Group", UNKNOWN):
            continue
        if UNKNOWN in (role, kind, name):
            yield Unjudged("roleRef" if role is UNKNOWN else "subjects")
        else:
            yield from _bound(subject, str(kind), str(name))


def _bound(subject: Subject, kind: str, name: str) -> Iterator[str]:
    fix = _ADMINS.of(subject.args.urn)
    if (kind == "Group" and name in _EVERYBODY) or (kind == "User" and name == _ANONYMOUS):
        yield (
            f"{subject.opening} gives everybody the role cluster-admin "
            f"({kind.lower()} {name}). Rights must go to named principals. Remove the subject."
        )
    elif kind == "User" and not name.startswith(_MACHINES):
        yield (
            f"{subject.opening} gives the user {name} the role "
            f"cluster-admin. People must get rights through EKS access entries, where AWS "
            f"logs and revokes them. Remove the subject. {fix}"
        )
    elif kind == "Group" and name == MASTERS:
        yield (
            f"{subject.opening} binds the group {MASTERS}. Nobody must be "
            f"in that group, so it needs no binding. Remove the subject. {fix}"
        )


_RBAC = "rbac.authorization.k8s.io"

NO_HUMAN_IN_MASTERS = ResourcePolicy(
    "no-human-in-masters",
    "People must not be in system:masters, nor be bound to cluster-admin by name.",
    checks=ObjectChecks(
        {
            Kind("", "ConfigMap"): _aws_auth,
            Kind("iamauthenticator.k8s.aws", "IAMIdentityMapping"): _mapping,
            Kind(_RBAC, "ClusterRoleBinding"): _binding,
            Kind(_RBAC, "RoleBinding"): _binding,
        },
        others={ACCESS_ENTRY: _entry, EKS_CLUSTER: _cluster},
    ),
    severity=Severity.CRITICAL,
    framework=cis("4.1.1", "The role cluster-admin is used only where it is needed."),
    fix=_ADMINS,
)
