"""What becomes of pods that share GPUs by MPS where an edit reaches the MPS daemon of their node.

Each of the chart's DaemonSets has the checksum of the configuration, the one of the daemon too, and
its clients compute by the server that it has started (cmd/mps-control-daemon of
NVIDIA/k8s-device-plugin, 0.20.0). It sets the GPUs to EXCLUSIVE_PROCESS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.edits.compared import inputs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from eks_gpushare.program.recording import Resource

_RESTARTS = (
    "; on those of {pools} the MPS daemon {does} too, by which pods there compute, and NVIDIA does "
    "not say what becomes of them: drain these nodes first"
)
_COMES = (
    "; on those of {pools} the MPS daemon takes the GPUs for its clients alone: pods that use them "
    "without it end first, or those that come wait for them"
)


def with_clients(
    says: str, was: Resource | None, now: Resource | None, drained: Collection[str]
) -> str:
    """The words on a manager of GPUs, with what they mean under MPS.

    Args:
        says: The words without it.
        was: The manager before; None if there was none.
        now: The manager after; None if there is none.
        drained: Names of node groups and pools whose nodes go, with the pods on them.
    """
    before, after = (_pools(manager) for manager in (was, now))
    staying = {pool for pool in before if not any(name.endswith(f"-{pool}") for name in drained)}
    old, new = ({pool for pool in pools if pools[pool] == "mps"} for pools in (before, after))
    for pools, words in (
        (staying & old & new, _RESTARTS.replace("{does}", "restarts")),
        (staying & old - new, _RESTARTS.replace("{does}", "ends")),
        ((staying & new & {*before}) - old, _COMES),
    ):
        if pools:
            says += words.format(pools=" and ".join(sorted(pools)))
    return says


def _pools(manager: Resource | None) -> Mapping[str, str]:
    """The mode of each pool that a manager serves."""
    pools: Mapping[str, Any] = (inputs(manager).get("pools") or {}) if manager else {}
    return {name: str((pool.get("sharing") or {}).get("mode")) for name, pool in pools.items()}
