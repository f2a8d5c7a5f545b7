"""Terraform's plan as JSON, `terraform show -json`: what there will be, modules included."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.inventory.capacity import bought_as
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.launches import with_disk
from eks_gpushare.inventory.node_agent import agents
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.scaling_groups import promised
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at
from eks_gpushare.lint import terraform_groups, terraform_templates
from eks_gpushare.lint.efa_groups import efa_groups
from eks_gpushare.lint.empty_groups import from_zero
from eks_gpushare.lint.hcl.origin import HclOrigin
from eks_gpushare.lint.hcl.registry_user_data import IMAGES, OWN_IMAGE
from eks_gpushare.lint.launch_templates import with_template
from eks_gpushare.lint.readers.terraform_commands import commands_of
from eks_gpushare.lint.role_trusts import role_trusts
from eks_gpushare.lint.rules.control_plane import cluster_rules
from eks_gpushare.lint.rules.terraform import disk_size, node_group_rules, unread_rules
from eks_gpushare.lint.shell.helm import chart_name
from eks_gpushare.lint.shell.repositories import last_of
from eks_gpushare.lint.terraform_configuration import TerraformConfiguration
from eks_gpushare.lint.terraform_groups import scaling_group, tags_of, with_tags
from eks_gpushare.lint.terraform_objects import object_of, typed
from eks_gpushare.lint.terraform_pointers import pointers, switched_off
from eks_gpushare.lint.terraform_templates import Templates
from eks_gpushare.manifests.charts import CHARTS, version_of, within_values
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.plain import items, labels, mapping, taints, text, whole
from eks_gpushare.manifests.readers.user_data import judge_user_data
from eks_gpushare.manifests.retired import retired
from eks_gpushare.manifests.rules.eksctl import size_rules
from eks_gpushare.manifests.rules.nodes import by_old_script, not_joined, owned_labels
from eks_gpushare.manifests.shell.set_values import put, settings
from eks_gpushare.manifests.texts import read_texts, texts_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.texts import Texts

_ROOT: Final = ("planned_values", "root_module")
_MOST_MODULES: Final = 30
_CLUSTER: Final = "aws_eks_cluster"
_SIZES: Final = ("min_size", "desired_capacity", "max_size")


class TerraformReader:
    """Reads the resources that a plan makes or keeps."""

    name = "Terraform plan"

    def matches(self, document: Document) -> bool:
        """Whether it is a plan, or the state, as JSON."""
        value = document.value
        return isinstance(at(value, *_root(value)), dict) and "format_version" in value

    def read(self, document: Document) -> Read:
        """Its node groups, charts and objects, and what is wrong with them."""
        unknown = _unknown(document.value)
        resources = [
            TerraformResource(
                document,
                (*path, "values"),
                str(at(resource, "type")),
                address,
                _with_unknown(at(resource, "values"), unknown.get(address)),
            )
            for path, resource in _resources(document.value, _root(document.value))
            for address in [str(text(at(resource, "address")))]
        ]
        return read_resources(resources, TerraformConfiguration(document.value))


class TerraformResource(NamedTuple):
    """A resource, from a plan or from a configuration."""

    document: Document
    place: FieldPath
    """The place of its values in the document."""
    kind: str
    address: str
    values: Any
    """What is not known of them is `UNKNOWN`."""
    is_there: bool = True
    """Whether it is made. A group that is not, since its count is 0, is judged by itself alone."""


def read_resources(
    resources: Sequence[TerraformResource], configuration: TerraformConfiguration
) -> Read:
    """The node groups, charts and objects of resources, and what is wrong with them.

    Args:
        resources: All of one root module.
        configuration: What they refer to.
    """
    found: list[Item] = []
    inner: list[Document] = []
    templates = Templates(configuration)
    judgements = [*_templates(resources, templates)]
    several = sum(each.kind == _CLUSTER for each in resources) > 1
    for resource in resources:
        document, place, kind, address, given, is_there = resource
        source = Source(address, document, place)
        if kind in (terraform_groups.NODE_GROUP, terraform_groups.KIND):
            nodes, problems = _nodes(source, kind, given, templates)
            found += nodes if is_there else switched_off(nodes)
            judgements += problems if is_there else map(_latent, problems)
        elif not is_there:
            continue
        else:
            if kind == _CLUSTER:
                block = ("vpc_config", "public_access_cidrs")
                known = configuration.without_computed(address, given, *block)
                judgements += cluster_rules(source, known)
            found += pointers(source, str(kind), given)
            reads = [_object(document, place, source, kind, given)]
            reads += commands_of(document, place, given, of_several=several)
            for read in reads:
                found += read.items
                judgements += read.judgements
                inner += read.inner
    there = [
        (Source(each.address, each.document, each.place), each.kind, each.values)
        for each in resources
        if each.is_there
    ]
    judgements += efa_groups(there, found, configuration)
    found += role_trusts(there, configuration)
    return Read(list(with_tags(found, there, configuration)), judgements, inner)


def _latent(judgement: Judgement) -> Judgement:
    """A note, of a group that is not made: it would be wrong if it were."""
    return replace(judgement, severity="info") if isinstance(judgement, Problem) else judgement


def _nodes(
    source: Source, kind: Any, given: Any, templates: Templates
) -> tuple[list[NodeSet], list[Judgement]]:
    """A group of nodes, with what is wrong with it; nothing of other groups of instances."""
    if kind == terraform_groups.KIND:
        group = scaling_group(source, given, templates)
        if group is None:
            return [], []
        return [group], [
            *retired(group, ("mixed_instances_policy",)),
            *unread_rules(source, given),
            *by_old_script(group, group.user_data),
            *from_zero(group, tags_of(given)),
            *size_rules(source, (), given, _SIZES),
        ]
    nodes = _node_group(source, given)
    template = templates.used_by(source.name, at(given, "launch_template"))
    booted: Iterable[Judgement] = ()
    if template is not None:
        nodes = with_template(nodes, template)
        is_own = template.looked_up or at(given, "ami_type") == "CUSTOM"
        booted = not_joined(nodes, template.image, template.user_data, looked_up=is_own)
    return [nodes], [
        *node_group_rules(nodes, given),
        *(() if at(given, OWN_IMAGE) is not None else booted),
        *unread_rules(source, given),
        *retired(nodes, ("instance_types",)),
        *owned_labels(source, nodes.labels, ("labels",), nodes.instance_types),
    ]


def _object(document: Document, place: FieldPath, source: Source, kind: str, given: Any) -> Read:
    """What is of the cluster: charts, manifests, and resources of the Kubernetes provider."""
    if kind == "aws_eks_addon":
        name, told = at(given, "addon_name"), at(given, "configuration_values")
        return Read(list(agents(source, name, told)))
    if kind == "helm_release":
        release = _release(source, given)
        texts = (
            texts_within(document, (*place, "values", index))
            for index, _ in enumerate(items(at(given, "values")))
        )
        configs = [
            each
            for found in texts
            for values in (found.documents[:1] if found and release.chart in CHARTS else ())
            for each in within_values(values)
        ]
        return Read([release], inner=configs)
    if kind in {"kubernetes_labels", "kubernetes_node_taint"}:
        return Read(list(_by_hand(source, given)))
    return Read(inner=list(_written_out(document, place, kind, given)))


def _written_out(document: Document, place: FieldPath, kind: str, given: Any) -> Iterator[Document]:
    """Objects as Kubernetes has them."""
    if kind == "kubernetes_manifest" and isinstance(at(given, "manifest"), dict):
        yield document.inside((*place, "manifest"), typed(at(given, "manifest")))
    elif kind == "kubectl_manifest" and isinstance(at(given, "yaml_body"), str):
        within = texts_within(document, (*place, "yaml_body"))
        yield from within.documents if within else ()
    elif (made := object_of(kind, given)) is not None:
        metadata = made.get("metadata")
        if isinstance(metadata, dict) and made["kind"] != "Namespace":
            metadata.setdefault("namespace", "default")
        # Its keys are not those that stand there, so nothing can be written back.
        inside = document.inside(place, made)
        origin = inside.origin
        if isinstance(origin, HclOrigin):
            origin = replace(origin, value=object_of(kind, origin.value))
            inside = replace(inside, position=origin.position, origin=origin)
        yield replace(inside, editable=False)


def _templates(resources: Sequence[TerraformResource], taken: Templates) -> Iterator[Judgement]:
    """What is wrong in the user data of launch templates, all of which are taken."""
    for resource in resources:
        if resource.kind in IMAGES:
            taken.add_image(resource.address, resource.values)
    for document, place, kind, address, given, _ in resources:
        if kind == terraform_templates.OLDER:
            taken.add_older(address, given)
        elif kind == terraform_templates.KIND:
            data = taken.add(Source(address, document, place), given).user_data
            yield from judge_user_data(document, (*place, "user_data"), data)


def _root(value: Any) -> tuple[str, ...]:
    """Where the root module stands: in a plan, or in a state."""
    return _ROOT if at(value, *_ROOT) is not None else ("values", "root_module")


def _resources(
    value: Any, path: FieldPath, depth: int = 0
) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    module = at(value, *path)
    for index, resource in enumerate(items(at(module, "resources"))):
        if isinstance(resource, dict) and at(resource, "mode") != "data":
            yield (*path, "resources", index), resource
    if depth < _MOST_MODULES:
        for index, _ in enumerate(items(at(module, "child_modules"))):
            yield from _resources(value, (*path, "child_modules", index), depth + 1)


def _unknown(value: Any) -> dict[str, Any]:
    """What is not known before it is applied, by the address of the resource."""
    return {
        str(at(change, "address")): at(change, "change", "after_unknown")
        for change in items(at(value, "resource_changes"))
    }


def _with_unknown(given: Any, unknown: Any) -> Any:
    """The values with UNKNOWN where the plan says that they will be known later."""
    if unknown is True:
        return UNKNOWN
    if isinstance(unknown, dict) and isinstance(given, dict):
        keys = dict.fromkeys((*given, *unknown))
        made = {key: _with_unknown(given.get(key), unknown.get(key)) for key in keys}
        return {key: item for key, item in made.items() if key in given or item is UNKNOWN}
    if isinstance(unknown, list) and isinstance(given, list):
        more = [*unknown, *([None] * (len(given) - len(unknown)))]
        return [_with_unknown(inner, told) for inner, told in zip(given, more, strict=False)]
    return given


def _node_group(source: Source, given: Any) -> NodeSet:
    types = at(given, "instance_types")
    scaling = at(given, "scaling_config", 0)
    tags = mapping(at(given, "tags"))
    known: Maybe[tuple[str, ...]] = tuple(str(text(item)) for item in items(types))
    if types is UNKNOWN or UNKNOWN in items(types):
        known = UNKNOWN
    return NodeSet(
        source=source,
        name=text(at(given, "node_group_name") or at(given, "node_group_name_prefix")),
        provisioner="managed",
        instance_types=known,
        labels=labels(at(given, "labels")),
        taints=taints(at(given, "taint")),
        bought_as=bought_as(at(given, "capacity_type")),
        promised=promised(tags.items()),
        tags=UNKNOWN if at(given, "tags") is UNKNOWN else frozenset(tags),
        ami=text(at(given, "ami_type")),
        kubernetes=text(at(given, "version"), ""),
        launch=with_disk(source, source.name, disk_size(given), ("disk_size",)),
        least=whole(at(scaling, "min_size")),
        most=whole(at(scaling, "max_size")),
    )


def _release(source: Source, given: Any) -> Release:
    """A chart, with values of texts and then of `set` blocks, as the provider merges them."""
    values: dict[str, Any] = {}
    paths: dict[tuple[str, ...], FieldPath] = {}
    seen = at(given, "values") is not UNKNOWN
    for index, each in enumerate(items(at(given, "values"))):
        texts = read_texts(each, "") if isinstance(each, str) else None
        if each is UNKNOWN or (texts is not None and _is_partly_seen(texts, each)):
            seen = False
        elif texts and texts.documents and isinstance(texts.documents[0].value, dict):
            given_values = texts.documents[0].value
            values = merge_values(values, given_values, keep_null=True)
            paths |= {path: ("values", index, *path) for path in _places(given_values)}
    for name in ("set", "set_list", "set_sensitive"):
        blocks = at(given, name)
        seen = seen and blocks is not UNKNOWN
        for index, block in enumerate(items(blocks)):
            key, value = at(block, "name"), at(block, "value")
            if not isinstance(key, str):
                continue
            written = f"{key}={text(value)}"
            for setting in settings(written, strings=at(block, "type") == "string"):
                put(values, setting.path, UNKNOWN if value is UNKNOWN else setting.value)
                steps = tuple(str(step) for step in setting.path)
                for length, _ in enumerate(steps, 1):
                    paths[steps[:length]] = (name, index, "name")
    chart = text(at(given, "chart"))
    if _REPACKED in str(at(given, "repository")):
        seen = False  # its values are those of whoever packed it
    return Release(
        source=source,
        name=text(at(given, "name")),
        chart="" if chart is UNKNOWN or _is_own(str(chart)) else chart_name(str(chart)),
        version=text(version_of(chart, at(given, "version") or last_of([at(given, "repository")]))),
        namespace=text(at(given, "namespace"), "default"),
        values=values if seen else UNKNOWN,
        paths=paths,
    )


def _is_partly_seen(texts: Texts, given: str) -> bool:
    """Whether something in a text of values hides what it says, such as what is filled in."""
    return bool(texts.problems) or (not texts.documents and "${" in given)


_REPACKED: Final = "marketplace"
"""Of addresses of charts that the owner of a cloud packs anew, with values that others lack."""


def _is_own(chart: str) -> bool:
    """Whether a chart is a folder of the repository, which may have any name and any values."""
    return chart.startswith((".", "/", "~")) and not chart.endswith((".tgz", ".tar.gz"))


def _places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, inner in mapping(value).items():
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _by_hand(source: Source, given: Any) -> Iterator[NodeSet]:
    if at(given, "kind") not in {None, "Node"}:
        return
    yield NodeSet(
        source=source,
        name=text(at(given, "metadata", 0, "name")),
        provisioner="byHand",
        labels=labels(at(given, "labels")),
        taints=taints(at(given, "taint")),
    )
