"""Rules on Karpenter's nodes and settings, on budgets and on roles: a right one, then mistakes."""

from __future__ import annotations

import copy
import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from gpushare_policies import POLICIES
from gpushare_policies.rule import ResourcePolicy, StackPolicy
from gpushare_policies.tokens import (
    ACCESS_ENTRY,
    AWS_CLUSTER,
    NODE_GROUP,
    RELEASE,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_POLICY,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pulumi_policy import PolicyResource

RULES = {rule.name: rule for rule in POLICIES}
CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
POOL = "kubernetes:karpenter.sh/v1:NodePool"
OVERLAY = "kubernetes:karpenter.sh/v1alpha1:NodeOverlay"
BUDGET = "kubernetes:policy/v1:PodDisruptionBudget"
NODE_CLASS = {
    "metadata": {"name": "gpu"},
    "spec": {
        "associatePublicIPAddress": False,
        "blockDeviceMappings": [
            {"deviceName": "/dev/xvda", "ebs": {"encrypted": True, "volumeSize": "200Gi"}}
        ],
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1.0},
    },
}
EBS = {"deviceName": "/dev/xvda", "ebs": {}}
OTHER_DISK = {"deviceName": "/dev/xvdb", "virtualName": "ephemeral0"}

# Rule, key of the spec, value, and what the message says; nothing for what is right.
OF_CLASSES: list[tuple[str, str, Any, str]] = [
    ("node-class-imdsv2", "metadataOptions", {"httpTokens": "optional"}, "httpTokens optional"),
    ("node-class-imdsv2", "metadataOptions", {"httpPutResponseHopLimit": 2.0}, "HopLimit 2."),
    ("node-class-imdsv2", "metadataOptions", {"httpPutResponseHopLimit": "64"}, "HopLimit 64."),
    ("node-class-imdsv2", "metadataOptions", {"httpPutResponseHopLimit": "many"}, "Limit many."),
    ("node-class-imdsv2", "metadataOptions", {}, ""),
    ("node-class-imdsv2", "metadataOptions", None, ""),
    (
        "node-class-imdsv2",
        "metadataOptions",
        {"httpEndpoint": "disabled", "httpTokens": "optional"},
        "",
    ),
    ("node-class-volumes-encrypted", "blockDeviceMappings", [EBS], "/dev/xvda of the EC2NodeCl"),
    (
        "node-class-volumes-encrypted",
        "blockDeviceMappings",
        [{"ebs": {"encrypted": False}}],
        "encrypted false. It must be true",
    ),
    (
        "node-class-volumes-encrypted",
        "blockDeviceMappings",
        [{"ebs": {"encrypted": True}}, EBS],
        "encrypted unset",
    ),
    ("node-class-volumes-encrypted", "blockDeviceMappings", [OTHER_DISK], ""),
    ("node-class-volumes-encrypted", "blockDeviceMappings", None, ""),
    ("node-class-without-public-address", "associatePublicIPAddress", True, "gives its nodes a p"),
    ("node-class-without-public-address", "associatePublicIPAddress", None, ""),
]
OF_BUDGETS: list[tuple[dict[str, Any], str]] = [
    ({"maxUnavailable": 0.0}, "has maxUnavailable 0, so that none"),
    ({"maxUnavailable": "0"}, "has maxUnavailable 0,"),
    ({"maxUnavailable": "0%"}, "has maxUnavailable 0%"),
    ({"minAvailable": "100%"}, "has minAvailable 100%"),
    ({"maxUnavailable": 1.0}, ""),
    ({"maxUnavailable": "10%"}, ""),
    ({"minAvailable": 1.0}, "has minAvailable 1 of one, so that none"),
    ({"minAvailable": "51%"}, "has minAvailable 51% of one"),
    ({"minAvailable": 2}, "has minAvailable 2 of one"),
    ({"minAvailable": 0}, ""),
]


def _resource_rule(name: str) -> ResourcePolicy:
    rule = RULES[name]
    assert isinstance(rule, ResourcePolicy)
    return rule


def _stack_rule(name: str) -> StackPolicy:
    rule = RULES[name]
    assert isinstance(rule, StackPolicy)
    return rule


@pytest.mark.parametrize(("rule", "key", "value", "says"), OF_CLASSES)
def test_node_classes(
    violations: Callable[..., list[str]], rule: str, key: str, value: Any, says: str
) -> None:
    props: dict[str, Any] = copy.deepcopy(NODE_CLASS)
    assert violations(_resource_rule(rule), CLASS, props) == []
    props["spec"][key] = value

    found = violations(_resource_rule(rule), CLASS, props)

    assert [says in each for each in found] == ([True] if says else [])


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("node-class-imdsv2", ("metadataOptions", "httpTokens")),
        ("node-class-imdsv2", ("metadataOptions",)),
        ("node-class-volumes-encrypted", ("blockDeviceMappings",)),
        ("node-class-without-public-address", ("associatePublicIPAddress",)),
    ],
)
def test_what_is_not_known_of_a_node_class_is_said(
    violations: Callable[..., list[str]], rule: str, path: tuple[str, ...]
) -> None:
    props: dict[str, Any] = copy.deepcopy(NODE_CLASS)
    holder = props["spec"]
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = UNKNOWN_STRING_VALUE

    with pytest.raises(UnknownValueError) as raised:
        violations(_resource_rule(rule), CLASS, props)

    assert raised.value.message == f"could not be judged: {path[0]} of the EC2NodeClass gpu"


def test_a_larger_hop_limit_may_be_allowed(violations: Callable[..., list[str]]) -> None:
    props = {"spec": {"metadataOptions": {"httpPutResponseHopLimit": 2.0}}}
    rule = _resource_rule("node-class-imdsv2")

    assert violations(rule, CLASS, props, config={"maximumHopLimit": 2.0}) == []


@pytest.mark.parametrize(("spec", "says"), OF_BUDGETS)
def test_budgets(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    spec: dict[str, Any],
    says: str,
) -> None:
    labels = {"app": "model"}
    made = resource(
        "kubernetes:apps/v1:Deployment",
        "model",
        {
            "metadata": {"name": "model"},
            "spec": {"template": {"metadata": {"labels": labels}, "spec": {"containers": []}}},
        },
    )
    spec = {"selector": {"matchLabels": labels}, **spec}
    budget = resource(BUDGET, "model", {"metadata": {"name": "model"}, "spec": spec})

    found = stack_violations(_stack_rule("budgets-let-nodes-go"), [made, budget])

    assert [says in text for _, text in found] == ([True] if says else [])


def _cluster(resource: Callable[..., PolicyResource], **props: Any) -> PolicyResource:
    return resource(AWS_CLUSTER, "demo", {"name": "demo", **props})


def _pool(resource: Callable[..., PolicyResource], **ref: Any) -> PolicyResource:
    spec = {"template": {"spec": {"nodeClassRef": {"kind": "EC2NodeClass", **ref}}}}
    return resource(POOL, "gpu", {"metadata": {"name": "gpu"}, "spec": spec})


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ({"name": "gpu"}, ""),
        ({"name": "gup"}, "names the node class gup, which is not in this stack (there are: gpu)"),
        ({"name": "default", "kind": "NodeClass", "group": "eks.amazonaws.com"}, ""),
        (
            {"name": "gpu", "kind": "NodeClass", "group": "eks.amazonaws.com"},
            "gpu of EKS Auto Mode",
        ),
        ({"name": "any", "kind": "GCENodeClass", "group": "karpenter.k8s.gcp"}, ""),
        ({}, ""),
    ],
)
def test_node_pools_name_a_class_that_is_there(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    ref: dict[str, Any],
    says: str,
) -> None:
    node_class = resource(CLASS, "class", NODE_CLASS)
    rule = _stack_rule("node-pools-have-classes")
    stack = [_cluster(resource), node_class, _pool(resource, **ref)]

    found = stack_violations(rule, stack)

    assert [(name, says in text) for name, text in found] == ([("gpu", True)] if says else [])
    # Others may have put it into a cluster that is not of the stack.
    with pytest.raises(UnknownValueError) if says else nullcontext():
        assert stack_violations(rule, stack[1:]) == []


def test_a_class_or_a_pool_may_have_no_name_yet(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    rule = _stack_rule("node-pools-have-classes")
    pool = _pool(resource, name=UNKNOWN_STRING_VALUE)
    with pytest.raises(UnknownValueError):
        stack_violations(rule, [_cluster(resource), resource(CLASS, "class", NODE_CLASS), pool])

    spec = {"template": {"spec": {"nodeClassRef": {"name": "gpu"}}}}
    unnamed = resource(POOL, "mine", {"metadata": {"name": UNKNOWN_STRING_VALUE}, "spec": spec})
    ((_, message),) = stack_violations(rule, [_cluster(resource), unnamed])
    assert message.startswith("The NodePool mine names the node class gpu, which is not in this")


def test_a_class_of_unknown_name_may_be_the_one(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    node_class = resource(CLASS, "class", {"metadata": {"name": UNKNOWN_STRING_VALUE}})
    stack = [_cluster(resource), node_class, _pool(resource, name="gpu")]

    with pytest.raises(UnknownValueError):
        stack_violations(_stack_rule("node-pools-have-classes"), stack)


_RIGHT = {"clusterName": "demo", "featureGates": {"nodeOverlay": True}}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (_RIGHT, ""),
        ({**_RIGHT, "featureGates": {"nodeOverlay": "true"}}, ""),
        ({**_RIGHT, "clusterName": "dmeo"}, "its cluster is dmeo, and the cluster of this stack"),
        ({**_RIGHT, "clusterName": ""}, "is not told the name"),
        ({"featureGates": {"nodeOverlay": True}}, "is not told the name"),
        ({**_RIGHT, "featureGates": {"nodeOverlay": False}}, "feature gate nodeOverlay false"),
        ({**_RIGHT, "featureGates": {"nodeOvelray": True}}, "feature gate nodeOverlay unset"),
        ({"clusterName": "demo"}, "so it does not read the 1 NodeOverlays"),
    ],
)
def test_karpenter_knows_its_cluster_and_reads_overlays(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    settings: dict[str, Any],
    says: str,
) -> None:
    chart = "oci://public.ecr.aws/karpenter/karpenter"
    release = resource(RELEASE, "karpenter", {"chart": chart, "values": {"settings": settings}})
    overlay = resource(OVERLAY, "shares", {"metadata": {"name": "shares"}, "spec": {"weight": 1.0}})
    rule = _stack_rule("karpenter-settings-agree")

    found = stack_violations(rule, [_cluster(resource), release, overlay])

    assert [(name, says in text) for name, text in found] == ([("karpenter", True)] if says else [])


@pytest.mark.parametrize(
    ("given", "told", "where", "says"),
    [
        ({}, "ml-dev", {}, "the cluster of this stack is demo with a suffix"),
        ({}, "demonstration", {}, "the cluster of this stack is demo with a suffix"),
        ({}, "demo-1a2b3c4", {}, ""),
        ({"name": UNKNOWN_STRING_VALUE}, "ml-dev", {}, ""),
        ({"name": "ml"}, "ml-dev", {"provider": {"context": "ml-dev"}}, ""),
        ({"name": "ml"}, "dev", {"provider": {"context": "ml"}}, "cluster of this stack is ml."),
    ],
    ids=[
        "named by Pulumi",
        "of another name",
        "as Pulumi does",
        "by another resource",
        "elsewhere",
        "not its own",
    ],
)
def test_karpenter_is_told_of_a_cluster_that_may_be_its_own(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    given: dict[str, Any],
    told: str,
    where: dict[str, Any],
    says: str,
) -> None:
    made_of = {"name": [resource("random:index:Pet", "pet", {})]} if given.get("name") else {}
    cluster = resource(AWS_CLUSTER, "demo", {"version": "1.35", **given}, uses=made_of)
    props = {"chart": "karpenter", "values": {"settings": {"clusterName": told}}}
    release = resource(RELEASE, "karpenter", props, **where)

    found = stack_violations(_stack_rule("karpenter-settings-agree"), [cluster, release])

    assert [says in text for _, text in found] == ([True] if says else [])


@pytest.mark.parametrize(
    ("own", "is_wrong"),
    [
        ("1.14.1", False),
        ("1.14.0", False),
        ("v1.14.1", False),
        ("1.15.0", False),
        (None, False),
        (UNKNOWN_STRING_VALUE, False),
        ("0.37.0", True),
        ("1.13.4", True),
    ],
)
def test_the_definitions_are_of_karpenter_s_own_version(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    own: str | None,
    *,
    is_wrong: bool,
) -> None:
    place = "oci://public.ecr.aws/karpenter"
    values = {"settings": {"clusterName": "demo"}}
    props = {"chart": f"{place}/karpenter", "version": "1.14.1", "values": values}
    release = resource(RELEASE, "karpenter", props)
    crds = resource(RELEASE, "crds", {"chart": f"{place}/karpenter-crd", "version": own})

    found = stack_violations(
        _stack_rule("karpenter-settings-agree"), [_cluster(resource), crds, release]
    )

    assert [name for name, _ in found] == ["karpenter"] * is_wrong
    for _, said in found:
        assert "is of version 1.14.1, and the definitions of its objects of " in said
        assert f" are of {own}. They must be of the same" in said
        assert said.endswith("Set the version of the chart karpenter-crd to 1.14.1.")


def test_without_overlays_karpenter_needs_no_gate(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    values = {"settings": {"clusterName": "demo"}}
    release = resource(RELEASE, "karpenter", {"chart": "karpenter", "values": values})
    rule = _stack_rule("karpenter-settings-agree")

    assert stack_violations(rule, [_cluster(resource), release]) == []


def _statement(**parts: Any) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **parts}]}


@pytest.mark.parametrize(
    ("principal", "condition", "is_wrong"),
    [
        ({"Service": "ec2.amazonaws.com"}, None, False),
        ({"AWS": "arn:aws:iam::111122223333:root"}, None, False),
        ({"AWS": "*"}, {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}, False),
        ("*", None, True),
        ({"AWS": "*"}, None, True),
        ({"AWS": ["arn:aws:iam::111122223333:root", "*"]}, None, True),
        ({"Service": "*"}, {}, True),
    ],
)
def test_roles_name_who_takes_them(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    principal: Any,
    condition: Any,
    *,
    is_wrong: bool,
) -> None:
    document = _statement(Principal=principal, Condition=condition, Action="sts:AssumeRole")
    rule = _stack_rule("roles-bounded")
    for written in (document, json.dumps(document)):
        found = stack_violations(rule, [resource(ROLE, "app", {"assumeRolePolicy": written})])

        assert ["may be taken by everybody" in text for _, text in found] == [True] * is_wrong


@pytest.mark.parametrize(
    ("action", "resources", "is_wrong"),
    [
        ("*", "*", True),
        (["*"], ["*"], True),
        (["s3:GetObject", "*:*"], "*", True),
        ("s3:*", "*", False),
        ("*", "arn:aws:s3:::models/*", False),
    ],
)
def test_roles_are_for_something(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    action: Any,
    resources: Any,
    *,
    is_wrong: bool,
) -> None:
    rule = _stack_rule("roles-bounded")
    text = json.dumps(_statement(Action=action, Resource=resources))
    denied = text.replace("Allow", "Deny")
    nodes = resource(ROLE, "nodes", {"assumeRolePolicy": '{"Service": "ec2.amazonaws.com"}'})
    of_nodes = resource(ROLE_POLICY, "of-nodes", {"policy": text}, uses={"role": [nodes]})
    group = resource(NODE_GROUP, "group", {}, uses={"nodeRoleArn": [nodes]})

    found = stack_violations(rule, [resource(ROLE_POLICY, "app", {"policy": text}), nodes])

    assert ["allows every action" in said for _, said in found] == [True] * is_wrong
    assert stack_violations(rule, [resource(ROLE_POLICY, "app", {"policy": denied})]) == []
    assert [name for name, _ in stack_violations(rule, [nodes, of_nodes])] == (
        ["of-nodes"] if is_wrong else []
    )
    assert stack_violations(rule, [nodes, of_nodes, group]) == []  # of which another rule speaks


OIDC = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/A"
SUBJECT = {"StringEquals": {"oidc.eks.us-west-2.amazonaws.com/id/A:sub": "system:serviceaccount:a"}}


@pytest.mark.parametrize(
    ("principal", "policy", "is_wrong"),
    [
        ({"Service": "eks.amazonaws.com"}, "AdministratorAccess", True),
        ({"Service": ["pods.eks.amazonaws.com"]}, "AdministratorAccess", True),
        ({"Service": "pods.eks.amazonaws.com"}, "job-function/AdministratorAccess-Amplify", True),
        ({"Federated": OIDC}, "AdministratorAccess", True),
        ({"Service": "eks.amazonaws.com"}, "AmazonEKSClusterPolicy", False),
        ({"Service": "pods.eks.amazonaws.com"}, "service-role/AmazonEBSCSIDriverPolicy", False),
        # Who deploys is somebody else's decision.
        ({"AWS": "arn:aws:iam::111122223333:role/ci"}, "AdministratorAccess", False),
        ({"Federated": "arn:aws:iam::1:oidc-provider/ci.example"}, "AdministratorAccess", False),
        ({"Service": "lambda.amazonaws.com"}, "AdministratorAccess", False),
        ("arn:aws:iam::111122223333:root", "AdministratorAccess", False),
    ],
)
def test_no_cluster_and_no_pod_is_an_administrator(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    principal: Any,
    policy: str,
    *,
    is_wrong: bool,
) -> None:
    trust = json.dumps(_statement(Principal=principal, Condition=SUBJECT))
    arn = f"arn:aws:iam::aws:policy/{policy}"
    role = resource(ROLE, "app", {"assumeRolePolicy": trust, "name": "app"})
    later = resource(ROLE_ATTACHMENT, "later", {"policyArn": arn}, uses={"role": [role]})
    named = resource(ROLE_ATTACHMENT, "named", {"policyArn": arn, "role": "app"})
    other = resource(ROLE_ATTACHMENT, "other", {"policyArn": arn, "role": "another"})
    inside = resource(ROLE, "own", {"assumeRolePolicy": trust, "managedPolicyArns": [arn]})

    found = stack_violations(_stack_rule("roles-bounded"), [role, later, named, other, inside])

    assert [name for name, _ in found] == (["later", "named", "own"] if is_wrong else [])
    assert all(f"a cluster or its pods take, has {arn}. It must" in said for _, said in found)


@pytest.mark.parametrize("kind", ["EC2_LINUX", "EC2_WINDOWS", "EC2", "STANDARD"])
def test_the_role_of_karpenter_s_nodes_is_one_of_nodes(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    kind: str,
) -> None:
    """By its access entry, whatever policies it has."""
    trust = json.dumps(_statement(Principal={"Service": "ec2.amazonaws.com"}))
    role = resource(ROLE, "nodes", {"assumeRolePolicy": trust, "name": "n"})
    props = {"role": "n", "policyArn": "arn:aws:iam::aws:policy/AdministratorAccess"}
    attached = resource(ROLE_ATTACHMENT, "all", props)
    entry = resource(ACCESS_ENTRY, "entry", {"type": kind}, uses={"principalArn": [role]})
    both = [role, attached, entry]

    found = [name for name, _ in stack_violations(_stack_rule("node-role-rights"), both)]

    of_others = [name for name, _ in stack_violations(_stack_rule("roles-bounded"), both)]

    assert found == ([] if kind == "STANDARD" else ["all"])
    assert of_others == (["all"] if kind == "STANDARD" else [])


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"Statement": "x"}', ""])
def test_a_policy_that_aws_refuses_is_none(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    text: str,
) -> None:
    role = resource(ROLE, "app", {"assumeRolePolicy": text})

    assert stack_violations(_stack_rule("roles-bounded"), [role]) == []


def test_a_policy_that_is_not_known_is_said(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    role = resource(ROLE_POLICY, "app", {"policy": UNKNOWN_STRING_VALUE})

    with pytest.raises(UnknownValueError):
        stack_violations(_stack_rule("roles-bounded"), [role])


API = {"accessConfig": {"authenticationMode": "API"}}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"type": "EC2_LINUX"}, ""),
        ({"type": "STANDARD"}, "an access entry of the type STANDARD. It must"),
        ({}, "an access entry of the type STANDARD. It must"),
        (None, "which the nodes of class get, has no access entry."),
    ],
)
def test_nodes_of_karpenter_may_join(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
    entry: dict[str, Any] | None,
    says: str,
) -> None:
    role, other = (resource(ROLE, name, {}) for name in ("nodes", "people"))
    node_class = resource(CLASS, "class", NODE_CLASS, uses={"spec": [role]})
    of_people = resource(ACCESS_ENTRY, "e", {"type": "EC2_LINUX"}, uses={"principalArn": [other]})
    stack = [_cluster(resource, **API), role, other, node_class, of_people]
    if entry is not None:
        stack.append(resource(ACCESS_ENTRY, "entry", entry, uses={"principalArn": [role]}))
    rule = _stack_rule("karpenter-nodes-may-join")

    found = stack_violations(rule, stack)

    assert [(name, says in text) for name, text in found] == ([("class", True)] if says else [])
    assert stack_violations(rule, stack[1:]) == []  # a cluster that others let roles into
    assert stack_violations(rule, [_cluster(resource), *stack[1:]]) == []  # by aws-auth


def test_an_access_entry_of_unknown_type_is_said(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    role = resource(ROLE, "nodes", {})
    node_class = resource(CLASS, "class", NODE_CLASS, uses={"spec": [role]})
    props = {"type": UNKNOWN_STRING_VALUE}
    entry = resource(ACCESS_ENTRY, "entry", props, uses={"principalArn": [role]})

    with pytest.raises(UnknownValueError):
        stack_violations(
            _stack_rule("karpenter-nodes-may-join"),
            [_cluster(resource, **API), role, node_class, entry],
        )
