"""A cluster out of files: what `kubectl get -o yaml`, or `-o json`, printed of it."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from eks_gpushare.documents.reading import STDIN, read_bytes, reason
from eks_gpushare.inventory.values import at
from eks_gpushare.live.connection import CannotLookError, in_short
from eks_gpushare.live.json_lists import read_json
from eks_gpushare.live.kinds import LISTED
from eks_gpushare.live.nodes import NODEPOOL_LABEL
from eks_gpushare.live.objects import ClusterObjects, newest_time
from eks_gpushare.live.shapes import in_shape
from eks_gpushare.live.slim import slim
from eks_gpushare.sharing.kueue import QUEUE_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.live.pods import Object

_MOST_BYTES: Final = 512 * 1024 * 1024
_CHUNK: Final = 1 << 20
_LONGEST_VERSION: Final = 20
_DEEPEST: Final = 1000
_INDENTED: Final = re.compile(r"^ *(?: {500}|(?:[-?:] +){100})", re.MULTILINE)
"""Lines of which a thousand levels may be made without a bracket."""
_ENDINGS: Final = frozenset((".yaml", ".yml", ".json"))
_LABELS: Final = ("metadata", "labels")
_OF_KARPENTER: Final = ("NodePool", "NodeClaim")
_OF_KUEUE: Final = ("Workload",)
"""Kinds that there are where nodes or pods tell of Karpenter or Kueue."""
_HOW: Final = (
    "Write a dump with kubectl get nodes,pods,configmaps,namespaces,resourcequotas,daemonsets,"
    "deployments,statefulsets,jobs --all-namespaces --show-managed-fields -o json."
)


def read_dumps(files: Sequence[str]) -> ClusterObjects:
    """The objects of files, as of the newest time that they tell of.

    Args:
        files: Files, folders, or `-`.

    Raises:
        CannotLookError: If one cannot be read, or they hold no node.
    """
    found: dict[str, dict[tuple[str, str], Object]] = {}
    for name in _files(files):
        for value in _documents(name):
            for given in _objects(value):
                _take(given, found)
    by_kind: dict[str, tuple[Object, ...]] = {}
    unread: dict[str, str] = {}
    for kind, objects in found.items():
        by_kind[kind], odd = in_shape(kind, objects.values())
        unread |= {kind: odd} if odd else {}
    whence = ", ".join(files)
    if not by_kind.get("Node"):
        raise CannotLookError(f"{whence}: no Node is in it. {_HOW}")
    every = (given for objects in by_kind.values() for given in objects)
    unread |= {
        kind: f"the dump has no {kind}, so it is not known {what}"
        for kind, what in _EXPECTED.items()
        if kind not in by_kind
    }
    unread |= _custom_kinds_missing(by_kind)
    return ClusterObjects(whence, newest_time(every) or datetime.now(tz=UTC), by_kind, unread)


def _files(names: Sequence[str]) -> Iterator[str]:
    """The files of folders, and what is named, each once."""
    seen: dict[str, None] = {}
    for name in names:
        folder = Path(name)
        if name == STDIN or not folder.is_dir():
            seen[name] = None
            continue
        within = sorted(file for file in folder.rglob("*") if file.suffix in _ENDINGS)
        if not within:
            raise CannotLookError(f"{name} has no file of YAML or JSON in it. {_HOW}")
        seen |= {str(file): None for file in within}
    yield from seen


def _documents(name: str) -> Iterator[Any]:
    """The documents of a file, read by what is quickest: a dump may have a million lines."""
    try:
        chunks = _chunks(name)
        first = next(chunks, b"")
        every = chain((first,), chunks)
        if first.removeprefix(BOM_UTF8).lstrip()[:1] in {b"{", b"["}:
            yield read_json(every, slim)
        else:
            text = b"".join(every).decode("utf-8-sig")
            _refuse_depth(text)
            for value in yaml.load_all(text, Loader=_Loader):
                _refuse_aliases(value, name)
                yield value
    except OSError as error:
        raise CannotLookError(f"{name} cannot be read: {reason(error)}.") from None
    except RecursionError:
        raise CannotLookError(f"{name} cannot be read: it is nested too deeply.") from None
    except (ValueError, yaml.YAMLError) as error:
        raise CannotLookError(
            f"{name} cannot be read: {in_short(str(error))}. A dump that was cut off says nothing "
            "for sure: write it again."
        ) from None


def _refuse_depth(text: str) -> None:
    """Refuse what is nested so deeply that the loader, which is of C, would end the process.

    Raises:
        RecursionError: If it is.
    """
    if text.count("[") + text.count("{") < _DEEPEST and _INDENTED.search(text) is None:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise RecursionError


def _refuse_aliases(value: Any, name: str) -> None:
    """Refuse what refers to itself, or to a part of itself many times over: no API server does.

    Raises:
        CannotLookError: If it does.
    """
    seen: set[int] = set()
    left = [value]
    while left:
        given = left.pop()
        if not isinstance(given, dict | list) or not given:
            continue
        if id(given) in seen:
            raise CannotLookError(
                f"{name} cannot be read: it has aliases, which kubectl never writes. {_HOW}"
            )
        seen.add(id(given))
        left += given.values() if isinstance(given, dict) else given


def _chunks(name: str) -> Iterator[bytes]:
    """What a file holds; a large one bit by bit.

    Raises:
        OSError: If it cannot be read.
    """
    if name == STDIN or not Path(name).is_file():
        yield read_bytes(name, _MOST_BYTES)
        return
    with Path(name).open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Values of JSON alone: a time stays the text that it is for Kubernetes."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _objects(value: Any) -> Iterator[Any]:
    """The objects of a list, or the one that it is."""
    kind = at(value, "kind")
    listed = at(value, "items")
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(listed, list):
        yield value
        return
    of = kind.removesuffix("List")
    about = {"apiVersion": at(value, "apiVersion"), "kind": of} if of else {}
    for given in listed:
        yield {**about, **given} if isinstance(given, dict) else given


_EXPECTED = {
    "Pod": "which pods run, wait or were refused",
    "DaemonSet": "whether a device plugin is there",
    "ConfigMap": "what the device plugin reads",
}
"""Kinds that every cluster has, so that a dump without them was made without them."""


def _custom_kinds_missing(by_kind: Mapping[str, Sequence[Object]]) -> dict[str, str]:
    """Kinds of Karpenter and Kueue without which a dump was made, though both are there."""
    of_karpenter = any(NODEPOOL_LABEL in (at(node, *_LABELS) or {}) for node in by_kind["Node"])
    of_kueue = any(QUEUE_LABEL in (at(pod, *_LABELS) or {}) for pod in by_kind.get("Pod", ()))
    wanted = [*(_OF_KARPENTER if of_karpenter else ()), *(_OF_KUEUE if of_kueue else ())]
    return {
        listed.kind: f"the dump has no {listed.kind}, so it is not known {listed.for_}: "
        f"ask for {listed.plural}.{listed.group} too"
        for listed in LISTED
        if listed.kind in wanted and listed.kind not in by_kind
    }


def _take(value: Any, found: dict[str, dict[tuple[str, str], Object]]) -> None:
    kind, name = at(value, "kind"), at(value, "metadata", "name")
    if not isinstance(kind, str) or not isinstance(name, str):
        return
    namespace = str(at(value, "metadata", "namespace") or "")
    of_kind = found.setdefault(kind, {})
    before = of_kind.get((namespace, name))
    # Of dumps that overlap the newer one counts, in whichever order they are given.
    if before is None or _written(before) <= _written(value):
        of_kind[namespace, name] = slim(value)


def _written(given: Any) -> int:
    """How late an object was written: a number that grows, by which versions may be compared.

    https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
    """
    version = at(given, "metadata", "resourceVersion")
    is_number = isinstance(version, str) and version.isascii() and version.isdecimal()
    return int(version) if is_number and len(version) <= _LONGEST_VERSION else 0
