"""The NVIDIA driver and container toolkit come from the AMI or from the operator, not from both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.ami_names import ami_type_of
from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, PLUGIN_CHART, chart_of
from eks_gpushare.documents.reading import is_for_machines
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.nodes import gpu_nodes, without_operands
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Edit, NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, switch, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.inventory.problem import Judgement

TWICE = rule_of("GPU1180")
NOWHERE = rule_of("GPU1181")
UNNAMED = rule_of("GPU1182")
_PARTS = ("driver", "toolkit")
_CALLED_OFF = {
    "driver": "nvidia.com/gpu.deploy.driver",
    "toolkit": "nvidia.com/gpu.deploy.container-toolkit",
}
"""Labels by which the operator's parts are called off a node."""
_WITH = re.compile(r"NVIDIA|AL2_x86_64_GPU|ACCELERATED", re.IGNORECASE)
"""AMI types of EKS, and families of eksctl, that say so by their name."""
_WITHOUT = re.compile(
    r"AL2023_(x86_64|ARM_64)_STANDARD|AL2_(x86_64|ARM_64)|BOTTLEROCKET_(x86_64|ARM_64)(_FIPS)?"
    r"|AL2023_(x86_64|ARM_64)_NEURON",
    re.IGNORECASE,
)
"""AMI types of EKS that have none."""
_PLAIN = re.compile(r"Ubuntu(Pro)?[0-9]{4}")
"""Families of eksctl that have neither driver nor runtime, and boot as somebody tells them to."""
_BY_TYPE = re.compile(
    r"(al2023|al2|bottlerocket)(@.*)?|AmazonLinux2023|AmazonLinux2|Bottlerocket|AL2023|AL2",
    re.IGNORECASE,
)
"""Aliases and families of Karpenter and eksctl, which take the variant for the instance type."""


@edge(TWICE, NOWHERE, UNNAMED)
def drivers(inventory: Inventory) -> Iterator[Judgement]:
    """Of nodes whose AMI is known."""
    for cluster in inventory.clusters():
        releases = inventory.of(Release, cluster)
        operators = [each for each in releases if chart_of(each.chart) == OPERATOR_CHART]
        # Of an image without anything, somebody may bring all by hand: not beside a plugin alone.
        has_plugin = any(chart_of(each.chart) == PLUGIN_CHART for each in releases)
        declared: dict[int, NodeKind] = {}
        for kind in gpu_nodes(inventory, cluster):
            # A type with a GPU, not only signs of one.
            if kind.nodes.provisioner not in ("byHand", "autoMode") and kind.type is not None:
                declared.setdefault(id(kind.nodes), kind)
        for kind in declared.values():
            nodes = kind.nodes
            brings = brings_driver(nodes)
            if nodes.provisioner == "managed" and nodes.ami == "" and not _boots_with_one(nodes):
                yield Problem(
                    UNNAMED,
                    nodes.source,
                    (),
                    f"{at_start(nodes.source.name)} has types with GPUs and names no AMI type, so "
                    "it cannot be seen whether its nodes have a driver.",
                    "Name the AMI type for NVIDIA, such as AL2023_x86_64_NVIDIA.",
                )
            left_alone = without_operands(nodes)
            if operators and left_alone is None:
                yield NotSeen(TWICE, nodes.source, f"the labels of {nodes.source.name}")
                continue
            serving = [] if left_alone else operators
            for release in _meant_for(serving) if brings else serving:
                yield from _twice(release, nodes, brings)
                yield from _no_runtime(release, nodes, brings)
            if (brings is False or (has_plugin and _boots_plain(nodes))) and not any(
                installs(release, "driver") is not False for release in serving
            ):
                yield Problem(
                    NOWHERE,
                    nodes.source,
                    (),
                    f"The image of {nodes.source.name}, {nodes.ami}, has no NVIDIA driver, and "
                    "nothing installs one.",
                    "Use the one for NVIDIA, such as AL2023_x86_64_NVIDIA.",
                    None if inventory.complete or operators else "warning",
                )


def _meant_for(operators: Sequence[Release]) -> Sequence[Release]:
    """Those that nodes of EKS with a driver have, as far as it is told.

    What a script installs that is called after other machines is for these. Where one leaves the
    driver out, what another file installs is for another cluster, or another way.
    """
    here = [each for each in operators if not is_for_machines(each.source.file)]
    files = {each.source.file for each in here if installs(each, "driver") is False}
    return [each for each in here if not files or each.source.file in files]


def brings_driver(nodes: NodeSet) -> bool | None:
    """Whether the AMI of nodes with GPUs has the driver; None where it is not known."""
    if nodes.ami is UNKNOWN or nodes.ami.startswith("ami-") or nodes.ami.upper() == "CUSTOM":
        return None
    ami = ami_type_of(nodes.ami) or nodes.ami
    if _WITH.search(ami):
        return True
    if _WITHOUT.fullmatch(ami):
        return False
    # Karpenter and eksctl take the variant for the type. What EKS takes where a managed node group
    # names none is written nowhere (November 2026); its API asks for one with GPU types.
    by_type = bool(_BY_TYPE.fullmatch(ami)) or (not ami and nodes.provisioner == "karpenter")
    return True if by_type else None


def lacks_driver(nodes: NodeSet) -> bool:
    """Whether the image of nodes with GPUs has no driver, whatever they boot with."""
    return brings_driver(nodes) is False or (
        nodes.ami is not UNKNOWN and bool(_PLAIN.fullmatch(nodes.ami))
    )


def installs(release: Release, part: str) -> bool | None:
    """Whether the operator installs the driver or the toolkit: it does unless it is told."""
    given: Any = at(release.values, part, "enabled")
    if given is UNKNOWN:
        return None
    return True if given is None else bool(switch(given))


def _keeps_off(nodes: NodeSet, part: str) -> bool:
    """Whether labels of nodes call one of the operator's parts off, which it leaves as they are."""
    given = {} if nodes.labels is UNKNOWN else nodes.labels
    return str(text(given.get(_CALLED_OFF[part]))) == "false"


def _boots_plain(nodes: NodeSet) -> bool:
    """Whether the image has no driver, and what it boots with says nothing of one."""
    if nodes.ami is UNKNOWN or nodes.user_data is UNKNOWN:
        return False
    return bool(_PLAIN.fullmatch(nodes.ami)) and not _boots_with_one(nodes)


def _boots_with_one(nodes: NodeSet) -> bool:
    """Whether nodes get a driver as they boot, as far as their user data has its name."""
    return isinstance(nodes.user_data, str) and "nvidia" in nodes.user_data.lower()


def _no_runtime(release: Release, nodes: NodeSet, brings: bool | None) -> Iterator[Judgement]:  # noqa: FBT001  (of the nodes)
    """The operator brings the driver, and nobody the container runtime."""
    parts = {part: installs(release, part) for part in _PARTS}
    by_boot = nodes.user_data is UNKNOWN or "nvidia" in nodes.user_data.lower()
    lacks = (brings is False and not by_boot) or _boots_plain(nodes)
    if lacks and parts == {"driver": True, "toolkit": False}:
        yield Problem(
            NOWHERE,
            release.source,
            value_place(release, ("toolkit", "enabled")),
            f"{at_start(release.source.name)} installs the driver and not the toolkit, and images "
            f"of {nodes.source.name}, {nodes.ami}, have no container runtime of NVIDIA's.",
            "Set `toolkit.enabled: true`.",
        )


def _twice(release: Release, nodes: NodeSet, brings: bool | None) -> Iterator[Judgement]:  # noqa: FBT001  (of the nodes)
    parts = {part: installs(release, part) and not _keeps_off(nodes, part) for part in _PARTS}
    if None in parts.values() and brings is not False:
        what = f"whether {release.source.name} installs drivers on {nodes.source.name}"
        yield NotSeen(TWICE, release.source, what)
        return
    on = [part for part, installed in parts.items() if installed]
    if not on or brings is False:
        return
    if brings is None:
        if nodes.ami is UNKNOWN or not nodes.ami:
            yield NotSeen(TWICE, nodes.source, f"the AMI of {nodes.source.name}")
        return
    places = [value_place(release, (part, "enabled")) for part in on]
    wanted = " and ".join(f"`{part}.enabled: false`" for part in on)
    ami = f", {nodes.ami}," if nodes.ami else ""
    yield Problem(
        TWICE,
        release.source,
        places[0],
        f"{at_start(release.source.name)} installs the {' and the '.join(on)}, and the AMI of "
        f"{nodes.source.name}{ami} has {'it' if len(on) == 1 else 'them'}.",
        f"Set {wanted}.",
        # One alone goes well on some nodes: the driver's pod ends where it sees that there is one,
        # and a second toolkit may find the runtime configured as it does it.
        None if len(on) > 1 else "warning",
        edits=tuple(Edit("set", place, value=False) for place in places),
    )
