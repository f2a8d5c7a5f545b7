"""Property values as the Pulumi engine's wire protocol carries them, decoded without side effects.

The SDK has a decoder of its own, but it turns resource references into live resources (which makes
further calls) and drops what is unknown. A recording needs the plain truth instead.

Source of the signatures and of the sentinel: ``sdk/go/common/resource/properties.go`` and
``sdk/go/common/resource/plugin/rpc.go`` in pulumi/pulumi; a test compares them with the SDK's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from eks_gpushare.program.protobuf import struct_pb2

UNKNOWN_SENTINEL: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SIGNATURE_KEY: Final = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  (a type's mark)
RESOURCE_SIGNATURE: Final = "5cf8f73096256a8f31e491e813e4eb8e"
OUTPUT_SIGNATURE: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
ASSET_SIGNATURE: Final = "c44067f5952c0a294b673a41bacd8c17"
ARCHIVE_SIGNATURE: Final = "0def7320c3a5731c473e5ecbe6d01bc7"

COMPUTED_TEXT: Final = "<computed>"
"""How an unknown value is written for people and in JSON."""

SECRET_TEXT: Final = "[secret]"  # noqa: S105  (the mask, as the Pulumi CLI writes it)
"""How a secret value is written for people and in JSON."""

Properties: TypeAlias = dict[str, Any]
"""Decoded properties: plain Python data in which the classes below may occur at any depth."""


class _Unknown:
    """The class of `UNKNOWN`, the one value that is known after an update only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return COMPUTED_TEXT

    def __bool__(self) -> bool:
        """Refuse a truth value, because whether it will be true is not known."""
        msg = "an unknown value is neither true nor false; compare it with `is UNKNOWN`"
        raise TypeError(msg)

    def __copy__(self) -> _Unknown:
        return self

    def __deepcopy__(self, memo: object) -> _Unknown:
        return self

    def __reduce__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()
"""A value that only an update would tell. Compare with ``is``."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that must never be shown; `value` is what it hides."""

    value: Any

    def __repr__(self) -> str:
        return SECRET_TEXT


@dataclass(frozen=True, slots=True)
class ResourceRef:
    """A resource passed by reference. `id` is ``""`` for a component and may be `UNKNOWN`."""

    urn: str
    id: Any = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class OutputValue:
    """A value with its own dependencies (URNs), as arguments of remote components have them."""

    value: Any
    secret: bool = False
    dependencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asset:
    """A file argument: `kind` is ``"asset"`` or ``"archive"``, `data` says where it comes from."""

    kind: str
    data: Mapping[str, Any]


def decode(value: struct_pb2.Value) -> Any:
    """The Python value of one protobuf value.

    Numbers are doubles on the wire, so an integral one comes back as ``int``.
    """
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return UNKNOWN if text == UNKNOWN_SENTINEL else text
    if kind == "struct_value":
        return _decode_object(value.struct_value)
    if kind == "list_value":
        return [decode(item) for item in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    return None


def decode_properties(properties: struct_pb2.Struct) -> Properties:
    """The Python properties of a protobuf struct, as a request carries them.

    Keys come sorted: protobuf keeps no order, and one that is the same in every run is needed.
    """
    return _decode_fields(properties)


def _decode_object(properties: struct_pb2.Struct) -> Any:
    fields = properties.fields
    if SIGNATURE_KEY not in fields:
        return _decode_fields(properties)
    return _special(_decode_fields(properties))


def _special(parts: dict[str, Any]) -> Any:
    """What fields with a signature stand for."""
    signature = parts.pop(SIGNATURE_KEY)
    if signature == SECRET_SIGNATURE:
        return Secret(parts.get("value"))
    if signature == RESOURCE_SIGNATURE:
        return ResourceRef(parts["urn"], parts.get("id", ""), parts.get("packageVersion", ""))
    if signature == OUTPUT_SIGNATURE:
        return OutputValue(
            parts.get("value", UNKNOWN),
            parts.get("secret", False),
            tuple(parts.get("dependencies", ())),
        )
    if signature in (ASSET_SIGNATURE, ARCHIVE_SIGNATURE):
        return Asset("asset" if signature == ASSET_SIGNATURE else "archive", parts)
    msg = f"a property value has the signature {signature!r}, which this version does not know"
    raise ValueError(msg)


def _decode_fields(properties: struct_pb2.Struct) -> Properties:
    fields = properties.fields
    return {key: decode(fields[key]) for key in sorted(fields)}


def encode(value: Any) -> struct_pb2.Value:
    """`value` as protobuf, the reverse of `decode`.

    An `OutputValue` is flattened to its value (secret if it is one): that is how the engine
    answers. Raises `TypeError` for anything that is not a property value.
    """
    encoded = struct_pb2.Value()
    _fill(encoded, value)
    return encoded


def _fill(encoded: struct_pb2.Value, value: Any) -> None:
    """Write `value` where it is to stand, since a copy at each level costs as much as the rest."""
    if value is UNKNOWN:
        encoded.string_value = UNKNOWN_SENTINEL
    elif isinstance(value, str):
        encoded.string_value = value
    elif value is None:
        encoded.null_value = struct_pb2.NULL_VALUE
    elif isinstance(value, bool):
        encoded.bool_value = value
    elif isinstance(value, int | float):
        encoded.number_value = value
    elif isinstance(value, Mapping):
        encoded.struct_value.SetInParent()
        _fill_fields(encoded.struct_value, value)
    elif isinstance(value, Sequence):
        encoded.list_value.SetInParent()
        for item in value:
            _fill(encoded.list_value.values.add(), item)
    else:
        _fill(encoded, _encode_special(value))


def _fill_fields(encoded: struct_pb2.Struct, values: Mapping[str, Any]) -> None:
    fields = encoded.fields
    for key, value in values.items():
        _fill(fields[key], value)


def _encode_special(value: Any) -> Any:
    if isinstance(value, OutputValue):
        return Secret(value.value) if value.secret else value.value
    if isinstance(value, Secret):
        return {SIGNATURE_KEY: SECRET_SIGNATURE, "value": value.value}
    if isinstance(value, ResourceRef):
        return {
            SIGNATURE_KEY: RESOURCE_SIGNATURE,
            "urn": value.urn,
            "id": value.id,
            "packageVersion": value.version,
        }
    if isinstance(value, Asset):
        signature = ASSET_SIGNATURE if value.kind == "asset" else ARCHIVE_SIGNATURE
        return {SIGNATURE_KEY: signature, **value.data}
    msg = f"{type(value).__name__} is not a property value"
    raise TypeError(msg)


def encode_properties(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    """`properties` as a protobuf struct, the reverse of `decode_properties`."""
    encoded = struct_pb2.Struct()
    _fill_fields(encoded, properties)
    return encoded


def to_data(value: Any) -> Any:
    """`value` as data for `json.dumps` in which nothing is lost, the reverse of `from_data`."""
    if value is UNKNOWN:
        return UNKNOWN_SENTINEL
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, OutputValue):
        own = {"value": value.value, "secret": value.secret, "dependencies": value.dependencies}
        return {SIGNATURE_KEY: OUTPUT_SIGNATURE, **to_data(own)}
    if isinstance(value, Mapping):
        return {key: to_data(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_data(item) for item in value]
    return to_data(_encode_special(value))


def from_data(data: Any) -> Any:
    """The value that `to_data` wrote.

    Raises:
        ValueError: If it is marked as something that there is not.
        KeyError: If it lacks a part.
    """
    if isinstance(data, dict):
        read = {key: from_data(item) for key, item in data.items()}
        return _special(read) if SIGNATURE_KEY in read else read
    if isinstance(data, list):
        return [from_data(item) for item in data]
    return UNKNOWN if data == UNKNOWN_SENTINEL else data


def to_json(value: Any) -> Any:  # noqa: PLR0911  (one return for each kind of value)
    """`value` as data for `json.dumps` and for people.

    Unknown is written ``"<computed>"``, a secret ``"[secret]"``, a reference as the URN it refers
    to, an asset as ``{"asset": {...}}`` or ``{"archive": {...}}``. Nothing secret gets through.
    """
    if value is UNKNOWN:
        return COMPUTED_TEXT
    if isinstance(value, Secret):
        return SECRET_TEXT
    if isinstance(value, OutputValue):
        return SECRET_TEXT if value.secret else to_json(value.value)
    if isinstance(value, ResourceRef):
        return value.urn
    if isinstance(value, Asset):
        return {value.kind: to_json(value.data)}
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


def plain(value: Any) -> Any:
    """`value` with secrets and outputs unwrapped, for the tools that must see the content.

    `UNKNOWN` stays. Use it to write manifests or to look a value up, never to print one.
    """
    if isinstance(value, Secret | OutputValue):
        return plain(value.value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def known_alone(value: Any) -> Any:
    """`value` without what is unknown in its objects and lists, as providers are asked.

    An SDK asks nothing when an argument is unknown, but it does not look into lists of lists or of
    texts, and the engine leaves out what it meets there. Source: `MarshalPropertyValue` in
    ``sdk/go/common/resource/plugin/rpc.go``, called without ``KeepUnknowns`` by ``Invoke``.
    """
    if isinstance(value, Mapping):
        return {key: known_alone(item) for key, item in value.items() if item is not UNKNOWN}
    if isinstance(value, list):
        return [known_alone(item) for item in value if item is not UNKNOWN]
    return value


def dependencies(value: Any) -> set[str]:
    """URNs that the output values in `value`, at any depth, depend on."""
    found = {urn for item in _children(value) for urn in dependencies(item)}
    return found.union(value.dependencies) if isinstance(value, OutputValue) else found


def is_unknown(value: Any) -> bool:
    """Whether anything in `value`, at any depth, is unknown."""
    return _any_within(value, lambda item: item is UNKNOWN)


def _any_within(value: Any, test: Callable[[Any], bool]) -> bool:
    return test(value) or any(_any_within(item, test) for item in _children(value))


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, Secret | OutputValue):
        yield value.value
    elif isinstance(value, ResourceRef):
        yield value.id
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
