"""Simulated nodes without a control plane: what they read and what they make of it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eks_gpushare_lab.simulated_node import admission, advertising, discovery
from eks_gpushare_lab.simulated_node.config_file import (
    ConfigFileError,
    Configuration,
    Replicated,
    read,
)
from eks_gpushare_lab.simulated_node.config_manager import ConfigSelectionError, select_config
from eks_gpushare_lab.simulated_node.gpus import whole
from eks_gpushare_lab.simulated_node.hardware import hardware_of
from eks_gpushare_lab.simulated_node.node import SimulatedNode

COMPONENTS = Path(__file__).parents[2] / "components"
SIMULATED_NODE = COMPONENTS / "eks_gpushare_lab" / "simulated_node"
# What the original (k8s-device-plugin v0.20.0, api/config/v1) makes of each document: its own Go
# code was run on them, with sigs.k8s.io/yaml's lenient Unmarshal, as in parseConfigFrom.
ORIGINAL = json.loads((Path(__file__).parent / "data" / "lenient-config.json").read_text())

ALLOWED = (
    *("eks_gpushare.catalog", "eks_gpushare_lab.simulated_node", "eks_gpushare_lab.client"),
    "eks_gpushare_lab.control_plane.names",
    "eks_gpushare.documents.device_plugin",  # held against NVIDIA's own program
    "eks_gpushare.documents.go_yaml",
    "eks_gpushare.documents.image",
    *("eks_gpushare.live.amounts", "eks_gpushare.live.pods"),  # objects of Kubernetes as they are
    "eks_gpushare.facts.mps",  # whom MPS serves is NVIDIA's, and asked by every front
)


def own_imports(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.startswith("eks_gpushare")]


def test_simulated_nodes_import_nothing_of_the_planner() -> None:
    allowed = (*ALLOWED, "eks_gpushare_lab.observing", "eks_gpushare_lab.errors")
    files = list(SIMULATED_NODE.glob("*.py"))
    found = [
        f"{file.name}: {name}"
        for file in files
        for name in own_imports(file.read_text(encoding="utf-8"))
        if not name.startswith(allowed)
    ]

    assert files
    assert found == []


def test_simulated_nodes_load_nothing_of_the_planner() -> None:
    code = (
        "import sys, eks_gpushare_lab.simulated_node.controller;"
        "print([n for n in sys.modules if n.startswith(('eks_gpushare.sharing',"
        "'eks_gpushare.config', 'eks_gpushare.rules', 'pulumi'))])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=COMPONENTS,
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stdout == "[]\n"


@pytest.mark.parametrize("name", ORIGINAL)
def test_a_configuration_is_read_as_the_original_reads_it(name: str) -> None:
    document = ORIGINAL[name]["document"]
    try:
        found: dict[str, Any] | None = as_original(read(document))
    except ConfigFileError:
        found = None

    assert found == ORIGINAL[name].get("read")


def as_original(configuration: Configuration) -> dict[str, Any]:
    suffix = {each.name: f"{each.name}.shared" for each in configuration.resources}
    return {
        "strategy": configuration.strategy,
        "resources": {
            each.name: [each.replicas, suffix[each.name] if configuration.renamed else ""]
            for each in configuration.resources
        },
        "fail": configuration.fail_more_than_one,
        "mig": configuration.mig_strategy,
    }


def test_the_environment_goes_over_the_file() -> None:
    assert read("flags: {migStrategy: mixed}", "single").mig_strategy == "single"


def test_mps_is_refused_with_mixed_mig() -> None:
    text = "{flags: {migStrategy: mixed}, sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}}"

    with pytest.raises(ConfigFileError, match="--mig-strategy=mixed is not supported with MPS"):
        read(text)


@pytest.mark.parametrize(
    ("label", "default", "fallbacks", "keys", "chosen"),
    [
        ("a", "b", [], ["a", "b"], "a"),
        ("", "b", ["single"], ["a", "b"], "b"),
        ("", "", ["named", "single"], ["a", "default"], "default"),
        ("", "", ["named", "single"], ["a"], "a"),
        ("", "", ["empty"], ["a", "b"], ""),
        ("", "", ["single", "empty"], ["a", "b"], ""),
    ],
)
def test_a_key_is_chosen_by_label_default_and_fallbacks(
    label: str, default: str, fallbacks: list[str], keys: list[str], chosen: str
) -> None:
    assert select_config(label, default, fallbacks, keys) == chosen


@pytest.mark.parametrize(
    ("label", "default", "fallbacks", "keys", "message"),
    [
        ("a", "", [], ["b"], "specified config a does not exist"),
        ("", "a", [], ["b"], "specified config  does not exist"),
        ("a", "", [], [], "no configuration files available"),
        ("", "", ["odd"], ["b"], "unknown fallback strategy: odd"),
        (
            "",
            "",
            ["named", "single"],
            ["a", "b"],
            "no config was set, no default was provided, and all fallbacks failed",
        ),
    ],
)
def test_without_a_key_the_config_manager_says_why(
    label: str, default: str, fallbacks: list[str], keys: list[str], message: str
) -> None:
    with pytest.raises(ConfigSelectionError) as raised:
        select_config(label, default, fallbacks, keys)

    assert str(raised.value) == message


def shared(replicas: int, *, renamed: bool = False, name: str = "nvidia.com/gpu") -> Configuration:
    resources = (Replicated(name, replicas),)
    return Configuration(
        strategy="time-slicing", resources=resources, renamed=renamed, fail_more_than_one=True
    )


@pytest.mark.parametrize(
    ("configuration", "counts"),
    [
        (Configuration(), {"nvidia.com/gpu": 4}),
        (shared(10), {"nvidia.com/gpu": 40}),
        (shared(10, renamed=True), {"nvidia.com/gpu.shared": 40}),
        (shared(10, name="nvidia.com/gpus"), {"nvidia.com/gpu": 4}),
    ],
)
def test_counts_follow_the_configuration(
    configuration: Configuration, counts: dict[str, int]
) -> None:
    assert advertising.advertised(whole(4), configuration) == counts


@pytest.mark.parametrize(
    ("configuration", "product"),
    [
        (Configuration(), "Tesla-V100-SXM2-16GB"),
        (shared(2), "Tesla-V100-SXM2-16GB-SHARED"),
        (shared(2, renamed=True), "Tesla-V100-SXM2-16GB"),
    ],
)
def test_a_product_is_marked_shared_unless_renamed(
    configuration: Configuration, product: str
) -> None:
    hardware = hardware_of("p3.8xlarge")
    assert hardware is not None
    found = discovery.labels(hardware, whole(4), configuration)

    assert found["nvidia.com/gpu.product"] == product


@pytest.mark.parametrize(
    ("instance_type", "memory"),
    [("g4dn.xlarge", "15360"), ("p5.48xlarge", "81559"), ("p4de.24xlarge", "81920")],
)
def test_memory_is_what_the_driver_reports(instance_type: str, memory: str) -> None:
    hardware = hardware_of(instance_type)
    assert hardware is not None
    found = discovery.labels(hardware, whole(hardware.count), Configuration())

    assert found["nvidia.com/gpu.memory"] == memory


@pytest.mark.parametrize(
    ("instance_type", "present"), [("g6.xlarge", "false"), ("g6f.xlarge", None)]
)
def test_a_whole_gpu_is_no_virtual_one(instance_type: str, present: str | None) -> None:
    hardware = hardware_of(instance_type)
    assert hardware is not None
    found = discovery.labels(hardware, whole(1), Configuration())

    assert found.get("nvidia.com/vgpu.present") == present


def test_memory_that_is_not_known_is_not_made_up() -> None:
    hardware = hardware_of("g7.2xlarge")
    assert hardware is not None

    assert "nvidia.com/gpu.memory" not in discovery.labels(hardware, whole(1), Configuration())


def test_a_machine_without_gpus_has_no_hardware() -> None:
    assert hardware_of("t3.large") is None


def pod(count: int, name: str = "nvidia.com/gpu") -> dict[str, Any]:
    return {"spec": {"containers": [{"resources": {"limits": {name: str(count)}}}]}}


@pytest.mark.parametrize(
    ("asked", "configuration", "refused"),
    [
        (pod(2), shared(4), True),
        (pod(2, "nvidia.com/gpu.shared"), shared(4, renamed=True), True),
        (pod(1), shared(4), False),
        (pod(2), Configuration(), False),
        (pod(2), Configuration("none", "mps", (Replicated("nvidia.com/gpu", 4),)), False),
    ],
)
def test_more_than_one_share_is_refused_where_the_plugin_says_so(
    asked: dict[str, Any], configuration: Configuration, *, refused: bool
) -> None:
    assert (admission.refusal(asked, configuration) is not None) is refused


def test_a_node_of_a_thousand_shares_is_taken_over() -> None:
    """The API server writes 1000 as 1k."""
    counts = {"nvidia.com/gpu": "1k", "cpu": "96"}
    node = SimulatedNode("n")
    node.update(
        {
            "metadata": {"name": "n", "labels": {}},
            "spec": {},
            "status": {"capacity": counts, "allocatable": counts},
        },
        [],
        lambda namespace, name: None,  # noqa: ARG005  (there is no ConfigMap)
    )

    assert node.capacity == {"nvidia.com/gpu": 1000}
