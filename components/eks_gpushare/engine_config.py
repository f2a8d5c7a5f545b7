"""The configuration that the engine hands to a running program, held against its stack file.

The engine decrypts secrets, also within an object, and passes unknown keys on. It says which keys
hold a secret, but not where in them; the stack file does, where it is the one in use. It is not
with `--config-file`, or where Pulumi ESC adds to it: then the key as a whole is named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pulumi
from pulumi.runtime.config import CONFIG, is_config_secret

from eks_gpushare.config.project import ENVIRONMENT_KEY, PROJECT
from eks_gpushare.program.stack_config import StackFileError, read_stack_config
from eks_gpushare.stack_file.file import config_findings, read_stack_file, region_of, secret_finding
from eks_gpushare.stack_file.project import ProjectError, find_project
from eks_gpushare.validation.shape_rules import SECRET_INSIDE, STRAY_KEY

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath, Finding

_IN_FILE: FieldPath = ("config", ENVIRONMENT_KEY)
_ENCRYPTED = {"secure": "[secret]"}


class EngineConfig(NamedTuple):
    """What the engine says of the running stack, and what is wrong with it."""

    environment: Any
    """Plain data of the environment, what is secret as in the file; None if there is none."""
    findings: tuple[Finding, ...]
    """What `check` finds in the file apart from the environment, in the same words."""
    region: str | None
    """`aws:region`."""


def engine_config() -> EngineConfig:
    """Read the configuration of the running stack.

    Raises:
        pulumi.ConfigMissingError: If the program of another project has no environment.
    """
    environment = _environment()
    config = dict(CONFIG.get())
    of_file = _findings_of_file(config)
    found: list[Finding] = []
    if pulumi.get_project() == PROJECT:  # another project has keys of its own
        beside = {key: value for key, value in config.items() if key != ENVIRONMENT_KEY}
        given = {} if environment is None else {ENVIRONMENT_KEY: environment}
        found += config_findings({**beside, **given}, elsewhere=False)
        found += [
            finding for finding in of_file if finding.code == STRAY_KEY.id and finding not in found
        ]
    elif environment is None:
        pulumi.Config().require("environment")
    if is_config_secret(_key()):
        found += [f for f in of_file if f.code == SECRET_INSIDE.id] or [secret_finding(_IN_FILE)]
    for finding in found:
        if finding.code == SECRET_INSIDE.id:
            environment = _encrypted(environment, finding.at[2:])
    return EngineConfig(environment, tuple(found), region_of(config))


def _key() -> str:
    """The key of the environment: that of stack files, or one in the project's own namespace."""
    own = f"{pulumi.get_project()}:environment"
    return own if own in CONFIG.get() or ENVIRONMENT_KEY not in CONFIG.get() else ENVIRONMENT_KEY


def _environment() -> Any:
    text = CONFIG.get().get(_key())
    return None if text is None else _plain(text)


def _plain(text: Any) -> Any:
    """What a text of the engine stands for: an object or list is JSON, all else is itself."""
    if not isinstance(text, str) or text[:1] not in {"{", "["}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _findings_of_file(config: dict[str, Any]) -> tuple[Finding, ...]:
    """What is wrong with the stack file; nothing if it is not the one that the engine has read."""
    try:
        project = find_project(Path(pulumi.get_root_directory()))
        path = project.stack_file(pulumi.get_stack())
        in_file = read_stack_config(path, project=project.name)
        file = read_stack_file(path)
    except (ProjectError, StackFileError, OSError):
        return ()
    secret = set(in_file.secret_keys)
    same = all(
        is_config_secret(key) if key in secret else _plain(config.get(key)) == _plain(value)
        for key, value in in_file.values.items()
    )
    return file.findings if same else ()


def _encrypted(value: Any, at: FieldPath) -> Any:
    """The value with what stands at a place as it stands in the file, where nobody can read it."""
    if not at:
        return _ENCRYPTED
    first, *rest = at
    if isinstance(value, dict) and first in value:
        return {**value, first: _encrypted(value[first], tuple(rest))}
    if isinstance(value, list) and isinstance(first, int) and first < len(value):
        inner = _encrypted(value[first], tuple(rest))
        return [*value[:first], inner, *value[first + 1 :]]
    return value
