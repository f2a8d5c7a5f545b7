"""Metrics of GPUs: one exporter for exactly the pools, one store, and rules that are found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.program.values import to_json
from eks_gpushare.rules.chart_values import wrong_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

URL = {"url": "http://prometheus.monitoring.svc:9090"}
POOL = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}
MIG = {"instance_types": ["p4d.24xlarge"], "sharing": {"mode": "mig", "layout": "all-1g.5gb"}}
BOTTLEROCKET = {**POOL, "ami_family": "bottlerocket"}
OPERATOR = {"manager": "gpuOperator"}


def children(run: Run) -> dict[str, dict[str, Any]]:
    """Inputs by name of what the component makes."""
    return {
        each.name: to_json(each.inputs)
        for each in run.recording.resources
        if "GpuMetrics$" in each.urn
    }


def names(run: Run) -> set[str]:
    (top,) = (e.name for e in run.recording.resources if e.type.endswith(":GpuMetrics"))
    return {name.removeprefix(f"{top}-") for name in children(run)}


def child(run: Run, role: str) -> dict[str, Any]:
    (top,) = (e.name for e in run.recording.resources if e.type.endswith(":GpuMetrics"))
    return children(run)[f"{top}-{role}"]


BOARDS = {"board-fleet", "board-gpu", "board-pool", "board-tenant"}
OBJECTS = {"monitor", "rules"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"prometheus": URL}, {"namespace", "exporter", *OBJECTS, *BOARDS}),
        ({"prometheus": URL, "gpu_stack": OPERATOR}, {"namespace", *OBJECTS, *BOARDS}),
        ({"prometheus": URL, "dashboards": "files"}, {"namespace", "exporter", *OBJECTS}),
        (
            {"prometheus": {"install": True}},
            {
                *{"namespace", "exporter", "prometheus", "prometheus-namespace"},
                *OBJECTS,
                *BOARDS,
            },
        ),
        # No exporter starts there, and what finds one would find none.
        (
            {"prometheus": URL, "pools": {"gpu": BOTTLEROCKET}},
            {"namespace", "rules", *BOARDS},
        ),
        ({"metrics": "cloudwatch"}, {"namespace", *BOARDS}),
        ({"metrics": "managedPrometheus"}, {"namespace", "exporter", *BOARDS}),
    ],
)
def test_what_is_there_is_not_installed_again(
    gpu_metrics: Callable[..., Run], given: dict[str, Any], expected: set[str]
) -> None:
    assert names(gpu_metrics(**given)) == expected


def test_what_is_registered(
    gpu_metrics: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    run = gpu_metrics(prometheus={"install": True}, pod_labels=["^app$"])
    made = {name: given for name, given in children(run).items() if "-board-" not in name}

    golden("components/gpu-metrics.json", f"{json.dumps(made, indent=2)}\n")


def test_the_exporter_reaches_the_pools_and_sees_processes(gpu_metrics: Callable[..., Run]) -> None:
    values = child(gpu_metrics(prometheus=URL, node_monitoring_agent=True), "exporter")["values"]

    assert values["hostPID"] is True
    assert values["hostNetwork"] is True
    assert {e["name"]: e["value"] for e in values["extraEnv"]} == {
        "DCGM_REMOTE_HOSTENGINE_INFO": "localhost:5555",
        "DCGM_EXPORTER_INTERVAL": "15000",
        "KUBERNETES_VIRTUAL_GPUS": "true",
    }
    assert values["securityContext"] == {"capabilities": {"add": []}}
    assert "DCGM_EXP_XID_ERRORS_COUNT, gauge" in values["customMetrics"]
    assert "DCGM_FI_PROF" not in values["customMetrics"]


def test_mig_is_measured_by_profiling_which_takes_a_capability(
    gpu_metrics: Callable[..., Run],
) -> None:
    values = child(gpu_metrics(prometheus=URL, pools={"gpu": MIG}), "exporter")["values"]

    assert "securityContext" not in values
    assert "hostPID" not in values
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge" in values["customMetrics"]


def test_values_of_the_exporter_are_those_that_its_chart_reads(
    gpu_metrics: Callable[..., Run],
) -> None:
    keys = chart_keys("dcgm-exporter")
    assert keys is not None
    for given in ({"pod_labels": ["^app$"]}, {"pools": {"gpu": MIG}}):
        values = child(gpu_metrics(prometheus=URL, **given), "exporter")["values"]

        assert list(wrong_values(values, keys)) == []


def test_values_of_prometheus_are_those_that_its_chart_reads(
    gpu_metrics: Callable[..., Run],
) -> None:
    keys = chart_keys("kube-prometheus-stack")
    assert keys is not None
    store = {"install": True, "storage_class": "gp3", "retention_days": 30, "storage_gib": 100}
    values = child(gpu_metrics(prometheus=store), "prometheus")["values"]

    assert list(wrong_values(values, keys)) == []
    spec = values["prometheus"]["prometheusSpec"]
    assert spec["retention"] == "30d"
    assert spec["storageSpec"]["volumeClaimTemplate"]["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "100Gi"}},
        "storageClassName": "gp3",
    }
    # What the rules join by, kube-state-metrics tells only where it is told to.
    (allowed,) = values["kube-state-metrics"]["metricLabelsAllowlist"]
    assert "eks-gpushare/pool" in allowed
    assert "node.kubernetes.io/instance-type" in allowed


def test_monitors_and_rules_are_found_by_their_labels(gpu_metrics: Callable[..., Run]) -> None:
    labels = {"release": "monitoring"}
    verifier = {"image": "registry.example.com/verify:1.0", "interval_seconds": 60}
    run = gpu_metrics(prometheus=URL, selector_labels=labels, verifier=verifier)

    for role in ("monitor", "rules", "verifier-monitor"):
        assert child(run, role)["metadata"]["labels"] == labels
    (endpoint,) = child(run, "monitor")["spec"]["endpoints"]
    assert endpoint == {
        "port": "metrics",
        "interval": "15s",
        "scrapeTimeout": "10s",
        "honorLabels": True,
    }


def test_the_operators_exporter_is_found_where_it_is(gpu_metrics: Callable[..., Run]) -> None:
    spec = child(gpu_metrics(prometheus=URL, gpu_stack=OPERATOR), "monitor")["spec"]

    assert spec["namespaceSelector"] == {"matchNames": ["gpu-operator"]}
    assert spec["selector"] == {"matchLabels": {"app": "nvidia-dcgm-exporter"}}
    assert spec["endpoints"][0]["port"] == "gpu-metrics"


def test_an_environment_tells_the_operators_exporter_the_same(
    environment: Callable[..., Run],
) -> None:
    pool = {**POOL, "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": True}}
    run = environment(gpu_stack=OPERATOR, pools={"gpu": pool}, observability={"prometheus": URL})
    release = next(e for e in run.all("Release") if e.inputs["name"] == "gpu-operator")
    told = to_json(release.inputs)["values"]["dcgmExporter"]

    assert told["hostPID"] is True
    assert told["serviceMonitor"] == {"enabled": False}
    assert told["config"]["create"] is True
    assert {e["name"]: e["value"] for e in told["env"]} == {
        "DCGM_REMOTE_HOSTENGINE_INFO": "localhost:5555",
        "KUBERNETES_VIRTUAL_GPUS": "true",
        "NVIDIA_RESOURCE_NAMES": "nvidia.com/gpu.shared",
        "DCGM_EXPORTER_INTERVAL": "15000",
    }


ADDON = "amazon-cloudwatch-observability"
POLICY = "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"


def addons(run: Run) -> dict[str, Any]:
    """Inputs of add-ons by their names."""
    found = (to_json(each.inputs) for each in run.all("Addon"))
    return {given["addonName"]: given for given in found}


def test_cloudwatch_collects_by_its_addon_with_a_role(environment: Callable[..., Run]) -> None:
    run = environment(observability={"metrics": "cloudwatch"})
    made = addons(run)[ADDON]

    assert made["addonVersion"] == "v6.2.0-eksbuild.1"
    assert json.loads(made["configurationValues"]) == {
        "otelContainerInsights": {"enabled": True},
        "containerInsights": {"enabled": False},
        "containerLogs": {"enabled": False},
        "applicationSignals": {"enabled": False},
    }
    ((account),) = made["podIdentityAssociations"]
    assert account["serviceAccount"] == "cloudwatch-agent"
    role = f"demo-cluster-addon-{ADDON}-cloudwatch-agent"
    attached = {each.name: each.inputs["policyArn"] for each in run.all("RolePolicyAttachment")}
    assert [name for name, policy in attached.items() if policy == POLICY] == [
        f"{role}-CloudWatchAgentServerPolicy"
    ]
    assert role in {each.name for each in run.all("Role")}
    assert not [each for each in run.all("Release") if each.inputs["name"] == "dcgm-exporter"]


def test_what_is_said_of_the_addon_goes_over_what_it_gets(environment: Callable[..., Run]) -> None:
    role = "arn:aws:iam::111122223333:role/Agent"
    said = {
        "values": {"containerLogs": {"enabled": True}},
        "pod_identity": {"cloudwatch-agent": {"role_arn": role}},
    }
    addons_of = {"by_name": {ADDON: said}, "versions": {ADDON: "v6.3.0-eksbuild.1"}}
    cluster = {"name": "demo", "version": "1.35", "addons": addons_of}
    run = environment(observability={"metrics": "cloudwatch"}, cluster=cluster)
    made = addons(run)[ADDON]

    assert made["addonVersion"] == "v6.3.0-eksbuild.1"
    assert json.loads(made["configurationValues"])["containerLogs"] == {"enabled": True}
    assert made["podIdentityAssociations"] == [
        {"serviceAccount": "cloudwatch-agent", "roleArn": role}
    ]


@pytest.mark.parametrize("metrics", ["none", "managedPrometheus"])
def test_elsewhere_the_addon_is_nobodys(environment: Callable[..., Run], metrics: str) -> None:
    assert ADDON not in addons(environment(observability={"metrics": metrics}))


def test_workloads_ask_the_installed_prometheus_by_themselves(
    environment: Callable[..., Run],
) -> None:
    run = environment(
        pools={"gpu": POOL},
        cluster={"name": "demo", "version": "1.35", "addons": {"ebs_csi": True}},
        observability={"prometheus": {"install": True}},
        keda={},
        workloads={"chat": {"pool": "gpu", "image": "chat:1.0", "replicas": {"max": 3}}},
    )
    text = json.dumps(to_json(run.inputs("ScaledObject")))

    assert "http://prometheus-operated.gpushare-monitoring.svc:9090" in text
    assert "DCGM_FI_DEV_GPU_UTIL" in text


def test_what_is_wrong_is_said_in_the_words_of_a_program(gpu_metrics: Callable[..., Run]) -> None:
    wrong = {"prometheus": {**URL, "install": True}, "interval": "1s", "namespace": "default"}
    text = gpu_metrics(fails=True, **wrong).error

    assert "GpuMetrics: 3 arguments are wrong" in text
    assert '"install": True' in text


def test_its_rules_are_yaml_too(gpu_metrics: Callable[..., Run]) -> None:
    """A PrometheusRule that was applied can be kept as a file."""
    spec = child(gpu_metrics(prometheus=URL), "rules")["spec"]

    assert yaml.safe_load(yaml.safe_dump(spec)) == spec
