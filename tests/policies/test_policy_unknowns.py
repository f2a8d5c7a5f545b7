"""What is not known yet is said where it may matter, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy import Severity, StackValidationArgs
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError
from tests.policies.registered import violations_of

from gpushare_policies import POLICIES
from gpushare_policies.checks import Unjudged
from gpushare_policies.rule import ResourcePolicy, StackPolicy
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pulumi_policy import PolicyResource

RULES: dict[str, Any] = {rule.name: rule for rule in POLICIES}
LATER = UNKNOWN_STRING_VALUE
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
POD = "kubernetes:core/v1:Pod"
NAMESPACE = "kubernetes:core/v1:Namespace"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
RBAC = "kubernetes:rbac.authorization.k8s.io/v1"
ROLE, BINDING = f"{RBAC}:Role", f"{RBAC}:RoleBinding"
SCALED = "kubernetes:keda.sh/v1alpha1:ScaledObject"
HPA = "kubernetes:autoscaling/v2:HorizontalPodAutoscaler"
NAMED = {"metadata": {"name": "gpu"}}
GPUS = [{"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Exists"}]
NO_GPUS = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]}]
KEPT = [{"key": "team", "effect": "NoSchedule"}]


def pool(requirements: Any = GPUS, taints: Any = None, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"requirements": requirements, "taints": taints}}
    return {**NAMED, "spec": {"template": template, **spec}}


def budgets(*given: Any, **disruption: Any) -> dict[str, Any]:
    return {"disruption": {"budgets": list(given), **disruption}}


def images(*terms: Any) -> dict[str, Any]:
    return {**NAMED, "spec": {"amiSelectorTerms": list(terms)}}


def container(**context: Any) -> dict[str, Any]:
    return {"name": "app", "image": "registry.example/app:1.0", "securityContext": context}


def pod(**spec: Any) -> dict[str, Any]:
    return {**NAMED, "spec": {"containers": [container()], **spec}}


def role(**rule: Any) -> dict[str, Any]:
    whole = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], **rule}
    return {**NAMED, "rules": [whole]}


def binding(*subjects: Any, name: str = "cluster-admin") -> dict[str, Any]:
    reference = {"kind": "ClusterRole", "name": name}
    return {**NAMED, "roleRef": reference, "subjects": list(subjects)}


APP = {"kind": "ServiceAccount", "name": "app", "namespace": "team"}
JANE = {"kind": "User", "name": "jane"}
_MOST = "maxReplicaCount"
OLDER = {"consolidationPolicy": "WhenEmptyOrUnderutilized"}

# Rule, type, properties, and what could not be judged; nothing where the rest decides.
OBJECTS: list[tuple[str, str, dict[str, Any], str]] = [
    ("gpu-node-pools-tainted", NODE_POOL, pool(LATER), "requirements"),
    ("gpu-node-pools-tainted", NODE_POOL, pool(LATER, LATER), "requirements"),
    ("gpu-node-pools-tainted", NODE_POOL, pool(taints=LATER), "taints"),
    ("gpu-node-pools-tainted", NODE_POOL, pool(taints=[LATER]), "taints"),
    ("gpu-node-pools-tainted", NODE_POOL, pool(taints=[{"effect": LATER}]), "taints"),
    ("gpu-node-pools-tainted", NODE_POOL, pool(LATER, KEPT), ""),
    ("gpu-node-pools-tainted", NODE_POOL, pool(NO_GPUS, LATER), ""),
    ("gpu-pools-not-consolidated", NODE_POOL, pool(LATER, disruption=OLDER), "requirements"),
    ("gpu-pools-not-consolidated", NODE_POOL, pool(disruption=LATER), "disruption"),
    (
        "gpu-pools-not-consolidated",
        NODE_POOL,
        pool(disruption={"consolidationPolicy": LATER}),
        "disruption",
    ),
    (
        "gpu-pools-not-consolidated",
        NODE_POOL,
        pool(disruption={"consolidateAfter": LATER}),
        "disruption",
    ),
    (
        "gpu-pools-not-consolidated",
        NODE_POOL,
        pool(LATER, disruption={"consolidationPolicy": "WhenEmpty"}),
        "",
    ),
    ("gpu-pools-not-consolidated", NODE_POOL, pool(NO_GPUS, disruption=LATER), ""),
    ("gpu-pool-budgets", NODE_POOL, pool(LATER, **budgets({"nodes": "100%"})), "requirements"),
    ("gpu-pool-budgets", NODE_POOL, pool(LATER, **budgets(LATER)), "requirements"),
    ("gpu-pool-budgets", NODE_POOL, pool(disruption={"budgets": LATER}), "budgets"),
    ("gpu-pool-budgets", NODE_POOL, pool(**budgets(LATER)), "budgets"),
    ("gpu-pool-budgets", NODE_POOL, pool(**budgets({"nodes": LATER})), "budgets"),
    (
        "gpu-pool-budgets",
        NODE_POOL,
        pool(**budgets({"nodes": "100%", "reasons": LATER})),
        "budgets",
    ),
    ("gpu-pool-budgets", NODE_POOL, pool(LATER), ""),
    ("gpu-pool-budgets", NODE_POOL, pool(NO_GPUS, **budgets(LATER)), ""),
    ("node-ssh-keys", TEMPLATE, {"instanceType": "g5.xlarge", "userData": LATER}, ""),
    ("node-pool-limits", NODE_POOL, {**NAMED, "spec": LATER}, "the spec"),
    ("node-pool-limits", NODE_POOL, pool(limits=LATER), "limits"),
    ("node-pool-limits", NODE_POOL, pool(replicas=LATER), "replicas"),
    ("node-pool-limits", NODE_POOL, pool(replicas=LATER, limits={"cpu": "8"}), ""),
    ("node-pool-limits", NODE_POOL, pool(replicas=3.0), ""),
    ("node-pool-limits", NODE_POOL, pool(limits={"cpu": LATER}), ""),
    ("node-pool-limits", f"{NODE_POOL}Patch", pool(replicas=LATER), ""),
    (
        "node-class-ami-pinned",
        NODE_CLASS,
        {**NAMED, "spec": {"amiSelectorTerms": LATER}},
        "amiSelectorTerms",
    ),
    ("node-class-ami-pinned", NODE_CLASS, images(LATER), "amiSelectorTerms"),
    ("node-class-ami-pinned", NODE_CLASS, images({"alias": LATER}), "amiSelectorTerms"),
    ("pods-not-privileged", POD, {**NAMED, "spec": LATER}, "the pods' spec"),
    ("pods-not-privileged", POD, pod(hostPID=LATER), "hostPID"),
    ("pods-not-privileged", POD, pod(volumes=LATER), "volumes"),
    ("pods-not-privileged", POD, pod(volumes=[LATER]), "volumes"),
    (
        "pods-not-privileged",
        POD,
        pod(volumes=[{"name": "a", "hostPath": {"path": LATER}}]),
        "the hostPath of the volume a",
    ),
    (
        "pods-not-privileged",
        POD,
        pod(containers=[container(privileged=LATER)]),
        "whether the container app is privileged",
    ),
    (
        "pods-not-privileged",
        POD,
        pod(containers=[container(capabilities={"add": LATER})]),
        "capabilities of the container app",
    ),
    (
        "pods-not-privileged",
        POD,
        pod(containers=[container(capabilities={"add": ["IPC_LOCK", LATER]})]),
        "capabilities of the container app",
    ),
    ("pods-not-privileged", POD, pod(volumes=[{"name": LATER, "emptyDir": {}}]), ""),
    ("roles-without-wildcards", ROLE, {**NAMED, "rules": LATER}, "rules"),
    ("roles-without-wildcards", ROLE, {**NAMED, "rules": [LATER]}, "rules"),
    ("roles-without-wildcards", ROLE, role(verbs=LATER), "rules[0]"),
    ("roles-without-wildcards", ROLE, role(resources=["pods", LATER]), "rules[0]"),
    ("roles-without-wildcards", ROLE, role(apiGroups=[LATER]), "rules[0]"),
    ("roles-without-wildcards", ROLE, role(resourceNames=LATER), ""),
    ("service-accounts-not-admin", BINDING, {**binding(), "subjects": LATER}, "subjects"),
    ("service-accounts-not-admin", BINDING, binding(JANE, LATER), "subjects"),
    ("service-accounts-not-admin", BINDING, binding({"kind": LATER, "name": "a"}), "subjects"),
    ("service-accounts-not-admin", BINDING, binding({"kind": "Group", "name": LATER}), "subjects"),
    ("service-accounts-not-admin", BINDING, binding(APP, name=LATER), "roleRef"),
    ("service-accounts-not-admin", BINDING, binding(JANE, name=LATER), ""),
    ("service-accounts-not-admin", BINDING, binding({**JANE, "name": LATER}), ""),
    ("service-accounts-not-admin", BINDING, binding(LATER, name="view"), ""),
    ("roles-not-for-everybody", BINDING, {**binding(), "subjects": LATER}, "subjects"),
    ("roles-not-for-everybody", BINDING, binding(JANE, LATER), "subjects"),
    ("roles-not-for-everybody", BINDING, binding({"kind": "Group", "name": LATER}), ""),
    ("roles-not-for-everybody", BINDING, binding(LATER, name="system:discovery"), ""),
    ("no-human-in-masters", BINDING, binding(JANE, name=LATER), "roleRef"),
    ("no-human-in-masters", BINDING, binding({**JANE, "name": LATER}), "subjects"),
    (
        "autoscalers-bounded",
        SCALED,
        {**NAMED, "spec": {"maxReplicaCount": LATER}},
        "maxReplicaCount",
    ),
    ("autoscalers-bounded", HPA, {**NAMED, "spec": {"maxReplicas": LATER}}, "maxReplicas"),
    (
        "autoscalers-bounded",
        HPA,
        {**NAMED, "spec": {"maxReplicas": 8.0, "minReplicas": LATER}},
        "the least number of pods",
    ),
    ("time-slicing-replicas", NODE_CLASS, {**NAMED, "spec": {"userData": LATER}}, "userData"),
]


@pytest.mark.parametrize(("rule", "token", "props", "what"), OBJECTS)
def test_what_is_not_known_of_an_object(
    rule: str, token: str, props: dict[str, Any], what: str, violations: Callable[..., list[str]]
) -> None:
    if not what:
        assert violations(RULES[rule], token, props) == []
        return
    with pytest.raises(UnknownValueError) as raised:
        violations(RULES[rule], token, props)
    said = raised.value.message.removeprefix("could not be judged: ").split("; ")
    kind = token.rpartition(":")[2].removesuffix("Patch")
    assert f"{what} of the {kind} gpu" in said


def test_what_is_known_beside_it_is_judged(violations: Callable[..., list[str]]) -> None:
    wrong = [
        ("pods-not-privileged", POD, pod(containers=[{**container(privileged=True), "image": 1}])),
        ("service-accounts-not-admin", BINDING, binding({**APP, "name": LATER})),
        (
            "roles-without-wildcards",
            ROLE,
            role(apiGroups=[LATER], resources=["secrets", LATER], verbs=["*"]),
        ),
    ]
    messages = [violations(RULES[rule], token, props) for rule, token, props in wrong]

    assert [len(each) for each in messages] == [1, 1, 1]
    assert "gives a service account that is yet to be named the role" in messages[1][0]
    assert "allows every verb on secrets (rules[0])" in messages[2][0]


# --- several resources ----------------------------------------------------------------------------

DEPLOYMENT, QUOTA = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:ResourceQuota"
BUDGET = "kubernetes:policy/v1:PodDisruptionBudget"
TRAFFIC = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
Made = tuple[str, dict[str, Any]]


def server(replicas: Any = 3.0, labels: Any = None, **gpu: Any) -> Made:
    one = {"name": "app", "resources": gpu or {"limits": {"nvidia.com/gpu": 1.0}}}
    template = {"metadata": {"labels": labels or {"app": "a"}}, "spec": {"containers": [one]}}
    metadata = {"name": "app", "namespace": "team"}
    return DEPLOYMENT, {"metadata": metadata, "spec": {"replicas": replicas, "template": template}}


def budget(selector: Any, namespace: Any = "team") -> Made:
    metadata = {"name": "app", "namespace": namespace}
    return BUDGET, {"metadata": metadata, "spec": {"selector": selector}}


def tenant(labels: Any = None, name: Any = "team") -> Made:
    given = {"eks-gpushare.io/tenant": "team"} if labels is None else labels
    return NAMESPACE, {"metadata": {"name": name, "labels": given}}


def quota(hard: Any, namespace: Any = "team") -> Made:
    return QUOTA, {"metadata": {"name": "q", "namespace": namespace}, "spec": {"hard": hard}}


def traffic(*ingress: Any, **spec: Any) -> Made:
    whole = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": list(ingress), **spec}
    return TRAFFIC, {"metadata": {"name": "t", "namespace": "team"}, "spec": whole}


def peers(*given: Any) -> dict[str, Any]:
    return {"from": list(given)}


APPS = {"matchLabels": {"app": "a"}}
HIDDEN_PODS = "whether the Deployment app has several pods with GPUs"
HIDDEN_BUDGETS = "the disruption budgets of the Deployment app"
HIDDEN_TRAFFIC = "the network policies of the namespace team"
HIDDEN_QUOTAS = "the quotas of the namespace team"
KEEP, DENY = "gpu-workloads-keep-pods", "tenant-namespaces-deny-traffic"
LIMIT = "tenant-namespaces-with-quota"

# Rule, resources, and what could not be judged; an empty text where nothing is wrong, and None
# where something is for certain.
STACKS: list[tuple[str, list[Made], str | None]] = [
    (KEEP, [server(LATER)], HIDDEN_PODS),
    (KEEP, [server(limits=LATER)], HIDDEN_PODS),
    (KEEP, [server(requests=LATER)], HIDDEN_PODS),
    (KEEP, [server(LATER, limits={"cpu": 1.0})], ""),
    (KEEP, [server(1.0, limits=LATER)], ""),
    (KEEP, [server(LATER), budget(APPS)], ""),
    (KEEP, [server(), budget({"matchLabels": {"app": LATER}})], HIDDEN_BUDGETS),
    (KEEP, [server(), budget({"matchLabels": LATER})], HIDDEN_BUDGETS),
    (KEEP, [server(), budget({"matchExpressions": LATER})], HIDDEN_BUDGETS),
    (KEEP, [server(), budget(LATER)], HIDDEN_BUDGETS),
    (KEEP, [server(), budget(APPS, LATER)], HIDDEN_BUDGETS),
    (KEEP, [server(labels=LATER), budget(APPS)], HIDDEN_BUDGETS),
    (KEEP, [server(labels={"app": LATER}), budget(APPS)], HIDDEN_BUDGETS),
    (KEEP, [server(labels=LATER), budget({})], ""),
    (KEEP, [server(labels={"app": "a", "run": LATER}), budget(APPS)], ""),
    (KEEP, [server(), budget(LATER, "other")], None),
    (KEEP, [server(), budget({"matchLabels": {"app": "b"}}, LATER)], None),
    (DENY, [tenant(LATER)], "the labels of the namespace team"),
    (DENY, [tenant(LATER, LATER)], "the labels of the namespace that is yet to be named"),
    (DENY, [tenant(), traffic(podSelector=LATER)], HIDDEN_TRAFFIC),
    (DENY, [tenant(), traffic(podSelector={"matchLabels": LATER})], HIDDEN_TRAFFIC),
    (DENY, [tenant(), traffic(policyTypes=LATER)], HIDDEN_TRAFFIC),
    (DENY, [tenant(), traffic(policyTypes=["Egress", LATER])], HIDDEN_TRAFFIC),
    (DENY, [tenant(), traffic(policyTypes=["Ingress", LATER])], ""),
    (DENY, [tenant(), traffic(ingress=LATER)], HIDDEN_TRAFFIC),
    (DENY, [tenant(), traffic(LATER)], HIDDEN_TRAFFIC),
    (DENY, [tenant(), traffic({"from": LATER})], HIDDEN_TRAFFIC),
    (DENY, [tenant(), traffic(peers({"namespaceSelector": LATER}))], HIDDEN_TRAFFIC),
    (
        DENY,
        [tenant(), traffic(peers({"namespaceSelector": {"matchLabels": LATER}}))],
        HIDDEN_TRAFFIC,
    ),
    (DENY, [tenant(), traffic(peers({"ipBlock": {"cidr": LATER}}))], HIDDEN_TRAFFIC),
    (DENY, [tenant(), traffic(peers({"podSelector": LATER}))], ""),
    (DENY, [tenant(), traffic(LATER, {})], None),
    (DENY, [tenant(), traffic(LATER, policyTypes=["Egress"])], None),
    (DENY, [tenant(), traffic(podSelector={"matchLabels": {"app": LATER}})], None),
    (DENY, [tenant(), traffic(LATER), traffic()], ""),
    (LIMIT, [tenant(), quota(LATER)], HIDDEN_QUOTAS),
    (LIMIT, [tenant(), quota({"requests.nvidia.com/gpu": LATER})], ""),
    (LIMIT, [tenant(), quota({"requests.nvidia.com/gpu": 4.0}, LATER)], ""),
    (LIMIT, [tenant(), quota({"cpu": LATER}, LATER)], None),
    (LIMIT, [tenant({"team": LATER})], ""),
]


@pytest.mark.parametrize(("rule", "made", "what"), STACKS)
def test_what_is_not_known_of_several_resources(
    rule: str,
    made: list[Made],
    what: str | None,
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    resources = [resource(token, str(index), props) for index, (token, props) in enumerate(made)]
    if not what:
        assert bool(stack_violations(RULES[rule], resources)) is (what is None)
        return
    with pytest.raises(UnknownValueError) as raised:
        stack_violations(RULES[rule], resources)
    assert raised.value.message == f"could not be judged: {what}"


CAPACITY = "karpenter.sh/capacity-type"


def capacity(operator: Any, *values: Any) -> dict[str, Any]:
    return {"key": CAPACITY, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("requirements", "spot"),
    [
        ([capacity("In", "spot")], True),
        ([capacity("In", "on-demand")], False),
        ([capacity("In", "on-demand"), LATER], False),
        ([capacity("In", "spot"), capacity("In", "on-demand")], False),
        ([{"key": CAPACITY, "operator": "In", "values": LATER}], None),
        ([capacity("In", "spot", LATER)], True),
        ([capacity("In", "on-demand", LATER)], None),
        ([capacity(LATER, "spot")], None),
        ([capacity("DoesNotExist")], False),
        ([LATER], None),
        (LATER, None),
        ([{"key": LATER, "operator": "In", "values": ["spot"]}], None),
        ([], True),
        (None, False),
    ],
)
def test_spot_of_karpenter_is_told_if_all_that_decides_is_known(
    violations: Callable[..., list[str]], requirements: Any, spot: bool | None
) -> None:
    def verdict() -> bool | None:
        try:
            return bool(violations(RULES["spot-not-in-production"], NODE_POOL, pool(requirements)))
        except UnknownValueError:
            return None

    assert verdict() is spot


def test_what_a_rule_cannot_judge_is_said_together_with_where_it_ended() -> None:
    def unseen() -> Iterator[tuple[str, str] | Unjudged]:
        yield Unjudged("the one")
        raise UnknownValueError(LATER, ["other"])

    def ended() -> Iterator[tuple[str, str] | Unjudged]:
        yield "message", "urn"
        raise UnknownValueError(LATER, ["other"])

    def told(check: Callable[[], Iterator[tuple[str, str] | Unjudged]]) -> str:
        rule = StackPolicy(
            "a", "b", check=lambda _: check(), applies_to=(), severity=Severity.LOW,
            fix=Fix("c", "d", "e"),
        )  # fmt: skip
        assert rule.messages_say_fixes
        assert rule.reads_only
        with pytest.raises(UnknownValueError) as raised:
            rule.validate(StackValidationArgs([], None), lambda *_: None)
        return raised.value.message

    assert told(unseen).startswith("could not be judged: ")
    assert told(unseen).endswith("; the one")
    assert "could not be judged" not in told(ended)


def test_a_rule_that_is_made_says_its_fixes_and_leaves_what_it_is_given() -> None:
    rule = ResourcePolicy("a", "b", checks={}, severity=Severity.LOW, fix=Fix("c", "d", "e"))

    assert rule.messages_say_fixes
    assert rule.reads_only


@pytest.mark.parametrize(("stack", "said"), [("dev", []), ("prod", ["ami-versions-pinned"])])
def test_a_rule_for_production_says_nothing_of_what_other_stacks_do_not_know(
    stack: str, said: list[str]
) -> None:
    template = {"instanceType": "g5.xlarge", "imageId": LATER}

    found = violations_of(stack, [(TEMPLATE, "nodes", template)])

    assert [each.policy for each in found if each.policy == "ami-versions-pinned"] == said
