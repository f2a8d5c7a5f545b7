"""Rules on Kubernetes objects: a valid one, then one broken field at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies import POLICIES
from gpushare_policies.reading.containers import Container
from gpushare_policies.reading.node_images import works_on_nodes
from gpushare_policies.rule import ResourcePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RULES = {rule.name: rule for rule in POLICIES if isinstance(rule, ResourcePolicy)}
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
POD, JOB = "kubernetes:core/v1:Pod", "kubernetes:batch/v1:CronJob"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
SCALED = "kubernetes:keda.sh/v1alpha1:ScaledObject"
HPA = "kubernetes:autoscaling/v2:HorizontalPodAutoscaler"
ROLE = "kubernetes:rbac.authorization.k8s.io/v1:Role"
CLUSTER_ROLE = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"
BINDING = "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding"
CLUSTER_BINDING = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding"

Path = tuple[str | int, ...]
_SPEC: Path = ("spec", "template", "spec")
_APP: Path = (*_SPEC, "containers", 0)
_VOLUME: Path = (*_SPEC, "volumes", 1, "hostPath", "path")
_DISRUPTION: Path = ("spec", "disruption")
_TAINTS: Path = ("spec", "template", "spec", "taints")
_TERM: Path = ("spec", "amiSelectorTerms")
_KEYED = "#cloud-config\nssh_authorized_keys:\n  - ssh-ed25519 AAAA ops\n"
ADMIN = {"kind": "ClusterRole", "name": "cluster-admin"}

# Rule, type, path, value, and what the message says.
RELEASE = "kubernetes:helm.sh/v3:Release"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
_SLICES = "sharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
_REFUSING = _SLICES.replace("    res", "    failRequestsGreaterThanOne: true\n    res")
_MPS = _SLICES.replace("timeSlicing", "mps")

BROKEN: list[tuple[str, str, Path, Any, str]] = [
    ("several-shares-refused", CONFIG_MAP, ("data", "gpu"), _SLICES, "of the ConfigMap sharing-1a"),
    (
        "several-shares-refused",
        RELEASE,
        ("values", "config"),
        {"map": {"gpu": _MPS.replace("    res", "    failRequestsGreaterThanOne: false\n    res")}},
        "The key gpu of the values of gpu",
    ),
    (
        "device-plugin-unprivileged",
        RELEASE,
        ("values", "compatWithCPUManager"),
        True,
        "set compatWithCPUManager",
    ),
    (
        "device-plugin-unprivileged",
        RELEASE,
        ("values", "securityContext"),
        {"privileged": True},
        "set securityContext.privileged",
    ),
    ("images-pinned", DEPLOYMENT, (*_APP, "image"), "app", "with no tag"),
    ("images-pinned", DEPLOYMENT, (*_APP, "image"), "app:latest", "with the tag latest"),
    ("images-pinned", DEPLOYMENT, (*_APP, "image"), "r.example:5000/app", "with no tag"),
    ("images-pinned", DEPLOYMENT, (*_APP, "image"), "r.example/app:Main", "with the tag Main"),
    (
        "images-pinned",
        JOB,
        ("spec", "jobTemplate", *_SPEC, "initContainers", 0, "image"),
        "init:nightly",
        "The container init of the CronJob gpu",
    ),
    ("images-pinned", POD, ("spec", "containers", 0, "image"), "app", "the Pod gpu"),
    ("pods-not-privileged", DEPLOYMENT, (*_APP, "securityContext", "privileged"), True, "priv"),
    ("pods-not-privileged", DEPLOYMENT, (*_SPEC, "hostPID"), True, "has hostPID"),
    ("pods-not-privileged", DEPLOYMENT, (*_SPEC, "hostIPC"), True, "has hostIPC"),
    ("pods-not-privileged", DEPLOYMENT, (*_SPEC, "hostNetwork"), True, "has hostNetwork"),
    ("pods-not-privileged", DEPLOYMENT, _VOLUME, "/dev/nvidia0", "mounts /dev/nvidia0"),
    ("pods-not-privileged", DEPLOYMENT, _VOLUME, "/", "mounts / of its node"),
    ("pods-not-privileged", DEPLOYMENT, _VOLUME, "/var/log/../../dev", "mounts /var/log/../"),
    ("pods-not-privileged", DEPLOYMENT, _VOLUME, "//proc/", "mounts //proc/"),
    ("pods-not-privileged", DEPLOYMENT, _VOLUME, "/run/containerd/containerd.sock", "mounts"),
    (
        "pods-not-privileged",
        DEPLOYMENT,
        (*_APP, "securityContext", "capabilities"),
        {"add": ["CAP_SYS_ADMIN"]},
        "adds the capability CAP_SYS_ADMIN",
    ),
    ("node-pool-limits", NODE_POOL, ("spec", "limits"), None, "has no limits"),
    ("node-pool-limits", NODE_POOL, ("spec", "limits"), {}, "has no limits"),
    ("node-pool-limits", NODE_POOL, ("spec", "limits"), {"cpu": None}, "has no limits"),
    (
        "gpu-pools-not-consolidated",
        NODE_POOL,
        (*_DISRUPTION, "consolidationPolicy"),
        "WhenEmptyOrUnderutilized",
        "has the consolidationPolicy WhenEmptyOrUnderutilized. It must be WhenEmpty",
    ),
    ("gpu-pools-not-consolidated", NODE_POOL, _DISRUPTION, None, "has no consolidationPolicy"),
    ("gpu-pool-budgets", NODE_POOL, (*_DISRUPTION, "budgets"), [{"nodes": "100%"}], "100%"),
    ("gpu-pool-budgets", NODE_POOL, (*_DISRUPTION, "budgets"), [], "none is for it"),
    (
        "gpu-pool-budgets",
        NODE_POOL,
        (*_DISRUPTION, "budgets"),
        [{"nodes": "0", "schedule": "@daily", "duration": "8h"}, {"nodes": "80%"}],
        "80%",
    ),
    ("node-class-ami-pinned", NODE_CLASS, _TERM, [{"alias": "al2023@latest"}], "al2023@latest"),
    ("node-class-ami-pinned", NODE_CLASS, _TERM, [{"alias": "bottlerocket@latest"}], "@latest"),
    ("node-class-ami-pinned", NODE_CLASS, _TERM, [{"name": "my-gpu-*"}], "the name my-gpu-*"),
    ("node-class-ami-pinned", NODE_CLASS, _TERM, [{"tags": {"team": "ml"}}], "tags alone"),
    ("node-class-ami-pinned", NODE_CLASS, _TERM, None, "no amiSelectorTerms"),
    ("node-ssh-keys", NODE_CLASS, ("spec", "userData"), _KEYED, "puts its SSH key"),
    (
        "node-class-ami-pinned",
        NODE_CLASS,
        _TERM,
        [{"ssmParameter": "/aws/service/eks/optimized-ami/1.35/nvidia/recommended/image_id"}],
        "the parameter /aws/service",
    ),
    (
        "node-class-ami-pinned",
        NODE_CLASS,
        _TERM,
        [{"ssmParameter": "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/latest/image_id"}],
        "the parameter /aws/service/bottlerocket",
    ),
    ("gpu-node-pools-tainted", NODE_POOL, _TAINTS, None, "makes GPU nodes without a taint"),
    ("gpu-node-pools-tainted", NODE_POOL, _TAINTS, [], "makes GPU nodes without a taint"),
    (
        "spot-not-in-production",
        NODE_POOL,
        ("spec", "template", "spec", "requirements"),
        [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
        "runs Spot instances",
    ),
    (
        "gpu-node-pools-tainted",
        NODE_POOL,
        _TAINTS,
        [{"key": "nvidia.com/gpu", "effect": "PreferNoSchedule"}],
        "makes GPU nodes without a taint",
    ),
    (  # as EKS spells it, which Kubernetes does not know
        "gpu-node-pools-tainted",
        NODE_POOL,
        _TAINTS,
        [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
        "makes GPU nodes without a taint",
    ),
    (
        "node-class-imdsv2",
        NODE_CLASS,
        ("spec", "metadataOptions"),
        {"httpTokens": "optional"},
        "has httpTokens optional",
    ),
    (
        "node-class-volumes-encrypted",
        NODE_CLASS,
        ("spec", "blockDeviceMappings"),
        [{"ebs": {"encrypted": False}}],
        "has encrypted false",
    ),
    (
        "node-class-without-public-address",
        NODE_CLASS,
        ("spec", "associatePublicIPAddress"),
        True,
        "gives its nodes a public IP address",
    ),
    ("autoscalers-bounded", SCALED, ("spec", "maxReplicaCount"), None, "up to 100 pods"),
    ("autoscalers-bounded", SCALED, ("spec", "maxReplicaCount"), 500.0, "at most 100"),
    ("autoscalers-bounded", SCALED, ("spec", "minReplicaCount"), 9.0, "at least 9 pods"),
    ("autoscalers-bounded", HPA, ("spec", "maxReplicas"), 101.0, "at most 100"),
    ("autoscalers-bounded", HPA, ("spec", "minReplicas"), 9.0, "at least 9 pods"),
    ("service-accounts-not-admin", BINDING, ("roleRef",), ADMIN, "the service account team/app"),
    (
        "roles-without-wildcards",
        ROLE,
        ("rules", 0),
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        "every verb on every resource (rules[0])",
    ),
    (
        "roles-without-wildcards",
        CLUSTER_ROLE,
        ("rules", 0),
        {"apiGroups": [""], "resources": ["*"], "verbs": ["get"]},
        "secrets among them",
    ),
    (
        "roles-without-wildcards",
        CLUSTER_ROLE,
        ("rules", 0),
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]},
        "every verb on secrets",
    ),
    (
        "pods-confined",
        DEPLOYMENT,
        (*_SPEC, "securityContext"),
        {"seccompProfile": {"type": "Unconfined"}},
        "has the seccompProfile Unconfined",
    ),
    (
        "pods-confined",
        DEPLOYMENT,
        (*_APP, "securityContext"),
        {"allowPrivilegeEscalation": True, "runAsUser": 0},
        "runs as root and may raise its rights",
    ),
    (
        "pods-confined",
        DEPLOYMENT,
        (*_APP, "ports"),
        [{"containerPort": 80, "hostPort": 8080.0}],
        "takes the port 8080 of its node",
    ),
]

RIGHT: list[tuple[str, str, Path, Any]] = [
    ("gpu-node-pools-tainted", NODE_POOL, _TAINTS, [{"key": "team", "effect": "NoExecute"}]),
    ("several-shares-refused", CONFIG_MAP, ("data", "gpu"), _REFUSING),
    ("several-shares-refused", CONFIG_MAP, ("data", "gpu"), _MPS),
    ("several-shares-refused", CONFIG_MAP, ("data", "gpu"), "version: v1"),
    ("device-plugin-unprivileged", RELEASE, ("values", "compatWithCPUManager"), False),
    ("device-plugin-unprivileged", RELEASE, ("values", "securityContext"), {"privileged": None}),
    ("images-pinned", DEPLOYMENT, (*_APP, "image"), f"app:latest@sha256:{'a' * 64}"),
    ("images-pinned", DEPLOYMENT, (*_APP, "image"), "r.example:5000/app:v1"),
    ("pods-not-privileged", DEPLOYMENT, _VOLUME, "/mnt/data"),
    ("pods-not-privileged", DEPLOYMENT, _VOLUME, "/devices"),
    ("pods-not-privileged", DEPLOYMENT, ("metadata", "namespace"), "kube-system"),
    (
        "pods-not-privileged",
        DEPLOYMENT,
        (*_APP, "securityContext", "capabilities"),
        {"add": ["IPC_LOCK", "NET_BIND_SERVICE"]},
    ),
    *(
        ("pods-confined", DEPLOYMENT, (*_APP, "securityContext"), context)
        for context in (
            {"allowPrivilegeEscalation": False, "runAsUser": 0},
            {"allowPrivilegeEscalation": True, "runAsUser": 1},
            {"allowPrivilegeEscalation": True},
        )
    ),
    ("pods-confined", DEPLOYMENT, (*_APP, "ports"), [{"containerPort": 80, "hostPort": 0}]),
    ("pods-confined", DEPLOYMENT, (*_APP, "ports"), [{"containerPort": 80, "hostPort": "80"}]),
    ("node-pool-limits", NODE_POOL, ("spec", "limits"), {"cpu": "512"}),
    (
        "gpu-pools-not-consolidated",
        NODE_POOL,
        _DISRUPTION,
        {"consolidateAfter": "Never"},
    ),
    ("gpu-pool-budgets", NODE_POOL, (*_DISRUPTION, "budgets"), [{"nodes": "3"}]),
    ("gpu-pool-budgets", NODE_POOL, (*_DISRUPTION, "budgets"), [{"nodes": "50%"}]),
    ("gpu-pool-budgets", NODE_POOL, (*_DISRUPTION, "budgets"), None),
    (
        "gpu-pool-budgets",
        NODE_POOL,
        (*_DISRUPTION, "budgets"),
        [{"nodes": "100%", "reasons": ["Empty"]}, {"nodes": "10%", "reasons": ["Drifted"]}],
    ),
    ("node-class-ami-pinned", NODE_CLASS, _TERM, [{"id": "ami-0123456789abcdef0"}]),
    ("node-class-ami-pinned", NODE_CLASS, _TERM, [{"name": "gpu-2026-09-30", "owner": "self"}]),
    (
        "node-class-ami-pinned",
        NODE_CLASS,
        _TERM,
        [{"ssmParameter": "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.50.0/image_id"}],
    ),
    ("autoscalers-bounded", SCALED, ("spec", "minReplicaCount"), 8.0),
    ("autoscalers-bounded", SCALED, ("spec", "maxReplicaCount"), 100.0),
    ("autoscalers-bounded", HPA, ("spec", "maxReplicas"), 100.0),
    ("service-accounts-not-admin", BINDING, ("roleRef",), {"kind": "Role", "name": "admin"}),
    (
        "roles-without-wildcards",
        CLUSTER_ROLE,
        ("rules", 0),
        {"apiGroups": ["gpu.example"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
    ),
    (
        "roles-without-wildcards",
        CLUSTER_ROLE,
        ("rules", 0),
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ),
    (
        "roles-without-wildcards",
        CLUSTER_ROLE,
        ("rules", 0),
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get"]},
    ),
    (
        "roles-without-wildcards",
        ROLE,
        ("rules", 0),
        {"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["get", "list"]},
    ),
    (
        "roles-without-wildcards",
        ROLE,
        ("rules", 0),
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
    ),
    (
        "roles-without-wildcards",
        CLUSTER_ROLE,
        ("rules", 0),
        {"apiGroups": ["gpu.example"], "resources": ["*"], "verbs": ["*"]},
    ),
]


@pytest.fixture
def found(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> Callable[..., list[str]]:
    """`found(rule, token, path, value)` are the violations of a valid object with one change."""

    def run(rule: str, token: str, path: Path, value: object, **options: Any) -> list[str]:
        group, _, kind = token.rpartition(":")
        stable = {"autoscaling/v2": "autoscaling/v1", "keda.sh/v1alpha1": "keda.sh/v1"}
        for given, known in stable.items():
            group = group.replace(given, known)
        props = valid(f"{group}:{kind}")
        target: Any = props
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
        return violations(RULES[rule], token, props, **options)

    return run


@pytest.mark.parametrize(("rule", "token", "path", "value", "says"), BROKEN)
def test_one_broken_field_is_one_violation(
    rule: str, token: str, path: Path, value: object, says: str, found: Callable[..., list[str]]
) -> None:
    (message,) = found(rule, token, path, value)

    assert says in message
    assert message.endswith(".")


@pytest.mark.parametrize(("rule", "token", "path", "value"), RIGHT)
def test_what_is_right_passes(
    rule: str, token: str, path: Path, value: object, found: Callable[..., list[str]]
) -> None:
    assert found(rule, token, path, value) == []


@pytest.mark.parametrize(("namespace", "wrong"), [("kube-system", False), ("models", True)])
def test_pods_of_the_system_may_open_what_they_need(
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
    namespace: str,
    wrong: bool,
) -> None:
    props = valid(DEPLOYMENT)
    props["metadata"]["namespace"] = namespace
    props["spec"]["template"]["spec"]["securityContext"] = {
        "appArmorProfile": {"type": "Unconfined"}
    }

    assert bool(violations(RULES["pods-confined"], DEPLOYMENT, props)) is wrong


def test_each_rule_on_objects_is_tried() -> None:
    named = {rule for rule, *_ in BROKEN}
    on_objects = {
        rule.name
        for rule in RULES.values()
        if any(token.startswith("kubernetes:") for token in rule.applies_to)
    }
    elsewhere = {
        *("chart-versions-pinned", "no-human-in-masters", "time-slicing-replicas"),
        *("roles-not-for-everybody", "volumes-encrypted", "volumes-gp3"),
    }

    assert on_objects - named == elsewhere


def _wrapped(token: str, props: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The same object as a patch, in lists, and by another version of its group."""
    kind = token.rpartition(":")[2]
    group = token.split(":")[1].removeprefix("core/")
    whole = {**props, "apiVersion": group, "kind": kind}
    return [
        (f"{token}Patch", props),
        (f"{token}List", {"items": [props]}),
        ("kubernetes:core/v1:List", {"items": [whole]}),
        ("kubernetes:v1:List", {"items": [{"kind": "Service", "spec": {}}, whole]}),
        (token.replace("/v1", "/v1beta9"), props),
    ]


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in BROKEN
        if case[1] != RELEASE and case[3] is not None and case[3] not in ({}, [])
    ],
)
def test_an_object_is_judged_in_whatever_resource_it_stands(
    case: tuple[str, str, Path, Any, str],
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    rule, token, path, value, says = case
    token = token.replace("autoscaling/v2", "autoscaling/v1").replace("v1alpha1", "v1")
    props = valid(token)
    target: Any = props
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value

    for wrapped, given in _wrapped(token, props):
        (message,) = violations(RULES[rule], wrapped, given)
        assert says in message


def test_a_patch_leaves_what_it_does_not_name(violations: Callable[..., list[str]]) -> None:
    patched = {"metadata": {"name": "gpu"}, "spec": {"replicas": 3.0}}
    for rule in RULES.values():
        for token in rule.applies_to:
            if token.startswith("kubernetes:") and "helm.sh" not in token:
                assert violations(rule, f"{token}Patch", patched) == [], (rule.name, token)


KNOWN = (
    "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
    "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1-4.6.0-ubuntu22.04",
    "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/eks-node-monitoring-agent:v1.4.1",
    "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.13",
    "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.50.1",
    "nvcr.io/nvidia/driver:580.95.05",
    "nvcr.io/nvidia/cloud-native/k8s-mig-manager@sha256:" + "0" * 64,
)
STRANGE = (
    "registry.example/driver:1.0.0",
    "registry.example/k8s-device-plugin-miner:1.0.0",
    "registry.example/nvidia/miner:1.0.0",
    "registry.example/nvidia/k8s-device-plugin:v0.20.0",
    "111122223333.dkr.ecr.us-west-2.amazonaws.com/eks/kube-proxy:v1.35.0",
    "nvcr.io.example/nvidia/driver:580.95.05",
)


@pytest.mark.parametrize(("images", "count"), [(KNOWN, 0), (STRANGE, 2)])
def test_what_works_on_nodes_is_known(
    images: Sequence[str],
    count: int,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    for image in images:
        props = valid(DEPLOYMENT)
        spec = props["spec"]["template"]["spec"]
        context = {"privileged": True}
        spec |= {
            "hostPID": True,
            "initContainers": [],
            "containers": [{"name": "agent", "image": image, "securityContext": context}],
        }
        found = violations(RULES["pods-not-privileged"], "kubernetes:apps/v1:DaemonSet", props)
        assert len(found) == count, image


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ({}, True),
        ({"command": ["/usr/bin/dcgm-exporter", "sh"]}, True),
        ({"command": ["/bin/sh", "-c", "dcgm-exporter"]}, False),
        ({"command": ["bash"]}, False),
        ({"command": [UNKNOWN]}, False),
        ({"command": UNKNOWN}, False),
        ({"image": UNKNOWN}, False),
        ({"image": "registry.example/driver:1"}, False),
    ],
)
def test_a_shell_in_a_known_image_is_none_that_works_on_nodes(
    body: dict[str, Any], known: bool
) -> None:
    assert works_on_nodes(Container("agent", {"image": KNOWN[1], **body})) is known


def test_a_known_image_does_not_hide_a_strange_one_beside_it(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(POD)
    props["spec"]["containers"].append(
        {"name": "plugin", "image": KNOWN[0], "securityContext": {"privileged": True}}
    )
    props["spec"]["containers"][0]["securityContext"]["privileged"] = True

    (message,) = violations(RULES["pods-not-privileged"], POD, props)
    assert message.startswith("The container app of the Pod gpu is privileged.")


def test_settings_decide(found: Callable[..., list[str]]) -> None:
    image = (*_APP, "image")
    digests = {"digestStacks": ["prod*"]}
    asked = found("images-pinned", DEPLOYMENT, image, "app:1.0", config=digests)
    assert len(asked) == 1
    assert "without a digest" in asked[0]
    assert found("images-pinned", DEPLOYMENT, image, "app:1.0", config=digests, stack="dev") == []

    pinned = [{"alias": "al2023@latest"}]
    assert found("node-class-ami-pinned", NODE_CLASS, _TERM, pinned, stack="dev") == []

    agents = {"namespaces": ["agents", "team"]}
    path = (*_SPEC, "hostPID")
    assert found("pods-not-privileged", DEPLOYMENT, path, value=True, config=agents) == []

    most = {"mostReplicas": 4.0}
    assert len(found("autoscalers-bounded", HPA, ("spec", "minReplicas"), 1.0, config=most)) == 1

    budgets = [{"nodes": "30%"}]
    percent = {"mostPercent": 20.0}
    path = (*_DISRUPTION, "budgets")
    assert len(found("gpu-pool-budgets", NODE_POOL, path, budgets, config=percent)) == 1


GPU_POOLS: list[tuple[dict[str, Any], bool]] = [
    ({"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gt", "values": ["0"]}, True),
    ({"key": "karpenter.k8s.aws/instance-gpu-name", "operator": "Exists"}, True),
    (
        {
            "key": "karpenter.k8s.aws/instance-gpu-manufacturer",
            "operator": "In",
            "values": ["nvidia"],
        },
        True,
    ),
    ({"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["g6"]}, True),
    ({"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["g"]}, True),
    ({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.4xlarge"]}, True),
    ({"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "In", "values": ["0"]}, False),
    ({"key": "karpenter.k8s.aws/instance-gpu-name", "operator": "DoesNotExist"}, False),
    ({"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m7i"]}, False),
    ({"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m"]}, False),
    ({"key": "karpenter.k8s.aws/instance-family", "operator": "NotIn", "values": ["g6"]}, False),
]


@pytest.mark.parametrize(("requirement", "has_gpus"), GPU_POOLS)
def test_a_pool_of_gpus_is_known_by_what_it_asks_for(
    requirement: dict[str, Any], has_gpus: bool, violations: Callable[..., list[str]]
) -> None:
    props = {"spec": {"template": {"spec": {"requirements": [requirement]}}}}
    found = violations(RULES["gpu-pools-not-consolidated"], NODE_POOL, props)

    assert bool(found) is has_gpus


def test_what_is_not_known_is_said_and_the_rest_is_judged(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(POD)
    props["spec"]["containers"].append({"name": "b", "image": UNKNOWN_STRING_VALUE})

    with pytest.raises(UnknownValueError) as said:
        violations(RULES["images-pinned"], POD, props)
    expected = "could not be judged: the image of the container b of the Pod gpu"
    assert said.value.message == expected
