from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from gpushare_policies.rules.cluster.no_human_in_masters import NO_HUMAN_IN_MASTERS
from gpushare_policies.rules.tenancy.bindings import SERVICE_ACCOUNTS_NOT_ADMIN
from gpushare_policies.tokens import ACCESS_ENTRY, CLUSTER_ROLE_BINDING, CONFIG_MAP, EKS_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Callable

JANE = "arn:aws:iam::111122223333:user/jane"


POLICY = (
    "with the access policy arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy, "
    "which can be revoked."
)
ENTRY = f"Make an aws.eks.AccessEntry for the IAM role {POLICY}"
ENTRY_OF_EKS = f"Make an entry of `accessEntries` for the IAM role {POLICY}"


def _masters(who: str, fix: str = ENTRY) -> str:
    return (
        f"{who} is in the group system:masters. Nobody must be: its rights pass by every check "
        f"and cannot be revoked. {fix}"
    )


def test_an_access_entry_in_masters_is_refused(violations: Callable[..., list[str]]) -> None:
    props = {"principalArn": JANE, "kubernetesGroups": ["viewers", "system:masters"]}

    assert violations(NO_HUMAN_IN_MASTERS, ACCESS_ENTRY, props) == [
        _masters(f"The principal {JANE} of the access entry gpu")
    ]


def test_a_principal_that_is_not_known_yet_is_refused_all_the_same(
    violations: Callable[..., list[str]],
) -> None:
    props = {"principalArn": UNKNOWN_STRING_VALUE, "kubernetesGroups": ["system:masters"]}

    assert violations(NO_HUMAN_IN_MASTERS, ACCESS_ENTRY, props) == [
        _masters("The principal of the access entry gpu")
    ]


@pytest.mark.parametrize(
    ("change", "who"),
    [
        (
            {"roleMappings": [{"roleArn": JANE, "groups": ["system:masters"]}]},
            f"The principal {JANE} of roleMappings",
        ),
        (
            {"userMappings": [{"userArn": JANE, "groups": ["system:masters"]}]},
            f"The principal {JANE} of userMappings",
        ),
    ],
)
def test_a_cluster_component_that_puts_somebody_into_masters_is_refused(
    change: dict[str, Any],
    who: str,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = {**valid(EKS_CLUSTER), **change}

    assert violations(NO_HUMAN_IN_MASTERS, EKS_CLUSTER, props) == [_masters(who, ENTRY_OF_EKS)]


def test_what_stands_in_a_resource_below_a_cluster_component_is_said_there(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    mapping = {"roleArn": JANE, "groups": ["system:masters"]}
    entry = {"principalArn": JANE, "kubernetesGroups": ["system:masters"]}
    props = {
        **valid(EKS_CLUSTER),
        "accessEntries": {"jane": entry},
        "roleMappings": [mapping],
        "skipDefaultNodeGroup": True,
    }

    assert violations(NO_HUMAN_IN_MASTERS, EKS_CLUSTER, props) == []


def _aws_auth(**data: str) -> dict[str, Any]:
    return {"metadata": {"name": "aws-auth", "namespace": "kube-system"}, "data": data}


@pytest.mark.parametrize(("key", "arn"), [("mapRoles", "rolearn"), ("mapUsers", "userarn")])
def test_aws_auth_that_puts_somebody_into_masters_is_refused(
    key: str, arn: str, violations: Callable[..., list[str]]
) -> None:
    props = _aws_auth(**{key: f"- {arn}: {JANE}\n  groups: [system:masters]\n"})

    assert violations(NO_HUMAN_IN_MASTERS, CONFIG_MAP, props) == [
        _masters(f"The principal {JANE} of aws-auth")
    ]


@pytest.mark.parametrize("text", ["- groups: [system:nodes]", "- just text", "{", ""])
def test_aws_auth_without_masters_passes(text: str, violations: Callable[..., list[str]]) -> None:
    assert violations(NO_HUMAN_IN_MASTERS, CONFIG_MAP, _aws_auth(mapRoles=text)) == []


def test_another_config_map_may_say_what_it_likes(violations: Callable[..., list[str]]) -> None:
    props = {"metadata": {"name": "notes"}, "data": {"mapRoles": "- groups: [system:masters]"}}

    assert violations(NO_HUMAN_IN_MASTERS, CONFIG_MAP, props) == []


def _binding(kind: str, name: str, role: str = "cluster-admin") -> dict[str, Any]:
    return {
        "roleRef": {"kind": "ClusterRole", "name": role},
        "subjects": [{"kind": kind, "name": name}],
    }


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (
            "User",
            "jane",
            (
                "The ClusterRoleBinding gpu gives the user jane the role cluster-admin. People "
                "must get rights through EKS access entries, where AWS logs and revokes them. "
                f"Remove the subject. {ENTRY}"
            ),
        ),
        (
            "Group",
            "system:authenticated",
            (
                "The ClusterRoleBinding gpu gives everybody the role cluster-admin (group "
                "system:authenticated). Rights must go to named principals. Remove the subject."
            ),
        ),
        (
            "Group",
            "system:masters",
            (
                "The ClusterRoleBinding gpu binds the group system:masters. Nobody must be in that "
                f"group, so it needs no binding. Remove the subject. {ENTRY}"
            ),
        ),
    ],
)
def test_a_binding_of_people_to_cluster_admin_is_refused(
    kind: str, name: str, message: str, violations: Callable[..., list[str]]
) -> None:
    props = _binding(kind, name)

    assert violations(NO_HUMAN_IN_MASTERS, CLUSTER_ROLE_BINDING, props) == [message]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("User", "system:kube-controller-manager"),
        ("User", "eks:addon-manager"),
        ("Group", "platform"),
        ("ServiceAccount", "installer"),
    ],
)
def test_machines_and_named_groups_may_be_bound_to_cluster_admin(
    kind: str, name: str, violations: Callable[..., list[str]]
) -> None:
    assert violations(NO_HUMAN_IN_MASTERS, CLUSTER_ROLE_BINDING, _binding(kind, name)) == []


def test_a_user_may_have_another_role(violations: Callable[..., list[str]]) -> None:
    props = _binding("User", "jane", role="view")

    assert violations(NO_HUMAN_IN_MASTERS, CLUSTER_ROLE_BINDING, props) == []


LATER = UNKNOWN_STRING_VALUE


@pytest.mark.parametrize(
    "props",
    [
        {**_binding("User", "jane"), "roleRef": {"name": LATER}},
        {"roleRef": {"name": "cluster-admin"}, "subjects": LATER},
        _binding("User", LATER),
        _binding("Group", LATER),
        _binding(LATER, "jane"),
    ],
)
def test_a_binding_of_somebody_who_is_not_known_yet_is_not_judged(
    props: dict[str, Any], violations: Callable[..., list[str]]
) -> None:
    with pytest.raises(UnknownValueError):
        violations(NO_HUMAN_IN_MASTERS, CLUSTER_ROLE_BINDING, props)


@pytest.mark.parametrize(
    "props",
    [
        {**_binding("ServiceAccount", "installer"), "roleRef": {"name": LATER}},
        _binding("ServiceAccount", LATER),
        {"roleRef": {"name": "view"}, "subjects": LATER},
        {"roleRef": {"name": "cluster-admin"}},
    ],
)
def test_what_is_not_known_of_a_binding_may_not_matter(
    props: dict[str, Any], violations: Callable[..., list[str]]
) -> None:
    assert violations(NO_HUMAN_IN_MASTERS, CLUSTER_ROLE_BINDING, props) == []


def test_aws_auth_that_is_not_known_yet_is_not_judged(
    violations: Callable[..., list[str]],
) -> None:
    with pytest.raises(UnknownValueError):
        violations(NO_HUMAN_IN_MASTERS, CONFIG_MAP, _aws_auth(mapRoles=LATER))


@pytest.mark.parametrize(
    ("change", "violated"),
    [
        ({"skipDefaultNodeGroup": True}, 0),
        ({"skipDefaultNodeGroup": False}, 1),
        ({}, 1),
        ({"skipDefaultNodeGroup": True, "instanceRole": LATER}, 1),
        ({"skipDefaultNodeGroup": True, "instanceRoles": [LATER]}, 1),
        ({"skipDefaultNodeGroup": True, "createInstanceRole": True}, 1),
        ({"createInstanceRole": False}, 0),
    ],
)
def test_mappings_of_a_cluster_component_are_judged_where_its_aws_auth_is_unknown(
    change: dict[str, Any],
    violated: int,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    mapping = {"roleArn": JANE, "groups": ["system:masters"]}
    props = {**valid(EKS_CLUSTER), "roleMappings": [mapping], **change}

    assert len(violations(NO_HUMAN_IN_MASTERS, EKS_CLUSTER, props)) == violated


SUBJECTS = [
    {"kind": "ServiceAccount", "name": "builder", "namespace": "team"},
    {"kind": "User", "name": "jane"},
]


@pytest.mark.parametrize(
    "rule", [SERVICE_ACCOUNTS_NOT_ADMIN, NO_HUMAN_IN_MASTERS], ids=lambda rule: rule.name
)
@pytest.mark.parametrize(
    ("kind", "is_admin"), [("ClusterRole", True), (None, True), ("Role", False)]
)
def test_a_role_of_a_namespace_may_have_any_name(
    rule: Any, kind: str | None, is_admin: bool, violations: Callable[..., list[str]]
) -> None:
    role = {"kind": kind, "name": "cluster-admin"}
    props = {
        "metadata": {"name": "gpu", "namespace": "team"},
        "roleRef": {key: each for key, each in role.items() if each is not None},
        "subjects": SUBJECTS,
    }
    binding = "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding"

    assert bool(violations(rule, binding, props)) is is_admin
