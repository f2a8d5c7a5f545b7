"""Names of GPUs in pods, where no nodes are given that would tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import NodeSet, Release, Workload
from eks_gpushare.inventory.nodes import gpu_nodes
from eks_gpushare.inventory.plugin_configs import configs_of
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.shared_names import alone
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.gpu_names import (
    NO_SUCH_RESOURCE,
    OTHER_STRATEGY,
    RESOURCE_AS_LABEL,
    RESOURCE_NAMES,
    meant_resource,
)
from eks_gpushare.manifests.rules.karpenter_versions import never_existed
from eks_gpushare.sharing.labels import PRESENT_LABEL
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_WANTING: Final = ("In", "Exists", "Gt", "Lt")
_TERMS: Final = (
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)


@edge(NO_SUCH_RESOURCE)
def resources_have_known_names(inventory: Inventory) -> Iterator[Judgement]:
    """Such as are written nearly right: other plugins have names of their own."""
    for workload in inventory.of(Workload):
        for where, container in containers(workload.spec):
            for part in ("limits", "requests"):
                for name, _ in pairs(at(container, "resources", part)):
                    if (meant := meant_resource(name)) is not None:
                        path = (*workload.spec_path, *where, "resources", part, name)
                        yield _misnamed(workload, path, name, meant)


@edge(NO_SUCH_RESOURCE)
def names_go_with_the_configuration(inventory: Inventory) -> Iterator[Judgement]:
    """Of shares, where no nodes are declared and one configuration is for all there may be."""
    for cluster in inventory.clusters():
        found = alone(inventory, cluster)
        shared = found is not None and found.config.replicas.get(GPU, 1) > 1
        # Of one that is written out, labels of nodes may choose another configuration.
        if found is None or not (shared or found.daemon.chart):
            continue
        called = GPU + SHARED_SUFFIX if shared and found.config.renamed else GPU
        what = "shares" if shared else "whole GPUs"
        setting = "renameByDefault" if shared else "what the plugin shares"
        for workload, requests in gpu_workloads(inventory, cluster):
            for request in requests:
                if request.resource in (GPU, GPU + SHARED_SUFFIX) and request.resource != called:
                    yield Problem(
                        NO_SUCH_RESOURCE,
                        workload.source,
                        request.place,
                        f"{at_start(workload.source.name)} asks for {request.resource}, and "
                        f"{found.daemon.title} gives out {what} as {called}.",
                        f"Ask for {called}, or change {setting}.",
                    )


def _misnamed(workload: Workload, path: FieldPath, name: str, meant: str) -> Problem:
    message = f"{at_start(workload.source.name)} asks for {name}, which no device plugin gives out."
    edits = (Edit("rename", path, meant),)
    return Problem(NO_SUCH_RESOURCE, workload.source, path, message, f"Write {meant}.", edits=edits)


@edge(RESOURCE_AS_LABEL)
def resources_are_no_labels(inventory: Inventory) -> Iterator[Judgement]:
    """Unless somebody gives nodes such a label.

    Where nodes are given, pods that ask for GPUs are judged by what those have.
    """
    for cluster in inventory.clusters():
        nodes = [nodes for nodes in inventory.of(NodeSet, cluster) if not _never_made(nodes)]
        if any(node.labels is UNKNOWN for node in nodes):
            continue
        declared = any(node.provisioner != "byHand" for node in nodes)
        asking = gpu_workloads(inventory, cluster) if declared else ()
        judged = {id(workload.source) for workload, _ in asking}
        given = {key for node in nodes for key, _ in pairs(node.labels)}
        for workload in inventory.of(Workload, cluster):
            if id(workload.source) in judged:
                continue
            for path, key in _selected(workload.spec):
                if RESOURCE_NAMES.fullmatch(key) and key not in given:
                    # Owners of nodes do give them `nvidia.com/gpu`, in a workflow or by hand.
                    is_owners = not declared and (
                        key == GPU
                        or workload.kind == "DaemonSet"
                        or _is_tolerated(workload.spec, path, key)
                    )
                    yield Problem(
                        RESOURCE_AS_LABEL,
                        workload.source,
                        (*workload.spec_path, *path),
                        f"{at_start(workload.source.name)} wants nodes with the label {key}, which "
                        "is the name of a resource; no node has it as a label.",
                        f"Select by {PRESENT_LABEL}, or by a label of the node group.",
                        "info" if is_owners else None,
                    )


def _is_tolerated(spec: Any, path: FieldPath, key: str) -> bool:
    """Whether pods tolerate what they select, which owners of nodes give these as both."""
    wanted = text(at(spec, *path)) if path[0] == "nodeSelector" else None
    return any(
        at(toleration, "key") == key and wanted and text(at(toleration, "value")) == wanted
        for toleration in items(at(spec, "tolerations"))
    )


def _never_made(nodes: NodeSet) -> bool:
    """Whether it is of a kind that no version of Karpenter had, so that nothing makes its nodes."""
    value = getattr(nodes.source.document, "value", None)
    return isinstance(value, dict) and never_existed(value)


def _selected(spec: Any) -> Iterator[tuple[FieldPath, str]]:
    for key, _ in pairs(at(spec, "nodeSelector")):
        yield ("nodeSelector", key), key
    for number, term in enumerate(items(at(spec, *_TERMS))):
        for index, expression in enumerate(items(at(term, "matchExpressions"))):
            key = text(at(expression, "key"))
            if key is not UNKNOWN and at(expression, "operator") in _WANTING:
                yield (*_TERMS, number, "matchExpressions", index, "key"), key


@edge(OTHER_STRATEGY)
def names_go_with_the_strategy(inventory: Inventory) -> Iterator[Judgement]:
    """Of charts without configurations, which would have strategies of their own for nodes."""
    for cluster in inventory.clusters():
        if any(node.nodes.provisioner != "byHand" for node in gpu_nodes(inventory, cluster)):
            continue
        releases = [
            daemon.item for daemon in daemons(inventory, cluster) if daemon.role == "plugin"
        ]
        strategies = [_strategy(inventory, release) for release in releases]
        if len(strategies) != 1 or strategies[0] not in ("single", "none"):
            continue
        for workload, requests in gpu_workloads(inventory, cluster):
            for request in requests:
                if request.resource.startswith(MIG_PREFIX):
                    called = (
                        f"whose MIG devices are called {GPU}"
                        if strategies[0] == "single"
                        else "which makes no MIG devices known"
                    )
                    yield Problem(
                        OTHER_STRATEGY,
                        workload.source,
                        request.place,
                        f"{at_start(workload.source.name)} asks for {request.resource}, and "
                        f"{releases[0].source.name} has the MIG strategy {strategies[0]}, "
                        f"{called}.",
                        f"Set the strategy to mixed, or ask for {GPU}.",
                    )
                    break


def _strategy(inventory: Inventory, item: Release | Workload) -> Any:
    """The MIG strategy of a chart's plugin; None where nodes may have others."""
    configs = configs_of(inventory, item) if isinstance(item, Release) else None
    if configs is None or configs.is_there or not isinstance(item, Release):
        return None
    operator = chart_of(item.chart) == OPERATOR_CHART
    given = at(item.values, *(("mig", "strategy") if operator else ("migStrategy",)))
    return given or ("single" if operator else "none")
