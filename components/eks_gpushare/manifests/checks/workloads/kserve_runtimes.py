"""Runtimes of KServe that models name, where the only ones of that name are of other namespaces.

Source: `GetServingRuntime` of pkg/controller/v1beta1/inferenceservice/utils/utils.go of
kserve/kserve, August 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import INFERENCE_SERVICE, Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, may_be_same
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.two_numbers import NO_SUCH_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_PLACE: Final = ("spec", "predictor", "model", "runtime")
_OF_ALL: Final = "ClusterServingRuntime"
_KINDS: Final = ("ServingRuntime", _OF_ALL)


@edge(NO_SUCH_RUNTIME)
def runtimes(inventory: Inventory) -> Iterator[Judgement]:
    """One of that name that is nowhere here may be in the cluster, and is not judged."""
    for cluster in inventory.clusters():
        every = [each for each in inventory.of(Workload, cluster) if each.kind in _KINDS]
        for model in inventory.of(Pointer, cluster) if every else ():
            name = at(model.spec, *_PLACE[1:])
            if model.kind != INFERENCE_SERVICE or not isinstance(name, str):
                continue
            alike = [each for each in every if may_be_same(each.name, name)]
            may_be_its = (
                each.name is UNKNOWN
                or each.kind == _OF_ALL
                or may_be_same(each.namespace, model.namespace)
                for each in alike
            )
            if alike and not any(may_be_its):
                yield Problem(
                    NO_SUCH_RUNTIME,
                    model.source,
                    _PLACE,
                    f"{at_start(model.source.name)} of the namespace {model.namespace} names the "
                    f"runtime {name}, and {alike[0].source.name} is of {alike[0].namespace}.",
                    f"Make it a {_OF_ALL}, or put one into the namespace {model.namespace}.",
                )
