"""Pods do not open what keeps their containers in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, Severity

from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.readers.values import walk
from gpushare_policies.reading.containers import Container, on_pods, unknown_of
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import mappings, text
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.rules.workloads.pods_not_privileged import (
    IMAGES,
    NAMESPACES,
    of_values,
    pods_and_strangers,
)
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pulumi_policy import ResourceValidationArgs

    from gpushare_policies.checks import Unjudged

_UNCONFINED = "Unconfined"
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
"""An annotation for each container, which the API server takes for the field that is not there:
https://kubernetes.io/docs/tutorials/security/apparmor/"""
_LEAVE_OUT = "Leave it out; a Service reaches the port of a pod."
_CONFINED = Fix(_LEAVE_OUT, _LEAVE_OUT, _LEAVE_OUT)


def _pods(subject: Subject) -> Iterator[str | Unjudged]:
    for pod, strange in pods_and_strangers(subject):
        yield from unknown_of(pod)
        own = at(pod.spec, "securityContext")
        for what in _opened(own) if strange or not pod.containers else ():
            yield _said(subject, f"A pod of {subject.title}", what)
        for container in strange:
            if _is_unconfined(at(pod.annotations, f"{_APPARMOR}{container.name}"), container):
                who = f"The container {container.name} of {subject.title}"
                yield _said(subject, who, f"has the AppArmor profile {_UNCONFINED.lower()}")
            for what in (*_opened(container.get("securityContext")), *_of(container, own)):
                yield _said(subject, f"The container {container.name} of {subject.title}", what)


def _chart(args: ResourceValidationArgs) -> Iterator[str]:
    """What values of charts say, under whatever key their pods get it from."""
    for subject in of_values(args):
        if text(subject.object.namespace) not in NAMESPACES.of(args):
            for _, inner in walk(subject.object.body["values"]):
                for what in (*_opened(inner), *_port(inner)):
                    yield _said(subject, f"A pod of {subject.title}", what)


def _opened(context: Any) -> Iterator[str]:
    """What a security context opens, of a pod or of a container."""
    for key in ("seccompProfile", "appArmorProfile"):
        if at(context, key, "type") == _UNCONFINED:
            yield f"has the {key} {_UNCONFINED}"
    if at(context, "procMount") == "Unmasked":
        yield "has an unmasked /proc"


def _is_unconfined(annotation: Any, container: Container) -> bool:
    own = container.get("securityContext", "appArmorProfile")
    return annotation == _UNCONFINED.lower() and own is None


def _of(container: Container, of_pod: Any) -> Iterator[str]:
    context = container.get("securityContext")
    users = [at(given, "runAsUser") for given in (context, of_pod)]
    user = next((given for given in users if given is not None), None)
    if at(context, "allowPrivilegeEscalation") is True and user == 0:
        yield "runs as root and may raise its rights"
    for _, port in mappings(container.get("ports")):
        yield from _port(port)


def _port(port: Mapping[str, Any]) -> Iterator[str]:
    number = port.get("hostPort")
    if isinstance(number, int) and not isinstance(number, bool) and number:
        yield f"takes the port {number} of its node"


def _said(subject: Subject, who: str, what: str) -> str:
    return f"{who} {what}. It must not. {_CONFINED.of(subject.args.urn)}"


PODS_CONFINED = ResourcePolicy(
    "pods-confined",
    "Pods must leave seccomp, AppArmor and /proc as they are, and take no ports of their node.",
    checks=ObjectChecks(on_pods(_pods), {RELEASE: _chart, CHART_V4: _chart}, theirs=_pods),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.MEDIUM,
    framework=cis("4.2.5", "Containers do not run with allowPrivilegeEscalation."),
    fix=_CONFINED,
    settings=(NAMESPACES, IMAGES),
)
