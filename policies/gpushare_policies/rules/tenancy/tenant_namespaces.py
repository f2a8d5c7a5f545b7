"""Namespaces of tenants keep these from each other: on nodes, in shares, over the network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.facts.public_networks import reaches_everybody
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown, at, every, pairs, some
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.containers import is_gpu
from gpushare_policies.reading.objects import Kind, KubernetesObject
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items
from gpushare_policies.reading.program_objects import objects_in
from gpushare_policies.reading.tenants import TENANT_LABEL, exposed, unprotected
from gpushare_policies.rule import StackPolicy, cis
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pulumi_policy import PolicyResource, ResourceValidationArgs

_ENFORCE = "pod-security.kubernetes.io/enforce"
_LEVELS = ("baseline", "restricted")

_SET_LABEL = f"Set the label `{_ENFORCE}: restricted` (or `baseline`) of the namespace."
_ENFORCED = Fix(_SET_LABEL, _SET_LABEL, _SET_LABEL)


@dataclass(frozen=True, slots=True)
class _OfStack:
    """A resource of a stack as checks of one resource take it."""

    resource: PolicyResource
    stack: StackValidationArgs

    @property
    def resource_type(self) -> str:
        return self.resource.resource_type

    @property
    def props(self) -> Any:
        return self.resource.props

    @property
    def name(self) -> str:
        return self.resource.name

    @property
    def urn(self) -> str:
        return self.resource.urn

    def get_config(self) -> Mapping[str, Any]:
        return self.stack.get_config()


def _enforced(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    """Each namespace as it is made, and then as patches of the same stack leave it."""
    for resource in args.resources:
        check = _ENFORCING.get(resource.resource_type)
        one = cast("ResourceValidationArgs", _OfStack(resource, args))
        for said in check(one) if check is not None else ():
            yield said if isinstance(said, Unjudged) else (said, resource.urn)
    yield from _patched(args)


def _patched(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    by_urn = {resource.urn: resource for resource in args.resources}
    found = list(objects_in(args.resources, (Kind("", "Namespace"),)))
    for patch in (obj for obj in found if obj.object.patch):
        for space in found:
            same = (space.cluster, space.object.name) == (patch.cluster, patch.object.name)
            if space.object.patch or not same or patch.object.name is UNKNOWN:
                continue
            made, changed = (at(obj.object.body, "metadata", "labels") for obj in (space, patch))
            if not isinstance(changed, dict) or not {TENANT_LABEL.of(args), _ENFORCE} & {*changed}:
                continue
            one = cast("ResourceValidationArgs", _OfStack(by_urn[patch.urn], args))
            subject = Subject(space.object, one)
            labels = {**made, **changed} if isinstance(made, dict) else changed
            if made is not UNKNOWN and not any(_labelled(subject, made, "")):
                opening = f"{subject.opening}, as NamespacePatch {one.name} leaves it,"
                for said in _labelled(subject, labels, opening):
                    yield said if isinstance(said, Unjudged) else (said, patch.urn)


def _namespace(subject: Subject) -> Iterator[str | Unjudged]:
    yield from _labelled(subject, at(subject.object.body, "metadata", "labels"), subject.opening)


def _application(subject: Subject) -> Iterator[str | Unjudged]:
    """The namespace that Argo CD makes, which has these labels.

    https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#namespace-metadata
    """
    for spec in (
        at(subject.object.body, "spec"),
        at(subject.object.body, "spec", "template", "spec"),
    ):
        labels = at(spec, "syncPolicy", "managedNamespaceMetadata", "labels")
        yield from _labelled(subject, labels, f"The namespace that {subject.title} makes")


def _tenant(subject: Subject) -> Iterator[str | Unjudged]:
    """The namespaces of a Tenant of Capsule.

    https://projectcapsule.dev/docs/tenants/metadata/
    """
    options = at(subject.object.body, "spec", "namespaceOptions")
    listed = items(at(options, "additionalMetadataList"))
    for metadata in (at(options, "additionalMetadata"), *listed):
        labels = at(metadata, "labels")
        yield from _labelled(subject, labels, f"A namespace of {subject.title}")


def _labelled(subject: Subject, labels: Any, opening: str) -> Iterator[str | Unjudged]:
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
            f"{opening} belongs to a tenant and {given} of Pod Security. It must enforce "
            f"baseline or restricted: a pod that mounts paths of its node names any GPU on it. "
            f"{_ENFORCED.of(subject.args.urn)}"
        )


_ENFORCING = ObjectChecks(
    {
        Kind("", "Namespace"): _namespace,
        Kind("argoproj.io", "Application"): _application,
        Kind("argoproj.io", "ApplicationSet"): _application,
        Kind("capsule.clastix.io", "Tenant"): _tenant,
    }
)
TENANT_NAMESPACES_ENFORCE_POD_SECURITY = StackPolicy(
    "tenant-namespaces-enforce-pod-security",
    "Namespaces with the label eks-gpushare.io/tenant must enforce Pod Security at the level "
    "baseline or restricted.",
    check=_enforced,
    applies_to=tuple(_ENFORCING),
    severity=Severity.HIGH,
    framework=cis("4.2.1", "The admission of privileged containers is minimized."),
    fix=_ENFORCED,
    settings=(TENANT_LABEL,),
)


_QUOTA = Kind("", "ResourceQuota")
_QUEUE = Kind("kueue.x-k8s.io", "LocalQueue")
_COUNTED = "requests."
"""Of extended resources a quota counts what is requested, and no limits.

https://kubernetes.io/docs/concepts/policy/resource-quotas/#resource-quota-for-extended-resources
(2026-11-22)
"""

_GPUS = re.compile(
    rf"{re.escape(_COUNTED)}nvidia\.com/"
    r"(?:gpu|pgpu|mig-[0-9]+g\.[0-9]+gb(?:\.[a-z0-9.]+)?|[A-Z][A-Za-z0-9_-]*)(?:\.shared)?"
)
"""What NVIDIA's plugins call GPUs; those of virtual machines begin with a capital."""
_CLAIMED = re.compile(r"[a-z0-9.-]+\.deviceclass\.resource\.k8s\.io/devices")
"""What claims are counted by:
https://kubernetes.io/docs/concepts/policy/resource-quotas/ (2026-11-25)."""

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
        counting = sorted({key for obj in space.objects for key in _useless(obj)})
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
    scopes = [at(each.body, "spec", key) for key in ("scopes", "scopeSelector")]
    if any(given is not UNKNOWN and given for given in scopes):
        return False  # of pods of one kind, beside which there are others
    if hard is UNKNOWN:
        return None
    found = any(_counts(key) for key, _ in pairs(hard))
    return None if not found and isinstance(hard, PartlyKnown) else found


def _useless(each: KubernetesObject) -> Iterator[str]:
    """Keys that are taken in silence and count nothing."""
    for key, _ in pairs(at(each.body, "spec", "hard")):
        if is_gpu(key) and not _counts(key):
            yield key


def _counts(key: str) -> bool:
    """Whether a key of a quota is a resource that a device plugin or a DeviceClass has."""
    return bool(_GPUS.fullmatch(key) or _CLAIMED.fullmatch(key))


TENANT_NAMESPACES_WITH_QUOTA = StackPolicy(
    "tenant-namespaces-with-quota",
    "Namespaces with the label eks-gpushare.io/tenant must have a quota of GPUs.",
    check=_quotas,
    applies_to=("kubernetes:core/v1:Namespace", "kubernetes:core/v1:ResourceQuota"),
    severity=Severity.MEDIUM,
    fix=_WITH_QUOTA,
    settings=(TENANT_LABEL,),
)


_POLICY = Kind("networking.k8s.io", "NetworkPolicy")

_MAKE_POLICY = (
    "Make a NetworkPolicy in the namespace with `spec: {podSelector: {}, policyTypes: [Ingress]}`, "
    "and others for what is to be reached. On EKS it holds with "
    '`{"enableNetworkPolicy": "true"}` in the configuration of the add-on vpc-cni.'
)
_NAME_THEM = "Name in `from` who has to reach them, or remove the rule."
_NAME_PEERS = Fix(_NAME_THEM, _NAME_THEM, _NAME_THEM)
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
    yield from _opened(args)


def _opened(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    """Policies add up: what one of them lets in comes in, whatever the others say.

    https://kubernetes.io/docs/concepts/services-networking/network-policies/
    """
    everybody = partial(_lets_everybody_in, TENANT_LABEL.of(args))
    for space, policy in exposed(args, (_POLICY,), _denies, everybody):
        yield (
            (
                f"The namespace {space.shown} belongs to a tenant, and its NetworkPolicy "
                f"{policy.name} lets everybody reach all its pods. None must, or the one that "
                f"denies denies nothing. {_NAME_PEERS.of(space.urn)}"
            ),
            space.urn,
        )


def _lets_everybody_in(label: str, policy: KubernetesObject) -> bool:
    """Whether a policy is for all pods and lets all come, at every port.

    Namespaces without the label of tenants are the platform's.
    """
    spec = at(policy.body, "spec")
    of_all = _is_empty(at(spec, "podSelector")) and _is_of_ingress(at(spec, "policyTypes"))
    return of_all is True and any(
        not items(at(rule, "ports")) and _lets_tenants_in(rule, label)
        for rule in items(at(spec, "ingress"))
    )


def _lets_tenants_in(rule: Any, label: str) -> bool:
    """Whether all may come by a rule, of peers that may be tenants."""
    without = {"key": label, "operator": "DoesNotExist"}
    peers = items(at(rule, "from"))
    left = [
        peer
        for peer in peers
        if without not in items(at(peer, "namespaceSelector", "matchExpressions"))
    ]
    if peers and not left:
        return False
    return _says_from_whom({"from": left} if left else rule) is False


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
    return some(
        None if instance_type is UNKNOWN else instance_type == "Ingress" for instance_type in listed
    )


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
    blocks = [at(item, "ipBlock", "cidr") for item in items(peers)]
    if not items(peers) or reaches_everybody([block for block in blocks if isinstance(block, str)]):
        return False
    return every(map(_is_peer, items(peers)))


def _is_peer(peer: Any) -> bool | None:
    """Whether a peer is some namespaces, some addresses, or pods of the policy's namespace."""
    within = at(peer, "namespaceSelector")
    if within is None:
        return None if at(peer, "ipBlock", "cidr") is UNKNOWN else True
    empty = _is_empty(within)
    return None if empty is None else not (empty or _is_wide(within))


_LEAVING_OPEN = ("Exists", "NotIn", "DoesNotExist")


def _is_wide(selector: Any) -> bool:
    """Whether a selector names no value, and so is for namespaces of anybody."""
    listed = items(at(selector, "matchExpressions"))
    named = dict(pairs(at(selector, "matchLabels")))
    return bool(listed) and not named and all(at(e, "operator") in _LEAVING_OPEN for e in listed)


TENANT_NAMESPACES_DENY_TRAFFIC = StackPolicy(
    "tenant-namespaces-deny-traffic",
    "Namespaces with the label eks-gpushare.io/tenant must have a NetworkPolicy that denies by "
    "default what comes in.",
    check=_policies,
    applies_to=(
        "kubernetes:core/v1:Namespace",
        "kubernetes:networking.k8s.io/v1:NetworkPolicy",
    ),
    severity=Severity.MEDIUM,
    fix=_DENIED,
    settings=(TENANT_LABEL,),
)
