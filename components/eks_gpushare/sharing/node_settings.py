"""What a stack says of its nodes besides their GPUs: kubelet, instance store, further user data."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, TypeAlias

from eks_gpushare.catalog.kubelet import BOTTLEROCKET_SETTINGS
from eks_gpushare.documents.helm import merge_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.environment import SystemNodes
    from eks_gpushare.config.pools import Pool

    Nodes: TypeAlias = Pool | SystemNodes

_STORE_COMMAND = "eks-gpushare-instance-store"
_STORE_FOLDERS = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
"""What nodeadm's RAID0 puts on the instance store too."""


def node_config_spec(nodes: Nodes) -> dict[str, Any]:
    """What goes below `spec` of the NodeConfig of AL2023 nodes."""
    spec: dict[str, Any] = {}
    if nodes.kubelet:
        # In one order: other user data means other nodes.
        spec["kubelet"] = {"config": dict(sorted(nodes.kubelet.items()))}
    if _uses_store(nodes):
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    return spec


def further_parts(nodes: Nodes) -> tuple[tuple[str, str], ...]:
    """Content type and content of the further parts of AL2023 nodes' user data, in their order."""
    return tuple((_with_charset(part.content_type), part.content) for part in nodes.user_data or ())


def bottlerocket_settings_of_nodes(nodes: Nodes) -> dict[str, Any]:
    """What goes below `settings` of Bottlerocket nodes, besides cluster and device plugin.

    Raises:
        tomllib.TOMLDecodeError: For user data that is no TOML, which the rules refuse.
    """
    settings = own_bottlerocket_settings(nodes)
    for part in nodes.user_data or ():
        settings = merge_values(settings, tomllib.loads(part.content).get("settings", {}))
    return settings


def own_bottlerocket_settings(nodes: Nodes) -> dict[str, Any]:
    """The part of them that comes from keys of the stack file."""
    settings: dict[str, Any] = {}
    if kubelet := _bottlerocket_kubelet(nodes.kubelet or {}):
        settings["kubernetes"] = kubelet
    if _uses_store(nodes):
        # https://bottlerocket.dev/en/os/1.57.x/concepts/bootstrap-commands/: several disks become
        # a RAID0, and the next boot finds it again.
        init = ["apiclient", "ephemeral-storage", "init"]
        bind = ["apiclient", "ephemeral-storage", "bind", "--dirs", *_STORE_FOLDERS]
        command = {"commands": [init, bind], "essential": True, "mode": "always"}
        settings["bootstrap-commands"] = {_STORE_COMMAND: command}
    return settings


def _uses_store(nodes: Nodes) -> bool:
    return getattr(nodes, "local_storage", None) == "raid0"


def _bottlerocket_kubelet(given: Mapping[str, Any]) -> dict[str, Any]:
    settings = {
        BOTTLEROCKET_SETTINGS[name]: value
        for name, value in sorted(given.items())
        if name in BOTTLEROCKET_SETTINGS  # another is refused, and must not stop other checks
    }
    options = settings.get("cpu-manager-policy-options")
    if isinstance(options, dict):  # there it is a list of those that are on
        settings["cpu-manager-policy-options"] = [k for k, v in options.items() if v == "true"]
    return settings


def _with_charset(content_type: str) -> str:
    text = content_type.startswith("text/") and "charset" not in content_type
    return f'{content_type}; charset="utf-8"' if text else content_type
