"""Rules about layouts that the GPU Operator's MIG manager makes, on both sides of each."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.config.component_specs import DevicePluginSpec, GpuOperatorSpec, GpuPoolSpec
from eks_gpushare.rules.component_rules import check_device_plugin, check_gpu_operator, check_pool
from eks_gpushare.rules.mig_manager import REBOOT_REPAIRED

OPERATOR = {"manager": "gpuOperator"}
A100 = {"instanceTypes": ["p4d.24xlarge"], "sharing": {"layout": "all-1g.5gb"}}
H100 = {"instanceTypes": ["p5.48xlarge"], "sharing": {"layout": "all-1g.10gb"}}


def stack(
    board: dict[str, Any],
    apply: str = "migManager",
    *,
    gpu_stack: dict[str, str] | None = None,
    **pool: Any,
) -> dict[str, Any]:
    sharing = {"mode": "mig", "apply": apply, **board["sharing"]}
    made = {**board, "sharing": sharing, **pool}
    return {"gpuStack": OPERATOR if gpu_stack is None else gpu_stack, "pools": {"gpu": made}}


def paths(given: dict[str, Any], code: str) -> list[str]:
    return [path for path, _ in findings(given, code)]


@pytest.mark.parametrize("board", [A100, H100])
def test_mig_manager_wants_the_operator(board: dict[str, Any]) -> None:
    message = (
        "apply is migManager, but gpuStack.manager is devicePlugin, which brings no MIG manager."
    )
    given = stack(board, gpu_stack={"manager": "devicePlugin"})

    assert findings(given, "GPU270") == [("pools.gpu.sharing.apply", message)]
    assert paths(stack(board), "GPU270") == []


def test_the_boot_wants_no_operator() -> None:
    assert paths(stack(A100, "boot", gpu_stack={}), "GPU270") == []


def test_on_bottlerocket_the_operator_would_not_help() -> None:
    """There another finding says that the image makes its layout itself."""
    given = stack(A100, gpu_stack={}, amiFamily="bottlerocket", amiVersion=None)

    assert paths(given, "GPU270") == paths(given, "GPU271") == []


def test_al2023_is_warned_of() -> None:
    assert paths(stack(H100), "GPU271") == ["pools.gpu.sharing.apply"]
    assert paths(stack(H100, "boot"), "GPU271") == []


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_the_startup_taint_is_not_a_pools_own(effect: str) -> None:
    taint = {"key": "eks-gpushare/mig-layout", "effect": effect}

    assert paths({"pools": {"gpu": {"taints": [taint]}}}, "GPU272") == ["pools.gpu.taints[0]"]


def test_a_label_that_mig_manager_reads_is_not_a_pools_own() -> None:
    labels = {"nvidia.com/mig.config": "all-1g.5gb"}

    assert paths({"pools": {"gpu": {"labels": labels}}}, "GPU301") == [
        'pools.gpu.labels["nvidia.com/mig.config"]'
    ]


def test_a_reboot_and_node_repair_are_told_apart_by_nobody() -> None:
    assert paths(stack(A100), "GPU273") == ["pools.gpu.nodeRepair"]
    assert paths(stack(A100, nodeRepair=False), "GPU273") == []
    assert paths(stack(A100, "boot"), "GPU273") == []
    assert paths(stack(H100), "GPU273") == []


def test_nodes_of_others_are_to_have_the_startup_taint() -> None:
    assert paths(stack(H100, provisioner="existing"), "GPU274") == ["pools.gpu.provisioner"]
    assert paths(stack(H100), "GPU274") == []
    assert paths(stack(H100, "boot", provisioner="existing"), "GPU274") == []


def test_a_pool_alone_is_told_who_frees_its_nodes() -> None:
    given = stack(H100)["pools"]["gpu"]

    spec = GpuPoolSpec.model_validate({**given, "pool": "gpu"}, by_alias=True)
    found = [f for f in check_pool(spec) if f.code.startswith("GPU27")]

    message = (
        "These nodes join with the taint eks-gpushare/mig-layout, which the controller that "
        "GpuOperator installs removes."
    )
    assert [(f.code, f.path, f.message) for f in found if f.severity == "info"] == [
        ("GPU274", "sharing.apply", message)
    ]
    assert [f.code for f in found if f.severity == "error"] == []


def of_manager(component: str, board: dict[str, Any], apply: str, **more: Any) -> list[str]:
    """Ids of what the manager of GPUs finds that stands alone."""
    given = {**stack(board, apply)["pools"]["gpu"], **more}
    if component == "DevicePlugin":
        plugin = DevicePluginSpec.model_validate({"pools": {"gpu": given}}, by_alias=True)
        return [found.code for found in check_device_plugin(plugin)]
    operator = GpuOperatorSpec.model_validate({"pools": {"gpu": given}}, by_alias=True)
    return [found.code for found in check_gpu_operator(operator)]


@pytest.mark.parametrize("board", [A100, H100])
def test_a_manager_alone_brings_mig_manager_or_not(board: dict[str, Any]) -> None:
    assert of_manager("DevicePlugin", board, "migManager") == ["GPU270"]
    assert of_manager("DevicePlugin", board, "boot") == []
    assert of_manager("GpuOperator", board, "migManager") == []


def test_on_bottlerocket_no_manager_alone_would_help() -> None:
    given = {"amiFamily": "bottlerocket", "bottlerocket": {"devicePlugin": "chart"}}

    assert "GPU270" not in of_manager("DevicePlugin", A100, "migManager", **given)


@pytest.mark.parametrize("apply", ["boot", "migManager"])
def test_a_pool_alone_is_told_so_only_of_mig_manager(apply: str) -> None:
    given = {**stack(H100, apply)["pools"]["gpu"], "pool": "gpu"}
    spec = GpuPoolSpec.model_validate(given, by_alias=True)

    assert ("GPU274" in {found.code for found in check_pool(spec)}) is (apply == "migManager")


DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("image", "exact"),
    [
        ("python", False),
        ("python:latest", False),
        ("registry.example.com:5000/python", False),
        ("registry.example.com/python@sha256:abc", False),
        ("python:3.13.16-slim", True),
        ("registry.example.com:5000/library/python:3.13", True),
        (f"python@{DIGEST}", True),
        (f"registry.example.com/python:latest@{DIGEST}", True),
    ],
)
def test_an_image_is_exact_by_tag_or_digest(image: str, exact: bool) -> None:
    given = stack(H100, gpu_stack={**OPERATOR, "migTaintRemoverImage": image})

    assert paths(given, "GPU275") == ([] if exact else ["gpuStack.migTaintRemoverImage"])
    assert paths(given, "GPU276") == []


def test_an_image_that_nothing_pulls_is_said() -> None:
    given = stack(H100, "boot", gpu_stack={**OPERATOR, "migTaintRemoverImage": "python:3.13"})

    assert paths(given, "GPU276") == ["gpuStack.migTaintRemoverImage"]


def test_the_taint_of_nodes_without_their_layout_is_not_a_pools_own() -> None:
    """The device plugin would tolerate it, and share whole GPUs on such nodes."""
    taint = {"key": "eks-gpushare/mig", "effect": "NoSchedule"}
    message = (
        "eks-gpushare/mig is this project's taint for nodes that could not make their MIG layout; "
        "what a pool is tainted with, the device plugin tolerates."
    )

    assert findings({"pools": {"gpu": {"taints": [taint]}}}, "GPU272") == [
        ("pools.gpu.taints[0]", message)
    ]


@pytest.mark.parametrize(("count", "said"), [(49, []), (50, ["pools.gpu.taints"])])
def test_the_startup_taint_counts_among_those_that_eks_takes(count: int, said: list[str]) -> None:
    taints = [{"key": f"t{n}", "effect": "NoSchedule"} for n in range(count)]

    assert paths(stack(H100, taints=taints), "GPU304") == said
    assert paths(stack(H100, "boot", taints=taints), "GPU304") == []


@pytest.mark.parametrize(
    ("pool", "count"),
    [
        ({}, 1),
        ({"nodeRepair": False}, 0),
        ({"instanceTypes": ["p4d.24xlarge", "p4de.24xlarge"]}, 1),
        ({"provisioner": "karpenter", "nodes": {"min": None, "desired": None, "max": 2}}, 0),
        (
            {
                "provisioner": "karpenter",
                "nodes": {"min": None, "desired": None, "max": 2},
                "nodeRepair": True,
            },
            1,
        ),
    ],
)
def test_a_reboot_for_mig_is_no_fault_to_repair(pool: dict[str, Any], count: int) -> None:
    found = paths({**stack(A100, **pool)}, REBOOT_REPAIRED.id)

    assert found == ["pools.gpu.nodeRepair"] * count
