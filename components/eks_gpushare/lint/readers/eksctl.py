"""eksctl's ClusterConfig."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.bottlerocket import bottlerocket_document
from eks_gpushare.inventory.items import (
    FARGATE,
    NodeLaunch,
    NodeSet,
    NodeTaint,
    NodeVolume,
    Pointer,
)
from eks_gpushare.inventory.launches import gib, switched
from eks_gpushare.inventory.node_agent import agents
from eks_gpushare.inventory.scaling_groups import promised
from eks_gpushare.inventory.source import UNKNOWN, Source, Unknown
from eks_gpushare.inventory.values import at, has_unknown
from eks_gpushare.lint import pod_identities
from eks_gpushare.lint.role_trusts import of_eksctl
from eks_gpushare.manifests.charts import release
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.plain import items, labels, mapping, taints, text, whole
from eks_gpushare.manifests.readers.user_data import judge_user_data
from eks_gpushare.manifests.retired import retired
from eks_gpushare.manifests.rules.bottlerocket import bottlerocket_rules
from eks_gpushare.manifests.rules.eksctl import (
    DEFAULT_FAMILY,
    MANAGED,
    SELF_MANAGED,
    cluster_config,
)
from eks_gpushare.manifests.rules.nodes import owned_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item, Release
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.document import Document


class EksctlReader:
    """Reads a ClusterConfig."""

    name = "eksctl ClusterConfig"

    def matches(self, document: Document) -> bool:
        """Whether it is one, of any version."""
        value = document.value
        version = at(value, "apiVersion")
        is_one = at(value, "kind") in ("ClusterConfig", None, UNKNOWN)
        return is_one and isinstance(version, str) and version.startswith("eksctl.io/")

    def read(self, document: Document) -> Read:
        """Its node groups, and what is wrong in it."""
        value = document.value
        name = text(at(value, "metadata", "name"))
        called = f" {name}" if name and name is not UNKNOWN else ""
        whole_file = Source(f"the ClusterConfig{called}", document)
        judgements: list[Judgement] = [*cluster_config(value, whole_file)]
        nodes = [*_groups(document)]
        for group in nodes:
            judgements += retired(group, _place_of_types(group))
            judgements += owned_labels(
                group.source, group.labels, ("labels",), group.instance_types
            )
            judgements += _of_boot(document, group.source.path)
        found: list[Item] = [*nodes, *_agents(document), *_profiles(document)]
        found += [*of_eksctl(document), *pod_identities.of_eksctl(document)]
        if (version := at(value, "karpenter", "version")) is not None:
            given = {"name": "karpenter", "namespace": "karpenter", "version": version}
            found.append(release(document, "karpenter", UNKNOWN, path=("karpenter",), **given))
        return Read(found, judgements)


def _of_boot(document: Document, place: FieldPath) -> Iterator[Judgement]:
    """What is wrong in what a node group's nodes are told at boot."""
    group = at(document.value, *place)
    command = at(group, "overrideBootstrapCommand")
    yield from judge_user_data(document, (*place, "overrideBootstrapCommand"), command)
    settings = at(group, "bottlerocket", "settings")
    if isinstance(settings, dict):
        source = Source("the settings of Bottlerocket", document, (*place, "bottlerocket"))
        yield from bottlerocket_rules({"settings": settings}, source)
        path = ("settings", "kubernetes", "node-labels")
        yield from owned_labels(source, at({"settings": settings}, *path), path)


def _profiles(document: Document) -> Iterator[Pointer]:
    for index, profile in enumerate(items(at(document.value, "fargateProfiles"))):
        name = text(at(profile, "name"))
        called = "" if name is UNKNOWN else f" {name}"
        source = Source(f"the Fargate profile{called}", document, ("fargateProfiles", index))
        spec = {"selectors": at(profile, "selectors")}
        yield Pointer(source=source, kind=FARGATE, name=name, namespace="", spec=spec)


def _agents(document: Document) -> Iterator[Release]:
    for index, addon in enumerate(items(at(document.value, "addons"))):
        name, told = at(addon, "name"), at(addon, "configurationValues")
        yield from agents(Source(f"the add-on {name}", document, ("addons", index)), name, told)


def _groups(document: Document) -> Iterator[NodeSet]:
    for kind in (MANAGED, SELF_MANAGED):
        if at(document.value, kind) is UNKNOWN:
            source = Source("node groups that are not known", document, (kind,))
            yield NodeSet(
                source=source,
                name=UNKNOWN,
                provisioner="managed" if kind == MANAGED else "selfManaged",
                instance_types=UNKNOWN,
                labels=UNKNOWN,
                taints=UNKNOWN,
                ami=UNKNOWN,
            )
        for index, group in enumerate(items(at(document.value, kind))):
            if isinstance(group, dict):
                yield _nodes(document, kind, index, group)


def _nodes(document: Document, kind: str, index: int, group: dict[str, Any]) -> NodeSet:
    name = text(at(group, "name"))
    called = "" if name is UNKNOWN else f" {name}"
    wanted = whole(at(group, "desiredCapacity"))
    least, most = whole(at(group, "minSize")), whole(at(group, "maxSize"))
    tags = mapping(at(group, "tags"))
    return NodeSet(
        source=Source(f"the node group{called}", document, (kind, index)),
        name=name,
        provisioner="managed" if kind == MANAGED else "selfManaged",
        instance_types=_types(group),
        labels=labels(at(group, "labels")),
        taints=_taints(at(group, "taints")),
        promised=promised(tags.items()),
        tags=UNKNOWN if at(group, "tags") is UNKNOWN else frozenset(tags),
        kubernetes=text(at(document.value, "metadata", "version"), ""),
        ami=text(at(group, "ami")) or text(at(group, "amiFamily")) or DEFAULT_FAMILY,
        user_data=_user_data(group),
        launch=_launch(Source(f"the node group{called}", document, (kind, index)), name, group),
        bought_as=("spot",) if at(group, "spot") is True else ("onDemand",),
        least=least if least is not None else wanted,
        most=most if most is not None else wanted,
    )


def _launch(source: Source, name: Maybe[str], group: dict[str, Any]) -> NodeLaunch:
    """What a node group says itself: what it leaves out, eksctl and its version decide."""
    older, size = switched(at(group, "disableIMDSv1")), at(group, "volumeSize")
    volume = NodeVolume(
        text(at(group, "volumeName")), switched(at(group, "volumeEncrypted")), gib(size)
    )
    return NodeLaunch(
        source=source,
        name=name,
        tokens=UNKNOWN if older is UNKNOWN else "optional" if older is False else "",
        volumes=(volume,),
    )


def _types(group: dict[str, Any]) -> Maybe[tuple[str, ...]]:
    listed = at(group, "instanceTypes")
    if listed is None:
        listed = at(group, "instancesDistribution", "instanceTypes")
    if listed is None:
        one = at(group, "instanceType")
        listed = [] if one in (None, "mixed") else [one]
    if listed is UNKNOWN or UNKNOWN in items(listed):
        return Unknown.UNKNOWN
    if not listed and at(group, "instanceSelector") is not None:
        return Unknown.UNKNOWN
    return tuple(str(text(item)) for item in items(listed))


def _taints(given: Any) -> Maybe[tuple[NodeTaint, ...]]:
    if not isinstance(given, dict):
        return taints(given)
    found = []
    for key, short in given.items():
        if short is UNKNOWN:
            return Unknown.UNKNOWN
        value, _, effect = str(short).rpartition(":")
        found.append(NodeTaint(key, value, effect))
    return tuple(found)


def _user_data(group: dict[str, Any]) -> Maybe[str]:
    settings = at(group, "bottlerocket", "settings")
    if isinstance(settings, dict) and settings:
        return _as_text(settings)
    whole_command = at(group, "overrideBootstrapCommand")
    before = at(group, "preBootstrapCommands")
    parts = [*items(before), *([] if whole_command is None else [whole_command])]
    if UNKNOWN in (whole_command, before) or UNKNOWN in parts:
        return Unknown.UNKNOWN
    return "\n".join(str(text(part)) for part in parts)


def _as_text(settings: dict[str, Any]) -> Maybe[str]:
    """Settings as eksctl writes them into user data."""
    if has_unknown(settings):
        return Unknown.UNKNOWN
    try:
        return bottlerocket_document({}, settings)
    except (TypeError, ValueError):  # null, which TOML has not
        return Unknown.UNKNOWN


def _place_of_types(nodes: NodeSet) -> tuple[str, ...]:
    given = at(nodes.source.document.value, *nodes.source.path)
    return ("instanceTypes",) if at(given, "instanceTypes") is not None else ("instanceType",)
