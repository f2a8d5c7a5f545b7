"""Bottlerocket's MIG manager: one profile for all GPUs of a node, applied when it boots.

Source: bottlerocket-core-kit, `sources/nvidia-migmanager/src`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu, whole
from eks_gpushare_lab.simulated_node.mig_boot import BootOutcome
from eks_gpushare_lab.simulated_node.mig_driver import PartitionError, create

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare_lab.simulated_node.bottlerocket import Settings
    from eks_gpushare_lab.simulated_node.hardware import Hardware

# Boards that it knows: their key in the settings.
_KNOWN = {
    "A100-40GB": "a100.40gb",
    "A100-80GB": "a100.80gb",
    "H100-80GB": "h100.80gb",
    "H200-141GB": "h200.141gb",
    "B200-180GB": "b200.180gb",
}
_COMPUTE = 7


def apply(settings: Settings, hardware: Hardware) -> BootOutcome:
    """Boot with these settings."""
    if not settings.partitioned:
        return BootOutcome(whole(hardware.count), "no MIG is asked for")
    if hardware.mig is None:
        message = "MIG is not supported by the available NVIDIA GPU."
        return BootOutcome(whole(hardware.count), message, "no-mig")
    key = _KNOWN.get(hardware.mig.name)
    said, counts = _unknown_board(settings.profiles, hardware.mig)
    if key is not None:
        said, counts = _known_board(settings.profiles.get(key, "1"), hardware.mig)
    if counts is None:
        return BootOutcome((SimulatedGpu(mig=True),) * hardware.count, said, "no-profile")
    made = create(hardware.mig, [(name, None) for name, number in counts for _ in range(number)])
    return BootOutcome((SimulatedGpu(mig=True, instances=made),) * hardware.count, said)


_Counts = list[tuple[str, int]] | None


def _known_board(given: str, model: MigModel) -> tuple[str, _Counts]:
    """What it makes of a value: one it does not expect stands for the whole GPU, in silence."""
    plain = [profile for profile in model.profiles.values() if not profile.attributes]
    listed = {profile.name: profile for profile in plain if profile.compute_slices != 4}  # noqa: PLR2004  (4g is not in its table)
    by_number = {str(profile.max_count): profile for profile in listed.values()}
    profile = listed.get(given) or by_number.get(given) or by_number["1"]
    said = f"{profile.name} x {profile.max_count} on each GPU"
    if given not in listed and given not in by_number:
        said += f", since {given} is none of its profiles"
    return said, [(profile.name, profile.max_count)]


def _unknown_board(profiles: Mapping[str, str], model: MigModel) -> tuple[str, _Counts]:
    """Of the entries that are for no board it knows, the first that the driver accepts."""
    for key, given in sorted(profiles.items()):
        compute, dot, memory = given.partition("g.")
        if key in _KNOWN.values() or not dot:
            continue
        of_gpu, slices = int(key.rpartition(".")[2][:-2]), int(compute)
        size = int(memory.removesuffix("gb"))
        if not size or not slices:
            continue
        number = min(of_gpu // size, _COMPUTE // slices)
        try:
            create(model, [(given, None)] * number)
        except PartitionError:
            continue
        return f"{given} x {number} on each GPU", [(given, number)]
    return f"no entry of mig.profile is valid for {model.name}", None
