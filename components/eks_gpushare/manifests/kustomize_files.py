"""Which files are kustomizations."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eks_gpushare.manifests.document import Document

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""What Kustomize looks for in a folder."""
YAML: Final = (".yaml", ".yml", ".json")
_GROUP: Final = "kustomize.config.k8s.io/"
_OF_OTHERS: Final = frozenset(("version", "sharing", "mig-configs"))
"""Keys that no kustomization has, but configurations."""


def is_kustomization(document: Document) -> bool:
    """Whether a document is one, be it by the name of its file alone."""
    value = document.value
    if not isinstance(value, dict) or document.at:
        return False
    # A configuration that is a literal of it has the file's name too.
    named = posixpath.basename(document.file) in NAMES and not _OF_OTHERS & value.keys()
    # Kustomize fills in either by itself.
    version = value.get("apiVersion") or (_GROUP if named else "")
    kind = value.get("kind") or ("Kustomization" if named else "")
    return str(version).startswith(_GROUP) and kind in ("Kustomization", "Component")


def may_be_kustomization(name: str, content: str) -> bool:
    """Whether a file is worth a closer look, by its name or by what stands in it.

    Args:
        name: Its path.
        content: Its text.
    """
    return posixpath.basename(name) in NAMES or (name.endswith(YAML) and _GROUP in content)
