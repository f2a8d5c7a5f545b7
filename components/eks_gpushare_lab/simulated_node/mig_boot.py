"""The node's own boot applies a MIG layout: what the script that the user data brings would do.

It checks the machine, switches MIG mode, creates instances and reads them back. When something is
not as it should be, it removes the instances it made and lets the node join with a taint that no
device plugin tolerates, and a label that says why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu, whole
from eks_gpushare_lab.simulated_node.mig_driver import PartitionError, create

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare_lab.simulated_node.gpus import MigInstance
    from eks_gpushare_lab.simulated_node.hardware import Hardware
    from eks_gpushare_lab.simulated_node.mig_driver import Wanted

FAILED = "failed"
"""Value of the label of a node whose layout could not be applied."""


@dataclass(frozen=True, slots=True)
class BootOutcome:
    """What a boot leaves behind."""

    gpus: tuple[SimulatedGpu, ...]
    """The GPUs."""
    said: str
    """What is on the console."""
    reason: str = ""
    """Why the layout is not there, in a word that can be a label; `""` if it is."""


class _DiesError(Exception):
    """The script gives up."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


_DROPINS = "20251023"
_SETUP = "20260917"
_NEW, _OLD = "nvidia-setup.service", "nvidia-kmod-load.service"


def tells_kubelet(release: str) -> bool:
    """Whether nodeadm of an AMI reads the files by which the boot tells kubelet taints and labels.

    Source: awslabs/amazon-eks-ami pull request 2427, in releases from v20251023 on.
    """
    date = _date(release)
    return not date or date >= _DROPINS


def unordered(unit: str, release: str) -> str:
    """The unit of an AMI that loads the driver, if the unit of the layout may start before it.

    Source: awslabs/amazon-eks-ami pull request 2819, in releases from v20260917 on.
    """
    order = re.findall(r"^After=(.*)$", unit, re.MULTILINE)
    loads = _OLD if _date(release) and _date(release) < _SETUP else _NEW
    return "" if not order or loads in " ".join(order).split() else loads


def _date(release: str) -> str:
    date = release.rpartition("-")[2]
    return date if date.isascii() and date.isdigit() else ""


def apply(
    environment: Mapping[str, str], hardware: Hardware | None, too_early: str = ""
) -> BootOutcome:
    """Boot with a mig.env on a machine; None for one without GPUs.

    Args:
        environment: The mig.env.
        hardware: The machine's.
        too_early: Unit that loads the driver, if nothing says that it comes first.
    """
    gpus = list(whole(hardware.count if hardware else 0))
    try:
        wanted, model = _checked(environment, hardware, too_early)
        for number in wanted:
            gpus[number] = SimulatedGpu(mig=True)
        for number, text in wanted.items():
            gpus[number] = SimulatedGpu(mig=True, instances=_created(number, text, model))
    except _DiesError as error:
        # Modes stay as they were set; instances go, so that no node is partitioned in part.
        left = tuple(SimulatedGpu(mig=gpu.mig) for gpu in gpus)
        return BootOutcome(left, f"FAILED ({error.reason}): {error}", error.reason)
    said = f"layout {environment.get('MIG_HASH', '')} is on all {len(gpus)} GPUs"
    return BootOutcome(tuple(gpus), said)


def _checked(
    environment: Mapping[str, str], hardware: Hardware | None, too_early: str
) -> tuple[dict[int, str], MigModel | None]:
    """What is wanted of each GPU that is to be partitioned, and what its model allows."""
    if too_early:
        raise _DiesError("no-driver", f"the unit does not wait for {too_early}")
    expected, product = environment.get("MIG_GPUS", ""), environment.get("MIG_PRODUCT", "")
    if hardware is None or expected != str(hardware.count):
        found = hardware.count if hardware else 0
        raise _DiesError("gpu-count", f"expected {expected} GPUs, found {found}")
    if product not in hardware.product:
        message = f"GPU 0 is {hardware.product}, the layout is for {product}"
        raise _DiesError("wrong-board", message)
    listed = dict(entry.split("=", 1) for entry in environment.get("MIG_LAYOUT", "").split())
    every = {n: listed.get(str(n), listed.get("*", "")) for n in range(hardware.count)}
    partitioned = {number: wanted for number, wanted in every.items() if wanted}
    if partitioned and hardware.mig is None:
        raise _DiesError("no-mig", f"GPU {min(partitioned)}, {hardware.product}, has no MIG")
    return partitioned, hardware.mig


def _created(number: int, wanted: str, model: MigModel | None) -> tuple[MigInstance, ...]:
    try:
        items = [_item(item) for item in wanted.split(",")]
        return create(model, items) if model else ()
    except (PartitionError, ValueError) as error:
        raise _DiesError("create", f"GPU {number}: {wanted} cannot be made: {error}") from None


def _item(text: str) -> Wanted:
    """A profile and where it begins: without that, what was made cannot be told apart."""
    profile, _, start = text.partition(":")
    if not (start.isascii() and start.isdigit()):
        raise ValueError(f"{text} does not say where it begins")
    return profile, int(start)
