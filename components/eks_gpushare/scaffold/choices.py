"""What is chosen for a first stack, and what is taken where nothing was said."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from eks_gpushare.catalog import (
    Catalog,
    ami_release,
    eks_versions,
    mig_model,
    named_layouts,
    support,
    why_no_mig,
)
from eks_gpushare.catalog.mig import ALL_DISABLED

if TYPE_CHECKING:
    from datetime import date

    from eks_gpushare.catalog import InstanceType

Mode = Literal["exclusive", "timeSlicing", "mps", "mig"]
Manager = Literal["devicePlugin", "gpuOperator"]
MODES: tuple[Mode, ...] = get_args(Mode)
MANAGERS: tuple[Manager, ...] = get_args(Manager)

DEFAULT_STACK = "dev"
DEFAULT_REGION = "us-west-2"
DEFAULT_MODE: Mode = "timeSlicing"
DEFAULT_MANAGER: Manager = "devicePlugin"
DEFAULT_REPLICAS = 4
"""AWS advises 2 to 8 pods on one GPU:
https://docs.aws.amazon.com/eks/latest/best-practices/aiml-compute.html, read 2026-11-21."""

# Small, sold in most regions, and with CPU enough for four pods; then whatever is cheapest.
_FIRST_TYPES: dict[Mode, tuple[str, ...]] = {
    "exclusive": ("g6.xlarge", "g5.xlarge", "g4dn.xlarge"),
    "timeSlicing": ("g6.2xlarge", "g5.2xlarge", "g4dn.2xlarge"),
    "mps": ("g6.2xlarge", "g5.2xlarge", "g4dn.2xlarge"),
    "mig": ("p5.4xlarge", "g7e.2xlarge", "p4d.24xlarge"),
}
_ZONES_OF_A_NETWORK = 2
_ANY_LAYOUT = "all-balanced"
"""For a GPU without MIG: what is wrong then is the GPU, and not that the layout is missing."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a first stack is made of; None is what was not chosen."""

    name: str
    """Name of the project; a new cluster is called after it and the stack."""
    stack: str = DEFAULT_STACK
    """Name of the stack."""
    region: str | None = None
    """AWS region. A cluster known by its kubeconfig needs none."""
    mode: Mode = DEFAULT_MODE
    """How the GPUs are shared."""
    instance_type: str | None = None
    """EC2 instance type of the nodes."""
    replicas: int | None = None
    """Pods on one GPU, with time slicing and MPS; on one MIG device, where these take turns."""
    layout: str | dict[str, int] | None = None
    """MIG layout by name, or devices per GPU."""
    manager: Manager | None = None
    """Who runs the device plugin."""
    cluster: str | None = None
    """Name of an EKS cluster that is there already."""
    kubeconfig: str | None = None
    """Path of the kubeconfig of a cluster that is there already."""
    context: str | None = None
    """Context in it."""
    public_cidrs: tuple[str, ...] = ()
    """Networks that may reach the API server of a new cluster from outside the VPC."""
    admins: tuple[str, ...] = ()
    """IAM roles that get cluster-admin on a new cluster."""
    zones: tuple[str, ...] = ()
    """Names of availability zones of a new network. Default: two that AWS chooses."""
    subnets: tuple[str, ...] = ()
    """Subnets of the nodes in an EKS cluster that is there already. Default: all private ones."""
    wheels: str | None = None
    """Folder with wheels of this package, for where no index has it."""

    @property
    def new(self) -> bool:
        """Whether the stack makes the cluster."""
        return self.cluster is None and self.kubeconfig is None


class NoTypeError(Exception):
    """No instance type of the catalog suits what was chosen; the text says what was looked for."""


def complete(choices: Choices) -> Choices:
    """The choices with what was not said.

    Raises:
        NoTypeError: If no type is given, and none that the catalog knows suits the mode.
    """
    region = choices.region
    if region is None and choices.kubeconfig is None:
        region = DEFAULT_REGION
    name = choices.instance_type or default_type(choices.mode, region)
    shared = choices.mode in {"timeSlicing", "mps"}
    layout = choices.layout
    if choices.mode == "mig" and layout is None:
        layout = default_layout(name) or _ANY_LAYOUT
    return replace(
        choices,
        region=region,
        instance_type=name,
        replicas=DEFAULT_REPLICAS if shared and choices.replicas is None else choices.replicas,
        layout=layout,
        manager=choices.manager or default_manager(choices),
    )


def default_manager(choices: Choices) -> Manager:
    """Who is to run the device plugin where nobody says so.

    A MIG layout on nodes that somebody else makes is the MIG manager's, which the operator brings.
    """
    foreign = choices.kubeconfig is not None and choices.mode == "mig"
    return "gpuOperator" if foreign else DEFAULT_MANAGER


def suitable_types(mode: Mode, region: str | None) -> list[InstanceType]:
    """The types that can be bought on demand in a region and shared so, best to begin with first.

    Args:
        mode: How their GPUs are to be shared.
        region: AWS region. None stands for any.
    """
    found = [
        instance_type
        for instance_type in Catalog().gpu_types().values()
        if not instance_type.retired
        and "on-demand" in instance_type.usage_classes
        and (region is None or region in instance_type.zones)
        and (mode != "mig" or why_no_mig(instance_type) is None)
    ]
    first = _FIRST_TYPES[mode]

    def order(each: InstanceType) -> tuple[int, bool, float]:
        rank = first.index(each.name) if each.name in first else len(first)
        price = each.price(region or DEFAULT_REGION)
        return rank, price is None, price or 0.0

    return sorted(found, key=order)


def default_type(mode: Mode, region: str | None) -> str:
    """The type to begin with.

    Raises:
        NoTypeError: If the catalog knows none in the region.
    """
    found = suitable_types(mode, region)
    if not found:
        what = "with MIG" if mode == "mig" else "with an NVIDIA GPU"
        raise NoTypeError(f"the catalog knows no instance type {what} in {region}: name one")
    return found[0].name


def layouts_of(instance_type: str) -> list[str]:
    """Names of the MIG layouts that a type can have."""
    found = Catalog().find(instance_type)
    model = mig_model(found.gpu) if found is not None and found.gpu is not None else None
    return (
        []
        if model is None
        else [layout for layout in named_layouts(model) if layout != ALL_DISABLED]
    )


def default_layout(instance_type: str) -> str | None:
    """The MIG layout to begin with: the smallest devices, as many as fit."""
    return next(iter(layouts_of(instance_type)), None)


def regions() -> list[str]:
    """The regions in which the catalog knows a type with a GPU."""
    return sorted(
        {
            region
            for instance_type in Catalog().gpu_types().values()
            for region in instance_type.zones
        }
    )


def kubernetes_version(today: date) -> tuple[str, str | None]:
    """The Kubernetes version of a new cluster, and the image release known for it.

    It is one below the newest where that is supported long enough: images, add-ons and charts of
    the newest come later.
    """
    supported = [version for version in eks_versions() if support(version, today) == "standard"]
    known = [version for version in supported if ami_release("al2023", version)]
    newest = known or supported or list(eks_versions())
    version = newest[-2] if len(newest) > 1 else newest[-1]
    return version, ami_release("al2023", version)


def zones_to_name(choices: Choices) -> tuple[tuple[str, ...], int] | None:
    """The zones to name in the file, and how many of the first the pool is in.

    A type that EC2 offers in fewer zones of the region than the network has needs its pool in
    those alone. Which they are the account alone can tell: names mean other zones in each.
    """
    region, found = choices.region, Catalog().find(choices.instance_type or "")
    offered = len(found.zones.get(region or "", ())) if found is not None else 0
    count = len(choices.zones) or _ZONES_OF_A_NETWORK
    if choices.zones:
        return choices.zones, min(offered or count, count)
    if region is None or not 0 < offered < count:
        return None
    return tuple(f"{region}{letter}" for letter in "ab"[:count]), offered


_PROJECT_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def project_name(folder: str) -> str:
    """A name for a project in a folder of this name."""
    name = _PROJECT_NAME.sub("-", folder).strip("-._")
    return (
        name
        if re.match(r"[A-Za-z]", name)
        else f"gpu-{name}".rstrip("-")
        if name
        else "gpu-sharing"
    )
