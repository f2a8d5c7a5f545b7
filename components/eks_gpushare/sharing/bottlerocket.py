"""How Bottlerocket nodes share their GPUs: by settings in their user data, not by a ConfigMap.

Two defaults are the reverse of NVIDIA's plugin there: shares are renamed and requests for several
are refused. So both are always written. Source: bottlerocket-os/bottlerocket-core-kit,
packages/nvidia-k8s-device-plugin (templates of 2026).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from eks_gpushare.catalog import bottlerocket as facts
from eks_gpushare.config.sharing import Exclusive, Mig, Mps, TimeSlicing
from eks_gpushare.sharing.resources import renames, replicas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.catalog import Catalog, InstanceType
    from eks_gpushare.config.pools import Pool


class NotOnBottlerocketError(ValueError):
    """A pool that Bottlerocket's settings cannot express; the rules refuse it beforehand."""


def is_bottlerocket(pool: Pool) -> bool:
    """Whether the nodes of a pool run Bottlerocket, EKS's or an image of the user's own."""
    return pool.runs_bottlerocket


def served_by_chart(pool: Pool) -> bool:
    """Whether the device plugin of a pool's nodes is the chart's, and not built into the image.

    Two plugins on one node would advertise the same GPUs twice, so the chart keeps off a pool for
    which this is False.
    """
    if not is_bottlerocket(pool):
        return True
    return pool.bottlerocket is not None and pool.bottlerocket.device_plugin == "chart"


def pools_of_chart(pools: Mapping[str, Pool]) -> dict[str, Pool]:
    """Those of some pools whose device plugin is the chart's."""
    return {name: pool for name, pool in pools.items() if served_by_chart(pool)}


def bottlerocket_settings(
    pool: Pool, types: Iterable[InstanceType], catalog: Catalog
) -> dict[str, Any]:
    """What goes below `settings.kubelet-device-plugins.nvidia`; nothing for whole GPUs.

    Args:
        pool: A Bottlerocket pool that the rules have accepted.
        types: Its instance types.
        catalog: Where MIG profiles and layouts are looked up.

    Raises:
        NotOnBottlerocketError: Bottlerocket cannot make this layout of one of the types.
        eks_gpushare.sharing.mig.layout.LayoutError: A layout that does not fit a type's GPUs.
    """
    if served_by_chart(pool):
        # Which runtime containers get follows the strategy: on Kubernetes 1.34 and later CDI by
        # default, while the chart's plugin is told to use volume mounts.
        return {"enabled": False, "device-list-strategy": "volume-mounts"}
    sharing = pool.sharing
    match sharing:
        case Exclusive():
            return {}
        case Mps():
            shares = {"replicas": sharing.replicas, "rename-by-default": renames(pool)}
            return {"device-sharing-strategy": "mps", "mps": shares}
        case TimeSlicing():
            return _time_slicing(pool, refuse_several=sharing.fail_requests_greater_than_one)
        case Mig():
            # Written out for every model: without its profile the manager takes the whole GPU.
            made = (bottlerocket_mig(sharing, instance_type, catalog) for instance_type in types)
            profiles = {gpu.key: profile for gpu, profile in made}
            turns = _time_slicing(pool, refuse_several=True) if sharing.time_slicing else {}
            return {"device-partitioning-strategy": "mig", **turns, "mig": {"profile": profiles}}
        case _:
            assert_never(sharing)


def bottlerocket_mig(
    sharing: Mig, instance_type: InstanceType, catalog: Catalog
) -> tuple[facts.MigGpu, str]:
    """How the settings call a type's GPU, and the one profile that a layout makes on all of them.

    Raises:
        NotOnBottlerocketError: Bottlerocket cannot make this layout of the type's GPUs.
        eks_gpushare.sharing.mig.layout.LayoutError: A layout that does not fit them.
    """
    from eks_gpushare.sharing.mig.layout import node_layout

    layout = node_layout(sharing.layout, instance_type, catalog)
    gpu, profile = facts.bottlerocket_mig_gpu(layout.model.name), layout.uniform
    if gpu is None or profile is None or profile not in gpu.instances:
        raise NotOnBottlerocketError(f"Bottlerocket cannot make this of {instance_type.name}.")
    if any(dict(each.devices) != {profile: gpu.instances[profile]} for each in layout.gpus):
        raise NotOnBottlerocketError(f"Bottlerocket fills every GPU of {instance_type.name}.")
    return gpu, profile


def needed_setting(
    pool: Pool, types: Iterable[InstanceType], catalog: Catalog
) -> facts.BottlerocketSetting | None:
    """The setting for which a Bottlerocket pool needs the newest release, None if any will do.

    A MIG layout that Bottlerocket cannot make counts as MIG.
    """
    if served_by_chart(pool):
        return facts.SWITCH
    sharing = pool.sharing
    match sharing:
        case Exclusive():
            return None
        case Mps():
            return facts.MPS
        case TimeSlicing():
            return facts.TIME_SLICING
        case Mig():
            found = [facts.MIG, *_later_profiles(sharing, types, catalog)]
            return max(found, key=lambda setting: setting.since)
        case _:
            assert_never(sharing)


def _later_profiles(
    sharing: Mig, types: Iterable[InstanceType], catalog: Catalog
) -> list[facts.BottlerocketSetting]:
    found = []
    for instance_type in types:
        try:
            gpu, profile = bottlerocket_mig(sharing, instance_type, catalog)
        except ValueError:  # has findings of its own
            continue
        if profile in gpu.later:
            found.append(gpu.later[profile])
    return found


def _time_slicing(pool: Pool, *, refuse_several: bool) -> dict[str, Any]:
    shares = {
        "replicas": replicas(pool),
        "rename-by-default": renames(pool),
        "fail-requests-greater-than-one": refuse_several,
    }
    return {"device-sharing-strategy": "time-slicing", "time-slicing": shares}
