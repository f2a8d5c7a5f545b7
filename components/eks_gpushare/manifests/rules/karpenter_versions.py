"""Objects of Karpenter that no release serves any more, and what stands in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.foreign_keys import karpenter_api_version
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import mapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

OVERLAY_OFF: Final = Rule(
    "GPU1138",
    "error",
    "A Karpenter for which there are NodeOverlays is told to read them.",
    "The feature gate is off by default. Karpenter then knows nothing of shares: it launches a "
    "node for each pod, or for pods that ask for renamed shares none at all.",
    "https://karpenter.sh/docs/reference/settings/#feature-gates",
)
REMOVED_VERSION = rule_of("GPU1050")
NO_SUCH_KIND = rule_of("GPU1051")

CORE: Final = "karpenter.sh"
AWS: Final = "karpenter.k8s.aws"

_KINDS: Final = ("NodePool", "NodeClaim", "NodeOverlay", "EC2NodeClass")
_ELSEWHERE = {"CapacityBuffer": "autoscaling.x-k8s.io"}
_BECAME: Mapping[str, str] = {
    "Provisioner": "NodePool",
    "AWSNodeTemplate": "EC2NodeClass",
    "Machine": "NodeClaim",
    "NodeTemplate": "NodePool",
}
_OLD_KINDS = {(CORE, "Provisioner"), (CORE, "Machine"), (AWS, "AWSNodeTemplate")}

_TEMPLATE = "spec.template.spec"
_EMPTY = "ttlSecondsAfterEmpty"
_OF_PROVISIONER: Mapping[tuple[str, ...], str] = {
    ("labels",): "spec.template.metadata.labels",
    ("annotations",): "spec.template.metadata.annotations",
    ("taints",): f"{_TEMPLATE}.taints",
    ("startupTaints",): f"{_TEMPLATE}.startupTaints",
    ("requirements",): f"{_TEMPLATE}.requirements",
    ("limits", "resources"): "spec.limits",
    ("consolidation",): "spec.disruption.consolidationPolicy: WhenEmptyOrUnderutilized",
    ("kubeletConfiguration",): "spec.kubelet of the EC2NodeClass",
    ("provider",): "an EC2NodeClass",
    ("instanceTypeSelector",): (
        f"{_TEMPLATE}.requirements, with the key node.kubernetes.io/instance-type"
    ),
}
_OF_NODE_TEMPLATE: Mapping[tuple[str, ...], str] = {
    ("subnetSelector",): "spec.subnetSelectorTerms",
    ("securityGroupSelector",): "spec.securityGroupSelectorTerms",
    ("amiSelector",): "spec.amiSelectorTerms",
    ("launchTemplate",): "nothing: Karpenter makes launch templates of its own",
    ("instanceTypes",): "requirements of the NodePool",
}
_OF_BETA_POOL: Mapping[tuple[str, ...], str] = {
    ("disruption", "expireAfter"): f"{_TEMPLATE}.expireAfter",
    ("template", "spec", "kubelet"): "spec.kubelet of the EC2NodeClass",
    ("template", "spec", "nodeClassRef", "apiVersion"): (f"{_TEMPLATE}.nodeClassRef.group: {AWS}"),
    ("template", "spec", "resources"): "nothing",
}


def karpenter_group(value: Any) -> str | None:
    """The API group of an object if it is one of Karpenter's."""
    version = at(value, "apiVersion")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return group if group in {CORE, AWS} else None


def removed_versions(value: Mapping[str, Any], source: Source) -> Iterator[Judgement]:
    """What is to be said of an object's API version and kind."""
    version, kind = at(value, "apiVersion"), at(value, "kind")
    group = karpenter_group(value)
    if group is None or not isinstance(kind, str):
        return
    now = karpenter_api_version(kind)
    if now == version:
        return
    old = (group, kind) in _OLD_KINDS
    if now is None and not old:
        yield _no_such_kind(value, source, group, kind)
        return
    became = _BECAME.get(kind, kind)
    if now is not None and now.rpartition("/")[0] != group:
        yield Problem(
            NO_SUCH_KIND,
            source,
            ("apiVersion",),
            f"{kind} is no kind of {group}, but of {now}.",
            f"Write apiVersion: {now}.",
        )
        return
    served = str(karpenter_api_version(became))
    if kind == "NodeOverlay":
        message = f"{version} is no version of NodeOverlay; there is {served}."
    else:
        went = "0.33" if old or "alpha" in str(version) else "1.1"
        message = f"{kind} of {version} is not served since Karpenter {went}."
    yield Problem(
        REMOVED_VERSION, source, ("apiVersion",), message, _fix(value, kind, became, served)
    )


def never_existed(value: Mapping[str, Any]) -> bool:
    """Whether an object of Karpenter's groups is of a kind that none of its versions had."""
    group, kind = karpenter_group(value), str(value.get("kind"))
    return group is not None and kind not in _KINDS and (group, kind) not in _OLD_KINDS


def _no_such_kind(value: Mapping[str, Any], source: Source, group: str, kind: str) -> Problem:
    became = _BECAME.get(kind)
    if kind in _ELSEWHERE:
        fix = f"It is a kind of {_ELSEWHERE[kind]}."
    elif became is not None:
        fix = _fix(value, kind, became, str(karpenter_api_version(became)))
    else:
        fix = f"Karpenter's kinds are {', '.join(_KINDS)}."
    message = f"{group} has never had a kind {kind}."
    return Problem(NO_SUCH_KIND, source, ("kind",), message, fix)


def _fix(value: Mapping[str, Any], kind: str, became: str, served: str) -> str:
    """What replaces an object, key by key of those that it has."""
    spec = mapping(at(value, "spec"))
    moves = [f"{old} to {new}" for old, new in _moves(spec, kind, became)]
    listed = f" Move {'; '.join(moves)}." if moves else ""
    needed = "" if kind != "AWSNodeTemplate" else _needed(spec)
    return f"Write a {became} of {served} in its place.{listed}{needed}"


def _needed(spec: Mapping[str, Any]) -> str:
    """What an EC2NodeClass has to have, and what became one did not."""
    given = {"spec.role": "instanceProfile", "spec.amiSelectorTerms": "amiSelector"}
    lacking = [name for name, before in given.items() if at(spec, before) is None]
    return f" Add {' and '.join(lacking)}." if lacking else ""


def _moves(spec: Mapping[str, Any], kind: str, became: str) -> Iterator[tuple[str, str]]:
    if became == "NodePool" and kind != "NodePool":
        # What is empty goes by its own key, of which the two were not to be given at once.
        known = {key: spec[key] for key in spec if key != "consolidation" or _EMPTY not in spec}
        yield from _given(known, _OF_PROVISIONER)
        yield from _of_provisioner(spec)
    elif became == "EC2NodeClass":
        yield from _given(spec, _OF_NODE_TEMPLATE)
        if kind == "EC2NodeClass" and "amiSelectorTerms" not in spec:
            family = at(spec, "amiFamily")
            alias = {"AL2023": "al2023@", "Bottlerocket": "bottlerocket@"}.get(str(family))
            of = f"{alias}v<release>" if alias else "al2023@v<release>"
            yield "amiFamily", f'spec.amiSelectorTerms: [{{alias: "{of}"}}]'
    else:
        yield from _given(spec, _OF_BETA_POOL)
        if at(spec, "disruption", "consolidationPolicy") == "WhenUnderutilized":
            policy = "consolidationPolicy WhenUnderutilized"
            yield policy, "WhenEmptyOrUnderutilized, with consolidateAfter"


def _given(
    spec: Mapping[str, Any], moves: Mapping[tuple[str, ...], str]
) -> Iterator[tuple[str, str]]:
    for path, where in moves.items():
        if at(spec, *path) is not None:
            yield ".".join(("spec", *path)), where


def _of_provisioner(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name = at(spec, "providerRef", "name")
    if isinstance(name, str):
        yield (
            "spec.providerRef",
            f"{_TEMPLATE}.nodeClassRef: {{group: {AWS}, kind: EC2NodeClass, name: {name}}}",
        )
    empty = at(spec, _EMPTY)
    if isinstance(empty, int):
        yield (
            "spec.ttlSecondsAfterEmpty",
            f"spec.disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: {empty}s}}",
        )
    expired = at(spec, "ttlSecondsUntilExpired")
    if isinstance(expired, int):
        yield "spec.ttlSecondsUntilExpired", f"{_TEMPLATE}.expireAfter: {expired}s"
