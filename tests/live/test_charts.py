"""NVIDIA's charts as they are in a cluster that is sound: rendered by Helm, and nothing is found.

With `helm` on PATH and EKS_GPUSHARE_TEST_CHARTS naming a folder that has the charts in
`nvidia-device-plugin` and `gpu-operator`, and in `dra-driver-nvidia-gpu` where that is there.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from tests.live.test_faults import GPU, HEALTHY, get, gpu_node, objects_of, worse

from eks_gpushare.inventory.daemons import role_of
from eks_gpushare.live.kinds import LISTED
from eks_gpushare.live.placement import mismatches, untolerated
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.live.test_faults import Cluster, Object

PLUGIN, OPERATOR, DRA = "nvidia-device-plugin", "gpu-operator", "dra-driver-nvidia-gpu"
CONFIG_LABEL = "nvidia.com/device-plugin.config"
NAMESPACE = "gpu"
_OF_PLUGIN = frozenset(("DaemonSet", "ConfigMap", "Pod"))


def sharing(way: str, **more: Any) -> str:
    shared = {"resources": [{"name": GPU, "replicas": 10}], **more}
    return json.dumps({"version": "v1", "sharing": {way: shared}})


def config(way: str, **more: Any) -> dict[str, Any]:
    maps = {"default": json.dumps({"version": "v1"}), "gpu": sharing(way, **more)}
    return {"config": {"map": maps, "default": "default"}}


class ChartCase(NamedTuple):
    """A chart, its values, and what nodes of a sound cluster then have."""

    chart: str
    values: dict[str, Any]
    shares: int = 4
    labels: dict[str, str | None] = {CONFIG_LABEL: None}  # noqa: RUF012
    is_beside: bool = False
    """Whether a device plugin is there as well."""
    resource: str = GPU


CASES = {
    "nothing": ChartCase(PLUGIN, {}),
    "feature discovery": ChartCase(PLUGIN, {"gfd": {"enabled": True}}),
    "feature discovery alone": ChartCase(
        PLUGIN, {"gfd": {"enabled": True}, "nfd": {"enabled": False}}
    ),
    "time slicing": ChartCase(PLUGIN, config("timeSlicing"), 40, {}),
    "time slicing and feature discovery": ChartCase(
        PLUGIN, {**config("timeSlicing"), "gfd": {"enabled": True}}, 40, {}
    ),
    "renamed": ChartCase(
        PLUGIN,
        config("timeSlicing", renameByDefault=True),
        *(40, {}, False, "nvidia.com/gpu.shared"),
    ),
    "MPS": ChartCase(
        PLUGIN,
        {**config("mps"), "gfd": {"enabled": True}},
        shares=40,
        labels={"nvidia.com/mps.capable": "true", "nvidia.com/gpu.sharing-strategy": "mps"},
    ),
    "the operator": ChartCase(OPERATOR, {}, 40, {}, is_beside=True),
    "the operator without discovery": ChartCase(
        OPERATOR, {"nfd": {"enabled": False}}, 40, {}, is_beside=True
    ),
    "compute domains": ChartCase(
        DRA, {"resources": {"gpus": {"enabled": False}}}, 40, {}, is_beside=True
    ),
    "claims in place of shares": ChartCase(DRA, {"gpuResourcesEnabledOverride": True}, 0),
}


@pytest.fixture(scope="module")
def charts() -> Path:
    """The folder of the real charts."""
    folder = os.environ.get("EKS_GPUSHARE_TEST_CHARTS")
    if not folder or shutil.which("helm") is None:
        pytest.skip("no helm, or EKS_GPUSHARE_TEST_CHARTS names no charts; this file says more")
    return Path(folder)


def rendered(
    folder: Path, values: Mapping[str, Any], namespace: str = NAMESPACE
) -> Iterator[Object]:
    """What of a chart's objects `verify` lists, as an API server has them."""
    command = ["helm", "template", "x", str(folder), "--namespace", namespace, "--values", "-"]
    command += ["--kube-version", "1.35.4", "--api-versions", "resource.k8s.io/v1"]
    made = subprocess.run(
        command, input=json.dumps(values), capture_output=True, check=True, text=True
    )
    listed = {each.kind for each in LISTED}
    for number, each in enumerate(yaml.safe_load_all(made.stdout)):
        if each and each["kind"] in listed:
            if "hooks" in str(each["metadata"].get("annotations")):
                continue  # such as what cleans up when the chart goes
            metadata = {"namespace": namespace, "uid": str(number), **each["metadata"]}
            metadata["creationTimestamp"] = "2026-11-26T17:02:07Z"
            yield {**each, "metadata": metadata, "status": {}}


def pod_of(owner: Object, node: Object) -> Object:
    """A pod that a DaemonSet has on a node, and that runs."""
    template, name = owner["spec"]["template"], owner["metadata"]["name"]
    metadata = {
        "name": f"{name}-{node['metadata']['name']}",
        "namespace": owner["metadata"]["namespace"],
        "creationTimestamp": "2026-11-26T17:02:07Z",
        "labels": template["metadata"].get("labels", {}),
        "ownerReferences": [
            {"kind": "DaemonSet", "name": name, "controller": True, "uid": owner["metadata"]["uid"]}
        ],
    }
    containers = [
        {"name": each["name"], "ready": True, "restartCount": 0, "state": {"running": {}}}
        for each in template["spec"]["containers"]
    ]
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-26T17:02:12Z"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**template["spec"], "nodeName": node["metadata"]["name"]},
        "status": {"phase": "Running", "conditions": [ready], "containerStatuses": containers},
    }


def cluster_with(case: ChartCase, folder: Path) -> Cluster:
    """The sound cluster with a chart's objects, each DaemonSet on the nodes where it may be."""
    cluster: Cluster = copy.deepcopy(HEALTHY)
    if not case.is_beside:
        cluster = [each for each in cluster if each["kind"] not in _OF_PLUGIN]
    namespace = copy.deepcopy(get(cluster, "Namespace", "default"))
    namespace["metadata"]["name"] = NAMESPACE
    node = gpu_node(cluster)
    for key, value in case.labels.items():
        node["metadata"]["labels"].pop(key, None)
        node["metadata"]["labels"] |= {} if value is None else {key: value}
    for amounts in (node["status"]["allocatable"], node["status"]["capacity"]):
        del amounts[GPU]
        amounts[case.resource] = str(case.shares)
    made = [*rendered(folder, case.values)]
    sets = [each for each in (*cluster, *made) if each["kind"] == "DaemonSet"]
    if not any(role_of(each["spec"]["template"]["spec"]) == "discovery" for each in sets):
        # Nodes that GPU feature discovery has labelled and has left are none of a sound cluster.
        del node["metadata"]["labels"]["nvidia.com/gpu.machine"]
    return [*cluster, namespace, *made, *pods_of(made, cluster)]


def pods_of(made: Sequence[Object], cluster: Cluster) -> Iterator[Object]:
    """The pods of DaemonSets, each on the nodes where it may be, which their status counts."""
    nodes = [each for each in cluster if each["kind"] == "Node"]
    for owner in made:
        if owner["kind"] == "DaemonSet":
            spec = owner["spec"]["template"]["spec"]
            there = [n for n in nodes if not mismatches(spec, n) and not untolerated(spec, n)]
            keys = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
            owner["status"] = dict.fromkeys(keys, len(there))
            yield from (pod_of(owner, node) for node in there)


@pytest.mark.parametrize("name", CASES)
def test_a_chart_in_a_sound_cluster_is_no_finding(name: str, charts: Path) -> None:
    case = CASES[name]
    folder = charts / case.chart
    if not folder.is_dir():
        pytest.skip(f"EKS_GPUSHARE_TEST_CHARTS has no {case.chart}")

    assert worse(verdict_of(objects_of(cluster_with(case, folder)))) == []


def test_a_chart_whose_plugin_reads_something_else_is_one(charts: Path) -> None:
    """What the test above sees is no silence: the same with shares that do not fit."""
    case = CASES["time slicing"]._replace(shares=30)
    cluster = cluster_with(case, charts / PLUGIN)

    assert [code for code, _ in worse(verdict_of(objects_of(cluster)))] == ["GPU1321"]
