"""Configuration documents of NVIDIA's device plugin, one key per pool in one ConfigMap.

The plugin parses leniently: unknown and misplaced keys are dropped without a word. So documents
are rendered from the model alone, and every key whose default differs between the upstream plugin
and Bottlerocket's is always written.

Source: `api/config/v1` of NVIDIA/k8s-device-plugin, at the version in `catalog.versions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from eks_gpushare.config.sharing import Exclusive, Mig, Mps, TimeSlicing
from eks_gpushare.sharing.closed_runtime import chart_plugin_flags
from eks_gpushare.sharing.resources import GPU, mig_resource, mig_strategy, renames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.pools import Pool

DEFAULT_KEY = "default"
"""Key for a node without the label: whole GPUs, the one configuration that can surprise nobody."""


def document(pool: Pool, catalog: Catalog) -> dict[str, Any]:
    """The device plugin's configuration for the nodes of a pool.

    Args:
        pool: A pool that the rules have accepted.
        catalog: Where MIG profiles and layouts are looked up.

    Raises:
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    sharing = pool.sharing
    match sharing:
        case Exclusive():
            return _plain("none", pool)
        case TimeSlicing() | Mps():
            resources = [{"name": GPU, "replicas": sharing.replicas}]
            shared = _shared(pool, resources, sharing.fail_requests_greater_than_one)
            return {**_plain("none", pool), "sharing": {sharing.mode: shared}}
        case Mig():
            return _mig_document(pool, sharing, catalog)
        case _:
            assert_never(sharing)


def _mig_document(pool: Pool, sharing: Mig, catalog: Catalog) -> dict[str, Any]:
    """MIG devices, with time slicing on top of each kind of them where it is asked for."""
    strategy = mig_strategy(sharing, pool)
    plain = _plain(strategy, pool)
    if sharing.time_slicing is None:
        return plain
    names = [GPU] if strategy == "single" else _mixed_names(pool, sharing, catalog)
    resources = [{"name": name, "replicas": sharing.time_slicing.replicas} for name in names]
    return {**plain, "sharing": {"timeSlicing": _shared(pool, resources, refuse_several=True)}}


def _mixed_names(pool: Pool, sharing: Mig, catalog: Catalog) -> list[str]:
    """One type stands for all: the rules have seen to it that a layout means the same on each."""
    from eks_gpushare.sharing.mig.layout import node_layout

    instance_type = catalog.find(pool.instance_types[0])
    if instance_type is None:
        raise KeyError(pool.instance_types[0])
    layout = node_layout(sharing.layout, instance_type, catalog)
    return [mig_resource(profile) for profile in sorted(layout.instances)]


def _plain(strategy: str, pool: Pool | None = None) -> dict[str, Any]:
    flags: dict[str, Any] = {"migStrategy": strategy}
    if pool is not None and (plugin := chart_plugin_flags(pool)):
        flags["plugin"] = dict(plugin)
    return {"version": "v1", "flags": flags}


def _shared(pool: Pool, resources: list[Any], refuse_several: bool) -> dict[str, Any]:  # noqa: FBT001  (a key of the document)
    return {
        "renameByDefault": renames(pool),
        "failRequestsGreaterThanOne": refuse_several,
        "resources": resources,
    }


def config_map_data(pools: Mapping[str, Pool], catalog: Catalog) -> dict[str, str]:
    """The data of the ConfigMap: a document per pool, and a safe default."""
    documents = {DEFAULT_KEY: _plain("none")}
    documents |= {name: document(pool, catalog) for name, pool in sorted(pools.items())}
    return {key: render(value) for key, value in documents.items()}


def render(value: Mapping[str, Any]) -> str:
    """A document as YAML, the same text for the same content."""
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False))
