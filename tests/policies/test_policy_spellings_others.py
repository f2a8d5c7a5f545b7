"""Mistakes in kinds that others bring, and in places that few write to; each with its mend beside.

A cluster is always there: what a program leaves to a cluster of others is not judged.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gpushare_policies import POLICIES
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import AWS_CLUSTER, CONFIG_MAP, NODE_GROUP, RELEASE, ROLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pulumi_policy import PolicyResource

RULES = {rule.name: rule for rule in POLICIES}
GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
TOLERATIONS = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
EVERYWHERE = [{"operator": "Exists"}]
EXPORTER = "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1-4.6.0-ubuntu22.04"


class Made(NamedTuple):
    """A resource of a program."""

    token: str
    name: str
    props: dict[str, Any]


@pytest.fixture
def judged(
    resource: Callable[..., PolicyResource],
    violations: Callable[..., list[str]],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> Callable[[str, Sequence[Made]], list[str]]:
    """`judged(rule, resources)` are the messages of a rule."""

    def run(name: str, made: Sequence[Made]) -> list[str]:
        rule = RULES[name]
        if isinstance(rule, ResourcePolicy):
            return [said for each in made for said in violations(rule, each.token, each.props)]
        resources = [resource(each.token, each.name, deepcopy(each.props)) for each in made]
        return [said for _, said in stack_violations(rule, resources)]

    return run


def _sharing(item: str = "replicas: 4", head: str = "") -> str:
    return (
        f"version: v1\n{head}sharing:\n  timeSlicing:\n    failRequestsGreaterThanOne: true\n"
        f"    resources: [{{name: nvidia.com/gpu, {item}}}]\n"
    )


def _stack(*more: Made, document: str = "", values: dict[str, Any] | None = None) -> list[Made]:
    """Nodes that share GPUs by the device plugin's chart, and what is added."""
    group = {
        "nodeGroupName": "gpu",
        "instanceTypes": ["g5.xlarge"],
        "amiType": "AL2023_x86_64_NVIDIA",
        "labels": {},
        "taints": [{"key": GPU, "value": "true", "effect": "NO_SCHEDULE"}],
        "scalingConfig": {"minSize": 1, "desiredSize": 1, "maxSize": 1},
    }
    chart = {
        "chart": "nvidia-device-plugin",
        "version": "0.20.0",
        "namespace": "nvidia",
        "values": {
            "config": {"name": "sharing", "default": "gpu"},
            "tolerations": EVERYWHERE,
            "gfd": {"enabled": True},
            "nfd": {"worker": {"tolerations": EVERYWHERE}},
            **(values or {}),
        },
    }
    held = {
        "metadata": {"name": "sharing", "namespace": "nvidia"},
        "data": {"gpu": document or _sharing()},
    }
    return [
        Made(AWS_CLUSTER, "cluster", {"name": "one"}),
        Made(NODE_GROUP, "nodes", group),
        Made(CONFIG_MAP, "sharing", held),
        Made(RELEASE, "plugin", chart),
        *more,
    ]


HUB = {"name": "hub"}


def _object(api: str, kind: str, spec: dict[str, Any], namespace: str = "ml") -> Made:
    body = {"metadata": {"name": "one", "namespace": namespace}, "spec": spec}
    return Made(f"kubernetes:{api}:{kind}", "one", body)


def _container(resource: str, amount: object = 1, **more: Any) -> dict[str, Any]:
    return {
        "name": "main",
        "image": "registry.example/app:1.4.2",
        "resources": {"limits": {resource: amount}},
        **more,
    }


def _pods(resource: str, **more: Any) -> dict[str, Any]:
    return {"tolerations": TOLERATIONS, "containers": [_container(resource)], **more}


def _predictor(name: str) -> Callable[[str], Made]:
    def make(resource: str) -> Made:
        model = {"resources": {"limits": {resource: 1}}}
        spec = {"predictor": {"tolerations": TOLERATIONS, name: model}}
        return _object("serving.kserve.io/v1beta1", "InferenceService", spec)

    return make


def _workflow(kind: str, key: str, *above: str) -> Callable[[str], Made]:
    def make(resource: str) -> Made:
        template = {"name": "main", key: {"image": "a:1", "resources": {"limits": {resource: 1}}}}
        spec: dict[str, Any] = {"tolerations": TOLERATIONS, "templates": [template]}
        for part in above:
            spec = {part: spec}
        return _object("argoproj.io/v1alpha1", kind, spec)

    return make


def _volcano(resource: str) -> Made:
    tasks = [{"name": "worker", "replicas": 1, "template": {"spec": _pods(resource)}}]
    return _object("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 1, "tasks": tasks})


def _nim(resource: str) -> Made:
    spec = {"tolerations": TOLERATIONS, "resources": {"limits": {resource: 1}}}
    return _object("apps.nvidia.com/v1alpha1", "NIMService", spec)


CONTROLLERS: dict[str, Callable[[str], Made]] = {
    "KServe, model": _predictor("model"),
    "KServe, framework": _predictor("pytorch"),
    "Argo, container": _workflow("Workflow", "container"),
    "Argo, script": _workflow("WorkflowTemplate", "script"),
    "Argo, on a schedule": _workflow("CronWorkflow", "container", "workflowSpec"),
    "Volcano": _volcano,
    "NIM": _nim,
}


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_container_of_another_controller_asks_for_what_is_advertised(
    controller: str, judged: Callable[[str, Sequence[Made]], list[str]]
) -> None:
    make = CONTROLLERS[controller]

    (said,) = judged("workloads-can-land", _stack(make(SHARED)))
    assert "asks for nvidia.com/gpu.shared, which no node advertises" in said
    assert judged("workloads-can-land", _stack(make(GPU))) == []


@pytest.mark.parametrize("places", [("spec",), ("spec", "templates", 0)])
def test_a_selector_around_a_lone_container_counts(
    places: tuple[str | int, ...], judged: Callable[[str, Sequence[Made]], list[str]]
) -> None:
    wrong = CONTROLLERS["Argo, container"](GPU)
    holder: Any = wrong.props
    for part in places:
        holder = holder[part]
    holder["nodeSelector"] = {"kubernetes.io/arch": "arm64"}
    right = deepcopy(wrong)
    holder = right.props
    for part in places:
        holder = holder[part]
    holder["nodeSelector"] = {"kubernetes.io/arch": "amd64"}

    assert len(judged("workloads-can-land", _stack(wrong))) == 1
    assert judged("workloads-can-land", _stack(right)) == []


def _ray(**container: Any) -> Made:
    pod = {"containers": [_container(GPU, **container)]}
    workers = [{"groupName": "gpu", "template": {"spec": pod}}]
    return _object("ray.io/v1", "RayCluster", {"workerGroupSpecs": workers})


def _daemon_set(*, env: Sequence[dict[str, Any]] = (), args: Sequence[str] = ()) -> Made:
    container = {"name": "exporter", "image": EXPORTER, "env": list(env), "args": list(args)}
    pod = {"tolerations": EVERYWHERE, "containers": [container]}
    return _object("apps/v1", "DaemonSet", {"template": {"spec": pod}}, "monitoring")


def _exporters(**changes: Any) -> list[Made]:
    values = {"tolerations": EVERYWHERE}
    chart = {"chart": "dcgm-exporter", "version": "4.8.2", "namespace": "gpu", "values": values}
    return _stack(Made(RELEASE, "exporter", chart), _daemon_set(**changes))


def _quota(key: str) -> Made:
    return _object("core/v1", "ResourceQuota", {"hard": {key: 2}})


def _variable(value: str, image: str = "nvcr.io/nvidia/pytorch:25.09-py3") -> Made:
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]
    pod = {"containers": [{"name": "main", "image": image, "env": env}]}
    return _object("core/v1", "Pod", pod)


def _hidden(key: str) -> list[Made]:
    """Pods that take all variables of a Secret."""
    main = {"name": "main", "image": "registry.example/app:1", "envFrom": [{"secretRef": HUB}]}
    secret = {"metadata": {**HUB, "namespace": "ml"}, "stringData": {key: "all"}}
    pod = _object("core/v1", "Pod", {"containers": [main]})
    return _stack(pod, Made("kubernetes:core/v1:Secret", "hub", secret))


_PROVIDER = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/0"
_ID = "oidc.eks.us-west-2.amazonaws.com/id/0"


def _role(operator: str = "StringEquals", **subjects: Any) -> Made:
    tests = {f"{_ID}:{key}": value for key, value in subjects.items()}
    statement = {
        "Effect": "Allow",
        "Principal": {"Federated": _PROVIDER},
        "Action": "sts:AssumeRoleWithWebIdentity",
        **({"Condition": {operator: tests}} if tests else {}),
    }
    policy = {"Version": "2012-10-17", "Statement": statement}
    return Made(ROLE, "role", {"assumeRolePolicy": json.dumps(policy)})


def _pool(key: str, operator: str, *values: str) -> Made:
    requirement = {"key": key, "operator": operator, **({"values": [*values]} if values else {})}
    return _object(
        "karpenter.sh/v1", "NodePool", {"template": {"spec": {"requirements": [requirement]}}}
    )


_KARPENTER = "karpenter.k8s.aws/instance"
SUBJECT = "system:serviceaccount:ml:trainer"


def _binding(role: str, **bound: str) -> Made:
    rbac = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding"
    body = {"roleRef": {"kind": "ClusterRole", "name": role}, "subjects": [bound]}
    return Made(rbac, "one", {"metadata": {"name": "one"}, **body})


PAIRS: dict[str, tuple[str, list[Made], list[Made]]] = {
    "an image of a pod of Ray": (
        "images-pinned",
        [_ray(image="rayproject/ray")],
        [_ray(image="rayproject/ray:2.52.0-gpu")],
    ),
    "a privileged pod of Ray": (
        "pods-not-privileged",
        [_ray(securityContext={"privileged": True})],
        [_ray(securityContext={"privileged": False})],
    ),
    "two engines, one in a manifest": (
        "one-dcgm-engine",
        _exporters(),
        _exporters(env=[{"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": "dcgm:5555"}]),
    ),
    "two engines, one told of another": (
        "one-dcgm-engine",
        _exporters(args=["-f", "/etc/counters.csv"]),
        _exporters(args=["-r", "dcgm:5555"]),
    ),
    "a quota of the bare name": (
        "kubernetes-objects-valid",
        _stack(_quota(GPU)),
        _stack(_quota(f"requests.{GPU}")),
    ),
    "a quota of limits": (
        "kubernetes-objects-valid",
        _stack(_quota(f"limits.{GPU}")),
        _stack(_quota("limits.cpu")),
    ),
    "the variable of an image of NVIDIA": (
        "visible-devices-leak-closed",
        _stack(_variable("all")),
        _stack(_variable("void")),
    ),
    "the variable out of a Secret": (
        "visible-devices-leak-closed",
        _hidden("NVIDIA_VISIBLE_DEVICES"),
        _hidden("TOKEN"),
    ),
    "the variable of a program for nodes": (
        "visible-devices-leak-closed",
        _stack(_variable("0")),
        _stack(_variable("all", EXPORTER)),
    ),
    "devices that the plugin takes back": (
        "device-plugin-config-valid",
        _stack(document=_sharing("replicas: 4, devices: ['0']")),
        _stack(document=_sharing("replicas: 4, devices: all")),
    ),
    "a name that the plugin takes back": (
        "device-plugin-config-valid",
        _stack(document=_sharing("replicas: 4, rename: nvidia.com/half")),
        _stack(document=_sharing()),
    ),
    "sharing without its block": (
        "device-plugin-config-valid",
        _stack(document="version: v1\ntimeSlicing:\n  resources: [{name: nvidia.com/gpu}]\n"),
        _stack(document="version: v1\nflags: {migStrategy: none}\n"),
    ),
    "a strategy that the plugin does not know": (
        "chart-values-known",
        _stack(values={"migStrategy": "mixd"}),
        _stack(values={"migStrategy": "mixed"}),
    ),
    "a way of handing out that it does not know": (
        "chart-values-known",
        _stack(values={"deviceListStrategy": "volume-mounts,cdi"}),
        _stack(values={"deviceListStrategy": "volume-mounts,cdi-cri"}),
    ),
    "a GPU for the pod as a whole": (
        "gpu-requests-whole",
        _stack(_object("core/v1", "Pod", _pods(GPU, resources={"limits": {GPU: 1}}))),
        _stack(_object("core/v1", "Pod", _pods(GPU, resources={"limits": {"cpu": 2}}))),
    ),
    "every pod of a cluster": ("roles-bounded", [_role()], [_role(sub=SUBJECT)]),
    "every pod, by the audience": (
        "roles-bounded",
        [_role(aud="sts.amazonaws.com")],
        [_role(aud="sts.amazonaws.com", sub=SUBJECT)],
    ),
    "every service account": (
        "roles-bounded",
        [_role("StringLike", sub="system:serviceaccount:*:*")],
        [_role("StringLike", sub="system:serviceaccount:ml:*")],
    ),
    "a service account by its user": (
        "service-accounts-not-admin",
        [_binding("cluster-admin", kind="User", name=SUBJECT)],
        [_binding("view", kind="User", name=SUBJECT)],
    ),
    "Spot by Karpenter": (
        "spot-not-in-production",
        [_pool("karpenter.sh/capacity-type", "In", "on-demand", "spot")],
        [_pool("karpenter.sh/capacity-type", "In", "on-demand", "reserved")],
    ),
    "Spot where all is allowed": (
        "spot-not-in-production",
        [_pool("karpenter.sh/capacity-type", "Exists")],
        [_pool("karpenter.sh/capacity-type", "NotIn", "spot")],
    ),
    "GPUs of any maker": (
        "gpu-node-pools-tainted",
        [_pool(f"{_KARPENTER}-gpu-manufacturer", "Exists")],
        [_pool(f"{_KARPENTER}-gpu-manufacturer", "DoesNotExist")],
    ),
    "a family that is newer than the catalog": (
        "gpu-node-pools-tainted",
        [_pool(f"{_KARPENTER}-family", "In", "p9")],
        [_pool(f"{_KARPENTER}-family", "In", "m9g")],
    ),
    "a category with memory": (
        "gpu-node-pools-tainted",
        [_pool(f"{_KARPENTER}-category", "In", "g", "gr")],
        [_pool(f"{_KARPENTER}-category", "In", "c", "r")],
    ),
}


@pytest.mark.parametrize("mistake", PAIRS)
def test_a_mistake_is_said_and_its_mend_is_not(
    mistake: str, judged: Callable[[str, Sequence[Made]], list[str]]
) -> None:
    rule, wrong, right = PAIRS[mistake]

    assert judged(rule, wrong)
    assert judged(rule, right) == []
