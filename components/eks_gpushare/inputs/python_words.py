"""What a finding says, in the words of a Python program.

Findings are written in the words of the stack file: camelCase keys and YAML. The same keys are
snake_case in arguments, and the same values Python's.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args, get_origin

from eks_gpushare.config import component_specs
from eks_gpushare.config.base import Model, fields_by_key
from eks_gpushare.config.models import models
from eks_gpushare.findings.finding import Finding, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath

_SPECS: tuple[type[Model], ...] = (
    component_specs.NetworkSpec,
    component_specs.EksClusterSpec,
    component_specs.SystemNodesSpec,
    component_specs.GpuPoolSpec,
    component_specs.ClusterFacts,
    component_specs.EnvironmentSpec,
    component_specs.DevicePluginSpec,
    component_specs.GpuOperatorSpec,
    component_specs.EfaDevicePluginSpec,
    component_specs.KarpenterSpec,
    component_specs.KarpenterPoolSpec,
    component_specs.KedaSpec,
    component_specs.ShareVerifierSpec,
    component_specs.GpuMetricsSpec,
    component_specs.TenantsSpec,
    component_specs.SharedWorkloadSpec,
)
OTHERS_KEYS = (
    *("values", "kubelet", "labels", "tags", "versions", "env"),
    *("featureGates", "feature_gates"),
)
"""Blocks whose keys are not of this project, down to the last one."""
NAMED = (
    *("pools", "instanceTypes", "instance_types", "migLayouts", "mig_layouts"),
    *("workloads", "secretEnv", "secret_env"),
)
"""Blocks whose keys are names that a user chose."""


def in_python(found: Finding) -> Finding:
    """A finding about arguments."""
    at = _python_path(found.at)
    path = dotted(at) if at else found.path
    message, fix = python_text(found.message), python_text(found.fix)
    return replace(found, at=at, path=path, message=message, fix=fix)


def _python_path(at: FieldPath) -> FieldPath:
    """A place in the stack file as a place in arguments: `instanceTypes` is `instance_types`."""
    result: list[str | int] = []
    names, above = python_names(), ""
    for index, part in enumerate(at):
        if above in OTHERS_KEYS:
            return (*result, *at[index:])
        known = isinstance(part, str) and above not in NAMED
        result.append(names.get(part, part) if known and isinstance(part, str) else part)
        above = part if isinstance(part, str) and above not in NAMED else ""
    return tuple(result)


@cache
def python_names() -> Mapping[str, str]:
    """Python name of each key of the stack file and of the components' own arguments."""
    every = (fields_by_key(model).items() for model in (*models(), *_SPECS))
    return {key: name for fields in every for key, name in fields}


@cache
def _choices() -> frozenset[str]:
    """Values of the stack file that look like keys: `timeSlicing` is a mode and a block."""
    annotations = (info.annotation for model in models() for info in model.model_fields.values())
    return frozenset(word for annotation in annotations for word in _literals(annotation))


def _literals(annotation: object) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from (argument for argument in get_args(annotation) if isinstance(argument, str))
    else:
        for inner in get_args(annotation):
            yield from _literals(inner)


_WORD = r"[A-Za-z][A-Za-z0-9]*"
_SNIPPET = re.compile(
    rf"(?<![A-Za-z0-9_.\"/-])(?P<key>{_WORD}): (?=[A-Za-z0-9_\"\[{{])|(?<![A-Za-z0-9_\]\"\[])[\[{{]"
)
_KEY = re.compile(
    rf"(?<![A-Za-z0-9_/\"-])(?:(?P<above>{_WORD})\.)?(?P<key>{_WORD})(?![A-Za-z0-9_/\"-])"
)
_BARE = re.compile(r"[^\s,;\[\]{}]*[^\s,;:.\[\]{}](\.\.\.)?(?!:)")


def python_text(text: str) -> str:
    """A message or fix: `mode: exclusive` is `"mode": "exclusive"`, `rootVolumeGiB` a name."""
    result, done = "", 0
    for match in _SNIPPET.finditer(text):
        if match.start() < done:
            continue
        key = match["key"]
        before = text[: match.start()]
        if key not in python_names() if key else match[0] == "[" and not before.endswith("Write "):
            continue
        value = _value(text, match.end() if key else match.start())
        if value is None or (key and not _is_value(key, value.text)):
            continue
        name = f'"{python_names()[key]}": ' if key else ""
        result += _words(text[done : match.start()]) + name + value.text
        done = value.end
    return result + _words(text[done:])


def _is_value(key: str, value: str) -> bool:
    """Whether what stands after a key and a colon is its value and not prose."""
    if not value.startswith('"'):
        return value[:1] in "{[TF" or key != "version"
    bare = value.strip('"')
    return bare in _choices() or key == "layout" or (bare.isascii() and bare[:1].isdigit())


def _words(text: str) -> str:
    """Keys outside of snippets: those that can be nothing else."""
    text = text.replace("true or false", "True or False")
    return _KEY.sub(_word, text)


def _word(match: re.Match[str]) -> str:
    above, key = match["above"], match["key"]
    names, chosen = python_names(), _choices()
    is_key = key not in chosen or (above in names and above in {"charts", "bottlerocket"})
    new = names.get(key, key) if is_key else key
    return (
        new if above is None else f"{above if above in chosen else names.get(above, above)}.{new}"
    )


class _Read(NamedTuple):
    """A value of YAML's flow style as Python has it."""

    text: str
    """The value."""
    end: int
    """Where it ends."""


def _value(text: str, at: int) -> _Read | None:
    """The value that begins at a place; None if it is prose."""
    if text[at : at + 1] == "{":
        return _items(text, at, "}")
    if text[at : at + 1] == "[":
        return _items(text, at, "]")
    if text[at : at + 1] == '"':
        end = text.find('"', at + 1)
        return _Read(text[at : end + 1], end + 1) if end > 0 else None
    if text.startswith("...", at):
        return _Read("...", at + 3)
    match = _BARE.match(text, at)
    return _Read(_scalar(match[0]), match.end()) if match else None


def _scalar(word: str) -> str:
    if word in {"true", "false"}:
        return word.title()
    return word if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", word) else f'"{word}"'


def _items(text: str, at: int, close: str) -> _Read | None:
    """A flow mapping or list; None if it is something else in brackets."""
    found, at = [], at + 1
    while at < len(text) and text[at] != close:
        key = re.compile(r"([^\s,:\[\]{}]+): ").match(text, at) if close == "}" else None
        if close == "}" and key is None:
            return None
        value = _value(text, key.end() if key else at)
        if value is None:
            return None
        name = f'"{python_names().get(key[1], key[1])}": ' if key else ""
        found.append(name + value.text)
        at = value.end
        if text.startswith(", ", at):
            at += 2
        elif text[at : at + 1] != close:
            return None
    if at >= len(text):
        return None
    opening = {"}": "{", "]": "["}[close]
    return _Read(f"{opening}{', '.join(found)}{close}", at + 1)
