"""Rules about configurations of NVIDIA's device plugin.

Source: `api/config/v1` of NVIDIA/k8s-device-plugin, at the version in `catalog.versions`.
"""

from __future__ import annotations

from eks_gpushare.catalog.versions import device_plugin_source
from eks_gpushare.findings.rule import Rule

_README = "https://github.com/NVIDIA/k8s-device-plugin#"
_CONFIG = "api/config/v1"

IGNORED = Rule(
    "GPU1020",
    "error",
    "Every key of a device plugin's configuration is one that the plugin reads, in its place.",
    "It drops others without a word: sharing, or what was asked of it, is not in force.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/1433",
)
REFUSED = Rule(
    "GPU1021",
    "error",
    "A device plugin's configuration is one that the plugin starts with.",
    "It stops at a value that it cannot read, and restarts for ever; the node has no GPUs then.",
    device_plugin_source(f"{_CONFIG}/replicas.go"),
)
RESET = Rule(
    "GPU1022",
    "warning",
    "A device plugin's configuration sets nothing that the plugin takes back.",
    "It says so in its log alone and goes on with the default: all devices, the usual name.",
    device_plugin_source(f"{_CONFIG}/config.go"),
)
BOTH = Rule(
    "GPU1023",
    "error",
    "A configuration shares GPUs by time slicing or by MPS, not by both.",
    "Of both the plugin takes MPS without a word.",
    device_plugin_source(f"{_CONFIG}/sharing.go"),
)
NO_VERSION = Rule(
    "GPU1024",
    "warning",
    "A device plugin's configuration says which version of the format it has.",
    "A plugin to come may take another version for the default; mig-parted refuses it already.",
    f"{_README}configuration-option-details",
)
NOT_WITH_MPS = Rule(
    "GPU1025",
    "error",
    "MPS shares whole GPUs, and no more often than MPS has clients.",
    "The plugin or its MPS daemon stops, and the node has no GPUs.",
    f"{_README}with-cuda-mps",
)
