"""Tenants have a limit to the GPUs that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown, at, pairs
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.containers import is_gpu
from gpushare_policies.reading.objects import Kind, KubernetesObject
from gpushare_policies.reading.tenants import TENANT_LABEL, unprotected
from gpushare_policies.rule import StackPolicy, Unjudged
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUOTA = Kind("", "ResourceQuota")
_QUEUE = Kind("kueue.x-k8s.io", "LocalQueue")
_COUNTED = "requests."
"""Of extended resources a quota counts what is requested, and no limits.

https://kubernetes.io/docs/concepts/policy/resource-quotas/#resource-quota-for-extended-resources
(2026-11-22)
"""

_MAKE_QUOTA = (
    "Make a ResourceQuota in the namespace, with `requests.<resource>` in `spec.hard` for each "
    "resource that its pods may have, such as `requests.nvidia.com/gpu.shared: 4`, or a LocalQueue "
    "of Kueue."
)
_WITH_QUOTA = Fix(_MAKE_QUOTA, _MAKE_QUOTA, _MAKE_QUOTA)


def _quotas(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    for space in unprotected(args, (_QUOTA, _QUEUE), _limits_gpus, "the quotas"):
        if isinstance(space, Unjudged):
            yield space
            continue
        counting = sorted({key for each in space.objects for key in _useless(each)})
        useless = (
            f" (its quota names {', '.join(counting)}, which Kubernetes does not count)"
            if counting
            else ""
        )
        yield (
            (
                f"The namespace {space.shown} belongs to a tenant and has no quota of GPUs"
                f"{useless}. It must have one, or one tenant takes all shares. "
                f"{_WITH_QUOTA.of(space.urn)}"
            ),
            space.urn,
        )


def _limits_gpus(each: KubernetesObject) -> bool | None:
    if each.kind == _QUEUE:
        return True
    hard = at(each.body, "spec", "hard")
    if hard is UNKNOWN:
        return None
    found = any(key.startswith(_COUNTED) and is_gpu(key) for key, _ in pairs(hard))
    return None if not found and isinstance(hard, PartlyKnown) else found


def _useless(each: KubernetesObject) -> Iterator[str]:
    """Keys that are taken in silence and count nothing."""
    for key, _ in pairs(at(each.body, "spec", "hard")):
        if is_gpu(key) and not key.startswith(_COUNTED):
            yield key


TENANT_NAMESPACES_WITH_QUOTA = StackPolicy(
    "tenant-namespaces-with-quota",
    "Namespaces of tenants must have a quota of GPUs.",
    check=_quotas,
    applies_to=("kubernetes:core/v1:Namespace", "kubernetes:core/v1:ResourceQuota"),
    severity=Severity.MEDIUM,
    fix=_WITH_QUOTA,
    settings=(TENANT_LABEL,),
)
