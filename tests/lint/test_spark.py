"""Spark's drivers and executors with GPUs, containers that ask for none, and those that debug."""

from __future__ import annotations

import pytest
import yaml

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader
from eks_gpushare.manifests.texts import read_texts

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
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
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


def pods(text: str) -> list[Workload]:
    (document,) = read_texts(text, "app.yaml").documents
    found = KubernetesReader().read(document).items
    return [each for each in found if isinstance(each, Workload)]


@pytest.mark.parametrize(
    ("instances", "replicas"), [("", 1), (", instances: 3", 3), (", instances: '2'", 2)]
)
def test_how_many_executors_there_are(instances: str, replicas: int) -> None:
    (found,) = pods(APPLICATION % ("{}", f"{{{GPU}{instances}}}"))

    assert found.replicas == replicas
    assert found.spec_path == ("spec", "executor")


def test_there_is_one_driver() -> None:
    text = APPLICATION % ("{}", "{cores: 1}")
    (found,) = pods(text.replace("{cores: 1}", f"{{{GPU}, instances: 3}}", 1))

    assert (found.replicas, found.spec_path) == (1, ("spec", "driver"))


@pytest.mark.parametrize("name", ["''", "5", "[a]", "null"])
def test_a_gpu_without_a_name_is_none(name: str) -> None:
    assert pods(APPLICATION % ("{}", f"{{gpu: {{name: {name}, quantity: 1}}}}")) == []


def test_places_of_limits_and_of_all_else() -> None:
    text = f"""\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {{name: etl}}
spec:
  sparkConf:
    {AMOUNT}: "1"
    {VENDOR}: example.com
  executor:
    gpu:
      name: nvidia.com/gpu
      quantity: 1
    tolerations:
      - {{key: a}}
"""
    (found,) = pods(text)
    document = found.source.document
    limits = ("spec", "executor", "containers", 0, "resources", "limits")

    assert not document.editable
    assert document.position((*limits, "nvidia.com/gpu")) == (10, 7)
    assert document.position((*limits, "example.com/gpu")) == (6, 5)
    assert document.position((*limits, "other")) == (8, 3)
    assert document.position(limits) == (8, 3)
    assert document.position(("spec", "executor", "tolerations", 0, "key")) == (13, 10)


def test_what_is_said_of_a_resource_without_a_vendor() -> None:
    (document,) = read_texts(APPLICATION % (f'{{{AMOUNT}: "1"}}', "{}"), "app.yaml").documents
    (found,) = KubernetesReader().read(document).judgements

    assert isinstance(found, Problem)
    assert found.message == (
        f"The SparkApplication etl asks for gpu by {AMOUNT}, and {VENDOR} is not set."
    )
    assert found.fix == f'Add `{VENDOR}: "nvidia.com"`.'
    assert found.path == ("spec", "sparkConf", AMOUNT)
