"""What of MIG a run does not prove: what the simulated driver knows no better than the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_gpushare_lab.simulated_node.gpus import of_node
from eks_gpushare_lab.simulated_node.hardware import hardware_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare_lab.install.nodes import LabNode
    from eks_gpushare_lab.session import Session

_SURE = "verified"
_MIG = "nvidia.com/mig-"


@dataclass(frozen=True, slots=True)
class UnprovenMig:
    """A board with MIG whose table of profiles and placements nobody has published."""

    board: MigModel
    """The board, with how sure its table is."""
    instance_types: tuple[str, ...]
    """Instance types of the nodes that have it."""
    pools: tuple[str, ...]
    """Their pools."""

    def __str__(self) -> str:
        """The line that a report has of it."""
        pools = f"pool{'s' if len(self.pools) > 1 else ''} {', '.join(self.pools)}"
        where = f"{', '.join(self.instance_types)}, {pools}"
        return (
            f"Not proven: MIG of the {self.board.name} ({where}). Its table is "
            f"{self.board.confidence}, and the simulated driver reads the same table."
        )

    def as_json(self) -> dict[str, object]:
        """The same as JSON data."""
        return {
            "board": self.board.name,
            "confidence": self.board.confidence,
            "instanceTypes": list(self.instance_types),
            "pools": list(self.pools),
            "notes": list(self.board.notes),
        }


def unproven_mig(session: Session) -> tuple[UnprovenMig, ...]:
    """Every board of the lab's nodes that uses MIG by a table that is not verified."""
    found: dict[str, tuple[MigModel, list[LabNode]]] = {}
    for node in session.nodes:
        hardware = hardware_of(node.instance_type)
        if hardware is None or hardware.mig is None or hardware.mig.confidence == _SURE:
            continue
        if _uses_mig(session, node, hardware.count):
            found.setdefault(hardware.mig.name, (hardware.mig, []))[1].append(node)
    return tuple(
        UnprovenMig(board, _unique(n.instance_type for n in nodes), _unique(n.pool for n in nodes))
        for board, nodes in found.values()
    )


def _uses_mig(session: Session, node: LabNode, count: int) -> bool:
    """Whether a node is to have MIG devices, or has them under the name of whole GPUs."""
    there = session.watches.nodes.get(node.name)
    cut = there is not None and any(gpu.mig for gpu in of_node(there, count))
    return cut or any(name.startswith(_MIG) for name in node.declared)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
