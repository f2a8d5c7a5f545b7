"""How the lab's control plane is set for a measurement."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class LabSetting:
    """Flags, environment and scheduler configuration, as `ControlPlane` takes them."""

    name: str
    """What the command line calls it."""
    pods_per_second: float
    """What is aimed at, with all pods made by Deployments on two idle cores."""
    memory_mb: float | None
    """What the control plane may take then; None where nothing is aimed at."""
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Flags by process name, after those of the lab."""
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Environment by process name."""
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the KubeSchedulerConfiguration."""
    kwok: Mapping[str, int] = field(default_factory=dict)
    """Options of the KwokConfiguration."""

    def all_flags(self, folder: Path) -> dict[str, list[str]]:
        """The flags, with one for kwok's options, which are written into a folder."""
        flags = {name: list(each) for name, each in self.flags.items()}
        if self.kwok:
            file = folder / "kwok.json"
            head = {"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration"}
            file.write_text(json.dumps({**head, "options": dict(self.kwok)}), encoding="utf-8")
            flags.setdefault("kwok", []).append(f"--config={file}")
        return flags


STOCK = LabSetting("stock", 50, None)
"""The control plane as `lab run` has it, with the scheduler as it comes."""

_CONTROLLERS = (
    "daemonset-controller",
    "deployment-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
)

_RARELY = {"GOGC": "200", "GOMEMLIMIT": "320MiB"}

# Nodes are looked for and scored by their resources alone, a hundred at a time: another node wins
# than with the defaults, so this is for measuring and for nothing else.
_SCHEDULER = {
    "percentageOfNodesToScore": 5,
    "parallelism": 4,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [
                {
                    "name": "PodTopologySpread",
                    "args": {"defaultingType": "List", "defaultConstraints": []},
                }
            ],
        }
    ],
}

BENCHMARK = LabSetting(
    "benchmark",
    100,
    3000,
    flags={
        "kube-apiserver": ["--enable-garbage-collector=false", "--profiling=false"],
        "kube-controller-manager": [
            f"--controllers={','.join(_CONTROLLERS)}",
            "--enable-garbage-collector=false",
        ],
    },
    # A limit as well: without one, the API server alone would take what it is not told to collect.
    environment={
        "kube-apiserver": {"GOGC": "400", "GOMEMLIMIT": "1400MiB"},
        "kube-controller-manager": _RARELY,
        "kube-scheduler": _RARELY,
        "kwok": _RARELY,
    },
    scheduler=_SCHEDULER,
    # Four each by default: pods that have a node wait for it, and each pod that comes to run alone
    # is a change of its ReplicaSet and its Deployment.
    kwok={"nodePlayStageParallelism": 8, "podPlayStageParallelism": 8},
)
"""One that shows how far the machine carries, and that is for nothing else."""

SETTINGS = {each.name: each for each in (STOCK, BENCHMARK)}
"""By name."""
