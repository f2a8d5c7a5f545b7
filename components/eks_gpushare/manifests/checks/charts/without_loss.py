"""Values that no template reads, and that nothing is lost by: a note is enough.

They ask for what happens anyway, or are of a chart within that is not installed. Sources: values
and Chart.yaml of deployments/gpu-operator of NVIDIA/gpu-operator at a22dbf67, where the validator
and the operator have no switch, and of deployments/helm/nvidia-device-plugin of
NVIDIA/k8s-device-plugin 0.20.0.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import NFD_CHART, OPERATOR_CHART, PLUGIN_CHART
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.readers.subcharts import Subchart
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.chart_keys import Place

_NOTHING: Final[tuple[Any, ...]] = ("", None, {}, [])
"""As a copy of the values of another version has them, of what it could be given."""
_ITSELF: Final = ("enabled",)
"""Of a chart that is installed."""
_ALWAYS: Final[Mapping[str, Mapping[Place, Any]]] = {
    OPERATOR_CHART: {
        ("validator", "enabled"): True,
        ("operator", "enabled"): True,
        # As daemonsets.tolerations has them by default.
        ("tolerations",): [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
    },
}
"""What there is whatever the values say, by the value that asks for it in vain."""
_BROUGHT: Final = {
    OPERATOR_CHART: Subchart(NFD_CHART, NFD_CHART, UNKNOWN, (("nfd", "enabled"),), ()),
    PLUGIN_CHART: Subchart(
        *("nfd", NFD_CHART, UNKNOWN, (("nfd", "enabled"), ("gfd", "enabled")), ()),
        defaults=MappingProxyType({"gfd": {"enabled": False}}),
    ),
}
"""The chart that one brings along, with what switches it on."""


def is_without_loss(chart: str, values: Mapping[str, Any], place: Place) -> bool:
    """Whether a value that no template reads would change nothing if one did.

    Args:
        chart: The chart's name.
        values: All values that it is given.
        place: Where that one stands.
    """
    given = at(values, *place)
    if given in _NOTHING or (place == _ITSELF and given is True):
        return True
    asked = _ALWAYS.get(chart, {}).get(place)
    if asked is not None and given == asked:
        return True
    brought = _BROUGHT.get(chart)
    if brought is None or place[:1] != (brought.key,):
        return False
    return brought.is_on(values) is False
