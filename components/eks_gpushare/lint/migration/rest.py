"""What of a document was neither taken over nor listed yet, so that nothing is lost in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.values import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.lint.migration.moved import Moved
    from eks_gpushare.manifests.document import Document

_OF_ANY = ("apiVersion", "kind", "status")
_OF_OBJECTS = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation")
_OPENED = ((), ("metadata",), ("spec",))
"""What is listed by its keys, although nothing of it is known."""
_GROUPS = ("eksctl.io", "karpenter.sh", "karpenter.k8s.aws")


def leave_rest(document: Document, moved: Moved) -> None:
    """List every key of eksctl's and Karpenter's documents that nothing has dealt with.

    Args:
        document: The document.
        moved: What was taken over and listed.
    """
    group = str(at(document.value, "apiVersion")).partition("/")[0]
    if group not in _GROUPS:
        return
    known = moved.known.get(id(document.value), set())
    source = Source(str(at(document.value, "kind")), document)
    for path in list(_unknown(document.value, (), known)):
        if path[0] in _OF_ANY or (path[0] == "metadata" and path[1] in _OF_OBJECTS):
            continue
        what = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        moved.leave(source, path, what.removeprefix("."), "A stack file has no counterpart for it.")


def _unknown(value: Any, path: FieldPath, known: set[FieldPath]) -> Iterator[FieldPath]:
    """The highest places below one that hold nothing that is known."""
    if any(path[: len(each)] == each for each in known if each):
        return
    within = [each for each in known if each[: len(path)] == path]
    if path not in _OPENED and not within:
        if value not in (None, {}, []):
            yield path
        return
    listed = enumerate(value) if isinstance(value, list) else ()
    for key, item in value.items() if isinstance(value, dict) else listed:
        yield from _unknown(item, (*path, key), known)
