"""What NVIDIA's own device plugin did with configurations, on a node of four T4s.

`data/device-plugin-documents.json` has it from nvidia-device-plugin 0.20.0, run with NVIDIA's mock
of NVML and the lab's registration socket: what it registered, the end of what it said before it
stopped, or how many bytes its list had that the kubelet refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from eks_gpushare_lab.simulated_node.gpus import whole

_DATA = Path(__file__).parents[1] / "data" / "device-plugin-documents.json"

DOCUMENTS: Final[dict[str, dict[str, Any]]] = json.loads(_DATA.read_text(encoding="utf-8"))
"""Texts and what came of them, by what they are about."""
KIND: Final = "g4dn.12xlarge"
"""The instance type of the node."""
FOUR: Final = whole(4)
"""Its GPUs."""
OTHERWISE: Final = {
    "discovery tegra": "no machine of EC2 is a Tegra, of which the plugin takes any for one GPU",
    "imex required": "whether a machine has the channel is not in the document",
}
"""Where the simulated node does otherwise, and why it may."""
