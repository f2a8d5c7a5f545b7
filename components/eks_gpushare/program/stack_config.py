"""The configuration of a stack file, as the engine hands it to a program.

The engine gives a program text only: a scalar as it is written in the file, an object or list as
JSON (pulumi/pulumi, ``sdk/go/common/resource/config/value.go``). A key without a namespace belongs
to the project.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.project import PROJECT
from eks_gpushare.documents.reading import read_bytes
from eks_gpushare.stack_file.yaml import MAX_BYTES, read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eks_gpushare.stack_file.yaml import StackDocument

ENCRYPTED_TEXT = "[secret]"
"""Stands for a value that only the stack's secrets provider could decrypt."""

_CONFIG = "config"
_SECURE = {"secure"}


class StackFileError(ValueError):
    """A stack file that no configuration can be taken from."""


@dataclass(frozen=True, slots=True)
class StackConfig:
    """The configuration of one stack: full keys and text."""

    values: Mapping[str, str] = field(default_factory=dict)
    secret_keys: tuple[str, ...] = ()
    """Keys whose values are encrypted, wholly or in part. `ENCRYPTED_TEXT` stands in for them."""


def read_stack_config(path: Path | str, *, project: str = PROJECT) -> StackConfig:
    """The configuration in the stack file at `path` and which of its keys are secret.

    `project` is the namespace of keys that have none. Raises `OSError` if the file cannot be read
    and `StackFileError` if it is no YAML mapping with a ``config`` mapping in it; everything else
    about its content is for ``eks-gpushare check`` to judge.
    """
    return stack_config_of(read(read_bytes(path, MAX_BYTES), str(path)), project=project)


def stack_config_of(document: StackDocument, *, project: str = PROJECT) -> StackConfig:
    """The same of a stack file that was read already."""
    path = document.name
    if not document.readable:
        lines = [f"{path}:{problem.line}: {problem.message}" for problem in document.problems]
        raise StackFileError("\n".join(lines))
    content = document.value
    config = content.get(_CONFIG) if isinstance(content, dict) else content
    if config is None:
        return StackConfig()
    if not isinstance(config, dict):
        raise StackFileError(f"{path}: `config` must be a mapping of keys to values")
    values = {_full_key(key, project): _text(document, key, value) for key, value in config.items()}
    secrets = tuple(_full_key(key, project) for key, value in config.items() if _is_secret(value))
    return StackConfig(values, secrets)


def _full_key(key: str, project: str) -> str:
    return key if ":" in key else f"{project}:{key}"


def _text(document: StackDocument, key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        decrypted = _decrypted(value)
        if isinstance(decrypted, str):
            return decrypted
        return json.dumps(decrypted, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    raw = document.raw_scalar((_CONFIG, key))
    return "" if value is None or raw is None else raw


def _decrypted(value: Any) -> Any:
    """`value` with encrypted parts replaced and integral floats as the engine has them."""
    if isinstance(value, dict):
        if value.keys() == _SECURE:
            return ENCRYPTED_TEXT
        return {key: _decrypted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decrypted(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _is_secret(value: Any) -> bool:
    if isinstance(value, dict):
        return value.keys() == _SECURE or any(map(_is_secret, value.values()))
    return isinstance(value, list) and any(map(_is_secret, value))
