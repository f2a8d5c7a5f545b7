"""Files of Helmfile: releases of charts, and what says whether they are installed.

Source: https://helmfile.readthedocs.io/en/latest/#configuration; November 2026.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.readers.values import mappings
from eks_gpushare.stack_file.composer import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document

FURTHER_VALUES: Final = ("valuesTemplate", "secrets", "inherit")
"""Keys of a release by which it has values beside those of `values`."""


def is_helmfile(value: Mapping[str, Any]) -> bool:
    """Whether a document is one of Helmfile's: releases of charts, with nothing that names it."""
    return "apiVersion" not in value and any(
        isinstance(release.get("chart"), str) for _, release in mappings(value.get("releases"))
    )


def where_installed(document: Document, index: int, release: Mapping[str, Any]) -> Document:
    """The document of a release: one that may not be there, where an environment decides that.

    Args:
        document: The file.
        index: The release's number in it.
        release: The release.
    """
    for key in ("installed", "condition"):
        given = release.get(key)
        if given is UNKNOWN or (key == "condition" and isinstance(given, str)):
            condition = f"{key}: {_as_written(document, ('releases', index, key))}"
            return replace(document, is_optional=True, condition=condition)
    return document


def _as_written(document: Document, path: FieldPath) -> str:
    """A value with its template, which stands for what is not known of it."""
    whole = document.text
    if whole is None or whole.root is None:
        return ""
    # A key that is merged into the release stands elsewhere.
    entry, _ = find(whole.root, (*document.at, *path))
    span = whole.root.span if entry is None else entry.node.span
    return whole.text[span.start : span.end]
