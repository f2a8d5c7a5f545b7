"""The GPU Operator on simulated nodes: its labels, its DaemonSets, its MIG manager."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eks_gpushare_lab.install.charts import render
from eks_gpushare_lab.install.release import ChartError, DeclaredRelease, known_versions
from eks_gpushare_lab.simulated_node import gpus, operator
from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu, whole
from eks_gpushare_lab.simulated_node.hardware import Hardware, hardware_of
from eks_gpushare_lab.simulated_node.mig_manager import MigManager
from eks_gpushare_lab.simulated_node.node import SimulatedNode
from eks_gpushare_lab.simulated_node.operator import Policy, changes
from eks_gpushare_lab.simulated_node.pods import PLUGIN, VALIDATOR
from eks_gpushare_lab.simulated_node.taint_remover import is_remover, without_taint

GPU = "nvidia.com/gpu"
DEPLOY = "nvidia.com/gpu.deploy."
FOUND = {"feature.node.kubernetes.io/pci-10de.present": "true"}
STATE = "nvidia.com/mig.config.state"
Values = Any

# Labels of the operator, by its controllers/nodelabeling_controller.go.

OPERANDS = {
    f"{DEPLOY}{each}": "true"
    for each in (
        "driver",
        "gpu-feature-discovery",
        "container-toolkit",
        "device-plugin",
        "dcgm",
        "dcgm-exporter",
        "node-status-exporter",
        "operator-validator",
        "client",
    )
}


def test_a_node_that_discovery_found_gets_the_operands() -> None:
    assert changes(FOUND, Policy()) == {"nvidia.com/gpu.present": "true", **OPERANDS}


def test_a_node_that_only_a_hand_has_labelled_loses_the_label() -> None:
    assert changes({"nvidia.com/gpu.present": "true"}, Policy()) == {
        "nvidia.com/gpu.present": "false"
    }


def test_operands_can_be_kept_off_a_node() -> None:
    there = {**FOUND, "nvidia.com/gpu.present": "true", f"{DEPLOY}operands": "false"}

    assert changes({**there, f"{DEPLOY}driver": "true"}, Policy()) == {f"{DEPLOY}driver": None}


def test_a_value_that_is_there_stays() -> None:
    off = {f"{DEPLOY}device-plugin": "paused-for-mig-change", f"{DEPLOY}driver": "false"}

    assert not changes({**FOUND, **off}, Policy()).keys() & off.keys()


@pytest.mark.parametrize(
    ("label", "deployed"),
    [
        ({"nvidia.com/mig.capable": "true"}, True),
        ({"nvidia.com/mig.capable": "false", "nvidia.com/gpu.product": "H100"}, False),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}, True),
        ({"nvidia.com/gpu.product": "NVIDIA-L4"}, False),
    ],
)
def test_the_mig_manager_goes_where_mig_is(label: dict[str, str], *, deployed: bool) -> None:
    found = changes({**FOUND, **label}, Policy())

    assert (found.get(f"{DEPLOY}mig-manager") == "true") is deployed


@pytest.mark.parametrize(
    ("policy", "label"),
    [
        (Policy(mig_default="all-disabled"), "all-disabled"),
        (Policy(mig_default=""), None),
        (Policy(mig_manager=False, mig_default="all-disabled"), None),
    ],
)
def test_the_default_mig_config_becomes_a_label(policy: Policy, label: str | None) -> None:
    there = {**FOUND, "nvidia.com/mig.capable": "true"}

    assert changes(there, policy).get("nvidia.com/mig.config") == label


# The chart.


def objects(**values: Values) -> dict[str, dict[str, Any]]:
    (version,) = known_versions("gpu-operator")
    release = DeclaredRelease("gpu-operator", "gpu-operator", "gpu-operator", version, values)
    return {each["metadata"]["name"]: each for each in render(release)}


def pod_of(made: dict[str, Any], uid: str = "1") -> dict[str, Any]:
    metadata = {"name": f"pod-{uid}", "namespace": "gpu-operator", "uid": uid}
    spec = {**made["spec"]["template"]["spec"], "nodeName": "n"}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def test_an_operand_that_is_off_has_no_daemon_set() -> None:
    off = {"enabled": False}

    assert list(objects(driver=off, toolkit=off)) == [
        "gpu-operator",
        "nvidia-operator-validator",
        "nvidia-device-plugin-daemonset",
        "nvidia-device-plugin-mps-control-daemon",
        "gpu-feature-discovery",
        "nvidia-dcgm-exporter",
        "nvidia-mig-manager",
        "gpu-operator-node-feature-discovery-worker",
    ]


def test_operands_select_the_operators_labels_and_tolerate_one_list() -> None:
    mine = [{"key": "team", "operator": "Exists"}]
    made = objects(daemonsets={"tolerations": mine})["nvidia-mig-manager"]
    spec = made["spec"]["template"]["spec"]

    assert spec["nodeSelector"] == {f"{DEPLOY}mig-manager": "true"}
    assert spec["tolerations"] == mine


def environment(made: dict[str, Any]) -> dict[str, str]:
    main = made["spec"]["template"]["spec"]["containers"][-1]
    return {each["name"]: each["value"] for each in main.get("env", [])}


@pytest.mark.parametrize(
    ("strategy", "written"), [("single", "single"), ("mixed", "mixed"), ("", None), (None, None)]
)
def test_the_mig_strategy_is_written_unless_it_is_empty(
    strategy: str | None, written: str | None
) -> None:
    made = objects(mig={"strategy": strategy})["nvidia-device-plugin-daemonset"]

    assert environment(made).get("MIG_STRATEGY") == written


def test_a_lone_key_is_not_taken_by_the_operators_config_manager() -> None:
    config = {"name": "shares", "default": "any"}
    made = objects(devicePlugin={"config": config})["nvidia-device-plugin-daemonset"]
    (manager,) = [
        each
        for each in made["spec"]["template"]["spec"]["containers"]
        if each["command"] == ["config-manager"]
    ]
    found = {each["name"]: each["value"] for each in manager["env"]}

    assert (found["DEFAULT_CONFIG"], found["FALLBACK_STRATEGIES"]) == ("any", "empty")


def test_a_config_map_for_the_mig_manager_can_be_the_charts() -> None:
    config = {"create": True, "name": "layouts", "data": {"config.yaml": "version: v1"}}
    made = objects(migManager={"config": config})

    assert made["layouts"]["data"] == {"config.yaml": "version: v1"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mig": {"strategy": "both"}}, 'spec.mig.strategy: Unsupported value: "both"'),
        (
            {"migManager": {"config": {"default": "all-1g.5gb"}}},
            'spec.migManager.config.default: Unsupported value: "all-1g.5gb"',
        ),
        ({"devicePlugin": {"config": {"create": True, "name": "a"}}}, "data cannot be empty"),
        ({"gpuCluster": {"deployCR": True}}, "only one CR can exist"),
    ],
)
def test_values_that_chart_or_cluster_policy_refuse_are_refused(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ChartError) as raised:
        objects(**values)

    assert message in str(raised.value)


def test_the_operator_works_by_the_charts_values() -> None:
    config = {"default": ""}
    operator_pod = pod_of(objects(migManager={"enabled": False, "config": config})["gpu-operator"])

    assert operator.policy_of(operator_pod) == Policy(mig_manager=False, mig_default="")


def test_an_operator_that_helm_installed_works_by_the_clusters_policy() -> None:
    container = {"name": "gpu-operator", "command": ["gpu-operator"]}
    spec = {"migManager": {"enabled": True, "config": {"default": "all-disabled"}}}
    policy = operator.policy_of({"spec": {"containers": [container]}}, lambda: spec)

    assert policy == Policy(mig_manager=True, mig_default="all-disabled")


def test_the_device_plugin_waits_for_the_validator() -> None:
    made = objects()
    node = {
        "metadata": {"labels": {"node.kubernetes.io/instance-type": "p4d.24xlarge"}},
        "status": {},
        "spec": {},
    }
    plugin = pod_of(made["nvidia-device-plugin-daemonset"], "1")
    validator = pod_of(made["nvidia-operator-validator"], "2")
    simulated = SimulatedNode("n")
    simulated.update(node, [plugin], lambda *_: None)
    before = dict(simulated.allocatable), simulated.instances[PLUGIN].trouble
    simulated.update(node, [plugin, validator], lambda *_: None)

    assert validator["spec"]["containers"][0]["command"] == [VALIDATOR]
    assert before[0] == {}
    assert before[1] is not None
    assert before[1].reason == "PodInitializing"
    assert simulated.allocatable == {GPU: 8}


# The MIG manager, by its pkg/mig/reconfigure/reconfigure.go.

DOCUMENT = """
version: v1
mig-configs:
  sevenths: [{devices: all, mig-enabled: true, mig-devices: {"1g.5gb": 7}}]
  too-much: [{devices: all, mig-enabled: true, mig-devices: {"3g.20gb": 2, "1g.5gb": 1}}]
"""
ON = {f"{DEPLOY}device-plugin": "true", f"{DEPLOY}client": "true", f"{DEPLOY}dcgm": "false"}


def machine(kind: str = "p4d.24xlarge") -> Hardware:
    found = hardware_of(kind)
    assert found is not None
    return found


def manager(*, reboot: bool = True, own: bool = True) -> MigManager:
    env = [{"name": "WITH_REBOOT", "value": "true"}] if reboot else []
    config = {"name": "layouts"} if own else {}
    values = {"migManager": {"env": env, "config": config}}
    return MigManager(pod_of(objects(**values)["nvidia-mig-manager"]), "n")


def run(
    mine: MigManager,
    name: str,
    *pods: dict[str, Any],
    files: dict[str, str] | None = None,
    there: tuple[SimulatedGpu, ...] = whole(8),
    kind: str = "p4d.24xlarge",
) -> str | None:
    """What the label says at the end."""
    labels = {"nvidia.com/mig.config": name, **ON}
    data = {"config.yaml": DOCUMENT} if files is None else files
    mine.update(labels, there, machine(kind), lambda *_: data)
    if mine.waits:
        mine.go_on(labels, there, machine(kind), pods)
    return mine.labels.get(STATE)


def test_programs_are_paused_but_for_those_that_are_off() -> None:
    mine = manager()
    labels = {"nvidia.com/mig.config": "sevenths", **ON}
    mine.update(labels, whole(8), machine(), lambda *_: {"config.yaml": DOCUMENT})

    assert mine.labels == {
        STATE: "pending",
        f"{DEPLOY}device-plugin": "paused-for-mig-change",
        f"{DEPLOY}gpu-feature-discovery": "paused-for-mig-change",
        f"{DEPLOY}dcgm-exporter": "paused-for-mig-change",
        f"{DEPLOY}nvsm": "paused-for-mig-change",
        f"{DEPLOY}client": "paused-for-mig-change",
    }


def test_a_layout_is_applied_and_the_programs_come_back() -> None:
    mine = manager()

    assert run(mine, "sevenths") == "success"
    assert mine.gpus is not None
    assert [gpu.counts() for gpu in mine.gpus] == [{"1g.5gb": 7}] * 8
    assert mine.labels[f"{DEPLOY}device-plugin"] == "true"


def test_it_waits_for_the_pods_of_paused_programs() -> None:
    mine = manager()
    plugin = pod_of(objects()["nvidia-device-plugin-daemonset"])

    assert run(mine, "sevenths", plugin) == "pending"
    assert mine.gpus is None


def test_without_a_file_of_ones_own_the_hardware_names_the_layouts() -> None:
    assert run(manager(own=False), "all-balanced") == "success"


def test_what_is_there_already_changes_nothing() -> None:
    mine = manager(own=False)

    assert run(mine, "all-disabled") == "success"
    assert mine.gpus is None


def user_pod() -> dict[str, Any]:
    container = {"resources": {"limits": {GPU: "1"}}}
    metadata = {"name": "train", "namespace": "team", "uid": "9"}
    spec = {"containers": [container], "nodeName": "n"}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def test_a_pod_that_uses_a_gpu_makes_it_fail() -> None:
    mine = manager()

    assert run(mine, "sevenths", user_pod()) == "failed"
    assert mine.log() == "sevenths: error clearing MigConfig: In use by another client (train)"


def test_ampere_needs_a_reboot_to_change_its_mode() -> None:
    assert run(manager(reboot=False), "sevenths") == "failed"


def test_ampere_needs_no_reboot_to_be_cut_otherwise() -> None:
    mine = manager(reboot=False)

    assert run(mine, "sevenths", there=(SimulatedGpu(mig=True),) * 8) == "success"


def test_hopper_needs_no_reboot() -> None:
    mine = manager(reboot=False, own=False)

    assert run(mine, "all-1g.10gb", kind="p5.48xlarge") == "success"


@pytest.mark.parametrize("name", ["too-much", "absent"])
def test_a_layout_that_cannot_be_fails(name: str) -> None:
    mine = manager()

    assert run(mine, name) == "failed"
    assert mine.gpus is None


def test_a_failure_is_not_tried_again_until_the_label_changes() -> None:
    mine = manager()
    run(mine, "absent")
    mine.labels = {}

    assert run(mine, "absent") is None
    assert run(mine, "sevenths") == "success"


@pytest.mark.parametrize(
    ("files", "reason"), [({}, "CrashLoopBackOff"), ({"other": ""}, "CrashLoopBackOff")]
)
def test_a_config_map_without_its_key_keeps_it_from_starting(
    files: dict[str, str], reason: str
) -> None:
    mine = manager()
    run(mine, "sevenths", files=files)

    assert mine.trouble is not None
    assert mine.trouble.reason == reason
    assert "config.yaml: no such file or directory" in mine.trouble.message


def test_the_gpus_are_kept_with_the_node() -> None:
    made = objects(migManager={"env": [{"name": "WITH_REBOOT", "value": "true"}]})
    labels = {
        "node.kubernetes.io/instance-type": "p4d.24xlarge",
        "nvidia.com/mig.config": "all-3g.20gb",
    }
    node = {"metadata": {"labels": labels}, "status": {}, "spec": {}}
    simulated = SimulatedNode("n")
    simulated.update(node, [pod_of(made["nvidia-mig-manager"])], lambda *_: None)
    simulated.commit()
    simulated.go_on(node, [])

    assert simulated.changes[STATE] == "success"
    assert json.loads(simulated.notes[gpus.STATE]) == [[["3g.20gb", 0], ["3g.20gb", 4]]] * 8


# The controller that takes the startup taint away.

EXPECTED = json.dumps(
    {"a": {"config": "sevenths", "advertises": {"p4d.24xlarge": {"nvidia.com/mig-1g.5gb": 56}}}}
)


def tainted(state: str = "success", config: str = "sevenths", count: int = 56) -> dict[str, Any]:
    labels = {
        "eks-gpushare/pool": "a",
        "node.kubernetes.io/instance-type": "p4d.24xlarge",
        "nvidia.com/mig.config": config,
        STATE: state,
    }
    taints = [
        {"key": GPU, "value": "true", "effect": "NoSchedule"},
        {"key": "eks-gpushare/mig-layout", "value": "pending", "effect": "NoSchedule"},
    ]
    allocatable = {GPU: "0", "nvidia.com/mig-1g.5gb": str(count), "cpu": "1"}
    return {
        "metadata": {"name": "n", "labels": labels, "resourceVersion": "7"},
        "spec": {"taints": taints},
        "status": {"allocatable": allocatable},
    }


def test_the_taint_goes_when_the_layout_is_there() -> None:
    change = without_taint(tainted(), {"expected.json": EXPECTED})

    assert change == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"taints": [{"key": GPU, "value": "true", "effect": "NoSchedule"}]},
    }


@pytest.mark.parametrize(
    "node", [tainted(state="pending"), tainted(config="other"), tainted(count=8)]
)
def test_the_taint_stays_until_the_layout_is_there(node: dict[str, Any]) -> None:
    assert without_taint(node, {"expected.json": EXPECTED}) is None


def test_the_controller_is_known_by_its_script() -> None:
    command = ["python", "-I", "-B", "/opt/eks-gpushare/mig_taint_remover.py"]

    assert is_remover({"spec": {"containers": [{"command": command}]}})
    assert not is_remover({"spec": {"containers": [{"command": ["python"]}]}})
