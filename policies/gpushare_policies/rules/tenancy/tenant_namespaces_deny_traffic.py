"""Tenants reach each other over the network only where somebody said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.facts.public_networks import reaches_everybody
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown, at, every, pairs, some
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.objects import Kind, KubernetesObject
from gpushare_policies.reading.plain import items
from gpushare_policies.reading.tenants import TENANT_LABEL, unprotected
from gpushare_policies.rule import StackPolicy, Unjudged
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
    ingress = at(spec, "ingress")
    return every(
        (
            _is_empty(at(spec, "podSelector")),
            _is_of_ingress(at(spec, "policyTypes")),
            None if ingress is UNKNOWN else every(map(_says_from_whom, items(ingress))),
        )
    )


def _is_of_ingress(types: Any) -> bool | None:
    """Whether a policy is for what comes in, as each is that does not say."""
    if types is None:
        return True
    listed = (UNKNOWN,) if types is UNKNOWN else items(types)
    return some(None if each is UNKNOWN else each == "Ingress" for each in listed)


def _is_empty(selector: Any) -> bool | None:
    if selector is UNKNOWN:
        return None
    if isinstance(selector, PartlyKnown) and not selector:
        return None
    return every(None if value is UNKNOWN else not value for _, value in pairs(selector))


def _says_from_whom(rule: Any) -> bool | None:
    """Whether a rule of ingress names peers: without, or with an empty one, all may come."""
    peers = at(rule, "from")
    if peers is UNKNOWN:
        return None
    blocks = [at(each, "ipBlock", "cidr") for each in items(peers)]
    if not items(peers) or reaches_everybody([block for block in blocks if isinstance(block, str)]):
        return False
    return every(map(_is_peer, items(peers)))


def _is_peer(peer: Any) -> bool | None:
    """Whether a peer is some namespaces, some addresses, or pods of the policy's namespace."""
    within = at(peer, "namespaceSelector")
    if within is None:
        return None if at(peer, "ipBlock", "cidr") is UNKNOWN else True
    empty = _is_empty(within)
    return None if empty is None else not empty


TENANT_NAMESPACES_DENY_TRAFFIC = StackPolicy(
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
