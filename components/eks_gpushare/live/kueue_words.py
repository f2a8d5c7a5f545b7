"""What Kueue says of pods that it holds back, and of its queues.

Source: `apis/kueue/v1beta2/workload_types.go` of kubernetes-sigs/kueue, v0.16.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.values import at
from eks_gpushare.live.pods import condition

if TYPE_CHECKING:
    from eks_gpushare.live.pods import Object

GATE: Final = "kueue.x-k8s.io/admission"
"""The scheduling gate of pods that wait in a queue."""
_TELL: Final = (("Evicted", "True"), ("QuotaReserved", "False"), ("Admitted", "False"))
"""Conditions of a Workload that say why it is not admitted, by the status at which they do."""


def words_of(workload: Object) -> str:
    """Why a Workload is not admitted; empty where Kueue has not said why."""
    for kind, status in _TELL:
        found = condition(workload, kind)
        if at(found, "status") == status and at(found, "message"):
            return str(at(found, "message"))
    return ""
