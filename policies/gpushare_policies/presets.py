"""Levels of all rules together, for those who begin, for most, and for those who let nothing by.

`python tools/docs/make_pages.py` writes each as a file of `presets/`, which the engine takes by
`--policy-pack-config` and `eks-gpushare policy` by `--preset`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, Severity

from gpushare_policies.registry import POLICIES
from gpushare_policies.rules.in_force import EXEMPTIONS_IN_FORCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpushare_policies.rule import AnyRule

_MANDATORY, _ADVISORY = EnforcementLevel.MANDATORY.value, EnforcementLevel.ADVISORY.value
_GRAVE = (Severity.HIGH, Severity.CRITICAL)
_OF_THE_HOUSE = frozenset(
    ("private-endpoint-on", "api-authentication", "deletion-protection", "pods-not-privileged")
)
"""What clusters that run well go without, and a team decides for itself when it comes to it."""


def _recommended(rule: AnyRule) -> str:
    return _ADVISORY if rule.enforcement_level is None else rule.enforcement_level.value


def _baseline(rule: AnyRule) -> str:
    grave = rule.severity in _GRAVE and rule.name not in _OF_THE_HOUSE
    return _recommended(rule) if grave else _ADVISORY


def _strict(rule: AnyRule) -> str:
    return _ADVISORY if rule is EXEMPTIONS_IN_FORCE else _MANDATORY  # which only lists


def presets() -> Mapping[str, Mapping[str, str]]:
    """Level by rule.

    `baseline` fails for what is grave and what breaks, `recommended` as the rules themselves say,
    `strict` for everything.
    """
    levels = (("baseline", _baseline), ("recommended", _recommended), ("strict", _strict))
    return {name: {rule.name: level(rule) for rule in POLICIES} for name, level in levels}


def files() -> Mapping[str, str]:
    """Each as the text of a file, by its name."""
    return {
        f"{name}.json": f"{json.dumps(levels, indent=2)}\n" for name, levels in presets().items()
    }
