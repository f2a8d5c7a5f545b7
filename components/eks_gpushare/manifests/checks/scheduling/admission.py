"""What refuses or holds pods with GPUs: runtime classes, Pod Security, selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import (
    CHART_DAEMONSETS,
    EXPORTER_CHART,
    OPERATOR_CHART,
    PLUGIN_CHART,
    chart_of,
)
from eks_gpushare.catalog.chart_releases import is_before
from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.daemons import daemons, role_of
from eks_gpushare.inventory.items import (
    PART_OF_POD,
    Namespace,
    NodeSet,
    Pointer,
    Release,
    Workload,
)
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.nodes import CATALOG, NodeKind
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.plugin_configs import plugin_settings
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.scheduling import landing
from eks_gpushare.inventory.shared_names import alone
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.admission import (
    FAILS_ELSEWHERE,
    NO_CLASS,
    REFUSED,
    SAME_PODS,
    SHARED_PRODUCT,
)
from eks_gpushare.sharing.labels import PRODUCT_LABEL
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.shared_names import Sharing

_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_STRICT: Final = ("baseline", "restricted")
_HOST: Final = ("hostNetwork", "hostPID", "hostIPC")
SHARED: Final = "-SHARED"
_CPU_CATEGORIES: Final = frozenset("cmrtaiz")
_CATEGORY: Final = "karpenter.k8s.aws/instance-category"
_OFF: Final = ("false", "0", "f")
_OWN_CLASS: Final = (PLUGIN_CHART, EXPORTER_CHART)
_KAI: Final = "kai-scheduler"
_KAI_SINCE: Final = "0.10.0"
_KAIS: Final = "nvidia"


@edge(NO_CLASS)
def runtime_classes(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods on EKS nodes that are declared here, with a device plugin that makes no class."""
    for cluster in inventory.clusters():
        releases = inventory.of(Release, cluster)
        on_eks = any(each.provisioner != "byHand" for each in inventory.of(NodeSet, cluster))
        plugins = [each for each in daemons(inventory, cluster) if each.role == "plugin"]
        if not on_eks or not plugins or any(chart_of(e.chart) == OPERATOR_CHART for e in releases):
            continue
        made = [each.name for each in inventory.of(Pointer, cluster) if each.kind == "RuntimeClass"]
        for release in releases if UNKNOWN not in made else ():
            yield from _given_by_kai(release, made, plugins[0])
            yield from _of_its_own(release, made)
        for workload, _ in gpu_workloads(inventory, cluster):
            name = at(workload.spec, "runtimeClassName")
            if isinstance(name, str) and name and name not in made and UNKNOWN not in made:
                place = (*workload.spec_path, "runtimeClassName")
                yield Problem(
                    NO_CLASS,
                    workload.source,
                    place,
                    f"{at_start(workload.source.name)} names the runtime class {name}, which "
                    f"{plugins[0].source.name} does not make.",
                    "Remove it: EKS's NVIDIA images run every container by NVIDIA's runtime.",
                )


def _of_its_own(release: Release, made: Sequence[Any]) -> Iterator[Problem]:
    """The class that the pods of a chart of NVIDIA have, by `runtimeClassName` of its values.

    Source: templates/daemonset-device-plugin.yml of k8s-device-plugin 0.17.0, and
    templates/daemonset.yaml of dcgm-exporter 4.0.4.
    """
    name = at(release.values, "runtimeClassName") if chart_of(release.chart) in _OWN_CLASS else None
    if isinstance(name, str) and name and name not in made:
        yield Problem(
            NO_CLASS,
            release.source,
            value_place(release, ("runtimeClassName",)),
            f"{at_start(release.source.name)} gives its pods the runtime class {name}, which no "
            "chart and no object here makes: they are refused.",
            "Remove it: EKS's NVIDIA images run every container by NVIDIA's runtime.",
        )


def _given_by_kai(release: Release, made: Sequence[Any], plugin: Daemon) -> Iterator[Problem]:
    """The class that KAI gives all pods with GPUs.

    Source: CHANGELOG.md of NVIDIA/KAI-Scheduler at v0.10.0, pull request 602.
    """
    path = ("admission", "gpuPodRuntimeClassName")
    name = at(release.values, *path)
    name = _KAIS if name is None else name
    old = not release.version or is_before(str(release.version).removeprefix("v"), _KAI_SINCE)
    is_kai = release.chart == _KAI and release.values is not UNKNOWN and not old
    if is_kai and isinstance(name, str) and name and name not in made:
        yield Problem(
            NO_CLASS,
            release.source,
            value_place(release, path),
            f"{at_start(release.source.name)} gives pods with GPUs the runtime class {name}, which "
            f"{plugin.source.name} does not make: they are refused.",
            'Make a RuntimeClass of that name with the handler nvidia, or set it to "".',
            "warning",
        )


@edge(REFUSED)
def pod_security(inventory: Inventory) -> Iterator[Judgement]:
    """Namespaces that enforce a level, and what is for them."""
    for cluster in inventory.clusters():
        for space in inventory.of(Namespace, cluster):
            level = at(space.labels, _ENFORCE)
            if level not in _STRICT or space.name in (UNKNOWN, ""):
                continue
            place = ("metadata", "labels", _ENFORCE)
            for what in _needing(inventory, cluster, str(space.name)):
                yield Problem(
                    REFUSED,
                    space.source,
                    place,
                    f"{at_start(space.source.name)} enforces {level}, and {what}.",
                    f"Write {_ENFORCE}: privileged, or put it into another namespace.",
                )
                break


def _needing(inventory: Inventory, cluster: str, space: str) -> Iterator[str]:
    """What of a namespace has pods that are not admitted, and why."""
    for release in inventory.of(Release, cluster):
        if release.namespace == space and chart_of(release.chart) in CHART_DAEMONSETS:
            yield f"the DaemonSets of {release.source.name} have host paths"
    asking = {id(each) for each, _ in gpu_workloads(inventory, cluster)}
    for workload in inventory.of(Workload, cluster):
        if workload.namespace != space or workload.spec is UNKNOWN:
            continue
        of_gpus = id(workload) in asking or _opens_devices(workload.spec)
        if of_gpus or role_of(workload.spec) is not None:
            why = _why_refused(workload.spec)
            if why:
                yield f"{workload.source.name} has {why}"


def _opens_devices(spec: Any) -> bool:
    """Whether pods take GPUs from the node's own folder."""
    paths = [str(at(each, "hostPath", "path")) for each in items(at(spec, "volumes"))]
    return any(path.startswith(("/dev/dri", "/dev/nvidia")) for path in paths)


def _why_refused(spec: Any) -> str:
    """What of a pod the baseline forbids; no text where it is nothing."""
    if any(at(each, "hostPath") for each in items(at(spec, "volumes"))):
        return "host paths"
    if found := [key for key in _HOST if at(spec, key) is True]:
        return found[0]
    for _, container in containers(spec):
        if at(container, "securityContext", "privileged") is True:
            return "a privileged container"
    return ""


@edge(SAME_PODS)
def selectors(inventory: Inventory) -> Iterator[Judgement]:
    """Of workloads with GPUs in one file; nothing scales DaemonSets or counts their pods."""
    for cluster in inventory.clusters():
        seen: dict[Any, Workload] = {}
        for workload, _ in gpu_workloads(inventory, cluster):
            document = workload.source.document
            if not isinstance(document, Document) or workload.kind in {PART_OF_POD, "DaemonSet"}:
                continue
            selector = at(document.value, "spec", "selector")
            if has_unknown(selector) or not pairs(at(selector, "matchLabels")):
                continue
            key = (str(workload.namespace), document.file, repr(selector))
            first = seen.setdefault(key, workload)
            if first.name != workload.name:
                yield Problem(
                    SAME_PODS,
                    workload.source,
                    ("spec", "selector"),
                    f"{at_start(workload.source.name)} and {first.source.name} select the same "
                    "pods.",
                    "Give one of them a label of its own, in its selector and its pods.",
                )


@edge(FAILS_ELSEWHERE)
def plugins_elsewhere(inventory: Inventory) -> Iterator[Judgement]:
    """Device plugins that are written out, and nodes without GPUs."""
    for cluster in inventory.clusters():
        others = [
            NodeKind(
                nodes, CATALOG.find(str(nodes.instance_types[0])) if nodes.instance_types else None
            )
            for nodes in inventory.of(NodeSet, cluster)
            if nodes.instance_types is not UNKNOWN and _has_none(nodes)
        ]
        for daemon in daemons(inventory, cluster):
            item = daemon.item
            if daemon.role != "plugin" or not isinstance(item, Workload) or not _fails(item):
                continue
            for kind in others:
                if landing(item.spec, kind.nodes.taints, kind.label).lands:
                    yield Problem(
                        FAILS_ELSEWHERE,
                        item.source,
                        (*item.spec_path,),
                        f"{at_start(daemon.title)} is for {kind.nodes.source.name} too, which has "
                        "no GPU, and ends where it finds none.",
                        "Select the GPU nodes by a label, or set FAIL_ON_INIT_ERROR to false.",
                    )
                    break


def _has_none(nodes: NodeSet) -> bool:
    """Whether nodes have no GPUs, by their types or by the categories of these."""
    if nodes.instance_types:
        known = [CATALOG.find(str(name)) for name in items(nodes.instance_types)]
        return all(each is not None and not each.gpu_count for each in known)
    spec = at(getattr(nodes.source.document, "value", None), "spec", "template", "spec")
    for each in items(at(spec, "requirements")):
        if at(each, "key") == _CATEGORY and at(each, "operator") == "In":
            values = {str(text(value)) for value in items(at(each, "values"))}
            return bool(values) and values <= _CPU_CATEGORIES
    return False


def _fails(workload: Workload) -> bool:
    """Whether a device plugin ends on nodes without GPUs, which is its default."""
    return any(
        _fails_without_gpu(container)
        for _, container in containers(workload.spec)
        if "device-plugin" in str(text(at(container, "image")))
    )


def _fails_without_gpu(container: Any) -> bool:
    settings = plugin_settings(container)
    if UNKNOWN in settings.values() or settings.get("config-file"):
        return False
    return str(settings.get("fail-on-init-error", "")).lower() not in _OFF


@edge(SHARED_PRODUCT)
def products(inventory: Inventory) -> Iterator[Judgement]:
    """Where every configuration that there is shares whole GPUs under their own name."""
    for cluster in inventory.clusters():
        only, every = alone(inventory, cluster), offers(inventory, cluster).every
        for workload, requests in gpu_workloads(inventory, cluster):
            if {each.resource for each in requests} != {GPU}:
                continue
            for place, product in selected_products(workload.spec):
                title = _shared_by(only, every, product)
                if title and not product.endswith(SHARED):
                    yield Problem(
                        SHARED_PRODUCT,
                        workload.source,
                        (*workload.spec_path, *place),
                        f"{at_start(workload.source.name)} selects {PRODUCT_LABEL} {product}, and "
                        f"{title} shares GPUs under their own name.",
                        f"Select {product}{SHARED}, or a label of the node group.",
                        edits=(Edit("set", (*workload.spec_path, *place), f"{product}{SHARED}"),),
                    )
        yield from _of_flavors(inventory, cluster, only, every)


def _of_flavors(
    inventory: Inventory, cluster: str, only: Sharing | None, every: Sequence[Offer]
) -> Iterator[Problem]:
    """Flavors of which a queue gives GPUs by that name: Kueue has pods select their labels."""
    pointers = inventory.of(Pointer, cluster)
    giving = {
        str(at(flavor, "name"))
        for queue in pointers
        for group in items(at(queue.spec, "resourceGroups"))
        for flavor in items(at(group, "flavors"))
        if queue.kind == "ClusterQueue"
        and any(at(each, "name") == GPU for each in items(at(flavor, "resources")))
    }
    for flavor in pointers:
        product = at(flavor.spec, "nodeLabels", PRODUCT_LABEL)
        if flavor.kind != "ResourceFlavor" or str(flavor.name) not in giving:
            continue
        if isinstance(product, str) and not product.endswith(SHARED):
            title, place = _shared_by(only, every, product), ("spec", "nodeLabels", PRODUCT_LABEL)
            if title:
                yield Problem(
                    SHARED_PRODUCT,
                    flavor.source,
                    place,
                    f"{at_start(flavor.source.name)} is of nodes with {PRODUCT_LABEL} {product}, "
                    f"and {title} shares GPUs under their own name: pods are admitted and find "
                    "none.",
                    f"Write {product}{SHARED}, or a label of the node group.",
                    edits=(Edit("set", place, f"{product}{SHARED}"),),
                )


def _shared_by(only: Sharing | None, every: Sequence[Offer], product: str) -> str:
    """The plugin that shares all GPUs of a product under their own name; empty without one."""
    model = product.split("-")
    kinds = [each for each in every if each.kind.type is None or _model(each) in model]
    if only is not None:  # no nodes are declared
        configs, title = [only.config], only.daemon.title
    elif kinds and all(each.config and len(each.plugins) == 1 for each in kinds):
        given = [at(each.kind.nodes.labels, PRODUCT_LABEL) for each in kinds]
        if any(each is not None for each in given):
            return ""  # somebody gives them that label
        configs = [each.config for each in kinds if each.config]
        title = kinds[0].plugins[0].title
    else:
        return ""
    # Of one replica none is shared.
    shared = all(not each.renamed and each.replicas.get(GPU, 1) > 1 for each in configs)
    return title if shared else ""


def _model(offer: Offer) -> str:
    gpu = getattr(offer.kind.type, "gpu", None)
    return "" if gpu is None else str(gpu.model)


def selected_products(spec: Any) -> Iterator[tuple[FieldPath, str]]:
    """Products that pods select, each with its place in their specification."""
    found = at(spec, "nodeSelector", PRODUCT_LABEL)
    if isinstance(found, str):
        yield ("nodeSelector", PRODUCT_LABEL), found
    above = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = required_terms(spec)
    for number, term in enumerate(items(terms)):
        for index, each in enumerate(items(at(term, "matchExpressions"))):
            values = items(at(each, "values"))
            one = len(values) == 1 and isinstance(values[0], str)
            if one and at(each, "key") == PRODUCT_LABEL and at(each, "operator") == "In":
                place = (*above, "nodeSelectorTerms", number, "matchExpressions", index)
                yield (*place, "values", 0), values[0]
