"""JSON Schema of the environment and of a whole stack file, for editors and other tools.

Descriptions are the docstrings under the fields of the models. They are read from the source here
and not by pydantic, which would do so at every start.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.environment import Environment
from eks_gpushare.config.models import models
from eks_gpushare.config.project import ENVIRONMENT_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def environment_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the value of `eks-gpushare:environment`."""
    schema = Environment.model_json_schema(by_alias=True, mode="validation")
    definitions = schema.setdefault("$defs", {})
    for model in models():
        target = schema if model is Environment else definitions.get(model.__name__)
        if target is not None:
            _describe(target, model)
    return {"$schema": _DIALECT, "title": "eks-gpushare environment", **_without_titles(schema)}


def stack_file_schema() -> dict[str, Any]:
    """JSON Schema of `Pulumi.<stack>.yaml`, the keys of other namespaces left open."""
    schema = environment_schema()
    definitions = schema.pop("$defs", {})
    definitions["Environment"] = {k: v for k, v in schema.items() if k != "$schema"}
    config = {
        "type": "object",
        "description": "Configuration by namespace.",
        "properties": {
            "aws:region": {"type": "string", "description": "AWS region, such as us-west-2."},
            "aws:profile": {"type": "string", "description": "Profile of the AWS configuration."},
            ENVIRONMENT_KEY: {"$ref": "#/$defs/Environment"},
        },
        "patternProperties": {f"^(?!{ENVIRONMENT_KEY}$)[^:]+:.+$": True},
        "additionalProperties": False,
    }
    kept_by_pulumi = ("encryptionsalt", "encryptedkey", "secretsprovider")
    return {
        "$schema": _DIALECT,
        "title": "eks-gpushare stack file",
        "type": "object",
        "properties": {
            "config": config,
            "environment": {"description": "Pulumi ESC environments that add configuration."},
            **{key: {"description": "Written by Pulumi."} for key in kept_by_pulumi},
        },
        "additionalProperties": False,
        # What an ESC environment adds is not in the file.
        "if": {"not": {"required": ["environment"]}},
        "then": {
            "required": ["config"],
            "properties": {"config": {"required": [ENVIRONMENT_KEY]}},
        },
        "$defs": definitions,
    }


def field_descriptions(model: type[BaseModel]) -> dict[str, str]:
    """The docstring under each field of a model, by the field's name in the file."""
    texts: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if owner.__module__.startswith("eks_gpushare."):
            texts.update(_docstrings(owner))
    return {
        info.alias or name: texts[name]
        for name, info in model.model_fields.items()
        if name in texts
    }


@cache
def _docstrings(owner: type) -> Mapping[str, str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found = {}
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            value = text.value if isinstance(text, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[field.target.id] = " ".join(value.value.split())
    return found


def _describe(target: dict[str, Any], model: type[BaseModel]) -> None:
    target["description"] = inspect.cleandoc(model.__doc__ or "").partition("\n")[0]
    properties = target.get("properties", {})
    for name, text in field_descriptions(model).items():
        if name in properties:
            properties[name]["description"] = text


def _without_titles(schema: Any) -> Any:
    """Pydantic titles every property with its own name, which says nothing."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    named = {"properties", "$defs", "patternProperties"}
    return {
        key: {name: _without_titles(inner) for name, inner in value.items()}
        if key in named and isinstance(value, dict)
        else _without_titles(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
