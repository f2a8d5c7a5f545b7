"""What programs take of a shared GPU's memory when they start."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import GPU, PRESENT, chart, config_map, nodes, plugin, pods

from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.checks.programs import reserved_memory
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item


def said(
    container: dict[str, Any],
    replicas: Any = 2,
    mode: str = "timeSlicing",
    kind: str = "Deployment",
    *others: Item,
) -> list[str]:
    shares = "{resources: [{name: nvidia.com/gpu, replicas: 4}]}"
    config = f"version: v1\nsharing: {{{mode}: {shares}}}\n"
    values = {"config": {"default": "any", "map": {"any": config}}}
    limits = {"limits": {"nvidia.com/gpu": 1}}
    spec = {"containers": [{"name": "app", "resources": limits, **container}]}
    workload = Workload(
        source=Source("the Deployment app"),
        name="app",
        kind=kind,
        replicas=replicas,
        spec=spec,
    )
    pool = nodes("g6.xlarge", labels={"nvidia.com/gpu.present": "true"})
    inventory = Inventory((pool, chart("nvidia-device-plugin", values), workload, *others))
    found = list(reserved_memory.memory_is_left.look(inventory))
    return [each.message for each in found if isinstance(each, Problem)]


@pytest.mark.parametrize(
    ("container", "takes"),
    [
        ({"image": "tensorflow/tensorflow:2.20.0-gpu"}, "TensorFlow, which takes 100%"),
        ({"image": "nvcr.io/nvidia/tensorflow:25.02-tf2-py3"}, "TensorFlow, which takes 100%"),
        ({"image": "registry/app", "name": "tensorflow-cnn"}, "TensorFlow, which takes 100%"),
        ({"image": "ghcr.io/nvidia/jax:latest"}, "JAX, which takes 75%"),
        ({"image": "vllm/vllm-openai:v0.11.0"}, "vLLM, which takes 90%"),
        ({"image": "app", "command": ["vllm", "serve", "m"]}, "vLLM, which takes 90%"),
        (
            {"image": "app", "args": ["-m", "vllm.entrypoints.openai.api_server"]},
            "vLLM, which takes 90%",
        ),
        (
            {"image": "vllm/vllm-openai", "args": ["--gpu-memory-utilization=0.6"]},
            "vLLM, which takes 60%",
        ),
        (
            {"image": "jax", "env": [{"name": "XLA_PYTHON_CLIENT_PREALLOCATE", "value": "true"}]},
            "JAX, which takes 75%",
        ),
    ],
)
def test_what_leaves_no_room_is_found(container: dict[str, Any], takes: str) -> None:
    (message,) = said(container)

    assert takes in message
    assert message.endswith("up to 4 of them get shares of one GPU.")


@pytest.mark.parametrize(
    "container",
    [
        {"image": "registry/app:1"},
        {"image": "registry/my-tensorflowish:1"},
        {"image": "vllm/vllm-openai", "args": ["--gpu-memory-utilization", "0.25"]},
        {"image": "vllm/vllm-openai", "args": ["--gpu-memory-utilization", "$(PART)"]},
        {"image": "vllm/vllm-openai", "args": [UNKNOWN]},
        {"image": "tensorflow/serving", "args": ["--per_process_gpu_memory_fraction=0.2"]},
        {"image": "tensorflow/serving", "envFrom": [{"configMapRef": {"name": "x"}}]},
        {
            "image": "tensorflow/tensorflow",
            "env": [{"name": "TF_FORCE_GPU_ALLOW_GROWTH", "value": "true"}],
        },
        {
            "image": "tensorflow/tensorflow",
            "env": [{"name": "TF_FORCE_GPU_ALLOW_GROWTH", "valueFrom": {}}],
        },
        {"image": "jax", "env": [{"name": "XLA_PYTHON_CLIENT_MEM_FRACTION", "value": ".2"}]},
        {"image": "tensorflow/tensorflow", "resources": {"limits": {"cpu": 1}}},
        {"image": "vllm/vllm-openai", "args": ["--gpu-memory-utilization=0.5"]},
    ],
)
def test_what_leaves_room_or_is_not_known_is_not(container: dict[str, Any]) -> None:
    assert said(container) == []


def test_one_pod_and_what_divides_memory_are_not_meant() -> None:
    container = {"image": "tensorflow/tensorflow"}

    assert said(container, replicas=1) == []
    assert said(container, replicas=UNKNOWN) == []
    assert said(container, mode="mps") == []


SHARED = (
    "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %s}]}}\n"
)
TENSORFLOW = {"name": "main", "image": "tensorflow/tensorflow"}


def messages(*items: Item) -> list[str]:
    found = reserved_memory.memory_is_left.look(Inventory(items))
    return [each.message for each in found if isinstance(each, Problem)]


def told(*items: Item) -> list[str]:
    """How many pods may be on one GPU, of each that is told of."""
    return [each.split("up to ")[1].split(" of them")[0] for each in messages(*items)]


def asking(name: str = GPU, **resources: Any) -> Workload:
    container = {**TENSORFLOW, "resources": resources or {"limits": {name: 1}}}
    return pods(spec={"containers": [container]}, replicas=2)


def test_two_on_a_gpu_are_several() -> None:
    pool, written = nodes(labels=PRESENT), {"map": {"any": SHARED % 2}, "default": "any"}

    assert told(pool, plugin({"config": written}), asking()) == ["2"]
    others = nodes("g5.2xlarge", labels=PRESENT)
    assert told(pool, others, plugin({"config": written}), asking()) == ["2"]


def test_without_a_chart_the_one_configuration_counts_for_nodes_that_are_declared() -> None:
    written = config_map("shares", {"any": SHARED % 4})
    by_hand = nodes("g6.xlarge", provisioner="byHand")

    assert told(nodes(), written, asking()) == ["4"]
    assert told(nodes(), asking()) == []
    other = config_map("shares", {"any": (SHARED % 4).replace(GPU, "nvidia.com/mig-1g.5gb")})
    assert told(other, asking()) == []
    assert told(nodes(), written, asking("nvidia.com/mig-1g.5gb")) == []
    assert told(by_hand, written, asking()) == []


def test_without_nodes_the_shares_are_those_of_the_chart() -> None:
    release = plugin({"config": {"map": {"any": SHARED % 4}, "default": "any"}})

    assert told(release, asking()) == ["4"]
    assert told(release, asking("nvidia.com/mig-1g.5gb")) == []


def test_of_several_containers_the_one_that_has_a_share_is_meant() -> None:
    pool, written = nodes(labels=PRESENT), {"map": {"any": SHARED % 4}, "default": "any"}
    release = plugin({"config": written})
    other = {"name": "other", "image": "app", "resources": {"limits": {GPU: 1}}}
    of_both = pods(spec={"containers": [other, TENSORFLOW]}, replicas=2)

    assert messages(pool, release, of_both) == []
    assert told(pool, release, asking(limits={GPU: 1}, requests=UNKNOWN)) == ["4"]


def test_shares_are_those_of_the_resource_that_is_asked_for() -> None:
    config = """\
version: v1
flags: {migStrategy: mixed}
sharing:
  timeSlicing:
    renameByDefault: true
    resources:
    - {name: nvidia.com/gpu, replicas: 10}
    - {name: nvidia.com/mig-1g.5gb, replicas: 3}
"""
    pool = nodes("p4d.24xlarge", labels={**PRESENT, "nvidia.com/mig.config": "all-1g.5gb"})
    release = plugin({"config": {"map": {"any": config}, "default": "any"}})

    assert told(pool, release, asking("nvidia.com/mig-1g.5gb.shared")) == ["3"]


def small(part: str, replicas: int, type_: str = "g6.xlarge", **spec: Any) -> list[str]:
    """Of pods of vLLM with a part each, on nodes with four shares of each GPU."""
    container = {
        "name": "main",
        "image": "vllm/vllm-openai:v0.11.0",
        "args": [f"--gpu-memory-utilization={part}"],
        "resources": {"limits": {GPU: 1}},
    }
    workload = pods(spec={"containers": [container], **spec}, replicas=replicas)
    written = {"config": {"map": {"any": SHARED % 4}, "default": "any"}}
    return told(nodes(type_, labels=PRESENT), plugin(written), workload)


def test_small_parts_are_too_much_if_more_than_fit_get_shares() -> None:
    assert small("0.45", 3) == ["4"]
    assert small("0.45", 2) == small("0.25", 9) == small("0.33", 3) == small("0.25025", 9) == []
    assert small("0.45", 8, "g6.12xlarge") == []
    assert small("0.45", 9, "g6.12xlarge") == ["4"]


def test_small_parts_are_not_meant_where_pods_keep_apart() -> None:
    rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}

    assert small("0.45", 3, affinity={"podAntiAffinity": required}) == []
    assert small("0.45", 3, topologySpreadConstraints=[rule]) == []
    assert small("0.9", 3, topologySpreadConstraints=[rule]) == ["4"]


ONE_NODE = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "own"
  node_group_name = "gpu"
  instance_types  = ["g5.xlarge"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  disk_size       = 200
  labels          = { pool = "gpu", "nvidia.com/gpu.present" = "true" }
  scaling_config {
    min_size     = 1
    desired_size = 1
    max_size     = 1
  }
}
"""
SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: own}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      nodeSelector: {pool: gpu}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: [--model=own/NAME, --gpu-memory-utilization=PART]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
SLICES = f"config: {{map: {{default: {json.dumps(SHARED % 2)}}}}}\n"
APPLIES = "helm upgrade -i nvdp nvdp/nvidia-device-plugin -n kube-system -f slices.yaml\n"


def applied(command: str, *parts: str, first: int = 1) -> list[str]:
    """What is said of servers in files of one folder, on the one GPU that there is."""
    servers = {
        f"k8s/{name}.yaml": SERVER.replace("NAME", name).replace("PART", part)
        for name, part in zip("abc", parts, strict=False)
    }
    servers["k8s/a.yaml"] = servers["k8s/a.yaml"].replace("spec:", f"spec:\n  replicas: {first}", 1)
    files = {"nodes.tf": ONE_NODE, "slices.yaml": SLICES, "up.sh": APPLIES + command, **servers}
    reports = lint_files([GivenFile(*each) for each in files.items()])
    findings = [each for report in reports for each in report.findings if each.code == "GPU1209"]
    assert all("Give it --gpu-memory-utilization" in each.fix for each in findings)
    return [each.message for each in findings]


def test_what_a_script_applies_at_once_shares_the_memory() -> None:
    (message,) = applied("kubectl apply -f k8s/\n", "0.8", "0.4")

    assert message == (
        "A pod of the Deployment b takes 40% of a GPU's memory at its start, beside 80% of the "
        "Deployment a, and for all of them there is 1 GPU in time slices."
    )
    assert len(applied("kubectl apply -n own -f ./k8s\n", "0.8", "0.4")) == 1
    assert applied("kubectl apply -f k8s/\n", "0.5", "0.4") == []
    assert applied("kubectl apply -f k8s/\n", "0.5", "0.5") == []
    assert "takes 90% of a GPU" in applied("kubectl apply -f k8s/\n", "0.4", "0.9")[0]


@pytest.mark.parametrize(
    ("part", "beside"), [("0.9", False), ("0.5", True), ("0.4", True), ("0.3", False)]
)
def test_two_pods_that_are_told_of_by_themselves_are_not_told_of_again(
    part: str, beside: bool
) -> None:
    found = applied("kubectl apply -f k8s/\n", part, "0.3", first=2)

    assert [f", beside {float(part):.0%} of" in each for each in found if "beside" in each] == [
        True
    ] * beside
    assert len(found) == (part != "0.3")


@pytest.mark.parametrize(
    "command",
    [
        "",
        "kubectl apply -f k8s/a.yaml\n",
        'kubectl apply -f "$FOLDER"\n',
        "kubectl apply -f https://example.com/k8s\n",
        "kubectl apply -f other/\n",
    ],
)
def test_files_that_nothing_applies_at_once_may_be_ways(command: str) -> None:
    assert applied(command, "0.8", "0.4") == []


def scaler(
    most: Any = 3, name: str = "app", kind: str = "ScaledObject", **of_target: str
) -> Pointer:
    key = "maxReplicaCount" if kind == "ScaledObject" else "maxReplicas"
    return Pointer(
        source=Source(f"the {kind} s"),
        kind=kind,
        name="s",
        spec={"scaleTargetRef": {"name": name, **of_target}, key: most},
    )


@pytest.mark.parametrize(
    ("kind", "pointer", "wrong"),
    [
        ("Deployment", scaler(), True),
        ("Deployment", scaler(kind="HorizontalPodAutoscaler"), True),
        ("Deployment", scaler(1), False),
        ("Deployment", scaler(None), False),
        ("Deployment", scaler(UNKNOWN), False),
        ("Deployment", scaler(name="other"), False),
        ("StatefulSet", scaler(), False),
        ("InferenceService", scaler(), False),
        ("InferenceService", scaler(name="app-predictor"), True),
    ],
)
def test_an_autoscaler_makes_several(kind: str, pointer: Pointer, wrong: bool) -> None:
    """KServe's Deployment for a model is called after it, as a predictor."""
    found = said({"image": "vllm/vllm-openai:v0.11.0"}, 1, "timeSlicing", kind, pointer)

    assert ["up to 3 pods that run vLLM" in each for each in found] == [True] * wrong
