"""Fields of pods that Knative takes only where its features are switched on.

Source: https://knative.dev/docs/serving/configuration/feature-flags/ and
`validation/fieldmask.go` of knative/serving, November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import ConfigMap, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import requests_of
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.admission import REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_MAP: Final = "config-features"
_PREFIX: Final = "kubernetes.podspec-"
_EXAMPLE: Final = "_example"
"""What Knative's own manifest has alone, for somebody to add to."""
_FIELDS: Final = {
    "nodeSelector": "nodeselector",
    "tolerations": "tolerations",
    "affinity": "affinity",
    "runtimeClassName": "runtimeclassname",
    "schedulerName": "schedulername",
    "priorityClassName": "priorityclassname",
    "topologySpreadConstraints": "topologyspreadconstraints",
    "hostIPC": "hostipc",
}
"""What is off unless somebody switches it on."""
_MODES: Final = ("serving.kserve.io/deploymentMode", "serving.kserve.io/deploymentmode")
_OWN: Final = ("Serverless", "Knative")


@edge(REFUSED)
def features(inventory: Inventory) -> Iterator[Judgement]:
    """Of services on GPUs that Knative runs, by themselves or for KServe."""
    for cluster in inventory.clusters():
        maps = [each for each in inventory.of(ConfigMap, cluster) if _has_flags(each)]
        if len(maps) != 1 or maps[0].data is UNKNOWN or has_unknown(maps[0].data):
            continue
        for workload in inventory.of(Workload, cluster):
            if workload.spec is UNKNOWN or not any(requests_of(workload)):
                continue
            if _is_of_knative(workload, inventory, cluster):
                yield from _refused(maps[0], workload)


def _has_flags(given: ConfigMap) -> bool:
    return (
        given.name == _MAP
        and given.data is not UNKNOWN
        and any(str(key).startswith((_PREFIX, _EXAMPLE)) for key in given.data)
    )


def _is_of_knative(workload: Workload, inventory: Inventory, cluster: str) -> bool:
    value = value_of(workload)
    group = str(text(at(value, "apiVersion"))).partition("/")[0]
    if workload.kind == "Service":
        return group == "serving.knative.dev"
    if workload.kind != "InferenceService" or group != "serving.kserve.io":
        return False
    annotations = at(value, "metadata", "annotations")
    mode = next((found for key in _MODES if (found := at(annotations, key)) is not None), None)
    if mode is not None:
        return mode in _OWN
    settings = [
        str(each.data)
        for each in inventory.of(ConfigMap, cluster)
        if each.name == "inferenceservice-config"
    ]
    return not any("RawDeployment" in told or "Standard" in told for told in settings)


def _refused(flags: ConfigMap, workload: Workload) -> Iterator[Problem]:
    data: Any = flags.data
    off = [
        (field, f"{_PREFIX}{flag}")
        for field, flag in _FIELDS.items()
        if at(workload.spec, field)
        and str(text(data.get(f"{_PREFIX}{flag}"))).lower() in ("", "disabled")
    ]
    if off:
        field, flag = off[0]
        yield Problem(
            REFUSED,
            flags.source,
            (*(() if flags.source.path else ("data",)), *((flag,) if flag in data else ())),
            f"{at_start(flags.source.name)} does not enable {flag}, and {workload.source.name} has "
            f"{field}: Knative refuses its pods.",
            f"Write {' and '.join(f'{name}: enabled' for _, name in off)}.",
            "info" if {*data} == {_EXAMPLE} else None,
        )
