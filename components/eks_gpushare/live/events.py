"""Causes as Events on the objects that they are about: the only thing `verify` writes, if asked to.

An Event of a cause keeps its name from look to look, so that one that stays is one Event that is
counted up. What has ended is told no more, and its Event goes after an hour as all of them do.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from eks_gpushare.inventory.values import at, items
from eks_gpushare.live.connection import CannotLookError, in_short
from eks_gpushare.live.kinds import EVENTS_SOURCE, LISTED, OWN_EVENTS
from eks_gpushare.live.listing import MOST_SECONDS, NotListedError, list_of, words_of
from eks_gpushare.live.objects import moment, name_of, namespace_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime

    from eks_gpushare.live.connection import ApiResponse, Server
    from eks_gpushare.live.faults import ClusterFault
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object
    from eks_gpushare.live.verdict import ClusterVerdict

MOST_EVENTS: Final = 100
"""Of one look: the worst ones. All of them stand in what `verify` prints."""
AGAIN_SECONDS: Final = 240.0
"""An Event is counted up so often at most, unless its words change: somebody may look every 15 s,
and each write is one to etcd."""
_MOST_WORDS: Final = 1024
"""Of a note in events.k8s.io/v1, which is the same object."""
_OF_CLUSTER: Final = "kube-system"
"""Namespace whose uid is taken for the cluster's own."""
_DEFAULT: Final = "default"
"""Where Events of objects without a namespace are."""
_WORKLOADS: Final = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "ScaledObject")
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    **{listed.plural: (listed.kind,) for listed in LISTED},
    **{listed.kind.lower(): (listed.kind,) for listed in LISTED},
    "controllers": _WORKLOADS,
    "workloads": _WORKLOADS,
    "pools": ("NodePool",),
}
"""Kinds that the first word of a finding's path may mean, in lower case."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9.-]+")
_OK, _CREATED, _FORBIDDEN, _NOT_FOUND, _CONFLICT = 200, 201, 403, 404, 409


class EventServer(Protocol):
    """Something that takes Events as an API server does."""

    def write(self, method: str, path: str, body: Mapping[str, Any]) -> ApiResponse:
        """Create one by POST, or change one by PATCH.

        Raises:
            OSError: If nobody answers.
        """


class PlannedEvent(NamedTuple):
    """An Event that is to be there."""

    namespace: str
    name: str
    document: Object
    """All of it, as it is where it is new."""


def planned_events(verdict: ClusterVerdict, objects: ClusterObjects) -> Iterator[PlannedEvent]:
    """An Event for each error and warning that is a cause, errors first.

    Args:
        verdict: What was found.
        objects: What was read of the cluster.
    """
    told = [cause for cause in verdict.causes if cause.fault.finding.severity != "info"]
    ranked = sorted(told, key=lambda cause: cause.fault.finding.severity != "error")
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for cause in ranked[:MOST_EVENTS]:
        about = object_of(cause.fault, objects)
        space, kind, name = namespace_of(about), str(at(about, "kind")), name_of(about)
        key = cause.fault.finding.code, kind, space, name
        seen[key] += 1
        yield _event(cause.fault, about, verdict.at, (*key, str(seen[key])))


def _event(fault: ClusterFault, about: Object, now: datetime, key: tuple[str, ...]) -> PlannedEvent:
    finding, space = fault.finding, namespace_of(about)
    mark = hashlib.sha256("\0".join(key).encode()).hexdigest()[:16]
    base = _NOT_IN_NAMES.sub("-", name_of(about).lower())[:200].strip(".-") or "object"
    event_namespace, name, time = space or _DEFAULT, f"{base}.{mark}", _written(now)
    involved = {
        "apiVersion": at(about, "apiVersion"),
        "kind": at(about, "kind"),
        "name": name_of(about),
        "namespace": space,
        "uid": at(about, "metadata", "uid"),
    }
    document: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": event_namespace},
        "involvedObject": {part: value for part, value in involved.items() if value},
        "reason": finding.code,
        "message": _words_of(fault),
        "type": "Warning",
        "source": {"component": EVENTS_SOURCE},
        "reportingComponent": EVENTS_SOURCE,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
    return PlannedEvent(event_namespace, name, document)


def _words_of(fault: ClusterFault) -> str:
    said = f"{fault.finding.message} Fix: {fault.finding.fix}"
    return said if len(said) <= _MOST_WORDS else f"{said[: _MOST_WORDS - 3]}..."


def _written(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S}Z"


def object_of(fault: ClusterFault, objects: ClusterObjects) -> Object:
    """The object that a fault is about: what makes the pods, what its path names, or a node.

    What is about no object that is there, such as a pool without nodes, is about the namespace
    `kube-system`, which stands for the cluster.
    """
    owner = fault.owner
    if owner is not None:
        found = _found(objects, owner.kind, owner.namespace, owner.name)
        if found is not None:
            return found
    path = [str(part) for part in fault.finding.at]
    for words in (path[2:], path):  # a node is a part of its pool
        for kind in _KINDS.get(words[0].lower(), ()) if len(words) > 1 else ():
            space, _, name = words[1].rpartition("/")
            found = _found(objects, kind, space or None, name)
            if found is not None:
                return found
    named = (_found(objects, "Node", None, name) for name in sorted(fault.nodes))
    found = next((node for node in named if node is not None), None)
    found = found or _found(objects, "Namespace", None, _OF_CLUSTER)
    metadata = {"name": _OF_CLUSTER}
    return found or {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _found(objects: ClusterObjects, kind: str, space: str | None, name: str) -> Object | None:
    for given in objects.of(kind):
        if name_of(given) == name and space in {None, namespace_of(given)}:
            return given
    return None


def told_as_events(
    verdict: ClusterVerdict,
    objects: ClusterObjects,
    reader: Server,
    writing: AbstractContextManager[EventServer],
) -> ClusterVerdict:
    """Write Events of causes: those that are there are counted up, the others made.

    Args:
        verdict: What was found.
        objects: What was read of the cluster.
        reader: Where Events of the look before are listed.
        writing: The way on which they are written, opened if there are any.

    Returns:
        The verdict, among whose unknowns is what could not be written.
    """
    planned = list(planned_events(verdict, objects))
    if not planned:
        return verdict
    try:
        there = _there(reader)
        with writing as writer:
            for each in planned:
                _tell(writer, each, there.get((each.namespace, each.name)), verdict.at)
    except (_NotWrittenError, NotListedError, CannotLookError, OSError) as error:
        why = f"Events cannot be written: {in_short(str(error) or repr(error))}"
        return replace(verdict, unknown={**verdict.unknown, "Event": why})
    return verdict


class _NotWrittenError(Exception):
    """An Event is refused; the text says why."""


def _there(reader: Server) -> dict[tuple[str, str], Object]:
    """Events that were written before, by namespace and name.

    Raises:
        NotListedError: If they cannot be listed.
        CannotLookError: If nobody answers.
    """
    written = list_of(reader, OWN_EVENTS, OWN_EVENTS.version, monotonic() + MOST_SECONDS)
    return {(namespace_of(event), name_of(event)): event for event in written}


def _tell(writer: EventServer, planned: PlannedEvent, before: Object | None, now: datetime) -> None:
    """Write one.

    Raises:
        _NotWrittenError: If it is refused.
        OSError: If nobody answers.
    """
    path = f"/api/v1/namespaces/{planned.namespace}/events"
    document = planned.document
    if before is not None:
        last = moment(at(before, "lastTimestamp"))
        is_same = at(before, "message") == document["message"]
        if is_same and last is not None and (now - last).total_seconds() < AGAIN_SECONDS:
            return
        count = at(before, "count")
        changed = {
            "message": document["message"],
            "lastTimestamp": document["lastTimestamp"],
            "count": (count if isinstance(count, int) else 0) + 1,
        }
        answer = writer.write("PATCH", f"{path}/{planned.name}", changed)
        if answer.status == _OK:
            return
        if answer.status != _NOT_FOUND:  # it may have gone meanwhile, after its hour
            raise _NotWrittenError(_refused(answer))
    answer = writer.write("POST", path, document)
    # Its namespace may have gone, and another one may have been quicker.
    if answer.status not in {_OK, _CREATED, _NOT_FOUND, _CONFLICT} and not _is_ending(answer):
        raise _NotWrittenError(_refused(answer))


def _is_ending(answer: ApiResponse) -> bool:
    """Whether a namespace takes nothing new, since it is being deleted."""
    causes = items(at(answer.body, "details", "causes"))
    return any(at(cause, "reason") == "NamespaceTerminating" for cause in causes)


def _refused(answer: ApiResponse) -> str:
    said = words_of(answer)
    if answer.status != _FORBIDDEN:
        return said
    return f"{said.rstrip('.')}; eks-gpushare verify --rbac --events prints the rights"
