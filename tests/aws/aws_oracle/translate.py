"""From inputs of a Pulumi resource to what an API call or a schema takes.

The AWS provider's inputs are AWS's own, written in its own way: names begin in lower case, some
are singular where AWS has a list, a block may be a list of one, tags are a map, and numbers and
booleans may be text. These rules hold for every resource. What differs beyond them is told by a
table of names. What no member takes is an error, so that a new input is never passed over.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.values import UNKNOWN, OutputValue, Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_oracle.shapes import Shape


class NotTakenError(Exception):
    """An input that no member takes, or in a form that it does not take."""


def plain(value: Any) -> Any:
    """A value as the provider gets it. What is null or not known is not sent."""
    if isinstance(value, OutputValue | Secret):
        return plain(value.value)
    if isinstance(value, dict):
        found = {key: plain(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item is not None}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if value is UNKNOWN else value


def member_of(shape: Shape, key: str) -> str | None:
    """The member that an input is meant for: the same name but for case and plural."""
    lower = key.lower()
    for wanted in (lower, f"{lower}s", lower.removesuffix("s"), f"{lower}es"):
        for name in shape.members:
            if name.lower() == wanted:
                return name
    return None


def translate(value: Any, shape: Shape, path: str, names: Mapping[str, str]) -> Any:
    """A value as a member takes it.

    Args:
        value: What `plain` gave.
        shape: The member.
        path: Where it stands among the inputs, with dots; list positions are left away.
        names: Path of an input to the member's name, where the rules do not find it.

    Raises:
        NotTakenError: With the path.
    """
    kind = shape.kind
    if kind == "structure":
        return _structure(value, shape, path, names)
    if kind == "list":
        return _list(value, shape, path, names)
    if kind == "map":
        if isinstance(value, dict):
            return value
        raise _refused(value, kind, path)
    if kind == "text":  # booleans as JSON has them
        return value if isinstance(value, str) else json.dumps(value)
    if kind == "any":
        return json.loads(value) if isinstance(value, str) else value
    return _scalar(value, kind, path)


def _structure(value: Any, shape: Shape, path: str, names: Mapping[str, str]) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise _refused(value, "structure", path)
    found = {}
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        name = names.get(where) or member_of(shape, key)
        if name is None:
            taken = ", ".join(shape.members)
            raise NotTakenError(f"{where} is taken by none of {taken}")
        found[name] = translate(item, shape.members[name], where, names)
    return found


_PAIRS = ({"Key", "Value"}, {"TagKey", "TagValue"})


def _list(value: Any, shape: Shape, path: str, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [translate(item, shape.item, path, names) for item in value]
    if isinstance(value, dict) and set(shape.item.members) in _PAIRS:
        key, content = sorted(shape.item.members)
        return [{key: name, content: text} for name, text in value.items()]
    return [translate(value, shape.item, path, names)]


def _scalar(value: Any, kind: str, path: str) -> Any:
    if kind == "boolean" and value in {"true", "false"}:
        return value == "true"
    if kind == "integer" and isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    wanted: dict[str, tuple[type, ...]] = {
        "boolean": (bool,),
        "integer": (int,),
        "float": (int, float),
        "string": (str,),
    }
    wrong = isinstance(value, bool) and kind != "boolean"
    if wrong or not isinstance(value, wanted[kind]):
        raise _refused(value, kind, path)
    return value


def _refused(value: object, kind: str, path: str) -> NotTakenError:
    return NotTakenError(f"{path} takes a {kind}, not {value!r}")
