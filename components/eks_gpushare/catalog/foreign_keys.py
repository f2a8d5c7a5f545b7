"""Which keys Karpenter's objects and eksctl's files have.

The API server drops or refuses what a definition does not name, eksctl refuses it. The tables are
made by `tools/catalog/foreign_keys.py` from Karpenter's CustomResourceDefinitions
(aws/karpenter-provider-aws, pkg/apis/crds) and eksctl's JSON Schema (eksctl-io/eksctl,
pkg/apis/eksctl.io/v1alpha5/assets/schema.json); read 2026-11-22. The types of Karpenter's values
are those of v1.14.1, read 2026-11-29.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog._data import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def karpenter_spec_keys(kind: str) -> Mapping[str, Any] | None:
    """Keys below `spec` of the kind's newest API version; None of a kind that is not Karpenter's.

    A key's value is a mapping with the keys below it, what a text there has to match, or None.
    """
    found = load("karpenter-keys.json")["kinds"].get(kind)
    return None if found is None else found["spec"]


def karpenter_types(kind: str) -> Mapping[str, str]:
    """What values below `spec` are to be, by their places with dots between; `[]` is an item."""
    found = load("karpenter-keys.json")["kinds"].get(kind)
    return {} if found is None else found["types"]


def karpenter_api_version(kind: str) -> str | None:
    """The API version of a kind that the keys are those of, such as `karpenter.sh/v1`."""
    found = load("karpenter-keys.json")["kinds"].get(kind)
    return None if found is None else found["version"]


def eksctl_keys() -> Mapping[str, Any]:
    """Keys of a ClusterConfig."""
    keys: Mapping[str, Any] = load("eksctl-keys.json")["kinds"]["ClusterConfig"]
    return keys


def unknown_keys(
    value: Any, keys: Mapping[str, Any], path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], tuple[str, ...]]]:
    """The place of each key that is not in the table, with those that could stand there.

    Args:
        value: What was given; what is neither mapping nor list has no keys.
        keys: The table for it.
        path: Where it stands.
    """
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from unknown_keys(each, keys, (*path, index))
        return
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key not in keys:
            yield (*path, key), tuple(keys)
        elif isinstance(keys[key], dict):
            yield from unknown_keys(inner, keys[key], (*path, key))


def refused_texts(
    value: Any, keys: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The place of each text that does not match what the table says, with that.

    Args:
        value: What was given.
        keys: The table for it, or for a value what it has to match.
        path: Where it stands.
    """
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from refused_texts(each, keys, (*path, index))
    elif isinstance(keys, str):
        if isinstance(value, str) and not re.search(keys, value):
            yield path, keys
    elif isinstance(value, dict) and keys:
        for key in value.keys() & keys.keys():
            yield from refused_texts(value[key], keys[key], (*path, key))


def wrong_types(
    value: Any, types: Mapping[str, str], path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The place of each value of another type than the table says, with that; null is none.

    Args:
        value: What was given.
        types: The table.
        path: Where it stands.
    """
    place = ".".join(step for step in path if isinstance(step, str))
    wanted = types.get(f"{place}[]" if path and isinstance(path[-1], int) else place, "")
    if wanted in _KINDS and isinstance(value, str | int | float | list | dict):
        is_such = isinstance(value, _KINDS[wanted])
        if isinstance(value, bool) is not (wanted == "boolean") or not is_such:
            yield path, wanted
            return
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from wrong_types(each, types, (*path, index))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from wrong_types(inner, types, (*path, key))


_KINDS: Mapping[str, Any] = {
    "array": list,
    "boolean": bool,
    "integer": (int, float),
    "object": dict,
    "string": str,
}
