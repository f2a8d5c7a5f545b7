"""Which image an EC2NodeClass starts nodes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.facts.images import Moving, moving_term
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.plain import items, mapping
from eks_gpushare.manifests.rules.eksctl import AMAZON_LINUX_2
from eks_gpushare.manifests.rules.nodes import NOBODY_JOINS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

FLOATING_IMAGE = rule_of("GPU1056")
REFUSED_ALIAS = rule_of("GPU1061")

FAMILIES = {
    "al2": "AL2",
    "al2023": "AL2023",
    "bottlerocket": "Bottlerocket",
    "windows2019": "Windows2019",
    "windows2022": "Windows2022",
    "windows2025": "Windows2025",
}
"""The family that goes with an alias of images."""
_RELEASE = {
    "bottlerocket": (re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+"), "v1.57.0"),
    "al2023": (re.compile(r"v[0-9]{8}"), "v20261114"),
    "al2": (re.compile(r"v[0-9]{8}"), "v20251114"),
}
_MOVING = {
    Moving.NAME: "{} matches every image that will ever have such a name.",
    Moving.PARAMETER: "The parameter names whatever AWS recommends at that time.",
    Moving.TAGS: "Tags match every image that will ever have them, and the newest is taken.",
}
_OF_EKS = re.compile(r"(?:amazon-eks-|bottlerocket-aws-k8s-).*\*")
"""Names of EKS's images: https://github.com/aws/karpenter-provider-aws/issues/7731."""
_VERSION = re.compile(r"\b1\.[0-9]{2}\b")
_ONE_IMAGE = "Name one image, by its id, by its whole name or by an alias with a release."


def image_rules(source: Source, spec: Any) -> Iterator[Judgement]:
    """What is wrong with the images that an EC2NodeClass selects."""
    terms = at(spec, "amiSelectorTerms")
    if at(spec, "amiFamily") == "Custom" and at(spec, "userData") in (None, ""):
        yield Problem(
            NOBODY_JOINS,
            source,
            ("spec", "amiFamily"),
            f"{at_start(source.name)} has the family Custom, of which Karpenter writes no user "
            "data, and has none itself: no node joins the cluster.",
            "Write userData that does, or the family of the image, such as AL2023.",
            "warning",
        )
    for index, term in enumerate(items(terms)):
        place = ("spec", "amiSelectorTerms", index)
        alias, given = at(term, "alias"), mapping(term)
        if term is UNKNOWN or UNKNOWN in given.values():
            yield NotSeen(FLOATING_IMAGE, source, "the alias of its image, which is filled in")
        elif isinstance(alias, str):
            yield from _alias(source, (*place, "alias"), alias)
        elif given and (moving := moving_term(given)):
            message = _MOVING[moving].format(named := str(at(term, moving)))
            worth: Severity | None = None
            if moving is Moving.NAME and _OF_EKS.match(named) and not _VERSION.search(named):
                message += (
                    " It has no version of Kubernetes: the newest may be of another than yours."
                )
                worth = "error"  # whose nodes do not join
            yield Problem(FLOATING_IMAGE, source, (*place, moving), message, _ONE_IMAGE, worth)


def _alias(source: Source, place: tuple[str | int, ...], alias: str) -> Iterator[Judgement]:
    family, parted, release = alias.partition("@")
    if family.lower() not in FAMILIES or not parted or not release:
        yield Problem(
            REFUSED_ALIAS,
            source,
            place,
            f"{alias} is no alias; one is a family and a release, such as al2023@v20261114.",
            f"The families are {', '.join(FAMILIES)}.",
        )
        return
    if family.lower() == "al2":
        yield Problem(
            AMAZON_LINUX_2,
            source,
            place,
            f"{alias} is an image of Amazon Linux 2.",
            "Write al2023@v20261114, or the release that you have tried.",
            "warning",
        )
    if moving_term({"alias": alias}):
        example = _RELEASE.get(family.lower(), (None, "v20261114"))[1]
        yield Problem(
            FLOATING_IMAGE,
            source,
            place,
            f"{alias} is another image as soon as AWS publishes one.",
            f"Pin a release that you have tried: {family}@{example}.",
        )
    elif (known := _RELEASE.get(family.lower())) and not known[0].fullmatch(release):
        yield Problem(
            REFUSED_ALIAS,
            source,
            place,
            f"{release} is no release of {family}; one is written like {known[1]}.",
            f"Write {family}@{known[1]}, or the release that you mean.",
        )
