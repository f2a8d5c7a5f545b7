"""Time and memory of `verify --from` of a large cluster: `python benchmarks/verify_many_nodes.py`.

The cluster is that of examples/verify with more nodes, in 8 pools, and with pods of 400 workloads
in 200 namespaces, of which every tenth pod waits. Pods are as long as kubectl prints them.
"""

from __future__ import annotations

import argparse
import copy
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CLUSTER = Path(__file__).parents[1] / "examples" / "verify" / "cluster.json"
POOLS, WORKLOADS, NAMESPACES = 8, 400, 200
WAITS = 10
"""Every so many pods one waits."""
GPUS = 4
"""Of a node."""
MOST_SECONDS, MOST_MB = 10, 400
GPU = "nvidia.com/gpu"
MADE = "2026-11-26T17:30:00Z"

MEASURED = (
    "import resource, sys; from eks_gpushare.cli import main; code = main(sys.argv[1:]); "
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
)
"""The command, which says at its end what it took: of children only the largest is known."""

Object = dict[str, Any]


def cluster_of(nodes: int, pods: int) -> list[Object]:
    """The objects of a cluster of so many nodes and, beside those of DaemonSets, pods."""
    small: list[Object] = json.loads(CLUSTER.read_text(encoding="utf-8"))["items"]
    found = [given for given in small if given["kind"] not in {"Node", "Pod"}]
    # As many shares as all nodes have pods, so that the others wait for one.
    replicas = max(2, pods * (WAITS - 1) // WAITS // nodes // GPUS)
    data = next(given for given in found if given["kind"] == "ConfigMap")["data"]
    data["gpu"] = data["gpu"].replace("replicas: 10", f"replicas: {replicas}")
    model = next(given for given in small if given["metadata"]["name"] == "gpu-0")
    for amounts in (model["status"]["allocatable"], model["status"]["capacity"]):
        amounts[GPU] = str(GPUS * replicas)
    operands = [given for given in small if given["kind"] == "Pod"]
    for number in range(nodes):
        node = copy.deepcopy(model)
        name = node["metadata"]["name"] = node_name(number)
        node["metadata"]["managedFields"] = managed_fields("kubelet")
        pool = f"gpu-{number % POOLS}" if number % POOLS else "gpu"
        node["metadata"]["labels"] |= {
            "kubernetes.io/hostname": name,
            "eks-gpushare/pool": pool,
        }
        found.append(node)
        for operand in operands:
            pod = copy.deepcopy(operand)
            pod["metadata"]["name"] += f"-{number}"
            pod["spec"]["nodeName"] = name
            found.append(pod)
    found += (deployment(number) for number in range(WORKLOADS))
    found += (pod_of(number, nodes) for number in range(pods))
    return found


def node_name(number: int) -> str:
    """As EC2 names an instance."""
    return (
        f"ip-10-{number // 65536}-{number // 256 % 256}-{number % 256}.us-west-2.compute.internal"
    )


def managed_fields(manager: str) -> list[Object]:
    """As many as an API server keeps of an object."""
    fields: Object = {f"f:field-{number}": {"f:inner": {}} for number in range(40)}
    entry = {"manager": manager, "operation": "Update", "time": MADE, "fieldsV1": fields}
    return [entry, {**entry, "subresource": "status"}]


def pod_spec() -> Object:
    """The spec of a pod that asks for a share."""
    amounts = {GPU: "1", "cpu": "500m", "memory": "4Gi"}
    container = {
        "name": "main",
        "image": "registry.example.com/team/model-server:2026.11.1",
        "env": [{"name": f"SETTING_{number}", "value": "on"} for number in range(25)],
        "resources": {"limits": amounts, "requests": amounts},
        "volumeMounts": [{"name": "models", "mountPath": "/models"}],
    }
    return {
        "containers": [container],
        "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}],
    }


def workload_of(number: int) -> tuple[str, str]:
    """Namespace and name of a workload."""
    return f"team-{number % NAMESPACES}", f"model-{number}"


def deployment(number: int) -> Object:
    """A workload."""
    space, name = workload_of(number)
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec()}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": space},
        "spec": {"replicas": 25, "selector": {"matchLabels": labels}, "template": template},
        "status": {},
    }


def pod_of(number: int, nodes: int) -> Object:
    """A pod of a workload, on a node or waiting."""
    space, name = workload_of(number % WORKLOADS)
    waits = number // WORKLOADS % WAITS == 0
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-7d9", "uid": "1"}
    place = {} if waits else {"nodeName": node_name(number % nodes)}
    kinds = ("PodScheduled",) if waits else ("Ready", "PodScheduled", "Initialized")
    status = "False" if waits else "True"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-7d9-{number}",
            "namespace": space,
            "labels": {"app": name, "pod-template-hash": "7d9"},
            "creationTimestamp": MADE,
            "managedFields": managed_fields("kube-controller-manager"),
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {**pod_spec(), **place},
        "status": {
            "phase": "Pending" if waits else "Running",
            "conditions": [{"type": kind, "status": status, "message": ""} for kind in kinds],
        },
    }


def main() -> int:
    """Make the dump, judge it, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10_000, help="without those of DaemonSets")
    parser.add_argument("--write", type=Path, help="write the dump there, and no more")
    options = parser.parse_args()
    if options.write is not None:
        objects = cluster_of(options.nodes, options.pods)
        # indented as kubectl does it, so that reading takes as long
        text = json.dumps({"apiVersion": "v1", "items": objects, "kind": "List"}, indent=4)
        options.write.write_text(text, encoding="utf-8")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.json"
        # by another process: what this one had in memory would count for its children
        subprocess.run([sys.executable, *sys.argv, "--write", str(file)], check=True)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, "verify", "--from", str(file), "--json"],
            capture_output=True,
            check=False,
        )
        took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        size = file.stat().st_size
    causes, peak = len(json.loads(done.stdout)["findings"]), int(done.stderr.split()[-1]) / 1024
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{options.nodes} nodes and {options.pods} pods in {size / 1e6:.0f} MB, {causes} causes: "
        f"{seconds:.1f} s of CPU, {took:.1f} s, {peak:.0f} MB"
    )
    return 0 if seconds <= MOST_SECONDS and peak <= MOST_MB else 1


if __name__ == "__main__":
    sys.exit(main())
