"""Values of charts that their programs know only some of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, PLUGIN_CHART, chart_of
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.readers.device_plugin import CHOICES
from eks_gpushare.lint.readers.words import close_to, shown
from eks_gpushare.lint.rules.chart_values import WRONG_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_PLACES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    PLUGIN_CHART: (("migStrategy",), ("deviceListStrategy",), ("deviceIDStrategy",)),
    OPERATOR_CHART: (("mig", "strategy"),),
}
"""Where they stand. What the templates make of them are variables and an object of the operator:
https://github.com/NVIDIA/k8s-device-plugin/tree/v0.20.0/deployments/helm and
https://github.com/NVIDIA/gpu-operator/tree/v26.7.0/deployments/gpu-operator."""
_OF_OPERATOR: Final = "migStrategy"


@edge(WRONG_TYPE)
def choices_are_known(inventory: Inventory) -> Iterator[Judgement]:
    """Of the device plugin, which stops at another word, and of the operator's object."""
    for release in inventory.of(Release):
        for place in _PLACES.get(chart_of(release.chart) or "", ()):
            given = at(release.values, *place)
            known = CHOICES.get(place[-1], CHOICES[_OF_OPERATOR])
            # A list of ways stands in one text, with commas; what is no text is told elsewhere.
            several = place[-1] == "deviceListStrategy"
            if not isinstance(given, str) or not given:
                continue
            words = [each.strip() for each in given.split(",")] if several else [given]
            if all(word in known for word in words):
                continue
            path = value_place(release, place)
            message = f"{'.'.join(place)} is {shown(given)}, not one of {', '.join(known)}."
            close = close_to(given, known) if len(words) == 1 else None
            fix = f"Write {close}." if close else "Write one of these."
            edits = (Edit("set", path, close),) if close else ()
            yield Problem(WRONG_TYPE, release.source, path, message, fix, None, edits)
