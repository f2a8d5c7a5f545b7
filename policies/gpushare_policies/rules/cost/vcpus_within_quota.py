"""The rule on the vCPU quotas of EC2, which an account has by kind of instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.facts.vcpus import Group, demands
from eks_gpushare.inventory.edges.quotas import vcpus
from eks_gpushare.inventory.problem import NotSeen
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import each as items
from gpushare_policies.props import peek, whole
from gpushare_policies.reading import kinds
from gpushare_policies.reading.inventory import program_of, urn_of
from gpushare_policies.rule import Setting, StackPolicy
from gpushare_policies.tokens import LAUNCH_TEMPLATE, SERVICE_QUOTA
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def _parse(value: Any) -> Mapping[str, int]:
    return {str(code): int(value[code]) for code in value}


MAXIMUM_VCPUS: Setting[Mapping[str, int]] = Setting(
    "quotas",
    {},
    "vCPUs of the account by code of the quota, such as L-DB2E81BA; what an aws.servicequotas."
    "ServiceQuota of the stack asks for counts without it.",
    {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}, "default": {}},
    _parse,
)
_RAW = "Ask for a larger quota, or lower `maxSize`."
_FIX = Fix(
    "Ask for a larger quota, or lower `pools.<pool>.nodes.max` in the stack file.", _RAW, _RAW
)


def _quotas(args: StackValidationArgs) -> dict[str, int]:
    quotas: dict[str, int] = {}
    for resource in args.resources:
        if resource.resource_type == SERVICE_QUOTA:
            value = whole(peek(resource.props, "value"))
            for code in items(peek(resource.props, "quotaCode")):
                if value is not None:
                    quotas[str(code)] = value
    quotas.update(MAXIMUM_VCPUS.of(args))
    return quotas


def _within(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    quotas = _quotas(args)
    found = list(vcpus(program_of(args.resources).inventory)) if quotas else []
    yield from (Unjudged(said.what) for said in found if isinstance(said, NotSeen))
    wanted = demands(group for group in found if isinstance(group, Group))
    for code in sorted(wanted.keys() & quotas.keys()):
        demand = wanted[code]
        if demand.vcpus > quotas[code]:
            urns = {urn_of(nodes.source): count for nodes, count in demand.parts}
            largest = max(urns, key=lambda urn: urns[urn])
            message = (
                f"At their largest the groups {', '.join(map(name_of, urns))} "
                f"take {demand.vcpus} vCPUs of the quota {demand.name} ({code}), which is "
                f"{quotas[code]}. They must fit, or EC2 refuses nodes when they are needed. "
                f"{_FIX.of(largest)}"
            )
            yield message, largest


VCPUS_WITHIN_QUOTA = StackPolicy(
    "vcpus-within-quota",
    "All groups of nodes must fit at their largest into the vCPU quotas that the configuration "
    "names or the program asks for.",
    check=_within,
    applies_to=(*kinds.NODES, LAUNCH_TEMPLATE, SERVICE_QUOTA),
    unseen="what else runs in the account, and the quota itself unless somebody names it.",
    severity=Severity.MEDIUM,
    fix=_FIX,
    settings=(MAXIMUM_VCPUS,),
)
