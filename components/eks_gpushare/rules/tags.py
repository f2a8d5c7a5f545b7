"""Rules about AWS tags."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_IAM = "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags.html"

BAD_TAG = Rule(
    "GPU310",
    "error",
    "A tag is one that AWS accepts.",
    "AWS refuses every resource of the stack, one after the other.",
    "https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html",
)
SAME_TAG = Rule(
    "GPU438",
    "error",
    "Keys of tags differ in more than upper and lower case.",
    'To IAM they are the same key: it refuses every role of the stack with "Duplicate tag keys '
    'found. Please note that Tag keys are case insensitive".',
    _IAM,
)
TAG_OF_KUBERNETES = Rule(
    "GPU439",
    "error",
    "The tags of a stack are none by which Kubernetes finds resources.",
    "They would stand on everything that the stack makes. Of the security groups of a node one "
    "only may have the cluster's own tag, or load balancers are not let through to it; and subnets "
    "for load balancers are told apart by the tags of their role.",
    "https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html",
    not_alone="A pool is not told the name of its cluster, and a cluster not of its pools.",
)

_PLAIN = re.compile(r"[A-Za-z0-9 _.:/=+@-]*")
_SIGNS = "_.:/=+-@"
_MOST_TAGS = 45
"""Of the 50 that AWS takes: components add some of their own."""
_LONGEST_TAG_KEY = 128
_LONGEST_TAG_VALUE = 256
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions"""
_ROLES = ("kubernetes.io/role/elb", "kubernetes.io/role/internal-elb")


@check(Scope.TAGS, BAD_TAG, SAME_TAG)
def tags(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.tags
    first: dict[str, str] = {}
    for key, value in given.items():
        fault = None
        if key.casefold().startswith("aws:"):
            fault = f"{key} starts with aws:, which AWS keeps for itself."
        elif not key or len(key) > _LONGEST_TAG_KEY or not _fits(key):
            fault = f'"{key}" is not 1 to 128 letters, digits, spaces and + - = . _ : / @.'
        elif len(value) > _LONGEST_TAG_VALUE or not _fits(value):
            fault = "The value is not up to 256 letters, digits, spaces and + - = . _ : / @."
        if fault:
            yield BAD_TAG.finding(("tags", key), fault, "Change the tag.")
        elif (before := first.setdefault(key.casefold(), key)) != key:
            message = f"{key} is the same key as {before} to IAM."
            yield SAME_TAG.finding(("tags", key), message, "Keep one of the two.")
    if len(given) > _MOST_TAGS:
        message = (
            f"{len(given)} tags are too many: AWS takes 50, and some are set by EKS and Pulumi."
        )
        yield BAD_TAG.finding(("tags",), message, f"Keep at most {_MOST_TAGS}.")


def _fits(text: str) -> bool:
    """Whether all services take a text: that of letters, spaces, digits and some signs only.

    IAM and CloudWatch Logs have the narrowest pattern, of every script's letters (L), separators
    (Z) and digits (N) in Unicode, so no line breaks or tabs: botocore 1.44.5, `tagKeyType` and
    `TagKey`, read 2026-11-22.
    """
    if _PLAIN.fullmatch(text):
        return True
    from unicodedata import category

    return all(character in _SIGNS or category(character)[0] in "LZN" for character in text)


@check(Scope.ENVIRONMENT, TAG_OF_KUBERNETES)
def found_by_kubernetes(ctx: Context) -> Iterator[Finding]:
    new, named = ctx.new_cluster, ctx.named_cluster
    cluster = new.name if new else named.name if named else None
    efa = [name for name, pool in ctx.environment.pools.items() if pool.efa]
    for key in ctx.environment.tags:
        if key in _ROLES:
            message = f"{key} would stand on private and public subnets alike."
            fix = "Remove it: the stack gives each kind of subnet its own."
        elif key == f"kubernetes.io/cluster/{cluster}" and efa:
            message = (
                f"{key} would stand on the security group for EFA of {', '.join(efa)} too, beside "
                "the one of EKS that has it."
            )
            fix = "Remove it: EKS tags the cluster's own security group, and subnets need none."
        else:
            continue
        yield TAG_OF_KUBERNETES.finding(("tags", key), message, fix)
