"""Every kind of finding that lint has."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from eks_gpushare.findings.rule import Rule, rules_in
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.lint import rules
from eks_gpushare.manifests import rules as manifests_rules


def lint_rules() -> tuple[Rule, ...]:
    """Those about single documents, and those of the checks between them, by number."""
    modules = [
        import_module(f"{room.__name__}.{module.name}")
        for room in (rules, manifests_rules)
        for module in pkgutil.iter_modules(room.__path__)
    ]
    of_edges = {rule for edge in EDGES for rule in edge.rules}
    return tuple(sorted({*rules_in(*modules), *of_edges}))
