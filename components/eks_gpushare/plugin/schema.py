"""The package's schema: what programs in other languages may give each component."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

NAME = "eks-gpushare"
"""Name of the package in Pulumi, and the first part of every type token."""

NAMESPACE = "eks-gpushare"
"""Scope of the generated packages: `@eks-gpushare/eks-gpushare` for npm."""

FILE = Path(__file__).with_name("schema.json")
"""The schema, written by `tools/docs/component_schema.py`."""


def schema_text() -> str:
    """The schema as the engine asks for it."""
    return FILE.read_text(encoding="utf-8")


HANDED_OVER: dict[str, dict[str, Any]] = {
    "served": {"items": {"$ref": "#/types/eks-gpushare:index:ServedPool"}}
}
"""Inputs that another component has told, which knew them from the start, and what they are. In the
schema they are anything: in Java and C# an output of an object type is no input of it."""


@cache
def schema() -> dict[str, Any]:
    """The schema as plain values."""
    found: dict[str, Any] = json.loads(schema_text())
    return found


def component(token: str) -> dict[str, Any] | None:
    """What the schema says of a component; None if it has none of this type."""
    found: dict[str, Any] | None = schema()["resources"].get(token)
    return found


def object_type(reference: str) -> dict[str, Any] | None:
    """What it says of an object type of its own, by `#/types/...`; None for other types."""
    found: dict[str, Any] | None = schema()["types"].get(reference.removeprefix("#/types/"))
    return found if found is not None and "properties" in found else None
