"""Values of a program that only an update would tell, and what the lab takes in their place.

A run with made-up answers leaves null where no answer could be made up; a plain preview leaves its
mark of an unknown value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.values import UNKNOWN, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.recording import Resource

_IMAGE = "unknown"
_STANDS_FOR = {"desiredSize": "one node", "image": f"the image {_IMAGE}"}
"""What is taken for a value, by its key; nothing for all others."""
_OF_NODES = ("amiType", "instanceTypes", "labels", "scalingConfig", "taints", "userData")
"""What the lab reads of what makes nodes; of Kubernetes objects it reads all."""


def known_of(resource: Resource) -> Any:
    """The inputs of a resource without what is not known."""
    return _known(plain(resource.inputs))


def unknown_in(resource: Resource) -> list[str]:
    """A sentence for each input of a resource that is not known."""
    found = []
    for path in _unknown(plain(resource.inputs), ()):
        if resource.type.startswith("aws:") and path[0] not in _OF_NODES:
            continue
        at, instead = ".".join(path), _STANDS_FOR.get(path[-1], "nothing")
        found.append(
            f"{at} of {resource.type} {resource.name} is known after an update only; the lab takes "
            f"{instead} in its place."
        )
    return found


def _is_unknown(value: Any) -> bool:
    return value is None or value is UNKNOWN


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        there = {key: _known(item) for key, item in value.items() if not _is_unknown(item)}
        return {**there, "image": _IMAGE} if _is_unknown(value.get("image", "")) else there
    if isinstance(value, list | tuple):
        return [_known(item) for item in value if not _is_unknown(item)]
    return value


def _unknown(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if _is_unknown(value):
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unknown(item, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield from _unknown(item, (*path, str(at)))
