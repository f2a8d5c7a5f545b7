"""Manifests that are given to the lab: files of YAML documents or JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab import rules
from eks_gpushare_lab.install.manifest_files import UnreadableError, text_of
from eks_gpushare_lab.install.manifest_text import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Object

MOST_FINDINGS = 50
"""As many mistakes are told; who has more has one that they all come from."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object of a file."""

    where: str
    """File and number of the document, for people."""
    object: Object
    """The object."""


def read(files: Sequence[str]) -> tuple[list[Manifest], list[Finding]]:
    """The objects of some files, and everything that cannot be read of them.

    A `List` stands for its items.
    """
    manifests: list[Manifest] = []
    found: list[Finding] = []
    for file in files:
        name = os.fsencode(file).decode("utf-8", "replace")
        try:
            parts = parts_of(text_of(file))
        except UnreadableError as error:
            found.append(_unreadable(name, str(error)))
            continue
        except OSError as error:
            said = f"{name} cannot be read: {error.strerror}."
            fix = "Name a file that is there and that you may read."
            found.append(rules.UNREADABLE_MANIFEST.finding(("apply", name), said, fix))
            continue
        if not parts:
            found.append(_unreadable(name, "it holds no object"))
        for part in parts:
            where = name if len(parts) == 1 else f"{name}, document {part.number}"
            if part.wrong:
                found.append(_unreadable(where, part.wrong))
                continue
            for at, item in _items(part.value, where):
                why = _lacks(item)
                if why:
                    found.append(_unreadable(at, why))
                else:
                    manifests.append(Manifest(at, item))
    if len(found) > MOST_FINDINGS:
        more = f"{len(found) - MOST_FINDINGS} more such mistakes follow"
        found = [*found[:MOST_FINDINGS], _unreadable(", ".join(files), more)]
    return manifests, found


def _items(document: Any, where: str) -> Iterator[tuple[str, Any]]:
    """What a document stands for, each with where it is."""
    kind = str(document.get("kind", "")) if isinstance(document, dict) else ""
    items = document.get("items", ()) if kind.endswith("List") else ()
    if not isinstance(items, list | None):  # no list of ours: an object whose kind is called so
        yield where, document
        return
    for number, item in enumerate(items or (), 1):
        # Those of a PodList need not say again that they are Pods.
        given = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
        of = {**given, **item} if isinstance(item, dict) and given["kind"] else item
        yield from _items(of, f"{where}, item {number}")


def _lacks(document: Any) -> str | None:
    if not isinstance(document, dict):
        return "it is no mapping"
    metadata = document.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    wanted = {
        "apiVersion": document.get("apiVersion"),
        "kind": document.get("kind"),
        "metadata.name": named.get("name") or named.get("generateName"),
        "metadata.namespace": named.get("namespace") or "default",
    }
    missing = [key for key, value in wanted.items() if value in (None, "", {}, [])]
    if missing:
        return f"it has no {', '.join(missing)}"
    odd = [f"{k} is {v!r}, which is no text" for k, v in wanted.items() if not isinstance(v, str)]
    return "; ".join(odd) or None


def _unreadable(where: str, why: str) -> Finding:
    fix = "Fix the file; `kubectl apply --dry-run=client -f FILE` reads it in the same way."
    return rules.UNREADABLE_MANIFEST.finding(("apply", where), f"{where}: {why}.", fix)
