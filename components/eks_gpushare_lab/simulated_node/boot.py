"""What happens on a simulated machine before its kubelet joins the cluster.

The machine is told everything by the annotations that the lab gives its node: the user data of the
launch template and the type of the AMI. What comes out is the node as it registers, or none.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_gpushare_lab.simulated_node import bottlerocket, bottlerocket_mig, mig_boot, user_data
from eks_gpushare_lab.simulated_node.gpus import STATE, annotation, encode
from eks_gpushare_lab.simulated_node.hardware import INSTANCE_TYPE, hardware_of

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.simulated_node.bottlerocket import Settings
    from eks_gpushare_lab.simulated_node.mig_boot import BootOutcome

CONSOLE = "lab.eks-gpushare/boot"
"""Annotation of a node: what its boot said of the GPUs."""

_BOTTLEROCKET = "BOTTLEROCKET"
_NVIDIA = "NVIDIA"


@dataclass(frozen=True, slots=True)
class Joining:
    """A machine that has booted."""

    node: Object | None
    """The node as it registers; None if it never does."""
    said: str = ""
    """What is on its console about MIG and settings."""


def boot(node: Object) -> Joining:
    """Boot the machine of a node.

    Args:
        node: as it would register if its user data did nothing.
    """
    try:
        text = user_data.decoded(annotation(node, user_data.USER_DATA))
        settings = _settings(node, text)
    except (user_data.UserDataError, bottlerocket.SettingsError) as error:
        return Joining(None, str(error))
    if is_bottlerocket(node, text):
        hardware = hardware_of(node["metadata"]["labels"].get(INSTANCE_TYPE, ""))
        if settings is None or hardware is None or not settings.partitioned:
            return Joining(node)
        outcome = bottlerocket_mig.apply(settings, hardware)
        return Joining(_with(node, outcome), outcome.said)
    environment = user_data.mig_environment(text) if text else None
    if environment is None:
        return Joining(node)
    return _with_layout(node, environment, user_data.unit(text))


def built_in(node: Object) -> Settings | None:
    """What Bottlerocket's own NVIDIA programs follow on a node; None where there are none."""
    try:
        text = user_data.decoded(annotation(node, user_data.USER_DATA))
        return _settings(node, text)
    except (user_data.UserDataError, bottlerocket.SettingsError):
        return None


def is_bottlerocket(node: Object, text: str) -> bool:
    """Whether a machine runs Bottlerocket, which an AMI of one's own shows by its user data."""
    ami = annotation(node, user_data.AMI_TYPE)
    if ami in {"", "CUSTOM"}:
        return "settings" in (user_data.toml(text) or {})
    return ami.startswith(_BOTTLEROCKET)


def _settings(node: Object, text: str) -> Settings | None:
    """Bottlerocket's settings; None on another system and on a variant without NVIDIA's programs.

    Raises:
        SettingsError: If the OS would refuse them.
    """
    if not is_bottlerocket(node, text):
        return None
    ami = annotation(node, user_data.AMI_TYPE)
    if ami not in {"", "CUSTOM"} and _NVIDIA not in ami:
        return None
    document = user_data.toml(text)
    if document is None:
        raise bottlerocket.SettingsError("the user data is no TOML")
    image = node["status"].get("nodeInfo", {}).get("osImage", "")
    return bottlerocket.read(document, bottlerocket.version_of(image))


def _with_layout(node: Object, environment: dict[str, str], unit: str) -> Joining:
    hardware = hardware_of(node["metadata"]["labels"].get(INSTANCE_TYPE, ""))
    release = annotation(node, user_data.AMI_RELEASE)
    outcome = mig_boot.apply(environment, hardware, mig_boot.unordered(unit, release))
    joined = _with(node, outcome)
    if not mig_boot.tells_kubelet(release):
        return Joining(joined, outcome.said)
    label = environment.get("MIG_LABEL", "")
    if label and outcome.reason:
        failed = {label: mig_boot.FAILED, f"{label}-reason": outcome.reason}
        joined["metadata"]["labels"] |= failed
    elif label:
        joined["metadata"]["labels"][label] = environment.get("MIG_HASH", "")
    taint = _taint(environment.get("MIG_TAINT", ""))
    if outcome.reason and taint is not None:
        joined["spec"]["taints"] = [*(joined["spec"].get("taints") or ()), taint]
    return Joining(joined, outcome.said)


def _with(node: Object, outcome: BootOutcome) -> Object:
    joined = copy.deepcopy(node)
    notes = joined["metadata"].setdefault("annotations", {})
    notes[STATE], notes[CONSOLE] = encode(outcome.gpus), outcome.said
    return joined


def _taint(text: str) -> dict[str, str] | None:
    """A taint as the kubelet's --register-with-taints takes it: key=value:Effect."""
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect} if key and effect else None
