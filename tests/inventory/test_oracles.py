"""What the checks go by, held against what others made of the same.

They are the lab, which reads objects as the originals do, and the plans of stacks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from inventory_of import chart, config_map, nodes

from eks_gpushare.catalog import Catalog
from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.sharing.bottlerocket import served_by_chart
from eks_gpushare.sharing.charts import device_plugin_values
from eks_gpushare.sharing.device_plugin_config import config_map_data
from eks_gpushare.sharing.efa import EFA
from eks_gpushare.sharing.mig_boot import boot_script
from eks_gpushare.sharing.mig_manager import applies
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.stack_file.check import check_file

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.inventory.items import Item

ROOT = Path(__file__).parents[2]


def _pools() -> list[tuple[str, str]]:
    files = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
    read = [(file.name, yaml.load(file.read_bytes(), yaml.CSafeLoader)["config"]) for file in files]
    return [
        (file, name)
        for file, config in read
        for name in config["eks-gpushare:environment"]["pools"]
    ]


@pytest.mark.parametrize("stack", sorted({stack for stack, _ in _pools()}))
def test_nodes_advertise_what_their_pool_is_planned_for(stack: str) -> None:
    """Worked out from labels, user data, values and ConfigMap, as from anybody's program."""
    environment = check_file(ROOT / "stacks" / stack).environment
    assert environment is not None
    catalog = Catalog()
    pools = {name: each for name, each in environment.pools.items() if _by_chart(each)}
    items: list[Item] = [
        chart("nvidia-device-plugin", device_plugin_values(pools, {"config": {"name": "own"}})),
        config_map("own", config_map_data(pools, catalog)),
    ]
    plans = {name: plan_pool(name, pool, catalog) for name, pool in pools.items()}
    items += [
        nodes(
            *plan.pool.instance_types,
            name=name,
            labels=dict(plan.labels),
            taints=[(each.key, each.value, each.effect) for each in plan.taints],
            user_data=boot_script(plan.pool, catalog) or "",
        )
        for name, plan in plans.items()
    ]
    inventory = Inventory(tuple(items), complete=True)
    found = {
        (each.kind.nodes.name, each.kind.type.name if each.kind.type else ""): dict(
            each.resources or {}
        )
        for each in offers(inventory, "").every
    }

    assert found == {
        (name, kind): {key: count for key, count in node.items() if count and key != EFA}
        for name, plan in plans.items()
        for kind, node in plan.per_node.items()
    }


def _by_chart(pool: Pool) -> bool:
    """Whether the device plugin's chart serves it, and MIG manager does not cut its GPUs."""
    return served_by_chart(pool) and not applies(pool)
