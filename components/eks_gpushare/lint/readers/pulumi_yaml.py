"""Programs of Pulumi in YAML: node groups, charts and objects.

https://www.pulumi.com/docs/iac/languages-sdks/yaml/yaml-language-reference/; a resource's words are
those of its provider's schema. November 2026.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.items import CLUSTER_VERSION, NodeSet, Pointer
from eks_gpushare.inventory.node_agent import agents
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.lint.launch_templates import OF_OTHERS, LaunchTemplate, with_template
from eks_gpushare.lint.readers.cloudformation import (
    node_group,
    node_group_rules,
    template_of,
)
from eks_gpushare.lint.readers.installed import installed
from eks_gpushare.manifests.charts import documents_at
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.kustomize_namespaces import NOT_NAMESPACED
from eks_gpushare.manifests.plain import labels, mapping, taints, text, whole
from eks_gpushare.manifests.readers.user_data import judge_user_data
from eks_gpushare.manifests.retired import retired
from eks_gpushare.manifests.rules.nodes import owned_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.document import Document

_TYPE: Final = re.compile(
    r"(?P<package>[a-z][a-z0-9-]*):(?:(?P<module>[A-Za-z0-9./-]+):)?(?P<kind>[A-Z][A-Za-z0-9]*)"
)
_NODE_GROUPS: Final = ("aws:eks:NodeGroup", "eks:ManagedNodeGroup")
_CLUSTERS: Final = ("aws:eks:Cluster", "eks:Cluster")
_OWN_NODES: Final = ("eks:NodeGroup", "eks:NodeGroupV2")
_TEMPLATE: Final = "aws:ec2:LaunchTemplate"
_ADDON: Final = "aws:eks:Addon"
_RELEASE: Final = re.compile(r"kubernetes:helm\.sh/v[0-9]+:(?:Release|Chart)")
_MANIFESTS: Final = re.compile(r"kubernetes:yaml(?:/v2)?:Config(?:File|Group)")
_VERSION: Final = re.compile(r"/v[0-9]+(?:(?:alpha|beta)[0-9]+)?$")
_REFERENCE: Final = re.compile(
    r"""\$\{([A-Za-z_][A-Za-z0-9_-]*)((?:\.[A-Za-z0-9_-]+|\[[0-9]+\]|\["[^"\]]+"\])*)\}"""
)
_STEP: Final = re.compile(r"""\.([A-Za-z0-9_-]+)|\[([0-9]+)\]|\["([^"\]]+)"\]""")
_DEEPEST: Final = 5
_KEEPING: Final = ("fn::secret", "fn::tobase64")
"""Functions whose result says what their argument does."""


def spelled(word: str) -> str:
    """A word of CloudFormation as Pulumi's provider of AWS has it."""
    return {"NodegroupName": "nodeGroupName", "LaunchTemplateName": "name"}.get(
        word, word[:1].lower() + word[1:]
    )


def type_of(resource: Any) -> str:
    """The type of a resource without the file that it is in: `aws:eks:NodeGroup`; or empty."""
    found = _TYPE.fullmatch(str(at(resource, "type")))
    if found is None:
        return ""
    module, kind = found["module"] or "", found["kind"]
    bare, _, file = module.rpartition("/")
    if file == kind[:1].lower() + kind[1:]:
        module = bare
    parts = (found["package"], "" if module == "index" else module, kind)
    return ":".join(part for part in parts if part)


def is_program(value: Any) -> bool:
    """Whether a document has resources of Pulumi."""
    return at(value, "apiVersion") is None and any(
        type_of(resource) for _, place in _resources(value) for _, resource in pairs(place)
    )


def _resources(value: Any) -> Iterator[tuple[FieldPath, Any]]:
    """Those of the program, and of each component that it defines."""
    yield ("resources",), at(value, "resources")
    for name, component in pairs(at(value, "components")):
        yield ("components", name, "resources"), at(component, "resources")


def manifests_named(value: Any) -> Iterator[str]:
    """Files of manifests that a program applies, as it names them, patterns among them."""
    for kind, given in _typed(value):
        if _MANIFESTS.fullmatch(kind):
            named = [at(given, "file"), at(given, "files"), *items(at(given, "files"))]
            yield from (one for one in named if isinstance(one, str) and "://" not in one)


def releases_named(value: Any) -> Iterator[tuple[Any, tuple[str, ...], bool]]:
    """Its releases of charts with values of files, these, and whether they are all of such."""
    for kind, given in _typed(value):
        listed = items(at(given, "valueYamlFiles")) if _RELEASE.fullmatch(kind) else []
        named = [at(each, "fn::fileAsset") or at(each, "Fn::FileAsset") for each in listed]
        files = tuple(one for one in named if isinstance(one, str) and "://" not in one)
        if files:
            yield given, files, len(files) == len(listed)


def _typed(value: Any) -> Iterator[tuple[str, Any]]:
    for _, place in _resources(value):
        for _, resource in pairs(place):
            yield type_of(resource), at(resource, "properties")


class PulumiYamlReader:
    """Reads what a program makes; what only a deployment tells is not known."""

    name = "Pulumi program"

    def matches(self, document: Document) -> bool:
        """Whether it has resources of Pulumi."""
        return is_program(document.value)

    def read(self, document: Document) -> Read:
        """Its node groups, charts and objects, and what is wrong with them."""
        found: list[Item] = []
        judgements: list[Judgement] = []
        inner: list[Document] = []
        for above, _ in _resources(document.value):
            read = _Program(document, above).read()
            found += read.items
            judgements += read.judgements
            inner += read.inner
        return Read(found, judgements, inner)


class _Resource(NamedTuple):
    """A resource of a program or of a component."""

    name: str
    type: str
    place: FieldPath
    """Of its properties."""
    given: Any
    """Its properties, with what a reference stands for where that is written in the program."""


class _Program:
    """The resources of a program, or of a component.

    Args:
        document: The whole.
        above: Where the resources stand.
    """

    def __init__(self, document: Document, above: FieldPath) -> None:
        self._document = document
        self._above = above
        self._resources = [
            _Resource(name, type_of(resource), place, self._known(place))
            for name, resource in pairs(at(document.value, *above))
            for place in [(*above, name, "properties")]
        ]
        self._templates = {
            each.name: template_of(self._source(each), each.given, spelled)
            for each in self._resources
            if each.type == _TEMPLATE
        }

    def read(self) -> Read:
        """Its node groups, charts and objects, and what is wrong with them."""
        found: list[Item] = []
        judgements: list[Judgement] = []
        inner: list[Document] = []
        of_cluster = [each for each in self._resources if each.type.startswith("kubernetes:")]
        providers = {self._provider(each) for each in of_cluster} - {""}
        for each in self._resources:
            source = self._source(each)
            if each.type == _TEMPLATE:
                place, data = (*each.place, "userData"), self._templates[each.name].user_data
                judgements += judge_user_data(self._document, place, data)
            elif each.type in _NODE_GROUPS:
                template = self._used(each)
                nodes = _managed(source, each, template)
                found.append(nodes)
                judgements += retired(nodes, ("instanceTypes",))
                judgements += owned_labels(source, nodes.labels, ("labels",), nodes.instance_types)
                judgements += node_group_rules(nodes, each.given, template, spelled)
            elif each.type in _CLUSTERS:
                version = text(at(each.given, "version"), "")
                found.append(Pointer(source=source, kind=CLUSTER_VERSION, name=version))
            elif each.type in _OWN_NODES:
                found.append(_self_managed(source, each))
            elif each.type == _ADDON:
                told = (at(each.given, key) for key in ("addonName", "configurationValues"))
                found += agents(source, *told)
        for each in of_cluster:
            document = self._document
            if len(providers) > 1:  # what goes to one cluster is judged apart from the others'
                document = replace(document, alone=f"{document.file}:{self._provider(each)}")
            if _RELEASE.fullmatch(each.type):
                read = self._release(each, document)
                found, inner = [*found, *read.items], [*inner, *read.inner]
            else:
                inner += self._objects(each, document)
        return Read(found, judgements, inner)

    def _source(self, each: _Resource) -> Source:
        kind = each.type.rpartition(":")[2]
        return Source(f"the {kind} {each.name}", self._document, each.place)

    def _known(self, path: FieldPath, depth: int = 0) -> Any:
        """What stands at a path, functions and references followed that the program decides."""
        value = at(self._document.value, *path)
        if isinstance(value, list):
            return [self._known((*path, index), depth) for index, _ in enumerate(value)]
        if isinstance(value, dict):
            function = next((key for key in value if str(key).lower().startswith("fn::")), None)
            if function is not None:
                inner = str(function).lower() in _KEEPING
                return self._known((*path, function), depth) if inner else UNKNOWN
            return type(value)({key: self._known((*path, key), depth) for key in value})
        meant = self._reference(path) if value is UNKNOWN and depth < _DEEPEST else None
        return value if meant is None else self._known(meant, depth + 1)

    def _reference(self, path: FieldPath) -> FieldPath | None:
        """Where that is written which a reference at a path stands for."""
        named = _REFERENCE.fullmatch((self._document.raw(path) or "").strip())
        if named is None:
            return None
        steps = _steps(named[2])
        of_resource = (*self._above, named[1], "properties", *steps)
        places = [
            (*self._above[:-1], "variables", named[1], *steps),
            *([of_resource] if steps else []),
        ]
        return next((each for each in places if at(self._document.value, *each) is not None), None)

    def _provider(self, each: _Resource) -> str:
        """The provider that a resource of Kubernetes has; empty where it is not told."""
        return self._document.raw((*each.place[:-1], "options", "provider")) or ""

    def _space(self, each: _Resource) -> Maybe[str]:
        """The namespace of what names none."""
        named = _REFERENCE.fullmatch(self._provider(each).strip())
        provider = next((one for one in self._resources if named and one.name == named[1]), None)
        if provider is None:
            return UNKNOWN if self._provider(each) else "default"
        return text(at(provider.given, "namespace")) or "default"

    def _used(self, group: _Resource) -> LaunchTemplate | None:
        """The launch template that a group names; None where it names none."""
        if at(group.given, "launchTemplate") is None:
            return None
        for key in ("id", "name"):
            raw = self._document.raw((*group.place, "launchTemplate", key))
            named = _REFERENCE.fullmatch((raw or "").strip())
            if named is not None and named[1] in self._templates:
                return self._templates[named[1]]
        return OF_OTHERS

    def _release(self, each: _Resource, document: Document) -> Read:
        """A chart that is installed, or rendered."""
        given = each.given
        own = UNKNOWN if each.type.endswith("Release") else each.name
        return installed(
            document,
            (*each.place, "values"),
            at(given, "chart"),
            at(given, "values"),
            name=at(given, "name") or own,
            namespace=text(at(given, "namespace")) or self._space(each),
            version=at(given, "version"),
            elsewhere=at(given, "valueYamlFiles") is not None,
        )

    def _objects(self, each: _Resource, document: Document) -> Iterator[Document]:
        """The objects that a resource makes."""
        _, _, rest = each.type.partition(":")
        module, _, kind = rest.rpartition(":")
        if kind == "ConfigGroup":
            for index, one in enumerate(items(at(each.given, "objs"))):
                yield document.inside((*each.place, "objs", index), one)
            texts = at(each.given, "yaml")
            places = [(*each.place, "yaml", index) for index, _ in enumerate(items(texts))]
            for place in places or [(*each.place, "yaml")]:
                if isinstance(text_ := at(self._document.value, *place), str):
                    yield from documents_at(document, place, text_)
        elif isinstance(each.given, dict) and not kind.endswith("Patch"):
            made = dict(each.given)
            if kind != "CustomResource":
                if not _VERSION.search(module):
                    return
                made |= {"apiVersion": module.removeprefix("core/"), "kind": kind}
            if made.get("kind") not in NOT_NAMESPACED:
                metadata = {"name": UNKNOWN, "namespace": self._space(each)}
                made["metadata"] = metadata | mapping(made.get("metadata"))
            yield replace(document.inside(each.place, made), editable=False)


def _steps(written: str) -> FieldPath:
    """A path of properties: `.metadata.name`, `.labels["a/b"]`, `.items[0]`."""
    return tuple(
        int(index) if index else name or quoted for name, index, quoted in _STEP.findall(written)
    )


def _managed(source: Source, each: _Resource, template: LaunchTemplate | None) -> NodeSet:
    """A managed node group, of AWS or of pulumi-eks, which has further ways to name an image."""
    nodes = node_group(source, each.name, each.given, spelled)
    if each.type.startswith("eks:") and not nodes.ami:
        nodes = replace(nodes, ami=UNKNOWN)
    return nodes if template is None else with_template(nodes, template)


def _self_managed(source: Source, each: _Resource) -> NodeSet:
    """A node group of pulumi-eks that is an Auto Scaling group of its own."""
    given = each.given
    named = at(given, "instanceType")
    listed = at(given, "taints")
    known = [{"key": key, **mapping(taint)} for key, taint in pairs(listed)]
    return NodeSet(
        source=source,
        name=each.name,
        provisioner="selfManaged",
        instance_types=(named,) if isinstance(named, str) else UNKNOWN,
        labels=labels(at(given, "labels")),
        taints=UNKNOWN if listed is UNKNOWN else taints(known),
        ami=UNKNOWN,
        user_data=UNKNOWN,
        launch=UNKNOWN,
        tags=UNKNOWN,
        least=whole(at(given, "minSize")),
        most=whole(at(given, "maxSize")),
    )
