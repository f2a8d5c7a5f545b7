"""Of whom metrics of GPUs are, as text: a pod, a MIG instance, a GPU, or nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.text import wrapped
from eks_gpushare.sharing.metrics import QUANTITIES
from eks_gpushare.sharing.tenants import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LEVELS = {
    "pod": "of each pod",
    "instance": "of the MIG instance",
    "device": "of the GPU",
    "nothing": "not measured",
}


def measured_lines(measured: Mapping[str, Any], width: int) -> Iterator[str]:
    """A title, and some lines for each kind of share, of at most this width.

    Args:
        measured: Kinds of shares by pool, as the outputs of `GpuMetrics` show them.
        width: Columns.
    """
    yield "Of whom metrics are"
    for pool, shares in measured.items():
        for share in shares:
            levels: dict[str, list[str]] = {}
            for quantity in QUANTITIES:
                levels.setdefault(share[quantity], []).append(quantity)
            told = "; ".join(
                f"{', '.join(quantities)} {_LEVELS[level]}" for level, quantities in levels.items()
            )
            resource = share["resource"].removeprefix(PREFIX)
            yield from wrapped(f"{pool}, {resource}: {told}", width, "    ", "  ")
            if share["why"] and len(levels) > 1:
                yield from wrapped(share["why"], width, "      ", "    ")
