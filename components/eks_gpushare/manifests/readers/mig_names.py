"""Names of MIG devices in configurations of the device plugin."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.mig import mig_models
from eks_gpushare.manifests.rules import device_plugin as rules
from eks_gpushare.sharing.resources import mig_resource

if TYPE_CHECKING:
    from eks_gpushare.findings.rule import Rule

_SHAPE: Final = re.compile(r"nvidia\.com/mig-([0-9]+c\.)?[0-9]+g\.[0-9]+gb([.-](me|gfx|all))*")


class WrongName(NamedTuple):
    """What is wrong with the name of a MIG device that is to be shared."""

    rule: Rule
    message: str
    fix: str
    warning: bool = False


def wrong_mig_name(name: str, kind: str, strategy: Any) -> WrongName | None:
    """What is wrong with a name, None if nothing is.

    Args:
        name: With its prefix, such as `nvidia.com/mig-1g.5gb`.
        kind: `timeSlicing` or `mps`.
        strategy: The MIG strategy as the configuration has it.
    """
    if kind == "mps":
        message = f"{name} is a MIG device, and MPS shares whole GPUs only."
        return WrongName(rules.NOT_WITH_MPS, message, "Share MIG devices by timeSlicing.")
    if strategy in ("none", "single"):
        message = f"migStrategy is {strategy}, with which no device is called {name}."
        single = ", or share nvidia.com/gpu." if strategy == "single" else "."
        return WrongName(rules.IGNORED, message, f"Set flags.migStrategy: mixed{single}")
    shape = _SHAPE.fullmatch(name)
    if shape is None:
        message = f"No MIG device is called {name}, so nothing is shared."
        fix = "Write nvidia.com/mig- and a profile, such as nvidia.com/mig-1g.5gb."
        return WrongName(rules.IGNORED, message, fix)
    if shape[1] is None and name not in _known():  # a newer GPU may have it
        message = f"No GPU that is known has a MIG device called {name}; then nothing is shared."
        fix = "`eks-gpushare mig layouts TYPE` lists the profiles of an instance type."
        return WrongName(rules.IGNORED, message, fix, warning=True)
    return None


@cache
def _known() -> frozenset[str]:
    return frozenset(
        mig_resource(profile) for model in mig_models().values() for profile in model.profiles
    )
