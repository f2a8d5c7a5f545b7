"""Replicas that Argo CD writes again and an autoscaler sets.

Source: https://argo-cd.readthedocs.io/en/stable/user-guide/diffing/, November 2026: of a field that
`ignoreDifferences` names it sees no difference, and heals nothing.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import ConfigMap, Pointer
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.values import at, has_unknown, holds, pairs
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.metrics.scaling import scalers_of, scales
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.two_numbers import PUT_BACK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item, Workload
    from eks_gpushare.inventory.problem import Judgement

_IGNORED: Final = "resource.customizations.ignoreDifferences."
_REPLICAS: Final = ("spec", "replicas")


@edge(PUT_BACK)
def replicas(inventory: Inventory) -> Iterator[Judgement]:
    """Of applications that heal themselves, and files in the one folder that they are made of."""
    if any(map(_ignores_them, inventory.items)):
        return
    healing = [each for each in inventory.of(Pointer) if each.kind == "Application"]
    for cluster in inventory.clusters():
        scalers = scalers_of(inventory, cluster)
        for workload, _ in gpu_workloads(inventory, cluster) if healing else ():
            value = value_of(workload)
            told = holds(value, *_REPLICAS) and not is_guide(workload.source.file)
            scaling = [each.source.name for each in scalers(workload) if scales(each, workload)]
            apps = [each.source.name for each in healing if _makes(each.spec, workload)]
            if told and scaling and apps:
                yield Problem(
                    PUT_BACK,
                    workload.source,
                    _REPLICAS,
                    f"{at_start(workload.source.name)} has {at(value, *_REPLICAS)} replicas "
                    f"written, which {' and '.join(apps)} heals to, and {' and '.join(scaling)} "
                    "scales it.",
                    "Leave replicas out, or name /spec/replicas under ignoreDifferences.",
                )


def _ignores_them(item: Item) -> bool:
    """Whether it configures Argo CD so that it leaves replicas of all alone.

    https://argo-cd.readthedocs.io/en/stable/user-guide/diffing/#system-level-configuration.
    """
    told: Any = None
    if isinstance(item, ConfigMap) and item.name == "argocd-cm":
        told = item.data
    elif isinstance(item, Pointer) and item.kind == "Application":  # which installs it
        of_helm = at(item.spec, "source", "helm")
        values = at(of_helm, "valuesObject") or at(of_helm, "values")
        return _IGNORED in str(values) and "replicas" in str(values)
    return any(str(key).startswith(_IGNORED) and "replicas" in str(v) for key, v in pairs(told))


def _makes(spec: Any, workload: Workload) -> bool:
    """Whether an application heals what is in the folder of a file."""
    folder = at(spec, "source", "path")
    if at(spec, "syncPolicy", "automated", "selfHeal") is not True or not isinstance(folder, str):
        return False
    if has_unknown(spec) or "replicas" in str(at(spec, "ignoreDifferences")):
        return False
    named = posixpath.normpath(folder).strip("/")
    file = f"/{posixpath.normpath(workload.source.file)}"
    return posixpath.dirname(file).endswith(f"/{named}")
