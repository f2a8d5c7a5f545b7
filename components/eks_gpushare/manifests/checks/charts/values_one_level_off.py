"""Values that a chart reads a level deeper than they stand.

Sources, November 2026: `ollama.gpu` of values.yaml of https://github.com/otwld/ollama-helm;
https://github.com/open-webui/helm-charts/tree/main/charts/open-webui, of which that chart is a part
by the name ollama; `settings` of charts/karpenter/values.yaml of aws/karpenter-provider-aws, where
all of them stand since 1.0, below `settings.aws` none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.charts import OLLAMA, OPEN_WEBUI
from eks_gpushare.manifests.rules.chart_values import UNKNOWN_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

OF_GPU: Final = frozenset(("enabled", "draEnabled", "type", "number", "nvidiaResource", "mig"))
"""Keys of Ollama's chart, by which its block is known: others have a chart of that name too."""
_READ: Final[Mapping[str, tuple[str, ...]]] = {OLLAMA: (), OPEN_WEBUI: ("ollama",)}
"""Below what the values of Ollama's chart stand."""


_SETTINGS: Final = (
    *("batchMaxDuration", "batchIdleDuration", "clusterName", "clusterEndpoint", "featureGates"),
    *("interruptionQueue", "isolatedVPC", "reservedENIs", "vmMemoryOverheadPercent"),
)
"""What Karpenter is told, all below one key."""
_FIRST: Final = re.compile(r"v?[1-9][0-9]*\.")
"""How versions begin that have them there."""


@edge(UNKNOWN_VALUE)
def of_karpenter(inventory: Inventory) -> Iterator[Judgement]:
    """Settings of Karpenter beside those that it reads, in charts of a version that is known."""
    for release in inventory.of(Release):
        version = release.version
        if release.chart != "karpenter" or not isinstance(release.values, dict):
            continue
        if version is UNKNOWN or not _FIRST.match(version):
            continue
        for above in ((), ("settings", "aws")):
            for key in _SETTINGS:
                right = ("settings", key)
                if at(release.values, *above, key) is None:
                    continue
                if at(release.values, *right) is not None:
                    continue
                wrong = ".".join((*above, key))
                yield Problem(
                    UNKNOWN_VALUE,
                    release.source,
                    value_place(release, (*above, key)),
                    f"{wrong} is no value of karpenter {version}: no template reads it.",
                    f"The chart reads {'.'.join(right)}.",
                )


@edge(UNKNOWN_VALUE)
def one_level_off(inventory: Inventory) -> Iterator[Judgement]:
    """The GPU of Ollama, which its chart reads below its own name."""
    for release in inventory.of(Release):
        above = _READ.get(release.chart)
        if above is None or not isinstance(release.values, dict):
            continue
        right = (*above, "ollama", "gpu")
        for wrong in ((*above, "gpu"), (*above, "ollama", "ollama", "gpu")):
            given = at(release.values, *wrong)
            if not isinstance(given, dict) or not given or not set(given) <= OF_GPU:
                continue
            if given.get("enabled") is False:
                continue  # as it is by default
            if at(release.values, *right) is None:
                yield Problem(
                    UNKNOWN_VALUE,
                    release.source,
                    value_place(release, wrong),
                    f"{'.'.join(wrong)} is no value of {release.chart}: no template reads it, and "
                    "Ollama runs on the CPU.",
                    f"The chart reads {'.'.join(right)}.",
                    "warning",
                )
