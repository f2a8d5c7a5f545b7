"""What asks Prometheus for metrics: autoscalers, alerts and what is recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import RULES, ConfigMap, Pointer, Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.manifests.charts import PROMETHEUS, PROMETHEUS_ADAPTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item

_OR: Final = re.compile(r"\bor\b")
"""Of two metrics one may be there."""
_IS_RULES: Final = re.compile(r"^\s*-?\s*(?:alert|record):", re.MULTILINE)
_COMMENT: Final = re.compile(r"#.*")
_GROUPS: Final = (("additionalPrometheusRulesMap",), ("additionalPrometheusRules",))
"""Rules among the values of kube-prometheus-stack, by a name or as a list."""
_RULES: Final[dict[str, FieldPath]] = {"PrometheusRule": ("spec",), RULES: ()}
"""Objects that have groups of rules, and where."""


def queries(inventory: Inventory, cluster: str) -> Iterator[tuple[Item, FieldPath, str]]:
    """What autoscalers ask Prometheus for: by KEDA, or by the adapter of Prometheus."""
    for each in inventory.of(Pointer, cluster):
        triggers = items(at(each.spec, "triggers")) if each.kind == "ScaledObject" else []
        for index, trigger in enumerate(triggers):
            query = at(trigger, "metadata", "query")
            if isinstance(query, str):
                yield each, ("spec", "triggers", index, "metadata", "query"), query
    for release in inventory.of(Release, cluster):
        rules = items(at(release.values, "rules", "custom"))
        for index, rule in enumerate(rules if release.chart == PROMETHEUS_ADAPTER else []):
            query = at(rule, "seriesQuery")
            if isinstance(query, str):
                place = value_place(release, ("rules", "custom"))
                yield release, (*place, index, "seriesQuery"), query
    for config in inventory.of(ConfigMap, cluster):
        for key, given in pairs(config.data):
            if isinstance(given, str) and "seriesQuery" in given:
                yield config, ("data", key), given


def rules_of(inventory: Inventory, cluster: str) -> Iterator[tuple[Item, FieldPath, str, str]]:
    """What alerts and recorded metrics are made of, with what an alert is called.

    Sources, November 2026: PrometheusRule in
    https://prometheus-operator.dev/docs/api-reference/api/; values.yaml of kube-prometheus-stack.
    """
    for each in inventory.of(Pointer, cluster):
        if each.kind in _RULES:
            yield from ((each, *found) for found in _expressions(each.spec, _RULES[each.kind]))
    for release in inventory.of(Release, cluster):
        for path in _GROUPS if release.chart == PROMETHEUS else ():
            found = at(release.values, *path)
            named = pairs(found) if isinstance(found, dict) else enumerate(items(found))
            for key, given in named:
                place = (*value_place(release, path), key)
                yield from ((release, *one) for one in _expressions(given, place))
    for config in inventory.of(ConfigMap, cluster):
        for key, given in pairs(config.data):
            if isinstance(given, str) and _IS_RULES.search(given):
                yield config, ("data", key), _COMMENT.sub("", given), ""


def _expressions(given: Any, above: FieldPath) -> Iterator[tuple[FieldPath, str, str]]:
    for number, group in enumerate(items(at(given, "groups"))):
        for index, rule in enumerate(items(at(group, "rules"))):
            expr = at(rule, "expr")
            if isinstance(expr, str) and not _OR.search(expr):
                place = (*above, "groups", number, "rules", index, "expr")
                yield place, _COMMENT.sub("", expr), _called(at(rule, "alert"))


def _called(alert: Any) -> str:
    if isinstance(alert, str):
        return f"the alert {alert}" if alert else ""
    return "" if alert is None else "an alert"
