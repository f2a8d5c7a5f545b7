"""What Cluster Autoscaler goes by: priorities of pods and of node groups.

Sources, November 2026: `extractTaintsFromAsg` of cloudprovider/aws/aws_manager.go in
kubernetes/autoscaler, which passes over a tag of a taint without an effect;
`--expendable-pods-priority-cutoff` of the FAQ there, which is -10; expander/priority/readme.md,
which matches names of Auto Scaling groups: eksctl's begin with
`eksctl-CLUSTER-nodegroup-NAME`, those of EKS with `eks-NAME`. The ConfigMap is read in the
namespace that `--namespace` says: by default kube-system, and by the chart that of the release,
where `expanderPriorities` become the ConfigMap (charts/cluster-autoscaler/templates there).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.autoscaler_tags import TAINT_TAGS
from eks_gpushare.documents.go_yaml import first_document
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Pointer, Release, Workload
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.charts import CLUSTER_AUTOSCALER
from eks_gpushare.manifests.document import certain_namespace, value_of
from eks_gpushare.manifests.readers.values import walk
from eks_gpushare.manifests.rules.two_numbers import NOT_FOR_AUTOSCALER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe

_CUTOFF: Final = -10
_FLAG: Final = ("extraArgs", "expendable-pods-priority-cutoff")
_EFFECT: Final = re.compile(r":(?:NoSchedule|NoExecute|PreferNoSchedule)|[${<]")
_PRIORITIES: Final = "cluster-autoscaler-priority-expander"
_EXPANDER: Final = "expander"
_NAMESPACE: Final = "namespace"
_BY_DEFAULT: Final = "kube-system"
_OPTION: Final = re.compile(rf"(?<!\S)--?({_EXPANDER}|{_NAMESPACE})[=\s]+(\S+)")


@edge(NOT_FOR_AUTOSCALER)
def expendable(inventory: Inventory) -> Iterator[Judgement]:
    """Deployments with GPUs whose class is below the cutoff, such as those of warm room."""
    for cluster in inventory.clusters():
        releases = [e for e in inventory.of(Release, cluster) if e.chart == CLUSTER_AUTOSCALER]
        if len(releases) != 1 or any(n.provisioner == "karpenter" for n in _sets(inventory)):
            continue
        given = at(releases[0].values, *_FLAG)
        cutoff = _CUTOFF if given is None else _whole(given)
        if cutoff is None:
            continue
        classes = {
            each.name: at(each.spec, "value")
            for each in inventory.of(Pointer, cluster)
            if each.kind == "PriorityClass"
        }
        for workload, _ in gpu_workloads(inventory, cluster):
            name = at(workload.spec, "priorityClassName")
            value = classes.get(name) if isinstance(name, str) else None
            below = isinstance(value, int) and value < cutoff
            if workload.kind == "Deployment" and below:
                yield Problem(
                    NOT_FOR_AUTOSCALER,
                    workload.source,
                    (*workload.spec_path, "priorityClassName"),
                    f"{at_start(workload.source.name)} has the class {name} with the priority "
                    f"{value}, and Cluster Autoscaler adds no node for pods below {cutoff}.",
                    f"Let the value of {name} be {cutoff} or more.",
                )


@edge(NOT_FOR_AUTOSCALER)
def taints(inventory: Inventory) -> Iterator[Judgement]:
    """Tags of a group that tell of a taint, which it may have or not."""
    for nodes in inventory.of(NodeSet):
        for path, inner in walk(at(value_of(nodes), *nodes.source.path)):
            for key, value in pairs(inner):
                told = str(text(value))
                if key.startswith(TAINT_TAGS) and value is not UNKNOWN and not _EFFECT.search(told):
                    yield Problem(
                        NOT_FOR_AUTOSCALER,
                        nodes.source,
                        (*path, key),
                        f"The tag {key} of {nodes.source.name} is {told}. Cluster Autoscaler takes "
                        "VALUE:EFFECT alone, and knows of no such taint before a node is there.",
                        f"Write {TAINT_TAGS}KEY: VALUE:NoSchedule, as the nodes have it.",
                    )


def _sets(inventory: Inventory) -> list[NodeSet]:
    return list(inventory.of(NodeSet))


def _whole(given: Any) -> int | None:
    shown = str(text(given))
    return int(shown) if re.fullmatch(r"-?[0-9]+", shown) else None


@edge(NOT_FOR_AUTOSCALER)
def expander(inventory: Inventory) -> Iterator[Judgement]:
    """Patterns that are instance types, or name none of the groups of the one cluster of eksctl."""
    for config_map in inventory.of(ConfigMap):
        written = None if config_map.data is UNKNOWN else config_map.data.get("priorities")
        if config_map.name != _PRIORITIES or not isinstance(written, str) or "{{" in written:
            continue
        groups = _groups(inventory, config_map.cluster)
        if not groups or is_guide(config_map.source.file):
            continue
        for priority, patterns in _listed(written):
            for pattern in patterns:
                if isinstance(pattern, str) and not _matches(pattern, groups):
                    yield Problem(
                        NOT_FOR_AUTOSCALER,
                        config_map.source,
                        ("data", "priorities"),
                        f"The pattern {pattern} of the priority {priority} is in the name of no "
                        f"node group that is here, such as {groups[0]}.",
                        "Write a pattern of the groups' names, such as .*NAME.*.",
                    )


def _groups(inventory: Inventory, cluster: str) -> list[str]:
    """Names of Auto Scaling groups as far as they are known; none where there may be others."""
    found = []
    for nodes in inventory.of(NodeSet, cluster):
        value = value_of(nodes)
        above = at(value, "metadata", "name")
        if at(value, "kind") != "ClusterConfig" or has_unknown([above, nodes.name]):
            return []
        found.append(f"eksctl-{above}-nodegroup-{nodes.name}-NodeGroup")
        found.append(f"eks-{nodes.name}-")
    return found


def _listed(written: str) -> Iterator[tuple[str, list[Any]]]:
    try:
        value = first_document(written)
    except ValueError:
        return
    for key, patterns in pairs(value):
        yield key, items(patterns)


def _matches(pattern: str, groups: list[str]) -> bool:
    try:
        return any(re.search(pattern, group) for group in groups)
    except re.error:
        return True


# --- where they are read -------------------------------------------------------------------------


@edge(NOT_FOR_AUTOSCALER)
def unread(inventory: Inventory) -> Iterator[Judgement]:
    """Priorities that are in another namespace than the one in which an autoscaler reads them."""
    for cluster in inventory.clusters():
        maps = [
            each
            for each in inventory.of(ConfigMap, cluster)
            if each.name == _PRIORITIES and not is_guide(each.source.file)
        ]
        readers = list(_readers(inventory, cluster)) if maps else []
        written, read = [certain_namespace(each) for each in maps], [space for _, space in readers]
        if not readers or UNKNOWN in (*written, *read) or not set(written).isdisjoint(read):
            continue
        reader, space = readers[0]
        yield Problem(
            NOT_FOR_AUTOSCALER,
            maps[0].source,
            ("metadata", "namespace"),
            f"{at_start(maps[0].source.name)} is in the namespace {written[0]}, and "
            f"{reader.source.name} looks for it in {space}: its priorities are not read.",
            f"Put it into the namespace {space}.",
        )


def _readers(inventory: Inventory, cluster: str) -> Iterator[tuple[Item, Maybe[str]]]:
    """Each autoscaler that goes by priorities of others, with the namespace that it reads."""
    for release in inventory.of(Release, cluster):
        values = release.values
        given = {key: at(values, "extraArgs", key) for key in (_EXPANDER, _NAMESPACE)}
        of_aws = at(values, "cloudProvider") in (None, "", "aws")
        own = at(values, "expanderPriorities")
        if release.chart == CLUSTER_AUTOSCALER and of_aws and not own:
            yield from _reader(release, given, release.namespace)
    for workload in inventory.of(Workload, cluster):
        for _, container in containers(workload.spec):
            words = [*items(at(container, "command")), *items(at(container, "args"))]
            line = "\n".join(str(text(word)) for word in words)
            if CLUSTER_AUTOSCALER in f"{at(container, 'image')}\n{line}":
                said = {_EXPANDER: UNKNOWN} if has_unknown(words) else dict(_OPTION.findall(line))
                yield from _reader(workload, said, _BY_DEFAULT)


def _reader(
    item: Item, given: Mapping[str, Any], space: Maybe[str]
) -> Iterator[tuple[Item, Maybe[str]]]:
    """One that is told to go by priorities; in no known namespace where that is not known."""
    expanders, named = given.get(_EXPANDER), given.get(_NAMESPACE)
    if has_unknown([expanders, named]):
        yield item, UNKNOWN
    elif "priority" in str(expanders).split(","):
        yield item, text(named) or space
