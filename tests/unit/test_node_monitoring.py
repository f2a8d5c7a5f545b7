"""The node monitoring agent, its host engine of DCGM, and who else has one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.taints import Taint
from eks_gpushare.sharing.gpu_operator import gpu_operator_values
from eks_gpushare.sharing.mig_manager import startup_taint
from eks_gpushare.sharing.node_monitoring import exporter_values, node_monitoring_values

GPU = Taint.model_construct(key="nvidia.com/gpu", value="true", effect="NoSchedule")
REMOTE = {"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": "localhost:5555"}
OPERATOR = {"gpuStack": {"manager": "gpuOperator"}}


def pool(*types: str) -> Pool:
    return Pool.model_validate({"instanceTypes": list(types), "sharing": {"mode": "exclusive"}})


def tolerates(tolerations: list[dict[str, str]], key: str, effect: str) -> bool:
    """As Kubernetes has it."""
    return any(
        each.get("key", key) == key and each.get("effect", effect) == effect for each in tolerations
    )


def test_the_engine_tolerates_the_taints_that_gpu_nodes_keep() -> None:
    assert node_monitoring_values([GPU]) == {
        "dcgmAgent": {
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        }
    }


def test_neither_engine_nor_agent_is_on_a_node_that_waits_for_mig_manager() -> None:
    values = node_monitoring_values([GPU], [startup_taint()])
    for part in ("dcgmAgent", "nodeAgent"):
        tolerations = values[part]["tolerations"]

        assert not tolerates(tolerations, startup_taint().key, startup_taint().effect)
        assert tolerates(tolerations, "nvidia.com/gpu", "NoSchedule")
    # What evicts is for kubelet and autoscalers to say, and the agent looks at nodes till the end.
    assert tolerates(values["nodeAgent"]["tolerations"], "any/thing", "NoExecute")


def test_the_configuration_has_keys_of_the_addons_schema_only() -> None:
    """Schema: charts/configuration.schema.json of the agent, which refuses others since v1.6.0."""
    values = node_monitoring_values([GPU], [startup_taint()])

    assert set(values) <= {"global", "nodeAgent", "dcgmAgent", "extraObjects"}
    assert {key for part in values.values() for key in part} == {"tolerations"}
    assert json.dumps(values)


def test_the_exporter_uses_the_engine_of_the_agent() -> None:
    pools = {"gpu": pool("g5.xlarge")}
    values = gpu_operator_values(pools, Catalog(), {}, "config", None, node_monitoring_agent=True)

    assert values["dcgmExporter"] == {
        "hostNetwork": True,
        "env": [REMOTE],
        "serviceMonitor": {"enabled": False},
    }
    without = gpu_operator_values(pools, Catalog(), {}, "config", None)
    assert without["dcgmExporter"] == {"serviceMonitor": {"enabled": False}}


def test_where_the_agent_has_no_engine_the_exporter_has_its_own() -> None:
    assert exporter_values({"arm": pool("g5g.xlarge")}, Catalog()) == {}


def engines(values: dict[str, Any], **stack: Any) -> list[tuple[str, str]]:
    return findings({**OPERATOR, "charts": {"gpuOperator": {"values": values}}, **stack}, "GPU644")


def test_a_second_engine_is_refused() -> None:
    [(path, message)] = engines({"dcgm": {"enabled": True}})

    assert path == "charts.gpuOperator.values.dcgm.enabled"
    assert message == (
        "The operator would run a host engine beside that of the node monitoring agent."
    )


def test_variables_that_take_the_place_of_the_derived_one_are_refused() -> None:
    [(path, message)] = engines({"dcgmExporter": {"env": [{"name": "A", "value": "b"}]}})

    assert path == "charts.gpuOperator.values.dcgmExporter.env"
    assert message == (
        "Without DCGM_REMOTE_HOSTENGINE_INFO the exporter starts a host engine of its own beside "
        "that of the node monitoring agent."
    )


def test_an_exporter_that_does_not_reach_the_engine_has_none() -> None:
    values = {"dcgmExporter": {"hostNetwork": False}}
    stack = {**OPERATOR, "charts": {"gpuOperator": {"values": values}}}

    assert engines(values) == []
    [(path, message)] = findings(stack, "GPU645")

    assert path == "charts.gpuOperator.values.dcgmExporter.hostNetwork"
    assert message == "localhost:5555 is the agent's host engine in the network of the node only."


@pytest.mark.parametrize(
    ("values", "stack"),
    [
        ({}, {}),
        ({"dcgmExporter": {"enabled": False, "env": []}}, {}),
        ({"dcgmExporter": {"enabled": False, "hostNetwork": False}}, {}),
        ({"dcgmExporter": {"env": [{"name": "A", "value": "b"}, REMOTE]}}, {}),
        ({"dcgm": {"enabled": True}}, {"gpuStack": {"manager": "devicePlugin"}}),
        ({"dcgm": {"enabled": True}}, {"pools": {"gpu": {"instanceTypes": ["g5g.xlarge"]}}}),
    ],
)
def test_one_engine_is_right(values: dict[str, Any], stack: dict[str, Any]) -> None:
    assert engines(values, **stack) == []


EXISTING: dict[str, Any] = {
    "cluster": {"name": None, "version": None, "admins": None, "existing": {"name": "demo"}},
    "network": None,
}


def test_an_existing_cluster_may_have_no_agent() -> None:
    assert engines({"dcgm": {"enabled": True}}, **EXISTING) == []


ARM = {"instanceTypes": ["g5g.xlarge"], "amiVersion": None, "sharing": {"mode": "exclusive"}}


def test_an_exporter_without_engine_is_told() -> None:
    mixed = {**OPERATOR, "pools": {"arm": ARM}}

    assert [path for path, _ in findings(mixed, "GPU645")] == ["pools.arm.instanceTypes"]
    off = {"charts": {"gpuOperator": {"values": {"dcgmExporter": {"enabled": False}}}}}
    assert findings({**mixed, **off}, "GPU645") == []
    assert findings({**mixed, **EXISTING}, "GPU645") == []
    assert findings({"pools": {"arm": ARM}}, "GPU645") == []


@pytest.mark.parametrize(
    ("version", "refused"),
    [("v1.5.2-eksbuild.1", 1), ("v1.6.0-eksbuild.1", 0), ("v1.10.0-eksbuild.1", 0), (None, 0)],
)
def test_an_agent_that_cannot_stay_away_is_refused(version: str | None, refused: int) -> None:
    mig = {"mode": "mig", "layout": "all-1g.10gb", "apply": "migManager"}
    versions = {"eks-node-monitoring-agent": version} if version else {}
    stack = {
        **OPERATOR,
        "cluster": {"addons": {"versions": versions}},
        "pools": {"gpu": {"instanceTypes": ["p5.48xlarge"], "sharing": mig}},
    }

    assert len(findings(stack, "GPU277")) == refused
    assert findings({**stack, **EXISTING}, "GPU277") == []
    assert findings({**stack, "pools": {"gpu": {"instanceTypes": ["p5.48xlarge"]}}}, "GPU277") == []
