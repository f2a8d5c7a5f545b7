"""Expressions that choose devices of NVIDIA's driver of dynamic resource allocation.

Sources: `deviceinfo.go`, `mig.go` and `partitions.go` of its `cmd/gpu-kubelet-plugin`, at
https://github.com/NVIDIA/k8s-dra-driver-gpu, and of what expressions may say
https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library (November 2026).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.device_configs import DRIVER
from eks_gpushare.inventory.values import at, items

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath

_CAPACITIES: Final = (
    *("memory", "multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines"),
    "ofaEngines",
)
_ATTRIBUTES: Final = (
    *("type", "uuid", "productName", "brand", "architecture", "cudaComputeCapability"),
    *("driverVersion", "cudaDriverVersion", "profile", "parentUUID"),
)
_MEANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("model", "gpuModel", "product"), "productName"),
    "migProfile": "profile",
    "computeCapability": "cudaComputeCapability",
    "cudaComputeCapabilityMajor": "cudaComputeCapability",
    "cudaMajor": "cudaDriverVersion",
}
"""Names that people give attributes, and those that the driver gives them."""
_WORD: Final = "[A-Za-z0-9_]+"
_OF_DRIVER: Final = re.compile(rf"""attributes\[["']{re.escape(DRIVER)}["']\]\.({_WORD})""")
_WITHOUT: Final = re.compile(rf"""device\.(?:attributes|capacity)\[["']({_WORD})["']\]""")
_COMPARED: Final = re.compile(
    rf"""(capacity\[["'][A-Za-z0-9_.-]+["']\]\.{_WORD})[ \t\n]*(?:>=|<=|>|<)[ \t\n]*"""
)
_UNIT: Final = re.compile(r"(?:Gi?B|Mi?B|Gi|Mi|Bytes)$")


class SelectorProblem(NamedTuple):
    """Why an expression chooses nothing."""

    place: FieldPath
    """Below `devices`."""
    message: str
    """What follows the name of the claim."""
    fix: str


def selector_problems(devices: Any) -> Iterator[SelectorProblem]:
    """What is wrong with the expressions of what a claim asks for."""
    for number, request in enumerate(items(at(devices, "requests"))):
        for key in ((), ("exactly",)):
            for index, each in enumerate(items(at(request, *key, "selectors"))):
                expression = at(each, "cel", "expression")
                device_class = at(request, *key, "deviceClassName")
                if isinstance(expression, str) and (found := _wrong(expression, device_class)):
                    where = ("requests", number, *key, "selectors", index, "cel", "expression")
                    yield SelectorProblem(where, *found)


def _wrong(expression: str, device_class: Any) -> tuple[str, str] | None:
    """What to say of an expression, and what to write; None where nothing is known of it."""
    for found in _OF_DRIVER.finditer(expression):
        name = _UNIT.sub("", found[1])
        if name in _CAPACITIES:
            message = (
                f"looks for {found[1]} among the attributes of a device; NVIDIA's driver gives "
            )
            return f"{message}it as a capacity, so the expression fails.", _write_capacity(name)
        if name in _MEANT:
            message = f"looks for the attribute {name}, which devices of NVIDIA's driver do not "
            fix = f'Write device.attributes["{DRIVER}"].{_MEANT[name]}.'
            return f"{message}have, so the expression fails.", fix
    if compared := _COMPARED.search(expression):
        return (
            "compares a capacity by a sign, and the API server refuses that of a quantity.",
            f'Write device.{compared[1]}.compareTo(quantity("...")) >= 0, with the quantity.',
        )
    known = "nvidia.com" in f"{device_class} {expression}"
    for found in _WITHOUT.finditer(expression) if known else ():
        name = _MEANT.get(found[1], found[1])
        if name in _CAPACITIES:
            fix = _write_capacity(name)
        elif name in _ATTRIBUTES:
            fix = f'Write device.attributes["{DRIVER}"].{name}.'
        else:
            continue
        return (
            f"looks for {found[1]} where the name of a driver stands, so the expression fails.",
            fix,
        )
    return None


def _write_capacity(name: str) -> str:
    written = f'device.capacity["{DRIVER}"].{name}.compareTo(quantity("..."))'
    return f"Write {written} >= 0, with the quantity."
