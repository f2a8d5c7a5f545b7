"""Values of NVIDIA's GPU Operator chart, derived from the pools it serves.

Source: NVIDIA/gpu-operator, at the version in `catalog.versions`. Lists in Helm values replace the
chart's own as a whole, so what the chart tolerates by itself is repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.charts import pool_node_affinity, tolerations
from eks_gpushare.sharing.closed_runtime import toolkit_variables
from eks_gpushare.sharing.device_plugin_config import DEFAULT_KEY
from eks_gpushare.sharing.mig_manager import (
    STARTUP_TAINT_KEY,
    mig_manager_values,
    uses_mig_manager,
)
from eks_gpushare.sharing.node_monitoring import exporter_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.pools import Pool

NFD = "node-feature-discovery"
"""Key of the subchart's values; `nfd` has only the switches of the operator's own chart."""
_CONTROL_PLANE = {
    "key": "node-role.kubernetes.io/control-plane",
    "operator": "Equal",
    "value": "",
    "effect": "NoSchedule",
}
_STARTUP = {"key": STARTUP_TAINT_KEY, "operator": "Exists", "effect": "NoSchedule"}


def gpu_operator_values(
    pools: Mapping[str, Pool],
    catalog: Catalog,
    given: Mapping[str, Any],
    config_map: object,
    mig_config_map: object,
    *,
    node_monitoring_agent: bool = False,
) -> dict[str, Any]:
    """Values of the chart.

    Args:
        pools: The pools it serves, by name.
        catalog: Where instance types are looked up.
        given: The user's values, which go over the derived ones.
        config_map: Name of the ConfigMap with the device plugin's configurations.
        mig_config_map: Name of MIG manager's ConfigMap, None where no pool uses it.
        node_monitoring_agent: Whether EKS's node monitoring agent runs on the nodes.
    """
    more = mig_manager_values(pools, mig_config_map, catalog)
    if node_monitoring_agent:
        more |= exporter_values(pools, catalog)
    more |= toolkit_variables(pools)
    derived = merge_values(derived_values(pools), more, keep_null=True)
    values = merge_values(derived, given, keep_null=True)
    named = {"devicePlugin": {"config": {"name": config_map}}}
    return merge_values(values, named, keep_null=True)


def derived_values(pools: Mapping[str, Pool]) -> dict[str, Any]:
    """What of the values follows from the pools alone, without names and MIG manager's settings."""
    installs = not all(brings_driver(pool) for pool in pools.values())
    with_manager = uses_mig_manager(pools)
    tolerated = [*tolerations(pools), *([_STARTUP] if with_manager else [])]
    return {
        # NVIDIA's AMIs of EKS have both; on, the operator rewrites containerd's configuration.
        "driver": {"enabled": installs},
        "toolkit": {"enabled": installs},
        # The operator chooses no key by itself, not even the only one.
        "devicePlugin": {"config": {"create": False, "default": DEFAULT_KEY}},
        # Anything else becomes an environment variable, which wins over every pool's own strategy.
        "mig": {"strategy": ""},
        # On, it is on every node that can do MIG. Its default would become a node label, which a
        # MIG manager of later takes the devices of other nodes away for.
        "migManager": {"enabled": with_manager, "config": {"default": ""}},
        # On by default, so metrics would flow as soon as there is a Prometheus operator.
        "dcgmExporter": {"serviceMonitor": {"enabled": False}},
        "daemonsets": {"tolerations": tolerated},
        # The operator serves the nodes on which NFD has found a GPU, so NFD's worker decides.
        NFD: {
            "worker": {
                "affinity": pool_node_affinity(pools),
                "tolerations": [_CONTROL_PLANE, *tolerated],
            }
        },
    }


def brings_driver(pool: Pool) -> bool:
    """Whether the image of a pool's nodes has the NVIDIA driver and container toolkit.

    Of nodes that others make nothing else is known, so they are taken to have them.
    """
    if pool.ami_family != "custom" or pool.custom_ami is None:
        return True
    return pool.custom_ami.driver_included
