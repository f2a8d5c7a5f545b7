"""Measure Karpenter in the lab with many nodes: python benchmarks/karpenter_scale.py.

Pods that each ask for one of ten shares of a GPU, all at once, and no node: Karpenter's own
controller launches the nodes on an emulated EC2. Told are the time until all pods run, the nodes
and dollars against the fewest possible, and the memory of each process. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from scale_usage import Usage

from eks_gpushare.catalog import Catalog
from eks_gpushare.program.preview import locate, preview
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.cloud.settings import CloudSettings
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.controllers.running import running
from eks_gpushare_lab.install.desired_cluster import desired_cluster
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare_lab.client import Object

ROOT = Path(__file__).resolve().parents[1]
SHARES = 10
_LONGEST = 1800.0
_TOLD = 10.0
_STACK = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster: {{name: scale, version: "1.35", deletionProtection: false}}
    network: {{zones: [us-west-2a, us-west-2b]}}
    pools:
      gpu:
        provisioner: karpenter
        instanceTypes: [g5.xlarge]
        nodes: {{max: {nodes}}}
        amiVersion: 1.35.8-20260930
        sharing: {{mode: timeSlicing, replicas: 10}}
"""


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if not all pods run within half an hour."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=int, default=1000, help="nodes to be launched")
    parser.add_argument("--teams", type=int, default=10, help="Deployments that the pods are of")
    options = parser.parse_args(words)
    result = measure(options.nodes, options.teams)
    print(json.dumps(result, indent=2))
    return 0 if result["podsRunning"] == result["pods"] else 1


def measure(nodes: int, teams: int) -> dict[str, object]:
    """One run, from a pool without nodes to pods on all of them."""
    pods = nodes * SHARES
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder) / "Pulumi.scale.yaml"
        file.write_text(_STACK.format(nodes=nodes + nodes // 10 + 1), encoding="utf-8")
        previewed = preview(*locate(str(file), str(ROOT)), known=True)
        recording = previewed.recording
        if recording is None or not previewed.ok:
            raise SystemExit("\n".join(map(str, previewed.findings)))
        desired = desired_cluster(recording)
        lab = stack.enter_context(ControlPlane()).lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        settings = CloudSettings(start=1.0)
        controllers = stack.enter_context(
            running(lab, client, recording, desired, settings=settings)
        )
        session = stack.enter_context(Session(client))
        session.install(controllers.desired)
        controllers.await_pools(client)
        processes = {**lab.processes, **_children()}
        usage = stack.enter_context(Usage(processes))
        begun = time.monotonic()
        before = usage.cpu()
        for team in range(teams):
            session.apply([Manifest(f"team-{team}", _deployment(team, pods // teams))])
        launched = _await(session, pods, begun)
        seconds = time.monotonic() - begun
        after = usage.cpu()
        there = _nodes(session)
        return {
            "pods": pods,
            "podsRunning": _running(session),
            "fewestNodes": -(-pods // SHARES),
            "nodes": there,
            "launched": len(controllers.cloud.machines()) if controllers.cloud else 0,
            "usdPerHour": round(there * _price(), 2),
            "usdPerHourFewest": round(-(-pods // SHARES) * _price(), 2),
            "secondsToLastNode": round(launched, 1),
            "secondsToLastPod": round(seconds, 1),
            "cpuSeconds": {name: round(after[name] - before[name], 1) for name in after},
            "peakMB": {name: round(peak) for name, peak in usage.peaks.items()},
            "load": os.getloadavg()[0],
            "cores": os.cpu_count(),
        }


def _await(session: Session, pods: int, begun: float) -> float:
    """Wait until all pods run; when the last node was there, in seconds."""
    seen, last, told = 0, 0.0, time.monotonic()
    while time.monotonic() - begun < _LONGEST:
        there, runs = _nodes(session), _running(session)
        if there != seen:
            seen, last = there, time.monotonic() - begun
        if runs >= pods:
            break
        if time.monotonic() - told > _TOLD:
            told = time.monotonic()
            print(f"{told - begun:.0f} s: {there} nodes, {runs} pods run", file=sys.stderr)
        time.sleep(0.5)
    return last


def _price() -> float:
    """USD per hour of a node on demand."""
    kind = Catalog().find("g5.xlarge")
    return (kind and kind.price("us-west-2")) or 0.0


def _nodes(session: Session) -> int:
    return sum(
        "karpenter.sh/nodepool" in (each["metadata"].get("labels") or {})
        for each in session.watches.nodes.all()
    )


def _running(session: Session) -> int:
    return sum(
        each["metadata"]["namespace"] == "default" and each["status"].get("phase") == "Running"
        for each in session.watches.pods.all()
    )


def _children() -> dict[str, int]:
    """Processes of this one that are not the control plane's, by what they are called."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (
                (folder / "stat").read_text(encoding="utf-8").partition("(")[2].rpartition(")")
            )
        except OSError:
            continue
        if int(rest.split()[1]) == os.getpid():
            found["emulated AWS" if name.startswith("python") else name] = int(folder.name)
    return found


def _deployment(team: int, pods: int) -> Object:
    labels = {"team": str(team)}
    container = {
        "name": "app",
        "image": "busybox",
        "resources": {"limits": {"nvidia.com/gpu.shared": "1"}},
    }
    pod = {
        "nodeSelector": {"eks-gpushare/pool": "gpu"},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"team-{team}", "namespace": "default"},
        "spec": {
            "replicas": pods,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


if __name__ == "__main__":
    sys.exit(main())
