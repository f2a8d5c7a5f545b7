"""NVIDIA's own programs, for whoever has them: EKS_GPUSHARE_TEST_NVIDIA names a folder of them.

It holds nvidia-device-plugin and gpu-feature-discovery 0.20.0, and NVIDIA's mock of NVML as
libnvidia-ml.so.1. docs/lab.md says where they are to be had.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from plugin_documents import DOCUMENTS, FOUR, KIND, OTHERWISE

from eks_gpushare_lab.nvidia.mock_gpus import configuration
from eks_gpushare_lab.nvidia.trial import Trial, TrialNode, TrialProgram, trial
from eks_gpushare_lab.simulated_node import discovery
from eks_gpushare_lab.simulated_node.config_file import ConfigFileError, read
from eks_gpushare_lab.simulated_node.hardware import hardware_of

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = os.environ.get("EKS_GPUSHARE_TEST_NVIDIA", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="EKS_GPUSHARE_TEST_NVIDIA names no folder")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    hardware = hardware_of(KIND)
    assert hardware is not None
    node = TrialNode("gpu-0", KIND, configuration(hardware, FOUR), mig=False)
    with trial(Path(FOLDER), node, tmp_path_factory.mktemp("nvidia") / "work") as made:
        yield made


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_plugin_does_what_is_written_down_of_it(place: Trial, name: str) -> None:
    given = DOCUMENTS[name]
    program = TrialProgram((), given.get("environment", {}), given["document"])
    said = place.plugin(program, given.get("registers", {}))

    if "refused" in given:
        assert said.found == {}
        assert all(str(size) in said.why for size in given["refused"].values())
    elif "registers" in given:
        assert (said.found, said.why) == (given["registers"], "")
    else:
        assert said.found is None
        assert given["stops"][-60:] in said.why


@pytest.mark.parametrize(
    "name", sorted(n for n in DOCUMENTS if "registers" in DOCUMENTS[n] and n not in OTHERWISE)
)
def test_feature_discovery_labels_a_node_as_the_simulated_one_does(place: Trial, name: str) -> None:
    given = DOCUMENTS[name]
    variables = given.get("environment", {})
    said = place.discovery(TrialProgram((), variables, given["document"]))
    hardware = hardware_of(KIND)
    assert hardware is not None
    try:
        simulated = discovery.labels(
            hardware, FOUR, read(given["document"], variables.get("MIG_STRATEGY"))
        )
    except ConfigFileError as error:
        pytest.fail(f"the simulated one stops: {error}")
    left_out = ("nvidia.com/mig.capable", "nvidia.com/gpu.mode")
    expected = {name: value for name, value in simulated.items() if name not in left_out}

    assert said.found is not None, said.why
    assert {name: said.found.get(name) for name in expected} == expected
