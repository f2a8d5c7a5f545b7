"""The controller of the simulated nodes."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.simulated_node import admission, mps_server, operator, patches
from eks_gpushare_lab.simulated_node.gpus import annotation
from eks_gpushare_lab.simulated_node.node import SimulatedNode
from eks_gpushare_lab.simulated_node.pods import OPERATOR, is_alive, role_of
from eks_gpushare_lab.simulated_node.taint_remover import config_map_of, is_remover, without_taint
from eks_gpushare_lab.simulated_node.user_data import PLUGIN_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.observing.watches import Watches
    from eks_gpushare_lab.simulated_node.config_file import Configuration
    from eks_gpushare_lab.simulated_node.patches import PodProgram

_RETRY_SECONDS = 0.5
_WORKERS = 8


class SimulatedNodes:
    """Plays NVIDIA's programs and the kubelet's device manager on every node of the lab."""

    def __init__(self, client: Client, watches: Watches) -> None:
        """Describe it; `start` starts it.

        Args:
            client: the API server.
            watches: what to react to; started already.
        """
        self._client, self._watches = client, watches
        self._nodes: dict[str, SimulatedNode] = {}
        self._programs: dict[str, dict[str, Object]] = defaultdict(dict)
        self._controllers: dict[str, Object] = {}
        self._policy: Object | None = None
        self._dirty: set[str] = set()
        self._asking: dict[str, Object] = {}
        self._refused: dict[str, str] = {}
        self._refusals: dict[str, int] = defaultdict(int)
        self._due: dict[str, float] = {}
        self._retries: dict[str, threading.Timer] = {}
        self._published: dict[tuple[str, str], object] = {}
        self._answers: dict[str, Object] = {}
        self._written: dict[str, Object] = {}
        self._wake = threading.Condition()
        self._stopped = False
        self._idle = True
        self._workers = ThreadPoolExecutor(_WORKERS, "simulated nodes")
        self._thread = threading.Thread(target=self._run, name="simulated nodes", daemon=True)

    def start(self) -> None:
        """Start."""
        self._watches.nodes.listen(self._on_node)
        self._watches.pods.listen(self._on_pod)
        self._watches.config_maps.listen(self._on_config_map)
        self._thread.start()

    def stop(self) -> None:
        """Stop; nodes keep what they advertise."""
        with self._wake:
            self._stopped = True
            self._wake.notify()
        self._thread.join(10)
        self._workers.shutdown()

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do about what has been seen; refusals go on by themselves.

        Raises:
            LabError: If it has stopped by a fault, whose traceback is on standard error.
        """
        if not self._thread.is_alive() and not self._stopped:
            raise LabError("the simulated nodes have stopped by a fault of the lab; see above")
        with self._wake:
            return self._idle and not self._dirty and not self._retries

    def node(self, name: str) -> SimulatedNode | None:
        """A node as the programs on it see it; None before it was looked at."""
        return self._nodes.get(name)

    def configuration(self, node: str) -> Configuration | None:
        """What the device plugin of a node runs with, None if none serves."""
        simulated = self._nodes.get(node)
        return simulated.plugin_configuration() if simulated else None

    def _on_node(self, kind: str, node: Object) -> None:
        name = node["metadata"]["name"]
        if kind == "DELETED":
            self._nodes.pop(name, None)
            self._written.pop(name, None)
        else:
            self._touch(name)

    def _on_pod(self, kind: str, pod: Object) -> None:
        node = pod["spec"].get("nodeName")
        if not node:
            return
        uid, role = pod["metadata"]["uid"], role_of(pod["spec"])
        if role == OPERATOR or is_remover(pod):
            self._on_controller(kind, pod)
        elif role:
            if kind == "DELETED":
                self._programs[node].pop(uid, None)
                self._answers.pop(uid, None)
            else:
                self._programs[node][uid] = pod
            self._touch(node)
        elif kind != "DELETED" and admission.is_undecided(pod):
            with self._wake:
                self._asking[uid] = pod
                self._wake.notify()
        else:
            with self._wake:
                self._forget(uid)
        if not role and self._is_mps(node) and admission.requests(pod):
            self._touch(node)

    def holds(self, pod: Object) -> bool:
        """Whether a pod that runs may yet have to wait for the MPS server of its node."""
        if mps_server.annotation(pod, mps_server.CLIENT):
            return False
        return self._is_mps(pod["spec"].get("nodeName", "")) and bool(admission.requests(pod))

    def _is_mps(self, node: str) -> bool:
        simulated = self._nodes.get(node)
        return simulated is not None and simulated.shares_by_mps

    def _forget(self, uid: str) -> None:
        """A pod has been decided upon, or has gone."""
        for each in (self._asking, self._refused, self._due):
            each.pop(uid, None)

    def _on_controller(self, kind: str, pod: Object) -> None:
        """A pod that acts on all nodes, wherever it is itself."""
        uid = pod["metadata"]["uid"]
        if kind != "DELETED" and is_alive(pod):
            self._controllers[uid] = pod
        else:
            self._controllers.pop(uid, None)
        for node in self._watches.nodes.all():
            self._touch(node["metadata"]["name"])

    def _on_config_map(self, _kind: str, config_map: Object) -> None:
        """Only programs that do not run look again; `Instance.update` sees to that."""
        name = config_map["metadata"]["name"]
        for node in list(self._nodes.values()):
            if node.reads(name):
                self._touch(node.name)

    def _touch(self, node: str) -> None:
        with self._wake:
            self._dirty.add(node)
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._idle = True
                self._wake.wait_for(self._has_work, timeout=self._next_refusal())
                if self._stopped:
                    return
                self._idle = False
                dirty, self._dirty = self._dirty, set()
                asking = [pod for pod in self._asking.values() if self._is_known(pod)]
            list(self._workers.map(self._try, dirty))
            for pod in asking:
                with suppress(ApiError, OSError, KeyError):  # or it, or its node, has gone
                    self._admit(pod)

    def _try(self, name: str) -> None:
        try:
            self._reconcile(name)
        except (ApiError, OSError):
            self._look_again(name, _RETRY_SECONDS)

    def _look_again(self, name: str, seconds: float) -> None:
        with self._wake:
            if self._stopped or name in self._retries:
                return
            retry = self._retries[name] = threading.Timer(seconds, self._retry, (name,))
        retry.daemon = True
        retry.start()

    def _retry(self, name: str) -> None:
        with self._wake:
            self._retries.pop(name, None)
            self._dirty.add(name)
            self._wake.notify()

    def _has_work(self) -> bool:
        fresh = (pod for uid, pod in self._asking.items() if uid not in self._due)
        return self._stopped or bool(self._dirty) or any(map(self._is_known, fresh))

    def _is_known(self, pod: Object) -> bool:
        """Whether what runs on the node of a pod has been looked at."""
        return pod["spec"]["nodeName"] in self._nodes

    def _next_refusal(self) -> float | None:
        if not self._due:
            return None
        return max(0.01, min(self._due.values()) - time.monotonic())

    def _config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        found = self._watches.config_maps.get(name, namespace)
        return None if found is None else found.get("data") or {}

    def _reconcile(self, name: str) -> None:
        node = self._node(name)
        if node is None or self._is_early(name, node):
            return
        uid = node["metadata"]["uid"]
        simulated = self._nodes.get(name)
        if simulated is None or simulated.uid != uid:
            simulated = self._nodes[name] = SimulatedNode(name, uid)
        simulated.update(node, list(self._programs[name].values()), self._config_map)
        manager = simulated.manager
        # Only once the API server has the labels by which it stops the others.
        if manager is not None and manager.waits and not manager.labels:
            simulated.go_on(node, self._pods_on(name))
        change = patches.node_status(node, simulated)
        if change:
            self._write(f"/api/v1/nodes/{name}/status", change)
        labels = {**simulated.labels, **self._operated(node), **simulated.changes}
        relabel = patches.node_metadata(node, labels, simulated.notes)
        if relabel:
            self._write(f"/api/v1/nodes/{name}", relabel)
        simulated.commit()
        if not change and not relabel:
            self._remove_taint(node)
        for program in (*simulated.instances.values(), simulated.manager):
            if program is not None:
                self._publish(program)
        if simulated.shares_by_mps:
            self._serve(simulated)

    def _node(self, name: str) -> Object | None:
        """A node as the watch has it, or as it was written last if the watch is behind that.

        By an older copy, labels that are to be set back would seem to stand as they should.
        """
        node, written = self._watches.nodes.get(name), self._written.get(name)
        if node is None or written is None:
            return node
        ours, theirs = written["metadata"], node["metadata"]
        newer = int(ours["resourceVersion"]) > int(theirs["resourceVersion"])
        return written if newer and ours["uid"] == theirs["uid"] else node

    def _write(self, path: str, change: Object) -> None:
        written = self._client.patch(path, change).object
        self._written[written["metadata"]["name"]] = written

    def _is_early(self, name: str, node: Object) -> bool:
        """Whether nothing of NVIDIA's may start on a node yet; it is looked at again then."""
        left = float(annotation(node, PLUGIN_AFTER) or 0) - time.time()
        if left <= 0:
            return False
        self._look_again(name, left)
        return True

    def _serve(self, simulated: SimulatedNode) -> None:
        """Let the pods of one user have the MPS server of a node, and the others wait."""
        for turn in simulated.mps_server.turns(self._pods_on(simulated.name)):
            notes, status = patches.mps_turn(turn)
            path = patches.path_of(turn.pod)
            if notes:
                self._client.patch(path, notes)
            if status:
                self._client.patch(f"{path}/status", status)

    def _pods_on(self, node: str) -> list[Object]:
        return [p for p in self._watches.pods.all() if p["spec"].get("nodeName") == node]

    def _operated(self, node: Object) -> operator.Changes:
        """What the operator changes of a node's labels, if it runs."""
        for pod in list(self._controllers.values()):
            if role_of(pod["spec"]) == OPERATOR:
                there = node["metadata"].get("labels") or {}
                return operator.changes(there, operator.policy_of(pod, self._cluster_policy))
        return {}

    def _cluster_policy(self) -> Object | None:
        """The spec of the cluster's ClusterPolicy; kept, since a stack sets it once."""
        if self._policy is None:
            listed = self._client.get(operator.POLICIES) or {}
            specs = [claim["spec"] for claim in listed.get("items") or ()]
            self._policy = specs[0] if specs else None
        return self._policy

    def _remove_taint(self, node: Object) -> None:
        for pod in list(self._controllers.values()):
            if not is_remover(pod):
                continue
            change = without_taint(node, self._config_map(*config_map_of(pod)))
            if change:
                self._write(f"/api/v1/nodes/{node['metadata']['name']}", change)

    def _publish(self, instance: PodProgram) -> None:
        """Let a pod show what goes on in it, once for each change."""
        uid, path = instance.uid, patches.pod_path(instance)
        annotation, trouble = patches.instance_state(instance)
        pod = self._programs[instance.node].get(uid)
        if pod is None:
            return
        if self._published.get((uid, "log")) != annotation:
            self._client.patch(path, annotation)
            self._published[uid, "log"] = annotation
        if self._published.get((uid, "status")) != trouble:
            # The watch may not have brought back yet what was said of the pod before.
            status = patches.pod_status(self._answers.pop(uid, pod), trouble)
            if status:
                self._answers[uid] = self._client.patch(f"{path}/status", status).object
            self._published[uid, "status"] = trouble

    def _admit(self, pod: Object) -> None:
        """Have a pod start that its node has devices for, or fail that it refuses them."""
        uid, path, now = pod["metadata"]["uid"], patches.path_of(pod), time.monotonic()
        if self._due.get(uid, 0.0) > now:
            return
        if uid in self._refused:
            self._put_off(uid, _RETRY_SECONDS)
            self._client.patch(f"{path}/status", patches.failed(self._refused[uid]))
            return
        configuration = self._nodes[pod["spec"]["nodeName"]].plugin_configuration()
        why = admission.refusal(pod, configuration)
        if why is None:
            self._put_off(uid, _RETRY_SECONDS)
            self._client.patch(path, patches.admitted(pod))
            return
        owner = admission.owner_of(pod)
        pause = admission.pause(self._refusals[owner])
        self._refusals[owner] += 1
        self._refused[uid] = why
        self._put_off(uid, pause)
        if pause:
            self._client.patch(f"{path}/status", patches.not_ready(pod))

    def _put_off(self, uid: str, seconds: float) -> None:
        """Come back to a pod after some time, unless it has been decided upon by then."""
        with self._wake:
            if uid in self._asking:
                self._due[uid] = time.monotonic() + seconds
