"""What programs take of a shared GPU's memory when they start."""

from __future__ import annotations

from typing import Any

import pytest
from inventory_of import chart, nodes

from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.checks import reserved_memory


def said(container: dict[str, Any], replicas: Any = 2, mode: str = "timeSlicing") -> list[str]:
    shares = "{resources: [{name: nvidia.com/gpu, replicas: 4}]}"
    config = f"version: v1\nsharing: {{{mode}: {shares}}}\n"
    values = {"config": {"default": "any", "map": {"any": config}}}
    limits = {"limits": {"nvidia.com/gpu": 1}}
    spec = {"containers": [{"name": "app", "resources": limits, **container}]}
    workload = Workload(
        source=Source("the Deployment app"),
        name="app",
        kind="Deployment",
        replicas=replicas,
        spec=spec,
    )
    pool = nodes("g6.xlarge", labels={"nvidia.com/gpu.present": "true"})
    inventory = Inventory((pool, chart("nvidia-device-plugin", values), workload))
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
    ],
)
def test_what_leaves_room_or_is_not_known_is_not(container: dict[str, Any]) -> None:
    assert said(container) == []


def test_one_pod_and_what_divides_memory_are_not_meant() -> None:
    container = {"image": "tensorflow/tensorflow"}

    assert said(container, replicas=1) == []
    assert said(container, replicas=UNKNOWN) == []
    assert said(container, mode="mps") == []
