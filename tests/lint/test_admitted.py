"""Quotas, limits and classes that refuse pods with GPUs: what is near a mistake and is none."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

NOT_CREATED = "GPU1277"


def told(*texts: str) -> list[tuple[str, str]]:
    reports = lint_files([GivenFile(f"{n}.yaml", text) for n, text in enumerate(texts)])
    found = [each for report in reports for each in report.findings]
    assert CHECK_FAILED.id not in {each.code for each in found}
    return [(each.severity, each.message) for each in found if each.code == NOT_CREATED]


def severities(*texts: str) -> list[str]:
    return [severity for severity, _ in told(*texts)]


def pod(limits: str = "nvidia.com/gpu: 2", more: str = "", space: str = ", namespace: ml") -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: p{space}}}
spec:
  restartPolicy: Never
  {more}
  containers: [{{name: m, image: a, resources: {{limits: {{{limits}}}}}}}]
"""


def deployment(replicas: str = "3", kind: str = "Deployment") -> str:
    return f"""\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: d, namespace: ml}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: d}}}}
  template:
    metadata: {{labels: {{app: d}}}}
    spec: {{containers: [{{name: m, image: a, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}
"""


def quota(hard: str = "requests.nvidia.com/gpu: 1", more: str = "", space: str = "ml") -> str:
    named = f", namespace: {space}" if space else ""
    return f"""\
apiVersion: v1
kind: ResourceQuota
metadata: {{name: q{named}}}
spec: {{hard: {{{hard}}}{more}}}
"""


def of_class(values: str = "[high]", operator: str = "In", scope: str = "PriorityClass") -> str:
    expression = f"{{scopeName: {scope}, operator: {operator}, values: {values}}}"
    return quota(more=f", scopeSelector: {{matchExpressions: [{expression}]}}")


HIGH = pod(more="priorityClassName: high")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((quota(), pod()), ["error"]),
        ((quota("requests.nvidia.com/gpu: 2"), pod()), []),
        ((quota("requests.nvidia.com/gpu: 0"), pod()), ["error"]),
        ((quota("requests.nvidia.com/gpu: '{{ .a }}'"), pod()), []),
        ((quota("requests.nvidia.com/mig-1g.5gb: 0"), pod()), []),
        ((quota("'{{ .a }}'").replace("{'{{ .a }}'}", "'{{ .a }}'"), pod()), []),
        ((quota(space="other"), pod()), []),
        ((quota(space="'{{ .a }}'"), pod(space="")), []),
        ((quota(space=""), pod(space="")), ["info"]),
        ((f"{quota(space='')}---\n{pod(space='')}",), ["error"]),
        ((quota(space=""), pod()), []),
        ((quota(), pod(space="")), []),
        ((quota(more=", scopes: [BestEffort]"), pod()), []),
        ((quota().replace("ResourceQuota", "Other"), pod()), []),
        ((of_class(), HIGH), ["error"]),
        ((of_class("[low]"), HIGH), []),
        ((of_class(), pod()), []),
        ((of_class(operator="NotIn"), HIGH), []),
        ((of_class(scope="Other"), HIGH), []),
        ((quota("requests.nvidia.com/gpu: 2"), deployment()), ["warning"]),
        ((quota("requests.nvidia.com/gpu: 3"), deployment()), []),
        ((quota(), deployment()), ["warning"]),
        ((quota(), deployment("'{{ .a }}'")), []),
        ((quota("requests.nvidia.com/gpu: 0"), deployment("0")), ["error"]),
        ((quota("requests.nvidia.com/gpu: 2"), deployment(kind="DaemonSet")), []),
        ((quota("requests.nvidia.com/gpu: 0"), pod("nvidia.com/gpu: 1, cpu: 0")), ["error"]),
        ((quota("requests.example.com/a: 0"), pod("nvidia.com/gpu: 1, example.com/a: 0")), []),
        ((quota("memory: 8Gi"), pod("nvidia.com/gpu: 1, memory: 16Gi")), ["error"]),
    ],
)
def test_pods_are_within_quotas(texts: tuple[str, ...], expected: list[str]) -> None:
    assert severities(*texts) == expected


@pytest.mark.parametrize(
    ("file", "text", "severity"),
    [
        ("k/kustomization.yaml", "resources: [quota.yaml, pod.yaml]\n", "error"),
        ("k/kustomization.yaml", "resources: [pod.yaml]\n", "info"),
        ("k/up.sh", "kubectl apply -n gpu -f k/\n", "error"),
        ("k/up.sh", "kubectl apply -n gpu -f k/pod.yaml\n", "info"),
    ],
)
def test_what_is_applied_at_once_goes_into_one_namespace(
    file: str, text: str, severity: str
) -> None:
    files = {"k/quota.yaml": quota(space=""), "k/pod.yaml": pod(space=""), file: text}
    reports = lint_files([GivenFile(name, text) for name, text in files.items()])
    found = [each for report in reports for each in report.findings if each.code == "GPU1277"]

    assert [each.severity for each in found] == [severity]


@pytest.mark.parametrize(
    ("given", "strategy", "wrong"),
    [
        ("3", "", True),
        ("4", "", False),
        ("3", "strategy: {type: Recreate}", False),
        ("3", "strategy: {rollingUpdate: {maxUnavailable: 1}}", False),
        ("'{{ .a }}'", "", False),
    ],
)
def test_a_quota_has_room_for_a_roll_out(given: str, strategy: str, wrong: bool) -> None:
    text = deployment().replace("  selector", f"  {strategy}\n  selector", 1)
    found = found_in({"a.yaml": text, "b.yaml": quota(f"requests.nvidia.com/gpu: {given}")})

    assert ("GPU1243" in {each.code for each in found}) == wrong


def limits(of_type: str = "Container", most: str = "nvidia.com/gpu: 1", space: str = "ml") -> str:
    return f"""\
apiVersion: v1
kind: LimitRange
metadata: {{name: l, namespace: {space}}}
spec:
  limits:
    - {{type: {of_type}, max: {{{most}}}, default: {{nvidia.com/gpu: 0}},
       defaultRequest: {{nvidia.com/gpu: 0}}}}
"""


TWO = pod("nvidia.com/gpu: 1").replace(
    "}}}]", "}}}, {name: n, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]"
)
BEFORE = pod(
    "nvidia.com/gpu: 1",
    "initContainers: [{name: n, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]",
)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((limits(), pod()), ["error"]),
        ((limits(most="nvidia.com/gpu: 2"), pod()), []),
        ((limits(most="nvidia.com/gpu: '{{ .a }}'"), pod()), []),
        ((limits(space="other"), pod()), []),
        ((limits("Pod"), TWO), ["error"]),
        ((limits("Pod"), BEFORE), []),
        ((limits(), TWO), []),
        ((limits("PersistentVolumeClaim"), pod()), []),
        ((limits().replace("LimitRange", "Other"), pod()), []),
        ((limits(most="memory: 8Gi"), pod("nvidia.com/gpu: 1, memory: 16Gi")), ["error"]),
        ((limits(most="memory: 8Gi"), pod()), []),
    ],
)
def test_pods_are_within_limits(texts: tuple[str, ...], expected: list[str]) -> None:
    assert severities(*texts) == expected


COUNTED = "nvidia.com/gpu: 1, cpu: 1, memory: 1Gi"
REQUESTED = pod("nvidia.com/gpu: 1").replace("limits: {nv", "requests: {cpu: 1}, limits: {nv")


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        ((quota("requests.cpu: 9"), pod()), ["requests of cpu"]),
        ((quota("cpu: 9, memory: 9Gi"), pod()), ["requests of cpu", "requests of memory"]),
        ((quota("limits.cpu: 9"), pod()), ["limits of cpu"]),
        ((quota("limits.cpu: 9"), REQUESTED), ["limits of cpu"]),
        ((quota("requests.cpu: 9"), REQUESTED), []),
        ((quota("requests.cpu: 9, limits.memory: 9Gi"), pod(COUNTED)), []),
        ((quota("requests.cpu: '{{ .a }}'"), pod()), []),
        ((quota("requests.cpu: 9"), limits(most="a: 1"), pod()), []),
        ((quota("requests.cpu: 9"), limits(most="a: 1", space="b"), pod()), ["requests of cpu"]),
        (
            (quota("requests.cpu: 9"), limits(most="a: 1").replace("LimitRange", "Other"), pod()),
            ["requests of cpu"],
        ),
    ],
)
def test_what_a_quota_counts_is_said(texts: tuple[str, ...], named: list[str]) -> None:
    assert told(*texts) == [
        (
            "warning",
            (
                f"The Pod p has a container without {what}, which the ResourceQuota q counts: the "
                "quota refuses its pods."
            ),
        )
        for what in named
    ]


def a_class(name: str = "gpu-high-priority", kind: str = "PriorityClass") -> str:
    return f"apiVersion: scheduling.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nvalue: 1\n"


def named(name: str) -> str:
    return pod(more=f"priorityClassName: {name}")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((a_class(), named("gpu-high-prio")), ["warning"]),
        ((a_class(), named("gpu-high-priority")), []),
        ((a_class(), named("web")), ["info"]),
        ((a_class("'{{ .a }}'"), a_class(), named("web")), []),
        ((a_class("'{{ .a }}'"), a_class(), named("gpu-high-prio")), ["warning"]),
        ((a_class("'{{ .a }}'"), named("gpu-high-prio")), []),
        ((a_class(), named("'{{ .a }}'")), []),
        ((a_class(), named("''")), []),
        ((a_class(), pod()), []),
        ((a_class(kind="Other"), named("gpu-high-prio")), []),
        ((a_class("system-node-critica"), named("system-node-critical")), []),
        ((a_class(), named("gpu-high-prio").replace("kind: Pod", "kind: Other")), []),
        ((a_class(), named("gpu-high-prio").replace("nvidia.com/gpu", "cpu")), []),
    ],
)
def test_a_class_is_one_that_is_there(texts: tuple[str, ...], expected: list[str]) -> None:
    assert severities(*texts) == expected


def test_what_refuses_pods_is_told() -> None:
    found = [
        *told(quota(), pod()),
        *told(quota("requests.nvidia.com/gpu: 2"), deployment()),
        *told(quota("cpu: 1500m"), pod("nvidia.com/gpu: 1, cpu: 2500m")),
        *told(quota("memory: 8Gi"), pod("nvidia.com/gpu: 1, memory: 32Gi")),
        *told(quota("memory: 8Gi"), pod("nvidia.com/gpu: 1, memory: 8.5Gi")),
        *told(limits(), pod()),
        *told(limits("Pod"), TWO),
        *told(a_class(), named("gpu-high-prio")),
    ]

    assert [message for _, message in found] == [
        (
            "The Pod p asks for 2 of nvidia.com/gpu in a pod, and the ResourceQuota q allows 1 in "
            "the namespace."
        ),
        (
            "The Deployment d has 3 pods with 1 of nvidia.com/gpu each, and the ResourceQuota q "
            "allows 2 in the namespace."
        ),
        (
            "The Pod p asks for 2.5 of cpu in a pod, and the ResourceQuota q allows 1500m in the "
            "namespace."
        ),
        *(
            f"The Pod p asks for {amount} of memory in a pod, and the ResourceQuota q allows 8Gi "
            "in the namespace."
            for amount in ("32Gi", "8704Mi")
        ),
        (
            "The Pod p has limits of 2 of nvidia.com/gpu in a container, and the LimitRange l "
            "allows 1."
        ),
        "The Pod p has limits of 2 of nvidia.com/gpu in a pod, and the LimitRange l allows 1.",
        "The Pod p names the PriorityClass gpu-high-prio, which is not here.",
    ]
