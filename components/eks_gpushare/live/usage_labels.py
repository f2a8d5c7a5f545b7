"""Names of labels as kube-state-metrics writes them, or short ones of recording rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.live.nodes import CAPACITY_LABELS, TYPE_LABEL
from eks_gpushare.sharing.labels import POOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def sanitized(name: str) -> str:
    """A name as kube-state-metrics writes it in values of its label `resource`."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def _metric_label(name: str) -> str:
    """A label of a node as kube-state-metrics writes it, in snake case."""
    return "label_" + re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", sanitized(name)).lower()


POOL: Final = ("pool", _metric_label(POOL_LABEL))
TYPE: Final = ("instance_type", _metric_label(TYPE_LABEL))
CAPACITY: Final = ("capacity_type", *map(_metric_label, CAPACITY_LABELS))
NAMESPACE: Final = ("namespace", "exported_namespace")


def first(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """The value of the first of some labels that a series has; empty without one."""
    return next((labels[name] for name in names if labels.get(name)), "")
