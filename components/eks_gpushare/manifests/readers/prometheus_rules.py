"""Rules as Prometheus itself takes them: in files of their own, and in values of its chart.

Sources, November 2026: https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/
and `serverFiles` in values.yaml of charts/prometheus in prometheus-community/helm-charts.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import RULES, Pointer
from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.manifests.document import Read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document

SERVER_FILES: Final = "serverFiles"
_ABOVE: Final[tuple[FieldPath, ...]] = ((SERVER_FILES,), ("prometheus", SERVER_FILES))


class PrometheusRulesReader:
    """Knows them by their groups: each rule has an expression, and is of an alert or a record."""

    name = "Prometheus rules"

    def matches(self, document: Document) -> bool:
        """Whether there are some."""
        return next(_places(document.value), None) is not None

    def read(self, document: Document) -> Read:
        """The rules of each file."""
        file = posixpath.basename(document.file)
        found = []
        for place in _places(document.value):
            source = Source(f"the file of rules {place[-1] if place else file}", document, place)
            spec = at(document.value, *place)
            found.append(Pointer(source=source, kind=RULES, name=file, spec=spec))
        return Read(found)


def _places(value: Any) -> Iterator[FieldPath]:
    if not isinstance(value, dict) or "apiVersion" in value:
        return
    if _is_rules(value):
        yield ()
    for above in _ABOVE:
        for name, given in pairs(at(value, *above)):
            if _is_rules(given):
                yield *above, name


def _is_rules(value: Any) -> bool:
    return any(
        isinstance(at(rule, "expr"), str) and (at(rule, "alert") or at(rule, "record"))
        for group in items(at(value, "groups"))
        for rule in items(at(group, "rules"))
    )
