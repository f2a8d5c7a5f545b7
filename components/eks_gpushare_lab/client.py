"""A client of the API server, for what the lab does with it.

It speaks HTTP itself, on urllib3: the lab needs strict field validation, the Warning headers of
each answer, status patches and watches that can be stopped, and no typed model of Kubernetes.
A client may be used from several threads at once.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, urlencode

import urllib3
from urllib3.util import Retry, Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from urllib3.response import BaseHTTPResponse

Object: TypeAlias = "dict[str, Any]"
"""A Kubernetes object as JSON data."""

FIELD_MANAGER = "eks-gpushare-lab"
"""Owner of the fields that the lab applies."""

_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_WARNING = re.compile(r'^299 \S+ "((?:[^"\\]|\\.)*)"')
_FAILED = 400
_SECONDS = 30.0


class ApiError(Exception):
    """The API server refused something, in its own words.

    Attributes:
        status: HTTP status, such as 422.
        reason: Kubernetes' reason, such as "Invalid" or "NotFound".
        message: its message.

    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


class UnknownKindError(Exception):
    """The API server serves no such kind; the text names it."""


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """An object as the API server has it now, and what it warned of."""

    object: Object
    """The object."""
    warnings: tuple[str, ...] = ()
    """Texts of the Warning headers."""


@dataclass(frozen=True, slots=True)
class ApiResource:
    """Where the objects of a kind are."""

    base: str
    """Path of the group and version, such as /apis/apps/v1."""
    plural: str
    """Such as deployments."""
    namespaced: bool
    """Whether they are in namespaces."""

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """Path of an object, or of all of them; in all namespaces if none is named."""
        # Names are whatever a manifest says, `a/../b` too; those of RBAC have colons.
        space, called = (quote(given or "", safe=":") for given in (namespace, name))
        inside = f"/namespaces/{space}" if self.namespaced and space else ""
        return f"{self.base}{inside}/{self.plural}" + (f"/{called}" if called else "")


class Client:
    """Reads and writes the objects of one API server as its administrator."""

    def __init__(self, url: str, ca: Path, cert: Path, key: Path, *, connections: int = 16) -> None:
        """Load the certificates; nothing is sent yet.

        Args:
            url: address of the API server.
            ca: certificate of the authority that signed the server's.
            cert: certificate of the administrator.
            key: its key.
            connections: how many are kept open.

        """
        context = ssl.create_default_context(cafile=str(ca))
        context.load_cert_chain(str(cert), str(key))
        self._url = url.rstrip("/")
        self._pool = urllib3.PoolManager(
            num_pools=1,
            maxsize=connections,
            ssl_context=context,
            retries=Retry(0),
            timeout=Timeout(_SECONDS),
        )
        self._kinds: dict[tuple[str, str], ApiResource] = {}
        self._discovering = threading.Lock()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> ApiAnswer:
        """Send a request and return the object that comes back.

        Raises:
            ApiError: If it is refused.
            OSError: If nobody answers.
        """
        response = self._send(method, path, query, body, content_type, accept)
        data = response.data
        _raise_refusal(response.status, data)
        warnings = response.headers.getlist("Warning")
        return ApiAnswer(json.loads(data), tuple(filter(None, map(_warning, warnings))))

    def resource(self, api_version: str, kind: str) -> ApiResource:
        """Where the objects of a kind are.

        Raises:
            UnknownKindError: If the API server serves no such kind.
        """
        found = self._kinds.get((api_version, kind))
        if found is None:
            with self._discovering:
                self._kinds = self._discover()
            found = self._kinds.get((api_version, kind))
        if found is None:
            raise UnknownKindError(f"the API server knows no kind {kind} in {api_version}")
        return found

    def kinds(self) -> Sequence[ApiResource]:
        """Every kind that the API server serves, each in one version."""
        with self._discovering:
            self._kinds = self._discover()
        by_group = {(r.base.rpartition("/")[0], r.plural): r for r in self._kinds.values()}
        return list(by_group.values())

    def get(self, path: str) -> Object | None:
        """An object, or None if there is none."""
        try:
            return self.request("GET", path).object
        except ApiError as error:
            if error.status == 404:  # noqa: PLR2004  (not found)
                return None
            raise

    def list(self, path: str, **query: str) -> tuple[list[Object], str]:
        """The objects of a kind, and the version to watch from."""
        answer = self.request("GET", path, query=query).object
        return answer["items"], answer["metadata"]["resourceVersion"]

    def apply(self, given: Object, *, default_namespace: str = "default") -> ApiAnswer:
        """Apply an object server-side, as strictly as the API server can look at it.

        An object with `generateName` alone is created.
        """
        path = self.path_of(given, default_namespace=default_namespace)
        strict = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
        if "name" not in given.get("metadata", {}):
            return self.request("POST", path, query=strict, body=given)
        query = {**strict, "force": "true"}
        return self.request("PATCH", path, query=query, body=given, content_type=_APPLY)

    def create(self, given: Object) -> ApiAnswer:
        """Create an object with its status, where the kind takes one at creation."""
        path = self.path_of({**given, "metadata": {**given["metadata"], "name": ""}})
        return self.request("POST", path, query={"fieldManager": FIELD_MANAGER}, body=given)

    def patch(self, path: str, change: object) -> ApiAnswer:
        """Merge a change into an object; `path` may end in /status or /scale."""
        query = {"fieldManager": FIELD_MANAGER}
        return self.request("PATCH", path, query=query, body=change, content_type=_MERGE)

    def delete(self, path: str) -> None:
        """Delete an object at once, and what it owns afterwards; one that is not there is fine."""
        query = {"propagationPolicy": "Background", "gracePeriodSeconds": "0"}
        try:
            self.request("DELETE", path, query=query)
        except ApiError as error:
            if error.status != 404:  # noqa: PLR2004  (gone already)
                raise

    def path_of(self, given: Object, *, default_namespace: str = "default") -> str:
        """Path of an object that has its kind and metadata.

        Raises:
            UnknownKindError: If the API server serves no such kind.
        """
        metadata = given.get("metadata") or {}
        namespace = metadata.get("namespace") or default_namespace
        kind = self.resource(str(given.get("apiVersion")), str(given.get("kind")))
        return kind.path(namespace, metadata.get("name"))

    def watch(self, path: str, version: str, **query: str) -> Watching:
        """Watch the objects of a kind from a version on."""
        asked = {
            **query,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
        }
        response = self._send("GET", path, asked, stream=True)
        if response.status >= _FAILED:
            _raise_refusal(response.status, response.data)
        return Watching(response)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        *,
        stream: bool = False,
    ) -> BaseHTTPResponse:
        url = f"{self._url}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            return self._pool.request(
                method,
                url,
                body=None if body is None else json.dumps(body).encode(),
                headers={"Content-Type": content_type, "Accept": accept},
                preload_content=not stream,
                timeout=Timeout(connect=_SECONDS, read=None if stream else _SECONDS),
            )
        except urllib3.exceptions.HTTPError as error:
            raise OSError(f"the API server at {self._url} does not answer: {error}") from error

    def _discover(self) -> dict[tuple[str, str], ApiResource]:
        found: dict[tuple[str, str], ApiResource] = {}
        for root in ("/api", "/apis"):
            listed = self.request("GET", root, accept=_DISCOVERY).object
            for group in listed["items"]:
                name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    label = f"{name}/{version['version']}" if name else version["version"]
                    for resource in version.get("resources", ()):
                        kind = ApiResource(
                            f"{root}/{label}",
                            resource["resource"],
                            resource["scope"] == "Namespaced",
                        )
                        found[label, resource["responseKind"]["kind"]] = kind
        return found


class Watching:
    """A stream of changes, until it ends or `stop` is called from another thread."""

    def __init__(self, response: BaseHTTPResponse) -> None:
        """Take over the response."""
        self._response = response

    def __iter__(self) -> Iterator[Object]:
        rest = b""
        try:
            for part in self._response.stream(65536):
                *lines, rest = (rest + part).split(b"\n")
                yield from (json.loads(line) for line in lines if line)
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            return  # ended or stopped; whoever watches lists anew
        finally:
            self._response.close()

    def stop(self) -> None:
        """End the stream."""
        try:
            self._response.shutdown()
        except (OSError, ValueError, AttributeError, RuntimeError):
            self._response.close()


def _raise_refusal(status: int, data: bytes) -> None:
    if status < _FAILED:
        return
    try:
        said = json.loads(data)
        raise ApiError(status, said.get("reason", ""), said.get("message", ""))
    except (ValueError, AttributeError):
        raise ApiError(status, "", data.decode(errors="replace")[:500]) from None


def _warning(header: str) -> str:
    found = _WARNING.match(header)
    return re.sub(r"\\(.)", r"\1", found.group(1)) if found else header
