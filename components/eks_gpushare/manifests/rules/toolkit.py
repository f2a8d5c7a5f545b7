"""A rule about where the container toolkit of the GPU Operator finds the nodes' containerd."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

OTHER_CONTAINERD: Final = Rule(
    "GPU1384",
    "error",
    "The GPU Operator's toolkit is told of the containerd that the nodes run.",
    "It sets up another one, or waits for a socket that is not there: containers get no GPU, and "
    "the operator's pods stay in Init.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html",
)
