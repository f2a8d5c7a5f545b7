"""A lab without a control plane: nodes, pods and words of autoscalers come to it by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from eks_gpushare_lab.observing.autoscalers import AutoscalerEvent, Autoscalers
from eks_gpushare_lab.observing.declared_pools import DeclaredPool
from eks_gpushare_lab.observing.scaling import Scaling
from eks_gpushare_lab.observing.watches import Watches
from eks_gpushare_lab.reporting.agreements import agreement_findings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.session import Session

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"


class Told(Autoscalers):
    """Autoscalers that have said what a test says."""

    def __init__(self, watches: Watches) -> None:
        super().__init__(cast("Client", None), watches)
        self.there = True
        self.given: dict[str, list[Object]] = {"claims": [], "pools": [], "overlays": []}
        self.said: list[AutoscalerEvent] = []
        self.published: dict[str, Any] = {}

    @property
    def present(self) -> bool:
        return self.there

    def look(self) -> None:
        assert self.said is not None

    def claims(self) -> list[Object]:
        return self.given["claims"]

    def node_pools(self) -> list[Object]:
        return self.given["pools"]

    def overlays(self) -> list[Object]:
        return list(self.given["overlays"])

    def words(self) -> list[AutoscalerEvent]:
        return self.said

    def status(self) -> Mapping[str, Any]:
        return self.published


class Lab:
    """A lab with one pool of ten shares a node, to which nodes and pods come by hand."""

    def __init__(self, pool: DeclaredPool, *others: DeclaredPool) -> None:
        self.watches = Watches(cast("Client", None))
        self.scaling = Scaling(cast("Client", None), self.watches)
        self.told = self.scaling.autoscalers = Told(self.watches)
        self.told.listen(self.scaling.history.on_claim)
        self.pool = pool
        self.scaling.begin({each.name: each for each in (pool, *others)})
        self.scaling.installed()
        self.session = cast(
            "Session",
            SimpleNamespace(scaling=self.scaling, watches=self.watches, nodes=[]),
        )

    def node(
        self,
        name: str,
        advertised: Mapping[str, int] | None = None,
        *,
        ready: bool = True,
        kind: str = "g5.xlarge",
        labels: Mapping[str, str] | None = None,
        change: str = "ADDED",
    ) -> Object:
        given: Object = {
            "metadata": {
                "name": name,
                "labels": {
                    "eks-gpushare/pool": self.pool.called,
                    "node.kubernetes.io/instance-type": kind,
                    "topology.kubernetes.io/zone": "us-west-2b",
                    "topology.kubernetes.io/region": "us-west-2",
                    **(labels or {}),
                },
            },
            "spec": {"providerID": f"aws:///us-west-2b/i-{name}"},
            "status": {
                "allocatable": {k: str(n) for k, n in (advertised or {}).items()},
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            },
        }
        self.watches.nodes._take(change, with_version(given))  # noqa: SLF001
        return given

    def gone(self, node: Object) -> None:
        self.watches.nodes._take("DELETED", with_version(node))  # noqa: SLF001

    def pods(self, count: int, node: str = "", *, ask: str = "", **spec: Any) -> None:
        for number in range(count):
            self.pod(f"{node or 'waits'}-{number}", node, ask, **spec)

    def pod(self, name: str, node: str, ask: str = "", change: str = "ADDED", **spec: Any) -> None:
        limits = {ask or next(iter(self.pool.resources)): "1"}
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        given: Object = {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": name,
                "ownerReferences": [{"kind": "ReplicaSet", "name": "app", "controller": True}],
            },
            "spec": {"containers": [{"resources": {"limits": limits}}], **spec},
            "status": running if node else {"phase": "Pending"},
        }
        if node:
            given["spec"]["nodeName"] = node
        self.watches.pods._take(change, with_version(given))  # noqa: SLF001

    def says(self, who: str, reason: str, text: str, pod: str = "waits-0") -> None:
        order = len(self.told.said)
        self.told.said.append(AutoscalerEvent(who, reason, text, "Pod", pod, "default", order))

    def codes(self) -> list[str]:
        self.scaling.take_stock()
        return [each.code for each in agreement_findings(self.session)]

    def message(self, code: str) -> str:
        self.scaling.take_stock()
        (found,) = [e for e in agreement_findings(self.session) if e.code == code]
        assert found.fix
        return found.message

    def watch_for(self, seconds: float) -> None:
        """Look as often as a run does within some seconds."""
        self.scaling._looked = 0.0  # noqa: SLF001
        self.scaling.look()
        for name in self.scaling._suspect:  # noqa: SLF001
            self.scaling._suspect[name] -= seconds  # noqa: SLF001
        self.scaling._looked = 0.0  # noqa: SLF001
        self.scaling.look()


def with_version(given: Object) -> Object:
    return {**given, "metadata": {**given["metadata"], "resourceVersion": "1"}}


def karpenter(shares: int = 10, resource: str = SHARED, **keys: Any) -> DeclaredPool:
    return DeclaredPool("gpu", "gpu", {"g5.xlarge": {resource: shares}}, "karpenter", **keys)


def group(shares: int = 10, **keys: Any) -> DeclaredPool:
    keys = {"promised": {GPU: shares}, "most": 10, **keys}
    per_node = keys.pop("per_node", {"g5.xlarge": {GPU: shares}})
    return DeclaredPool("gpu", "gpu", per_node, "clusterAutoscaler", **keys)


def overlay(capacity: Mapping[str, int], pool: str = "gpu", **spec: Any) -> Object:
    requirements = [{"key": "karpenter.sh/nodepool", "operator": "In", "values": [pool]}]
    given = {k: str(n) for k, n in capacity.items()}
    return {
        "metadata": {"name": f"{pool}-g5-xlarge"},
        "spec": {"requirements": requirements, "capacity": given, **spec},
    }


def claim(name: str, node: str, **conditions: tuple[str, str, str]) -> Object:
    said = [
        {"type": kind, "status": status, "reason": reason, "message": message}
        for kind, (status, reason, message) in conditions.items()
    ]
    return {
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "gpu"}, "uid": name},
        "status": {
            "providerID": f"aws:///us-west-2b/i-{node}",
            "nodeName": node,
            "conditions": said,
        },
    }


YES = ("True", "", "")


def karpenter_lab(shares: int = 10, told: int | None = None) -> Lab:
    lab = Lab(karpenter(shares))
    lab.told.given["overlays"] = [overlay({GPU: 0, SHARED: shares if told is None else told})]
    return lab
