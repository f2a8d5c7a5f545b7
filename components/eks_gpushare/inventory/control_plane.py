"""What is open, not encrypted or not logged of a cluster's control plane.

The policy pack asks it of resources, lint of Terraform's plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.facts.public_networks import public_share, reaches_everybody

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
"""The log types of the EKS control plane.

https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html, 2026-11-22.
"""
ENCRYPTED = "secrets"
"""What EKS encrypts with a key of one's own, the one kind that there is."""


def open_to(cidrs: Sequence[str]) -> str | None:
    """Who may use a public endpoint, in words, where that is too many; None where it is not.

    Args:
        cidrs: The networks that are named; of none, EKS takes 0.0.0.0/0.
    """
    if not cidrs:
        return "no network is named, which EKS takes for 0.0.0.0/0"
    if not reaches_everybody(cidrs):
        return None
    part = "" if public_share(cidrs) == 1 else f", together {covered(cidrs)}"
    return f"[{', '.join(cidrs)}] may use it{part}"


def covered(cidrs: Sequence[str]) -> str:
    """How much of the internet networks are, for messages."""
    share = public_share(cidrs)
    if share == 1:
        return "the whole internet"
    return f"{float(100 * share):.3g} % of all public addresses"


def not_logged(enabled: Iterable[str]) -> tuple[str, ...]:
    """The log types that are missing."""
    given = set(enabled)
    return tuple(kind for kind in LOG_TYPES if kind not in given)


def encrypts_secrets(kinds: Collection[str]) -> bool:
    """Whether a key is for secrets."""
    return ENCRYPTED in kinds
