"""What of a lab is a stack's: kept in the API server, so that any later run can take it away."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare_lab.client import Client, Object

PATH = "/api/v1/namespaces/kube-system/configmaps/eks-gpushare-lab"
"""The ConfigMap that holds it."""

_NAMESPACES = "/api/v1/namespaces/"
_SECRETS = "/api/v1/namespaces/{}/secrets"
_RELEASE = "meta.helm.sh/release-name"
_GONE_SECONDS = 60.0
_IN = "meta.helm.sh/release-namespace"


@dataclass(frozen=True, slots=True)
class InstalledStack:
    """What a stack has on a lab."""

    paths: Sequence[str] = ()
    """Paths of objects, in the order in which they were made."""
    releases: Sequence[tuple[str, str]] = ()
    """Namespace and name of each release that Helm itself has installed."""


def read(client: Client) -> InstalledStack:
    """What the stack of an earlier run has; nothing if there was none."""
    there = client.get(PATH)
    if there is None:
        return InstalledStack()
    data = there["data"]
    releases = json.loads(data.get("releases", "[]"))
    return InstalledStack(json.loads(data["paths"]), [(space, name) for space, name in releases])


def keep(client: Client, inventory: InstalledStack) -> None:
    """Write down what a stack has."""
    namespace, _, name = PATH.removeprefix(_NAMESPACES).split("/")
    kept: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {
            "paths": json.dumps(list(inventory.paths)),
            "releases": json.dumps(list(inventory.releases)),
        },
    }
    client.apply(kept)


def await_gone(client: Client, paths: Sequence[str], *, kept: Sequence[str]) -> None:
    """Wait until objects that were deleted are gone: a namespace takes seconds.

    Args:
        client: the API server.
        paths: of the objects.
        kept: paths among them that were not deleted.

    Raises:
        LabError: If one does not go.
    """
    deadline = time.monotonic() + _GONE_SECONDS
    for path in paths:
        while path not in kept and client.get(path) is not None:
            if time.monotonic() > deadline:
                message = f"{path} of an earlier run does not go within {_GONE_SECONDS:.0f} s"
                raise LabError(f"{message}; `eks-gpushare lab down` makes an end of it")
            time.sleep(0.1)


def remove_releases(client: Client, releases: Sequence[tuple[str, str]]) -> None:
    """Delete what Helm has installed, by the annotations that it gives everything it installs."""
    wanted = set(releases)
    if not wanted:
        return
    for kind in client.kinds():
        try:
            listed = client.get(kind.path()) or {}
        except ApiError:
            continue  # a kind that cannot be listed
        for obj in listed.get("items") or ():
            if _release_of(obj) in wanted:
                metadata = obj["metadata"]
                client.delete(kind.path(metadata.get("namespace"), metadata["name"]))
    for namespace, name in wanted:
        for record in records(client, namespace, name):
            metadata = record["metadata"]
            client.delete(f"{_SECRETS.format(namespace)}/{metadata['name']}")


def _release_of(each: Object) -> tuple[str, str] | None:
    annotations = each["metadata"].get("annotations") or {}
    if _RELEASE not in annotations:
        return None
    return annotations.get(_IN, ""), annotations[_RELEASE]


def records(client: Client, namespace: str, name: str) -> list[Object]:
    """Helm's own record of a release: a Secret for each revision."""
    return client.list(_SECRETS.format(namespace), labelSelector=f"owner=helm,name={name}")[0]
