"""Instances that boot, join the cluster, and leave it when they end."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.cloud.account import ACCOUNT_ID
from eks_gpushare_lab.cloud.ec2 import Behaviour
from eks_gpushare_lab.cloud.joining import NotJoinedError, node_of
from eks_gpushare_lab.cloud.settings import ON_DEMAND, RESERVED, SPOT

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.cloud.account import Account
    from eks_gpushare_lab.cloud.images import MachineImage

_TICK = 0.1
_CONFLICT = 409
_POOLS = ("karpenter.sh/nodepool", "eks:nodegroup-name")


@dataclass
class Machine:
    """One instance and its node."""

    instance: Any
    """moto's instance."""
    launched: float
    """When it was launched, in seconds since the epoch."""
    node: str = ""
    """Name of its node once that is in the cluster."""
    joined: float | None = None
    """When it joined."""
    ended: float | None = None
    """When it ended."""
    said: str = ""
    """Why it has not joined, in the words of its console."""

    def as_json(self) -> dict[str, Any]:
        """What a run reports of it."""
        tags = self.instance.get_tags()
        named = {tag["key"]: tag["value"] for tag in tags}
        return {
            "id": self.instance.id,
            "pool": next((named[key] for key in _POOLS if key in named), ""),
            "instanceType": self.instance.instance_type,
            "zone": self.instance.placement.zone,
            "capacityType": _bought_as(self.instance),
            "node": self.node,
            "launched": self.launched,
            "joined": self.joined,
            "ended": self.ended,
            "said": self.said,
        }


def _bought_as(instance: Any) -> str:
    """Its capacity type, as Karpenter calls it."""
    if getattr(instance, "capacity_reservation_id", None):
        return RESERVED
    return SPOT if instance.lifecycle == SPOT else ON_DEMAND


class Machines:
    """Watches moto's instances, whoever launches and ends them."""

    def __init__(self, client: Client, account: Account, images: dict[str, MachineImage]) -> None:
        """Describe it; `start` starts it.

        Args:
            client: the cluster's API server.
            account: what the instances are in.
            images: AMIs by id, as they become known.
        """
        self._client, self._account, self._images = client, account, images
        self._machines: dict[str, Machine] = {}
        self._ends: dict[str, float] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machines", daemon=True)

    def start(self) -> None:
        """Start."""
        self._thread.start()

    def all(self) -> list[Machine]:
        """Every instance that has been launched, ended ones too, in that order."""
        return sorted(self._machines.copy().values(), key=lambda machine: machine.launched)

    def end(self, instance: str, seconds: float) -> None:
        """Have EC2 end an instance after some seconds."""
        self._ends[instance] = time.time() + seconds

    def _run(self) -> None:
        while not self._stopped.wait(_TICK):
            for instance in self._instances():
                with suppress(OSError, ApiError):  # the next round tries again
                    self._look(instance)

    def _instances(self) -> list[Any]:
        from moto.backends import get_backend

        backend: Any = get_backend("ec2")[ACCOUNT_ID][self._account.region]
        reservations = list(backend.reservations.values())
        return [
            instance for reservation in reservations for instance in list(reservation.instances)
        ]

    def _look(self, instance: Any) -> None:
        now = time.time()
        machine = self._machines.get(instance.id)
        if machine is None:
            machine = self._machines[instance.id] = Machine(instance, now)
        if machine.ended is not None:
            return
        if self._ends.get(instance.id, now) < now:
            instance.terminate()
        if instance.state in {"shutting-down", "terminated"}:
            if machine.node:
                self._client.delete(f"/api/v1/nodes/{machine.node}")
            machine.ended = now
        elif self._is_due(machine, now):
            self._join(machine)

    def _is_due(self, machine: Machine, now: float) -> bool:
        waits = machine.joined is None and not machine.said
        return waits and now >= machine.launched + Behaviour.settings.start

    def _join(self, machine: Machine) -> None:
        image = self._images.get(machine.instance.image_id)
        try:
            node = node_of(machine.instance, image, self._account, Behaviour.settings.plugin)
        except NotJoinedError as error:
            machine.said = str(error)
            return
        try:
            self._client.create(node)
        except ApiError as error:
            if error.status != _CONFLICT:
                machine.said = f"the API server refuses the node: {error.message}"
                return
        machine.node, machine.joined = node["metadata"]["name"], time.time()
