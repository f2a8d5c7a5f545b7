"""What the type of a variable makes of its value.

Attributes that are left out get their default, of `optional(T, default)`; those that the type does
not name are dropped, and a scalar becomes one of its type:
https://developer.hashicorp.com/terraform/language/expressions/type-constraints#conversion-of-complex-types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.evaluating import Evaluation
from eks_gpushare.lint.hcl.values import (
    HclList,
    HclObject,
    has_gaps,
    is_open,
    number,
    place_in,
    truth,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from eks_gpushare.lint.hcl.names import Names
    from eks_gpushare.lint.hcl.syntax import Expression, HclText


def converted(value: Any, kind: Expression, names: Names) -> Any:
    """A value as the variable has it.

    Args:
        value: The value that is given.
        kind: The variable's `type`.
        names: What defaults may refer to, which is nothing but functions.
    """
    if kind.node is None or kind.source is None:
        return value
    return _typed(value, kind.node, kind.source, names)


def _typed(value: Any, node: Node, source: HclText, names: Names) -> Any:
    called = _call_in(node)
    if called is None or value is None or value is UNKNOWN:
        return _scalar(value, source.text(node).strip())
    name = source.text(called.children[0])
    arguments = next((e for e in called.children if e.type == "function_arguments"), None)
    parts = [] if arguments is None else [e for e in arguments.children if e.type == "expression"]
    if parts and name == "object" and isinstance(value, dict):
        return _object(value, parts[0], source, names)
    if parts and name in {"map", "list", "set"}:
        made = _each(value, [parts[0]] * len(value), source, names) if _is_many(value) else value
        return _as_set(made) if name == "set" else made
    if parts and name == "tuple" and isinstance(value, list):
        kinds = _elements(parts[0], "expression")
        return _each(value, kinds, source, names) if len(kinds) == len(value) else value
    return _typed(value, parts[0], source, names) if parts and name == "optional" else value


def _scalar(value: Any, kind: str) -> Any:
    if value is None or isinstance(value, dict | list) or has_gaps(value):
        return value
    made = value
    if kind == "string":
        made = value if isinstance(value, str) else written(value)
    elif kind in {"number", "bool"}:
        made = number(value) if kind == "number" else truth(value)
    return value if made is None else made


def _is_many(value: Any) -> bool:
    return isinstance(value, dict | list)


def _each(value: Any, kinds: Sequence[Node], source: HclText, names: Names) -> Any:
    """What a map, a list, a set or a tuple holds, each of its type."""
    if isinstance(value, dict):
        made = type(value)() if isinstance(value, HclObject) else HclObject()
        for (key, each), kind in zip(value.items(), kinds, strict=True):
            made.put(key, _typed(each, kind, source, names), place_in(value, key))
        return made
    listed = HclList()
    for (index, each), kind in zip(enumerate(value), kinds, strict=True):
        listed.put(_typed(each, kind, source, names), place_in(value, index))
    return listed


def _as_set(value: Any) -> Any:
    """Texts in their order, each once; anything else as it is."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return value
    found = {each: place_in(value, index) for index, each in enumerate(value)}
    return HclList(sorted(found), [found[each] for each in sorted(found)])


def _object(value: dict[str, Any], node: Node, source: HclText, names: Names) -> Any:
    made = type(value)() if isinstance(value, HclObject) else HclObject()
    for elem in _elements(node):
        key_node, type_node = (child for child in elem.children if child.type == "expression")
        key = source.text(key_node).strip('"')
        if key in value and value[key] is not None:
            typed = _typed(value[key], type_node, source, names)
            made.put(key, typed, place_in(value, key))
        elif not is_open(value):
            default = _default(type_node, source, names)
            made[key] = _typed(default, type_node, source, names)
    return made


def _elements(node: Node, kind: str = "object_elem") -> list[Node]:
    """The parts of an object, or of a tuple by its kind of parts."""
    found: list[Node] = []
    waiting = list(node.children)
    while waiting:
        each = waiting.pop(0)
        if each.type == kind:
            found.append(each)
        elif each.type in {"collection_value", "object", "tuple"}:
            waiting += each.children
    return found


def _default(node: Node, source: HclText, names: Names) -> Any:
    called = _call_in(node)
    if called is None or source.text(called.children[0]) != "optional":
        return None
    arguments = next((e for e in called.children if e.type == "function_arguments"), None)
    parts = [] if arguments is None else [e for e in arguments.children if e.type == "expression"]
    return Evaluation(source, names).value(parts[1]) if len(parts) > 1 else None


def _call_in(node: Node) -> Node | None:
    return next((child for child in node.children if child.type == "function_call"), None)
