"""Which image nodes of ``pulumi_eks`` start from. Source: ``nodejs/eks/nodes/ami.ts``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.ami_names import PARAMETERS
from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.eks.children import Children, is_on, known
from eks_gpushare.program.values import UNKNOWN, Properties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Resource

BOTTLEROCKET = "Bottlerocket"
AL2 = "AL2"
_KINDS = {
    (AL2, False, "x86_64"): "AL2_x86_64",
    (AL2, True, "x86_64"): "AL2_x86_64_GPU",
    (AL2, False, "arm64"): "AL2_ARM_64",
    ("AL2023", False, "x86_64"): "AL2023_x86_64_STANDARD",
    ("AL2023", False, "arm64"): "AL2023_ARM_64_STANDARD",
    ("AL2023", True, "x86_64"): "AL2023_x86_64_NVIDIA",
    (BOTTLEROCKET, False, "arm64"): "BOTTLEROCKET_ARM_64",
    (BOTTLEROCKET, False, "x86_64"): "BOTTLEROCKET_x86_64",
    (BOTTLEROCKET, True, "arm64"): "BOTTLEROCKET_ARM_64_NVIDIA",
    (BOTTLEROCKET, True, "x86_64"): "BOTTLEROCKET_x86_64_NVIDIA",
}
_GRAVITON = re.compile(r"[a-z]+[0-9]+g")


def operating_system(args: Properties) -> str:
    """The operating system of the nodes."""
    kind = known(args.get("amiType"))
    if isinstance(kind, str):
        if kind.upper().startswith("BOTTLEROCKET"):
            return BOTTLEROCKET
        return (
            AL2 if kind.startswith(("AL2_", "amazon-linux-2")) and "2023" not in kind else "AL2023"
        )
    given = known(args.get("operatingSystem"), "AL2023")
    return given if isinstance(given, str) else "AL2023"


def ami_type(args: Properties, instance_types: Sequence[Any]) -> Any:
    """The AMI type of the nodes, as the plugin finds it where none is given."""
    given = known(args.get("amiType"))
    if given is not None:
        return given
    if any(not isinstance(instance_type, str) for instance_type in instance_types):
        return UNKNOWN
    arm = bool(instance_types) and all(
        _GRAVITON.match(instance_type) for instance_type in instance_types
    )
    wanted = (operating_system(args), is_on(args.get("gpu")), "arm64" if arm else "x86_64")
    if wanted not in _KINDS:
        system, gpu, architecture = wanted
        raise PlanError(
            f"No AMI type found for OS: {system}, GPU support: {str(gpu).lower()}, "
            f"architecture: {architecture}"
        )
    return _KINDS[wanted]


def image_of(
    plan: Plan,
    children: Children,
    args: Properties,
    cluster: Resource,
    types: Sequence[Any],
    *,
    recommended: bool = True,
) -> Any:
    """The ID of the image that the plugin tells a template: the one given, or a recommended one."""
    if args.get("amiId") is not None or not recommended:
        return args.get("amiId")
    version = known(args.get("version"), cluster.outputs.get("version", UNKNOWN))
    parameter = PARAMETERS.get(str(ami_type(args, types)))
    if parameter is None or not isinstance(version, str):
        return UNKNOWN
    latest = "latest" if parameter.startswith("bottlerocket") else "recommended"
    asked = {"name": f"/aws/service/{parameter.format(version)}/{latest}/image_id"}
    provider = children.component.providers.get("aws", "")
    return plan.ask("aws:ssm/getParameter:getParameter", asked, provider)["value"]
