"""Files that a tool makes or keeps: a correction there is lost with its next run, or harms it."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.json_text import strict_json, without_comments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.manifests.document import Document

_LOCKS: Final = re.compile(
    r"(.*[.-]lock(\.(json|jsonc|ya?ml|hcl|toml))?|npm-shrinkwrap\.json|gotk-components\.yaml)",
    re.IGNORECASE,
)
_GENERATED: Final = re.compile(
    r"(zz_generated.*|.*[._-](generated|gen|rendered)\.[a-z]+)", re.IGNORECASE
)
_STATES: Final = re.compile(r".*\.tfstate(\..*)?|.*\.tfplan(\..*)?", re.IGNORECASE)
_FOLDERS: Final = frozenset(
    (
        *("build", "dist", "out", "target", "_build", "_output", "_rendered", "rendered"),
        *("generated", "cdk.out", ".terraform", ".terragrunt-cache", "node_modules", "vendor"),
        *("_site", ".cache"),
    )
)
"""Where tools put what they make."""
_SAYS_SO: Final = re.compile(
    r"code generated\b|do not (?:edit|modify)|@generated\b|\bauto[- ]?generated\b"
    r"|\b(?:is|was|been) (?:automatically )?generated\b|\bgenerated (?:by|with|from|using)\b",
    re.IGNORECASE,
)
_HELM: Final = re.compile(r"^# Source: [^\n]+/[^\n]+", re.MULTILINE)
"""What `helm template` writes above each object."""
_COMMENT: Final = ("#", "//", "/*", "*", "<!--", "--", ";")
_HEAD: Final = 40
"""Lines in which a file says what made it."""


def why_made(name: str, text: str, documents: Iterable[Document] = ()) -> str | None:
    """Why a file is a tool's own, as the rest of "it ..."; None where nothing says that it is.

    Args:
        name: Its name, as `name_in_project` has it.
        text: Its text.
        documents: What was read of it.
    """
    base = posixpath.basename(name)
    for pattern, what in (
        (_LOCKS, "is the lock of a tool"),
        (_STATES, "is a state or a plan of Terraform"),
        (_GENERATED, "is generated, by its name"),
    ):
        if pattern.fullmatch(base):
            return what
    for number, line in enumerate(text.splitlines()[:_HEAD], 1):
        if line.lstrip().startswith(_COMMENT) and _SAYS_SO.search(line):
            return f"is generated, as line {number} says"
    if _HELM.search(text):
        return "is the output of helm template"
    if base.lower().endswith(".json"):
        said = _said_in_json(text)
        if said is not None:
            return said
    if any(_is_listed(document.value) for document in documents):
        return "is a listing of a cluster"
    folder = next((part for part in name.split("/")[:-1] if part in _FOLDERS), None)
    return f"lies in {folder}, where tools put what they make" if folder else None


def name_in_project(name: str) -> str:
    """A file's name below the folder of its repository, or of the call; else its own alone."""
    path = Path(name).absolute()
    above = next((folder for folder in path.parents if (folder / ".git").exists()), Path.cwd())
    inside = path.is_relative_to(above)
    return path.relative_to(above).as_posix() if inside else path.name


def _said_in_json(text: str) -> str | None:
    try:
        value = strict_json(without_comments(text))
    except (ValueError, RecursionError):
        return None
    keys = value.keys() if isinstance(value, dict) else set()
    if {"format_version", "terraform_version"} <= keys or "planned_values" in keys:
        return "is a plan of Terraform"
    if {"lineage", "serial"} <= keys:
        return "is a state of Terraform"
    if {"deployment", "version"} <= keys:
        return "is an export of a stack"
    said = (value.get(key) for key in ("//", "_comment", "$comment", "_generated")) if keys else ()
    if any(isinstance(word, str) and _SAYS_SO.search(word) for word in said):
        return "is generated, as it says"
    return None


def _is_listed(value: Any) -> bool:
    """Whether an object was read from a cluster, which nobody keeps as a source."""
    if str(at(value, "kind")).endswith("List"):
        items = at(value, "items")
        return isinstance(items, list) and any(map(_is_listed, items))
    return any(at(value, "metadata", key) for key in ("uid", "resourceVersion", "managedFields"))
