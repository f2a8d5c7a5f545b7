"""`lint` of what `kubectl get -o yaml` prints: a healthy cluster is clean, a broken one is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.cli import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Client = Any

KINDS = {
    "/api/v1": ("Node", "Namespace", "Pod", "Service", "ConfigMap", "ResourceQuota"),
    "/apis/apps/v1": ("DaemonSet", "Deployment", "ReplicaSet"),
    "/apis/policy/v1": ("PodDisruptionBudget",),
}
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: model}
spec:
  selector: {matchLabels: {app: model}}
  template:
    metadata: {labels: {app: model}}
    spec:
      containers:
        - name: main
          image: registry.example.com/model:1
          resources: {limits: {nvidia.com/mig-9g.1gb: 1}}
"""


def dumped(client: Client) -> str:
    """As kubectl has it: each object with its kind, in one List."""
    items = [
        {"apiVersion": path.removeprefix("/api/").removeprefix("/apis/"), "kind": kind, **each}
        for path, kinds in KINDS.items()
        for kind in kinds
        for each in client.list(f"{path}/{kind.lower()}s")[0]
    ]
    assert any(each["kind"] == "Node" for each in items)
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items})


@pytest.mark.parametrize(
    "stack",
    [
        "time-slicing",
        pytest.param("gpu-operator", marks=pytest.mark.at_length),
        pytest.param("mps", marks=pytest.mark.at_length),
        pytest.param("mig-time-slicing", marks=pytest.mark.at_length),
        pytest.param("multi-tenant", marks=pytest.mark.at_length),
    ],
)
def test_a_stack_that_runs_is_clean_and_a_pod_that_cannot_is_found(
    walk: Walk, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str], stack: str
) -> None:
    file = tmp_path / "dump.yaml"
    walk.install(stack)
    file.write_text(dumped(client), encoding="utf-8")
    healthy = main(["lint", "--fail-on", "info", str(file)]), capsys.readouterr().out
    walk.apply(text=DEPLOYMENT)
    file.write_text(dumped(client), encoding="utf-8")
    code = main(["lint", "--json", str(file)])
    (found,) = json.loads(capsys.readouterr().out)["files"][0]["findings"]

    assert healthy == (0, f"{file}: ok\n")
    assert code == 1
    assert found["code"] == "GPU1110"  # once: its ReplicaSet and its pod are made of it
    assert found["message"].startswith("The Deployment model asks for nvidia.com/mig-9g.1gb")
