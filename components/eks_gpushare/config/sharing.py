"""How the GPUs of a pool are shared: one model per mode."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from eks_gpushare.config.base import Items, Model

Replicas: TypeAlias = Annotated[int, Field(le=10_000)]
"""Far more than the pods of any node: Amazon EKS takes 737 at most."""


class Exclusive(Model):
    """One pod per GPU."""

    mode: Literal["exclusive"]
    """`exclusive`."""


class TimeSlicing(Model):
    """Pods take turns on a GPU; neither memory nor faults are isolated, nor compute divided."""

    mode: Literal["timeSlicing"]
    """`timeSlicing`."""
    replicas: Replicas
    """Pods that may share one GPU, at least 2."""
    rename: bool | None = None
    """Advertise `nvidia.com/gpu.shared` instead of `nvidia.com/gpu`. Default: true on karpenter
    pools, else false."""
    fail_requests_greater_than_one: bool = True
    """Refuse pods that ask for more than one share: two shares are not twice the GPU."""


class Mps(Model):
    """Pods run at once through NVIDIA MPS; memory is limited per process, faults reach all."""

    mode: Literal["mps"]
    """`mps`."""
    replicas: Replicas
    """Pods that may share one GPU: 2 to 48, to 16 below compute capability 7.5."""
    rename: bool | None = None
    """Advertise `nvidia.com/gpu.shared` instead of `nvidia.com/gpu`. Default: true on karpenter
    pools, else false."""
    fail_requests_greater_than_one: bool = True
    """Refuse pods that ask for more than one share."""


class MigGroup(Model):
    """Some GPUs of a node and the MIG devices made on each of them."""

    gpus: Items[int]
    """Indexes of the GPUs, from 0."""
    devices: dict[str, int]
    """MIG devices per GPU by profile, for example `{1g.5gb: 7}`."""


class SharedMigDevices(Model):
    """Time slicing on top of MIG devices."""

    replicas: Replicas
    """Pods that may share one MIG device, at least 2."""
    rename: bool | None = None
    """Add `.shared` to the resource name. Default: true on karpenter pools, else false."""


def _layout_kind(value: Any) -> str:
    if isinstance(value, dict):
        return "<devices>"
    return "<groups>" if isinstance(value, list | tuple) else "<name>"


Layout: TypeAlias = Annotated[
    Annotated[str, Tag("<name>")]
    | Annotated[dict[str, int], Tag("<devices>")]
    | Annotated[Items[MigGroup], Tag("<groups>")],
    Discriminator(_layout_kind),
]


class Mig(Model):
    """GPUs cut into MIG devices of their own memory and compute; for GPUs that can."""

    mode: Literal["mig"]
    """`mig`."""
    layout: Layout
    """A named layout (`all-1g.5gb`), devices per GPU (`{1g.5gb: 2, 3g.20gb: 1}`), or a list of
    `{gpus, devices}`; GPUs not listed stay whole."""
    strategy: Literal["mixed", "single"] | None = None
    """mixed names resources by profile, single calls them all `nvidia.com/gpu`. Default: mixed, on
    Bottlerocket single, which is all it knows."""
    apply: Literal["boot", "migManager"] = "boot"
    """Who makes the layout: the node's own boot, or the GPU Operator's MIG manager."""
    time_slicing: SharedMigDevices | None = None
    """Time slicing on top. Default: none."""


MODES = ("exclusive", "timeSlicing", "mps", "mig")


def _mode(value: Any) -> str | None:
    mode = value.get("mode") if isinstance(value, dict) else getattr(value, "mode", None)
    return f"<{mode}>" if isinstance(mode, str) else None


Sharing: TypeAlias = Annotated[
    Annotated[Exclusive, Tag("<exclusive>")]
    | Annotated[TimeSlicing, Tag("<timeSlicing>")]
    | Annotated[Mps, Tag("<mps>")]
    | Annotated[Mig, Tag("<mig>")],
    Discriminator(_mode),
]
"""The `sharing` block of a pool, told apart by `mode`."""
