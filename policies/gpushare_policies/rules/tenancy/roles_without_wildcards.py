"""Roles name what they allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.rule import ResourcePolicy, Unjudged, cis
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RBAC = "rbac.authorization.k8s.io"
_ALL = "*"
_TELLING = frozenset(("secrets", "pods/exec", "nodes/proxy"))
"""Resources whose reader is as good as an administrator."""

_NAME_THEM = "List the resources and verbs that are needed."
_NAMED = Fix(_NAME_THEM, _NAME_THEM, _NAME_THEM)


def _role(subject: Subject) -> Iterator[str | Unjudged]:
    rules = at(subject.object.body, "rules")
    if rules is UNKNOWN or UNKNOWN in items(rules):
        yield Unjudged("rules")
    for index, rule in mappings(rules):
        wide = _wide(rule)
        if wide is UNKNOWN:
            yield Unjudged(f"rules[{index}]")
        elif wide:
            yield (
                f"{subject.opening} allows {wide} (rules[{index}]). It must name what it allows: "
                f"a wildcard also holds for what is installed later. "
                f"{_NAMED.of(subject.args.urn)}"
            )


def _wide(rule: Mapping[str, Any]) -> Any:
    """What a rule allows that is too much; `UNKNOWN` where that may still turn out."""
    groups, resources, verbs = (rule.get(key) for key in ("apiGroups", "resources", "verbs"))
    everything, anyhow = _ALL in items(resources), _ALL in items(verbs)
    if everything and anyhow:
        return "every verb on every resource"
    if everything and (_ALL in items(groups) or "" in items(groups)):
        return "verbs on every resource, secrets among them"
    if anyhow and any(str(resource) in _TELLING for resource in items(resources)):
        named = (resource for resource in items(resources) if resource is not UNKNOWN)
        return f"every verb on {', '.join(map(str, named))}"
    return UNKNOWN if has_unknown([groups, resources, verbs]) else ""


ROLES_WITHOUT_WILDCARDS = ResourcePolicy(
    "roles-without-wildcards",
    "Roles must name the resources and verbs that they allow.",
    checks=ObjectChecks({Kind(_RBAC, "ClusterRole"): _role, Kind(_RBAC, "Role"): _role}),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.MEDIUM,
    framework=cis("4.1.3", "Wildcards in roles are avoided."),
    fix=_NAMED,
)
