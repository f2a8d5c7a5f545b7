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
from eks_gpushare.lint.hcl.registry_inputs import each_of
from eks_gpushare.lint.hcl.values import HclList, HclObject
from eks_gpushare.manifests.texts import read_texts

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
    if len(texts) != 1 or not isinstance(texts[0], str):
        return UNKNOWN
    documents = read_texts(texts[0], "values.yaml").documents
    return documents[0].value if len(documents) == 1 else UNKNOWN


def _pool(values: Any) -> HclObject:
    name = at(values, "name") or UNKNOWN
    pool = at(values, "nodePool")
    inner = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": name},
        "requirements": at(pool, "requirements"),
    }
    if taints := at(pool, "taints"):
        inner["taints"] = taints
    given = at(pool, "disruption")
    spec = {
        "template": {"metadata": {"labels": _labels(pool, name)}, "spec": inner},
        # Below these the chart has defaults of its own.
        "disruption": {key: at(given, key) or UNKNOWN for key in _DISRUPTION},
        "limits": {"cpu": UNKNOWN, **dict(pairs(at(pool, "limits")))},
    }
    head = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}}
    return HclObject({key: _hcl(each) for key, each in {**head, "spec": spec}.items()})


def _labels(pool: Any, name: Any) -> Any:
    """Those of the chart, and what is given as a list of mappings."""
    given = at(pool, "labels")
    if not isinstance(given, list | dict | None):
        return UNKNOWN
    labels = {"NodePool": name, "NodeGroupType": name}
    for each in given if isinstance(given, list) else [given]:
        labels |= dict(pairs(each))
    return labels


def _hcl(value: Any) -> Any:
    if isinstance(value, dict):
        return HclObject({key: _hcl(inner) for key, inner in value.items()})
    return HclList(map(_hcl, value)) if isinstance(value, list) else value
