"""Manifests that are given to the lab: files of YAML documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare_lab import rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Object


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object of a file."""

    where: str
    """File and number of the document, for people."""
    object: Object
    """The object."""


def read(files: list[str]) -> tuple[list[Manifest], list[Finding]]:
    """The objects of some files, and what cannot be read of them.

    A `List` stands for its items. Nothing of a file with a mistake in its YAML is returned.

    Raises:
        OSError: If a file cannot be read.
    """
    manifests: list[Manifest] = []
    found: list[Finding] = []
    for file in files:
        text = Path(file).read_text(encoding="utf-8")
        try:
            documents = list(yaml.load_all(text, Loader=_Strict))
        except yaml.YAMLError as error:
            found.append(_unreadable(file, f"it is no YAML: {_said(error)}"))
            continue
        for number, document in enumerate(documents, 1):
            where = file if len(documents) == 1 else f"{file}, document {number}"
            for each in _items(document):
                why = _lacks(each)
                if why:
                    found.append(_unreadable(where, why))
                else:
                    manifests.append(Manifest(where, each))
    return manifests, found


class _Strict(yaml.SafeLoader):
    """Refuses a key that stands twice, as the API server would, if it ever got to see it."""


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    seen: set[Any] = set()
    for key, _ in node.value:
        name = loader.construct_object(key, deep=True)
        if name in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {name!r} stands twice", key.start_mark
            )
        seen.add(name)
    return loader.construct_mapping(node, deep=True)


_Strict.add_constructor("tag:yaml.org,2002:map", _mapping)
# Times are text to Kubernetes.
_Strict.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _items(document: Any) -> Iterator[Any]:
    if document is None:
        return
    is_list = isinstance(document, dict) and str(document.get("kind", "")).endswith("List")
    if is_list and isinstance(document.get("items"), list):
        yield from document["items"]
    else:
        yield document


def _lacks(document: Any) -> str | None:
    if not isinstance(document, dict):
        return "it is no mapping"
    metadata = document.get("metadata")
    named = isinstance(metadata, dict) and (metadata.get("name") or metadata.get("generateName"))
    wanted = {
        "apiVersion": document.get("apiVersion"),
        "kind": document.get("kind"),
        "metadata.name": named,
    }
    missing = [key for key, value in wanted.items() if not value]
    return f"it has no {', '.join(missing)}" if missing else None


def _said(error: yaml.YAMLError) -> str:
    """What is wrong and where, without the parser's drawing."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{getattr(error, 'problem', None) or ' '.join(str(error).split())}"


def _unreadable(where: str, why: str) -> Finding:
    fix = "Fix the file; `kubectl apply --dry-run=client -f FILE` reads it in the same way."
    return rules.UNREADABLE_MANIFEST.finding(("apply", where), f"{where}: {why}.", fix)
