"""Pods that select what only a running node tells, where Karpenter launches nodes for pods."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

ELSEWHERE = "GPU1112"


def told(*texts: str) -> list[tuple[str, str]]:
    reports = lint_files([GivenFile(f"{n}.yaml", text) for n, text in enumerate(texts)])
    return [
        (each.severity, each.message)
        for report in reports
        for each in report.findings
        if each.code == ELSEWHERE
    ]


TYPES = "{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}"


def pool(
    requirements: str = TYPES,
    labels: str = "team: ml",
    more: str = "limits: {cpu: 8}",
    name: str = "gpu",
    node_class: str = "group: karpenter.k8s.aws, kind: EC2NodeClass",
) -> str:
    return f"""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  {more}
  template:
    metadata: {{labels: {{{labels}}}}}
    spec:
      nodeClassRef: {{{node_class}, name: a}}
      requirements: [{requirements}]
"""


def pod(more: str, kind: str = "Pod") -> str:
    return f"""\
apiVersion: v1
kind: {kind}
metadata: {{name: p}}
spec:
  {more}
  containers: [{{name: m, image: a, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""


def selecting(key: str = "nvidia.com/gpu.product", value: str = "NVIDIA-A10G") -> str:
    return pod(f"nodeSelector: {{{key}: '{value}'}}")


def expression(operator: str = "Exists", key: str = "nvidia.com/gpu.product") -> str:
    return f"{{key: {key}, operator: {operator}, values: ['1']}}"


def wanting(*terms: tuple[str, ...]) -> str:
    listed = ", ".join(f"{{matchExpressions: [{', '.join(each)}]}}" for each in terms)
    required = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{listed}]}}"
    return pod(f"affinity: {{nodeAffinity: {{{required}}}}}")


def group(instance_type: str = "g5.xlarge") -> str:
    return f"""\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {{name: c, region: us-west-2}}
managedNodeGroups: [{{name: g, instanceType: {instance_type}}}]
"""


NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {a: b}}\n"
OWN = "{key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-A10G, NVIDIA-L4]}"
HIDDEN = "{key: '{{ .a }}', operator: In, values: [a]}"
CPU = "{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}"
TEAM = expression("In", "team").replace("'1'", "ml")
AUTO = "group: eks.amazonaws.com, kind: NodeClass"


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((pool(), selecting()), True),
        ((pool(), selecting("nvidia.com/gpu.present", "true")), True),
        ((pool(), selecting("feature.node.kubernetes.io/pci-10de.present", "true")), True),
        ((pool(), selecting("karpenter.k8s.aws/instance-gpu-name", "a10g")), False),
        ((pool(labels="nvidia.com/gpu.product: NVIDIA-A10G"), selecting()), False),
        ((pool(f"{TYPES}, {OWN}"), selecting()), False),
        ((pool(), pool(f"{CPU}, {OWN}", name="cpu"), selecting()), False),
        ((pool(), pool(CPU, name="cpu"), selecting()), True),
        ((pool(CPU), selecting()), False),
        ((pool(f"{TYPES}, {HIDDEN}"), selecting()), False),
        ((pool("'{{ .a }}'"), selecting()), False),
        ((pool().replace("[" + TYPES + "]", "'{{ .a }}'"), selecting()), False),
        ((pool().replace("{team: ml}", "'{{ .a }}'"), selecting()), False),
        ((pool(more="replicas: 1"), selecting()), False),
        ((pool(node_class=AUTO), selecting()), True),
        ((pool(), group(), selecting()), False),
        ((pool(), group("m5.large"), selecting()), True),
        ((pool(), group("'{{ .a }}'"), selecting()), False),
        ((pool(), NODE, selecting()), False),
        ((group(), selecting()), False),
        ((selecting(),), False),
        ((pool(), selecting().replace("nvidia.com/gpu: 1", "cpu: 1")), False),
        ((pool(), selecting().replace("nodeSel", "nodeName: node-1\n  nodeSel")), False),
        ((pool(), wanting((expression(),))), True),
        ((pool(), wanting((expression("Gt"),))), True),
        ((pool(), wanting((expression("DoesNotExist"),))), False),
        ((pool(), wanting((expression("NotIn"),))), False),
        ((pool(), wanting((TEAM, expression("In")))), True),
        ((pool(), wanting((expression("In"),), (TEAM,))), False),
        ((pool(), wanting((expression("In"),), (expression("Lt"),))), True),
        ((pool(), wanting((expression("In", "'{{ .a }}'"),))), False),
        ((pool(), wanting()), False),
    ],
)
def test_pods_select_what_karpenter_knows(texts: tuple[str, ...], wrong: bool) -> None:
    assert [severity for severity, message in told(*texts) if "Karpenter launches" in message] == [
        "warning"
    ] * wrong


DAEMONS = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: p}
spec:
  selector: {matchLabels: {app: p}}
  template:
    metadata: {labels: {app: p}}
    spec:
      nodeSelector: {nvidia.com/gpu.product: a}
      containers: [{name: m, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


def test_a_daemonset_comes_once_the_node_is_there() -> None:
    assert told(pool(), DAEMONS) == []


def test_an_old_provisioner_has_its_requirements_elsewhere() -> None:
    old = f"""\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {{name: gpu}}
spec: {{requirements: [{TYPES}, MORE]}}
"""
    texts = [old.replace(", MORE", more) for more in ("", f", {OWN}")]

    assert [len(told(text, selecting())) for text in texts] == [1, 0]


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ((), "the NodePool gpu says nothing of it"),
        (("b",), "the NodePool gpu says nothing of it, nor has the other pool"),
        (("b", "c"), "the NodePool gpu says nothing of it, nor have 2 other pools"),
    ],
)
def test_what_no_pool_tells_of_is_told(others: tuple[str, ...], said: str) -> None:
    ((severity, message),) = told(pool(), *(pool(name=name) for name in others), selecting())

    assert (severity, message) == (
        "warning",
        (
            "The Pod p wants the label nvidia.com/gpu.product, which a node gets once it runs, and "
            f"{said}: Karpenter launches no node for it."
        ),
    )
