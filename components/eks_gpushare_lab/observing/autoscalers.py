"""What autoscalers write into the API server: NodeClaims, conditions, events, and their status.

Nothing of them is watched before there is one, so that other stacks pay nothing for it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.live.pods import condition
from eks_gpushare_lab.observing.declared_pools import NODE_POOL
from eks_gpushare_lab.observing.node_history import GOING, GPU_PREFIX, gpus_of
from eks_gpushare_lab.observing.watches import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.observing.watches import Watches

KARPENTER, AUTOSCALER = "karpenter", "cluster-autoscaler"
"""Components that events name as their source."""
NAMES = {
    KARPENTER: "Karpenter",
    AUTOSCALER: "Cluster Autoscaler",
    "keda-operator": "KEDA",
    "horizontal-pod-autoscaler": "the HorizontalPodAutoscaler",
}
"""How they are called, by component."""
NOMINATED, TRIGGERED = "Nominated", "TriggeredScaleUp"
"""Reasons of events that promise a pod a node."""
NOT_REGISTERED = "ResourceNotRegistered"
"""Why a node that Karpenter launched is not initialised: it lacks a resource that was promised."""

PATIENCE_SECONDS = 75.0
"""How long nothing may move while a node is known to be on its way. Cluster Autoscaler asks AWS
once a minute what has become of its groups, and believes until then what it believed before."""
LATE_SECONDS = 10.0
"""How long an autoscaler may take to say something of a pod that waits."""

# It says so too of a pool whose types it does not know yet, and tries again after ten seconds.
_NO_TYPES = "filtered out all available instance types"
_AGAIN_SECONDS = 15.0
_STATUS = "cluster-autoscaler-status"
_KARPENTER_KINDS = "/apis/karpenter.sh/v1"
_OVERLAYS = "/apis/karpenter.sh/v1alpha1"
_KEDA = "/apis/keda.sh/v1alpha1"
_STEPS = ("Launched", "Registered", "Initialized")


@dataclass(frozen=True, slots=True)
class AutoscalerEvent:
    """One event of an autoscaler."""

    who: str
    """Its component."""
    reason: str
    """Such as NotTriggerScaleUp."""
    text: str
    """Its message."""
    kind: str
    """Kind of the object that it is about."""
    name: str
    """Name of that object."""
    namespace: str
    """Its namespace, or `""`."""
    order: int
    """Greater for what was said later."""

    def __str__(self) -> str:
        return f"{NAMES.get(self.who, self.who)}: {self.text.rstrip('.')}"


class Autoscalers:
    """Watches of what autoscalers say, as soon as there is one."""

    def __init__(self, client: Client, watches: Watches) -> None:
        """Describe them; `look` starts those that there is something to see for."""
        self._client, self._watches = client, watches
        self._started: dict[str, Watch] = {}
        self._paths: set[str] = set()
        self._missing: dict[str, float] = {}
        self._claims: dict[str, str] = {}
        self._on_claim: Callable[[str, Object], None] = lambda _kind, _claim: None
        self.installed: frozenset[str] = frozenset()
        """Charts of the stack, by name: what they install may not have said anything yet."""
        self.changed = 0.0
        """When a NodeClaim last came a step further, by `time.monotonic`."""

    def listen(self, on_claim: Callable[[str, Object], None]) -> None:
        """Have a function be told of NodeClaims."""
        self._on_claim = on_claim

    def look(self) -> None:
        """Begin to watch what has come since the last time."""
        if self._served(_KARPENTER_KINDS, "nodeclaims"):
            if "claims" not in self._started:
                claims = self._start("claims", f"{_KARPENTER_KINDS}/nodeclaims")
                claims.listen(self._claim)
            self._start("pools", f"{_KARPENTER_KINDS}/nodepools")
            self._events(KARPENTER)
        if self._served(_OVERLAYS, "nodeoverlays"):
            self._start("overlays", f"{_OVERLAYS}/nodeoverlays")
        if AUTOSCALER in self.installed or self.status():
            self._events(AUTOSCALER)
        if self._served(_KEDA, "scaledobjects"):
            self._events("keda-operator")
            self._events("horizontal-pod-autoscaler")

    def stop(self) -> None:
        """End all watches."""
        for watch in self._started.values():
            watch.stop()

    @property
    def present(self) -> bool:
        """Whether there is an autoscaler of nodes."""
        return f"events {KARPENTER}" in self._started or f"events {AUTOSCALER}" in self._started

    def claims(self) -> list[Object]:
        """NodeClaims."""
        return self._all("claims")

    def node_pools(self) -> list[Object]:
        """NodePools."""
        return self._all("pools")

    def overlays(self) -> list[Object]:
        """NodeOverlays."""
        return self._all("overlays")

    def words(self) -> list[AutoscalerEvent]:
        """Everything that autoscalers have said, the latest last."""
        found = [
            _word(event, name.removeprefix("events "))
            for name, watch in list(self._started.items())
            if name.startswith("events ")
            for event in watch.all()
        ]
        return sorted(found, key=lambda event: event.order)

    def last_words(self) -> dict[tuple[str, str], AutoscalerEvent]:
        """The last event about each pod, by its namespace and name."""
        return {(word.namespace, word.name): word for word in self.words() if word.kind == "Pod"}

    def status(self) -> Mapping[str, Any]:
        """The status that Cluster Autoscaler publishes; empty without one."""
        for config_map in self._watches.config_maps.all():
            if config_map["metadata"]["name"] == _STATUS:
                with suppress(yaml.YAMLError):
                    found = yaml.safe_load((config_map.get("data") or {}).get("status", ""))
                    return found if isinstance(found, dict) else {"message": str(found)}
        return {}

    def scale_up(self) -> str:
        """What Cluster Autoscaler says of adding nodes: InProgress, NoActivity, Backoff or `""`."""
        wide = self.status().get("clusterWide") or {}
        return str((wide.get("scaleUp") or {}).get("status", ""))

    def coming(self, waiting: Iterable[Object], quiet: float) -> str:
        """What is on its way, in words; `""` if nothing is, as far as anybody knows.

        Args:
            waiting: pods that wait for nodes of pools which an autoscaler scales.
            quiet: for how many seconds nothing has moved.
        """
        if not self.present:
            return ""
        return next(self._everything(waiting, quiet), "")

    def stuck(self) -> list[Object]:
        """NodeClaims whose node lacks what was promised, though its device plugin has spoken."""
        return [claim for claim in self.claims() if self.is_stuck(claim)]

    def is_stuck(self, claim: Object) -> bool:
        """Whether a node lacks what its NodeClaim wants, though its device plugin has spoken."""
        said = condition(claim, "Initialized") or {}
        if not is_true(claim, "Registered") or said.get("reason") != NOT_REGISTERED:
            return False
        node = self._watches.nodes.get((claim.get("status") or {}).get("nodeName", ""))
        has = gpus_of(node) if node is not None else {}
        asked = claim.get("spec", {}).get("resources", {}).get("requests") or {}
        gpus = {name for name in asked if name.startswith(GPU_PREFIX)}
        # What has come by now Karpenter sees in a moment.
        return bool(has) and not (gpus and gpus <= has.keys())

    def _everything(self, waiting: Iterable[Object], quiet: float) -> Iterator[str]:
        yield from self._claims_coming()
        yield from self._nodes_going()
        yield from self._promised(waiting, quiet)

    def _claims_coming(self) -> Iterator[str]:
        for claim in self.claims():
            name = claim["metadata"]["name"]
            if "deletionTimestamp" in claim["metadata"]:
                yield f"NodeClaim {name} is being removed"
            elif not is_true(claim, "Initialized") and not self.is_stuck(claim):
                said = condition(claim, "Initialized") or {}
                yield f"NodeClaim {name} is not initialised: {said.get('message') or 'no node yet'}"

    def _nodes_going(self) -> Iterator[str]:
        for node in self._watches.nodes.all():
            if any(taint["key"] in GOING for taint in node["spec"].get("taints") or ()):
                yield f"node {node['metadata']['name']} is being removed"

    def _promised(self, waiting: Iterable[Object], quiet: float) -> Iterator[str]:
        """Pods that an autoscaler has not looked at yet, or adds nodes for."""
        last, adds, stuck = self.last_words(), self.scale_up(), bool(self.stuck())
        # Cluster Autoscaler says nothing of a pod for which it believes there is, or will be, room.
        early = quiet < LATE_SECONDS or AUTOSCALER in self.installed
        for pod in waiting:
            name = pod["metadata"]["name"]
            word = last.get((pod["metadata"]["namespace"], name))
            if word is None:
                if early:
                    yield f"no autoscaler has said anything of pod {name} yet"
            elif _NO_TYPES in word.text and quiet < _AGAIN_SECONDS:
                yield f"Karpenter looks at pod {name} again after ten seconds"
            elif word.reason == TRIGGERED and (early or adds == "InProgress"):
                yield f"Cluster Autoscaler adds a node for pod {name}"
            elif word.reason == NOMINATED and (not stuck or quiet < LATE_SECONDS):
                yield f"Karpenter has a node in mind for pod {name}"

    def _claim(self, kind: str, claim: Object) -> None:
        uid = claim["metadata"]["uid"]
        said = {c["type"]: c for c in (claim.get("status") or {}).get("conditions") or ()}
        steps = [(said.get(k, {}).get("status"), said.get(k, {}).get("reason")) for k in _STEPS]
        signature = f"{'deletionTimestamp' in claim['metadata']} {steps}"
        if kind == "DELETED":
            self._claims.pop(uid, None)
            self.changed = time.monotonic()
        elif self._claims.get(uid) != signature:
            self._claims[uid] = signature
            self.changed = time.monotonic()
        self._on_claim(kind, claim)

    def _served(self, path: str, plural: str) -> bool:
        """Whether a kind is served; one that is not is asked for once a second at most."""
        key, now = f"{path}/{plural}", time.monotonic()
        if key in self._paths:
            return True
        if key in self._missing and now - self._missing[key] < 1:
            return False
        group = self._client.get(path)
        there = group is not None and any(r["name"] == plural for r in group["resources"])
        if there:
            self._paths.add(key)
        else:
            self._missing[key] = now
        return there

    def _events(self, source: str) -> None:
        self._start(f"events {source}", "/api/v1/events", fieldSelector=f"source={source}")

    def _start(self, name: str, path: str, **query: str) -> Watch:
        if name not in self._started:
            watch = Watch(self._client, path, **query)
            watch.start()
            self._started[name] = watch
        return self._started[name]

    def _all(self, name: str) -> list[Object]:
        watch = self._started.get(name)
        return [] if watch is None else watch.all()


def is_true(given: Object, kind: str) -> bool:
    """Whether a condition of an object's status is met."""
    return (condition(given, kind) or {}).get("status") == "True"


def of_node_pool(given: Object, pool: str) -> bool:
    """Whether a NodeClaim is of a NodePool."""
    return bool((given["metadata"].get("labels") or {}).get(NODE_POOL) == pool)


def _word(event: Object, who: str) -> AutoscalerEvent:
    about = event["involvedObject"]
    return AutoscalerEvent(
        who,
        event.get("reason", ""),
        event.get("message", "").strip(),
        about.get("kind", ""),
        about.get("name", ""),
        about.get("namespace", ""),
        int(event["metadata"]["resourceVersion"]),
    )
