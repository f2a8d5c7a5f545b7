"""What is kept of an object: a cluster has ten thousand pods, of which little is looked at."""

from __future__ import annotations

from typing import Any, Final

from eks_gpushare.inventory.values import at, items

_ANYBODYS: Final = frozenset(("Pod", "Job", "Namespace", "Event"))
"""Kinds of which it does not matter who wrote them."""
_OF_CONTAINERS: Final = ("name", "image", "command", "args", "resources", "restartPolicy")
_CONTAINERS: Final = ("containers", "initContainers")


def slim(given: Any) -> Any:
    """An object without what nothing asks for.

    Of a pod that a controller made, what it takes, where it may be and what it runs is enough: the
    rest stands in the controller, and is judged there.
    """
    kind, metadata = at(given, "kind"), at(given, "metadata")
    if kind == "Node":
        return _without(given, "status", "images")
    if not isinstance(kind, str) or kind not in _ANYBODYS:
        return given
    kept = _without(given, "metadata", "managedFields")
    owners = items(at(metadata, "ownerReferences"))
    spec = at(given, "spec")
    if (
        kind == "Pod"
        and isinstance(spec, dict)
        and any(at(o, "controller") is True for o in owners)
    ):
        kept["spec"] = {
            key: _containers(value) if key in _CONTAINERS else value
            for key, value in spec.items()
            if key != "volumes"
        }
    return kept


def _without(given: Any, part: str, name: str) -> Any:
    inner = at(given, part)
    if not isinstance(inner, dict) or name not in inner:
        return dict(given)
    return {**given, part: {key: value for key, value in inner.items() if key != name}}


def _containers(given: Any) -> Any:
    if not isinstance(given, list):
        return given
    return [
        {key: one[key] for key in _OF_CONTAINERS if key in one} if isinstance(one, dict) else one
        for one in given
    ]
