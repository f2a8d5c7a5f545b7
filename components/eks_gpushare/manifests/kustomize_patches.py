"""Patches of kustomizations: which there are, and what objects each is for.

Source: https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/ (November 2026).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.manifests.strategic_merge import DIRECTIVE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document


_OF_PODS: Final = ("tolerations", "nodeSelector", "affinity", "volumes")


class Patch(NamedTuple):
    """One patch, which is for all objects that its target names."""

    content: Any
    """An object to merge, or a list of operations."""
    target: Any
    """As written, None where the object itself says what it is for."""
    place: FieldPath
    """Where the kustomization names it."""


def written_patches(value: Any) -> Iterator[tuple[FieldPath, Any, str]]:
    """Each patch that is named or written, with its place and its target."""
    for key in ("patches", "patchesJson6902"):
        for number, patch in enumerate(items(at(value, key))):
            for inner in ("path", "patch"):
                written = at(patch, inner)
                if isinstance(written, str) and written.strip():
                    yield (key, number, inner), at(patch, "target"), written
    for number, patch in enumerate(items(at(value, "patchesStrategicMerge"))):
        if isinstance(patch, str) and patch.strip():
            yield ("patchesStrategicMerge", number), None, patch


def as_written(document: Document, place: FieldPath, target: Any) -> Any:
    """A target with its regular expressions, some of which look as if they were to be filled in."""
    if not isinstance(target, dict):
        return target
    raw = {key: document.raw((*place[:-1], "target", key)) for key in target}
    return {key: raw[key] or UNKNOWN if of is UNKNOWN else of for key, of in target.items()}


def unsure(value: Any) -> Any:
    """An object of whose pods it is not known where they go, nor what volumes they have."""
    if isinstance(value, list):
        return [unsure(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {key: unsure(each) for key, each in value.items()}
    return {**made, **dict.fromkeys(_OF_PODS, UNKNOWN)} if "containers" in value else made


def is_for(patch: Patch, value: Any) -> bool:
    """Whether an object is one that a patch means."""
    group, _, version = str(text(at(value, "apiVersion"))).rpartition("/")
    has = {
        "group": group,
        "version": version,
        "kind": str(text(at(value, "kind"))),
        "name": str(text(at(value, "metadata", "name"))),
        "namespace": str(text(at(value, "metadata", "namespace"))),
    }
    if patch.target is None:
        if not isinstance(patch.content, dict):
            return False
        own = patch.content
        return (
            str(text(at(own, "kind"))) == has["kind"]
            and str(text(at(own, "apiVersion"))).rpartition("/")[0] == group
            and at(own, "metadata", "name") == at(value, "metadata", "name")
        )
    for key, given in has.items():
        wanted = at(patch.target, key)
        if wanted is UNKNOWN:
            return False
        if isinstance(wanted, str) and wanted and not _matches(wanted, given):
            return False
    for key, place in (("labelSelector", "labels"), ("annotationSelector", "annotations")):
        selector = at(patch.target, key)
        if isinstance(selector, str) and not _selects(selector, at(value, "metadata", place)):
            return False
    return True


def deletes(patch: Patch) -> bool:
    """Whether a patch takes away the objects that it is for."""
    return isinstance(patch.content, dict) and patch.content.get(DIRECTIVE) == "delete"


def with_its_name(made: Any, given: Any) -> Any:
    """A patched object by the name and kind that it had: a patch with a target changes neither."""
    for key in ("apiVersion", "kind"):
        made = {**made, key: at(given, key)}
    metadata = made.get("metadata")
    if isinstance(metadata, dict) and at(given, "metadata", "name") is not None:
        made = {**made, "metadata": {**metadata, "name": at(given, "metadata", "name")}}
    return made


def _matches(pattern: str, given: str) -> bool:
    """As Kustomize takes targets: regular expressions for the whole of a field."""
    try:
        return re.fullmatch(pattern, given, re.ASCII) is not None
    except re.error:
        return False  # and Kustomize refuses it


def _selects(selector: str, labels: Any) -> bool:
    """Equalities of a selector alone; what has others is taken to select nothing."""
    for label in selector.split(","):
        key, joined, wanted = label.strip().replace("==", "=").partition("=")
        if not joined or key.endswith("!") or str(text(at(labels, key.strip()))) != wanted.strip():
            return False
    return True
