"""Images that kustomizations give pods: `api/filters/imagetag` of kubernetes-sigs/kustomize.

Argo CD writes them as one text each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LISTS: Final = ("containers", "initContainers")


class _Image(NamedTuple):
    name: str
    tag: str
    digest: str


def with_images(value: Any, images: Any) -> Any:
    """An object with the images that a kustomization has for the names of its own.

    Args:
        value: The object.
        images: As written in a kustomization, or in an Application of Argo CD.
    """
    entries = [*_entries(images)]
    return _changed(value, entries) if entries else value


def _entries(images: Any) -> Iterator[dict[str, Any]]:
    for each in items(images):
        if isinstance(each, dict):
            yield each
        elif isinstance(each, str):
            name, _, new = each.rpartition("=")
            made = _parted(new)
            told = {"name": name or made.name, "newTag": made.tag, "digest": made.digest}
            yield {**told, "newName": made.name if name else ""}


def _changed(value: Any, entries: Sequence[dict[str, Any]]) -> Any:
    if isinstance(value, list):
        return [_changed(each, entries) for each in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, inner in value.items():
        given = _changed(inner, entries)
        if key in _LISTS and isinstance(given, list):
            given = [_container(each, entries) for each in given]
        made[key] = given
    return made


def _container(given: Any, entries: Sequence[dict[str, Any]]) -> Any:
    image = at(given, "image")
    if not isinstance(image, str):
        return given
    for entry in entries:
        image = _replaced(image, entry)
        if image is UNKNOWN:
            break
    return {**given, "image": image}


def _replaced(image: str, entry: dict[str, Any]) -> Any:
    own = _parted(image)
    if at(entry, "name") != own.name:
        return image
    told = [text(at(entry, key)) for key in ("newName", "newTag", "digest", "tagSuffix")]
    if UNKNOWN in told:
        return UNKNOWN
    name, tag, digest, suffix = ("" if each is None else str(each) for each in told)
    if not tag and not digest:
        tag, digest = own.tag, own.digest
    tag = f"{tag}{suffix}" if tag else ""
    named = f"{name or own.name}:{tag}" if tag else name or own.name
    return f"{named}@{digest}" if digest else named


def _parted(image: str) -> _Image:
    whole, _, digest = image.partition("@")
    path, colon, tag = whole.rpartition(":")
    if not colon or "/" in tag:
        path, tag = whole, ""
    return _Image(path, tag, digest)
