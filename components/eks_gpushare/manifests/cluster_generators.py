"""Which clusters an ApplicationSet of Argo CD is for, as far as it says.

Source: https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Cluster/,
November 2026.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.values import at, has_unknown, items, pairs
from eks_gpushare.manifests.application_sets import TEMPLATE

if TYPE_CHECKING:
    from eks_gpushare.manifests.document import Document

_OF_EVERY_CLUSTER: Final = "argocd.argoproj.io/secret-type"
"""The label of every secret that a cluster's connection is kept in."""
_OF_A_CLUSTER: Final = re.compile(r"\{\{-?\s*\.?(?:name|nameNormalized|server)\s*-?\}\}")


def of_some_clusters(application_set: Any) -> bool:
    """Whether it chooses clusters by labels of their own, so that another may be for the others."""
    return any(map(_chooses, items(at(application_set, "spec", "generators"))))


def clusters_chosen(document: Document) -> str:
    """Which those are of a set, in a text that another set has too where it is for the same.

    A set of which that is not certain has a text of its own.
    """
    spec = at(document.value, "spec")
    generators = items(at(spec, "generators"))
    where = [document.raw((*TEMPLATE, "destination", key)) or "" for key in ("name", "server")]
    chosen = [at(each, "clusters", "selector") for each in generators]
    alone = all({key for key, _ in pairs(each)} == {"clusters"} for each in generators)
    changed = at(spec, "templatePatch") or any(
        at(each, "clusters", "template") for each in generators
    )
    by_them = any(map(_OF_A_CLUSTER.fullmatch, where))
    if not alone or changed or not by_them or has_unknown(chosen):
        return f"clusters of {document.file}:{document.index}"
    return f"clusters by {json.dumps(chosen, sort_keys=True)}"


def _chooses(generator: Any) -> bool:
    selector = at(generator, "clusters", "selector")
    labels = {key for key, _ in pairs(at(selector, "matchLabels"))}
    if at(selector, "matchExpressions") or labels - {_OF_EVERY_CLUSTER}:
        return True
    inner = (items(at(generator, kind, "generators")) for kind in ("matrix", "merge"))
    return any(_chooses(each) for listed in inner for each in listed)
