"""Rules about chart values, on both sides of each limit."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.catalog.versions import DEVICE_PLUGIN, GPU_OPERATOR
from eks_gpushare.documents.helm import merge_values

OPERATOR = {"gpuStack": {"manager": "gpuOperator"}}
OPERATOR_NAME = f"gpu-operator {GPU_OPERATOR.version.removeprefix('v')}"
AMI = {"id": "ami-0123456789abcdef0", "family": "al2023"}


def of_operator(code: str, values: object, **more: Any) -> list[tuple[str, str]]:
    return findings({**OPERATOR, "charts": {"gpuOperator": {"values": values}}, **more}, code)


def of_plugin(code: str, values: object, **chart: Any) -> list[tuple[str, str]]:
    return findings({"charts": {"devicePlugin": {"values": values, **chart}}}, code)


@pytest.mark.parametrize(
    ("values", "place", "role"),
    [
        (
            {"driver": {"enabled": True}},
            "driver.enabled",
            "is on only where no image has a driver",
        ),
        (
            {"toolkit": {"enabled": True}},
            "toolkit.enabled",
            "is on only where no image has the container toolkit",
        ),
        (
            {"mig": {"strategy": "mixed"}},
            "mig.strategy",
            "stays empty, or it would win over the strategy of every pool",
        ),
        (
            {"migManager": {"enabled": True}},
            "migManager.enabled",
            "is on only where a pool has apply: migManager",
        ),
        (
            {"migManager": {"config": {"default": "all-1g.5gb"}}},
            "migManager.config.default",
            (
                "holds the layouts of the pools and no default, which would take away the MIG "
                "devices of other nodes"
            ),
        ),
        (
            {"devicePlugin": {"config": {"name": "mine"}}},
            "devicePlugin.config.name",
            "names the ConfigMap of the pools",
        ),
        (
            {"daemonsets": {"tolerations": []}},
            "daemonsets.tolerations",
            "holds the taints of the pools",
        ),
        (
            {"node-feature-discovery": {"worker": {"affinity": None}}},
            "node-feature-discovery.worker.affinity",
            "sends NFD's worker to the nodes of the pools",
        ),
        (
            {"gpuCluster": {"deployCR": True}},
            "gpuCluster.deployCR",
            "would hand out GPUs by claims, not as the resources of the plan",
        ),
    ],
)
def test_a_value_of_the_operator_that_undoes_a_derived_one_is_refused(
    values: dict[str, Any], place: str, role: str
) -> None:
    derived = place.removesuffix(".default").removesuffix(".name")

    assert of_operator("GPU710", values) == [
        (
            f"charts.gpuOperator.values.{place}",
            f"{derived} is derived from the pools: it {role}.",
        )
    ]


@pytest.mark.parametrize(
    "values",
    [
        {"driver": {"enabled": False}, "toolkit": {"enabled": False}},
        {"mig": {"strategy": ""}},
        {"migManager": {"config": {"default": ""}}},
        {"dcgmExporter": {"serviceMonitor": {"enabled": True}}},
        {"driver": {}},
    ],
)
def test_a_value_that_changes_no_derived_one_is_fine(values: dict[str, Any]) -> None:
    assert of_operator("GPU710", values) == []


def test_who_makes_the_nodes_knows_whether_they_have_a_driver() -> None:
    pools = {"gpu": {"provisioner": "existing", "amiVersion": None, "nodes": None}}

    assert of_operator("GPU710", {"driver": {"enabled": True}}, pools=pools) == []


@pytest.mark.parametrize(
    ("chart", "values", "place", "fix"),
    [
        (
            "gpuOperator",
            {"migManager": {"WITH_REBOOT": True}},
            "migManager.WITH_REBOOT",
            "Put it into migManager.env as an item {name: WITH_REBOOT, value: ...}.",
        ),
        (
            "gpuOperator",
            {"driver": {"enabeld": False}},
            "driver.enabeld",
            "Did you mean driver.enabled?",
        ),
        (
            "gpuOperator",
            {"nfd": {"worker": {"tolerations": []}}},
            "nfd.worker",
            "The subchart has another name here: use `node-feature-discovery.worker`.",
        ),
        (
            "gpuOperator",
            {"node-feature-discovery": {"worker": {"priorityClass": "high"}}},
            "node-feature-discovery.worker.priorityClass",
            "Did you mean node-feature-discovery.worker.priorityClassName?",
        ),
        (
            "gpuOperator",
            {"psp": {"enabled": True}},
            "psp",
            "Pod Security Policies are gone; `psa.enabled` labels the namespace.",
        ),
        (
            "gpuOperator",
            {"global": {"imageRegistry": "registry.example.com"}},
            "global.imageRegistry",
            "Remove it.",
        ),
        (
            "devicePlugin",
            {"gfd": {"tolerations": []}},
            "gfd.tolerations",
            "`tolerations` at the top serves all DaemonSets of the chart.",
        ),
        (
            "devicePlugin",
            {"node-feature-discovery": {"worker": {}}},
            "node-feature-discovery",
            "The subchart has another name here: use `nfd`.",
        ),
        (
            "devicePlugin",
            {"failRequestsGreaterThanOne": True},
            "failRequestsGreaterThanOne",
            "Remove it.",
        ),
    ],
)
def test_a_value_that_no_template_reads_is_refused(
    chart: str, values: dict[str, Any], place: str, fix: str
) -> None:
    manager = {"gpuStack": {"manager": chart}}
    fragment = {**manager, "charts": {chart: {"values": values}}}
    found = checked(stack_file_text(merge_values(base(), fragment))).findings
    name = (
        OPERATOR_NAME if chart == "gpuOperator" else f"nvidia-device-plugin {DEVICE_PLUGIN.version}"
    )

    assert [(each.path, each.message, each.fix) for each in found if each.code == "GPU711"] == [
        (
            f"charts.{chart}.values.{place}",
            f"{place} is no value of {name}: no template reads it.",
            fix,
        )
    ]


@pytest.mark.parametrize(
    "values",
    [
        {"operator": {"metrics": {"serviceMonitor": {"interval": "1m"}}}},
        {"dcgmExporter": {"serviceMonitor": {"additionalLabels": {"team": "a"}, "madeUp": 1}}},
        {"devicePlugin": {"env": [{"name": "A", "value": "b"}]}},
        {"node-feature-discovery": {"worker": {"config": {"sources": {"usb": {}}}}}},
        {"global": {"imagePullSecrets": ["mirror"]}},
        {"operator": {"nodeSelector": None}},
        {"driver": None},
        {},
    ],
)
def test_values_that_the_operator_reads_are_fine(values: dict[str, Any]) -> None:
    assert of_operator("GPU711", values) == []


@pytest.mark.parametrize(
    "values",
    [
        {"image": {"tag": "v0.20.0"}, "podAnnotations": {"a/b": "c"}},
        {"nfd": {"enabled": True, "worker": {"priorityClassName": "high"}}},
        {"resources": {"limits": {"memory": "128Mi"}}},
        {"deviceListStrategy": ["envvar", "volume-mounts"]},
    ],
)
def test_values_that_the_device_plugin_reads_are_fine(values: dict[str, Any]) -> None:
    assert of_plugin("GPU711", values) == []


def test_one_value_in_place_of_a_block_is_refused() -> None:
    assert of_operator("GPU711", {"dcgmExporter": True}) == [
        (
            "charts.gpuOperator.values.dcgmExporter",
            f"dcgmExporter is a block of values in {OPERATOR_NAME}, not one value.",
        )
    ]


def test_a_default_that_no_template_reads_is_told() -> None:
    assert of_operator("GPU712", {"devicePlugin": {"mps": {"root": "/mnt/mps"}}}) == [
        (
            "charts.gpuOperator.values.devicePlugin.mps.root",
            (
                f"devicePlugin.mps.root is among the defaults of {OPERATOR_NAME}, but no "
                "template reads it."
            ),
        )
    ]


@pytest.mark.parametrize(
    ("chart", "which"),
    [({"version": "0.19.1"}, "version 0.19.1"), ({"path": "charts/plugin"}, "a chart on disk")],
)
def test_values_of_another_chart_are_not_checked_and_that_is_told(
    chart: dict[str, str], which: str
) -> None:
    assert of_plugin("GPU711", {"madeUp": 1}, **chart) == []
    assert of_plugin("GPU713", {"madeUp": 1}, **chart) == [
        (
            "charts.devicePlugin.values",
            f"Which values {which} reads is not known, so they are not checked.",
        )
    ]


def test_without_values_there_is_nothing_to_check() -> None:
    assert findings({"charts": {"devicePlugin": {"version": "0.19.1"}}}, "GPU713") == []


def test_a_mirror_has_the_same_chart() -> None:
    mirror = {"repository": "https://charts.example.com"}

    assert [path for path, _ in of_plugin("GPU711", {"madeUp": 1}, **mirror)] == [
        "charts.devicePlugin.values.madeUp"
    ]


def test_a_chart_that_is_not_installed_is_not_checked() -> None:
    fragment = {**OPERATOR, "charts": {"devicePlugin": {"values": {"affinity": {"madeUp": 1}}}}}

    assert [findings(fragment, code) for code in ("GPU703", "GPU711")] == [[], []]


@pytest.mark.parametrize(
    ("manager", "idle"), [("devicePlugin", "gpuOperator"), ("gpuOperator", "devicePlugin")]
)
def test_a_block_for_the_chart_that_is_not_installed_is_told(manager: str, idle: str) -> None:
    fragment = {"gpuStack": {"manager": manager}, "charts": {idle: {"values": {"a": 1}}}}

    assert findings(fragment, "GPU714") == [
        (f"charts.{idle}", f"gpuStack.manager is {manager}, so this chart is not installed.")
    ]


def test_an_empty_block_is_no_matter() -> None:
    assert findings({"charts": {"gpuOperator": {}}}, "GPU714") == []


def bare(**more: object) -> dict[str, Any]:
    ami = {**AMI, "driverIncluded": False}
    return {"amiVersion": None, "amiFamily": "custom", "customAmi": ami, **more}


def test_images_with_a_driver_beside_images_without_one_are_refused() -> None:
    pool = bare(instanceTypes=["g5.xlarge"], sharing={"mode": "exclusive"})

    assert findings({**OPERATOR, "pools": {"bare": pool}}, "GPU716") == [
        (
            "pools.bare.customAmi.driverIncluded",
            "This image has no NVIDIA driver, but nodes of gpu have one.",
        )
    ]


def test_nodes_with_a_device_plugin_of_their_own_do_not_count() -> None:
    pool = {
        "instanceTypes": ["g5.xlarge"],
        "amiFamily": "bottlerocket",
        "sharing": {"mode": "exclusive"},
    }

    assert findings({**OPERATOR, "pools": {"gpu": bare(), "rocket": pool}}, "GPU716") == []


def test_an_image_without_driver_has_to_be_of_a_system_that_nvidia_has_one_for() -> None:
    assert findings({**OPERATOR, "pools": {"gpu": bare()}}, "GPU717") == [
        (
            "pools.gpu.customAmi.driverIncluded",
            (
                "The operator installs the driver from an image, which NVIDIA has for Ubuntu and "
                "Red Hat, not for Amazon Linux."
            ),
        )
    ]


@pytest.mark.parametrize("code", ["GPU716", "GPU717"])
def test_the_device_plugin_has_another_rule_for_images_without_driver(code: str) -> None:
    assert findings({"pools": {"gpu": bare()}}, code) == []


@pytest.mark.parametrize(
    ("part", "name"),
    [("devicePlugin", "MIG_STRATEGY"), ("gfd", "MIG_STRATEGY"), ("gfd", "GFD_MIG_STRATEGY")],
)
def test_a_strategy_in_the_environment_would_win_over_that_of_pools(part: str, name: str) -> None:
    env = [{"name": name, "value": "single"}]

    assert of_operator("GPU710", {part: {"env": env}}) == [
        (
            f"charts.gpuOperator.values.{part}.env",
            f"{name} would win over the strategy of every pool.",
        )
    ]


@pytest.mark.parametrize("name", ["GFD_MIG_STRATEGY", "NVIDIA_MIG_MONITOR_DEVICES"])
def test_another_variable_of_the_device_plugin_wins_over_nothing(name: str) -> None:
    env = [{"name": name, "value": "all"}]

    assert of_operator("GPU710", {"devicePlugin": {"env": env}}) == []


CUT = {
    "pools": {
        "gpu": {
            "instanceTypes": ["p4d.24xlarge"],
            "sharing": {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"},
        }
    }
}


def test_own_variables_of_mig_manager_keep_its_leave_to_reboot() -> None:
    env = [{"name": "LOG_LEVEL", "value": "debug"}]

    assert of_operator("GPU710", {"migManager": {"env": env}}, **CUT) == [
        (
            "charts.gpuOperator.values.migManager.env",
            "This list replaces the derived one, without which A100 GPUs do not switch MIG on.",
        )
    ]
    env.append({"name": "WITH_REBOOT", "value": "true"})
    assert of_operator("GPU710", {"migManager": {"env": env}}, **CUT) == []


@pytest.mark.parametrize("env", [[], None])
def test_no_environment_at_all_undoes_the_derived_one_too(env: object) -> None:
    assert [path for path, _ in of_operator("GPU710", {"migManager": {"env": env}}, **CUT)] == [
        "charts.gpuOperator.values.migManager.env"
    ]


def test_a_new_cluster_needs_the_node_feature_discovery_of_the_chart() -> None:
    values = {"nfd": {"enabled": False}}
    only = "A new cluster has no node feature discovery but that of this chart"

    assert of_operator("GPU710", values) == [
        (
            "charts.gpuOperator.values.nfd.enabled",
            f"{only}: without it the operator finds no node with a GPU.",
        )
    ]
    assert of_plugin("GPU703", values) == [
        (
            "charts.devicePlugin.values.nfd.enabled",
            (
                f"{only}: without it no label of GPU feature discovery gets to a node, and no MPS "
                "daemon starts."
            ),
        )
    ]


def test_a_cluster_of_others_may_have_node_feature_discovery() -> None:
    cluster = {"existing": {"name": "theirs"}}
    values = {"nfd": {"enabled": False}}
    stack = {
        **base(),
        "cluster": cluster,
        **OPERATOR,
        "charts": {"gpuOperator": {"values": values}},
    }

    assert "GPU710" not in {each.code for each in checked(stack_file_text(stack)).findings}
