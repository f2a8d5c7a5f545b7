"""Write docs/component-reference.md from the docstrings of the components and their arguments.

    python tools/docs/component_reference.py

What an argument is called, its type and the sentence under it are all in the sources.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from argument_sources import Field, bases, classes, dictionaries, fields, type_text
from component_models import COMPONENTS

from eks_gpushare import args

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "component-reference.md"

MODULES = (
    *("environment", "network", "cluster", "system_nodes"),
    *("gpu_pool", "device_plugin", "gpu_operator", "efa_device_plugin"),
    *("karpenter", "karpenter_pool", "cluster_autoscaler"),
    *("shared_workload", "keda", "kueue", "share_verifier", "gpu_metrics", "tenants"),
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


def page() -> str:
    """The whole page."""
    plain = [node for name, node in dictionaries().items() if name in args.__all__]
    names = {node.name for node in plain}
    sections = [_component(module, names) for module in MODULES]
    nested = "\n".join(_dictionary(node, names) for node in plain)
    return f"{_HEAD}\n{''.join(sections)}## Dictionaries inside them\n\n{nested}"


def _component(module: str, names: set[str]) -> str:
    arguments, component = (
        node for node in classes(module) if node.name.removesuffix("Args") in COMPONENTS
    )
    text = inspect.cleandoc(ast.get_docstring(component) or "")
    parts = [f"## {component.name}\n\nType `eks-gpushare:index:{component.name}`. {text}\n"]
    above = [name for name in bases(arguments) if name in names]
    parts += [f"All keys of {_linked(name, names)}, and:\n" for name in above]
    parts.append(_table("argument", _fields(arguments, names), names, required=True))
    parts.append(_table("output", fields(component), names, required=False))
    if properties := _properties(component):
        parts.append("In a Python program also:\n")
        parts.append(_table("attribute", properties, names, required=False))
    return "\n".join(parts) + "\n"


def _dictionary(node: ast.ClassDef, names: set[str]) -> str:
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    return (
        f"### {node.name}\n\n{text}\n\n{_table('key', _fields(node, set()), names, required=True)}"
    )


def _fields(node: ast.ClassDef, told: set[str]) -> list[Field]:
    """The keys of a class, with those of dictionaries above it that the page does not tell of."""
    above = [dictionaries()[name] for name in bases(node) if name not in told]
    return [*(field for base in above for field in _fields(base, told)), *fields(node)]


def _properties(node: ast.ClassDef) -> list[Field]:
    """Public attributes that are plain values and no outputs."""
    found = []
    for item in node.body:
        decorators = [ast.unparse(each) for each in getattr(item, "decorator_list", ())]
        if isinstance(item, ast.FunctionDef) and decorators == ["property"]:
            text = " ".join((ast.get_docstring(item) or "").split())
            found.append(Field(item.name, type_text(item.returns), required=False, text=text))
    return found


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
