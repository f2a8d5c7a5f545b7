"""Chart values: each that takes away what the pools need is one finding, a right one none.

With `helm` on PATH and EKS_GPUSHARE_TEST_CHARTS naming a folder that has the charts, the charts
themselves show what some of them do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from finding_examples import base, checked, stack_file_text

from eks_gpushare.catalog import versions
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.documents.image import image_name, reference_fault

PLUGIN, OPERATOR = "devicePlugin", "gpuOperator"
NOT_NEW = dict.fromkeys(("name", "version", "admins"))
EXISTING = {"cluster": {**NOT_NEW, "existing": {"name": "theirs"}}, "network": None}
ELSEWHERE = {"pools": {"gpu": {"provisioner": "existing", "amiVersion": None, "nodes": None}}}
MIRROR = f"example.com/plugin@sha256:{'a' * 64}"
SLOWER = {"worker": {"config": {"core": {"sleepInterval": "60s"}}}}
MPS = {"pools": {"gpu": {"sharing": {"mode": "mps", "replicas": 4}}}}
ON_CHART = {
    "pools": {
        "gpu": {
            "amiFamily": "bottlerocket",
            "amiVersion": "1.65.0-0be31b34",
            "bottlerocket": {"devicePlugin": "chart"},
        }
    }
}


def nested(place: str, value: Any) -> dict[str, Any]:
    """Values with one in them, at a place such as `nfd.worker.enable`."""
    first, _, rest = place.partition(".")
    return {first: nested(rest, value) if rest else value}


def found(chart: str, values: dict[str, Any], more: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Severity, code and path of errors, and of warnings about charts."""
    fragment = {"gpuStack": {"manager": chart}, "charts": {chart: {"values": values}}}
    report = checked(stack_file_text(merge_values(merge_values(base(), fragment), more)))
    return [
        (f.severity, f.code, f.path)
        for f in report.findings
        if f.severity == "error" or (f.severity == "warning" and f.at[0] == "charts")
    ]


HARMFUL: list[tuple[str, str, Any, dict[str, Any]]] = [
    (PLUGIN, "nfd.worker.enable", False, {}),
    (PLUGIN, "nfd.master.enable", False, {}),
    (PLUGIN, "nfd.master.replicaCount", 0, {}),
    (PLUGIN, "nfd.master.rbac.create", False, {}),
    (PLUGIN, "nfd.worker.rbac.create", False, {}),
    (PLUGIN, "nfd.worker.nodeSelector", {"team": "ml"}, {}),
    (PLUGIN, "nfd.worker.nodeSelector", {"team": "ml"}, EXISTING),
    (PLUGIN, "nfd.featureGates.NodeFeatureAPI", False, {}),
    (PLUGIN, "nfd.master.denyLabelNs", ["nvidia.com"], {}),
    (PLUGIN, "nfd.master.config.denyLabelNs", ["*.nvidia.com"], {}),
    (PLUGIN, "nfd.fullnameOverride", "Node_Features", {}),
    (PLUGIN, "nvidiaDriverRoot", "/run/nvidia/driver", {}),
    (PLUGIN, "nvidiaDevRoot", "/run/nvidia/driver", {}),
    (PLUGIN, "runtimeClassName", "nvidia", {}),
    (PLUGIN, "deviceDiscoveryStrategy", "tegra", {}),
    (PLUGIN, "deviceIDStrategy", "UUID", {}),
    (PLUGIN, "deviceListStrategy", "env-var", {}),
    (PLUGIN, "deviceListStrategy", "envvar, cdi-cri", {}),
    (PLUGIN, "deviceListStrategy", "envvar", ON_CHART),
    (PLUGIN, "mps.root", "nvidia/mps", {}),
    (PLUGIN, "fullnameOverride", "x" * 64, {}),
    (PLUGIN, "nameOverride", "Device Plugin", {}),
    (OPERATOR, "node-feature-discovery.worker.enable", False, {}),
    (OPERATOR, "node-feature-discovery.master.enable", False, {}),
    (OPERATOR, "node-feature-discovery.master.replicaCount", "0", {}),
    (OPERATOR, "node-feature-discovery.worker.nodeSelector", {"team": "ml"}, {}),
    (OPERATOR, "node-feature-discovery.featureGates.NodeFeatureAPI", False, {}),
    (OPERATOR, "node-feature-discovery.master.config.denyLabelNs", ["nvidia.com"], {}),
    (OPERATOR, "sandboxWorkloads.enabled", True, {}),
    (OPERATOR, "operator.runtimeClass", "nvidia-legacy", {}),
    (OPERATOR, "platform.openshift", True, {}),
    (OPERATOR, "hostPaths.rootFS", "/host", {}),
    (OPERATOR, "hostPaths.kubeletRootDir", "/data/kubelet", {}),
    (OPERATOR, "cdi.nriPluginEnabled", True, {}),
]


@pytest.mark.parametrize(("chart", "place", "value", "more"), HARMFUL)
def test_a_value_that_takes_away_what_the_pools_need(
    chart: str, place: str, value: Any, more: dict[str, Any]
) -> None:
    path = f"charts.{chart}.values.{place}"

    assert found(chart, nested(place, value), more) == [("error", "GPU731", path)]


@pytest.mark.parametrize(
    ("part", "key", "item"),
    [
        ("devicePlugin", "args", "--mig-strategy=mixed"),
        ("devicePlugin", "args", "--config-file=/config.yaml"),
        ("gfd", "args", "--mig-strategy"),
        ("devicePlugin", "env", {"name": "CONFIG_FILE", "value": "/config.yaml"}),
        ("gfd", "env", {"name": "CONFIG_FILE", "value": "/config.yaml"}),
    ],
)
def test_arguments_and_variables_win_over_configurations(part: str, key: str, item: Any) -> None:
    assert found(OPERATOR, {part: {key: [item]}}, {}) == [
        ("error", "GPU731", f"charts.gpuOperator.values.{part}.{key}[0]")
    ]


@pytest.mark.parametrize(
    ("chart", "place", "value", "message"),
    [
        (PLUGIN, "nfd.master.enable", False, "no MPS daemon would start."),
        (
            *(OPERATOR, "node-feature-discovery.master.enable", False),
            "no operand of the operator would start.",
        ),
        (
            *(PLUGIN, "deviceListStrategy", "env-var"),
            "envvar, volume-mounts, cdi-annotations, cdi-cri, with commas between several.",
        ),
    ],
)
def test_what_comes_of_a_value(chart: str, place: str, value: Any, message: str) -> None:
    fragment = {"gpuStack": {"manager": chart}, "charts": {chart: {"values": nested(place, value)}}}
    report = checked(stack_file_text(merge_values(base(), fragment)))
    [only] = [f for f in report.findings if f.severity == "error"]

    assert only.message.endswith(message)
    assert only.fix in {"Remove it.", "Write some of these."}


def test_a_list_strategy_on_bottlerocket_is_taken_away() -> None:
    values = {"charts": {PLUGIN: {"values": {"deviceListStrategy": "envvar"}}}}
    report = checked(stack_file_text(merge_values(merge_values(base(), values), ON_CHART)))
    [only] = [f for f in report.findings if f.severity == "error"]

    assert only.message.startswith("It would win over the volume mounts that Bottlerocket's pools")
    assert only.fix == "Remove it."


DERIVED = [
    (PLUGIN, "GPU703", "gfd.enabled", False),
    (PLUGIN, "GPU703", "nfd.enabled", False),
    (PLUGIN, "GPU703", "devicePlugin.enabled", False),
    (PLUGIN, "GPU703", "migStrategy", "mixed"),
    (PLUGIN, "GPU703", "nodeSelector", {"team": "ml"}),
    (PLUGIN, "GPU703", "tolerations", []),
    (PLUGIN, "GPU703", "config.name", "mine"),
    (PLUGIN, "GPU703", "config.default", "other"),
    (PLUGIN, "GPU703", "config.map", {"default": "version: v1"}),
    (PLUGIN, "GPU703", "config.fallbackStrategies", ["empty"]),
    (PLUGIN, "GPU703", "namespaceOverride", "kube-system"),
    (PLUGIN, "GPU703", "nfd.worker.tolerations", []),
    (OPERATOR, "GPU710", "gfd.enabled", False),
    (OPERATOR, "GPU710", "devicePlugin.enabled", False),
    (OPERATOR, "GPU710", "nfd.enabled", False),
    (OPERATOR, "GPU710", "clusterPolicy.deployCR", False),
    (OPERATOR, "GPU710", "devicePlugin.config.default", "any"),
]


@pytest.mark.parametrize(("chart", "code", "place", "value"), DERIVED)
def test_a_derived_value_stays(chart: str, code: str, place: str, value: Any) -> None:
    errors = found(chart, nested(place, value), {})

    assert [(c, p.partition(".values.")[2].partition(".")[0]) for _, c, p in errors] == [
        (code, place.partition(".")[0])
    ]


DOUBTFUL: list[tuple[str, str, Any, dict[str, Any]]] = [
    (PLUGIN, "updateStrategy.type", "OnDelete", {}),
    (PLUGIN, "priorityClassName", "gpu-critical", {}),
    (PLUGIN, "nfd.namespaceOverride", "nfd", {}),
    (PLUGIN, "nfd.prometheus.enable", True, {}),
    (PLUGIN, "nfd.worker.priorityClassName", "high", {}),
    (PLUGIN, "gdsEnabled", True, {}),
    (PLUGIN, "mofedEnabled", True, {}),
    (PLUGIN, "mps.enableHostPID", False, MPS),
    (OPERATOR, "daemonsets.updateStrategy", "OnDelete", {}),
    (OPERATOR, "daemonsets.priorityClassName", "gpu-critical", {}),
    (OPERATOR, "node-feature-discovery.namespaceOverride", "nfd", {}),
]


@pytest.mark.parametrize(("chart", "place", "value", "more"), DOUBTFUL)
def test_a_value_that_needs_what_is_not_there(
    chart: str, place: str, value: Any, more: dict[str, Any]
) -> None:
    path = f"charts.{chart}.values.{place}"

    assert found(chart, nested(place, value), more) == [("warning", "GPU732", path)]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("driver.version", "580.126.20"),
        ("driver.kernelModuleType", "open"),
        ("toolkit.version", "v1.19.0"),
        ("toolkit.env", [{"name": "CONTAINERD_CONFIG", "value": "/etc/containerd/config.toml"}]),
        ("gds.enabled", True),
        ("gdrcopy.enabled", True),
    ],
)
def test_settings_of_a_driver_that_is_not_installed(place: str, value: Any) -> None:
    assert found(OPERATOR, nested(place, value), {}) == [
        ("warning", "GPU733", f"charts.gpuOperator.values.{place}")
    ]


def test_a_driver_that_is_switched_off_needs_no_settings_either() -> None:
    values = {"driver": {"enabled": False, "version": "580.126.20"}}

    assert found(OPERATOR, values, {}) == [
        ("warning", "GPU733", "charts.gpuOperator.values.driver.version")
    ]


def test_a_driver_that_is_switched_on_has_another_finding() -> None:
    values = {"driver": {"enabled": True, "version": "580.126.20"}}

    assert "GPU733" not in {code for _, code, _ in found(OPERATOR, values, {})}


def test_the_device_plugin_has_no_driver() -> None:
    values = {"driver": {"version": "580.126.20"}, "gds": {"enabled": True}}

    assert "GPU733" not in {code for _, code, _ in found(PLUGIN, values, {})}


KINDS: list[tuple[str, str, Any]] = [
    (PLUGIN, "compatWithCPUManager", "false"),
    (PLUGIN, "failOnInitError", "no"),
    (PLUGIN, "gdrcopyEnabled", 1),
    (PLUGIN, "mps.enableHostPID", "False"),
    (PLUGIN, "nfd.worker.hostNetwork", "true"),
    (PLUGIN, "nfd.master.enable", "false"),
    (PLUGIN, "nfd.gc.replicaCount", "two"),
    (PLUGIN, "imagePullSecrets", "mirror"),
    (PLUGIN, "podAnnotations", ["a=b"]),
    (PLUGIN, "resources", "1Gi"),
    (PLUGIN, "priorityClassName", ["system-node-critical"]),
    (PLUGIN, "image.tag", 0.20),
    (PLUGIN, "image.tag", 20),
    (OPERATOR, "dcgmExporter.enabled", "false"),
    (OPERATOR, "cdi.enabled", "off"),
    (OPERATOR, "psa.enabled", "true"),
    (OPERATOR, "dcgmExporter.serviceMonitor.enabled", "false"),
    (OPERATOR, "dcgm.env", {"NAME": "value"}),
    (OPERATOR, "devicePlugin.env", "MIG=1"),
    (OPERATOR, "operator.tolerations", {"operator": "Exists"}),
    (OPERATOR, "dcgmExporter.version", 4.6),
    (OPERATOR, "operator.nodeSelector", []),
    (OPERATOR, "migManager.env", {"WITH_REBOOT": "true"}),
]


@pytest.mark.parametrize(("chart", "place", "value"), KINDS)
def test_a_value_of_another_kind(chart: str, place: str, value: Any) -> None:
    path = f"charts.{chart}.values.{place}"

    assert found(chart, nested(place, value), {}) == [("error", "GPU727", path)]


@pytest.mark.parametrize(
    ("chart", "place", "key"),
    [
        (PLUGIN, "podAnnotations", "example.com/scrape"),
        (OPERATOR, "daemonsets.labels", "example.com/tier"),
        (OPERATOR, "operator.nodeSelector", "example.com/system"),
    ],
)
def test_labels_and_annotations_are_text(chart: str, place: str, key: str) -> None:
    for value in (True, 1, 1.5, ["a"], {"a": "b"}):
        errors = found(chart, nested(place, {key: value}), {})

        assert [(s, c) for s, c, _ in errors] == [("error", "GPU727")], value


def test_what_a_value_is_is_said_without_it() -> None:
    values = {"toolkit": {"env": "PASSWORD=hunter2"}, "dcgm": {"env": {"PASSWORD": "hunter2"}}}
    fragment = {"gpuStack": {"manager": OPERATOR}, "charts": {OPERATOR: {"values": values}}}
    report = checked(stack_file_text(merge_values(base(), fragment)))

    assert {f.code for f in report.findings} >= {"GPU727"}
    assert "hunter2" not in str([(f.message, f.fix) for f in report.findings])


UNKNOWN: list[tuple[str, dict[str, Any], str]] = [
    (PLUGIN, {"gfd.enabled": False}, "Dots do not part keys here: write gfd: {enabled: ...}."),
    (
        PLUGIN,
        {"nfd": {"worker.enable": False}},
        "Dots do not part keys here: write worker: {enable: ...}.",
    ),
    (PLUGIN, {"GFD": {"enabled": False}}, "Did you mean gfd?"),
    (PLUGIN, {"migstrategy": "mixed"}, "Did you mean migStrategy?"),
    (PLUGIN, {"mig_strategy": "mixed"}, "Did you mean migStrategy?"),
    (PLUGIN, {"nodeselector": {"a": "b"}}, "Did you mean nodeSelector?"),
    (
        OPERATOR,
        {"driver.enabled": True},
        "Dots do not part keys here: write driver: {enabled: ...}.",
    ),
    (OPERATOR, {"Driver": {"enabled": True}}, "Did you mean driver?"),
]


@pytest.mark.parametrize(("chart", "values", "fix"), UNKNOWN)
def test_a_key_in_another_spelling(chart: str, values: dict[str, Any], fix: str) -> None:
    fragment = {"gpuStack": {"manager": chart}, "charts": {chart: {"values": values}}}
    report = checked(stack_file_text(merge_values(base(), fragment)))

    assert [(f.code, f.fix) for f in report.findings if f.severity == "error"] == [("GPU711", fix)]


IMAGES: list[tuple[str, str, str]] = [
    (PLUGIN, "image.repository", "registry.example.com/nvidia/k8s-device-plugin:v0.20.0"),
    (PLUGIN, "image.repository", "https://registry.example.com/nvidia/k8s-device-plugin"),
    (PLUGIN, "image.repository", "registry.example.com/NVIDIA/k8s-device-plugin"),
    (PLUGIN, "image.repository", "registry.example.com/nvidia/k8s device plugin"),
    (PLUGIN, "image.repository", " registry.example.com/nvidia/k8s-device-plugin"),
    (PLUGIN, "image.repository", "registry.example.com/nvidia/"),
    (PLUGIN, "image.repository", "registry.example.com//k8s-device-plugin"),
    (PLUGIN, "image.repository", f"registry.example.com/x@sha256:{'a' * 64}"),
    (PLUGIN, "image.repository", "registry.example.com:port/x"),
    (PLUGIN, "image.repository", "-registry.example.com/x"),
    (PLUGIN, "image.repository", ""),
    (PLUGIN, "image.tag", "v0.20.0 "),
    (PLUGIN, "image.tag", ":v0.20.0"),
    (PLUGIN, "image.tag", "v0.20.0+mirror"),
    (PLUGIN, "image.tag", f"sha256:{'a' * 64}"),
    (PLUGIN, "nfd.image.repository", "registry.k8s.io/nfd/node-feature-discovery:v0.19.0"),
    (PLUGIN, "nfd.image.tag", "-v0.19.0"),
    (OPERATOR, "node-feature-discovery.image.tag", "v0.19.0/x"),
    (OPERATOR, "devicePlugin.repository", "https://nvcr.io/nvidia"),
    (OPERATOR, "devicePlugin.repository", "nvcr.io/NVIDIA"),
    (OPERATOR, "devicePlugin.image", "k8s-device-plugin:v0.20.0"),
    (OPERATOR, "gfd.version", "v0.20.0 "),
    (OPERATOR, "operator.version", "sha256:abc"),
    (OPERATOR, "dcgmExporter.image", "DCGM-exporter"),
]


@pytest.mark.parametrize(("chart", "place", "value"), IMAGES)
def test_an_image_that_no_runtime_can_name(chart: str, place: str, value: str) -> None:
    path = f"charts.{chart}.values.{place}"

    assert found(chart, nested(place, value), {}) == [("error", "GPU728", path)]


@pytest.mark.parametrize(
    ("chart", "place", "like"),
    [
        (PLUGIN, "image.tag", f"v{versions.DEVICE_PLUGIN.version}"),
        (PLUGIN, "image.repository", "nvidia/k8s-device-plugin"),
        (PLUGIN, "nfd.image.tag", "v0.19.0"),
        (PLUGIN, "nfd.image.repository", "nfd/node-feature-discovery"),
        (OPERATOR, "node-feature-discovery.image.repository", "nfd/node-feature-discovery"),
        ("efaDevicePlugin", "image.repository", "eks/aws-efa-k8s-device-plugin"),
    ],
)
def test_an_image_is_shown_one_of_the_same_program(chart: str, place: str, like: str) -> None:
    manager = chart if chart in {PLUGIN, OPERATOR} else PLUGIN
    fragment = {
        "gpuStack": {"manager": manager},
        "charts": {chart: {"values": nested(place, "-Wrong")}},
    }
    report = checked(stack_file_text(merge_values(base(), fragment)))

    assert [like in each.fix for each in report.findings if each.code == "GPU728"] == [True]


@pytest.mark.parametrize(
    "image",
    [
        *("python:3 .13", "Python:3.13", "https://example.com/python:3.13"),
        *("python:", ":3.13", "a//b:1", "python:3.13:1", "example.com/:1", "python:-1", ""),
    ],
)
def test_an_image_of_the_controller(image: str) -> None:
    fragment = {
        "gpuStack": {"manager": OPERATOR, "migTaintRemoverImage": image},
        "pools": {
            "gpu": {
                "instanceTypes": ["p4d.24xlarge"],
                "nodeRepair": False,
                "sharing": {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"},
            }
        },
    }
    report = checked(stack_file_text(merge_values(base(), fragment)))

    assert [(f.code, f.path) for f in report.findings if f.severity == "error"] == [
        ("GPU728", "gpuStack.migTaintRemoverImage")
    ]


@pytest.mark.parametrize(
    ("chart", "place", "tag"),
    [
        (PLUGIN, "image.tag", "latest"),
        (PLUGIN, "nfd.image.tag", "master"),
        (OPERATOR, "devicePlugin.version", "latest"),
    ],
)
def test_a_tag_that_moves(chart: str, place: str, tag: str) -> None:
    path = f"charts.{chart}.values.{place}"

    assert found(chart, nested(place, tag), {}) == [("warning", "GPU729", path)]


@pytest.mark.parametrize(
    ("chart", "place", "item"),
    [
        (PLUGIN, "imagePullSecrets", "mirror"),
        (PLUGIN, "imagePullSecrets", {"name": "Mirror"}),
        (PLUGIN, "imagePullSecrets", {"nmae": "mirror"}),
        (PLUGIN, "imagePullSecrets", {"name": ""}),
        (PLUGIN, "nfd.imagePullSecrets", "mirror"),
        (OPERATOR, "operator.imagePullSecrets", {"name": "mirror"}),
        (OPERATOR, "devicePlugin.imagePullSecrets", "ngc_secret"),
        (OPERATOR, "driver.imagePullSecrets", 7),
    ],
)
def test_pull_secrets_in_the_form_of_the_chart(chart: str, place: str, item: Any) -> None:
    errors = [each for each in found(chart, nested(place, [item]), {}) if each[0] == "error"]

    assert errors == [("error", "GPU730", f"charts.{chart}.values.{place}[0]")]


RIGHT: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (PLUGIN, {}, {}),
    (PLUGIN, {"image": {"repository": "localhost:5000/k8s-device-plugin", "tag": ""}}, {}),
    (PLUGIN, {"image": {"repository": "nvidia/k8s-device-plugin", "tag": "v0.20.0"}}, {}),
    (PLUGIN, {"image": {"repository": "111122223333.dkr.ecr.us-west-2.amazonaws.com/a/b"}}, {}),
    (PLUGIN, {"imagePullSecrets": [{"name": "mirror"}, {"name": "a.b"}]}, {}),
    (PLUGIN, {"nfd": {"imagePullSecrets": [{"name": "mirror"}]}}, {}),
    (PLUGIN, {"nfd": {"worker": {"enable": False}}}, EXISTING),
    (PLUGIN, {"nfd": {"enabled": False}}, EXISTING),
    (PLUGIN, {"nfd": {"namespaceOverride": "kube-system"}}, {}),
    (PLUGIN, {"nfd": {"master": {"nodeSelector": {"team": "ml"}, "replicaCount": 2}}}, {}),
    (PLUGIN, {"nfd": {"gc": {"enable": False}, "worker": {"enable": True}}}, {}),
    (PLUGIN, {"nfd": {"worker": {"nodeSelector": {}}}}, {}),
    (PLUGIN, {"nfd": {"master": {"denyLabelNs": ["example.com"]}}}, {}),
    (PLUGIN, {"runtimeClassName": "nvidia"}, EXISTING),
    (PLUGIN, {"runtimeClassName": None, "nvidiaDriverRoot": "/"}, {}),
    (PLUGIN, {"nvidiaDriverRoot": "/run/nvidia/driver"}, ELSEWHERE),
    (PLUGIN, {"deviceListStrategy": "envvar,cdi-annotations", "deviceIDStrategy": "index"}, {}),
    (PLUGIN, {"deviceDiscoveryStrategy": "nvml", "failOnInitError": False}, {}),
    (PLUGIN, {"compatWithCPUManager": True, "priorityClassName": "system-cluster-critical"}, {}),
    (PLUGIN, {"mps": {"root": "/run/nvidia/mps", "enableHostPID": False}}, {}),
    (PLUGIN, {"resources": {"limits": {"memory": "128Mi", "cpu": 1}}}, {}),
    (PLUGIN, {"podAnnotations": {"example.com/scrape": "true"}, "podSecurityContext": {}}, {}),
    (PLUGIN, {"updateStrategy": {"type": "RollingUpdate"}, "fullnameOverride": "gpu-shares"}, {}),
    (PLUGIN, {"gfd": {"enabled": True}, "config": {}}, {}),
    (PLUGIN, {"nfd": {"fullnameOverride": ""}, "nameOverride": ""}, {}),
    (PLUGIN, {"nfd": {"fullnameOverride": "features"}, "fullnameOverride": "9"}, {}),
    (PLUGIN, {"sleepInterval": "30s", "noTimestamp": True}, {}),
    (OPERATOR, {"driver": {"enabled": False}, "toolkit": {"enabled": False}}, {}),
    (OPERATOR, {"sandboxWorkloads": {"enabled": False, "defaultWorkload": "container"}}, {}),
    (OPERATOR, {"operator": {"runtimeClass": "nvidia", "upgradeCRD": False}}, {}),
    (OPERATOR, {"cdi": {"enabled": False}, "psa": {"enabled": True}}, {}),
    (OPERATOR, {"hostPaths": {"rootFS": "/", "driverInstallDir": "/run/nvidia/driver"}}, {}),
    (OPERATOR, {"dcgmExporter": {"serviceMonitor": {"enabled": True, "interval": "30s"}}}, {}),
    (OPERATOR, {"validator": {"env": [{"name": "WITH_WAIT", "value": "true"}]}}, {}),
    (OPERATOR, {"devicePlugin": {"args": ["--pass-device-specs"], "version": "v0.20.0"}}, {}),
    (OPERATOR, {"gfd": {"repository": "nvcr.io/nvidia", "image": "k8s-device-plugin"}}, {}),
    (OPERATOR, {"devicePlugin": {"version": f"sha256:{'a' * 64}"}}, {}),
    (OPERATOR, {"gfd": {"repository": "", "image": MIRROR, "version": ""}}, {}),
    (OPERATOR, {"operator": {"imagePullSecrets": ["mirror"], "tolerations": []}}, {}),
    (OPERATOR, {"daemonsets": {"rollingUpdate": {"maxUnavailable": "20%"}}}, {}),
    (OPERATOR, {"daemonsets": {"labels": {"example.com/tier": "gpu"}}}, {}),
    (OPERATOR, {"node-feature-discovery": {"master": {"replicaCount": 2}}}, {}),
    (OPERATOR, {"node-feature-discovery": SLOWER}, {}),
    (OPERATOR, {"driver": {"version": "580.126.20"}, "gds": {"enabled": True}}, ELSEWHERE),
    (OPERATOR, {"devicePlugin": {"env": [{"name": "PASS_DEVICE_SPECS", "value": "true"}]}}, {}),
    (OPERATOR, {"extraObjects": [{"apiVersion": "v1", "kind": "ConfigMap"}]}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("chart", "values", "more"), RIGHT)
def test_a_right_value_has_no_finding(
    chart: str, values: dict[str, Any], more: dict[str, Any]
) -> None:
    assert found(chart, values, more) == []


# The examples of the grammar's own tests: distribution/reference, reference_test.go.
NAMES = {
    "test_com": True,
    "test.com:tag": True,
    "test.com:5000": True,
    "test.com/repo:tag": True,
    "test:5000/repo": True,
    "test:5000/repo:tag": True,
    "": False,
    ":justtag": False,
    "Uppercase:tag": False,
    "test:5000/Uppercase/lowercase:tag": False,
    "lowercase:Uppercase": True,
    "aa/asdf$$^/aa": False,
    "sub-dom1.foo.com/bar/baz/quux": True,
    "sub-dom1.foo.com/bar/baz/quux:some-long-tag": True,
    "b.gcr.io/test.example.com/my-app:test.example.com": True,
    "xn--n3h.com/myimage:xn--n3h.com": True,
    "foo_bar.com:8080": True,
    "foo/foo_bar.com:8080": True,
    "-test.com/repo": False,
    "test-.com/repo": False,
    "a" * 256: False,
    "[2001:db8::1]:5000/repo": True,
}


@pytest.mark.parametrize(("image", "right"), NAMES.items())
def test_image_names_are_read_as_their_grammar_has_it(image: str, right: bool) -> None:
    assert (reference_fault(image) is None) == right


def rendered(chart: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    charts, helm = os.environ.get("EKS_GPUSHARE_TEST_CHARTS"), shutil.which("helm")
    if not charts or not helm:
        pytest.skip("needs helm on PATH and EKS_GPUSHARE_TEST_CHARTS")
    made = subprocess.run(
        [helm, "template", "x", str(Path(charts) / chart), "-n", "gpu", "-f", "-"],
        input=json.dumps(values), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        return [{"kind": "Refused", "why": made.stderr}]
    return [each for each in yaml.safe_load_all(made.stdout) if each]


def names(values: dict[str, Any]) -> set[str]:
    """Kinds and names of what the device plugin's chart makes."""
    on = merge_values({"gfd": {"enabled": True}}, values)
    return {
        f"{each['kind']} {each['metadata']['name']}"
        for each in rendered("nvidia-device-plugin", on)
        if "metadata" in each
    }


def test_the_chart_drops_what_is_switched_off() -> None:
    worker = "DaemonSet x-node-feature-discovery-worker"
    master = "Deployment x-node-feature-discovery-master"

    assert {worker, master} <= names({})
    assert worker not in names({"nfd": {"worker": {"enable": False}}})
    assert master not in names({"nfd": {"master": {"enable": False}}})


def test_the_chart_takes_a_text_for_true() -> None:
    def privileged(value: object) -> int:
        made = rendered("nvidia-device-plugin", {"compatWithCPUManager": value})
        return json.dumps(made).count('"privileged": true')

    as_false, as_true = (privileged(value) for value in (False, True))

    assert privileged("false") == as_true != as_false


def test_the_chart_has_the_root_of_the_driver_and_a_tag_as_they_are() -> None:
    values = {"nvidiaDriverRoot": "/elsewhere", "image": {"repository": "a/b:1", "tag": "v2"}}
    text = json.dumps(rendered("nvidia-device-plugin", values))

    assert '"value": "/elsewhere"' in text
    assert '"a/b:1:v2"' in text
    assert reference_fault("a/b:1:v2") is not None


def test_the_operators_chart_refuses_the_nri_plugin_without_its_toolkit() -> None:
    values = {"cdi": {"nriPluginEnabled": True}, "toolkit": {"enabled": False}}
    (refused,) = rendered("gpu-operator", values)

    assert refused["kind"] == "Refused"
    assert "NRI" in refused["why"]


@pytest.mark.parametrize(
    "image",
    [
        "k8s-device-plugin",
        "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
        "registry.example.com:5000/k8s-device-plugin",
        f"localhost:5000/a/k8s-device-plugin:v1@sha256:{'0' * 64}",
    ],
)
def test_an_image_is_called_by_the_last_part_of_its_repository(image: str) -> None:
    assert image_name(image) == "k8s-device-plugin"
