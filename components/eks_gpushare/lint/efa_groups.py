"""Security groups of EFA interfaces, by all of their rules that a root of Terraform makes.

What EFA sends past the operating system has no address of IP, so rules for addresses are not for
it: it passes by rules that name the group itself. Sources, November 2026:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html#efa-start-security and
https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.items import NodeLaunch, NodeSet
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown, at, items
from eks_gpushare.lint.rules.terraform import NOT_TO_ITSELF
from eks_gpushare.lint.terraform_configuration import INDEX, module_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.source import Source
    from eks_gpushare.lint.terraform_configuration import TerraformConfiguration
    from eks_gpushare.lint.terraform_groups import Resource

_GROUP: Final = "aws_security_group"
_WAYS: Final = {"ingress": "from", "egress": "to"}
_RULE: Final = "aws_security_group_rule"
_RULES: Final = {f"aws_vpc_security_group_{way}_rule": way for way in _WAYS}
_OF: Final = "security_group_id"
_TO: Final = ("source_security_group_id", "referenced_security_group_id")
_EFA: Final = ("efa", "efa-only")
_FIX: Final = {
    "ingress": "Add a rule for all traffic (protocol -1) that comes from the group itself.",
    "egress": "Add a rule for all traffic (protocol -1) that goes to the group itself, beside the "
    "one for addresses.",
}


class _Rule(NamedTuple):
    """A rule of a group."""

    way: str
    source: Source
    path: FieldPath
    to_itself: bool
    """Whether it is for the group itself, or may be."""


def efa_groups(
    resources: Sequence[Resource], found: Iterable[Item], configuration: TerraformConfiguration
) -> Iterator[Problem]:
    """Groups that are all that EFA interfaces of nodes with GPUs have, and lack a rule for it.

    Args:
        resources: Each with its source, its type and its values.
        found: The items that were made of them.
        configuration: What they refer to.
    """
    launched = {
        each.launch.source.name
        for each in found
        if isinstance(each, NodeSet)
        and isinstance(each.launch, NodeLaunch)
        and each.most != 1
        and has_gpus(each)
    }
    groups = {INDEX.sub("", each[0].name): each for each in resources if each[1] == _GROUP}
    told: set[str] = set()
    for source, _, given in resources:
        if source.name not in launched:
            continue
        group = groups.get(_only_group(source.name, given, configuration))
        if group is not None and group[0].name not in told:
            told.add(group[0].name)
            yield from _judged(source.name, group, resources, configuration)


def _only_group(address: str, given: Any, configuration: TerraformConfiguration) -> str:
    """The address of the one group that each EFA interface of a launch template has; or nothing."""
    interfaces = [
        each
        for each in items(at(given, "network_interfaces"))
        if at(each, "interface_type") in _EFA
    ]
    listed = [at(each, "security_groups") for each in interfaces]
    named = {
        _named(each, address)
        for each in configuration.references(address, "network_interfaces", "security_groups")
    }
    one_each = all(isinstance(each, list) and len(each) == 1 for each in listed)
    return named.pop() if listed and one_each and len(named) == 1 else ""


def _named(reference: str, by: str) -> str:
    """The address of what somebody refers to in its module, without index and attribute."""
    plain = INDEX.sub("", reference).split(".")[:2]
    return INDEX.sub("", module_of(by)) + ".".join(plain)


def _judged(
    template: str,
    group: Resource,
    resources: Iterable[Resource],
    configuration: TerraformConfiguration,
) -> Iterator[Problem]:
    source, _, given = group
    address = INDEX.sub("", source.name)
    if isinstance(given, PartlyKnown):
        return
    rules = list(_inline(source, given))
    for each in resources:
        way = at(each[2], "type") if each[1] == _RULE else _RULES.get(each[1])
        way = way if way is None or isinstance(way, str) else UNKNOWN
        if way is None or _is_of(each, address, configuration) is False:
            continue
        if way not in _WAYS or _is_of(each, address, configuration) is None:
            return  # it may be of this group, and for any
        rules.append(_Rule(way, each[0], (), _goes_to(each, address, configuration)))
    for way, word in _WAYS.items():
        of_way = [each for each in rules if each.way == way]
        both = len({each.way for each in rules}) == len(_WAYS)
        if both and not any(each.to_itself for each in of_way):
            yield Problem(
                NOT_TO_ITSELF,
                of_way[0].source,
                of_way[0].path,
                f"No {way} rule of {source.name} is for traffic {word} itself, and the EFA "
                f"interfaces of {template} have this group alone: rules for addresses let no "
                "traffic of EFA through.",
                _FIX[way],
            )


def _inline(source: Source, given: Any) -> Iterator[_Rule]:
    for way in _WAYS:
        blocks = at(given, way)
        if blocks is UNKNOWN:
            yield _Rule(way, source, (way,), to_itself=True)
        for index, block in enumerate(items(blocks)):
            to_itself = block is UNKNOWN or at(block, "self") not in (None, False)
            yield _Rule(way, source, (way, index), to_itself)


def _is_of(rule: Resource, group: str, configuration: TerraformConfiguration) -> bool | None:
    """Whether a rule is of a group; None where it may be."""
    source, _, given = rule
    references = configuration.references(source.name, _OF)
    if not references:
        return False if isinstance(at(given, _OF), str) else None
    named = {_meant(each, source.name, group) for each in references}
    return named.pop() if len(named) == 1 else None


def _goes_to(rule: Resource, group: str, configuration: TerraformConfiguration) -> bool:
    source, _, given = rule
    if at(given, "self") not in (None, False):
        return True
    told = [each for key in _TO for each in configuration.references(source.name, key)]
    return any(_meant(each, source.name, group) is not False for each in told)


def _meant(reference: str, by: str, group: str) -> bool | None:
    """Whether a reference is to a group; None of one that is given to a module or got of one."""
    kind = reference.partition(".")[0]
    if kind == _GROUP:
        return _named(reference, by) == group
    # A variable of a root is nothing that the root makes, and so is a module's output to its own.
    is_open = kind == "each" or module_of(group if kind == "module" else by)
    return None if kind in ("each", "var", "module") and is_open else False
