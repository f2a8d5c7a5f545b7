"""Every DaemonSet of a GPU chart is on every GPU node.

The admission plugin ExtendedResourceToleration does not help here: it adds tolerations to pods that
request a GPU, and the DaemonSets that make GPUs known request none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog.chart_daemonsets import NFD_CHART, PLUGIN_CHART
from eks_gpushare.documents.image import image_name
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.bottlerocket import may_run_bottlerocket
from eks_gpushare.inventory.claim_drivers import DRIVER_CHARTS
from eks_gpushare.inventory.daemons import Daemon, daemons, may_be_more
from eks_gpushare.inventory.items import Release, Workload
from eks_gpushare.inventory.nodes import (
    NodeKind,
    gpu_nodes,
    labels_itself,
    may_label_itself,
    without_operands,
)
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Edit, NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.scheduling import Landing, landing
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start, if_missing
from eks_gpushare.sharing.labels import PRESENT_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import NodeSet, NodeTaint
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe

KEPT_OUT = rule_of("GPU1100")
UNLABELLED = rule_of("GPU1101")
NO_PLUGIN = rule_of("GPU1102")
UNWATCHED = rule_of("GPU1103")

_LABEL = f"{PRESENT_LABEL}=true"


class _Reach(NamedTuple):
    """How a DaemonSet stands to nodes."""

    daemon: Daemon
    landings: tuple[Landing, ...]
    """One per instance type."""

    @property
    def is_meant(self) -> bool:
        """Whether its selectors are not for other nodes altogether."""
        return not any(landing.labels for landing in self.landings)

    @property
    def taint(self) -> NodeTaint | None:
        """The first taint that keeps it off."""
        return next((taint for landing in self.landings for taint in landing.taints), None)

    @property
    def unsure(self) -> bool:
        """Whether its taints or tolerations are not known."""
        return self.daemon.spec is UNKNOWN or any(
            landing.unsure_of_taints for landing in self.landings
        )


@edge(KEPT_OUT, UNLABELLED, NO_PLUGIN)
def plugin_reaches(inventory: Inventory) -> Iterator[Judgement]:
    """The device plugin, and the NFD worker whose labels it goes by."""
    for cluster in inventory.clusters():
        every = daemons(inventory, cluster)
        for kinds in _by_declaration(gpu_nodes(inventory, cluster)):
            if kinds[0].serves_itself:
                continue
            hidden = may_run_bottlerocket(kinds[0].nodes)
            for found in _plugin(inventory, every, kinds):
                # Who gives a chart and a pool together means the chart for the pool.
                if hidden and (inventory.complete or found.rule is not KEPT_OUT):
                    nodes = kinds[0].nodes
                    yield NotSeen(NO_PLUGIN, nodes.source, f"the AMI of {nodes.source.name}")
                else:
                    yield found


@edge(UNWATCHED)
def others_reach(inventory: Inventory) -> Iterator[Judgement]:
    """GPU feature discovery and exporters, which are missed later and by others."""
    for cluster in inventory.clusters():
        for daemon in daemons(inventory, cluster):
            for kinds in _by_declaration(gpu_nodes(inventory, cluster)):
                yield from _other(daemon, kinds)
            written_out = daemon.role == "exporter" and isinstance(daemon.item, Workload)
            if inventory.complete and written_out and _for_none(inventory, daemon):
                yield Problem(
                    UNWATCHED,
                    daemon.source,
                    daemon.place,
                    f"{at_start(daemon.title)} goes by labels that no GPU node has. Without it "
                    "nothing is told of these GPUs.",
                    "Select labels that the nodes have, or give the nodes the labels.",
                )


def _by_declaration(kinds: Iterable[NodeKind]) -> list[tuple[NodeKind, ...]]:
    found: dict[int, list[NodeKind]] = {}
    for kind in kinds:
        # Labels given by hand say too little of a node: not its taints, nor its other labels.
        if not kind.is_partial:
            found.setdefault(id(kind.nodes), []).append(kind)
    return [tuple(alike) for alike in found.values()]


def _reach(
    daemon: Daemon, kinds: Sequence[NodeKind], *, discovered: bool = True, labelled: bool = False
) -> _Reach:
    """How it stands to nodes, which have labels of feature discovery, or of their boot, or not."""
    if daemon.of_operator and without_operands(kinds[0].nodes):
        return _Reach(daemon, (Landing(labels=("nvidia.com/gpu.deploy.operands",)),))
    landings = (_landing(daemon, kind, discovered=discovered, labelled=labelled) for kind in kinds)
    return _Reach(daemon, tuple(landings))


def _landing(daemon: Daemon, kind: NodeKind, *, discovered: bool, labelled: bool) -> Landing:
    def undiscovered(key: str) -> Maybe[str | None]:
        found = kind.label(key)
        if labelled and key == PRESENT_LABEL and found in (None, UNKNOWN):
            return "true"
        return None if found is UNKNOWN and kind.is_discovered(key) else found

    label = kind.label_once_found if discovered else undiscovered
    return landing(daemon.spec, kind.nodes.taints, label)


def _plugin(
    inventory: Inventory, every: Sequence[Daemon], kinds: Sequence[NodeKind]
) -> Iterator[Judgement]:
    nodes = kinds[0].nodes
    plugins = [daemon for daemon in every if daemon.role == "plugin"]
    if any(plugin.of_operator for plugin in plugins) and without_operands(nodes) is None:
        yield NotSeen(KEPT_OUT, nodes.source, f"the labels of {nodes.source.name}")
        return
    meant = [reach for plugin in plugins if (reach := _reach(plugin, kinds)).is_meant]
    if not meant:
        yield from _nobody(inventory, plugins, kinds)
        return
    free = [reach for reach in meant if reach.taint is None]
    if not free:
        yield _kept_out(KEPT_OUT, meant[0], kinds, "It must, or these nodes advertise no GPU.")
        return
    sure = [reach for reach in free if not reach.unsure]
    if not sure:
        what = _unknown(free[0].daemon, nodes)
        yield NotSeen(KEPT_OUT, nodes.source, what)
        return
    by_themselves = [
        reach for reach in sure if _reach(reach.daemon, kinds, discovered=False).is_meant
    ]
    if not by_themselves:
        judged = _after_discovery(inventory, every, sure[0].daemon, kinds)
        labelled = _reach(sure[0].daemon, kinds, discovered=False, labelled=True).is_meant
        # The operator heeds the label only where NFD says so too.
        if labelled and may_label_itself(nodes) and not sure[0].daemon.of_operator:
            what = f"whether nodes of {nodes.source.name} label themselves, as of Kubernetes 1.35"
            judged = (NotSeen(each.rule, nodes.source, what) for each in judged)
        yield from judged


def _after_discovery(
    inventory: Inventory, every: Sequence[Daemon], plugin: Daemon, kinds: Sequence[NodeKind]
) -> Iterator[Judgement]:
    """The plugin goes where NFD has found a GPU, so NFD's worker has to be there."""
    workers = [_reach(daemon, kinds) for daemon in every if daemon.role == "nfd"]
    meant = [worker for worker in workers if worker.is_meant]
    nodes = kinds[0].nodes
    others = [worker.daemon for worker in meant if not tells_vendors(worker.daemon)]
    if not meant:
        yield _unlabelled(inventory, plugin, kinds, [worker.daemon for worker in workers])
    elif len(others) == len(meant) and labels_itself(nodes) is False and not plugin.of_operator:
        yield Problem(
            UNLABELLED,
            others[0].source,
            (),
            f"{at_start(others[0].title)} labels nodes with the class and the vendor of a device, "
            f"as pci-0302_10de.present, and {plugin.title} goes by pci-10de.present alone: it runs "
            f"on none of {nodes.source.name}, and they advertise no GPU.",
            "Set worker.config.sources.pci.deviceLabelFields to [vendor], with 03 among "
            f"deviceClassWhitelist, or give the nodes the label {_LABEL}.",
        )
    elif all(worker.taint is not None for worker in meant):
        why = (
            "It must: nodes without NFD's labels get no pod of the device plugin, and advertise "
            "no GPU."
        )
        # The operator takes the label away where NFD does not say so too.
        by_hand = "" if plugin.of_operator else f", or give the nodes the label {_LABEL}"
        yield _kept_out(KEPT_OUT, meant[0], kinds, why, by_hand)
    elif all(worker.taint or worker.unsure or worker.daemon.is_on is None for worker in meant):
        worker = next(candidate.daemon for candidate in meant if candidate.taint is None)
        what = _unknown(worker, nodes) if worker.is_on else f"whether {worker.title} is there"
        yield NotSeen(KEPT_OUT, nodes.source, what)


def tells_vendors(daemon: Daemon) -> bool:
    """Whether an NFD labels nodes by the vendor of a GPU, as charts of NVIDIA have theirs do.

    NFD's own chart has the class before it, unless it is told otherwise: `deviceLabelFields` and
    `deviceClassWhitelist` of docs/reference/worker-configuration-reference.md there.
    """
    item = daemon.item
    if daemon.chart != NFD_CHART or not isinstance(item, Release):
        return True
    given = at(item.values, "worker", "config", "sources", "pci")
    if item.values is UNKNOWN or has_unknown(given):
        return True
    classes = [str(text(each)) for each in items(at(given, "deviceClassWhitelist"))] or ["03"]
    fields = [text(each) for each in items(at(given, "deviceLabelFields"))]
    return fields == ["vendor"] and any("0302".startswith(each) for each in classes)


def _unknown(daemon: Daemon, nodes: NodeSet) -> str:
    if nodes.taints is UNKNOWN:
        return f"the taints of {nodes.source.name}"
    return f"the tolerations of {daemon.title}"


def _unlabelled(
    inventory: Inventory, plugin: Daemon, kinds: Sequence[NodeKind], workers: Sequence[Daemon]
) -> Problem:
    nodes = kinds[0].nodes
    if workers:
        missing = f"{workers[0].title} is for other nodes"
        place, fix = plugin.place[:-1], f"Let the selectors of {workers[0].title} be for them too"
    else:
        missing = "NFD is not there"
        place, fix = _nfd(plugin)
    by_hand = "" if plugin.of_operator else f", or give the nodes the label {_LABEL}"
    if isinstance(plugin.item, Release) and at(plugin.item.values, "affinity") == {}:
        by_hand += "; `affinity: null` takes the chart's own away, and {} does not"
    return Problem(
        UNLABELLED,
        plugin.source,
        place,
        f"Nothing labels {nodes.source.name} for {plugin.title}: {missing}, and the nodes have no "
        "label that it goes by. There must be one, or it runs on none of them and they advertise "
        "no GPU.",
        f"{fix}{by_hand}.",
        # A chart that is to bring it is here, and does not.
        "warning" if _left_out(plugin) and not inventory.complete else if_missing(inventory),
    )


def _left_out(plugin: Daemon) -> bool:
    """Whether the values of a plugin's chart are known, and leave out feature discovery."""
    item = plugin.item
    if not isinstance(item, Release):
        return False
    if plugin.of_operator:
        return at(item.values, "nfd", "enabled") is False
    return plugin.chart == PLUGIN_CHART and at(item.values, "gfd") is not UNKNOWN


def _nfd(plugin: Daemon) -> tuple[FieldPath, str]:
    """Where and how NFD is brought beside a plugin."""
    if not isinstance(plugin.item, Release):
        return plugin.place[:-1], "Install NFD"
    own = ("nfd", "enabled")
    if plugin.of_operator or at(plugin.item.values, *own) is not None:
        return value_place(plugin.item, own), "Set `nfd.enabled: true`"
    place = value_place(plugin.item, ("gfd", "enabled"))
    return place, "Set `gfd.enabled: true`, which brings NFD"


def _nobody(
    inventory: Inventory, plugins: Sequence[Daemon], kinds: Sequence[NodeKind]
) -> Iterator[Judgement]:
    nodes = kinds[0].nodes
    if nodes.labels is UNKNOWN:
        if plugins:
            yield NotSeen(NO_PLUGIN, nodes.source, f"the labels of {nodes.source.name}")
        return
    if not inventory.complete and not plugins:
        return  # it may well be installed by something that is not among these files
    if not plugins and may_be_more(inventory, nodes.cluster):
        yield NotSeen(NO_PLUGIN, nodes.source, "what a DaemonSet runs, whose image is not known")
        return
    if without_operands(nodes):
        return  # somebody says so on purpose
    if given_by_claims(inventory, nodes.cluster):
        return  # beside its driver there must be no plugin
    if plugins:
        reach = _reach(plugins[0], kinds)
        wants = next(words for landing in reach.landings for words in landing.labels)
        message = (
            f"No device plugin is for {nodes.source.name}: {plugins[0].title} wants {wants}. "
            "Without one the nodes advertise no GPU."
        )
        fix = "Give the nodes that label, or let the chart's selectors be for them too."
    else:
        message = f"Nothing brings a device plugin to {nodes.source.name}: they advertise no GPU."
        fix = "Install the chart nvidia-device-plugin or gpu-operator."
    severity = if_missing(inventory)
    if severity is not None and len(plugins) == 1 and _for_none(inventory, plugins[0]):
        severity = "warning"
    yield Problem(NO_PLUGIN, nodes.source, (), message, fix, severity)


def _for_none(inventory: Inventory, plugin: Daemon) -> bool:
    """Whether a plugin goes by labels that none of the nodes here has, by what declares them."""
    kinds = [each for each in gpu_nodes(inventory, plugin.item.cluster) if not each.is_partial]
    reaches = [_reach(plugin, [kind]) for kind in kinds]
    return bool(reaches) and not any(
        reach.is_meant or any(each.unsure_of_labels for each in reach.landings) for reach in reaches
    )


CLAIM_DRIVERS = (*DRIVER_CHARTS, "k8s-dra-driver-gpu")
"""Names of the chart of NVIDIA's driver for claims, or of its image."""


def given_by_claims(inventory: Inventory, cluster: str) -> bool:
    """Whether the driver for dynamic resource allocation hands out GPUs, and no device plugin.

    Its chart hands out ComputeDomains alone where `resources.gpus.enabled` is false:
    https://github.com/NVIDIA/k8s-dra-driver-gpu/blob/main/deployments/helm/nvidia-dra-driver-gpu/values.yaml.
    """
    for release in inventory.of(Release, cluster):
        if text(release.chart) in CLAIM_DRIVERS:
            return at(release.values, "resources", "gpus", "enabled") is not False
    return any(
        image_name(str(at(container, "image"))) in CLAIM_DRIVERS
        for workload in inventory.of(Workload, cluster)
        if workload.kind == "DaemonSet"
        for _, container in containers(workload.spec)
    )


def _other(daemon: Daemon, kinds: Sequence[NodeKind]) -> Iterator[Judgement]:
    if daemon.role not in ("discovery", "exporter") or kinds[0].serves_itself:
        return
    if isinstance(daemon.item, Release) and daemon.role == "discovery":
        return  # on the same nodes as the plugin of its chart
    if daemon.of_operator:
        return  # as the plugin
    reach = _reach(daemon, kinds)
    unsure = any(landing.unsure_of_labels for landing in reach.landings)
    if reach.is_meant and reach.taint is not None and not unsure:
        yield _kept_out(UNWATCHED, reach, kinds, "Without it nothing is told of these GPUs.")


def _kept_out(
    rule: Rule, reach: _Reach, kinds: Sequence[NodeKind], why: str, by_hand: str = ""
) -> Problem:
    daemon, nodes = reach.daemon, kinds[0].nodes
    lacking = list(dict.fromkeys(taint for landing in reach.landings for taint in landing.taints))
    wanted = [{"key": key, "operator": "Exists"} for key in dict.fromkeys(t.key for t in lacking)]
    shown = ", ".join(f"{{key: {toleration['key']}, operator: Exists}}" for toleration in wanted)
    return Problem(
        rule,
        daemon.source,
        daemon.place,
        f"{at_start(daemon.title)} does not tolerate the taint {lacking[0]} of "
        f"{nodes.source.name}. {why}",
        f"Add {shown} to `{daemon.setting}`{_replaced(daemon)}{by_hand}.",
        edits=_edits(daemon, wanted),
    )


def _replaced(daemon: Daemon) -> str:
    defaults = items(at(daemon.spec, "tolerations")) and not _written(daemon)
    return ", where a list takes the place of the chart's own" if defaults else ""


def _written(daemon: Daemon) -> list[Any]:
    """Its tolerations as somebody has written them; none where they are the chart's own."""
    if isinstance(daemon.item, Workload):
        return items(at(daemon.spec, "tolerations"))
    return items(at(daemon.item.values, *daemon.setting.split(".")))


def _edits(daemon: Daemon, wanted: list[dict[str, str]]) -> tuple[Edit, ...]:
    present = items(at(daemon.spec, "tolerations"))
    if UNKNOWN in present:
        return ()
    if _written(daemon):
        return tuple(Edit("append", daemon.place, toleration) for toleration in wanted)
    return (Edit("set", daemon.place, [*present, *wanted]),)
