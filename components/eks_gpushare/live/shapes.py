"""Objects made as Kubernetes makes them, whoever wrote the file that they came from.

An API server answers with nothing else. A dump may have been filtered, cut or edited; so that no
check has to ask of every field what it is, what is not of its type is left out here, once, and that
is told. Only fields that the checks of `live` read themselves are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.live.objects import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eks_gpushare.live.pods import Object

_MOST_DIGITS: Final = 18
"""Of a number, beyond which none of a cluster goes."""


class _Fields(NamedTuple):
    """An object with known fields, of which others may be there too."""

    fields: Mapping[str, Shape]
    needed: tuple[str, ...] = ()
    """Those without which it is nothing."""
    given: tuple[tuple[str, Any], ...] = ()
    """What stands where a field is missing."""


class _Each(NamedTuple):
    """A list."""

    of: Shape


class _Map(NamedTuple):
    """A mapping of any keys."""

    of: Shape


Shape: TypeAlias = "_Fields | _Each | _Map | Callable[[Any], bool]"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_amount(value: Any) -> bool:
    found = quantity(str(value))  # of nothing else the text is one
    return found is not None and abs(found) < 10**_MOST_DIGITS


_TEXTS: Final = _Map(_is_text)
_AMOUNTS: Final = _Map(_is_amount)
_METADATA: Final = _Fields(
    {
        "name": _is_text,
        "namespace": _is_text,
        "creationTimestamp": _is_text,
        "deletionTimestamp": _is_text,
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "ownerReferences": _Each(
            _Fields(
                {"kind": _is_text, "name": _is_text, "controller": _is_switch}, ("kind", "name")
            )
        ),
        "managedFields": _Each(
            _Fields({"manager": _is_text, "time": _is_text, "fieldsV1": _is_object})
        ),
    }
)
_CONDITIONS: Final = _Each(
    _Fields(
        dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), _is_text),
        ("type", "status"),
    )
)
_EXPRESSIONS: Final = _Each(
    _Fields({"key": _is_text, "operator": _is_text, "values": _Each(_is_text)}, ("key", "operator"))
)
_RESOURCES: Final = _Fields({"limits": _AMOUNTS, "requests": _AMOUNTS})
_CONTAINERS: Final = _Each(
    _Fields({"name": _is_text, "restartPolicy": _is_text, "resources": _RESOURCES})
)
_POD_SPEC: Final = _Fields(
    {
        "nodeName": _is_text,
        "containers": _CONTAINERS,
        "initContainers": _CONTAINERS,
        "resources": _RESOURCES,
        "overhead": _AMOUNTS,
        "nodeSelector": _TEXTS,
        "tolerations": _Each(_is_object),
        "schedulingGates": _Each(_Fields({"name": _is_text}, ("name",))),
        "affinity": _Fields(
            {
                "nodeAffinity": _Fields(
                    {
                        "requiredDuringSchedulingIgnoredDuringExecution": _Fields(
                            {
                                "nodeSelectorTerms": _Each(
                                    _Fields(
                                        {
                                            "matchExpressions": _EXPRESSIONS,
                                            "matchFields": _EXPRESSIONS,
                                        }
                                    )
                                )
                            }
                        )
                    }
                )
            }
        ),
    },
    given=(("containers", ()),),
)
_STATES: Final = _Each(_Fields({"state": _Map(_is_object), "lastState": _Map(_is_object)}))
_POD: Final = _Fields(
    {
        "metadata": _METADATA._replace(given=(("namespace", "default"),)),
        "spec": _POD_SPEC,
        "status": _Fields(
            {
                **dict.fromkeys(("phase", "reason", "message"), _is_text),
                "conditions": _CONDITIONS,
                "initContainerStatuses": _STATES,
                "containerStatuses": _STATES,
            }
        ),
    },
    given=(("spec", {"containers": ()}), ("status", {})),
)
_NODE: Final = _Fields(
    {
        "metadata": _METADATA,
        "spec": _Fields(
            {
                "unschedulable": _is_switch,
                "taints": _Each(
                    _Fields(
                        {"key": _is_text, "value": _is_text, "effect": _is_text}, ("key", "effect")
                    )
                ),
            }
        ),
        "status": _Fields(
            {"allocatable": _AMOUNTS, "capacity": _AMOUNTS, "conditions": _CONDITIONS}
        ),
    },
    given=(("spec", {}), ("status", {})),
)
_OTHER: Final = _Fields(
    {
        "metadata": _METADATA,
        "spec": _Fields({"template": _Fields({"spec": _POD_SPEC})}),
        "status": _Fields({"conditions": _CONDITIONS}),
    }
)
_SHAPES: Final[Mapping[str, _Fields]] = {
    "Node": _NODE,
    "Pod": _POD,
    "ConfigMap": _Fields({"metadata": _METADATA, "data": _TEXTS}),
    **dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), _OTHER),
}
"""By kind; of others only what all have is looked at."""
_ANY: Final = _Fields({"metadata": _METADATA})
_NOTHING: Final = object()
"""What a value is that is not of its shape."""


def in_shape(kind: str, objects: Iterable[Object]) -> tuple[tuple[Object, ...], str]:
    """Objects of a kind without what none of it has, and what that was, empty where all was well.

    Args:
        kind: Their kind.
        objects: As they were read.
    """
    shape = _SHAPES.get(kind, _ANY)
    kept, odd = [], []
    for given in objects:
        lost: list[str] = []
        kept.append(_shaped(given, shape, "", lost))
        if lost:
            odd.append((name_of(given), lost[0]))
    if not odd:
        return tuple(kept), ""
    (name, path), more = odd[0], len(odd) - 1
    others = f" and of {more} more" if more else ""
    return tuple(kept), f"{path} of {name}{others} is not as Kubernetes writes it, and is left out"


def _shaped(value: Any, shape: Shape, path: str, lost: list[str]) -> Any:
    """A value as it is where it has its shape, else without what has not.

    Args:
        value: The value.
        shape: What it has to be.
        path: Where it stands.
        lost: Takes where something was left out.
    """
    if isinstance(shape, _Fields):
        return _with_fields(value, shape, path, lost)
    if isinstance(shape, _Each):
        return _list_of(value, shape, path, lost)
    if isinstance(shape, _Map):
        return _mapping_of(value, shape, path, lost)
    if shape(value):
        return value
    lost.append(path)
    return _NOTHING


def _with_fields(value: Any, shape: _Fields, path: str, lost: list[str]) -> Any:
    if not isinstance(value, dict):
        lost.append(path)
        return _NOTHING
    changed: dict[str, Any] = {}
    for key, of in shape.fields.items():
        if value.get(key) is None:  # written or not
            if key in value:
                changed[key] = _NOTHING
            continue
        found = _shaped(value[key], of, f"{path}.{key}" if path else key, lost)
        if found is not value[key]:
            changed[key] = found
    if changed:
        value = {**value, **changed}
        value = {key: inner for key, inner in value.items() if inner is not _NOTHING}
    missing = {key: default for key, default in shape.given if key not in value}
    if missing:
        value = {**value, **missing}
    if any(key not in value for key in shape.needed):
        lost.append(path)
        return _NOTHING
    return value


def _list_of(value: Any, shape: _Each, path: str, lost: list[str]) -> Any:
    if not isinstance(value, list | tuple):
        lost.append(path)
        return _NOTHING
    found = [_shaped(inner, shape.of, f"{path}[{n}]", lost) for n, inner in enumerate(value)]
    if all(one is other for one, other in zip(found, value, strict=True)):
        return value
    return [inner for inner in found if inner is not _NOTHING]


def _mapping_of(value: Any, shape: _Map, path: str, lost: list[str]) -> Any:
    if not isinstance(value, dict):
        lost.append(path)
        return _NOTHING
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if not isinstance(key, str):
            lost.append(path)
        elif inner is not None:
            one = _shaped(inner, shape.of, path, lost)
            if one is not _NOTHING:
                found[key] = one
    same = len(found) == len(value) and all(found[key] is value[key] for key in found)
    return value if same else found
