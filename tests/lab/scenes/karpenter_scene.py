"""A stack with Karpenter on a lab, and cases: pools made of the stack's, with pods for them.

A case is a pool and pods for it. All cases of a module run at once on one lab: each has pods that
only its own nodes take, so that they do not meet.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.install.manifests import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.controllers.running import Running
    from eks_gpushare_lab.session import Session

POOLS, OVERLAYS = "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1alpha1/nodeoverlays"
CLAIMS, NODES = "/apis/karpenter.sh/v1/nodeclaims", "/api/v1/nodes"
CASE = "case"
"""Label of nodes and pods of a case."""


@dataclass(frozen=True)
class Case:
    """Pods for a pool, and what has to come of it."""

    like: str
    """The pool of the stack whose node class the nodes have, and from which the pool is made."""
    pods: int
    resource: str
    nodes: int
    """Nodes launched in all."""
    runs: int | None = None
    """Pods that run in the end. Default: all, and none where there is no node."""
    overlay: Mapping[str, Mapping[str, int]] | str = "as planned"
    """What is promised of a node by type, in place of what the stack does."""
    edit: Callable[[Object], object] = lambda _: None
    """What is different about the NodePool."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of nodes that are different."""

    @property
    def running(self) -> int:
        return self.runs if self.runs is not None else (self.pods if self.nodes else 0)


class Scene:
    """A stack with Karpenter on a lab, and cases on it."""

    def __init__(self, client: Client, session: Session, controllers: Running) -> None:
        self.client, self.session, self.controllers = client, session, controllers
        assert controllers.cloud is not None
        self.cloud = controllers.cloud
        self._listed: tuple[float, list[Object]] = (0.0, [])
        self._planned = [_without_state(each) for each in client.list(OVERLAYS)[0]]

    def pool(self, name: str, case: Case, label: str = "") -> None:
        """The pool of a case, a copy of one of the stack's with its overlays.

        Args:
            name: of the pool.
            case: what it is like.
            label: the case whose pods its nodes take. Default: its name.
        """
        given = self._own(f"{POOLS}/{case.like}", name)
        metadata = given["spec"]["template"].setdefault("metadata", {})
        metadata["labels"] = {**metadata.get("labels", {}), CASE: label or name, **case.labels}
        case.edit(given)
        for number, each in enumerate(self._overlays(name, case)):
            each["metadata"]["name"] = f"{name}-{number}"
            _limit_to(each, name)
            self.client.apply(each)
        self.client.apply(given)

    def _overlays(self, name: str, case: Case) -> list[Object]:
        if case.overlay == "as planned":
            there = [] if name == case.like else self._planned
            return [copy.deepcopy(each) for each in there if _is_of(each, case.like)]
        assert not isinstance(case.overlay, str)
        return [_overlay(kind, given) for kind, given in case.overlay.items()]

    def _own(self, path: str, name: str) -> Object:
        there = self.client.get(path)
        assert there is not None, path
        return {**_without_state(there), "metadata": {"name": name}}

    def pods(self, name: str, count: int, resource: str, **spec: Any) -> None:
        """Pods of a case."""
        container = {
            "name": "app",
            "image": "busybox",
            "resources": {"limits": {resource: "1"}} if resource else {},
        }
        labels = {CASE: name}
        pod = {
            "nodeSelector": labels,
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            **spec,
        }
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "replicas": count,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }
        self.session.apply([Manifest(name, deployment)])

    def scale(self, name: str, count: int) -> None:
        self.client.patch(
            f"/apis/apps/v1/namespaces/default/deployments/{name}/scale",
            {"spec": {"replicas": count}},
        )

    def await_ready(self) -> None:
        self.controllers.await_pools(self.client)

    def nodes(self, name: str) -> list[Object]:
        return [each for each in self.session.watches.nodes.all() if _label(each) == name]

    def claims(self, name: str) -> list[Object]:
        """NodeClaims of a case."""
        return self.client.list(CLAIMS, labelSelector=f"karpenter.sh/nodepool={name}")[0]

    def launched(self, name: str) -> list[dict[str, Any]]:
        """Instances of a case that were ever launched."""
        return [each for each in self.cloud.machines() if each["pool"] == name]

    def running(self, name: str) -> int:
        pods = [each for each in self.session.watches.pods.all() if _label(each) == name]
        return sum(each["status"].get("phase") == "Running" for each in pods)

    def words(self, name: str, reason: str = "") -> list[str]:
        """What Karpenter's events say of the pods of a case."""
        return [
            each["message"]
            for each in self._events()
            if each["involvedObject"]["name"].startswith(f"{name}-")
            and each.get("reportingComponent", "") == "karpenter"
            and reason in each["reason"]
        ]

    def _events(self) -> list[Object]:
        """Events about pods, as they were a second ago at most."""
        now = time.monotonic()
        if now - self._listed[0] > 1:
            found = self.client.list("/api/v1/events", fieldSelector="involvedObject.kind=Pod")[0]
            self._listed = (now, found)
        return self._listed[1]

    def start(self, cases: Mapping[str, Case]) -> None:
        """Make all pools, and when Karpenter knows them all pods."""
        for name, case in cases.items():
            self.pool(name, case)
        self.await_ready()
        for name, case in cases.items():
            self.pods(name, case.pods, case.resource)

    def settle(
        self,
        cases: Mapping[str, Case],
        seconds: float = 150,
        rest: float = 4,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        """Wait until all is as it has to be, and then whether it stays so."""

        def there() -> bool:
            meanwhile()
            return all(self._is_there(name, case) for name, case in cases.items())

        until(there, seconds)
        time.sleep(rest)  # longer than Karpenter waits for further pods before it launches

    def _is_there(self, name: str, case: Case) -> bool:
        self.controllers.check()
        if not case.nodes:
            return bool(self.words(name, "FailedScheduling")) or not case.pods
        there = (len(self.nodes(name)), self.running(name))
        return there == (case.nodes, case.running)


def until(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.3)
    return True


def _without_state(given: Object) -> Object:
    return {**{key: given[key] for key in ("apiVersion", "kind", "spec")}, "metadata": {}}


def _label(each: Object) -> str | None:
    found: str | None = (each["metadata"].get("labels") or {}).get(CASE)
    return found


def _is_of(overlay: Object, pool: str) -> bool:
    requirements = overlay["spec"]["requirements"]
    return any(
        each["key"] == "karpenter.sh/nodepool" and each["values"] == [pool] for each in requirements
    )


def _limit_to(overlay: Object, pool: str) -> None:
    for each in overlay["spec"]["requirements"]:
        if each["key"] == "karpenter.sh/nodepool":
            each["values"] = [pool]


def _overlay(instance_type: str, promised: Mapping[str, int]) -> Object:
    kind = "node.kubernetes.io/instance-type"
    requirements = [
        {"key": "karpenter.sh/nodepool", "operator": "In", "values": []},
        {"key": kind, "operator": "In", "values": [instance_type]},
    ]
    capacity = {name: str(count) for name, count in promised.items()}
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {},
        "spec": {"requirements": requirements, "capacity": capacity},
    }
