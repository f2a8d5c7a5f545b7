"""Write the package's schema for other languages: what the analyzer sees, and what models know.

    python tools/docs/component_schema.py

The analyzer reads the typed dictionaries, whose annotations it takes only in part. The models that
stand for them know more: which texts a key takes, and which types one that takes several.
"""

from __future__ import annotations

import json
import re
import types
import typing
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from argument_sources import classes, dictionaries, inherited
from component_models import BLOCKS, COMPONENTS, SPECS
from pulumi.provider.experimental.component import ComponentProvider
from pydantic import BaseModel

import eks_gpushare
from eks_gpushare.config.schema import field_descriptions
from eks_gpushare.plugin.names import python_name, schema_name
from eks_gpushare.plugin.schema import FILE, NAME, NAMESPACE
from eks_gpushare.plugin.words import elsewhere

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator

Schema = dict[str, Any]

_ANY = "pulumi.json#/Any"
_REPOSITORY = "https://github.com/eks-gpushare/eks-gpushare"
_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ENUM_NAMES = {
    "ClusterAutoscalerExpander": "Expander",
    "DisruptionBudgetReasons": "DisruptionReason",
    "KarpenterPoolBlockCapacityTypes": "CapacityType",
    "PoolCapacityType": "CapacityType",
    "KarpenterPoolBlockConsolidationPolicy": "ConsolidationPolicy",
    "PoolAmiFamily": "AmiFamily",
    "PoolProvisioner": "Provisioner",
    "PoolScaledBy": "ScaledBy",
}
"""What several types have in common, or would have a clumsy name; others are type and property."""
_LANGUAGES: dict[str, Schema] = {
    "go": {"generateResourceContainerTypes": True},
    # The generators look for the provider of another package below the root of this one. Pulumi's
    # own root is where it is: pulumi-java 1.34.0, pkg/codegen/java/gen.go, and pulumi-dotnet
    # 3.112.1, pulumi-language-dotnet/codegen/gen.go, read on 2026-11-22.
    "java": {"basePackage": "com.pulumi"},
    "csharp": {
        "rootNamespace": "Pulumi",
        # It gives the package no reference to that other one, whose provider is an output here.
        "packageReferences": {"Pulumi": "3.*", "Pulumi.Kubernetes": "4.*"},
    },
}
"""What a language's generator is told besides what the analyzer says."""
_SECRET = ("kubeconfig",)
"""Inputs that are credentials, whatever the program says of them."""


def component_schema() -> Schema:
    """The schema as the plugin serves it."""
    analyzed = _analyzed()
    schema = _Schema(analyzed)
    for typed, kinds in BLOCKS:
        schema.know(analyzed["types"].get(_token(typed.__name__)), typed.__name__, kinds)
    for name in COMPONENTS:
        resource = analyzed["resources"][_token(name)]
        schema.know(resource, name, (SPECS[name],))
        _hand_over(resource, getattr(eks_gpushare, name))
    return {**_package(analyzed), "resources": analyzed["resources"], "types": analyzed["types"]}


def _hand_over(resource: Schema, kind: type) -> None:
    """What pools hand to managers: a property in Python, and an output everywhere else.

    It has no type of its own there: in Java and C# an output of an object type is no input of it.
    """
    told = getattr(kind, "served", None)
    if isinstance(told, property):
        description = _in_one_line(told.__doc__ or "")
        resource["properties"]["served"] = {"description": description, "$ref": _ANY}
        resource["required"] = sorted([*resource["required"], "served"])
    taken = resource["inputProperties"].get("served")
    if taken is not None:
        taken["items"] = {"$ref": _ANY}
        del taken["plain"]


def _analyzed() -> Schema:
    with warnings.catch_warnings():
        # The SDK leaves a file open while it looks for the version of another SDK.
        warnings.simplefilter("ignore", ResourceWarning)
        kinds = [getattr(eks_gpushare, name) for name in COMPONENTS]
        host = ComponentProvider(kinds, NAME, NAMESPACE, eks_gpushare.__version__)
    found: Schema = json.loads(host.schema or "")
    for kind in (*found["resources"].values(), *found["types"].values()):
        for block in ("properties", "inputProperties"):
            if block in kind:
                pairs = kind[block].items()
                kind[block] = {_stack_file_key(key): _told(each) for key, each in pairs}
        for block in ("required", "requiredInputs"):
            if block in kind:
                kind[block] = sorted(map(_stack_file_key, kind[block]))
        if "description" in kind:
            kind["description"] = _in_one_line(kind["description"])
    return found


def _stack_file_key(key: str) -> str:
    """The SDK's `rootVolumeGib` is `rootVolumeGiB` in a stack file."""
    return schema_name(re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", key))


def _told(prop: Schema) -> Schema:
    """A property with its description once, and in one line."""
    told = {key: each for key, each in prop.items() if key != "description"}
    for inner in ("items", "additionalProperties"):
        if isinstance(told.get(inner), dict):
            told[inner] = {k: v for k, v in told[inner].items() if k != "description"}
    if "description" not in prop:
        return told
    return {"description": _in_one_line(prop["description"]), **told}


def _in_one_line(text: str) -> str:
    """A description, with the keys that it names as other languages have them."""
    named = re.sub(
        r"(?<=`)[a-z0-9]+(?:_[a-z0-9]+)+(?=`)",
        lambda match: schema_name(match[0]),
        " ".join(text.split()),
    )
    return elsewhere(named)


def _token(name: str) -> str:
    return f"{NAME}:index:{name}"


def _package(analyzed: Schema) -> Schema:
    return {
        "name": NAME,
        "displayName": NAME,
        "version": analyzed["version"],
        "namespace": NAMESPACE,
        "description": "GPU sharing on Amazon EKS: pools, device plugin and autoscaler that agree.",
        "keywords": ["pulumi", "eks", "gpu", "nvidia", "mig", "category/cloud", "kind/component"],
        "homepage": _REPOSITORY,
        "repository": _REPOSITORY,
        "license": "Apache-2.0",
        # Without it the package for Go has no go.mod, and its parts import what is not there.
        "meta": {"supportPack": True},
        "language": {
            language: {**settings, **_LANGUAGES.get(language, {})}
            for language, settings in analyzed["language"].items()
        },
        "dependencies": analyzed["dependencies"],
    }


class _Schema:
    """What models know of the properties, written into an analyzed schema."""

    def __init__(self, schema: Schema) -> None:
        self._types: Schema = schema["types"]
        self._enums: dict[tuple[str, ...], str] = {}

    def know(self, kind: Schema | None, name: str, models: Iterable[type[BaseModel]]) -> None:
        """Add what the models of a type or component know of each of its properties."""
        if kind is None:
            return
        properties = kind.get("inputProperties") or kind["properties"]
        for key, prop in properties.items():
            for found in _annotations(models, key):
                self._add(prop, found, f"{name}{key[:1].upper()}{key[1:]}")
            texts = (*_inherited(name, key), *_descriptions(models, key))
            if texts:  # of inherited keys the analyzer has none: the fuller of those that there are
                prop.setdefault("description", _in_one_line(max(texts, key=len)))
            if key in _SECRET:
                prop["secret"] = True

    def _add(self, prop: Schema, annotations: tuple[Any, ...], name: str) -> None:
        kinds = tuple(dict.fromkeys(each for one in annotations for each in _alternatives(one)))
        for inside in ("items", "additionalProperties"):
            if inside in prop:
                kinds = tuple(inner for each in kinds for inner in _values(each))
                prop = prop[inside]
        words = tuple(dict.fromkeys(word for each in kinds for word in _words(each)))
        if prop.get("type") == "string" and len(words) > 1 and all(map(_words, kinds)):
            del prop["type"]
            prop["$ref"] = f"#/types/{self._enum(words, name)}"
        elif prop.get("$ref") == _ANY and Any not in kinds:
            described = [self._described(each) for each in kinds]
            del prop["$ref"]
            if prop.get("plain"):
                described = [_plain_within(each) for each in described]
            prop.update({"oneOf": described} if len(described) > 1 else described[0])

    def _enum(self, words: tuple[str, ...], name: str) -> str:
        if words not in self._enums:
            token = self._enums[words] = _token(_ENUM_NAMES.get(name, name))
            values = [{"name": _pascal(word), "value": word} for word in words]
            self._types[token] = {"type": "string", "enum": values}
        return self._enums[words]

    def _described(self, annotation: Any) -> Schema:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return {"$ref": f"#/types/{self._object(annotation)}", "plain": True}
        origin, inner = get_origin(annotation), get_args(annotation)
        if origin in (list, tuple):
            return {"type": "array", "items": self._described(_bare(inner[0]))}
        if origin is dict:
            return {"type": "object", "additionalProperties": self._described(_bare(inner[1]))}
        if _words(annotation):
            return {"type": "string"}
        if annotation not in _SIMPLE:
            raise TypeError(f"no schema type for {annotation}")
        return {"type": _SIMPLE[annotation]}

    def _object(self, model: type[BaseModel]) -> str:
        token = _token(model.__name__)
        if token not in self._types:
            texts = field_descriptions(model)
            properties = {
                info.alias or name: {
                    "description": _in_one_line(texts[info.alias or name]),
                    **self._described(_bare(info.annotation)),
                    "plain": True,
                }
                for name, info in model.model_fields.items()
            }
            fields = model.model_fields.items()
            required = sorted(info.alias or name for name, info in fields if info.is_required())
            self._types[token] = {
                "type": "object",
                "description": _in_one_line(model.__doc__ or ""),
                "properties": properties,
                "required": required,
            }
        return token


def _plain_within(prop: Schema) -> Schema:
    """A type of which nothing is an output, as that of a plain property has to say for itself."""
    inside: Schema = {
        key: {**_plain_within(prop[key]), "plain": True}
        for key in ("items", "additionalProperties")
        if key in prop
    }
    return {**prop, **inside}


def _annotations(models: Iterable[type[BaseModel]], key: str) -> Iterator[tuple[Any, ...]]:
    found = [
        info.annotation
        for model in models
        for name, info in model.model_fields.items()
        if (info.alias or schema_name(name)) == key
    ]
    if found:
        yield tuple(found)


def _bare(annotation: Any) -> Any:
    """Without what pydantic alone reads."""
    while get_origin(annotation) is typing.Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _alternatives(annotation: Any) -> Iterator[Any]:
    """The parts of a union, but for None."""
    annotation = _bare(annotation)
    if get_origin(annotation) in (typing.Union, types.UnionType):
        for each in get_args(annotation):
            yield from _alternatives(each)
    elif annotation is not type(None):
        yield annotation


def _values(annotation: Any) -> Iterator[Any]:
    """What a list or a mapping holds."""
    inner = get_args(annotation)
    for each in inner[1:] if get_origin(annotation) is dict else inner[:1]:
        yield from _alternatives(each)


def _inherited(name: str, key: str) -> Iterator[str]:
    """What is said of a key by the dictionary that a type or component has it of."""
    node = _arguments().get(f"{name}Args") or dictionaries()[name]
    return (field.text for field in inherited(node) if schema_name(field.name) == key)


@cache
def _arguments() -> dict[str, ast.ClassDef]:
    modules = {getattr(eks_gpushare, f"{name}Args").__module__ for name in COMPONENTS}
    return {node.name: node for module in modules for node in classes(module.partition(".")[2])}


def _descriptions(models: Iterable[type[BaseModel]], key: str) -> Iterator[str]:
    for model in models:
        texts = field_descriptions(model)
        found = texts.get(key) or texts.get(python_name(key))
        if found:
            yield found


def _words(annotation: Any) -> tuple[str, ...]:
    """The texts that a `Literal` has; none for anything else."""
    values = get_args(annotation) if get_origin(annotation) is Literal else ()
    return values if all(isinstance(each, str) for each in values) else ()


def _pascal(word: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", word))


def text() -> str:
    """The schema as its file has it."""
    return json.dumps(component_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
