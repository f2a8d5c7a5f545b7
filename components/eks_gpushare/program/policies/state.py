"""The state of a stack as `pulumi stack export` writes it, read without a backend.

Its resources become a `Recording` in which everything is known but what the file keeps encrypted:
resource policies see inputs, stack policies outputs, as with `pulumi policy analyze --file`
(pulumi/pulumi, ``pkg/resource/deploy/analyze_snapshot.go`` at v3.260). What is about to be deleted
is not judged, and of operations that are pending nothing is known but that they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.reading import read_bytes, reason
from eks_gpushare.program.recording import STACK_TYPE, Recording, Resource
from eks_gpushare.program.registration import provider_urn
from eks_gpushare.program.values import (
    ARCHIVE_SIGNATURE,
    ASSET_SIGNATURE,
    OUTPUT_SIGNATURE,
    RESOURCE_SIGNATURE,
    SECRET_SIGNATURE,
    SIGNATURE_KEY,
    UNKNOWN,
    UNKNOWN_SENTINEL,
    Asset,
    OutputValue,
    ResourceRef,
    Secret,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_BYTES = 256 * 1024 * 1024
"""Largest state that is read; those of large stacks have tens of megabytes."""

_VERSIONS = (3, 4)
"""Versions of the format. The fourth only says which features the third makes use of."""
_URN = re.compile(r"urn:pulumi:[^:]+::[^:]+::[^:]+(?:[:$]+[^:]+)*::.*", re.DOTALL)
_URN_IN_TEXT = re.compile(r'"urn"\s*:\s*("urn:pulumi:(?:[^"\\]|\\.)*")')
_PARTS = 4
"""Of a URN: stack, project, type and name."""


class StateError(Exception):
    """A file is no state that can be judged; the text says why."""


@dataclass(frozen=True, slots=True)
class State:
    """An exported state."""

    recording: Recording
    """Its resources, as if a program had just registered them."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line of the file at which a resource's URN stands."""


def read_state(path: str | Path) -> State:
    """Read an exported state.

    Raises:
        StateError: If it cannot be read, or is something else; with the file's name.
    """
    try:
        text = read_bytes(path, MOST_BYTES).decode("utf-8-sig")
        content = json.loads(text)
    except RecursionError:
        raise StateError(f"{path} cannot be used: it is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise StateError(f"{path} cannot be used: {_why(error)}") from error
    try:
        recording = _recording(_deployment(content))
    except _WrongError as wrong:
        raise StateError(f"{path} is no exported state: {wrong}") from None
    except RecursionError:
        raise StateError(f"{path} cannot be used: it is nested too deeply") from None
    return State(recording, _lines(text))


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    return reason(error)


class _WrongError(Exception):
    """What is wrong with the content of the file."""


_EXPORT = "Write it with `pulumi stack export --file FILE`."


def _deployment(content: Any) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise _WrongError(f"it holds {_kind(content)}. {_EXPORT}")
    if "checkpoint" in content:
        raise _WrongError(f"it is a file of a backend. {_EXPORT}")
    version, deployment = content.get("version"), content.get("deployment")
    if version is None and deployment is None:
        raise _WrongError(f"the keys version and deployment are missing. {_EXPORT}")
    if isinstance(version, bool) or version not in _VERSIONS:
        known = " and ".join(map(str, _VERSIONS))
        raise _WrongError(f"its version is {json.dumps(version)[:40]}; known are {known}")
    if not isinstance(deployment, dict):
        raise _WrongError(f"deployment holds {_kind(deployment)}")
    return deployment


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", type(None): "nothing"}
    return names.get(type(value), "a single value")


def _recording(deployment: Mapping[str, Any]) -> Recording:
    given = deployment.get("resources")
    if given is None:
        given = []
    if not isinstance(given, list):
        raise _WrongError(f"deployment.resources holds {_kind(given)}")
    resources = [
        _resource(resource, f"deployment.resources[{number}]")
        for number, resource in enumerate(given)
        if not (isinstance(resource, dict) and resource.get("delete") is True)
    ]
    project, stack = _names(resources)
    recording = Recording(project, stack, preview=False, resources=resources, exported=True)
    root = next((resource for resource in resources if resource.type == STACK_TYPE), None)
    recording.outputs = dict(root.outputs) if root else {}
    recording.assumptions += _notes(deployment, len(given) - len(resources), recording)
    return recording


def _names(resources: list[Resource]) -> tuple[str, str]:
    """Project and stack; of several, as exports of whole organizations have them, neither."""
    found = {tuple(resource.urn.split("::", 2)[:2]) for resource in resources}
    if len(found) != 1:
        return ("multiple", "multiple") if found else ("unknown", "unknown")
    ((first, project),) = found
    return project, first.removeprefix("urn:pulumi:")


def _notes(deployment: Mapping[str, Any], deleted: int, recording: Recording) -> Iterator[str]:
    pending = deployment.get("pending_operations") or []
    if isinstance(pending, list) and pending:
        told = ", ".join(_operation(operation) for operation in pending[:5])
        more = ", ..." if pending[5:] else ""
        yield (
            f"{_counted(len(pending), 'operation was', 'operations were')} interrupted, and what "
            f"became of it nobody knows: {told}{more}. `pulumi refresh` asks."
        )
    if deleted:
        yield (
            f"{_counted(deleted, 'resource is', 'resources are')} about to be deleted, and not "
            "judged."
        )
    secrets = sum(map(_is_encrypted, recording.resources))
    if secrets:
        yield (
            f"{_counted(secrets, 'resource has', 'resources have')} values that are encrypted in "
            "the file. What depends on one is not judged; an export with --show-secrets has them."
        )


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _operation(given: Any) -> str:
    if not isinstance(given, dict):
        return "one that cannot be read"
    resource = given.get("resource")
    urn = str(resource.get("urn", "")) if isinstance(resource, dict) else ""
    return f"{given.get('type', 'an operation')} of {urn.rpartition('::')[2] or 'a resource'}"


def _is_encrypted(resource: Resource) -> bool:
    return _holds_encrypted(resource.inputs) or _holds_encrypted(resource.outputs)


def _holds_encrypted(value: Any) -> bool:
    if isinstance(value, Secret):
        return value.value is UNKNOWN
    if isinstance(value, Mapping):
        return any(map(_holds_encrypted, value.values()))
    return isinstance(value, list) and any(map(_holds_encrypted, value))


def _resource(given: Any, where: str) -> Resource:
    if not isinstance(given, dict):
        raise _WrongError(f"{where} holds {_kind(given)}")
    urn, token = given.get("urn"), given.get("type")
    if not (isinstance(urn, str) and _URN.fullmatch(urn)):
        raise _WrongError(f"{where}.urn is {json.dumps(urn)[:80]}, which is no URN")
    if not isinstance(token, str):
        raise _WrongError(f"{where}.type holds {_kind(token)}")
    options = {
        "ignoreChanges": _texts(given, "ignoreChanges", where),
        "additionalSecretOutputs": _texts(given, "additionalSecretOutputs", where),
        "aliases": _texts(given, "aliases", where),
        "customTimeouts": _timeouts(_object(given, "customTimeouts", where)),
    }
    dependencies = _object(given, "propertyDependencies", where)
    return Resource(
        urn=urn,
        type=token,
        name=urn.split("::", _PARTS - 1)[-1],
        parent=_text(given, "parent", where),
        custom=given.get("custom") is True,
        inputs=_properties(given, "inputs", where),
        outputs=_properties(given, "outputs", where),
        id=_text(given, "id", where),
        dependencies=tuple(_texts(given, "dependencies", where)),
        property_dependencies={
            key: tuple(_texts(dependencies, key, f"{where}.propertyDependencies"))
            for key in dependencies
        },
        provider=provider_urn(_text(given, "provider", where)),
        protect=given.get("protect") is True,
        options={key: value for key, value in options.items() if value},
    )


def _text(given: Mapping[str, Any], key: str, where: str) -> str:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise _WrongError(f"{where}.{key} holds {_kind(value)}")
    return value or ""


def _texts(given: Mapping[str, Any], key: str, where: str) -> list[str]:
    value = given.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise _WrongError(f"{where}.{key} is no list of texts")
    return value


def _object(given: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    value = given.get(key)
    if value is not None and not isinstance(value, dict):
        raise _WrongError(f"{where}.{key} holds {_kind(value)}")
    return value or {}


def _timeouts(given: Mapping[str, Any]) -> dict[str, str]:
    """Durations: the state has them in seconds, a registration as Go writes them."""
    return {
        phase: f"{seconds}s"
        for phase, seconds in given.items()
        if isinstance(seconds, int | float) and seconds
    }


def _properties(given: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    fields = _object(given, key, where)
    return {name: _value(fields[name], f"{where}.{key}.{name}") for name in sorted(fields)}


def _value(given: Any, where: str) -> Any:
    if given == UNKNOWN_SENTINEL:
        return UNKNOWN
    if isinstance(given, float) and given.is_integer():
        return int(given)
    if isinstance(given, list):
        return [_value(inner, f"{where}[{number}]") for number, inner in enumerate(given)]
    if not isinstance(given, dict):
        return given
    if SIGNATURE_KEY in given:
        return _special(given, where)
    return {key: _value(given[key], f"{where}.{key}") for key in sorted(given)}


def _special(given: Mapping[str, Any], where: str) -> Any:
    signature = given[SIGNATURE_KEY]
    if signature == SECRET_SIGNATURE:
        return _secret(given, where)
    if signature == RESOURCE_SIGNATURE:
        urn, version = given.get("urn"), given.get("packageVersion", "")
        return ResourceRef(str(urn), _value(given.get("id", ""), where), str(version))
    if signature == OUTPUT_SIGNATURE:
        value = _value(given["value"], where) if "value" in given else UNKNOWN
        return OutputValue(value, given.get("secret") is True)
    if signature in (ASSET_SIGNATURE, ARCHIVE_SIGNATURE):
        content = {key: item for key, item in given.items() if key != SIGNATURE_KEY}
        return Asset("asset" if signature == ASSET_SIGNATURE else "archive", content)
    told = json.dumps(signature)[:60]
    raise _WrongError(f"{where} has the signature {told}, which this version does not know")


def _secret(given: Mapping[str, Any], where: str) -> Secret:
    plaintext = given.get("plaintext")
    if not isinstance(plaintext, str):
        return Secret(UNKNOWN)
    try:
        return Secret(_value(json.loads(plaintext), where))
    except ValueError:
        raise _WrongError(f"{where}.plaintext is no JSON") from None


def _lines(text: str) -> dict[str, int]:
    lines: dict[str, int] = {}
    line, last = 1, 0
    for found in _URN_IN_TEXT.finditer(text):
        line += text.count("\n", last, found.start(1))
        last = found.start(1)
        lines.setdefault(json.loads(found[1]), line)
    return lines
