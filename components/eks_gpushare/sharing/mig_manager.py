"""What the GPU Operator's MIG manager is told: configurations, node labels, chart values.

MIG manager follows one node label. Whatever changes on a node therefore has to be a change of its
label or of the ConfigMap's name, and a label changes only when the pool's own layout does.

Source: `pkg/mig/reconfigure/reconfigure.go` of NVIDIA/mig-parted, at the version in
`catalog.versions`.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.sharing import Mig
from eks_gpushare.config.taints import Taint
from eks_gpushare.documents.mig_parted import MigPartedItem, mig_parted_text
from eks_gpushare.sharing.resources import advertised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog import Catalog, Gpu, InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.sharing.mig.layout import NodeLayout

MIG_CONFIG_LABEL = "nvidia.com/mig.config"
"""Names the configuration that MIG manager applies to a node."""
STARTUP_TAINT_KEY = "eks-gpushare/mig-layout"
"""Key of the startup taint. It stays what it is, although Cluster Autoscaler would know a key below
`startup-taint.cluster-autoscaler.kubernetes.io/` by itself: UpdateNodegroupConfig applies changed
taints to the nodes that are there, so another key would keep pods from every living node until a
controller that knows it has looked at each."""
CONFIG_KEY = "config.yaml"
"""The key that MIG manager reads in a ConfigMap that is not its own."""

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_HASH_LENGTH = 10
_HOPPER = (9, 0)


def applies(pool: Pool) -> bool:
    """Whether MIG manager makes the layout of this pool."""
    return isinstance(pool.sharing, Mig) and pool.sharing.apply == "migManager"


def uses_mig_manager(pools: Mapping[str, Pool]) -> bool:
    """Whether MIG manager makes the layout of any of the pools."""
    return any(applies(pool) for pool in pools.values())


def startup_taint() -> Taint:
    """The taint that keeps pods away until the layout is there.

    Its key is no resource's: EKS adds a toleration for a taint that is named like the resource
    that a pod requests, and the operator's own tolerations are for `nvidia.com/gpu`.
    """
    return Taint.model_construct(key=STARTUP_TAINT_KEY, value="pending", effect="NoSchedule")


def startup_taints(pool: Pool) -> tuple[Taint, ...]:
    """The taints that nodes of the pool join with and lose again; pods tolerate none of them."""
    return (startup_taint(),) if applies(pool) else ()


def mig_labels(pool: Pool, catalog: Catalog) -> dict[str, str]:
    """Node labels by which MIG manager knows the layout of the pool.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    return {MIG_CONFIG_LABEL: mig_config_name(pool, catalog)} if applies(pool) else {}


def mig_config_name(pool: Pool, catalog: Catalog) -> str:
    """Name of the configuration of a pool that MIG manager applies.

    A named layout keeps its name, unless the PCI ids of its boards are not known. Others are named
    after their content: the profiles per GPU of each GPU model, not its PCI ids, which a later
    release may know more of.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    layout = pool.sharing.layout if isinstance(pool.sharing, Mig) else None
    layouts = _layouts(pool, catalog)
    # What has no filter would be made on the boards of every pool that uses the name.
    filtered = all(layout.model.device_ids for layout in layouts)
    if isinstance(layout, str) and filtered and _LABEL_VALUE.fullmatch(layout):
        return layout
    content = {
        layout.model.name: [[item.gpus, sorted(item.devices.items())] for item in _items(layout)]
        for layout in layouts
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return f"layout-{digest[:_HASH_LENGTH]}"


def mig_parted_data(pools: Mapping[str, Pool], catalog: Catalog) -> dict[str, str]:
    """Data of the ConfigMap: every configuration that a pool's label names, and `all-disabled`.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    configs: dict[str, list[MigPartedItem]] = {}
    for _, pool in sorted(pools.items()):
        if not applies(pool):
            continue
        name = mig_config_name(pool, catalog)
        items = (item for layout in _layouts(pool, catalog) for item in _items(layout))
        known = configs.setdefault(name, [])
        # Pools with one named layout share it; each board keeps to its own items by their filter.
        known += [item for item in items if item not in known]
    return {CONFIG_KEY: mig_parted_text(configs)}


def mig_manager_values(
    pools: Mapping[str, Pool], config_map_name: object, catalog: Catalog
) -> dict[str, Any]:
    """The part of the GPU Operator's chart values that concerns MIG manager.

    Args:
        pools: The pools that the operator serves, by name.
        config_map_name: Name of the ConfigMap with `mig_parted_data`, in the operator's namespace.
        catalog: Where instance types are looked up.

    Raises:
        KeyError: For an instance type that the catalog does not have.
    """
    if not uses_mig_manager(pools):
        return {"migManager": {"enabled": False}}
    # `all-disabled` as the default would label every node that can do MIG and has no label yet,
    # so MIG manager would undo the layouts that nodes made at boot.
    config = {"create": False, "name": config_map_name, "default": ""}
    env = mig_manager_env(pools, catalog)
    return {"migManager": {"enabled": True, "config": config, "env": env}}


def mig_manager_env(pools: Mapping[str, Pool], catalog: Catalog) -> list[dict[str, str]]:
    """MIG manager's environment variables: whether it may reboot nodes, where GPUs need that.

    Types that the catalog does not have count for nothing.
    """
    types = (
        found
        for pool in pools.values()
        if applies(pool)
        for name in pool.instance_types
        if (found := catalog.find(name)) is not None
    )
    reboots = any(found.gpu is not None and needs_reboot(found.gpu) for found in types)
    return [{"name": "WITH_REBOOT", "value": "true"}] if reboots else []


def needs_reboot(gpu: Gpu) -> bool:
    """Whether a node with such GPUs reboots to switch MIG on or off.

    Ampere wants a reset of the GPU for that, which a virtual machine gets by a reboot; Hopper and
    later do not (https://docs.nvidia.com/datacenter/tesla/mig-user-guide).
    """
    return gpu.compute_capability < _HOPPER


def expected_nodes(pools: Mapping[str, Pool], catalog: Catalog) -> dict[str, dict[str, Any]]:
    """When a node is ready, by pool: its configuration, and what each instance type advertises.

    Resources that show 0 are left out. For the controller that removes the startup taint.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    return {
        name: {
            "config": mig_config_name(pool, catalog),
            "advertises": {
                instance_type.name: {
                    resource: count
                    for resource, count in sorted(advertised(pool, instance_type, catalog).items())
                    if count
                }
                for instance_type in _types(pool, catalog)
            },
        }
        for name, pool in sorted(pools.items())
        if applies(pool)
    }


def _types(pool: Pool, catalog: Catalog) -> Iterator[InstanceType]:
    for name in pool.instance_types:
        found = catalog.find(name)
        if found is None:
            raise KeyError(name)
        yield found


def _layouts(pool: Pool, catalog: Catalog) -> list[NodeLayout]:
    """The layout on each GPU model of the pool; types with the same model have the same."""
    from eks_gpushare.sharing.mig.layout import node_layout

    if not isinstance(pool.sharing, Mig):
        return []
    made = [
        node_layout(pool.sharing.layout, instance_type, catalog)
        for instance_type in _types(pool, catalog)
    ]
    # Of several sizes of one model, the most GPUs: a layout by index fits no smaller node.
    largest = {
        layout.model.name: layout for layout in sorted(made, key=lambda each: len(each.gpus))
    }
    return [largest[name] for name in sorted(largest)]


def _items(layout: NodeLayout) -> Iterator[MigPartedItem]:
    """One item where all GPUs are alike, else one per kind of GPU in the order of their indexes."""
    boards = layout.model.device_ids
    kinds: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for index, gpu in enumerate(layout.gpus):
        kinds.setdefault(tuple(sorted(gpu.devices.items())), []).append(index)
    for devices, indexes in kinds.items():
        yield MigPartedItem(dict(devices), None if len(kinds) == 1 else tuple(indexes), boards)
