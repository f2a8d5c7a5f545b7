"""Configurations as NVIDIA's own device plugin took them; `test_nvidia_own_programs` asks anew."""

from __future__ import annotations

from typing import Any

import pytest
from plugin_documents import DOCUMENTS, FOUR, OTHERWISE

from eks_gpushare.documents.device_plugin import DocumentError, device_plugin_config
from eks_gpushare_lab.simulated_node import advertising
from eks_gpushare_lab.simulated_node.instance import RunningProgram
from eks_gpushare_lab.simulated_node.pods import PLUGIN, Program


def simulated(document: str, environment: dict[str, str]) -> dict[str, Any]:
    """What the simulated node makes of a document."""
    strategy, root = environment.get("MIG_STRATEGY"), environment.get("MPS_ROOT", "")
    program = Program(PLUGIN, "configs", "key", (), "", strategy, root)
    pod = {"metadata": {"uid": "1", "namespace": "n", "name": "p"}}
    running = RunningProgram(pod, program, "node")
    running.update("", lambda *_: {"key": document})
    if running.configuration is None:
        return {"stops": running.trouble is not None}
    too_long = advertising.unlisted(FOUR, running.configuration)
    if too_long:
        return {"refused": too_long}
    return {"registers": advertising.advertised(FOUR, running.configuration)}


@pytest.mark.parametrize("name", sorted(DOCUMENTS.keys() - OTHERWISE.keys()))
def test_the_simulated_node_takes_a_configuration_as_nvidias_plugin_does(name: str) -> None:
    given = DOCUMENTS[name]
    expected: dict[str, Any] = {k: given[k] for k in ("registers", "refused") if k in given}

    found = simulated(given["document"], given.get("environment", {}))

    assert found == (expected or {"stops": True})


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_taken_otherwise_is_named(name: str) -> None:
    given = DOCUMENTS[name]

    assert simulated(given["document"], {}) == {"registers": {"nvidia.com/gpu": 4}}
    assert given.get("registers") != {"nvidia.com/gpu": 4}


def test_checks_read_a_configuration_as_the_simulated_node_does() -> None:
    """Checks know of no variable, and of no list that is too long."""
    for name, given in DOCUMENTS.items():
        if "environment" in given or name in OTHERWISE or "--mps-root" in given.get("stops", ""):
            continue
        if "stops" in given:
            with pytest.raises(DocumentError):
                device_plugin_config(given["document"])
            continue
        found = device_plugin_config(given["document"])
        shown = "nvidia.com/gpu" + (".shared" if found.renamed else "")
        count = given.get("registers", {}).get(shown)
        if count is not None:
            assert found.replicas.get("nvidia.com/gpu", 1) * 4 == count, name


def test_a_list_that_is_too_long_is_said() -> None:
    document = DOCUMENTS["many 20000"]["document"]
    pod = {"metadata": {"uid": "1", "namespace": "n", "name": "p"}}
    running = RunningProgram(pod, Program(PLUGIN, "configs", "key", (), "", None, ""), "node")
    running.update("", lambda *_: {"key": document})
    assert running.configuration is not None
    running.unlisted = advertising.unlisted(FOUR, running.configuration)

    assert running.log() == (
        "read key 'key' of ConfigMap configs: time-slicing of nvidia.com/gpu x 20000; the kubelet "
        "takes no list of devices above 4194304 bytes, and that of nvidia.com/gpu has 4755560"
    )
