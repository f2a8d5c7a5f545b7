"""Write docs/component-reference.md from the docstrings of the components and their arguments.

    python tools/docs/component_reference.py

The sources are parsed and not imported: what an argument is called, its type and the sentence
under it are all in the text.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "components" / "eks_gpushare"
PAGE = ROOT / "docs" / "component-reference.md"

MODULES = (
    *("environment", "network", "cluster", "system_nodes"),
    *("gpu_pool", "device_plugin", "gpu_operator"),
    *("karpenter", "karpenter_pool"),
)
"""Modules of the components, in the order of the page."""

_HEAD = """# Component reference

Arguments and outputs of each component, and of the dictionaries inside them. Written from the
docstrings by `tools/docs/component_reference.py`. [Components](components.md) has the examples.

Arguments are typed dictionaries: plain `dict`s will do, and a type checker knows the keys. Name the
types of `eks_gpushare.args` for parts that are put together before. `Input` means that an output of
another resource is taken too; everything else decides which resources there are and has to be a
plain value. Wrong arguments raise one `pulumi.InputPropertiesError` that names every wrong field.
"""
_WRAPPER = re.compile(r"NotRequired\[(.*)\]")


@dataclass(frozen=True)
class Field:
    """One argument or output."""

    name: str
    type: str
    required: bool
    text: str


def page() -> str:
    """The whole page."""
    plain = [*_classes("args/__init__"), *_classes("args/catalog"), *_classes("args/autoscaling")]
    names = {node.name for node in plain}
    sections = [_component(module, names) for module in MODULES]
    nested = "\n".join(_dictionary(node, names) for node in plain)
    return f"{_HEAD}\n{''.join(sections)}## Dictionaries inside them\n\n{nested}"


def _classes(module: str) -> list[ast.ClassDef]:
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    return [n for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]


def _component(module: str, names: set[str]) -> str:
    arguments, component = _classes(module)
    text = inspect.cleandoc(ast.get_docstring(component) or "")
    parts = [f"## {component.name}\n\nType `eks-gpushare:index:{component.name}`. {text}\n"]
    inherited = [ast.unparse(base).removeprefix("plain.") for base in arguments.bases]
    above = [base for base in inherited if base in names]
    if above:
        parts.append(f"All keys of {_linked(above[0], names)}, and:\n")
    parts.append(_table("argument", _fields(arguments), names, required=True))
    parts.append(_table("output", _fields(component), names, required=False))
    if properties := _properties(component):
        parts.append("In a Python program also:\n")
        parts.append(_table("attribute", properties, names, required=False))
    return "\n".join(parts) + "\n"


def _dictionary(node: ast.ClassDef, names: set[str]) -> str:
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    return f"### {node.name}\n\n{text}\n\n{_table('key', _fields(node), names, required=True)}"


def _fields(node: ast.ClassDef) -> list[Field]:
    found = []
    for item, below in zip(node.body, node.body[1:], strict=False):
        if not isinstance(item, ast.AnnAssign):
            continue
        given = _type(item.annotation)
        wrapped = _WRAPPER.fullmatch(given)
        value = below.value if isinstance(below, ast.Expr) else None
        text = value.value if isinstance(value, ast.Constant) else ""
        sentence = " ".join(str(text).split())
        kind = wrapped[1] if wrapped else given
        found.append(Field(ast.unparse(item.target), kind, wrapped is None, sentence))
    return found


def _properties(node: ast.ClassDef) -> list[Field]:
    """Public attributes that are plain values and no outputs."""
    found = []
    for item in node.body:
        decorators = [ast.unparse(each) for each in getattr(item, "decorator_list", ())]
        if isinstance(item, ast.FunctionDef) and decorators == ["property"]:
            text = " ".join((ast.get_docstring(item) or "").split())
            found.append(Field(item.name, _type(item.returns), required=False, text=text))
    return found


def _type(annotation: ast.expr | None) -> str:
    text = ast.unparse(annotation) if annotation else ""
    return text.replace("pulumi.", "").replace("plain.", "")


def _table(title: str, fields: list[Field], names: set[str], *, required: bool) -> str:
    extra = " required |" if required else ""
    rows = [f"| {title} | type |{extra} |", f"|---|---|{'---|' if required else ''}---|"]
    for field in fields:
        needed = f" {'yes' if field.required else ''} |" if required else ""
        text = field.text.replace("|", "\\|")
        rows.append(f"| `{field.name}` | {_linked(field.type, names)} |{needed} {text} |")
    return "\n".join(rows) + "\n"


def _linked(kind: str, names: set[str]) -> str:
    """A type as code, with a link where it is one of the dictionaries."""
    inner = next((name for name in re.findall(r"\w+", kind) if name in names), None)
    return f"[`{kind}`](#{inner.lower()})" if inner else f"`{kind}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
