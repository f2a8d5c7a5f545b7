"""HAMi's device plugin: on nodes that have GPUs, and with no other beside it.

Source: `devicePlugin` of charts/hami/values.yaml in https://github.com/Project-HAMi/HAMi, 00160eb;
the selector was called nvidianodeSelector before. Nodes without its plugin are to its scheduler
nodes without GPUs: https://github.com/Project-HAMi/HAMi/issues/815.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import HAMI_CHART
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.edges.daemonsets import NO_PLUGIN
from eks_gpushare.inventory.edges.engines import (
    TWO_PLUGINS,
    is_applied,
    is_there,
    keeps_to_some,
)
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.nodes import declared_nodes
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.inventory.problem import Judgement

_SELECTOR, _FORMERLY = "nvidiaNodeSelector", "nvidianodeSelector"
_USUAL: Final = {"gpu": "on"}


@edge(NO_PLUGIN, TWO_PLUGINS)
def hami_reaches(inventory: Inventory) -> Iterator[Judgement]:
    """Nodes that are declared; of others somebody may have labelled some."""
    for cluster in inventory.clusters():
        declared = declared_nodes(inventory, cluster)
        kinds = [kind for kind in declared if not kind.serves_itself]
        others = [
            daemon
            for daemon in daemons(inventory, cluster)
            if daemon.role == "plugin" and daemon.is_on is True
        ]
        if not declared:
            yield from _beside(inventory.of(Release, cluster), others)
        for release in inventory.of(Release, cluster) if kinds else ():
            wanted = _wanted(release)
            found = [_fits(kind, wanted) for kind in kinds] if wanted else [None]
            if not any(each is not False for each in found):
                shown = " or ".join(
                    ", ".join(f"{key}={each}" for key, each in one.items()) for one in wanted
                )
                yield Problem(
                    NO_PLUGIN,
                    release.source,
                    value_place(release, ("devicePlugin", _SELECTOR)),
                    f"{at_start(release.source.name)} is for nodes with {shown}, and none of the "
                    "nodes with GPUs has that label: HAMi's device plugin runs on none of them.",
                    f"Give the nodes the label, or set `devicePlugin.{_SELECTOR}` to one that "
                    "they have.",
                    "warning",
                )
            for kind, fits in zip(kinds, found, strict=False):
                here = [daemon for daemon in others if fits and is_there(daemon, kind)]
                for daemon in here[:1]:
                    yield Problem(
                        TWO_PLUGINS,
                        daemon.source,
                        daemon.place,
                        f"{at_start(daemon.title)} and that of {release.source.name} both give out "
                        f"{GPU} of {kind.nodes.source.name}.",
                        "Leave NVIDIA's plugin out, or keep it off the nodes that HAMi's is for.",
                    )


def _beside(releases: Sequence[Release], others: Sequence[Daemon]) -> Iterator[Problem]:
    """HAMi's plugin and one of NVIDIA's, whatever nodes there are."""
    applied = [daemon for daemon in others if is_applied(daemon)]
    for release in filter(_gives_gpus, releases) if applied else ():
        own = pairs(at(release.values, "devicePlugin", _FORMERLY)) or pairs(_USUAL)
        if not any(keeps_to_some(each, own) for each in applied):
            yield Problem(
                TWO_PLUGINS,
                applied[0].source,
                applied[0].place,
                f"{at_start(applied[0].title)} and that of {release.source.name} both give out "
                f"{GPU}.",
                "Leave NVIDIA's plugin out, or keep it off the nodes with the label gpu=on.",
                "warning",
            )


def _gives_gpus(release: Release) -> bool:
    """Whether a release is HAMi's, with its plugin, which registers the name of NVIDIA's."""
    off = at(release.values, "devicePlugin", "enabled") not in (None, True)
    other_name = at(release.values, "resourceName") not in (None, GPU)
    return release.chart == HAMI_CHART and not off and not other_name and bool(release.name)


def _wanted(release: Release) -> Sequence[dict[str, Any]]:
    """Labels of the nodes that the plugin may be for; none where it is not there, or not known."""
    block = at(release.values, "devicePlugin")
    given = [at(block, key) for key in (_SELECTOR, _FORMERLY)]
    if not _gives_gpus(release) or has_unknown(given) or block is UNKNOWN:
        return ()
    own = [dict(pairs(each)) for each in given if pairs(each)]
    return [*own, _USUAL] if _USUAL not in own else own


def _fits(kind: NodeKind, wanted: Sequence[dict[str, Any]]) -> bool | None:
    """Whether nodes have one of several sets of labels; None where that is not known."""
    sure = None
    for labels in wanted:
        has = [(kind.label(key), str(text(value))) for key, value in labels.items()]
        if all(label == value for label, value in has):
            return True
        if not any(label is not UNKNOWN and label != value for label, value in has):
            sure = UNKNOWN
    return None if sure is UNKNOWN else False
