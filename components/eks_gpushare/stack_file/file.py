"""A stack file: `stacks/Pulumi.<stack>.yaml`, read without Pulumi."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.config.project import ENVIRONMENT_KEY, PROJECT
from eks_gpushare.documents.reading import read_bytes
from eks_gpushare.findings.finding import FieldPath, Finding
from eks_gpushare.stack_file.yaml import MAX_BYTES, StackDocument, YamlProblem, read
from eks_gpushare.validation import shape_rules
from eks_gpushare.validation.credentials import credentials
from eks_gpushare.validation.shape import format_value, similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.rule import Rule

_TOP_LEVEL = ("config", "encryptionsalt", "encryptedkey", "secretsprovider", "environment")
_REGION_KEY = "aws:region"
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}")
_AWS_KEYS = (
    "accessKey",
    "allowedAccountIds",
    "assumeRole",
    "assumeRoles",
    "assumeRoleWithWebIdentity",
    "customCaBundle",
    "defaultTags",
    "endpoints",
    "forbiddenAccountIds",
    "httpProxy",
    "httpsProxy",
    "ignoreTags",
    "insecure",
    "maxRetries",
    "noProxy",
    "profile",
    "region",
    "retryMode",
    "secretKey",
    "sharedConfigFiles",
    "sharedCredentialsFiles",
    "skipCredentialsValidation",
    "skipMetadataApiCheck",
    "skipRegionValidation",
    "skipRequestingAccountId",
    "token",
    "useDualstackEndpoint",
    "useFipsEndpoint",
)


class StackFile(NamedTuple):
    """What one stack file says, and what is wrong with it before its environment is looked at."""

    name: str
    """The file as it was given."""
    document: StackDocument
    """The file with its lines."""
    findings: tuple[Finding, ...]
    """Errors of the file; their paths are those of the whole file."""
    environment: object
    """The plain data of the environment; None if there is none."""
    region: str | None
    """`aws:region`."""
    text: str = ""
    """The file's text, which has comments."""

    @property
    def readable(self) -> bool:
        """Whether the file is YAML at all."""
        return self.document.readable

    def spelled(self, at: FieldPath) -> str | None:
        """The scalar at a place of the environment as it is written, without its quotes."""
        return self.document.raw_scalar(("config", ENVIRONMENT_KEY, *at))

    def line_of(self, found: Finding) -> int | None:
        """The line of a finding, of the file or of its environment."""
        if found in self.findings:
            return self._file_line(found)
        return self.document.line_of(("config", ENVIRONMENT_KEY, *found.at))

    def _file_line(self, found: Finding) -> int | None:
        line, _, _ = found.path.removeprefix("line ").partition(",")
        return int(line) if line.isascii() and line.isdigit() else self.document.line_of(found.at)


def read_stack_file(path: str | Path) -> StackFile:
    """Read a stack file.

    Args:
        path: Where it is.

    Raises:
        OSError: If it cannot be opened or read.
    """
    return stack_file_of(read_bytes(path, MAX_BYTES), str(path))


def stack_file_of(content: bytes | str, name: str) -> StackFile:
    """The stack file with the given content; `name` is what messages call it."""
    document = read(content, name)
    found = [_of_yaml(problem) for problem in document.problems]
    environment, region = None, None
    if document.readable:
        found += _of_file(document.value)
        config = document.value.get("config") if isinstance(document.value, dict) else None
        if isinstance(config, dict):
            environment, region = config.get(ENVIRONMENT_KEY), region_of(config)
    text = content if isinstance(content, str) else content.decode(errors="replace")
    return StackFile(name, document, tuple(found), environment, region, text)


def region_of(config: Mapping[str, Any]) -> str | None:
    """`aws:region` of a configuration, if it looks like one."""
    given = config.get(_REGION_KEY)
    return given if isinstance(given, str) and _REGION.fullmatch(given) else None


def _of_yaml(problem: YamlProblem) -> Finding:
    rule = shape_rules.DUPLICATE_KEY if problem.kind == "duplicate" else shape_rules.UNREADABLE
    message = f"{problem.message[:1].upper()}{problem.message[1:]}."
    fix = f"{problem.fix[:1].upper()}{problem.fix[1:]}." if problem.fix else "Correct the line."
    where = f"line {problem.line}, column {problem.column}"
    return Finding(rule.id, rule.severity, where, message, fix, rule.source, problem.path)


def _of_file(value: Any) -> Iterator[Finding]:
    if value is None:
        yield _missing_environment((), "The file is empty.")
        return
    if not isinstance(value, dict):
        yield _missing_environment((), f"The file holds {format_value(value)}, not a mapping.")
        return
    if {"apiVersion", "kind"} <= value.keys():
        message = f"The file holds a Kubernetes object of kind {value['kind']}, not a stack."
        fix = "Check it by eks-gpushare lint, or give a stack file; stacks/ has examples."
        yield shape_rules.NO_ENVIRONMENT.finding((), message, fix)
        return
    if (bare := [key for key in value if ":" in str(key)]) and "config" not in value:
        message = f"{' and '.join(map(str, bare))} {'stand' if bare[1:] else 'stands'} at the top."
        fix = "Write config: above, and indent the rest by two blanks, so that it is below config."
        yield shape_rules.NO_ENVIRONMENT.finding((bare[0],), message, fix)
        return
    for key in value:
        if key not in _TOP_LEVEL:
            yield _stray((key,), key, f"{key} is not a key of a stack file.", _TOP_LEVEL)
    config = value.get("config")
    elsewhere = value.get("environment") is not None
    if isinstance(config, dict):
        yield from config_findings(config, elsewhere=elsewhere)
        # Of the environment it is said where its rules are asked.
        others = {key: inner for key, inner in config.items() if key != ENVIRONMENT_KEY}
        yield from credentials(others, ("config",), environment=False)
    elif config is not None:
        message = f"{format_value(config)} is not a mapping of configuration keys."
        fix = f"Write {ENVIRONMENT_KEY}: and aws:region: below config."
        yield shape_rules.WRONG_TYPE.finding(("config",), message, fix)
    elif elsewhere:
        yield _unseen_environment()
    else:
        yield _missing_environment(("config",), "The file has no configuration.")


def config_findings(config: dict[str, Any], *, elsewhere: bool) -> Iterator[Finding]:
    """What is wrong with configuration, apart from what is inside the environment.

    Args:
        config: Its keys with their namespaces, and plain data.
        elsewhere: Whether more of it comes from Pulumi ESC.
    """
    of_keys = [found for key in config for found in _of_key(key)]
    yield from of_keys
    meant = any(found.fix == f"Did you mean {ENVIRONMENT_KEY}?" for found in of_keys)
    at = ("config", ENVIRONMENT_KEY)
    if config.get(ENVIRONMENT_KEY) is not None:
        yield from _secrets(config[ENVIRONMENT_KEY], at)
    elif ENVIRONMENT_KEY in config:
        fix = "Give it cluster and pools; stacks/ has examples."
        yield shape_rules.NO_ENVIRONMENT.finding(at, f"{ENVIRONMENT_KEY} is empty.", fix)
    elif elsewhere:
        yield _unseen_environment()
    elif not meant:
        yield _missing_environment(("config",), f"The file has no {ENVIRONMENT_KEY}.")
    region = config.get(_REGION_KEY)
    if region is not None and region_of(config) is None:
        message = f"{format_value(region)} is not the name of a region."
        at = ("config", _REGION_KEY)
        yield shape_rules.NOT_ALLOWED.finding(at, message, "Write it as us-west-2.")


_INSIDE = f"It stands one level in: write {ENVIRONMENT_KEY}: {{{{{{key}}: ...}}}}."


@cache
def _blocks() -> frozenset[str]:
    """Keys of the environment."""
    from eks_gpushare.config.base import fields_by_key
    from eks_gpushare.config.environment import Environment

    return frozenset(fields_by_key(Environment))


def _of_key(key: str) -> Iterator[Finding]:
    namespace, colon, name = key.partition(":")
    at = ("config", key)
    if not colon:
        message = f"{key} has no namespace, so the engine cannot tell whose it is."
        full = ENVIRONMENT_KEY if similar(key, ["environment"]) else f"{PROJECT}:{key}"
        fix = _INSIDE.format(key=key) if key in _blocks() else f"Write {full}."
        yield shape_rules.STRAY_KEY.finding(at, message, fix)
    elif namespace == PROJECT and name in _blocks():
        message = f"{PROJECT} reads {ENVIRONMENT_KEY} only."
        yield shape_rules.STRAY_KEY.finding(at, message, _INSIDE.format(key=name))
    elif namespace == PROJECT and name != "environment":
        yield _stray(at, key, f"{PROJECT} reads {ENVIRONMENT_KEY} only.", (ENVIRONMENT_KEY,))
    elif namespace not in {PROJECT, "eks"} and similar(namespace, [PROJECT, "gpushare"]):
        yield _stray(at, key, f"{namespace} is not the name of this project.", (ENVIRONMENT_KEY,))
    elif namespace == "aws" and name not in _AWS_KEYS and (meant := similar(name, _AWS_KEYS)):
        message = f"{key} is not a setting of the AWS provider."
        yield shape_rules.STRAY_KEY.finding(at, message, f"Did you mean aws:{meant}?")


def _stray(at: FieldPath, key: str, message: str, known: tuple[str, ...]) -> Finding:
    meant = similar(key, known)
    if meant and meant != key:
        fix = f"Did you mean {meant}?"
    else:
        fix = f"Remove it; known are {', '.join(known)}."
    return shape_rules.STRAY_KEY.finding(at, message, fix)


def _missing_environment(at: FieldPath, message: str) -> Finding:
    fix = f"Add config: with {ENVIRONMENT_KEY}: below it; stacks/ has examples."
    return shape_rules.NO_ENVIRONMENT.finding(at, message, fix)


def _unseen_environment() -> Finding:
    """What Pulumi ESC adds to the configuration is not in the file."""
    message = f"If {ENVIRONMENT_KEY} comes from Pulumi ESC, it is not checked here."
    fix = "Nothing to change; pulumi preview checks it."
    return shape_rules.NO_ENVIRONMENT.finding(("environment",), message, fix, "info")


def _secrets(value: Any, at: FieldPath) -> Iterator[Finding]:
    if isinstance(value, dict):
        if set(value) == {"secure"}:
            yield secret_finding(at)
            return
        for key, inner in value.items():
            yield from _secrets(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _secrets(inner, (*at, index))


def secret_finding(at: FieldPath) -> Finding:
    """The finding of a secret at a place of the whole file."""
    message = "A secret inside the environment would be in plain text in the state."
    fix = "Keep secrets out of it; nothing in an environment needs one."
    return shape_rules.SECRET_INSIDE.finding(at, message, fix)


def unreadable(name: str, reason: str) -> Finding:
    """The finding of a file that cannot be opened."""
    code: Rule = shape_rules.UNREADABLE
    try:
        fix = f"Give {_files_at(name) or 'the path of a stack file'}."
    except (OSError, ValueError):  # a name that no file can have
        fix = "Give the path of a stack file."
    return code.finding((), f"{name} cannot be read: {reason}.", fix)


def _files_at(name: str) -> str | None:
    """The files of stacks that a folder, or a stack that is called by its name, has."""
    path = Path(name)
    if path.is_dir():
        found = [file for at in (path, path / "stacks") for file in at.glob("Pulumi.*.yaml")]
    else:
        called = f"Pulumi.{path.name}.yaml"
        folders = (path.parent, path.parent / "stacks")
        found = [folder / called for folder in folders if (folder / called).is_file()]
    if len(found) > 1:
        return f"a stack file, such as {min(found).as_posix()}"
    return found[0].as_posix() if found else None
