"""Nodes that Karpenter makes have one version of their image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity

from eks_gpushare.facts.images import Moving, moving_term
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.rule import ResourcePolicy, Unjudged, is_among, stacks
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NODE_CLASS = Kind("karpenter.k8s.aws", "EC2NodeClass")

PINNED_STACKS = stacks(
    "Patterns of the names of stacks whose node classes need one image version. Default: those "
    "that say prod."
)

_SET_ALIAS = (
    "Set `spec.amiSelectorTerms: [{alias: al2023@v20260930}]` of the EC2NodeClass, with the "
    "version that you tested, or the image by its `id`."
)
_PINNED = Fix(
    "Set `pools.<pool>.amiVersion` in the stack file.",
    _SET_ALIAS,
    _SET_ALIAS,
)


def _images(subject: Subject) -> Iterator[str | Unjudged]:
    if not is_among(PINNED_STACKS.of(subject.args), subject.args.urn):
        return
    terms = at(subject.object.body, "spec", "amiSelectorTerms")
    if terms is UNKNOWN or UNKNOWN in items(terms):
        yield Unjudged("amiSelectorTerms")
        return
    if terms is None and subject.object.patch:
        return
    if not items(terms):
        yield _moving(subject, "no amiSelectorTerms")
    for _, term in mappings(terms):
        said = _of_term(term)
        if said is UNKNOWN:
            yield Unjudged("amiSelectorTerms")
        elif said:
            yield _moving(subject, said)


def _of_term(term: Mapping[str, Any]) -> Any:
    """What of a term leaves the image open; nothing where it is one image."""
    if any(value is UNKNOWN for value in term.values()):
        return UNKNOWN
    moving = moving_term(term)
    if moving is None:
        return ""
    if moving is Moving.TAGS:
        return "images chosen by tags alone"
    what = "parameter" if moving is Moving.PARAMETER else moving
    return f"the {what} {term[moving]}"


def _moving(subject: Subject, what: str) -> str:
    return (
        f"{subject.opening} has {what}. It must name one version in "
        f"this stack, or new nodes come with another driver than those that you tested, and old "
        f"ones are replaced when AWS publishes an image. {_PINNED.of(subject.args.urn)}"
    )


NODE_CLASS_AMI_PINNED = ResourcePolicy(
    "node-class-ami-pinned",
    "Node classes of Karpenter must name one version of the AMI in production.",
    checks=ObjectChecks({NODE_CLASS: _images}),
    severity=Severity.MEDIUM,
    fix=_PINNED,
    settings=(PINNED_STACKS,),
)
