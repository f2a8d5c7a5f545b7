"""Patches of Kubernetes objects, as Kustomize applies them.

Strategic merge: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
with the merge keys of the API's own types; of other kinds lists are replaced, as by a JSON merge
patch. JSON patch: RFC 6902.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "imagePullSecrets": ("name",),
    "resourceClaims": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "port"),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey",),
}
"""Lists that are merged, by the key of their items; all others are replaced, tolerations too."""
_BUILT_IN: Final = ("", "apps", "batch", "autoscaling", "policy", "networking.k8s.io")
DIRECTIVE: Final = "$patch"
_ANNOTATIONS: Final = ["metadata", "annotations"]
"""Where Kustomize has some of its own while it builds, so that there are any."""


class PatchError(Exception):
    """A patch that does not go with the object."""


def merged(given: Any, patch: Any) -> Any:
    """An object with a strategic merge patch.

    Args:
        given: The object.
        patch: The patch, which is an object of the same kind with what is to change.
    """
    version = str(given.get("apiVersion", "")) if isinstance(given, dict) else ""
    built_in = version.rpartition("/")[0] in _BUILT_IN
    return _merged(given, patch, built_in=built_in)


def _merged(given: Any, patch: Any, *, built_in: bool) -> Any:
    if not isinstance(patch, dict):
        return patch
    if patch.get(DIRECTIVE) == "replace" or not isinstance(given, dict):
        return _plain(patch)
    made = dict(given)
    for key, value in patch.items():
        if key == DIRECTIVE or key.startswith(("$retainKeys", "$setElementOrder")):
            continue
        if value is None or (isinstance(value, dict) and value.get(DIRECTIVE) == "delete"):
            made.pop(key, None)
        elif isinstance(value, list) and built_in and key in _KEYS:
            made[key] = _merged_list(made.get(key), value, _KEYS[key])
        else:
            made[key] = _merged(made.get(key), value, built_in=built_in)
    return made


def _merged_list(given: Any, patch: Sequence[Any], keys: Sequence[str]) -> list[Any]:
    if any(isinstance(entry, dict) and entry.get(DIRECTIVE) == "replace" for entry in patch):
        return [entry for entry in patch if not (isinstance(entry, dict) and DIRECTIVE in entry)]
    made = list(given) if isinstance(given, list) else []
    for item in patch:
        key = next((key for key in keys if isinstance(item, dict) and key in item), None)
        if key is None:
            made.append(item)
            continue
        at = next(
            (
                n
                for n, entry in enumerate(made)
                if isinstance(entry, dict) and entry.get(key) == item[key]
            ),
            None,
        )
        if item.get(DIRECTIVE) == "delete":
            made = [entry for n, entry in enumerate(made) if n != at]
        elif at is None:
            made.append(_plain(item))
        else:
            made[at] = _merged(made[at], item, built_in=True)
    return made


def _plain(value: Any) -> Any:
    """A value of a patch without its directives and what it takes away."""
    if isinstance(value, dict):
        return {
            key: _plain(item)
            for key, item in value.items()
            if key != DIRECTIVE and item is not None
        }
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def patched(given: Any, operations: Sequence[Any]) -> Any:
    """An object with a JSON patch.

    Raises:
        PatchError: If an operation is none, or names a place that is not there, or if no object is
            left.
    """
    made = copy.deepcopy(given)
    for operation in operations:
        if not isinstance(operation, dict):
            raise PatchError("an operation is no mapping")
        name, path = operation.get("op"), _steps(operation.get("path"))
        if name in ("add", "replace", "test"):
            if "value" not in operation:
                raise PatchError(f"{name} of {operation.get('path')} has no value")
            if name != "test":
                made = _put(made, path, copy.deepcopy(operation["value"]), adds=name == "add")
        elif name == "remove":
            made = _taken(made, path)
        elif name in ("move", "copy"):
            origin = _steps(operation.get("from"))
            value = copy.deepcopy(_at(made, origin))
            made = _taken(made, origin) if name == "move" else made
            made = _put(made, path, value, adds=True)
        else:
            if not isinstance(name, str):
                raise PatchError("what an operation does is not known")
            raise PatchError(f"{name} is no operation of a JSON patch")
    if not isinstance(made, dict):
        raise PatchError("it leaves no object")
    return made


def _steps(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchError(f"{pointer} is no JSON pointer; one begins with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _at(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and (index := _index(step, len(value) - 1)) is not None:
            value = value[index]
        else:
            raise PatchError(f"/{'/'.join(steps)} is not there")
    return value


def _index(step: str, most: int) -> int | None:
    if step.isascii() and step.isdecimal() and int(step) <= most:
        return int(step)
    return None


def _put(value: Any, steps: Sequence[str], new: Any, *, adds: bool) -> Any:
    if not steps:
        return new
    if list(steps[:-1]) == _ANNOTATIONS and isinstance(value.get("metadata"), dict):
        value["metadata"].setdefault("annotations", {})
    above, last = _at(value, steps[:-1]), steps[-1]
    if isinstance(above, dict):
        above[last] = new  # also by `replace` what was not there
    elif isinstance(above, list) and adds:
        index = len(above) if last == "-" else _index(last, len(above))
        if index is None:
            raise PatchError(f"/{'/'.join(steps)} is beyond the list")
        above.insert(index, new)
    elif isinstance(above, list) and (index := _index(last, len(above) - 1)) is not None:
        above[index] = new
    else:
        raise PatchError(f"/{'/'.join(steps)} is not there")
    return value


def _taken(value: Any, steps: Sequence[str]) -> Any:
    _at(value, steps)
    if not steps:
        raise PatchError("it takes the whole object away")
    above, last = _at(value, steps[:-1]), steps[-1]
    del above[int(last) if isinstance(above, list) else last]
    return value
