"""Whether what the chart of the DRA driver brings has nodes, by the affinities that are its own.

Source: values.yaml of deployments/helm/nvidia-dra-driver-gpu in NVIDIA/k8s-dra-driver-gpu from
v25.3.0 to v25.12.0; what came after only prefers nodes of a control plane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_releases import parse_version
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.edges.daemonsets import CLAIM_DRIVERS
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.nodes import OF_CONTROL_PLANES, gpu_nodes, labels_itself
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.labels import PRESENT_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

NO_NODE: Final = Rule(
    "GPU1282",
    "error",
    "What the chart of the DRA driver brings has nodes that it may run on.",
    "Its controller is for nodes of a control plane, which EKS shows none of, and stays Pending; "
    "its plugin is for nodes labelled as ones with GPUs, and without it there is nothing to claim.",
    "https://github.com/NVIDIA/k8s-dra-driver-gpu/blob/v25.12.0/deployments/helm/nvidia-dra-driver-gpu/values.yaml",
)
_CONTROLLER: Final = ("controller", "affinity")
_PLUGIN: Final = ("kubeletPlugin", "affinity")
_YEAR: Final = 25
"""Of the versions that have these affinities."""


@edge(NO_NODE)
def claim_charts(inventory: Inventory) -> Iterator[Judgement]:
    """Of releases whose values and version are known, beside nodes of EKS."""
    for cluster in inventory.clusters():
        if not any(each.provisioner != "byHand" for each in inventory.of(NodeSet, cluster)):
            continue
        for release in inventory.of(Release, cluster):
            version = parse_version(str(release.version).removeprefix("v"))
            of_year = version is not None and version[0] == _YEAR
            if release.chart in CLAIM_DRIVERS and of_year and isinstance(release.values, dict):
                yield from _controller(release)
                yield from _plugin(inventory, release)


def _controller(release: Release) -> Iterator[Problem]:
    domains = at(release.values, "resources", "computeDomains", "enabled")
    terms = items(required_terms(at(release.values, "controller")))
    bound = bool(terms) and all(
        any(at(each, "key") in OF_CONTROL_PLANES for each in items(at(term, "matchExpressions")))
        for term in terms
    )
    if domains in (None, True) and (bound or not _is_given(release, _CONTROLLER)):
        left = "gives its controller an" if bound else "leaves its controller the chart's"
        yield Problem(
            NO_NODE,
            release.source,
            value_place(release, _CONTROLLER),
            f"{at_start(release.source.name)} {left} affinity to nodes of a control plane, and EKS "
            "has none: it stays Pending.",
            "Write `controller: {affinity: null}`.",
        )


def _is_given(release: Release, place: tuple[str, str]) -> bool:
    """Whether somebody says something of it, also that there is none."""
    above, key = place
    given: Any = at(release.values, above)
    return given is not None and not (isinstance(given, dict) and key not in given)


def _plugin(inventory: Inventory, release: Release) -> Iterator[Problem]:
    gives = at(release.values, "resources", "gpus", "enabled") in (None, True)
    finding = ("nfd", "discovery", "plugin")
    found = any(each.role in finding for each in daemons(inventory, release.cluster))
    if not gives or found or _is_given(release, _PLUGIN):
        return
    for kind in gpu_nodes(inventory, release.cluster):
        # What labels them may be elsewhere, unless they are declared with labels of their own.
        bare = kind.is_discovered(PRESENT_LABEL) and labels_itself(kind.nodes) is False
        if bare and not kind.serves_itself:
            yield Problem(
                NO_NODE,
                release.source,
                value_place(release, _PLUGIN),
                f"{at_start(release.source.name)} brings its plugin to nodes with the label "
                f"{PRESENT_LABEL} or one of NFD, and nothing here gives {kind.nodes.source.name} "
                "one.",
                f"Give the nodes {PRESENT_LABEL}=true, or install NFD.",
                "warning",
            )
            return
