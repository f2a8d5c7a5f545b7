"""Templates of CloudFormation: node groups, their launch templates and user data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.capacity import bought_as
from eks_gpushare.inventory.items import CLUSTER_VERSION, NodeSet, Pointer
from eks_gpushare.inventory.launches import launch_of, with_disk
from eks_gpushare.inventory.node_agent import agents
from eks_gpushare.inventory.scaling_groups import OF_CLUSTER, keys_of, makes_nodes, promised
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.user_data import decoded
from eks_gpushare.inventory.values import PartlyKnown, at, pairs
from eks_gpushare.lint.empty_groups import from_zero
from eks_gpushare.lint.launch_templates import (
    OF_OTHERS,
    LaunchTemplate,
    overridden,
    with_template,
)
from eks_gpushare.lint.places_of_ec2 import places
from eks_gpushare.lint.pod_identities import OF_CLOUDFORMATION, association
from eks_gpushare.lint.role_trusts import of_cloudformation
from eks_gpushare.lint.rules.control_plane import template_cluster_rules
from eks_gpushare.lint.rules.terraform import ami_rules, spelling_rules, taint_rules
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.plain import items, labels, mapping, taints, text, whole
from eks_gpushare.manifests.readers.user_data import judge_user_data
from eks_gpushare.manifests.retired import retired
from eks_gpushare.manifests.rules.eksctl import size_rules
from eks_gpushare.manifests.rules.nodes import by_old_script, not_joined, owned_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.document import Document

_ADDON: Final = "AWS::EKS::Addon"
_CLUSTER: Final = "AWS::EKS::Cluster"
_ROLE: Final = "AWS::IAM::Role"
_NODE_GROUP: Final = "AWS::EKS::Nodegroup"
_TEMPLATE: Final = "AWS::EC2::LaunchTemplate"
_GROUP: Final = "AWS::AutoScaling::AutoScalingGroup"
_SIZES: Final = ("MinSize", "DesiredSize", "MaxSize")
_GROUP_SIZES: Final = ("MinSize", "DesiredCapacity", "MaxSize")
_DATA: Final = ("Properties", "LaunchTemplateData")


class CloudFormationReader:
    """Reads what a template makes of nodes; what only a deployment tells is not known."""

    name = "CloudFormation template"

    def matches(self, document: Document) -> bool:
        """Whether it has resources of AWS."""
        value = document.value
        return any(
            str(at(pair, "Type")).startswith("AWS::") for _, pair in pairs(at(value, "Resources"))
        )

    def read(self, document: Document) -> Read:
        """Its node groups and Auto Scaling groups of nodes, and what is wrong with them."""
        found: list[Item] = []
        judgements: list[Judgement] = []
        resources = mapping(at(document.value, "Resources"))
        templates = {
            name: template_of(
                Source(f"the LaunchTemplate {name}", document, ("Resources", name, *_DATA)),
                plain(at(item, *_DATA)),
            )
            for name, item in resources.items()
            if at(item, "Type") == _TEMPLATE
        }
        for name, item in resources.items():
            kind, place = at(item, "Type"), ("Resources", name)
            if kind == _TEMPLATE:
                judgements += _judged(document, name, templates[name])
                continue
            if kind == _CLUSTER:
                cluster = Source(f"the Cluster {name}", document, (*place, "Properties"))
                given = plain(at(item, "Properties"))
                judgements += template_cluster_rules(cluster, given)
                version = text(at(given, "Version"), "")
                found.append(Pointer(source=cluster, kind=CLUSTER_VERSION, name=version))
                continue
            if kind not in (_NODE_GROUP, _GROUP):  # which may be anything
                found += _of_others(document, name, item) if isinstance(kind, str) else ()
                continue
            given = plain(at(item, "Properties"))
            source = Source(
                f"the {kind.rpartition(':')[2]} {name}", document, (*place, "Properties")
            )
            own = at(item, "Properties")
            template = _used(own, templates)
            nodes = (
                node_group(source, name, given)
                if kind == _NODE_GROUP
                else _scaling_group(source, name, given, template)
            )
            if nodes is None:
                continue
            nodes = nodes if template is None else with_template(nodes, template)
            found.append(nodes)
            judgements += retired(nodes, ("InstanceTypes",))
            judgements += owned_labels(source, nodes.labels, ("Labels",), nodes.instance_types)
            if kind == _NODE_GROUP:
                judgements += node_group_rules(nodes, given, template)
            else:
                judgements += size_rules(source, (), given, _GROUP_SIZES)
                judgements += from_zero(nodes, _tags(given), "MinSize")
                judgements += by_old_script(nodes, nodes.user_data)
        return Read(found, judgements)


def _of_others(document: Document, name: str, item: Any) -> Iterator[Item]:
    """What resources say of a cluster that make no nodes."""
    kind, place = at(item, "Type"), ("Resources", name)
    given = plain(at(item, "Properties"))
    source = Source(f"the {kind.rpartition(':')[2]} {name}", document, (*place, "Properties"))
    if kind == _ADDON:
        named, told = (at(given, key) for key in ("AddonName", "ConfigurationValues"))
        yield from agents(Source(f"the Addon {name}", document, place), named, told)
    elif kind == _ROLE:
        yield from of_cloudformation(source, given)
    elif kind == OF_CLOUDFORMATION:
        yield association(source, at(given, "Namespace"), at(given, "ServiceAccount"))
    else:
        yield from places(source, kind, name, given)


def plain(value: Any) -> Any:
    """A value without functions of CloudFormation: what they make is not known."""
    if isinstance(value, list):
        return [made for inner in value if (made := plain(inner)) is not None]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, inner),) = value.items()
        if key in {"Ref", "Condition"} or key.startswith("Fn::"):
            return _made_by(key, inner)
    made = {key: plain(item) for key, item in value.items()}
    return PartlyKnown(made) if isinstance(value, PartlyKnown) else made


def _made_by(function: str, argument: Any) -> Any:
    if function == "Ref" and argument == "AWS::NoValue":
        return None
    if function == "Fn::Base64":
        return plain(argument)
    template = argument[0] if isinstance(argument, list) and argument else argument
    if function == "Fn::Sub" and isinstance(template, str):
        for key, value in mapping(at(argument, 1)).items():
            if isinstance(value, str):
                template = template.replace(f"${{{key}}}", value)
        # Of a text of several lines, and of the tag by which instances are a cluster's, the rest
        # is known.
        whole_text = "${" not in template or "\n" in template
        return template if whole_text or template.startswith(OF_CLUSTER) else UNKNOWN
    return UNKNOWN


def _user_data_place(name: str) -> FieldPath:
    return ("Resources", name, *_DATA, "UserData")


def template_of(source: Source, data: Any, spelled: Callable[[str], str] = str) -> LaunchTemplate:
    """A launch template.

    Args:
        source: Where its data stands.
        data: The data.
        spelled: How a word of the template is spelled there.
    """
    return LaunchTemplate(
        text(at(data, spelled("ImageId"))),
        text(at(data, spelled("InstanceType"))),
        decoded(at(data, spelled("UserData"))),
        launch_of(source, text(at(data, spelled("LaunchTemplateName"))), data),
    )


def _judged(document: Document, name: str, template: LaunchTemplate) -> Iterator[Judgement]:
    """What is wrong in the user data, whichever functions stand around it."""
    place = _user_data_place(name)
    for _ in range(3):  # Fn::Base64, Fn::Sub, its list
        inner = at(document.value, *place)
        if isinstance(inner, dict) and len(inner) == 1:
            place = (*place, *inner)
        elif isinstance(inner, list) and inner:
            place = (*place, 0)
    yield from judge_user_data(document, place, template.user_data)


def _used(own: Any, templates: dict[str, LaunchTemplate]) -> LaunchTemplate | None:
    """The launch template that a group names; None where it names none."""
    given = at(own, "LaunchTemplate") or at(
        own, "MixedInstancesPolicy", "LaunchTemplate", "LaunchTemplateSpecification"
    )
    if not given or plain(given) is None:
        return None
    for key in ("Id", "Name", "LaunchTemplateId", "LaunchTemplateName"):
        named = at(given, key)
        attribute = at(named, "Fn::GetAtt")
        name = at(named, "Ref") or str(at(attribute, 0) or attribute).partition(".")[0]
        if isinstance(name, str) and name in templates:
            return templates[name]
    return OF_OTHERS


def node_group(
    source: Source, name: Maybe[str], given: Any, spelled: Callable[[str], str] = str
) -> NodeSet:
    """A managed node group.

    Args:
        source: Where its properties stand.
        name: What it is called if it does not say so.
        given: Its properties.
        spelled: How a word of the template is spelled there.
    """
    told = at(given, spelled("Tags"))
    tags, sizes = mapping(told), at(given, spelled("ScalingConfig"))
    listed, size = at(given, spelled("Taints")), spelled("DiskSize")
    return NodeSet(
        source=source,
        name=text(at(given, spelled("NodegroupName"))) or name,
        provisioner="managed",
        bought_as=bought_as(at(given, spelled("CapacityType"))),
        instance_types=_types(at(given, spelled("InstanceTypes"))),
        labels=labels(at(given, spelled("Labels"))),
        taints=taints([_lower(taint) for taint in items(listed)])
        if listed is not UNKNOWN
        else UNKNOWN,
        promised=promised(tags.items()),
        tags=UNKNOWN if told is UNKNOWN else frozenset(tags),
        ami=text(at(given, spelled("AmiType"))),
        kubernetes=text(at(given, spelled("Version")), ""),
        launch=with_disk(source, name, at(given, size), (size,)),
        least=whole(at(sizes, spelled("MinSize"))),
        most=whole(at(sizes, spelled("MaxSize"))),
    )


def node_group_rules(
    nodes: NodeSet,
    given: Any,
    template: LaunchTemplate | None,
    spelled: Callable[[str], str] = str,
) -> Iterator[Judgement]:
    """What is wrong with the properties of a managed node group.

    Args:
        nodes: What they became, with the launch template.
        given: The properties.
        template: Its launch template, if it has one.
        spelled: How a word of the template is spelled there.
    """
    ami, sizes = spelled("AmiType"), spelled("ScalingConfig")
    yield from taint_rules(nodes.source, given, (spelled("Taints"), spelled("Effect")))
    yield from ami_rules(nodes, (ami,))
    yield from spelling_rules(nodes.source, given, (ami, spelled("CapacityType")))
    if template is not None:
        yield from not_joined(nodes, template.image, template.user_data)
    named = (spelled(_SIZES[0]), spelled(_SIZES[1]), spelled(_SIZES[2]))
    yield from size_rules(nodes.source, (sizes,), at(given, sizes), named)


def _scaling_group(
    source: Source, name: str, given: Any, template: LaunchTemplate | None
) -> NodeSet | None:
    """The nodes of an Auto Scaling group; None of one that nothing has join a cluster."""
    tags = _tags(given)
    listed = at(given, "MixedInstancesPolicy", "LaunchTemplate", "Overrides")
    if not makes_nodes(tags, "" if template is None else template.user_data):
        return None
    return NodeSet(
        source=source,
        name=text(at(given, "AutoScalingGroupName")) or name,
        provisioner="selfManaged",
        instance_types=overridden(listed, "InstanceType", "InstanceRequirements"),
        promised=promised(tags),
        tags=keys_of(tags),
        least=whole(at(given, "MinSize")),
        most=whole(at(given, "MaxSize")),
    )


def _tags(given: Any) -> list[tuple[Any, Any]]:
    return [(text(at(tag, "Key")), at(tag, "Value")) for tag in items(at(given, "Tags"))]


def _types(given: Any) -> Maybe[tuple[str, ...]]:
    if given is UNKNOWN or UNKNOWN in items(given):
        return UNKNOWN
    return tuple(str(text(item)) for item in items(given))


def _lower(taint: Any) -> Any:
    return {key.lower(): item for key, item in taint.items()} if isinstance(taint, dict) else taint
