"""Reading the properties of a resource, some of which a preview does not know yet.

The property mappings of `pulumi_policy` raise `UnknownValueError` for such a value, also on
`"key" in props` and `props.get("key")`; only iteration over the keys is free of it. These
functions raise it where a value is needed, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import (
    UNKNOWN_ARRAY_VALUE,
    UNKNOWN_BOOLEAN_VALUE,
    UNKNOWN_NUMBER_VALUE,
    UNKNOWN_OBJECT_VALUE,
    UNKNOWN_STRING_VALUE,
    UnknownValueError,
)

from eks_gpushare.documents.go_bool import TRUE

_WHOLE = re.compile(r"[+-]?[0-9]+")


def read(props: Any, *path: str) -> Any:
    """The value at `path`, or None where a part of the path is missing or null.

    Raises `UnknownValueError` if the value, or a part of the path, is not known yet.
    """
    value = props
    for key in path:
        # Asked of the mapping itself, `in` would read the value.
        if not isinstance(value, Mapping) or key not in iter(value):
            return None
        value = value[key]
    return value


def peek(props: Any, *path: str) -> Any:
    """The value at `path`, or None where it is missing, null or not known yet."""
    try:
        return read(props, *path)
    except UnknownValueError:
        return None


def given(props: Any, *path: str) -> bool:
    """Whether there is a value at `path`; one that is not known yet counts."""
    try:
        return read(props, *path) is not None
    except UnknownValueError:
        return True


_UNKNOWN = (
    UNKNOWN_ARRAY_VALUE,
    UNKNOWN_BOOLEAN_VALUE,
    UNKNOWN_NUMBER_VALUE,
    UNKNOWN_OBJECT_VALUE,
    UNKNOWN_STRING_VALUE,
)


def is_known(props: Any, *path: str) -> bool:
    """Whether the value at `path` is known, also in properties that a remediation is given.

    The SDK hands those over without the check that raises `UnknownValueError`.
    """
    try:
        value = read(props, *path)
    except UnknownValueError:
        return False
    return not (isinstance(value, str) and value in _UNKNOWN)


def each(value: Any) -> Sequence[Any]:
    """A list's items as they stand, nothing for null, and a single value as a list."""
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return (value,)


def is_true(value: Any) -> bool:
    """Whether a value means true to a provider.

    Properties of AWS take text and numbers for booleans, and read them with Go's
    `strconv.ParseBool`: `convertTfStringToBool` and `makeTerraformInput` in
    https://github.com/pulumi/pulumi-terraform-bridge/blob/v3.100.0/pkg/tfbridge/schema.go, and
    `nullable.TypeNullableBool` in the provider's own launch templates; read 2026-11-22.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value == 1
    return isinstance(value, str) and value in TRUE


def whole(value: Any) -> int | None:
    """A number, or a number in text, as an integer; None for anything else.

    A fraction is cut off, and text is read in base 10, as the provider does both.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None


def format_value(value: Any) -> str:
    """Write a value the way a user wrote it in YAML, for messages."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(format_value(item) for item in value) + "]"
    return str(value)


def stack_of(urn: str) -> str:
    """The stack's name out of `urn:pulumi:<stack>::<project>::<type>::<name>`."""
    return urn.partition("::")[0].removeprefix("urn:pulumi:")
