"""Where Karpenter's custom resource definitions come from: a chart beside the controller's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import versions
from eks_gpushare.sharing.charts import release_source

if TYPE_CHECKING:
    from eks_gpushare.config.environment import Chart

_BESIDE = "-crd"


def crd_source(chart: Chart, controller: Chart) -> dict[str, Any]:
    """Where the Release of the definitions takes its chart from.

    Both have one version. A mirror of one is taken for a mirror of both, since the publisher has
    them side by side: `oci://mirror/karpenter/karpenter` and `oci://mirror/karpenter/karpenter-crd`.
    A chart on disk says nothing of where the other one is.

    Args:
        chart: What the user changes about the chart of the definitions.
        controller: What the user changes about the controller's chart.
    """
    default = versions.KARPENTER_CRDS
    mirror = controller.repository
    if mirror is not None and mirror.startswith("oci://"):
        mirror = f"{mirror.rstrip('/')}{_BESIDE}"
    return release_source(
        chart,
        default._replace(
            version=controller.version or default.version,
            repository=mirror or default.repository,
        ),
    )
