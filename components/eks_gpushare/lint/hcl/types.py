"""What the type of a variable gives for attributes that are left out: `optional(T, default)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.evaluating import Evaluation
from eks_gpushare.lint.hcl.values import HclList, HclObject, is_open, place_in

if TYPE_CHECKING:
    from tree_sitter import Node

    from eks_gpushare.lint.hcl.names import Names
    from eks_gpushare.lint.hcl.syntax import Expression, HclText


def with_defaults(value: Any, kind: Expression, names: Names) -> Any:
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
        return value
    name = source.text(called.children[0])
    arguments = next((e for e in called.children if e.type == "function_arguments"), None)
    parts = [] if arguments is None else [e for e in arguments.children if e.type == "expression"]
    if not parts:
        return value
    if name == "object" and isinstance(value, dict):
        return _object(value, parts[0], source, names)
    if name in {"map", "list", "set"}:
        return _each(value, parts[0], source, names)
    return _typed(value, parts[0], source, names) if name == "optional" else value


def _each(value: Any, node: Node, source: HclText, names: Names) -> Any:
    """What a map, a list or a set holds, each of one type."""
    if isinstance(value, dict):
        made = type(value)() if isinstance(value, HclObject) else HclObject()
        for key, each in value.items():
            made.put(key, _typed(each, node, source, names), place_in(value, key))
        return made
    listed = HclList()
    for index, each in enumerate(value if isinstance(value, list) else ()):
        listed.put(_typed(each, node, source, names), place_in(value, index))
    return listed if isinstance(value, list) else value


def _object(value: dict[str, Any], node: Node, source: HclText, names: Names) -> Any:
    made = type(value)() if isinstance(value, HclObject) else HclObject()
    for key, each in value.items():
        made.put(key, each, place_in(value, key))
    for elem in _elements(node):
        key_node, type_node = (child for child in elem.children if child.type == "expression")
        key = source.text(key_node).strip('"')
        if key in value and value[key] is not None:
            made[key] = _typed(value[key], type_node, source, names)
        elif not is_open(value):
            default = _default(type_node, source, names)
            made[key] = _typed(default, type_node, source, names)
    return made


def _elements(node: Node) -> list[Node]:
    found: list[Node] = []
    waiting = list(node.children)
    while waiting:
        each = waiting.pop(0)
        if each.type == "object_elem":
            found.append(each)
        elif each.type in {"collection_value", "object"}:
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
