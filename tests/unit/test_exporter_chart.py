"""The DCGM exporter's own chart beside the device plugin: what it is told by how pools share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.pools import Pool
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.sharing.exporter import counters, exporter_chart_values, uncounted
from eks_gpushare.sharing.monitoring.boards import boards_json
from eks_gpushare.sharing.monitoring.groups import rule_groups, rules_document

URL = "http://prometheus.monitoring.svc:9090"
ENGINE = {"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": "localhost:5555"}
BY_PROCESS = {"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}
NAMES = {"name": "NVIDIA_RESOURCE_NAMES", "value": "nvidia.com/gpu.shared"}
SHARINGS: dict[str, tuple[dict[str, Any], bool, list[dict[str, str]]]] = {
    "exclusive": ({"mode": "exclusive"}, False, []),
    "timeSlicing": ({"mode": "timeSlicing", "replicas": 4}, True, [BY_PROCESS]),
    "renamed": (
        {"mode": "timeSlicing", "replicas": 4, "rename": True},
        True,
        [BY_PROCESS, NAMES],
    ),
    "mps": ({"mode": "mps", "replicas": 4}, True, [BY_PROCESS]),
    "mig": ({"mode": "mig", "layout": "all-1g.5gb"}, False, []),
    "mig, renamed turns": (
        {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 2, "rename": True}},
        True,
        [BY_PROCESS],
    ),
}


def pool(sharing: dict[str, Any], **more: Any) -> Pool:
    return Pool.model_validate({"instanceTypes": ["p4d.24xlarge"], "sharing": sharing, **more})


@pytest.mark.parametrize("agent", [False, True])
@pytest.mark.parametrize("mode", SHARINGS)
def test_each_way_to_share_has_its_values(mode: str, *, agent: bool) -> None:
    sharing, by_process, env = SHARINGS[mode]
    told = [*([ENGINE] if agent else []), *env]
    nodes = {"key": "nvidia.com/device-plugin.config", "operator": "In", "values": ["gpu"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [nodes]}]}

    found = exporter_chart_values(
        {"gpu": pool(sharing)}, Catalog(), {}, node_monitoring_agent=agent
    )

    assert found == {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "serviceMonitor": {"enabled": False},
        "podAnnotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9400"},
        **({"hostNetwork": True} if agent else {}),
        **({"hostPID": True} if by_process else {}),
        **({"extraEnv": told} if told else {}),
    }


def test_where_the_agent_has_no_engine_the_exporter_starts_its_own() -> None:
    arm = Pool.model_validate({"instanceTypes": ["g5g.xlarge"], "sharing": {"mode": "exclusive"}})

    found = exporter_chart_values({"gpu": arm}, Catalog(), {}, node_monitoring_agent=True)

    assert "hostNetwork" not in found
    assert "extraEnv" not in found


def test_a_variable_of_the_users_leaves_the_others() -> None:
    own = [{"name": "DCGM_EXPORTER_INTERVAL", "value": "5000"}, {**NAMES, "value": "mine"}]
    sharing = SHARINGS["renamed"][0]

    found = exporter_chart_values({"gpu": pool(sharing)}, Catalog(), {"extraEnv": own})

    assert found["extraEnv"] == [*own, BY_PROCESS]


def following(**more: Any) -> dict[str, Any]:
    return {
        "gpuStack": {"dcgmExporter": True},
        "pools": {"gpu": {"sharing": {"mode": "timeSlicing", "replicas": 2}}},
        "keda": {"prometheus": {"url": URL}},
        "workloads": {"model": {"image": "m:1", "pool": "gpu", "replicas": {"max": 3}}},
        **more,
    }


@pytest.mark.parametrize("mode", [{"mode": "exclusive"}, SHARINGS["timeSlicing"][0]])
@pytest.mark.parametrize("code", ["GPU832", "GPU844", "GPU851", "GPU852"])
def test_with_it_every_link_is_there(code: str, mode: dict[str, Any]) -> None:
    assert findings(following(pools={"gpu": {"sharing": mode}}), code) == []


def test_without_it_the_link_is_named() -> None:
    without: dict[str, Any] = {"gpuStack": {}}

    assert [at for at, _ in findings(following(**without), "GPU832")] == [
        "workloads.model.useQuery"
    ]
    whole = {"pools": {"gpu": {"sharing": {"mode": "exclusive"}}}}
    assert [at for at, _ in findings(following(**without, **whole), "GPU851")] == [
        "keda.prometheus.exporter"
    ]


@pytest.mark.parametrize(
    ("values", "lacking"),
    [
        ({}, None),
        ({"hostPID": True, "resources": {}}, None),
        ({"hostPID": False}, "hostPID: true"),
        (
            {"extraEnv": [{**BY_PROCESS, "value": "0"}]},
            'KUBERNETES_VIRTUAL_GPUS: "true" in extraEnv',
        ),
    ],
)
def test_what_its_values_undo_is_said(values: dict[str, Any], lacking: str | None) -> None:
    found = findings(following(charts={"dcgmExporter": {"values": values}}), "GPU844")

    assert found == (
        []
        if lacking is None
        else [("charts.dcgmExporter.values", f"The exporter of the stack runs without {lacking}.")]
    )


@pytest.mark.parametrize("env", [[], [{"name": "A", "value": "b"}]])
def test_of_pods_that_have_a_gpu_for_themselves_nothing_can_be_undone(env: list[Any]) -> None:
    given = following(
        pools={"gpu": {"sharing": {"mode": "exclusive"}}},
        charts={"dcgmExporter": {"values": {"hostPID": False, "extraEnv": env}}},
    )

    assert findings(given, "GPU844") == []


@pytest.mark.parametrize(
    ("values", "at", "message"),
    [
        (
            {"hostNetwork": False},
            "hostNetwork",
            "localhost:5555 is the agent's host engine in the network of the node only.",
        ),
        (
            {"extraEnv": {"a": "b"}},
            "extraEnv",
            (
                "Without DCGM_REMOTE_HOSTENGINE_INFO the exporter starts a host engine of its own "
                "beside that of the node monitoring agent."
            ),
        ),
        ({"hostNetwork": False, "extraEnv": [{**ENGINE, "value": "dcgm:5555"}]}, "", ""),
        ({"hostNetwork": True}, "", ""),
    ],
)
def test_one_host_engine_is_on_a_node(values: dict[str, Any], at: str, message: str) -> None:
    found = findings(following(charts={"dcgmExporter": {"values": values}}), "GPU644")

    assert found == ([(f"charts.dcgmExporter.values.{at}", message)] if at else [])


def test_an_exporter_for_two_architectures_lacks_an_engine_on_one() -> None:
    pools = {
        "gpu": {"sharing": {"mode": "exclusive"}},
        "arm": {"instanceTypes": ["g5g.xlarge"], "sharing": {"mode": "exclusive"}},
    }

    assert [at for at, _ in findings(following(pools=pools), "GPU645")] == [
        "pools.arm.instanceTypes"
    ]
    idle = following(pools=pools, gpuStack={}, charts={"dcgmExporter": {}})
    assert findings(idle, "GPU645") == []
    assert findings({**idle, "gpuStack": {"manager": "gpuOperator"}}, "GPU645") != []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"gpuStack": {"manager": "gpuOperator", "dcgmExporter": True}},
            "The GPU Operator brings the exporter and configures it.",
        ),
        (
            {"keda": {"prometheus": {"url": URL, "exporter": "existing"}}},
            "keda.prometheus.exporter says that somebody else runs the exporter.",
        ),
        (
            {"pools": {"gpu": {"amiFamily": "bottlerocket", "sharing": {"mode": "exclusive"}}}},
            "It runs on nodes with the device plugin's chart, and Bottlerocket's have none.",
        ),
        ({}, None),
        ({"gpuStack": {"manager": "gpuOperator"}}, None),
    ],
)
def test_there_is_one_exporter(given: dict[str, Any], message: str | None) -> None:
    assert findings(following(**given), "GPU852") == (
        [] if message is None else [("gpuStack.dcgmExporter", message)]
    )


def test_a_chart_that_is_not_installed_is_idle() -> None:
    idle = following(gpuStack={}, charts={"dcgmExporter": {}})

    assert findings(idle, "GPU714") == [
        ("charts.dcgmExporter", "This stack installs no DCGM exporter of its own.")
    ]
    assert findings(following(charts={"dcgmExporter": {}}), "GPU714") == []


def test_counters_of_ones_own_are_enough_for_keda() -> None:
    """Without the block no rule of the stack asks for others."""
    file = "DCGM_FI_DEV_GPU_UTIL, gauge, Use.\n"
    own = {"dcgmExporter": {"values": {"customMetrics": file}}}
    told = {"config": {"name": "mine", "create": True, "data": file}}
    by_operator = {
        "gpuStack": {"manager": "gpuOperator", "dcgmExporter": None},
        "keda": {"prometheus": {"url": URL, "processMetrics": True}},
        "charts": {"gpuOperator": {"values": {"dcgmExporter": told}}},
    }

    assert findings(following(charts=own), "GPU844") == []
    assert findings(following(**by_operator), "GPU844") == []


def test_what_only_people_ask_is_all_that_may_be_left_out() -> None:
    """A file of counters without it is whole; without anything that a rule asks it is not."""
    stack = read_stack(Path(__file__).parents[2] / "stacks/Pulumi.multi-tenant.yaml")
    assert stack.environment is not None
    rules = rules_document(rule_groups(stack.environment, stack.plans))
    asked = json.dumps([rules, boards_json(stack.plans)])
    told = uncounted("", {})

    assert told
    for name in told:
        assert re.search(rf"\b{name}\b", asked), f"no rule and no board asks {name}"
    for line in counters(profiling=True).splitlines():
        name = line.partition(",")[0]
        assert name in {*told, "DCGM_FI_PROF_GR_ENGINE_ACTIVE"} or name not in asked
