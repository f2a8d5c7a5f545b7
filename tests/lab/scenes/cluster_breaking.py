"""What somebody does to a running cluster through its API server, and how it is undone.

Nothing here has to say how it is undone: what was there before is read first.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from eks_gpushare_lab.client import Client

Object: TypeAlias = dict[str, Any]
Change: TypeAlias = "Callable[[Client], AbstractContextManager[object]]"
"""What is other for as long as it is entered."""
GPU = "nvidia.com/gpu"
NODES = "/api/v1/nodes"
_OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


@dataclass(frozen=True)
class ClusterFault:
    """Something that is wrong with a stack that is there."""

    name: str
    stack: str
    changes: tuple[Change, ...]
    code: str
    """Of the one cause that is told of it."""
    follows: frozenset[str] = frozenset()
    """Codes that stand below it, at least."""
    about: str = ""
    """What the cause's place or message names: a node, a pod, an object."""
    is_of_status: bool = False
    """Whether it is in the status of a node, which its simulated kubelet would put right."""
    always: bool = False
    """Whether it is tried for every change."""

    @contextmanager
    def there(self, client: Client) -> Iterator[None]:
        """The cluster with it."""
        with ExitStack() as stack:
            for change in self.changes:
                stack.enter_context(change(client))
            yield

    def __str__(self) -> str:
        return f"{self.stack}: {self.name}"


@dataclass(frozen=True)
class Machine:
    """A node with GPUs of a stack, and what serves it."""

    stack: str
    node: str
    resource: str = GPU
    """That it advertises."""
    shares: int = 0
    namespace: str = "nvidia-device-plugin"
    plugin: str = "nvidia-device-plugin"
    tolerations: list[Object] = field(default_factory=list)
    """What pods need, where their request alone does not bring it."""

    @property
    def path(self) -> str:
        """Where the API server has the node."""
        return f"{NODES}/{self.node}"

    def daemon_set(self, name: str = "") -> str:
        """Where the API server has a DaemonSet; the device plugin's by default."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/daemonsets/{name or self.plugin}"


def inverse(before: Any, change: Object) -> Object:
    """The merge patch by which another is undone."""
    found: Object = {}
    for key, value in change.items():
        was = before.get(key) if isinstance(before, dict) else None
        both = isinstance(value, dict) and isinstance(was, dict)
        found[key] = inverse(was, value) if both else was
    return found


def patched(path: str, change: Object, part: str = "") -> Change:
    """An object changed by a merge patch, or a part of it such as its status."""

    @contextmanager
    def made(client: Client) -> Iterator[None]:
        before = client.get(path)
        assert before is not None, path
        where = f"{path}/{part}" if part else path
        client.patch(where, change)
        try:
            yield
        finally:
            client.patch(where, inverse(before, change))

    return made


def there_is(*given: Object) -> Change:
    """Objects that there were not."""

    @contextmanager
    def made(client: Client) -> Iterator[None]:
        for one in given:
            client.apply(one)
        try:
            yield
        finally:
            for one in reversed(given):
                client.delete(client.path_of(one))

    return made


def bare(given: Object) -> Object:
    """An object as somebody would write it."""
    metadata = {k: v for k, v in given["metadata"].items() if k not in _OF_THE_SERVER}
    return {**given, "metadata": metadata}


def replaced(find: Callable[[Client], Object], by: Callable[[Object], Object | None]) -> Change:
    """An object deleted, and another or none in its place: as with what is immutable."""

    @contextmanager
    def made(client: Client) -> Iterator[None]:
        before = bare(find(client))
        path = client.path_of(before)
        after = by(before)
        client.delete(path)
        if after is not None:
            client.create(after)
        try:
            yield
        finally:
            if after is not None:
                client.delete(path)
            client.create(before)

    return made


def object_at(path: str) -> Callable[[Client], Object]:
    """What finds an object by its path."""

    def find(client: Client) -> Object:
        found = client.get(path)
        assert found is not None, path
        return found

    return find


def config_map_of(machine: Machine) -> Callable[[Client], Object]:
    """What finds the device plugin's configuration, whose name ends with what is in it."""
    path = f"/api/v1/namespaces/{machine.namespace}/configmaps"

    def find(client: Client) -> Object:
        named = (
            each["metadata"]["name"]
            for each in client.list(path)[0]
            if "device-plugin-config-" in each["metadata"]["name"]
        )
        return object_at(f"{path}/{next(named)}")(client)

    return find


def served(*definitions: tuple[str, str, str, str]) -> Change:
    """Kinds of custom resources, each by group, version, kind and plural, that take anything."""

    def are_there(client: Client) -> list[bool]:
        paths = {each.path() for each in client.kinds()}
        return [
            f"/apis/{group}/{version}/{plural}" in paths
            for group, version, _, plural in definitions
        ]

    @contextmanager
    def made(client: Client) -> Iterator[None]:
        given = [_definition(*each) for each in definitions]
        for one in given:
            client.apply(one)
        wait_until(lambda: all(are_there(client)))
        try:
            yield
        finally:
            for one in given:
                client.delete(client.path_of(one))
            wait_until(lambda: not any(are_there(client)))

    return made


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> None:
    """Return once something holds, which it has to in time."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def _definition(group: str, version: str, kind: str, plural: str) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    of_version = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    is_cluster_wide = kind in {"NodePool", "NodeClaim", "NodeOverlay", "ClusterQueue"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster" if is_cluster_wide else "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [of_version],
        },
    }
