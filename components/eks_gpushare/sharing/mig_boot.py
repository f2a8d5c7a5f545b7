"""What a node's own boot is told about the MIG layout of its pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.sharing import Mig
from eks_gpushare.documents.mig_boot import MigBoot, mig_boot_part
from eks_gpushare.sharing.labels import MIG_LABEL
from eks_gpushare.sharing.mig.layout import node_layout

if TYPE_CHECKING:
    from eks_gpushare.catalog import Catalog
    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.sharing.mig.layout import NodeLayout

MIG_FAILED_TAINT = f"{MIG_LABEL}=failed:NoSchedule"
"""Taint of a node that could not cut its GPUs. Not `nvidia.com/gpu`: the device plugin's chart and
EKS's admission tolerate that one."""

_SEVENTHS = 7


def boots(pool: Pool) -> bool:
    """Whether the nodes of this pool cut their GPUs themselves, by a script in their user data."""
    family = pool.custom_ami.family if pool.custom_ami else pool.ami_family
    return isinstance(pool.sharing, Mig) and pool.sharing.apply == "boot" and family == "al2023"


def boot_script(pool: Pool, catalog: Catalog) -> str | None:
    """The shell part of the user data of a pool's nodes; None if their boot has nothing to cut.

    Args:
        pool: A pool that the rules have accepted: its types have the same GPUs.
        catalog: Where the GPUs are looked up.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    if not isinstance(pool.sharing, Mig) or not boots(pool):
        return None
    name = next(iter(pool.instance_types), "")
    found = catalog.find(name)
    if found is None:
        raise KeyError(name)
    return mig_boot_part(mig_boot(node_layout(pool.sharing.layout, found, catalog)))


def mig_boot(layout: NodeLayout) -> MigBoot:
    """A layout as a node's boot wants it."""
    return MigBoot(
        layout=tuple(
            tuple((_profile(layout.model, at.profile), at.start) for at in gpu.placements)
            for gpu in layout.gpus
        ),
        product=layout.model.product,
        taint=MIG_FAILED_TAINT,
        label=MIG_LABEL,
        layout_hash=layout.layout_hash,
    )


def _profile(model: MigModel, name: str) -> int | str:
    """What to call a profile.

    On boards of seven slices NVIDIA's numbers are the same everywhere, while the memory in a name
    is rounded differently by drivers (https://github.com/NVIDIA/mig-parted/pull/227).
    """
    number = model.profiles[name].smi_id if model.compute_slices == _SEVENTHS else None
    return name if number is None else number
