"""Files become documents, documents items, and judgements findings at lines of files."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import (
    ConfigMap,
    Namespace,
    NodeSet,
    NodeTaint,
    Pointer,
    Quota,
    Workload,
)
from eks_gpushare.inventory.problem import Judgement, NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.reading import Reading
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.lint.report import FileReport

RULE = Rule("GPU1999", "warning", "A rule.", "Why.", "https://example.com")
POD = "{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}"


def reading(**files: str) -> Reading:
    found = Reading()
    for name, text in files.items():
        found.add(GivenFile(f"{name}.yaml", dedent(text)))
    return found


def items(text: str) -> list[Item]:
    return reading(a=text).items


def report(text: str) -> FileReport:
    return reading(a=text).reports()[0]


@edge(RULE)
def limits_are_wrong(inventory: Inventory) -> Iterator[Judgement]:
    for each in inventory.of(Workload):
        path = (*each.spec_path, "containers", 0, "resources", "limits", "nvidia.com/gpu")
        yield Problem(RULE, each.source, path, f"{each.source.name} is wrong.", "Mend it.")


@edge(RULE)
def names_are_not_known(inventory: Inventory) -> Iterator[Judgement]:
    for each in inventory.of(Workload):
        if each.name is UNKNOWN:
            yield NotSeen(RULE, each.source, f"the name of {each.source.name}")


DEPLOYMENT = """\
# A comment.
apiVersion: apps/v1
kind: Deployment
metadata: {name: notebooks}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: notebooks}}
    spec:
      containers:
        - name: main
          resources:
            limits:
              nvidia.com/gpu: 1
"""


def test_a_problem_stands_at_its_line_and_column() -> None:
    files = reading(a="---\n# nothing\n---\nkind: Service\napiVersion: v1\n", b=DEPLOYMENT)
    files.judge([limits_are_wrong])
    nothing, (found,) = (each.found for each in files.reports())
    assert nothing == ()
    assert found.as_json() == {
        "code": "GPU1999",
        "severity": "warning",
        "path": 'spec.template.spec.containers[0].resources.limits["nvidia.com/gpu"]',
        "message": "the Deployment notebooks is wrong.",
        "fix": "Mend it.",
        "source": "https://example.com",
        "line": 14,
        "column": 15,
    }


def test_a_list_gives_its_objects_at_their_lines() -> None:
    text = f"""\
        apiVersion: v1
        kind: List
        items:
          - apiVersion: v1
            kind: Pod
            metadata: {{name: first}}
            spec: {POD}
        """
    files = reading(a=text)
    files.judge([limits_are_wrong])
    (found,) = files.reports()[0].found
    assert found.position == (7, 59)
    assert found.finding.path.startswith("items[0].spec.containers[0]")


def test_a_list_of_one_kind_does_not_repeat_it() -> None:
    text = f"{{apiVersion: v1, kind: PodList, items: [{{metadata: {{name: a}}, spec: {POD}}}]}}"
    (found,) = items(text)
    assert isinstance(found, Workload)
    assert (found.kind, found.name) == ("Pod", "a")


def test_what_is_not_known_is_told_as_such() -> None:
    files = reading(a=DEPLOYMENT.replace("notebooks}", '"{{ .Values.name }}"}', 1))
    files.judge([names_are_not_known])
    (found,) = files.reports()[0].findings
    assert found.severity == "info"
    assert found.message == (
        "It cannot be decided, since something is not known: the name of the Deployment. A rule."
    )


def test_a_check_that_fails_is_told_and_the_others_hold() -> None:
    @edge(RULE)
    def fails(_: Inventory) -> Iterator[Judgement]:
        yield from ()
        raise ValueError("broken")

    files = reading(a=DEPLOYMENT)
    files.judge([fails, limits_are_wrong])
    assert {each.code for each in files.reports()[0].findings} == {"GPU012", "GPU1999"}


@pytest.mark.parametrize(
    ("written", "path", "replicas"),
    [
        (f"{{kind: Pod, spec: {POD}}}", "spec", 1),
        (f"{{kind: StatefulSet, spec: {{template: {{spec: {POD}}}}}}}", "spec.template.spec", 1),
        (
            f"{{kind: DaemonSet, spec: {{template: {{spec: {POD}}}}}}}",
            "spec.template.spec",
            None,
        ),
        (
            f"{{kind: Job, spec: {{parallelism: 4, template: {{spec: {POD}}}}}}}",
            "spec.template.spec",
            4,
        ),
        (
            f"{{kind: CronJob, spec: {{jobTemplate: {{spec: {{template: {{spec: {POD}}}}}}}}}}}",
            "spec.jobTemplate.spec.template.spec",
            1,
        ),
        (
            (
                f"{{kind: RayCluster, spec: {{workerGroupSpecs: [{{replicas: 2, template: "
                f"{{spec: {POD}}}}}]}}}}"
            ),
            "spec.workerGroupSpecs.0.template.spec",
            2,
        ),
        (
            (
                f"{{kind: PyTorchJob, spec: {{pytorchReplicaSpecs: {{Worker: {{replicas: 3, "
                f"template: {{spec: {POD}}}}}}}}}}}"
            ),
            "spec.pytorchReplicaSpecs.Worker.template.spec",
            3,
        ),
        (f"{{kind: Notebook, spec: {{template: {{spec: {POD}}}}}}}", "spec.template.spec", 1),
        (
            (
                f"{{kind: LeaderWorkerSet, spec: {{replicas: 2, leaderWorkerTemplate: "
                f"{{workerTemplate: {{spec: {POD}}}}}}}}}"
            ),
            "spec.leaderWorkerTemplate.workerTemplate.spec",
            2,
        ),
        (f"{{kind: InferenceService, spec: {{predictor: {POD}}}}}", "spec.predictor", 1),
    ],
)
def test_pods_of_kinds(written: str, path: str, replicas: int | None) -> None:
    (found,) = items(f"apiVersion: v1\n---\n{written[:-1]}, apiVersion: v1}}")
    assert isinstance(found, Workload)
    assert ".".join(map(str, found.spec_path)) == path
    assert found.replicas == replicas
    spec: Any = found.spec
    assert spec["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": 1}}


def test_other_items() -> None:
    found = items(
        """\
        {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: team},
         data: {a: x}, binaryData: {b: aGk=}}
        ---
        {apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {a: b}}}
        ---
        {apiVersion: v1, kind: ResourceQuota, metadata: {name: q},
         spec: {hard: {requests.nvidia.com/gpu: "4", pods: 3}}}
        ---
        {apiVersion: v1, kind: Node, metadata: {name: one, labels: {
         node.kubernetes.io/instance-type: g5.xlarge}},
         spec: {taints: [{key: nvidia.com/gpu, effect: NoSchedule}]}}
        ---
        apiVersion: kueue.x-k8s.io/v1beta1
        kind: ClusterQueue
        metadata: {name: all}
        spec:
          resourceGroups:
            - flavors:
                - {name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}
                - {name: b, resources: [{name: nvidia.com/gpu, nominalQuota: "3"}]}
        """
    )
    maps, space, quota, node, queue, link = found
    assert isinstance(maps, ConfigMap)
    assert (maps.namespace, maps.data) == ("team", {"a": "x", "b": "hi"})
    assert isinstance(space, Namespace)
    assert space.labels == {"a": "b"}
    assert isinstance(quota, Quota)
    assert quota.hard == {"nvidia.com/gpu": "4", "pods": 3}
    assert isinstance(node, NodeSet)
    assert node.instance_types == ("g5.xlarge",)
    assert node.taints == (NodeTaint("nvidia.com/gpu", "", "NoSchedule"),)
    assert isinstance(queue, Quota)
    assert queue.hard == {"nvidia.com/gpu": 7}
    assert isinstance(link, Pointer)


def test_scalars_are_those_of_kubernetes() -> None:
    text = """\
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: c}
        data: {a: yes, b: "yes", c: off, d: 010, e: 1e3, f: 2024-01-01, g: 12:30, h: !!str 1,
          true: x, 1: y, i: "{{ a }}", j: "${B}", k: "$(B)"}
        """
    (found,) = items(text)
    assert isinstance(found, ConfigMap)
    assert found.data == {
        "a": True,
        "b": "yes",
        "c": False,
        "d": 8,
        "e": 1000,
        "f": "2024-01-01",
        "g": "12:30",
        "h": "1",
        "true": "x",
        "1": True,
        "i": UNKNOWN,
        "j": UNKNOWN,
        "k": UNKNOWN,
    }


def test_aliases_and_merges_are_followed() -> None:
    text = """\
        apiVersion: v1
        kind: ConfigMap
        metadata: &m {name: c}
        data: {<<: [{a: x, b: y}, *m], b: z}
        """
    (found,) = items(text)
    assert isinstance(found, ConfigMap)
    assert found.data == {"a": "x", "b": "z", "name": "c"}


def test_one_bad_document_leaves_the_others() -> None:
    found = report(f"a: [1\n---\n{DEPLOYMENT}\n---\nb: {{c: 1, c: 2}}\n")
    assert found.kinds == ("Kubernetes Deployment",)
    assert [(each.finding.code, each.position) for each in found.found] == [
        ("GPU1000", (2, 1)),
        ("GPU1002", (19, 11)),
    ]
    assert not found.readable


def test_a_template_is_none_of_its_results() -> None:
    found = report(
        f"kind: {{{{ .x }}}}\na: {{{{ if .y }}}}\n  b: c{{{{ end }}}}\n---\n{DEPLOYMENT}"
    )
    assert [each.code for each in found.findings] == ["GPU1003"]
    assert found.readable


def test_json_is_read_with_its_own_escapes() -> None:
    text = """\
    {
    \t"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
    \t"data": {"a": "x\\/y", "b": "\\ud83d\\ude00\\u00e9", "c": "\\ud83d\\ude00", "d": "z"}
    }
    """
    (found,) = items(text)
    assert isinstance(found, ConfigMap)
    assert isinstance(found.data, dict)
    assert found.data["a"] == "x/y"
    assert found.data["d"] == "z"
    column = dedent(text).splitlines()[2].index('"d"') + 1
    assert found.source.document.position(("data", "d")) == (3, column)
