"""NodeOverlays beside a Karpenter that is not told to read them.

Source: `settings.featureGates` of charts/karpenter/values.yaml of aws/karpenter-provider-aws, in
which nodeOverlay is false in each release up to that of `GATES_READ`, and its deployment.yaml.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.chart_releases import parse_version
from eks_gpushare.catalog.karpenter_releases import GATES_READ, SINCE_OVERLAYS, has_gate
from eks_gpushare.documents.go_bool import FALSE
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import Overlay, Release
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, text
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.karpenter_versions import OVERLAY_OFF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_CHART: Final = "karpenter"
_GATE: Final = "nodeOverlay"


@edge(OVERLAY_OFF)
def gates(inventory: Inventory) -> Iterator[Judgement]:
    """Where Karpenter's own values are here, of each that is installed."""
    for cluster in inventory.clusters():
        overlays = [
            each
            for each in inventory.of(Overlay, cluster)
            if isinstance(each.source.document, Document) and not is_guide(each.source.file)
        ]
        installed = [each for each in inventory.of(Release, cluster) if each.chart == _CHART]
        if not installed or any(map(_may_read, installed)):
            continue
        release = installed[0]
        old = has_gate(_GATE, str(release.version)) is False
        fix = f"Install {SINCE_OVERLAYS} or later, and set" if old else "Set"
        why = f"is {release.version}, which has none" if old else f"has the gate {_GATE} off"
        for overlay in overlays:
            yield Problem(
                OVERLAY_OFF,
                overlay.source,
                ("kind",),
                f"Karpenter does not read {overlay.source.name}: {release.source.name} {why}.",
                f"{fix} settings.featureGates.{_GATE}: true in its values.",
            )


def _may_read(release: Release) -> bool:
    values, version = release.values, str(release.version)
    if has_gate(_GATE, version) is False:
        return False
    told = at(values, "settings", "featureGates", _GATE)
    own = at(values, "controller")  # its variables go over those of the chart
    if told is UNKNOWN or "FEATURE_GATES" in str(own) or at(own, "envFrom"):
        return True
    release_of, newest = parse_version(version), parse_version(GATES_READ)
    is_newer = release_of is None or newest is None or release_of > newest
    return is_newer if told is None else text(told) not in FALSE
