"""A rule about values of JupyterHub's chart, from which notebooks with GPUs are made."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

UNREAD: Final = Rule(
    "GPU1261",
    "error",
    "What JupyterHub's values say of GPUs stands where JupyterHub reads it.",
    "The chart, or KubeSpawner, goes on without it: notebooks get no GPU, or stay Pending.",
    "https://z2jh.jupyter.org/en/stable/resources/reference.html",
)
