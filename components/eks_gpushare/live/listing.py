"""Lists of a cluster's objects: page by page, and no page again that has come."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from time import monotonic
from time import sleep as pause
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.values import at, items
from eks_gpushare.live.claims import names_claims
from eks_gpushare.live.connection import CannotLookError, in_short
from eks_gpushare.live.kinds import LISTED, NEEDED
from eks_gpushare.live.objects import ClusterObjects
from eks_gpushare.live.refusals import is_short_of_pods
from eks_gpushare.live.shapes import in_shape
from eks_gpushare.live.slim import slim
from eks_gpushare.live.stuck_pods import is_of_gpus, is_stuck

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eks_gpushare.live.connection import ApiResponse, Server
    from eks_gpushare.live.kinds import ListedKind, Where
    from eks_gpushare.live.pods import Object

MOST_SECONDS: Final = 120.0
"""After how long what is not read yet counts as unknown."""
PAGE: Final = 500
"""Objects of one answer, as kubectl asks for."""
_TRIES: Final = 4
_LONGEST_WAIT: Final = 10.0
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _GONE = 200, 401, 403, 404, 410
_AGAIN: Final = frozenset((429, 503, 504))
_DISCOVERY: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class NotListedError(Exception):
    """One kind cannot be listed; the text says why."""


def read_cluster(
    server: Server,
    *,
    kinds: Collection[str] | None = None,
    tenants: bool = False,
    most_seconds: float = MOST_SECONDS,
) -> ClusterObjects:
    """All that is looked at of a cluster.

    Args:
        server: Its API server.
        kinds: Kinds that are enough, nodes and pods among them. Default: all that are looked at.
        tenants: Whether to read what holds tenants to their contracts.
        most_seconds: After how long what is not read yet counts as unknown.

    Raises:
        CannotLookError: If it does not answer, or nodes and pods may not be read.
    """
    until, now = monotonic() + most_seconds, datetime.now(tz=UTC)
    served = _served(server)
    found: dict[str, tuple[Object, ...]] = {}
    unread: dict[str, str] = {}
    asked: dict[Where, bool] = {"always": True, "tenants": tenants}
    for listed in LISTED:
        if kinds is not None and listed.kind not in kinds:
            continue
        version = listed.version or served.get((listed.group, listed.plural), "")
        if not version:
            continue  # no such custom resource is here
        if listed.where not in asked:
            asked[listed.where] = _has_a_use(listed.where, found, now)
        if not asked[listed.where]:
            continue
        try:
            objects = list(list_of(server, listed, version, until))
        except NotListedError as error:
            unread[listed.kind] = str(error)
        else:
            read, odd = in_shape(listed.kind, objects)
            found[listed.kind] = (*found.get(listed.kind, ()), *read)
            unread |= {listed.kind: odd} if odd else {}
    for kind in NEEDED:
        if kind not in found:
            raise CannotLookError(f"{server.whence}: {unread[kind]}")
    return ClusterObjects(server.whence, datetime.now(tz=UTC), found, unread, _version(server))


def _has_a_use(where: Where, found: Mapping[str, tuple[Object, ...]], now: datetime) -> bool:
    """Whether what was read so far makes one ask for kinds that are not always looked at."""
    if where == "refusals":
        return any(map(is_short_of_pods, chain(*found.values())))
    if where == "claims":
        return any(map(names_claims, chain(*found.values())))
    return any(is_stuck(pod, now) for pod in filter(is_of_gpus, found.get("Pod", ())))


def _version(server: Server) -> str:
    """What the API server says of itself; empty where it does not."""
    answer = _asked(server, "/version", {})
    return str(at(answer.body, "gitVersion") or "") if answer.status == _OK else ""


def _served(server: Server) -> Mapping[tuple[str, str], str]:
    """The preferred version of each resource of the API groups, in one answer."""
    answer = _asked(server, "/apis", {}, _DISCOVERY)
    if answer.status == _UNAUTHORIZED:
        raise CannotLookError(
            f"{server.whence} does not know who asks (401): the token is expired or of another "
            f"cluster. Log in again, such as by aws eks update-kubeconfig. {words_of(answer)}"
        )
    if answer.status != _OK:
        raise CannotLookError(f"{server.whence} cannot be read: {words_of(answer)}")
    found: dict[tuple[str, str], str] = {}
    for group in items(at(answer.body, "items")):
        for version in items(at(group, "versions")):  # the preferred one comes first
            for resource in items(at(version, "resources")):
                key = (str(at(group, "metadata", "name")), str(at(resource, "resource")))
                found.setdefault(key, str(at(version, "version")))
    return found


def list_of(server: Server, listed: ListedKind, version: str, until: float) -> Iterator[Object]:
    """All objects of a kind, read to the end or not at all.

    Args:
        server: The API server.
        listed: The kind.
        version: Of its API.
        until: By when, on the clock of `monotonic`.

    Raises:
        NotListedError: If they cannot be listed.
        CannotLookError: If nobody answers.
    """
    for _ in range(_TRIES):
        found: list[Object] = []
        follows = ""
        while True:
            query = {"limit": str(PAGE)}
            query |= {"fieldSelector": listed.selector} if listed.selector else {}
            query |= {"continue": follows} if follows else {}
            if monotonic() > until:
                raise NotListedError(f"{listed.plural} are not listed in time")
            answer = _asked(server, listed.path(version), query)
            if answer.status == _GONE:  # the list has become too old: from the start
                break
            if answer.status != _OK:
                raise NotListedError(_why_not(listed, answer))
            api = str(at(answer.body, "apiVersion") or version)
            found += (
                _whole(each, listed.kind, api)
                for each in items(at(answer.body, "items"))
                if isinstance(each, dict)
            )
            follows = str(at(answer.body, "metadata", "continue") or "")
            if not follows:
                yield from found
                return
    raise NotListedError(f"the list of {listed.plural} was too old {_TRIES} times, before its end")


def _whole(given: Any, kind: str, api: str) -> Object:
    """An object with what only its list says, and without what is of no use."""
    metadata = given.get("metadata") or {}
    whole: Object = slim({"apiVersion": api, "kind": kind, **given, "metadata": metadata})
    return whole


def _why_not(listed: ListedKind, answer: ApiResponse) -> str:
    if answer.status == _FORBIDDEN:
        group = f" of {listed.group}" if listed.group else ""
        return (
            f"to list {listed.plural}{group} is not allowed, so it is not known "
            f"{listed.for_}; eks-gpushare verify --rbac prints the rights"
        )
    return f"{listed.plural} cannot be listed: {words_of(answer)}"


def _asked(
    server: Server, path: str, query: Mapping[str, str], accept: str = "application/json"
) -> ApiResponse:
    """An answer, waited for as long as the server is busy.

    Raises:
        CannotLookError: If nobody answers.
    """
    for attempt in range(_TRIES):
        try:
            answer = server.get(path, query, accept)
        except OSError as error:
            if attempt + 1 < _TRIES and isinstance(error, ConnectionError):
                continue
            why = "no answer in time" if isinstance(error, TimeoutError) else str(error)
            raise CannotLookError(f"{server.whence} cannot be read: {why}.") from None
        if answer.status not in _AGAIN or attempt + 1 == _TRIES:
            return answer
        pause(min(answer.retry_after or 2.0**attempt / 2, _LONGEST_WAIT))
    raise AssertionError("the last try returns")


def words_of(answer: ApiResponse) -> str:
    """What an API server says of what it refuses."""
    said = answer.body if isinstance(answer.body, str) else at(answer.body, "message")
    return in_short(str(said or f"HTTP {answer.status}"))
