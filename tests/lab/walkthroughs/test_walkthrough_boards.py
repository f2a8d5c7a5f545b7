"""The boards' own queries, asked of a real Prometheus over loads that were put on pods.

One stack has a pool of each way to share a GPU. What is to come out is worked out here from the
loads alone, and from the table of docs/monitoring.md, of whom the numbers are.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.catalog import Catalog
from eks_gpushare.program.preview import locate, preview
from eks_gpushare.sharing.monitoring.boards import boards_json
from eks_gpushare.sharing.plan import plan_environment
from eks_gpushare.validation.parse import parse
from eks_gpushare_lab.controllers import prometheus
from eks_gpushare_lab.install.desired_cluster import desired_cluster
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.run import load_on
from eks_gpushare_lab.session import Session
from eks_gpushare_lab.simulated_node.load import GPU_MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.control_plane.state import Lab

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

# What conftest.py offers.
Emptied = Any

REGION = "us-west-2"
GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
SMALL, LARGE_TURNS = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb.shared"
MIXED = [{"gpus": [0, 1, 2, 3, 4, 5, 6], "devices": {"1g.5gb": 7}}]


def pool(instance_type: str, sharing: dict[str, Any], **more: Any) -> dict[str, Any]:
    nodes = {"min": 1, "desired": 1, "max": 1}
    return {"instanceTypes": [instance_type], "nodes": nodes, "sharing": sharing, **more}


POOLS: dict[str, dict[str, Any]] = {
    "whole": pool("g6.12xlarge", {"mode": "exclusive"}),
    "slices": pool("g6.12xlarge", {"mode": "timeSlicing", "replicas": 8, "rename": True}),
    "clients": pool("g6.12xlarge", {"mode": "mps", "replicas": 4}),
    "instances": pool("p4d.24xlarge", {"mode": "mig", "layout": MIXED}),
    "turns": pool(
        "p4d.24xlarge",
        {"mode": "mig", "layout": {"3g.20gb": 2}, "timeSlicing": {"replicas": 4, "rename": True}},
    ),
}
BOTTLEROCKET = pool("g6.12xlarge", {"mode": "exclusive"}, amiFamily="bottlerocket")
RESOURCES = {
    "whole": GPU,
    "slices": SHARED,
    "clients": GPU,
    "instances": SMALL,
    "turns": LARGE_TURNS,
    "rocket": GPU,
}
UNITS = {"whole": 4, "slices": 4, "clients": 4, "instances": 50, "turns": 16, "rocket": 0}
"""GPUs of a node, or its MIG instances and the GPUs that MIG leaves whole."""
COMPUTE = {"whole", "slices", "clients", "instances"}
MEMORY = {*COMPUTE, "turns"}
"""Of which pools numbers are those of pods."""
MIB = {"whole": 23034, "slices": 23034, "clients": 23034, "instances": 5120, "turns": 20480}
LOADS = {"busy": (2, 80, 2048), "calm": (1, 15, 1024)}
"""Replicas, percent of all of them together, MiB of each: no GPU gets more than it can do."""
PERCENT = sum(percent for _, percent, _ in LOADS.values()) / 100
NODES = {"eks-node": "gpu"}


def environment(manager: str) -> dict[str, Any]:
    others = {"rocket": BOTTLEROCKET} if manager == "devicePlugin" else {}
    return {
        "cluster": {
            "name": "boards",
            "version": "1.35",
            "endpoint": {"public": True, "publicCidrs": ["203.0.113.0/24"]},
        },
        "gpuStack": {"manager": manager},
        "pools": {**POOLS, **others},
        "tenants": {
            "vision": {
                "namespaces": ["vision"],
                "pools": {"slices": {"guaranteed": {"shares": 4}}},
            }
        },
        "observability": {"metrics": "prometheusOperator"},
    }


def deployment(pool_name: str, load: str, taint: Mapping[str, Any]) -> dict[str, Any]:
    resource, (replicas, _, mib) = RESOURCES[pool_name], LOADS[load]
    name = f"{pool_name}-{load}"
    tenant = (pool_name, load) == ("slices", "busy")
    container = {"name": "main", "image": "x", "resources": {"limits": {resource: "1"}}}
    user = {"securityContext": {"runAsUser": 1000}} if pool_name == "clients" else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "vision" if tenant else "default",
            "annotations": {GPU_MEMORY: str(mib)},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "containers": [container],
                    "nodeSelector": {"eks-gpushare/pool": pool_name},
                    "tolerations": [taint],
                    **user,
                },
            },
        },
    }


class Asked:
    """The boards, with what was chosen above them."""

    def __init__(self, session: Session, documents: Mapping[str, dict[str, Any]]) -> None:
        self._query = session.rules.query
        self.documents = documents

    def choices(self, board: str, name: str, **chosen: str) -> list[str]:
        """What there is to choose from: `label_values(series, label)`, as Grafana has it."""
        (variable,) = (
            each for each in self.documents[board]["templating"]["list"] if each["name"] == name
        )
        found = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
        assert found
        series = self._query(filled(found[1], chosen))
        return sorted({each["labels"][found[2]] for each in series})

    def lines(self, board: str, title: str, **chosen: str) -> dict[str, float]:
        """The lines of a picture, each by the name that stands beside it."""
        (panel,) = (each for each in self.documents[board]["panels"] if each["title"] == title)
        found: dict[str, float] = {}
        for target in panel["targets"]:
            for series in self._query(filled(target["expr"], chosen)):
                name = called(target["legendFormat"], series["labels"])
                assert name not in found, (title, name)
                found[name] = round(series["value"], 4)
        return found

    def every(self, board: str) -> list[str]:
        return [each["title"] for each in self.documents[board]["panels"] if "targets" in each]


def filled(query: str, chosen: Mapping[str, str]) -> str:
    for name, value in chosen.items():
        query = query.replace(f"${name}", value)
    assert "$" not in query, query
    return query


def called(legend: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), legend).strip()


def about(value: float) -> Any:
    """The exporter tells whole percents and MiB."""
    return pytest.approx(value, abs=0.004)


def pods(session: Session, names: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Pods of pools by the name that boards have for them: what each computes and holds."""
    found: dict[str, tuple[float, float]] = {}
    for pod in session.watches.pods.all():
        metadata = pod["metadata"]
        pool_name, _, load = (metadata.get("labels") or {}).get("app", "").partition("-")
        if load in LOADS and pool_name in names:
            replicas, percent, mib = LOADS[load]
            found[f"{metadata['namespace']}/{metadata['name']}"] = (percent / replicas / 100, mib)
    return found


def as_they_are_put_in(session: Session, names: Sequence[str]) -> dict[str, Any]:
    """What the boards are to say of pools and pods."""
    wanted: dict[str, Any] = {}
    for name in names:
        own = pods(session, [name])
        measured = name in MEMORY
        memory = sum(mib for _, mib in own.values()) / MIB.get(name, 1)
        namespaces: dict[str, float] = {}
        for pod in own:
            space = pod.partition("/")[0]
            namespaces[space] = namespaces.get(space, 0) + 1
        wanted[name] = {
            "by pod, compute": {p: c for p, (c, _) in own.items() if name in COMPUTE},
            "by pod, memory": {p: float(mib) for p, (_, mib) in own.items() if measured},
            "by namespace": namespaces,
            "asked for": 3.0,
            "average": about(PERCENT / UNITS[name]) if measured else None,
            "average memory": about(memory / UNITS[name]) if measured else None,
            "of units": about(PERCENT) if measured else 0,
            "of units, memory": about(memory) if measured else 0,
            "busiest is a unit's": True,
            "idle": True,
        }
    vision = pods(session, ["slices"])
    wanted["vision"] = {
        "memory": {p: float(m) for p, (_, m) in vision.items() if p.startswith("vision/")},
        "has": 2.0,
        "surely": 4.0,
    }
    return wanted


def as_boards_say(asked: Asked, names: Sequence[str]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    idle = asked.lines("fleet", "GPUs and MIG instances that are idle")
    for name in names:
        of = {"pool": name}
        (node,) = asked.choices("gpu", "node", **of)
        computes = asked.lines("gpu", "Time in which it computes", node=node, **of)
        memory = asked.lines("gpu", "Memory in use", node=node, **of)
        together = asked.lines("pool", "Time in which GPUs compute", **of)
        resource = RESOURCES[name].replace("/", "_").replace(".", "_").replace("-", "_")
        busy = sum(value > 0 for value in computes.values())
        said[name] = {
            "by pod, compute": asked.lines("pool", "Time in which pods compute", **of),
            "by pod, memory": asked.lines("pool", "GPU memory by pod", **of),
            "by namespace": asked.lines("pool", "Shares by namespace", **of),
            "asked for": asked.lines("pool", "Shares", **of).get(f"asked for {resource}"),
            "average": together.get("average"),
            "average memory": asked.lines("pool", "GPU memory in use", **of).get("average"),
            "of units": sum(computes.values()),
            "of units, memory": sum(memory.values()),
            "busiest is a unit's": together.get("busiest") in {*computes.values(), None},
            "idle": idle.get(name) == (UNITS[name] - busy or None if name in MEMORY else None),
        }
    of_vision = asked.lines("tenant", "Shares", tenant="vision")
    said["vision"] = {
        "memory": asked.lines("tenant", "GPU memory by pod", tenant="vision"),
        "has": of_vision.get("has slices nvidia_com_gpu_shared"),
        "surely": of_vision.get("surely slices nvidia_com_gpu_shared"),
    }
    return said


@pytest.mark.parametrize("manager", ["devicePlugin", "gpuOperator"])
def test_boards_give_the_loads_that_were_put_in_per_pod_where_they_are_known_and_nowhere_else(
    manager: str,
    client: Client,
    empty_lab: Lab,
    emptied: Emptied,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prometheus, "SCRAPE_SECONDS", 1)
    given = environment(manager)
    file = tmp_path / "Pulumi.boards.yaml"
    config = {"aws:region": REGION, "eks-gpushare:environment": given}
    file.write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    previewed = preview(*locate(str(file), "."), known=True)
    assert previewed.recording is not None, previewed.findings
    assert previewed.ok, previewed.findings
    wanted = desired_cluster(previewed.recording)
    for obj in wanted.objects:
        if obj["kind"] == "PrometheusRule":
            for group in obj["spec"]["groups"]:
                group["interval"] = "1s"
    parsed = parse(given).environment
    assert parsed is not None
    documents = boards_json(plan_environment(parsed, Catalog(), REGION))
    names = list(given["pools"])
    taint = {"key": GPU, "operator": "Exists"}

    with emptied(client), Session(client, empty_lab) as session:
        session.install(replace(wanted, objects=tuple(wanted.objects)))
        made = [deployment(name, load, taint) for name in names for load in LOADS]
        session.apply([Manifest(d["metadata"]["name"], d) for d in made])
        for each in made:
            load = each["metadata"]["name"].partition("-")[2]
            load_on(session, each["metadata"]["name"], str(LOADS[load][1]))
        assert session.settle(longest=300)
        asked = Asked(session, documents)
        assert len(pods(session, names)) == 3 * len(names)
        deadline = time.monotonic() + 300
        while True:
            expected = as_they_are_put_in(session, names)
            try:
                found = as_boards_say(asked, names)
            except (ValueError, AssertionError):  # its rules have not run yet
                found = {}
            if found == expected or time.monotonic() > deadline:
                break
            time.sleep(1)
        assert found == expected
        assert asked.choices("pool", "pool") == sorted(names)
        for title in asked.every("fleet"):
            asked.lines("fleet", title)  # all of it is PromQL, with lines that are told apart
