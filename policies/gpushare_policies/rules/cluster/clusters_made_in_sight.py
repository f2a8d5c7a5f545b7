"""Clusters and nodes are made by what the rules look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.elsewhere import TOKENS, made_elsewhere, may_make
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.words import Fix, is_of_pulumi_eks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpushare_policies.checks import Check

_AS_RESOURCES = (
    "Make it with resources of `pulumi_aws`, `pulumi_eks` or `pulumi_kubernetes`, or exempt this "
    "one with a reason, once somebody has looked at it."
)
_SEEN = Fix(_AS_RESOURCES, _AS_RESOURCES, _AS_RESOURCES)


def _look(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
    found = made_elsewhere(args.resource_type, args.props)
    if found is None or is_of_pulumi_eks(args.urn):
        return  # its NodeGroup has such a stack, and is judged itself
    if found.unknown:
        yield Unjudged(f"what {args.name} makes by {found.what}")
        return
    makes = f"makes {', '.join(found.makes)}" if found.makes else "may make clusters and nodes"
    yield (
        f"{args.name} {makes} by {found.what}, at which few rules or none can look. Clusters and "
        f"nodes must be made in sight of them, or a stack is called right that nobody has judged. "
        f"{_SEEN.of(args.urn)}"
    )


class _Makers(Mapping[str, "Check"]):
    """The check, by every type that may make something elsewhere."""

    def __getitem__(self, token: str) -> Check:
        if may_make(token):
            return _look
        raise KeyError(token)

    def __iter__(self) -> Iterator[str]:
        return iter(TOKENS)

    def __len__(self) -> int:
        return len(TOKENS)


CLUSTERS_MADE_IN_SIGHT = ResourcePolicy(
    "clusters-made-in-sight",
    "Clusters, nodes and objects of clusters must be made by resources that rules look at.",
    checks=_Makers(),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.MEDIUM,
    fix=_SEEN,
    unseen="commands that hide what they run, what the code of a function does, and objects that a "
    "pod puts into its own cluster.",
)
