"""The values of expressions, as far as they are constant."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown
from eks_gpushare.lint.hcl.functions import call
from eks_gpushare.lint.hcl.names import (
    MISTAKE,
    Names,
    OfTemplate,
    Within,
    are_same,
    got,
    in_turn,
    is_value,
    literal_number,
    no_mistake,
    parted,
)
from eks_gpushare.lint.hcl.operators import binary, negative, opposite
from eks_gpushare.lint.hcl.syntax import json_place, template
from eks_gpushare.lint.hcl.templates import text_of, unescaped
from eks_gpushare.lint.hcl.values import (
    HclList,
    HclObject,
    OpenObject,
    Place,
    Text,
    are_groups,
    either,
    files_in,
    has_gaps,
    is_open,
    truth,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.lint.hcl.syntax import Expression, HclText
    from eks_gpushare.manifests.document import Document

_MOST_DEPTH: Final = 120
_MOST_ROUNDS: Final = 2_000
"""Most rounds of a `for`."""


def value_of(expression: Expression, names: Names) -> Any:
    """The value of an expression; `UNKNOWN` where it is not constant. Never raises.

    Args:
        expression: The expression.
        names: What it may refer to.
    """
    if expression.node is not None and expression.source is not None:
        return _computed(expression.source, expression.node, names)
    document, given = expression.document, expression.given
    return given if document is None else _of_json(document, given, expression.path, names)


def _of_json(document: Document, given: Any, path: FieldPath, names: Names) -> Any:
    if isinstance(given, dict):
        made = HclObject()
        for key, each in given.items():
            where = (*path, key)
            named = written(_of_json(document, key, where, names))
            if named is UNKNOWN:
                return UNKNOWN
            value = _of_json(document, each, where, names)
            made.put(named, value, json_place(document, where))
        return made
    if isinstance(given, list):
        listed = HclList()
        for index, each in enumerate(given):
            where = (*path, index)
            listed.put(_of_json(document, each, where, names), json_place(document, where))
        return listed
    if isinstance(given, str) and ("${" in given or "%{" in given):
        read = template(given, json_place(document, path))
        return UNKNOWN if read is None else _computed(*read, names)
    return given


def _computed(source: HclText, node: Node, names: Names) -> Any:
    try:
        return no_mistake(Evaluation(source, names).value(node))
    except RecursionError:
        return UNKNOWN


class Evaluation:
    """The work on expressions of one text.

    Args:
        source: The text.
        names: What they may refer to.
    """

    def __init__(
        self, source: HclText, names: Names, depth: int = 0, mistakes: list[object] | None = None
    ) -> None:
        self._source, self._names, self._depth = source, names, depth
        self._mistakes = [] if mistakes is None else mistakes
        """What Terraform refuses in it, which `try` takes the next for."""

    def value(self, node: Node) -> Any:
        """The value of a node."""
        kind = node.type
        if kind in {"expression", "operation", "collection_value", "template_expr", "for_expr"}:
            return self._operands(node.children)
        if kind == "literal_value":
            return self._literal(node.children[0])
        make = getattr(self, f"_{kind}", None)
        return UNKNOWN if make is None else make(node)

    # --- parts of an expression ------------------------------------------------------------

    def _operands(self, nodes: Sequence[Node]) -> Any:
        """The value of an operand with what follows it: attributes, indexes, splats."""
        nodes = [node for node in nodes if node.type != "comment"]
        if not nodes:
            return UNKNOWN
        if nodes[0].type == "(":
            close = next((i for i, each in enumerate(nodes) if each.type == ")"), len(nodes))
            value, rest = self._operands(nodes[1:close]), nodes[close + 1 :]
        else:
            value, rest = self.value(nodes[0]), nodes[1:]
        return self._followed(value, rest)

    def _followed(self, value: Any, nodes: Sequence[Node]) -> Any:
        for index, node in enumerate(nodes):
            if node.type == "get_attr":
                value = got(value, self._source.text(node.children[-1]))
            elif node.type == "index":
                value = got(value, self._key(node))
            elif node.type == "splat":
                return self._splat(value, node.children[0], nodes[index + 1 :])
            else:
                return UNKNOWN
        if value is MISTAKE:
            self._mistakes.append(value)
        return value if is_value(value) else UNKNOWN

    def _splat(self, value: Any, splat: Node, behind: Sequence[Node]) -> Any:
        if value is MISTAKE or not is_value(value):
            return self._followed(value, ())
        rest = [*splat.children[1:], *behind]
        # What follows `.*` is of each as far as it is attributes, what follows `[*]` all.
        count = sum(1 for _ in takewhile(lambda each: each.type == "get_attr", rest))
        own = rest if splat.type == "full_splat" else rest[:count]
        several = [] if value is None else value if isinstance(value, list) else [value]
        made = HclList(no_mistake(self._followed(each, own)) for each in several)
        return self._followed(made, rest[len(own) :])

    def _key(self, node: Node) -> Any:
        inner = node.children[0]
        if inner.type == "legacy_index":
            return int("".join(filter(str.isdecimal, self._source.text(inner))))
        found = next((child for child in inner.children if child.type == "expression"), None)
        return UNKNOWN if found is None else self.value(found)

    def _literal(self, node: Node) -> Any:
        text = self._source.text(node)
        if node.type == "bool_lit":
            return text == "true"
        if node.type == "null_lit":
            return None
        if node.type == "numeric_lit":
            return literal_number(text)
        return self._quoted(node)

    def _quoted(self, node: Node) -> str:
        """What stands between the quotes, spaces at its ends too, which no node spans."""
        return unescaped(self._source.text(node)[1:-1])

    def _variable_expr(self, node: Node) -> Any:
        return self._names.named(self._source.text(node))

    # --- operators -------------------------------------------------------------------------

    def _conditional(self, node: Node) -> Any:
        parts = parted(node.children, {"?", ":"})
        if len(parts) != 3:  # noqa: PLR2004  (condition, one, other)
            return UNKNOWN
        chosen = self._operands(parts[0])
        decided = truth(chosen)
        if chosen is MISTAKE:
            return MISTAKE
        if chosen is not UNKNOWN and decided is None:
            return UNKNOWN
        if decided is not None:
            return self._operands(parts[1 if decided else 2])
        before = len(self._mistakes)
        one, other = no_mistake(self._operands(parts[1])), self._operands(parts[2])
        del self._mistakes[before:]  # it may be the other that is chosen
        if are_groups(one) and are_groups(other):
            return either(one, other)
        return one if not has_unknown(one) and are_same(one, other) else UNKNOWN

    def _unary_operation(self, node: Node) -> Any:
        sign, *rest = node.children
        value = self._operands(rest)
        return opposite(value) if sign.type == "!" else negative(value)

    def _binary_operation(self, node: Node) -> Any:
        depth = 0
        for index, child in enumerate(node.children):
            depth += (child.type == "(") - (child.type == ")")
            if depth == 0 and child.type in _OPERATORS and index:
                left = self._operands(node.children[:index])
                return binary(
                    child.type,
                    left,
                    lambda: self._operands(node.children[index + 1 :]),  # noqa: B023
                )
        return UNKNOWN

    # --- collections -----------------------------------------------------------------------

    def _tuple(self, node: Node) -> Any:
        made = HclList()
        for child in node.children:
            if child.type == "expression":
                made.put(no_mistake(self.value(child)), self._source.place(child))
        return made

    def _object(self, node: Node) -> Any:
        made = HclObject()
        for child in node.children:
            if child.type != "object_elem":
                continue
            parts = [each for each in child.children if each.type == "expression"]
            if len(parts) != 2:  # noqa: PLR2004  (key and value)
                continue
            key = self._object_key(parts[0])
            if key is UNKNOWN or has_gaps(key):
                made = OpenObject(made, made.places)
            if key is not UNKNOWN:
                made.put(key, no_mistake(self.value(parts[1])), self._source.place(parts[0]))
        return made

    def _object_key(self, node: Node) -> Any:
        children = node.children
        if self._source.text(node) in {"null", "true", "false"} or (
            len(children) == 1 and children[0].type == "variable_expr"
        ):
            return self._source.text(node)
        value = self.value(node)
        # Of a key such as "kubernetes.io/cluster/${var.name}" what it begins with tells enough.
        return value if has_gaps(value) else written(value)

    def _for_tuple_expr(self, node: Node) -> Any:
        made = HclList()
        body = next((child for child in node.children if child.type == "expression"), None)
        rounds = self._rounds(node)
        if rounds is None or body is None:
            return UNKNOWN
        for inner in rounds:
            kept = inner.condition(node)
            if kept is UNKNOWN:
                return UNKNOWN
            if kept:
                made.put(no_mistake(inner.value(body)), self._source.place(body))
        return made

    def _for_object_expr(self, node: Node) -> Any:
        made = HclObject()
        parts = [child for child in node.children if child.type == "expression"]
        rounds = self._rounds(node)
        if rounds is None or len(parts) != 2:  # noqa: PLR2004  (key and value)
            return UNKNOWN
        grouped = any(child.type == "ellipsis" for child in node.children)
        for inner in rounds:
            kept = inner.condition(node)
            key: Any = written(inner.value(parts[0])) if kept else None
            if kept is UNKNOWN or key is UNKNOWN:
                made = OpenObject(made, made.places)
                continue
            if not kept:
                continue
            value, place = no_mistake(inner.value(parts[1])), self._source.place(parts[1])
            if grouped:
                made.setdefault(key, HclList()).put(value, place)
            else:
                made.put(str(key), value, place)
        return made

    def condition(self, node: Node) -> Any:
        """Whether a round of a `for` is kept."""
        found = next((child for child in node.children if child.type == "for_cond"), None)
        if found is None:
            return True
        value = self.value(found.children[-1])
        decided = truth(value)
        return UNKNOWN if decided is None else decided

    def _rounds(self, node: Node) -> Iterator[Evaluation] | None:
        intro = next((child for child in node.children if child.type == "for_intro"), None)
        return None if intro is None else self.rounds(intro)

    def rounds(self, intro: Node) -> Iterator[Evaluation] | None:
        """An evaluation for each round of a `for`; None where they are not known."""
        own = [self._source.text(child) for child in intro.children if child.type == "identifier"]
        over = next((child for child in intro.children if child.type == "expression"), None)
        given = UNKNOWN if over is None else self.value(over)
        if is_open(given) or not isinstance(given, dict | list) or self._depth > _MOST_DEPTH:
            return None
        pairs = in_turn(given)
        if len(pairs) > _MOST_ROUNDS:
            return None
        return (self._with(own, key, value) for key, value in pairs)

    def _with(self, own: Sequence[str], key: Any, value: Any) -> Evaluation:
        named = dict(zip(own, (key, value), strict=False)) if len(own) > 1 else {own[0]: value}
        inner = Within(self._names, named)
        return Evaluation(self._source, inner, self._depth + 1, self._mistakes)

    # --- functions and templates -----------------------------------------------------------

    def _function_call(self, node: Node) -> Any:
        name = self._source.text(node.children[0])
        listed = next(
            (child for child in node.children if child.type == "function_arguments"), None
        )
        parts = [] if listed is None else [e for e in listed.children if e.type == "expression"]
        spread = listed is not None and any(e.type == "ellipsis" for e in listed.children)
        if name in {"try", "can"}:
            return self._tried(name, parts)
        given = [self.value(part) for part in parts]
        if any(each is MISTAKE for each in given):
            return MISTAKE
        if spread and given:
            last = given.pop()
            if not isinstance(last, list):
                return UNKNOWN
            given += last
        if name == "templatefile":
            return self._template_file(given)
        return call(name, given, self._names.files)

    def _tried(self, name: str, parts: Sequence[Node]) -> Any:
        """The first that is no mistake. What is not known may be one."""
        for part in parts:
            before = len(self._mistakes)
            value = self.value(part)
            if len(self._mistakes) > before:
                del self._mistakes[before:]
                continue
            if value is UNKNOWN:
                return UNKNOWN
            return value if name == "try" else True
        return UNKNOWN if name == "try" else False

    def _template_file(self, given: Sequence[Any]) -> Any:
        if len(given) != 2 or not isinstance(given[0], str):  # noqa: PLR2004  (path and names)
            return UNKNOWN
        found = self._names.files.read(given[0])
        if found is None:
            return UNKNOWN
        name, text = found
        names = OfTemplate(self._names.files, given[1] if isinstance(given[1], dict) else {})
        return filled_in(text, name, names, self._depth + 1, self._mistakes)

    def _quoted_template(self, node: Node) -> Any:
        return text_of(node, self._source, self)

    _heredoc_template = _quoted_template


def filled_in(
    text: str,
    where: str | Place,
    names: Names,
    depth: int = 0,
    mistakes: list[object] | None = None,
) -> Any:
    """The text that a template makes, which is a file or stands at a place, with some names."""
    read = template(text, where)
    if read is None or depth > _MOST_DEPTH:
        return UNKNOWN
    made = Evaluation(read[0], names, depth, mistakes).value(read[1])
    if not isinstance(made, str):
        return made
    file = where if isinstance(where, str) else where.file
    at = getattr(made, "at", None) or (lambda line, column: Place(file, line, column))
    return Text(made, at, gaps=has_gaps(made), files=files_in(made) | {file})


_OPERATORS: Final = frozenset((*"+-*/%<>", "==", "!=", "<=", ">=", "&&", "||"))
