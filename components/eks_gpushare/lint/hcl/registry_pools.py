"""The NodePools that `aws-ia/eks-data-addons` makes of values, by a chart of its own.

From `karpenter-resources.tf` and `helm-charts/karpenter-resources/templates/node-pool.yaml` of
aws-ia/terraform-aws-eks-data-addons v1.38.0 (ea3c83d), November 2026. Of the class of their nodes,
whose defaults go by the version, nothing is told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.lint.hcl.function_texts import decode
from eks_gpushare.lint.hcl.registry_inputs import each_of
from eks_gpushare.lint.hcl.values import HclObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.lint.hcl.blocks import MadeResource

_DISRUPTION = ("consolidationPolicy", "consolidateAfter", "budgets")
_INPUT = "karpenter_resources_helm_config"


def karpenter_resources(call: MadeResource) -> Iterator[MadeResource]:
    """A NodePool for each of the releases that a call asks for."""
    config = call.values.get(_INPUT)
    if call.values.get("enable_karpenter_resources") in (False, None) or config is None:
        return
    found = each_of(config) if isinstance(config, dict) else [("karpenter", UNKNOWN, None)]
    for key, given, place in found:
        values = _values(at(given, "values"))
        if at(given, "chart") in (None, UNKNOWN) and at(values, "nodePool", "enabled") is not False:
            yield replace(
                call,
                address=f'{call.address}.helm_release.karpenter_resources["{key}"]',
                kind="kubernetes_manifest",
                values=HclObject({"manifest": _pool(values)}),
                place=place or call.place,
                references={},
            )


def _values(given: Any) -> Any:
    """The values of a release, where they are one text; unknown otherwise."""
    texts = items(given)
    return decode(texts[0]) if len(texts) == 1 and isinstance(texts[0], str) else UNKNOWN


def _pool(values: Any) -> HclObject:
    name = at(values, "name") or UNKNOWN
    pool = at(values, "nodePool")
    owner = HclObject({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": name})
    inner = HclObject({"nodeClassRef": owner, "requirements": at(pool, "requirements")})
    if taints := at(pool, "taints"):
        inner["taints"] = taints
    given = at(pool, "disruption")
    spec = {
        "template": HclObject(
            {"metadata": HclObject({"labels": _labels(pool, name)}), "spec": inner}
        ),
        # Below these the chart has defaults of its own.
        "disruption": HclObject({key: at(given, key) or UNKNOWN for key in _DISRUPTION}),
        "limits": HclObject({"cpu": UNKNOWN, **dict(pairs(at(pool, "limits")))}),
    }
    head = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    return HclObject({**head, "metadata": HclObject({"name": name}), "spec": HclObject(spec)})


def _labels(pool: Any, name: Any) -> Any:
    """Those of the chart, and what is given as a list of mappings."""
    given = at(pool, "labels")
    if not isinstance(given, list | dict | None):
        return UNKNOWN
    labels = HclObject({"NodePool": name, "NodeGroupType": name})
    for each in given if isinstance(given, list) else [given]:
        labels.update(pairs(each))
    return labels
