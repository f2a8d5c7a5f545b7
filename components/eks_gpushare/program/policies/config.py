"""Configuration of a policy pack, merged and checked the way the engine does it.

Defaults of each policy's schema come first, then the pack's own configuration, then the user's; in
each of the latter two ``all`` sets a level for every policy and a policy's own entry wins over it
(pulumi/pulumi, ``pkg/resource/analyzer/config.go``). A name that no policy has is refused here; the
engine overlooks it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pulumi.runtime.proto import analyzer_pb2

from eks_gpushare.program.policies.exempting import under_policies
from eks_gpushare.program.values import decode_properties, encode_properties

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eks_gpushare.program.policies.stack_silences import StackSilence

ALL = "all"
"""The key whose level goes for every policy."""

LEVELS: Mapping[str, analyzer_pb2.EnforcementLevel.ValueType] = {
    "advisory": analyzer_pb2.ADVISORY,
    "mandatory": analyzer_pb2.MANDATORY,
    "remediate": analyzer_pb2.REMEDIATE,
    "disabled": analyzer_pb2.DISABLED,
}
"""Spelling of the enforcement levels."""

LEVEL_NAMES: Mapping[int, str] = {number: name for name, number in LEVELS.items()}
"""The reverse of `LEVELS`."""

PackConfig = Mapping[str, "str | Mapping[str, Any]"]
"""A policy's name, or `ALL`, to a level, or to properties among which is ``enforcementLevel``."""

_LEVEL_KEY = "enforcementLevel"

_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
    "null": (type(None),),
}


class PolicyConfigError(ValueError):
    """A configuration of a policy pack that does not fit its policies; one line each."""


@dataclass(slots=True)
class _Entry:
    level: analyzer_pb2.EnforcementLevel.ValueType
    properties: dict[str, Any] = field(default_factory=dict)


def merged(
    info: analyzer_pb2.AnalyzerInfo,
    config: PackConfig | None,
    silences: Sequence[StackSilence] = (),
) -> dict[str, analyzer_pb2.PolicyConfig]:
    """What the engine would configure the pack with, and exemptions under other names.

    `info` is the pack's own description, `silences` what comments of a stack file let be. Raises
    `PolicyConfigError` with everything that is wrong.
    """
    if config or silences:
        return _merged(info, config, silences)
    # A pack that judges many stacks in one process describes itself by one and the same message.
    if not _LATEST or _LATEST[0][0] is not info:
        _LATEST[:] = [(info, _merged(info, None, ()))]
    return dict(_LATEST[0][1])


_LATEST: list[tuple[analyzer_pb2.AnalyzerInfo, dict[str, analyzer_pb2.PolicyConfig]]] = []
"""The pack that was configured last by nobody but itself, with what came of it."""


def _merged(
    info: analyzer_pb2.AnalyzerInfo, config: PackConfig | None, silences: Sequence[StackSilence]
) -> dict[str, analyzer_pb2.PolicyConfig]:
    schemas = _schemas(info)
    entries = {
        policy.name: _Entry(policy.enforcementLevel, _defaults(schemas[policy.name]))
        for policy in info.policies
    }
    own = {
        name: _Entry(c.enforcementLevel, decode_properties(c.properties))
        for name, c in info.initialConfig.items()
    }
    _apply(entries, {name: (entry.level, entry.properties) for name, entry in own.items()})
    problems: list[str] = []
    taking = {name for name, schema in schemas.items() if _takes_findings(schema)}
    of_policies = under_policies(config or {}, silences, taking, problems)
    _apply(entries, _given(of_policies, entries, problems))
    for policy in info.policies:
        required = policy.configSchema.required
        problems += _problems(policy.name, schemas[policy.name], required, entries[policy.name])
    if problems:
        raise PolicyConfigError("\n".join(problems))
    return {
        name: analyzer_pb2.PolicyConfig(
            enforcementLevel=entry.level, properties=encode_properties(entry.properties)
        )
        for name, entry in entries.items()
    }


def _schemas(info: analyzer_pb2.AnalyzerInfo) -> dict[str, dict[str, Any]]:
    """The settings of each policy; many have the same, which are read once."""
    read: dict[bytes, dict[str, Any]] = {}
    found = {}
    for policy in info.policies:
        given = policy.configSchema.properties
        key = given.SerializeToString(deterministic=True)
        if key not in read:
            read[key] = decode_properties(given)
        found[policy.name] = read[key]
    return found


def _takes_findings(schema: Mapping[str, Any]) -> bool:
    """Whether a policy has exemptions that may be of one finding, as those of our pack have."""
    entry = schema.get("exemptions", {}).get("items", {})
    return "finding" in entry.get("properties", {})


def _defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: rule["default"] for key, rule in schema.items() if "default" in rule}


_Change = tuple["analyzer_pb2.EnforcementLevel.ValueType | None", Mapping[str, Any]]


def _given(
    config: PackConfig, entries: Mapping[str, _Entry], problems: list[str]
) -> dict[str, _Change]:
    changes: dict[str, _Change] = {}
    for name, value in config.items():
        if name != ALL and name not in entries:
            problems.append(f"{name}: no policy has this name; there are {', '.join(entries)}")
            continue
        properties = {_LEVEL_KEY: value} if isinstance(value, str) else dict(value)
        spelling = properties.pop(_LEVEL_KEY, None)
        if spelling is not None and not (isinstance(spelling, str) and spelling in LEVELS):
            allowed = ", ".join(LEVELS)
            problems.append(f"{name}: {spelling!r} is no enforcement level; allowed are {allowed}")
            continue
        changes[name] = (None if spelling is None else LEVELS[spelling], properties)
    return changes


def _apply(entries: dict[str, _Entry], changes: Mapping[str, _Change]) -> None:
    everywhere = changes.get(ALL, (None, {}))[0]
    if everywhere is not None:
        for entry in entries.values():
            entry.level = everywhere
    for name, (level, properties) in changes.items():
        if name in entries:
            entries[name].properties |= properties
            if level is not None:
                entries[name].level = level


def _problems(
    name: str, schema: Mapping[str, Any], required: Iterable[str], entry: _Entry
) -> list[str]:
    problems = [f"{name}: {key} is required" for key in required if key not in entry.properties]
    for key, rule in schema.items():
        if key in entry.properties:
            fault = _fault(entry.properties[key], rule)
            if fault:
                problems.append(f"{name}: {key}: {fault}")
    return problems


def _fault(value: Any, rule: Mapping[str, Any]) -> str:
    """What is wrong with `value` by the JSON Schema `rule`, of which it knows the basics."""
    kinds = rule.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        return f"{value!r} is not of type {' or '.join(kinds)}"
    if "enum" in rule and value not in rule["enum"]:
        return f"{value!r} is not one of {', '.join(map(repr, rule['enum']))}"
    if isinstance(value, str | int | float):
        return _fault_of_scalar(value, rule)
    if isinstance(value, Mapping):
        return _fault_of_object(value, rule)
    faults = (_fault(item, rule.get("items", {})) for item in value or ())
    return next(filter(None, faults), "")


def _fault_of_scalar(value: Any, rule: Mapping[str, Any]) -> str:
    if isinstance(value, str):
        if "pattern" in rule and not re.search(rule["pattern"], value):
            return f"{value!r} does not match {rule['pattern']}"
    elif "minimum" in rule and value < rule["minimum"]:
        return f"{value!r} is less than {rule['minimum']}"
    elif "maximum" in rule and value > rule["maximum"]:
        return f"{value!r} is more than {rule['maximum']}"
    return ""


def _fault_of_object(value: Mapping[str, Any], rule: Mapping[str, Any]) -> str:
    properties = rule.get("properties", {})
    for key in rule.get("required", ()):
        if key not in value:
            return f"{key} is required in {dict(value)!r}"
    if rule.get("additionalProperties") is False:
        for key in value:
            if key not in properties:
                return f"{key!r} is none of {', '.join(properties)}"
    for key, inner in properties.items():
        if key in value and (fault := _fault(value[key], inner)):
            return f"{key}: {fault}"
    return ""


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _JSON_TYPES.get(kind, (object,)))
