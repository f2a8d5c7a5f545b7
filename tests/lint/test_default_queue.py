"""Workloads without a queue, where Kueue manages those too: held back, and near it."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config, namespace: kueue-system}
data:
  controller_manager_config.yaml: |
    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    MORE
    integrations: {frameworks: [FRAMEWORKS]}
"""
SPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {LABELS}}
"""
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: NAME, namespace: WHERE}
spec: {clusterQueue: all}
"""
POD = """\
apiVersion: VERSION
kind: KIND
metadata: {name: demo, namespace: ml, labels: {OWN}}
spec: SPEC
"""
CONTAINERS = "{containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}"
MANAGED = "manageJobsWithoutQueueName: true"


def found(
    more: str = MANAGED,
    frameworks: str = "batch/job, pod",
    labels: str = "kueue: yes-please",
    queue: str = "team",
    where: str = "ml",
    kind: str = "Pod",
    own: str = "a: b",
    again: str = "",
) -> list[str]:
    spec = CONTAINERS if kind == "Pod" else f"{{template: {{spec: {CONTAINERS}}}}}"
    texts = [
        CONFIG.replace("MORE", more.replace("\n", "\n    ")).replace("FRAMEWORKS", frameworks),
        SPACE.replace("LABELS", labels),
        QUEUE.replace("NAME", queue).replace("WHERE", where),
        POD.replace("SPEC", spec)
        .replace("KIND", kind)
        .replace("VERSION", "batch/v1" if kind == "Job" else "v1")
        .replace("OWN", own),
        again,
    ]
    every = found_in({"a.yaml": "---\n".join(filter(None, texts))})
    return [each.message for each in every if each.code == "GPU1266"]


SELECTOR = f"{MANAGED}\nmanagedJobsNamespaceSelector: {{matchLabels: {{kueue: yes-please}}}}"


@pytest.mark.parametrize("given", [{}, {"kind": "Job"}, {"more": SELECTOR}])
def test_a_workload_without_a_queue_waits(given: dict[str, str]) -> None:
    assert len(found(**given)) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"more": "manageJobsWithoutQueueName: false"},
        {"more": "waitForPodsReady: {enable: true}"},
        {"more": SELECTOR, "labels": "a: b"},
        {"more": SELECTOR.replace("kueue: yes-please", "kueue: 'other'")},
        {"more": f"{MANAGED}\nmanagedJobsNamespaceSelector: {{matchLabels: {{b: c}}}}"},
        {"more": f"{MANAGED}\na: ["},
        {"frameworks": "batch/job"},
        {"frameworks": "pod", "kind": "Job"},
        {"queue": "default"},
        {"where": "other"},
        {"own": "kueue.x-k8s.io/queue-name: team"},
        {"again": CONFIG.replace("MORE", "a: b").replace("FRAMEWORKS", "pod")},
    ],
)
def test_a_workload_that_is_not_managed_or_has_a_queue(given: dict[str, str]) -> None:
    assert found(**given) == []


def test_the_configuration_may_be_an_object() -> None:
    text = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
manageJobsWithoutQueueName: true
integrations: {frameworks: [pod]}
"""
    texts = [text, QUEUE.replace("NAME", "team").replace("WHERE", "ml")]
    pod = POD.replace("SPEC", CONTAINERS).replace("KIND", "Pod").replace("VERSION", "v1")
    every = found_in({"a.yaml": "---\n".join([*texts, pod.replace("OWN", "a: b")])})

    assert "GPU1266" in [each.code for each in every]


def test_of_a_namespace_that_is_not_here_the_labels_are_not_known() -> None:
    assert found(SELECTOR, labels="kueue: yes-please}, annotations: {a: b") != []
    texts = found(SELECTOR.replace("kueue:", "other:"))

    assert texts == []


NAMED = """\
apiVersion: VERSION
kind: KIND
metadata: {name: demo, namespace: ml, labels: {kueue.x-k8s.io/queue-name: QUEUE}}
spec: {template: {spec: {containers: [{name: a, image: a}]}}}
"""
CHART = """\
managerConfig:
  controllerManagerConfigYaml: |-
    apiVersion: config.kueue.x-k8s.io/v1beta1
    kind: Configuration
    integrations:
      frameworks: [FRAMEWORKS]
"""


@pytest.mark.parametrize("config", [CONFIG.replace("MORE", "namespace: a"), CHART])
@pytest.mark.parametrize(
    ("version", "kind", "queue", "frameworks", "wrong"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", "all", "batch/job", True),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", "all", "batch/job, jobset.x-k8s.io/jobset", False),
        ("batch/v1", "Job", "all", "pod", True),
        ("batch/v1", "Job", "all", "batch/job", False),
        ("batch/v1", "Job", "''", "pod", False),
        ("batch/v1", "Job", "$QUEUE", "pod", True),
        ("batch/v1", "Job", "all", "$FRAMEWORK", False),
        ("batch/v1", "Job", "all", "", False),
        ("apps/v1", "Deployment", "all", "pod", True),
        ("apps/v1", "Deployment", "all", "pod, deployment", False),
        ("example.com/v1", "Job", "all", "pod", False),
        ("apps/v1", "DaemonSet", "all", "pod", False),
    ],
)
def test_a_kind_that_kueue_is_not_told_of(
    config: str, version: str, kind: str, queue: str, frameworks: str, wrong: bool
) -> None:
    text = NAMED.replace("VERSION", version).replace("KIND", kind).replace("QUEUE", queue)
    files = {"kueue.yaml": config.replace("FRAMEWORKS", frameworks), "job.yaml": text}
    codes = [each.code for each in found_in(files) if each.code == "GPU1399"]

    assert codes == (["GPU1399"] if wrong else [])


def test_what_names_no_queue_is_no_business_of_kueues() -> None:
    text = NAMED.replace("VERSION", "batch/v1").replace("KIND", "Job")
    files = {
        "kueue.yaml": CHART.replace("FRAMEWORKS", "pod"),
        "job.yaml": text.replace(", labels: {kueue.x-k8s.io/queue-name: QUEUE}", ""),
        "named.yaml": text.replace("QUEUE", "all"),
    }

    assert [each.file for each in found_in(files) if each.code == "GPU1399"] == ["named.yaml"]
