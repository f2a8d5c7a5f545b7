"""Spark's drivers and executors with GPUs, containers that ask for none, and those that debug."""

from __future__ import annotations

import pytest
import yaml

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.document import Document, Position
from eks_gpushare.lint.files import GivenFile
from eks_gpushare.lint.readers.kubernetes import KubernetesReader

NODES = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
      taints: [{key: team, value: ml, effect: NoSchedule}]
  limits: {nvidia.com/gpu: 4}
"""
VALUES = """\
# Values of nvidia-device-plugin
migStrategy: none
gfd: {enabled: true}
tolerations: [{operator: Exists}]
nfd: {worker: {tolerations: [{operator: Exists}]}}
"""
APPLICATION = """\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: etl, namespace: data}
spec:
  sparkConf: %s
  driver: {cores: 1}
  executor: %s
"""
SCHEDULED = """\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: ScheduledSparkApplication
metadata: {name: etl, namespace: data}
spec:
  template:
    sparkConf: %s
    executor: %s
"""
TOLERATED = "tolerations: [{key: team, operator: Exists}]"
GPU = "gpu: {name: nvidia.com/gpu, quantity: 1}"
AMOUNT, VENDOR = "spark.executor.resource.gpu.amount", "spark.executor.resource.gpu.vendor"
CONF = f'{{{AMOUNT}: "1", {VENDOR}: nvidia.com, spark.task.resource.gpu.amount: "0.25"}}'


def codes(text: str) -> list[str]:
    files = {"nodes.yaml": NODES, "values.yaml": VALUES, "app.yaml": text}
    reports = lint_files(GivenFile(name, each) for name, each in files.items())
    found = [each for report in reports for each in report.findings]
    return [each.code for each in found if each.severity != "info"]


@pytest.mark.parametrize(
    ("code", "conf", "executor"),
    [
        ("GPU1111", CONF, "{cores: 1}"),
        ("GPU1111", "{}", f"{{{GPU}}}"),
        ("GPU1111", "{}", f"{{{GPU}, tolerations: [{{key: other, operator: Exists}}]}}"),
        ("GPU1110", "{}", f"{{{GPU.replace('gpu,', 'gpu.shared,')}, {TOLERATED}}}"),
        ("GPU1110", CONF.replace("resource.gpu.", "resource.mig-1g.5gb."), f"{{{TOLERATED}}}"),
        ("GPU1114", CONF.replace('"1"', '"0.5"'), f"{{{TOLERATED}}}"),
        ("GPU1114", "{}", f"{{{GPU.replace('1}', '0.5}')}, {TOLERATED}}}"),
        ("GPU1115", "{}", f"{{{GPU.replace('1}', '2}')}, {TOLERATED}}}"),
        ("GPU1112", "{}", f"{{{GPU}, {TOLERATED}, nodeSelector: {{pool: x}}}}"),
        (
            "GPU1112",
            CONF.replace("{", "{spark.kubernetes.executor.node.selector.pool: x, "),
            f"{{{TOLERATED}}}",
        ),
        ("GPU1015", f'{{{AMOUNT}: "1"}}', "{cores: 1}"),
    ],
)
@pytest.mark.parametrize("application", [APPLICATION, SCHEDULED], ids=["once", "scheduled"])
def test_executors_that_get_no_gpu_are_found(
    application: str, code: str, conf: str, executor: str
) -> None:
    assert codes(application % (conf, executor)) == [code]


@pytest.mark.parametrize(
    ("conf", "executor"),
    [
        (CONF, f"{{{TOLERATED}}}"),
        ("{}", f"{{{GPU}, {TOLERATED}, instances: 2}}"),
        (CONF, "{template: {spec: {tolerations: [{operator: Exists}]}}}"),
        (CONF.replace("{", "{spark.kubernetes.executor.podTemplateFile: /opt/pod.yaml, "), "{}"),
        ("{}", "{cores: 1}"),
        ("{spark.executor.instances: '2'}", "{cores: 1}"),
        ('{spark.rapids.sql.enabled: "true"}', f"{{{GPU}, {TOLERATED}}}"),
    ],
)
@pytest.mark.parametrize("application", [APPLICATION, SCHEDULED], ids=["once", "scheduled"])
def test_executors_that_get_one_are_not(application: str, conf: str, executor: str) -> None:
    assert codes(application % (conf, executor)) == []


def test_a_driver_is_looked_at_too() -> None:
    text = (APPLICATION % ("{}", "{cores: 1}")).replace("{cores: 1}", f"{{{GPU}}}", 1)

    assert codes(text) == ["GPU1111"]


def test_an_amount_is_said_at_its_key() -> None:
    text = APPLICATION % (CONF.replace('"1"', '"0.5"'), f"{{{TOLERATED}}}")
    files = [GivenFile("app.yaml", text)]
    (report,) = lint_files(files)
    (position,) = [each.position for each in report.found if each.finding.code == "GPU1114"]

    assert position is not None
    assert text.splitlines()[position.line - 1][position.column - 1 :].startswith(AMOUNT)


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: app, namespace: data}
spec:
  containers:
    - name: main
      image: app:1
      resources: {%s}
"""


@pytest.mark.parametrize(
    ("resources", "found"),
    [
        ("limits: {nvidia.com/gpu: 0}", []),
        ('limits: {nvidia.com/gpu: "0"}', []),
        ("limits: {nvidia.com/gpu: 0}, requests: {nvidia.com/gpu: 0}", []),
        ("requests: {nvidia.com/gpu: 0}", []),
        ("limits: {nvidia.com/mig-1g.5gb: 0}", []),
        ("limits: {nvidia.com/gpu: 1}", ["GPU1111"]),
        ("limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 0}", ["GPU1111", "GPU1114"]),
    ],
)
def test_a_container_that_asks_for_none_needs_no_gpu(resources: str, found: list[str]) -> None:
    assert sorted(codes(POD % resources)) == found


@pytest.mark.parametrize("value", ["all", "'0'", "GPU-1234"])
@pytest.mark.parametrize("resources", ["", "limits: {nvidia.com/gpu: 0}"])
def test_what_it_sees_by_a_variable_is_said_all_the_same(value: str, resources: str) -> None:
    pod = POD % resources + f"      env: [{{name: NVIDIA_VISIBLE_DEVICES, value: {value}}}]\n"

    assert codes(pod) == ["GPU1009"]


@pytest.mark.parametrize(
    ("value", "found"), [("all", ["GPU1009"]), ("none", []), ("void", []), ("''", [])]
)
def test_a_container_that_debugs_sees_no_device_by_hand(value: str, found: list[str]) -> None:
    debugging = f"""\
  ephemeralContainers:
    - name: debugger
      image: ubuntu:24.04
      env: [{{name: NVIDIA_VISIBLE_DEVICES, value: {value}}}]
"""

    assert codes(POD % "" + debugging) == found


@pytest.mark.parametrize("part", ["sparkConf", "executor", "nodeSelector", "spec"])
def test_what_a_template_fills_in_is_not_known(part: str) -> None:
    text = APPLICATION % (CONF, f"{{{GPU}, {TOLERATED}}}")
    value = yaml.safe_load(text)
    holder = value if part == "spec" else value["spec"]
    holder[part] = UNKNOWN
    document = Document("app.yaml", value, lambda _: Position(1, 1))

    assert list(KubernetesReader().read(document).judgements) == []
