"""What Bottlerocket nodes say of their own device plugin in their user data.

Source: https://bottlerocket.dev/en/os/latest/api/settings/kubelet-device-plugins/, and
`catalog.bottlerocket` for what its MIG manager knows.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.bottlerocket import bottlerocket_mig_gpu
from eks_gpushare.documents.device_plugin import PluginConfig
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.source import Maybe

_DEFAULT_REPLICAS = 2


def runs_bottlerocket(nodes: NodeSet) -> bool:
    """Whether nodes run Bottlerocket, whose NVIDIA variants bring a device plugin."""
    return nodes.ami is not UNKNOWN and nodes.ami.lower().startswith("bottlerocket")


def may_run_bottlerocket(nodes: NodeSet) -> bool:
    """Whether nodes whose AMI is not known may run it: their user data is none, or settings."""
    if nodes.ami is not UNKNOWN:
        return False
    data = nodes.user_data
    return data is UNKNOWN or not data.strip() or data.lstrip().startswith("[settings")


def nvidia_settings(nodes: NodeSet) -> Maybe[Mapping[str, Any]]:
    """What stands below `settings.kubelet-device-plugins.nvidia`."""
    return settings_in(nodes.user_data)


def settings_in(user_data: Maybe[str]) -> Maybe[Mapping[str, Any]]:
    """The same of user data, which may be no settings at all."""
    if user_data is UNKNOWN:
        return UNKNOWN
    try:
        document = tomllib.loads(user_data)
    except (tomllib.TOMLDecodeError, RecursionError):
        return UNKNOWN
    found = at(document, "settings", "kubelet-device-plugins", "nvidia")
    return found if isinstance(found, dict) else {}


def own_plugin(nodes: NodeSet) -> bool:
    """Whether the device plugin of the operating system runs: it does unless it is switched off."""
    return runs_bottlerocket(nodes) and at(nvidia_settings(nodes), "enabled") is not False


def own_config(nodes: NodeSet) -> PluginConfig | None:
    """What that plugin goes by; None where it is not known.

    Defaults are the reverse of those of NVIDIA's own: shares are renamed, several are refused.
    """
    settings = nvidia_settings(nodes)
    return None if settings is UNKNOWN else config_of(settings)


def config_of(settings: Mapping[str, Any]) -> PluginConfig:
    """What the plugin goes by, of its settings."""
    strategy = "single" if settings.get("device-partitioning-strategy") == "mig" else "none"
    sharing = settings.get("device-sharing-strategy", "none")
    if sharing not in ("time-slicing", "mps"):
        return PluginConfig(strategy)
    replicas = at(settings, sharing, "replicas")
    renamed = at(settings, sharing, "rename-by-default")
    refuses = at(settings, sharing, "fail-requests-greater-than-one")
    return PluginConfig(
        strategy,
        "mps" if sharing == "mps" else "timeSlicing",
        {GPU: replicas if isinstance(replicas, int) else _DEFAULT_REPLICAS},
        renamed is not False,
        refuses is not False,
    )


def profile_of(nodes: NodeSet, model: MigModel) -> tuple[str, int] | None:
    """The profile that MIG manager makes of each GPU of a model and how often; None if unknown."""
    settings, known = nvidia_settings(nodes), bottlerocket_mig_gpu(model.name)
    if settings is UNKNOWN or known is None:
        return None
    given = str(at(settings, "mig", "profile", known.key) or known.whole)
    by_number = {str(count): name for name, count in known.instances.items()}
    name = given if given in known.instances else by_number.get(given, known.whole)
    return name, known.instances[name]
