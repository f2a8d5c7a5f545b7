"""The plain arguments that add to the catalog or correct it; `eks_gpushare.args` has them too."""

# No postponed annotations, unions, literals or tuples here: the component host reads these types.

from typing import NotRequired, TypedDict


class CatalogGpu(TypedDict):
    """The GPU of an added or corrected instance type."""

    model: NotRequired[str]
    """Model as EC2 calls it, for example `L4`."""
    count: NotRequired[int]
    """GPUs that the driver sees on one instance."""
    memory_mib: NotRequired[int]
    """Memory of one GPU in MiB, best as nvidia-smi shows the total: EC2's figure differs."""
    compute_capability: NotRequired[str]
    """CUDA compute capability, for example 8.9."""
    mig: NotRequired[bool]
    """Whether the GPU has MIG. Default: as other GPUs of the model in the catalog."""


class CatalogInstanceType(TypedDict):
    """An instance type added to the catalog, or what is corrected about one that is there."""

    vcpus: NotRequired[int]
    """vCPUs."""
    memory_mib: NotRequired[int]
    """Memory in MiB."""
    arch: NotRequired[str]
    """amd64 or arm64."""
    max_pods: NotRequired[int]
    """Pods a node can run."""
    price_usd_per_hour: NotRequired[float]
    """On-demand price in USD per hour."""
    spot_usd_per_hour: NotRequired[float]
    """What it costs as spot in USD per hour, as EC2's price history or your bill has it."""
    zone_ids: NotRequired[list[str]]
    """Zones of the region that offer it, by ID, such as `usw2-az1`."""
    gpu: NotRequired[CatalogGpu]
    """Its GPUs."""


class CatalogMigProfile(TypedDict):
    """One kind of MIG instance of a GPU, as `nvidia-smi mig -lgip` and `-lgipp` show it."""

    compute_slices: int
    """Compute slices that an instance takes: 3 of `3g.20gb`."""
    memory_slices: int
    """Memory slices that an instance takes; more than `compute_slices` on most GPUs."""
    memory_gb: int
    """Memory in GB as in the name: 20 of `3g.20gb`."""
    max_count: int
    """Most instances on one GPU."""
    placements: list[int]
    """Memory slices at which an instance may begin, from 0."""


class CatalogAdditions(TypedDict):
    """Facts this release does not have, or has wrong."""

    instance_types: NotRequired[dict[str, CatalogInstanceType]]
    """Instance types by name."""
    mig_profiles: NotRequired[dict[str, dict[str, CatalogMigProfile]]]
    """MIG profiles by GPU, such as `A100-40GB`, and profile."""
    mig_layouts: NotRequired[dict[str, dict[str, int]]]
    """Layouts for `layout` by name: MIG devices per GPU by profile."""
