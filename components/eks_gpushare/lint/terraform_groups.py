"""Auto Scaling groups of Terraform plans whose instances are nodes, and tags on those of EKS."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import GROUP_TAG, NodeSet, Pointer
from eks_gpushare.inventory.scaling_groups import keys_of, makes_nodes, promised
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.hcl.values import GAP
from eks_gpushare.lint.launch_templates import overridden, with_template
from eks_gpushare.lint.terraform_configuration import INDEX, module_of
from eks_gpushare.manifests.plain import items, mapping, text, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.source import Source
    from eks_gpushare.lint.terraform_configuration import TerraformConfiguration
    from eks_gpushare.lint.terraform_templates import Templates

    # Called by its address, with its type and values.
    Resource: TypeAlias = tuple[Source, Any, Any]

KIND: Final = "aws_autoscaling_group"
TAG: Final = "aws_autoscaling_group_tag"
NODE_GROUP: Final = "aws_eks_node_group"
_GROUP: Final = "autoscaling_group_name"
_SCALED: Final = ("managed", "selfManaged")
_MIXED: Final = ("mixed_instances_policy", 0, "launch_template", 0)


def scaling_group(source: Source, given: Any, templates: Templates) -> NodeSet | None:
    """The nodes of a group; None of one whose tags name no cluster, and whose user data joins none.

    Args:
        source: Where its values stand.
        given: The values.
        templates: The launch templates of the plan.
    """
    tags = list(tags_of(given))
    blocks = at(given, "launch_template") or at(given, *_MIXED, "launch_template_specification")
    older = at(given, "launch_configuration")
    found = templates.used_by(source.name, blocks) or templates.older_of(source.name, older)
    if not makes_nodes(tags, "" if found is None else found.user_data):
        return None
    overrides = at(given, *_MIXED, "override")
    nodes = NodeSet(
        source=source,
        name=text(at(given, "name") or at(given, "name_prefix")),
        provisioner="selfManaged",
        instance_types=overridden(overrides, "instance_type", "instance_requirements"),
        promised=promised(tags),
        tags=keys_of(tags),
        least=whole(at(given, "min_size")),
        most=whole(at(given, "max_size")),
    )
    return nodes if found is None else with_template(nodes, found)


def tags_of(given: Any) -> Iterator[tuple[Any, Any]]:
    """Key and value of each tag: in blocks of their own, or as the list of older providers."""
    for name in ("tag", "tags"):
        listed = at(given, name)
        if isinstance(listed, dict):
            yield from listed.items()
        for item in items(listed):
            yield text(at(item, "key")), text(at(item, "value"))


def with_tags(
    found: Iterable[Item], resources: Sequence[Resource], configuration: TerraformConfiguration
) -> Iterator[Item]:
    """What was read, nodes with what tags say that stand by themselves.

    Such are put on the Auto Scaling groups that EKS makes for its node groups. Where these are none
    of the plan's, the tags are items of their own.

    Args:
        found: The items of a plan.
        resources: Its resources.
        configuration: What they refer to.
    """
    every, known = list(found), dict(_named(resources))
    groups = {each.source.name: known.get(each.source.name) for each in every}
    made = {each.source.name for each in every if isinstance(each, NodeSet)}
    meant = []
    for source, kind, given in resources:
        if kind == TAG:
            those, sure = _meant(source.name, at(given, _GROUP), groups, configuration)
            meant.append(((those, sure), list(tags_of(given))))
            if made.isdisjoint(those) and _is_looked_up(source.name, configuration):
                for key, _ in meant[-1][1]:
                    name = UNKNOWN if GAP in str(key) else key
                    yield Pointer(source=source, kind=GROUP_TAG, name=name, namespace="")
    for item in every:
        address = item.source.name
        told = [(sure, pairs) for (found, sure), pairs in meant if address in found]
        if told and isinstance(item, NodeSet):
            more = keys_of(pair for _, pairs in told for pair in pairs)
            tags = UNKNOWN if item.tags is UNKNOWN or more is UNKNOWN else item.tags | more
            yield replace(item, promised=_with(item.promised, told), tags=tags)
        else:
            yield item


def _is_looked_up(address: str, configuration: TerraformConfiguration) -> bool:
    """Whether the group of a tag may be one that the root does not make."""
    references = configuration.references(address, _GROUP)
    return not references or any(each.startswith(_OPEN) for each in references)


def tagged_elsewhere(found: Iterable[Item]) -> Iterator[Item]:
    """Items, groups with what tags may say of them that a root puts on groups of another.

    Args:
        found: What is of a cluster.
    """
    every = list(found)
    keys = [each.name for each in every if isinstance(each, Pointer) and each.kind == GROUP_TAG]
    for item in every:
        if keys and isinstance(item, NodeSet) and item.provisioner in _SCALED:
            more, own = promised((key, UNKNOWN) for key in keys), item.promised
            told = UNKNOWN if UNKNOWN in keys or own is UNKNOWN else {**more, **own}
            yield replace(item, promised=told, tags=UNKNOWN)
        else:
            yield item


def _with(known: Any, told: Iterable[tuple[bool, list[tuple[Any, Any]]]]) -> Any:
    """What a group promises with tags, each with whether it surely is for that group."""
    made = dict(mapping(known))
    for sure, pairs in told:
        if known is UNKNOWN or any(key is UNKNOWN for key, _ in pairs):
            return UNKNOWN
        more = promised(pairs)
        made |= more if sure else dict.fromkeys(more, UNKNOWN)
    return made


def _named(resources: Iterable[Resource]) -> Iterator[tuple[str, str]]:
    """The names of Auto Scaling groups by the address of what has made them."""
    for source, kind, given in resources:
        if kind in {NODE_GROUP, KIND}:
            of_eks = at(given, "resources", 0, "autoscaling_groups", 0, "name")
            name = of_eks if kind == NODE_GROUP else at(given, "name")
            if isinstance(name, str):
                yield source.name, name


def _meant(
    address: str,
    named: Any,
    groups: Mapping[str, str | None],
    configuration: TerraformConfiguration,
) -> tuple[set[str], bool]:
    """Addresses of groups of which a tag is for one, and whether it is surely for them.

    It may be for any where what it refers to cannot be followed.

    Args:
        address: The tag's.
        named: The group's name as the tag has it.
        groups: Addresses with the names of the Auto Scaling groups, as far as they are known.
        configuration: What the tag refers to.
    """
    if isinstance(named, str) and named in groups.values():
        return {each for each, name in groups.items() if name == named}, True
    module, found, is_open = module_of(address), set[str](), isinstance(named, str)
    for reference in configuration.references(address, _GROUP):
        if reference.startswith(_OPEN):
            is_open = True
            continue
        kind, _, name = INDEX.sub("", reference).partition(".")
        own = INDEX.sub("", f"{module}{kind}.{name.partition('.')[0]}")
        below = {
            each
            for each in groups
            if f"{INDEX.sub('', each)}.".startswith(f"{own}.")
            and (kind == "module" or INDEX.sub("", each) == own)
        }
        keys = {*_KEY.findall(reference), *(f'["{each}"]' for each in name.split(".")[1:])}
        found |= {each for each in below if any(key in each for key in keys)} or below
    if found or not is_open:
        return found, len(found) == 1
    any_name = not isinstance(named, str)
    return {each for each, name in groups.items() if any_name or name is None}, False


_OPEN: Final = ("var.", "local.", "each.", "data.")
"""What references begin with that cannot be followed."""
_KEY: Final = re.compile(r'\["[^"\]]*"\]|(?<=\.)[^.\[]+\[[0-9]+\](?=\.|$)')
"""Keys in a reference; a number with the name before it, since lists have numbers too."""
