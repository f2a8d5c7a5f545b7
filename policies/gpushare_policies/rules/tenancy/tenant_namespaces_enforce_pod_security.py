"""Tenants' pods cannot take what is their node's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.tenants import TENANT_LABEL
from gpushare_policies.rule import ResourcePolicy, Unjudged, cis
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENFORCE = "pod-security.kubernetes.io/enforce"
_LEVELS = ("baseline", "restricted")

_SET_LABEL = f"Set the label `{_ENFORCE}: restricted` (or `baseline`) of the namespace."
_ENFORCED = Fix(_SET_LABEL, _SET_LABEL, _SET_LABEL)


def _namespace(subject: Subject) -> Iterator[str | Unjudged]:
    labels = at(subject.object.body, "metadata", "labels")
    if labels is UNKNOWN:
        yield Unjudged("labels")
        return
    if not isinstance(labels, dict) or TENANT_LABEL.of(subject.args) not in labels:
        return
    level = labels.get(_ENFORCE)
    if level is UNKNOWN:
        yield Unjudged(f"the label {_ENFORCE}")
    elif level not in _LEVELS and not (subject.object.patch and level is None):
        given = f"enforces the level {level}" if level else "enforces no level"
        yield (
            f"{subject.opening} belongs to a tenant and {given} of Pod Security. It must enforce "
            f"baseline or restricted: a pod that mounts paths of its node names any GPU on it. "
            f"{_ENFORCED.of(subject.args.urn)}"
        )


TENANT_NAMESPACES_ENFORCE_POD_SECURITY = ResourcePolicy(
    "tenant-namespaces-enforce-pod-security",
    "Namespaces of tenants must enforce Pod Security at the level baseline or restricted.",
    checks=ObjectChecks({Kind("", "Namespace"): _namespace}),
    severity=Severity.HIGH,
    framework=cis("4.2.1", "The admission of privileged containers is minimized."),
    fix=_ENFORCED,
    settings=(TENANT_LABEL,),
)
