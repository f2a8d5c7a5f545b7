"""Rules for what mutants of stacks showed to be seen by none: a right stack, then mistakes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from gpushare_policies import POLICIES
from gpushare_policies.tokens import AWS_CLUSTER, NODE_GROUP, RELEASE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pulumi_policy import PolicyResource

RULES: dict[str, Any] = {rule.name: rule for rule in POLICIES}
CLASS, POOL = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", "kubernetes:karpenter.sh/v1:NodePool"
OVERLAY = "kubernetes:karpenter.sh/v1alpha1:NodeOverlay"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
RBAC = "kubernetes:rbac.authorization.k8s.io/v1"
ROLE, BINDING = f"{RBAC}:ClusterRole", f"{RBAC}:ClusterRoleBinding"

Made = tuple[str, str, dict[str, Any]]


@pytest.fixture
def said(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> Callable[[str, list[Made]], list[str]]:
    """`said(rule, resources)` are the messages of a rule."""

    def run(rule: str, made: list[Made]) -> list[str]:
        found = [resource(token, name, props) for token, name, props in made]
        return [message for _, message in stack_violations(RULES[rule], found)]

    return run


def at(whole: Any, path: str, value: Any) -> Any:
    """A copy with another value at a path; None takes the key out."""
    changed = copy.deepcopy(whole)
    *above, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    holder = changed
    for part in above:
        holder = holder[part]
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return changed


# --- MIG's startup taint ------------------------------------------------------------------------

REMOVER: list[Made] = [
    (
        DEPLOYMENT,
        "remover",
        {
            "metadata": {"name": "remover", "namespace": "gpu-operator"},
            "spec": {
                "template": {
                    "spec": {
                        "serviceAccountName": "remover",
                        "containers": [{"command": ["python", "/opt/x/mig_taint_remover.py"]}],
                    }
                }
            },
        },
    ),
    (
        ROLE,
        "role",
        {
            "metadata": {"name": "remover"},
            "rules": [
                {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "patch", "watch"]}
            ],
        },
    ),
    (
        BINDING,
        "binding",
        {
            "metadata": {"name": "remover"},
            "roleRef": {"kind": "ClusterRole", "name": "remover"},
            "subjects": [
                {"kind": "ServiceAccount", "name": "remover", "namespace": "gpu-operator"}
            ],
        },
    ),
]


@pytest.mark.parametrize(
    ("path", "value", "lacking"),
    [
        ("1.2.rules.0.verbs", ["get", "patch", "list", "watch"], ""),
        ("1.2.rules.0.verbs", ["*"], ""),
        ("1.2.rules.0.resources", ["*"], ""),
        ("0.2.spec.template.spec.containers.0.command", ["python", "other.py"], ""),
        ("1.2.rules", [], "list, patch, watch"),
        ("1.2.rules.0.verbs", ["list", "watch"], "patch"),
        ("1.2.rules.0.resources", ["nodes/status"], "list, patch, watch"),
        ("1.2.rules.0.apiGroups", ["apps"], "list, patch, watch"),
        ("1.2.rules.0.resourceNames", ["one"], "list, patch, watch"),
        ("1.2.metadata.name", "other", "list, patch, watch"),
        ("2.2.roleRef.name", "other", "list, patch, watch"),
        ("2.2.roleRef.kind", "Role", "list, patch, watch"),
        ("2.2.subjects", [], "list, patch, watch"),
        ("2.2.subjects.0.name", "other", "list, patch, watch"),
        ("2.2.subjects.0.namespace", "default", "list, patch, watch"),
        ("2.2.subjects.0.kind", "User", "list, patch, watch"),
        ("0.2.spec.template.spec.serviceAccountName", None, "list, patch, watch"),
        ("0.2.metadata.namespace", "other", "list, patch, watch"),
    ],
)
def test_what_takes_the_startup_taint_off_may_do_so(
    said: Callable[[str, list[Made]], list[str]], path: str, value: Any, lacking: str
) -> None:
    found = said("mig-taint-taken-off", at(REMOVER, path, value))

    assert [f"may not {lacking} nodes" in each for each in found] == ([True] if lacking else [])


@pytest.mark.parametrize(
    ("command", "is_remover"),
    [
        (["python", "/opt/x/mig_taint_remover.py"], True),
        (["sh", "-c", "mig_taint_remover.py"], True),
        (["python", "other.py"], False),
        (["python", "/opt/x/mig_taint_remover.py.bak"], False),
        ([], False),
    ],
)
def test_other_programs_need_no_rights(
    said: Callable[[str, list[Made]], list[str]], command: list[str], is_remover: bool
) -> None:
    made = at(REMOVER, "0.2.spec.template.spec.containers.0.command", command)

    assert bool(said("mig-taint-taken-off", made[:1])) is is_remover


def test_rights_that_are_not_known_are_not_missed(
    said: Callable[[str, list[Made]], list[str]],
) -> None:
    for path in ("1.2.rules.0.verbs.0", "2.2.subjects.0.name", "2.2.roleRef.name"):
        with pytest.raises(UnknownValueError) as raised:
            said("mig-taint-taken-off", at(REMOVER, path, UNKNOWN_STRING_VALUE))
        assert "the rights of remover" in raised.value.message


# --- everybody ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "role", "is_wrong"),
    [
        ("Group", "system:authenticated", "remover", True),
        ("Group", "system:unauthenticated", "view", True),
        ("User", "system:anonymous", "view", True),
        ("Group", "system:serviceaccounts", "view", True),
        ("Group", "system:serviceaccounts:team", "view", False),
        ("Group", "platform", "view", False),
        ("User", "system:authenticated", "view", False),
        ("Group", "system:authenticated", "system:basic-user", False),
    ],
)
def test_no_role_is_for_everybody(
    violations: Callable[..., list[str]], kind: str, name: str, role: str, *, is_wrong: bool
) -> None:
    props = {
        "roleRef": {"kind": "ClusterRole", "name": role},
        "subjects": [{"kind": kind, "name": name}],
    }
    for token in (BINDING, f"{RBAC}:RoleBinding"):
        found = violations(RULES["roles-not-for-everybody"], token, props)

        assert [f"{kind.lower()} {name} the role {role}" in each for each in found] == (
            [True] if is_wrong else []
        )


# --- volumes of node classes --------------------------------------------------------------------

GPUS = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}]
HIDDEN = UNKNOWN_STRING_VALUE
NO_GPUS = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.xlarge"]}]


def node_pool(requirements: Any, name: str = "gpu", node_class: str = "gpu") -> Made:
    spec = {"requirements": requirements, "nodeClassRef": {"name": node_class}}
    return POOL, name, {"metadata": {"name": name}, "spec": {"template": {"spec": spec}}}


def snapshot(size: Any) -> Made:
    ebs = {"snapshotID": "snap-1", **({} if size is None else {"volumeSize": size})}
    mappings = [{"ebs": ebs}]
    return CLASS, "class", {"metadata": {"name": "gpu"}, "spec": {"blockDeviceMappings": mappings}}


def volumes(*sizes: Any) -> Made:
    mappings = [{"ebs": {} if size is None else {"volumeSize": size}} for size in sizes]
    given = {"blockDeviceMappings": mappings} if sizes else {}
    return CLASS, "class", {"metadata": {"name": "gpu"}, "spec": given}


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ([volumes("100Gi"), node_pool(GPUS)], ""),
        ([volumes("4Gi", "200Gi"), node_pool(GPUS)], ""),
        ([volumes("110G"), node_pool(GPUS)], ""),
        ([volumes("8Gi"), node_pool(NO_GPUS)], ""),
        ([volumes("8Gi"), node_pool(GPUS, node_class="other")], ""),
        ([volumes("8Gi")], ""),
        ([volumes("8Gi"), node_pool(GPUS)], "a largest volume of 8 GiB"),
        ([volumes("100G"), node_pool(GPUS)], "a largest volume of 93.1"),
        ([volumes("4Gi", "20Gi"), node_pool(GPUS)], "a largest volume of 20 GiB"),
        ([volumes("200"), node_pool(GPUS)], "a largest volume of 1.86"),  # bytes
        ([volumes(), node_pool(GPUS)], "no volume size, and Karpenter's default is 20 GiB"),
        ([volumes(None), node_pool(GPUS)], "no volume size"),
        ([volumes("8Gi"), node_pool(NO_GPUS, "system"), node_pool(GPUS)], "8 GiB"),
        ([volumes("8Gi"), node_pool(GPUS), node_pool(NO_GPUS, "system")], "8 GiB"),
        ([volumes("8Gi"), node_pool(GPUS), node_pool(HIDDEN, "some")], "8 GiB"),
        ([volumes("8Gi"), node_pool(HIDDEN, "some"), node_pool(GPUS)], "8 GiB"),
        ([volumes("200Gi"), node_pool(HIDDEN, "some")], ""),
        ([snapshot(None), node_pool(GPUS)], ""),
        ([snapshot("8Gi"), node_pool(GPUS)], "8 GiB"),
    ],
)
def test_karpenters_gpu_nodes_have_room(
    said: Callable[[str, list[Made]], list[str]], made: list[Made], says: str
) -> None:
    found = said("node-class-volume-size", made)

    assert [says in each for each in found] == ([True] if says else [])


def test_a_volume_that_is_not_known_is_not_judged(
    said: Callable[[str, list[Made]], list[str]],
) -> None:
    with pytest.raises(UnknownValueError) as raised:
        said("node-class-volume-size", [volumes(UNKNOWN_STRING_VALUE), node_pool(GPUS)])
    assert "the volumes of the EC2NodeClass" in raised.value.message
    with pytest.raises(UnknownValueError) as raised:
        said("node-class-volume-size", [volumes("8Gi"), node_pool(HIDDEN)])
    assert "the requirements of a NodePool of the EC2NodeClass class" in raised.value.message


# --- autoscalers of nodes -----------------------------------------------------------------------

GROUP = {
    "nodeGroupName": "gpu-2f2da87",
    "instanceTypes": ["g5.xlarge"],
    "scalingConfig": {"minSize": 0, "maxSize": 10, "desiredSize": 0},
}


def autoscaler(tag: Any = "v1.35.2", **group: Any) -> list[Made]:
    groups = [{"name": "eks-gpu-2f2da87-2f2da870", "minSize": 0, "maxSize": 10, **group}]
    values = {"autoscalingGroups": groups, "image": {"tag": tag}}
    return [
        (AWS_CLUSTER, "cluster", {"name": "demo", "version": "1.35"}),
        (NODE_GROUP, "gpu", GROUP),
        (RELEASE, "autoscaler", {"chart": "cluster-autoscaler", "values": values}),
    ]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (autoscaler(), ""),
        (autoscaler(tag="1.35.0"), ""),
        (autoscaler(tag="sha-abc"), ""),
        (autoscaler(name="eks-gpu-2f2da87-1c2d3e4f-1111-2222-3333-444455556666"), ""),
        (autoscaler(name="other", maxSize=3), ""),
        (autoscaler(name="eks-gpu-2f2da87-1c2d3e4f-1111-2222-3333-444455556666", maxSize=9), "9"),
        (autoscaler(maxSize=9), "maxSize of the group eks-gpu-2f2da87-2f2da870 for 9"),
        (autoscaler(maxSize="11"), "for 11, and the"),
        (autoscaler(minSize=1), "minSize of the group eks-gpu-2f2da87-2f2da870 for 1"),
        (autoscaler(tag="v1.29.0"), "is v1.29.0, and its cluster of Kubernetes 1.35"),
        (autoscaler(tag="1.36"), "is 1.36, and its cluster"),
    ],
)
def test_the_cluster_autoscaler_knows_groups_and_scheduler(
    said: Callable[[str, list[Made]], list[str]], made: list[Made], says: str
) -> None:
    found = said("cluster-autoscaler-agrees", made)

    assert [says in each for each in found] == ([True] if says else [])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--nodes=0:10:eks-gpu-2f2da87-2f2da870", ""),
        ("--nodes=0:40:eks-gpu-2f2da87-2f2da870", "0 to 40 nodes"),
        ("--nodes=0:40:other", ""),
    ],
)
def test_an_autoscaler_in_words_knows_its_groups(
    said: Callable[[str, list[Made]], list[str]], words: str, says: str
) -> None:
    container = {
        "name": "main",
        "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0",
        "command": ["./cluster-autoscaler", words],
    }
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    body = {"metadata": {"name": "ca", "namespace": "kube-system"}, "spec": {"template": template}}
    cluster, group, _ = autoscaler()
    found = said(
        "cluster-autoscaler-agrees",
        [cluster, group, ("kubernetes:apps/v1:Deployment", "ca", body)],
    )

    assert [says in each for each in found] == ([True] if says else [])


def test_a_group_that_is_not_named_yet_is_not_judged(
    said: Callable[[str, list[Made]], list[str]],
) -> None:
    with pytest.raises(UnknownValueError) as raised:
        said("cluster-autoscaler-agrees", autoscaler(name=UNKNOWN_STRING_VALUE, maxSize=9))
    assert "the name of a group of the Release autoscaler" in raised.value.message


@pytest.mark.parametrize(
    ("version", "beside", "says"),
    [
        ("1.14.1", [node_pool(GPUS), (OVERLAY, "shares", {"metadata": {"name": "a"}})], ""),
        ("0.37.0", [], "clusters of Kubernetes 1.35 need 1.9.0"),
        ("1.8.9", [node_pool(GPUS)], "clusters of Kubernetes 1.35 need 1.9.0"),
        ("v1.9.0", [node_pool(GPUS)], ""),
        (">=0.37.0", [node_pool(GPUS)], ""),
    ],
)
def test_karpenter_is_new_enough(
    said: Callable[[str, list[Made]], list[str]], version: str, beside: list[Made], says: str
) -> None:
    settings = {"clusterName": "demo", "featureGates": {"nodeOverlay": True}}
    chart = {"chart": "karpenter", "version": version, "values": {"settings": settings}}
    cluster = (AWS_CLUSTER, "cluster", {"name": "demo", "version": "1.35"})
    found = said("karpenter-settings-agree", [cluster, (RELEASE, "karpenter", chart), *beside])

    assert [says in each for each in found] == ([True] if says else [])


@pytest.mark.parametrize(
    ("version", "beside", "says"),
    [
        ("0.37.0", [node_pool(GPUS)], "the objects of version v1 of this stack need 1.0.0"),
        ("1.6.9", [(OVERLAY, "shares", {"metadata": {"name": "a"}})], "NodeOverlays of this stack"),
        ("1.7.0", [(OVERLAY, "shares", {"metadata": {"name": "a"}})], ""),
        ("0.37.0", [], ""),
    ],
)
def test_karpenter_reads_what_is_made_for_it(
    said: Callable[[str, list[Made]], list[str]], version: str, beside: list[Made], says: str
) -> None:
    """In a cluster of which nothing is known."""
    settings = {"clusterName": "demo", "featureGates": {"nodeOverlay": True}}
    chart = {"chart": "karpenter", "version": version, "values": {"settings": settings}}
    found = said("karpenter-settings-agree", [(RELEASE, "karpenter", chart), *beside])

    assert [says in each for each in found] == ([True] if says else [])


# --- faults of GPUs -----------------------------------------------------------------------------

ADDON = "aws:eks/addon:Addon"
ANY_GPU_TAINT = '[{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]'


def agent(configuration: Any, addon: str = "eks-node-monitoring-agent") -> Made:
    given = {} if configuration is None else {"configurationValues": configuration}
    return ADDON, "agent", {"addonName": addon, "clusterName": "demo", **given}


def tainted(instance_type: str = "g5.xlarge", effect: str = "NO_SCHEDULE") -> Made:
    taints = [{"key": "nvidia.com/gpu", "value": "true", "effect": effect}]
    return NODE_GROUP, "gpu", {**GROUP, "instanceTypes": [instance_type], "taints": taints}


@pytest.mark.parametrize(
    ("made", "is_wrong"),
    [
        ([agent(f'{{"dcgmAgent": {{"tolerations": {ANY_GPU_TAINT}}}}}'), tainted()], False),
        ([agent(f"dcgmAgent:\n  tolerations: {ANY_GPU_TAINT}\n"), tainted()], False),
        ([agent('{"dcgmAgent": {"tolerations": [{"operator": "Exists"}]}}'), tainted()], False),
        ([agent(None), (NODE_GROUP, "gpu", GROUP)], False),
        ([agent(None), tainted("m5.large")], False),
        ([agent(None), tainted("g5g.xlarge")], False),
        ([agent(None), tainted(effect="PREFER_NO_SCHEDULE")], False),
        ([agent(None, "coredns"), tainted()], False),
        ([tainted()], False),
        ([agent(None), tainted()], True),
        ([agent(""), tainted()], True),
        ([agent("{}"), tainted()], True),
        ([agent('{"dcgmAgent": {"tolerations": [{"key": "other"}]}}'), tainted()], True),
        ([agent(f'{{"nodeAgent": {{"tolerations": {ANY_GPU_TAINT}}}}}'), tainted()], True),
    ],
)
def test_eks_looks_for_faults_on_gpu_nodes(
    said: Callable[[str, list[Made]], list[str]], made: list[Made], *, is_wrong: bool
) -> None:
    found = said("gpu-faults-seen", made)

    assert ["taint nvidia.com/gpu=true:NoSchedule of" in each for each in found] == (
        [True] if is_wrong else []
    )


@pytest.mark.parametrize(
    ("configuration", "group", "what"),
    [
        (UNKNOWN_STRING_VALUE, {}, "the configuration of the add-on agent"),
        ("{", {}, "the configuration of the add-on agent"),
        (None, {"clusterName": "other"}, "which of the clusters agent is of"),
    ],
)
def test_what_an_agent_tolerates_and_where_may_not_be_known(
    said: Callable[[str, list[Made]], list[str]],
    configuration: Any,
    group: dict[str, Any],
    what: str,
) -> None:
    token, _, props = tainted()
    first = (token, "gpu", {**props, "clusterName": "demo"})
    made = [agent(configuration), first, (token, "second", {**props, **group})]
    with pytest.raises(UnknownValueError) as raised:
        said("gpu-faults-seen", made)

    assert raised.value.message == f"could not be judged: {what}"
