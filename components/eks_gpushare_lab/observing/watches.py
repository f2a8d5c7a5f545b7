"""Copies of what the API server has, kept up to date by watches.

One watch serves whoever wants to know of a kind. Those who listen are told of a change after the
copy has it, one after the other, in the thread of the watch: they must be quick.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from eks_gpushare_lab.client import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eks_gpushare_lab.client import Client, Object, Watching

Listener: TypeAlias = "Callable[[str, Object], None]"
"""Called with ADDED, MODIFIED or DELETED and the object."""

Key: TypeAlias = "tuple[str, str]"
"""Namespace, `""` where the kind has none, and name."""

_RETRY_SECONDS = 0.2


def key_of(given: Object) -> Key:
    """Namespace and name of an object."""
    metadata = given["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


class Watch:
    """The objects of one kind."""

    def __init__(self, client: Client, path: str, **query: str) -> None:
        """Describe it; `start` starts it.

        Args:
            client: the API server.
            path: of the kind, as `Resource.path` gives it.
            query: selectors.

        """
        self._client, self._path, self._query = client, path, query
        self._objects: dict[Key, Object] = {}
        self._listeners: list[Listener] = []
        self._stopped = threading.Event()
        self._listed = threading.Event()
        self._lock = threading.RLock()
        self._watching: Watching | None = None
        self._telling = False
        self._thread = threading.Thread(target=self._run, name=f"watch {path}", daemon=True)
        self.changed = 0.0
        """When the last change arrived, by `time.monotonic`."""

    def listen(self, listener: Listener) -> None:
        """Tell of every change from now on, and at once of what is there already."""
        with self._lock:
            self._listeners.append(listener)
            for obj in self._objects.values():
                listener("ADDED", obj)

    def start(self, seconds: float = 30) -> None:
        """Start, and return when the first list has arrived.

        Raises:
            TimeoutError: If it does not.
        """
        self._thread.start()
        if not self._listed.wait(seconds):
            raise TimeoutError(f"the API server does not list {self._path}")

    def stop(self) -> None:
        """End the watch."""
        self._stopped.set()
        watching = self._watching
        if watching is not None:
            watching.stop()
        self._thread.join(5)

    def all(self) -> list[Object]:
        """All objects as they are now. Do not change them."""
        with self._lock:
            return list(self._objects.values())

    def get(self, name: str, namespace: str = "") -> Object | None:
        """One object, or None."""
        with self._lock:
            return self._objects.get((namespace, name))

    def is_current(self) -> bool:
        """Whether the copy, and whoever listens, has all that the API server has now."""
        items, version = self._client.list(self._path, **self._query)
        asked = {key_of(item): int(_version(item)) for item in items}
        with self._lock:
            if self._telling:
                return False
            known = {key: int(_version(item)) for key, item in self._objects.items()}
        gone = (at for key, at in known.items() if key not in asked)
        return all(known.get(key, 0) >= at for key, at in asked.items()) and all(
            at > int(version) for at in gone
        )

    def _run(self) -> None:
        while not self._stopped.is_set():
            with suppress(OSError, ApiError):
                version = self._list()
                self._listed.set()
                self._follow(version)
            self._stopped.wait(_RETRY_SECONDS)

    def _list(self) -> str:
        items, version = self._client.list(self._path, **self._query)
        there = {key_of(item): item for item in items}
        with self._lock:
            gone = [item for key, item in self._objects.items() if key not in there]
            known = {key: _version(item) for key, item in self._objects.items()}
        for obj in gone:
            self._take("DELETED", obj)
        for key, obj in there.items():
            if known.get(key) != _version(obj):
                self._take("MODIFIED" if key in known else "ADDED", obj)
        return version

    def _follow(self, version: str) -> None:
        """Take changes until the stream fails; one that merely ends is taken up where it ended."""
        while not self._stopped.is_set():
            self._watching = self._client.watch(self._path, version, **self._query)
            for event in self._watching:
                kind, each = event["type"], event["object"]
                if kind == "ERROR":
                    return
                version = _version(each)
                if kind != "BOOKMARK":
                    self._take(kind, each)

    def _take(self, kind: str, each: Object) -> None:
        with self._lock:
            if kind == "DELETED":
                self._objects.pop(key_of(each), None)
            else:
                self._objects[key_of(each)] = each
            self.changed = time.monotonic()
            listeners = list(self._listeners)
            self._telling = True
        try:
            for listener in listeners:
                listener(kind, each)
        finally:
            self._telling = False


def _version(each: Object) -> str:
    return str(each["metadata"]["resourceVersion"])


class Watches:
    """The kinds that the lab looks at, each watched once."""

    def __init__(self, client: Client) -> None:
        """Describe them; `with` starts and ends them."""
        self.nodes = Watch(client, "/api/v1/nodes")
        """Nodes."""
        self.pods = Watch(client, "/api/v1/pods")
        """Pods of all namespaces."""
        self.config_maps = Watch(client, "/api/v1/configmaps")
        """ConfigMaps of all namespaces."""
        self.secrets = Watch(client, "/api/v1/secrets")
        """Secrets of all namespaces."""
        self.daemon_sets = Watch(client, "/apis/apps/v1/daemonsets")
        """DaemonSets of all namespaces."""
        self.refusals = Watch(client, "/api/v1/events", fieldSelector="reason=FailedCreate")
        """Events that tell of pods which a controller could not create."""
        self._by_kind = {
            "Node": self.nodes,
            "Pod": self.pods,
            "ConfigMap": self.config_maps,
            "DaemonSet": self.daemon_sets,
            "Event": self.refusals,
        }
        self._all = (
            *(self.nodes, self.pods, self.config_maps, self.secrets),
            *(self.daemon_sets, self.refusals),
        )

    def of(self, kind: str) -> Sequence[Object]:
        """All objects of a kind; none of one that is not watched."""
        watch = self._by_kind.get(kind)
        return () if watch is None else tuple(watch.all())

    def start(self) -> None:
        """Start all of them."""
        for watch in self._all:
            watch.start()

    def are_current(self) -> bool:
        """Whether what tells that something moves is as the API server has it.

        Each kind has a watch of its own, and on a busy machine one may be a second behind another.
        """
        try:
            return all(watch.is_current() for watch in (self.pods, self.daemon_sets, self.nodes))
        except (OSError, ApiError):
            return False

    def stop(self) -> None:
        """End all of them."""
        for watch in self._all:
            watch.stop()
