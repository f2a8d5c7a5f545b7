"""The Kubernetes objects of a recorded program as files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from pathlib import Path

    from eks_gpushare.program.recording import Recording, Resource

_RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"
_UNSAFE = re.compile(r"[^a-z0-9.-]+")


def write_manifests(recording: Recording, directory: Path) -> list[Path]:
    """Write each Kubernetes object as a YAML file, and the values of each Helm release.

    Files are numbered in the order in which the objects are needed. Secrets are masked.

    Args:
        recording: What a program registered.
        directory: Where to write; made if it is not there.

    Returns:
        The files written.

    Raises:
        OSError: If they cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    objects = [r for r in recording.resources if r.type.startswith("kubernetes:") and r.custom]
    return [_write(index, resource, directory) for index, resource in enumerate(objects, 1)]


def _write(index: int, resource: Resource, directory: Path) -> Path:
    inputs = to_json(resource.inputs)
    if resource.type == _RELEASE_TYPE:
        kind, name, text = "helm-values", str(inputs.get("name", resource.name)), _values(inputs)
    else:
        kind = resource.type.rpartition(":")[2].lower()
        name = str(inputs.get("metadata", {}).get("name", resource.name))
        text = _dump(inputs)
    path = directory / f"{index:02}-{kind}-{_UNSAFE.sub('-', name.lower())}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def _values(inputs: dict[str, Any]) -> str:
    repository = inputs.get("repositoryOpts", {}).get("repo")
    command = [
        f"helm upgrade --install {inputs.get('name')} {inputs.get('chart')}",
        *([f"--repo {repository}"] if repository else []),
        *([f"--version {inputs['version']}"] if "version" in inputs else []),
        f"--namespace {inputs.get('namespace')} --values THIS_FILE",
    ]
    return f"# {' '.join(command)}\n{_dump(inputs.get('values', {}))}"


def _dump(value: Any) -> str:
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True))


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, so that a ConfigMap can be read."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
