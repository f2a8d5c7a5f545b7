"""Servers of Prometheus that triggers of KEDA ask, by the names that their charts give them.

Source: `kube-prometheus-stack.fullname` of charts/kube-prometheus-stack/templates/_helpers.tpl in
prometheus-community/helm-charts (November 2026), of at most 26 characters; the Service is that with
`-prometheus`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.items import Pointer, Release
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.charts import PROMETHEUS
from eks_gpushare.manifests.checks.metrics.scraping import installed_as

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe

TRIGGERS: Final = rule_of("GPU1194")
_OF_SERVICE: Final = "-prometheus"
_LONGEST: Final = 26
_ADDRESS: Final = re.compile(
    r"https?://([a-z0-9-]*kube-prometheus[a-z0-9-]*-prometheus)\.([a-z0-9-]+)"
    r"(?:\.svc(?:\.cluster\.local)?)?\.?(?::[0-9]+)?(?:/.*)?"
)
"""Of a Service that is called as the chart calls it, in a namespace of the cluster."""


@edge(TRIGGERS)
def servers(inventory: Inventory) -> Iterator[Judgement]:
    """Of those in a namespace into which one release of the chart goes."""
    for cluster in inventory.clusters():
        releases = [each for each in inventory.of(Release, cluster) if each.chart == PROMETHEUS]
        pointers = inventory.of(Pointer, cluster) if releases else ()
        others = {each.name for each in pointers if each.kind == "Service"}
        scalers = [each for each in pointers if each.kind == "ScaledObject"]
        for scaler in scalers if UNKNOWN not in others else ():
            for index, trigger in enumerate(items(at(scaler.spec, "triggers"))):
                found = _ADDRESS.fullmatch(str(at(trigger, "metadata", "serverAddress")))
                if found is None or found[1] in others:
                    continue
                near = [each for each in releases if each.namespace in (UNKNOWN, found[2])]
                name = _full_name(near[0]) if len(near) == 1 else UNKNOWN
                if name not in (UNKNOWN, found[1]):
                    yield Problem(
                        TRIGGERS,
                        scaler.source,
                        ("spec", "triggers", index, "metadata", "serverAddress"),
                        f"Trigger {index} of {scaler.source.name} asks {found[1]}, and "
                        f"{near[0].source.name}, the one in {found[2]}, calls its server {name}: "
                        "KEDA finds no such host.",
                        f"Write {name} in the address.",
                    )


def _full_name(release: Release) -> Maybe[str]:
    """What a release calls the Service of its server; not known where its values may say."""
    values, own = release.values, installed_as(release)
    whole, part = at(values, "fullnameOverride"), at(values, "nameOverride")
    told = (values, release.namespace, whole, part)
    if not own or UNKNOWN in told or at(values, "prometheus", "enabled") not in (None, True):
        return UNKNOWN
    inner = str(part or PROMETHEUS)
    made = own if inner in own else f"{own}-{inner}"
    return f"{str(whole or made)[:_LONGEST].removesuffix('-')}{_OF_SERVICE}"
