"""The rule on the vCPU quotas of EC2, which an account has by kind of instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.facts.vcpus import Group, demands
from gpushare_policies.props import each as items
from gpushare_policies.props import peek, whole
from gpushare_policies.reading.node_groups import nodes_of
from gpushare_policies.reading.types import instance_type
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import Setting, StackRule, Unjudged
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP, SCALING_GROUP, SERVICE_QUOTA
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog.quotas import Capacity
    from gpushare_policies.reading.node_groups import Nodes


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


def _group(nodes: Nodes) -> Iterator[Group[Nodes] | Unjudged]:
    """What quotas count of a group at its largest size."""
    _, _, most = nodes.sizes()
    known = []
    for name in nodes.types():
        if (instance := instance_type(name)) is None:
            yield Unjudged(f"the vCPUs of {name} of {nodes.group.name}")
        else:
            known.append(instance)
    if most is None or not known:
        return
    ways: tuple[Capacity] = ("spot" if nodes.is_spot() else "onDemand",)
    yield Group(nodes, {each.name: most for each in known}, known, ways)


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
    found = list(over_each(nodes_of(args.resources), _group)) if quotas else []
    yield from (each for each in found if isinstance(each, Unjudged))
    wanted = demands(each for each in found if isinstance(each, Group))
    for code in sorted(wanted.keys() & quotas.keys()):
        demand = wanted[code]
        if demand.vcpus > quotas[code]:
            largest, _ = max(demand.parts, key=lambda part: part[1])
            urn = largest.group.urn
            message = (
                f"At their largest the groups {', '.join(n.group.name for n, _ in demand.parts)} "
                f"take {demand.vcpus} vCPUs of the quota {demand.name} ({code}), which is "
                f"{quotas[code]}. They must fit, or EC2 refuses nodes when they are needed. "
                f"{_FIX.of(urn)}"
            )
            yield message, urn


VCPUS_WITHIN_QUOTA = StackRule(
    "vcpus-within-quota",
    "All groups of nodes must fit into the account's vCPU quotas at their largest.",
    check=_within,
    applies_to=(NODE_GROUP, SCALING_GROUP, LAUNCH_TEMPLATE, SERVICE_QUOTA),
    unseen="what else runs in the account, and the quota itself unless somebody names it.",
    severity=Severity.MEDIUM,
    fix=_FIX,
    settings=(MAXIMUM_VCPUS,),
)
