"""What the pod of a simulated program shows, when the watch is slower than the program."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from eks_gpushare_lab.observing.watches import Watches
from eks_gpushare_lab.simulated_node.controller import SimulatedNodes
from eks_gpushare_lab.simulated_node.instance import Trouble

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Client

POD = {
    "metadata": {"name": "plugin", "namespace": "gpu-operator", "uid": "u1"},
    "spec": {"nodeName": "n1", "containers": []},
    "status": {"containerStatuses": [{"name": "plugin", "state": {"running": {}}}]},
}


@dataclass
class Program:
    uid: str = "u1"
    namespace: str = "gpu-operator"
    pod: str = "plugin"
    node: str = "n1"
    trouble: Trouble | None = None

    def log(self) -> str:
        return ""


class Server:
    """Keeps the status of the pod as the API server would."""

    def __init__(self) -> None:
        self.pod: dict[str, Any] = {**POD}

    def patch(self, path: str, change: dict[str, Any]) -> SimpleNamespace:
        if path.endswith("/status"):
            self.pod = {**self.pod, "status": {**self.pod["status"], **change["status"]}}
        return SimpleNamespace(object=self.pod)


def state(server: Server) -> str:
    (found,) = server.pod["status"]["containerStatuses"][0]["state"]
    return str(found)


def test_a_pod_that_waited_for_a_moment_runs_again_before_the_watch_has_told_of_it() -> None:
    server = Server()
    nodes = SimulatedNodes(cast("Client", server), Watches(cast("Client", server)))
    nodes._programs["n1"]["u1"] = POD  # noqa: SLF001  (which the watch does not bring up to date)
    program = Program(trouble=Trouble("PodInitializing", "waiting for the container stack"))

    nodes._publish(program)  # noqa: SLF001
    assert state(server) == "waiting"
    program.trouble = None
    nodes._publish(program)  # noqa: SLF001

    assert state(server) == "running"
