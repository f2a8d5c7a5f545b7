"""Models of KServe that are to go to zero without what brings them there.

Source: https://github.com/kserve/kserve/issues/3514, and `createHPA` of
pkg/controller/v1beta1/inferenceservice/reconcilers/hpa/hpa_reconciler.go of kserve/kserve, which
writes at least 1; Standard is what RawDeployment is called since 0.16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import requests_of
from eks_gpushare.inventory.values import at, has_unknown
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.two_numbers import NEVER_ZERO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_MODE: Final = "serving.kserve.io/deploymentMode"
_SCALER: Final = "serving.kserve.io/autoscalerClass"
_LEAST: Final = ("spec", "predictor", "minReplicas")


@edge(NEVER_ZERO)
def zero(inventory: Inventory) -> Iterator[Judgement]:
    """Of predictors with GPUs whose mode is written at them."""
    for workload in inventory.of(Workload):
        value = value_of(workload)
        told = at(value, "metadata", "annotations")
        least = at(value, *_LEAST)
        if workload.kind != "InferenceService" or workload.spec_path[:2] != _LEAST[:2]:
            continue
        if has_unknown([told, least]) or str(least) != "0" or not [*requests_of(workload)]:
            continue
        mode = at(told, _MODE)
        if mode in ("RawDeployment", "Standard") and at(told, _SCALER) in (None, "hpa"):
            yield Problem(
                NEVER_ZERO,
                workload.source,
                _LEAST,
                f"{at_start(workload.source.name)} has minReplicas 0 with {_MODE}: {mode}, and "
                "KServe keeps one pod.",
                f"Serve it by Knative, or by KEDA with {_SCALER}: keda.",
            )
