"""Roles name what they allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from eks_gpushare.manifests.readers.values import walk
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.charts import charts_of
from gpushare_policies.reading.objects import Kind, is_theirs
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RBAC = "rbac.authorization.k8s.io"
_ALL = "*"
_BROUGHT = "kubernetes.io/bootstrapping"
_MIGHTY = frozenset(
    (
        *("secrets", "pods", "pods/exec", "pods/attach", "pods/ephemeralcontainers"),
        *("nodes", "nodes/proxy", "serviceaccounts", "serviceaccounts/token", "daemonsets"),
        *("roles", "clusterroles", "rolebindings", "clusterrolebindings", "persistentvolumes"),
        *("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        "mutatingadmissionpolicies",
        "certificatesigningrequests/approval",
    )
)
"""Resources of which whoever may do everything is as good as an administrator:
https://kubernetes.io/docs/concepts/security/rbac-good-practices/ (2026-11-25)."""
_TELLING = frozenset(("secrets", "pods/exec", "nodes/proxy"))
"""The same within one namespace."""
_INSIDE = frozenset(("pods/exec", "pods/attach", "pods/ephemeralcontainers", "*/exec", "*/attach"))
_HOOKS = (
    *("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
    "mutatingadmissionpolicies",
)
_RAISING = frozenset(("escalate", "bind", "impersonate"))
_SIGNS = frozenset(("approve", "sign"))
_FOR_ANYBODY = frozenset(("kubernetes.io/kube-apiserver-client", "kubernetes.io/*"))
"""Signers whose certificates may carry any name and group, by "Kubernetes signers" in
https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/, read
2026-11-28."""
_READS = frozenset(("get", "list", "watch"))

_NAME_THEM = "List the resources and verbs that are needed."
_NAMED = Fix(_NAME_THEM, _NAME_THEM, _NAME_THEM)


def _role(subject: Subject) -> Iterator[str | Unjudged]:
    rules = at(subject.object.body, "rules")
    everywhere = subject.object.kind.kind == "ClusterRole"
    if rules is UNKNOWN or UNKNOWN in items(rules):
        yield Unjudged("rules")
    if _gathers_all(at(subject.object.body, "aggregationRule")):
        yield (
            f"{subject.opening} gathers the rules of every role (aggregationRule). It must select "
            f"them by a label of its own: this selector also finds cluster-admin. "
            f"{_NAMED.of(subject.args.urn)}"
        )
    for index, rule in mappings(rules):
        wide = _wide(rule, everywhere=everywhere)
        if wide is UNKNOWN:
            yield Unjudged(f"rules[{index}]")
        elif wide:
            yield (
                f"{subject.opening} allows {wide} (rules[{index}]). It must name what it allows: "
                f"a wildcard also holds for what is installed later. "
                f"{_NAMED.of(subject.args.urn)}"
            )


def _gathers_all(given: Any) -> bool:
    """Whether a role has the rules of all roles, cluster-admin among them.

    An empty selector finds it, and so does the label of all that Kubernetes brings:
    https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
    """
    selectors = items(at(given, "clusterRoleSelectors"))
    return any(
        isinstance(one, dict)
        and (not any(one.values()) or at(one, "matchLabels") == {_BROUGHT: "rbac-defaults"})
        for one in selectors
    )


def _chart(args: ResourceValidationArgs) -> Iterator[str]:
    """Rules in values, of which a chart makes a role."""
    for chart in charts_of(args.props):
        for path, inner in walk(chart.values):
            if "apiVersion" in inner or "verbs" not in inner:
                continue  # of a whole object, or none
            wide = _wide(inner, everywhere=True)
            if isinstance(wide, str) and wide:
                yield (
                    f"`{'.'.join(map(str, path))}` of {args.name} allows {wide}. It must name what "
                    f"it allows: a wildcard also holds for what is installed later. "
                    f"{_NAMED.of(args.urn)}"
                )


def _wide(rule: Mapping[str, Any], *, everywhere: bool) -> Any:
    """What a rule allows that is too much; `UNKNOWN` where that may still turn out."""
    groups, resources, verbs = (rule.get(key) for key in ("apiGroups", "resources", "verbs"))
    if _ALL in items(rule.get("nonResourceURLs")):
        return "every path of the API server"
    everything, anyhow = _ALL in items(resources), _ALL in items(verbs)
    if (everything or anyhow) and _is_own(groups):
        return ""
    named = [str(item) for item in items(resources) if item is not UNKNOWN]
    asked = [str(item) for item in items(verbs) if item is not UNKNOWN]
    if everything and anyhow:
        return "every verb on every resource"
    if everything and (shown := _of_groups(groups)):
        return f"verbs on every resource{shown}"
    if anyhow and not (_MIGHTY if everywhere else _TELLING).isdisjoint(named):
        return f"every verb on {', '.join(named)}"
    found = _raising(rule, named, asked, everywhere=everywhere)
    # All of everything, `*/*`, is no name of anything.
    below = [name for name in named if name.startswith("*/") and not name.endswith("/*")]
    below = [] if _is_own(groups) else below
    if not found and below:
        found = f"{', '.join(below)}, of whatever there is"
    if not found and _ALL in items(groups):
        found = f"{', '.join(named) or 'resources'} of every API group"
    return found or (UNKNOWN if has_unknown([groups, resources, verbs]) else "")


def _of_groups(groups: Any) -> str:
    """Whose resources all of them are; empty where that is not known."""
    if _ALL in items(groups) or "" in items(groups):
        return ", secrets among them"
    return "" if has_unknown(groups) or not groups else f" of {' and '.join(map(str, groups))}"


def _is_own(groups: Any) -> bool:
    """Whether a rule is about groups of somebody's own kinds alone, as operators need."""
    named = items(groups)
    own = [isinstance(group, str) and is_theirs(Kind(group, "")) for group in named]
    return bool(own) and all(own)


def _raising(
    rule: Mapping[str, Any], named: list[str], verbs: list[str], *, everywhere: bool
) -> str:
    """Rights by which their owner gets others; empty if there are none."""
    if raising := sorted(_RAISING.intersection(verbs)):
        return f"{' and '.join(raising)} on {', '.join(named) or 'anything'}"
    if not {"nodes/proxy", "*/proxy"}.isdisjoint(named):
        return "nodes/proxy, by which commands run in every pod"
    signs = sorted(_SIGNS.intersection(verbs)) if "signers" in named else []
    if signs and not _FOR_ANYBODY.isdisjoint(map(str, items(rule.get("resourceNames")))):
        return f"{' and '.join(signs)} certificates by which the API server knows anybody"
    reads = _READS.intersection(verbs)
    unnamed = not items(rule.get("resourceNames"))
    if everywhere and "secrets" in named and reads and unnamed:
        return f"{' and '.join(sorted(reads))} on the secrets of every namespace"
    made = {"create", _ALL}.intersection(verbs)
    if made and unnamed and not {"serviceaccounts/token", "*/token"}.isdisjoint(named):
        return "create on serviceaccounts/token, and so every service account"
    return _of_all_namespaces(rule, named, verbs) if everywhere and unnamed else ""


def _of_all_namespaces(rule: Mapping[str, Any], named: list[str], verbs: list[str]) -> str:
    """Rights that reach the pods of every namespace, or what the cluster trusts."""
    made = {"create", _ALL}.intersection(verbs)
    # A WebSocket asks with GET: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
    patched = {"update", "patch"}.intersection(verbs) and "pods/ephemeralcontainers" in named
    if inside := sorted(_INSIDE.intersection(named)) if made or patched or "get" in verbs else []:
        return f"{' and '.join(inside)}, by which commands run in the pods of every namespace"
    hooks = sorted(name for name in named if name in _HOOKS) if made else []
    if hooks:
        return f"create on {' and '.join(hooks)}, which see and change every request"
    signs = sorted(_SIGNS.intersection(verbs)) if "signers" in named else []
    if signs and "certificates.k8s.io" in items(rule.get("apiGroups")):
        return f"{' and '.join(signs)} on every signer, and so certificates of anybody"
    return ""


ROLES_WITHOUT_WILDCARDS = ResourcePolicy(
    "roles-without-wildcards",
    "Roles must name what they allow, and allow nothing by which their owner gets more rights.",
    checks=ObjectChecks(
        {Kind(_RBAC, "ClusterRole"): _role, Kind(_RBAC, "Role"): _role},
        {RELEASE: _chart, CHART_V4: _chart},
    ),
    level=EnforcementLevel.ADVISORY,
    unseen=(
        "every verb (`*`) on resources that are named and lead to no other rights, such as "
        "deployments of a namespace."
    ),
    severity=Severity.MEDIUM,
    framework=cis("4.1.3", "Wildcards in roles are avoided."),
    fix=_NAMED,
)
