"""Tenants reach each other over the network only where somebody said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.objects import Kind, KubernetesObject
from gpushare_policies.reading.plain import items
from gpushare_policies.reading.tenants import TENANT_LABEL, unprotected
from gpushare_policies.rule import StackRule, Unjudged
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_POLICY = Kind("networking.k8s.io", "NetworkPolicy")

_MAKE_POLICY = (
    "Make a NetworkPolicy in the namespace with `spec: {podSelector: {}, policyTypes: [Ingress]}`, "
    "and others for what is to be reached. On EKS it holds with "
    '`{"enableNetworkPolicy": "true"}` in the configuration of the add-on vpc-cni.'
)
_DENIED = Fix(_MAKE_POLICY, _MAKE_POLICY, _MAKE_POLICY)


def _policies(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    for space in unprotected(args, (_POLICY,), _denies, "the network policies"):
        if isinstance(space, Unjudged):
            yield space
            continue
        yield (
            (
                f"The namespace {space.shown} belongs to a tenant and no NetworkPolicy denies "
                f"traffic to all its pods. One must, or pods of other tenants reach its notebooks "
                f"and servers. {_DENIED.of(space.urn)}"
            ),
            space.urn,
        )


def _denies(policy: KubernetesObject) -> bool | None:
    """Whether a policy is for all pods, for what comes in, and allows nothing by itself."""
    spec = at(policy.body, "spec")
    if spec is UNKNOWN:
        return None
    types, ingress = at(spec, "policyTypes"), at(spec, "ingress")
    selectors = at(spec, "podSelector"), ingress, types
    if UNKNOWN in selectors or UNKNOWN in items(types):
        return None
    everyone = _is_empty(at(spec, "podSelector"))
    incoming = types is None or "Ingress" in items(types)
    return everyone and incoming and all(_says_from_whom(each) for each in items(ingress))


def _is_empty(selector: Any) -> bool:
    return all(not value for value in (selector or {}).values())


def _says_from_whom(rule: Any) -> bool:
    """Whether a rule of ingress names peers: without, or with an empty one, all may come."""
    peers = items(at(rule, "from"))
    return bool(peers) and all(_is_peer(each) for each in peers)


def _is_peer(peer: Any) -> bool:
    within = at(peer, "namespaceSelector")
    if within is not None:
        return within is UNKNOWN or not _is_empty(within)
    block = at(peer, "ipBlock", "cidr")
    return block not in ("0.0.0.0/0", "::/0")


TENANT_NAMESPACES_DENY_TRAFFIC = StackRule(
    "tenant-namespaces-deny-traffic",
    "Namespaces of tenants must have a NetworkPolicy that denies by default what comes in.",
    check=_policies,
    applies_to=(
        "kubernetes:core/v1:Namespace",
        "kubernetes:networking.k8s.io/v1:NetworkPolicy",
    ),
    severity=Severity.MEDIUM,
    fix=_DENIED,
    settings=(TENANT_LABEL,),
)
