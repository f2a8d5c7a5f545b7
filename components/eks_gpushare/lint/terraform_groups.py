"""Auto Scaling groups of Terraform plans whose instances are nodes, and tags on those of EKS."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.scaling_groups import makes_nodes, promised
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.launch_templates import overridden, with_template
from eks_gpushare.lint.terraform_configuration import INDEX, module_of
from eks_gpushare.manifests.plain import items, mapping, text, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.source import Source
    from eks_gpushare.lint.terraform_configuration import TerraformConfiguration
    from eks_gpushare.lint.terraform_templates import Templates

    # Address, type and values.
    Resource: TypeAlias = tuple[str, Any, Any]

KIND: Final = "aws_autoscaling_group"
TAG: Final = "aws_autoscaling_group_tag"
NODE_GROUP: Final = "aws_eks_node_group"
_GROUP: Final = "autoscaling_group_name"
_MIXED: Final = ("mixed_instances_policy", 0, "launch_template", 0)


def scaling_group(source: Source, given: Any, templates: Templates) -> NodeSet | None:
    """The nodes of a group; None of one whose tags name no cluster.

    Args:
        source: Where its values stand.
        given: The values.
        templates: The launch templates of the plan.
    """
    tags = list(tags_of(given))
    if not makes_nodes(tags):
        return None
    overrides = at(given, *_MIXED, "override")
    nodes = NodeSet(
        source=source,
        name=text(at(given, "name") or at(given, "name_prefix")),
        provisioner="selfManaged",
        instance_types=overridden(overrides, "instance_type", "instance_requirements"),
        promised=promised(tags),
        least=whole(at(given, "min_size")),
        most=whole(at(given, "max_size")),
    )
    blocks = at(given, "launch_template") or at(given, *_MIXED, "launch_template_specification")
    older = at(given, "launch_configuration")
    found = templates.used_by(source.name, blocks) or templates.older_of(source.name, older)
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
    found: Iterable[Item], resources: Iterable[Resource], configuration: TerraformConfiguration
) -> Iterator[Item]:
    """What was read, nodes with what tags say that stand by themselves.

    Such are put on the Auto Scaling groups that EKS makes for its node groups.

    Args:
        found: The items of a plan.
        resources: Its resources, each with its address and values.
        configuration: What they refer to.
    """
    every, named = list(found), dict(_named(resources))
    told = [
        ({*_groups(address, configuration), named.get(at(given, _GROUP))}, pair)
        for address, kind, given in resources
        if kind == TAG
        for pair in tags_of(given)
    ]
    bare = [INDEX.sub("", item.source.name) for item in every]
    for item, address in zip(every, bare, strict=True):
        more = promised(pair for groups, pair in told if address in groups)
        if bare.count(address) > 1:  # which of them it is for is not told
            more = dict.fromkeys(more, UNKNOWN)
        if more and isinstance(item, NodeSet):
            yield replace(item, promised={**mapping(item.promised), **more})
        else:
            yield item


def _named(resources: Iterable[Resource]) -> Iterator[tuple[Any, str]]:
    """Auto Scaling groups by name, with the address of what has made them."""
    for address, kind, given in resources:
        if kind in {NODE_GROUP, KIND}:
            of_eks = at(given, "resources", 0, "autoscaling_groups", 0, "name")
            name = of_eks if kind == NODE_GROUP else at(given, "name")
            if isinstance(name, str):
                yield name, INDEX.sub("", address)


def _groups(address: str, configuration: TerraformConfiguration) -> Iterator[str]:
    """Addresses, without indexes, of what a tag may be for."""
    for reference in configuration.references(address, _GROUP):
        named = ".".join(INDEX.sub("", reference).split(".")[:2])
        yield f"{INDEX.sub('', module_of(address))}{named}"
