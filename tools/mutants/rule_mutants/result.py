"""What came of the inversions of a module."""

from __future__ import annotations

from dataclasses import dataclass, field

NOT_TRIED: tuple[str, ...] = tuple(
    f"components/eks_gpushare/{module}"
    for module in (
        "lint/alternatives.py",
        "lint/configuration.py",
        "lint/corrections.py",
        "lint/declared.py",
        "lint/judging.py",
        "lint/made_by_tools.py",
        "lint/migration/rest.py",
        "lint/references.py",
        "lint/replacing.py",
        "lint/scopes.py",
        "manifests/json_text.py",
        "manifests/kustomize_patches.py",
        "rules/freshness.py",
    )
)
"""Beginnings of modules among which are some that nobody has tried yet."""


@dataclass
class Result:
    """What became of a module's inversions."""

    tried: int = 0
    survived: list[str] = field(default_factory=list)
    """What each changes that no test noticed."""
    untested: list[str] = field(default_factory=list)
    """The same of those whose line no test runs."""
