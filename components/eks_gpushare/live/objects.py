"""What a cluster said of itself, from its API server or from a dump: plain objects, by kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.values import at, items

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.live.pods import Object


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    """Objects of one cluster, as they were at one moment."""

    whence: str
    """Where they were read: address of an API server, or names of files."""
    at: datetime
    """When."""
    by_kind: Mapping[str, tuple[Object, ...]]
    unread: Mapping[str, str] = field(default_factory=dict)
    """Kinds that could not be read, each with why. What they would show is unknown."""
    version: str = ""
    """Of the API server, such as `v1.35.4-eks-1a2b3c`; empty where it is not known."""

    def of(self, kind: str) -> tuple[Object, ...]:
        """All objects of a kind."""
        return self.by_kind.get(kind, ())

    def all(self) -> Iterator[Object]:
        """Every object, kind by kind."""
        for found in self.by_kind.values():
            yield from found

    def seconds_since(self, time: Any) -> float | None:
        """How long ago a time of an object was; None of what is no time."""
        then = moment(time)
        return None if then is None else (self.at - then).total_seconds()


def moment(time: Any) -> datetime | None:
    """A time as Kubernetes writes it; None of what is none."""
    if not isinstance(time, str):
        return None
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def newest_time(objects: Iterable[Object]) -> datetime | None:
    """The latest time that objects tell of, which is about when a dump of them was made."""
    found = [
        then for given in objects for time in _times(given) if (then := moment(time)) is not None
    ]
    return max(found, default=None)


def _times(given: Object) -> Iterator[Any]:
    yield at(given, "metadata", "creationTimestamp")
    for condition in items(at(given, "status", "conditions")):
        yield at(condition, "lastHeartbeatTime")
        yield at(condition, "lastTransitionTime")


def name_of(given: Object) -> str:
    """The name of an object."""
    return str(at(given, "metadata", "name") or "")


def namespace_of(given: Object) -> str:
    """Its namespace; empty where its kind has none."""
    return str(at(given, "metadata", "namespace") or "")
