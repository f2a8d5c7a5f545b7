"""Which clusters an ApplicationSet of Argo CD is for, as far as it says.

Source: https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Cluster/,
November 2026.
"""

from __future__ import annotations

from typing import Any, Final

from eks_gpushare.inventory.values import at, items, pairs

_OF_EVERY_CLUSTER: Final = "argocd.argoproj.io/secret-type"
"""The label of every secret that a cluster's connection is kept in."""


def of_some_clusters(application_set: Any) -> bool:
    """Whether it chooses clusters by labels of their own, so that another may be for the others."""
    return any(map(_chooses, items(at(application_set, "spec", "generators"))))


def _chooses(generator: Any) -> bool:
    selector = at(generator, "clusters", "selector")
    labels = {key for key, _ in pairs(at(selector, "matchLabels"))}
    if at(selector, "matchExpressions") or labels - {_OF_EVERY_CLUSTER}:
        return True
    inner = (items(at(generator, kind, "generators")) for kind in ("matrix", "merge"))
    return any(_chooses(each) for listed in inner for each in listed)
