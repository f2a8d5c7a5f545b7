"""Of what must be on a node once there are not two: device plugins, and host engines of DCGM."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.chart_daemonsets import EXPORTER_CHART, OPERATOR_CHART, chart_of
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.bottlerocket import nvidia_settings, runs_bottlerocket
from eks_gpushare.inventory.claim_drivers import gives_gpus
from eks_gpushare.inventory.daemons import Daemon, daemons
from eks_gpushare.inventory.items import DeviceClaim, Release, Workload
from eks_gpushare.inventory.matching import is_tolerated, never_meet
from eks_gpushare.inventory.node_agent import engine_tolerations
from eks_gpushare.inventory.nodes import NodeKind, declared_nodes, unseen_nodes, without_operands
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.scheduling import keeping_off, landing, lasting
from eks_gpushare.inventory.shared_names import sharings
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, switch, text
from eks_gpushare.inventory.ways import are_two_ways, is_beside, there_at_once
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.inventory.written_labels import is_labelled_off
from eks_gpushare.sharing.node_monitoring import AGENT, ENGINE_ARCH, REMOTE_ENGINE
from eks_gpushare.sharing.resources import GPU, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement

TWO_PLUGINS = rule_of("GPU1185")
PLUGIN_AND_DRA = rule_of("GPU1186")
TWO_ENGINES = rule_of("GPU1187")
_ENGINE_IMAGE = re.compile(r"(?:.*/)?dcgm(?:[:@].*)?")


@edge(TWO_PLUGINS, PLUGIN_AND_DRA)
def plugins(inventory: Inventory) -> Iterator[Judgement]:
    """Device plugins of charts and manifests, of the operating system, and DRA drivers."""
    for cluster in inventory.clusters():
        every = _plugins(inventory, cluster)
        drivers = _drivers(inventory, cluster)
        declared = declared_nodes(inventory, cluster)
        if not declared:
            yield from _anywhere(every)
            yield from _beside_operator(every)
            yield from _beside_driver(drivers, every)
        written = daemons(inventory, cluster)
        labels = any(each.role in ("nfd", "discovery") or each.of_operator for each in written)
        # Of nodes that all have a plugin of their own a chart is for none but these.
        alone = all(each.serves_itself for each in (*declared, *unseen_nodes(inventory, cluster)))
        for kind in declared:
            given = labels or not kind.serves_itself
            here = [each for each in every if is_there(each, kind, given=given)]
            yield from _two(kind, here, alone=alone)
            for driver in drivers if here else ():
                yield from _both(driver, here[0], kind)


@edge(TWO_PLUGINS, PLUGIN_AND_DRA)
def on_one_condition(inventory: Inventory) -> Iterator[Judgement]:
    """The same of what is there on a condition that is not known, and both are there on."""
    for cluster in inventory.clusters():
        conditions = {each.source.condition for each in inventory.of(Release, cluster)}
        for condition in sorted(filter(None, conditions)):
            every = _plugins(inventory, cluster, condition)
            yield from _beside_operator(every)
            yield from _beside_driver(_drivers(inventory, cluster, condition), every)


def _drivers(inventory: Inventory, cluster: str, condition: str = "") -> list[Release]:
    releases = inventory.of(Release, cluster)
    return [each for each in releases if gives_gpus(each) and each.source.condition == condition]


def _plugins(inventory: Inventory, cluster: str, condition: str = "") -> list[Daemon]:
    """Those that no script takes away; all of them where all are, as by one that clears up."""
    plugins = [each for each in daemons(inventory, cluster) if each.role == "plugin"]
    plugins = [each for each in plugins if each.item.source.condition == condition]
    if is_labelled_off(inventory, declared_nodes(inventory, cluster)):
        plugins = [each for each in plugins if not each.of_operator]
    return there_at_once(inventory, [each for each in plugins if each.is_on is not None])


def is_there(daemon: Daemon, kind: NodeKind, *, given: bool = True) -> bool:
    """Whether a DaemonSet has pods on nodes, with labels that feature discovery has given."""
    if daemon.of_operator and without_operands(kind.nodes) is not False:
        return False
    labels = kind.label_once_found if given or kind.nodes.labels is UNKNOWN else kind.label
    return landing(daemon.spec, kind.nodes.taints, labels).lands is True


def _both(driver: Release, plugin: Daemon, kind: NodeKind) -> Iterator[Judgement]:
    """A DRA driver where a plugin is, by labels: most charts of it tolerate whatever taint."""
    given = at(driver.values, "kubeletPlugin")
    keeps = {key: at(given, key) for key in ("nodeSelector", "affinity") if at(given, key)}
    lands = landing(keeps, (), kind.label_once_found).lands if keeps else True
    if lands is None:
        what = f"whether {driver.source.name} is for {kind.nodes.source.name}"
        yield NotSeen(PLUGIN_AND_DRA, driver.source, what)
    elif lands:
        yield Problem(
            PLUGIN_AND_DRA,
            driver.source,
            (),
            f"{at_start(plugin.title)} and {driver.source.name} both give out the GPUs of "
            f"{kind.nodes.source.name}.",
            "Keep one of the two off these nodes by labels and node selectors, or switch off "
            "`resources.gpus.enabled` of the DRA driver.",
        )


def _anywhere(every: Sequence[Daemon]) -> Iterator[Problem]:
    """Plugins that one script installs, of charts that keep to no nodes, whatever nodes there are.

    Of guides and of objects several may be there to choose from.
    """
    found = [daemon for daemon in every if isinstance(daemon.item, Release)]
    if any(daemon.spec is not UNKNOWN and keeps_to_some(daemon) for daemon in found):
        return
    for one, other in pairwise(found):
        scripts = {_script(one), _script(other)}
        if None in scripts or len(scripts - {""}) != 1 or _installs_the_same(one, other):
            continue
        yield Problem(
            TWO_PLUGINS,
            other.source,
            other.place,
            f"{at_start(one.title)} and {other.title} are both for every node with GPUs.",
            "Remove one of them, or let labels decide which nodes each is for.",
        )


def _beside_operator(every: Sequence[Daemon]) -> Iterator[Problem]:
    """The operator's plugin and another, each of an object that is applied; guides are left out."""
    applied = [daemon for daemon in every if is_applied(daemon)]
    own = next((daemon for daemon in applied if daemon.of_operator), None)
    other = next((daemon for daemon in applied if not daemon.of_operator), None)
    if own is None or other is None or any(keeps_to_some(daemon) for daemon in applied):
        return
    if isinstance(other.item, Release) and _script(own) and _script(own) == _script(other):
        return  # of one script it is told already
    if len({_destination(own), _destination(other)} - {""}) > 1:
        return  # of Argo CD, for two clusters
    yield Problem(
        TWO_PLUGINS,
        other.source,
        other.place,
        f"{at_start(own.title)} and {other.title} are both for every node with GPUs.",
        "Set `devicePlugin.enabled: false` of the GPU Operator, or remove the other.",
        "warning",
    )


def _beside_driver(drivers: Sequence[Release], every: Sequence[Daemon]) -> Iterator[Problem]:
    """A DRA driver that gives out GPUs and a device plugin, neither of which keeps to some."""
    applied = [each for each in every if each.is_on is True and not is_guide(each.source.file)]
    for own in drivers[:1]:  # another script has its way, or its cluster
        applied = [e for e in applied if is_beside(own, e.item) and not are_two_ways(own, e.item)]
    keeps = [at(each.values, "kubeletPlugin") for each in drivers]
    if not applied or not drivers or any(map(keeps_to_some, applied)):
        return
    if any(at(one, "nodeSelector") or at(one, "affinity") or one is UNKNOWN for one in keeps):
        return
    yield Problem(
        PLUGIN_AND_DRA,
        drivers[0].source,
        (),
        f"{at_start(applied[0].title)} and {drivers[0].source.name} both give out the GPUs of "
        "every node.",
        "Set `devicePlugin.enabled: false` of the GPU Operator, or switch off "
        "`resources.gpus.enabled` of the DRA driver.",
        "warning",
    )


def _destination(daemon: Daemon) -> str:
    given = at(getattr(daemon.source.document, "value", None), "spec", "destination")
    return str(at(given, "name") or at(given, "server") or "")


def is_applied(daemon: Daemon) -> bool:
    """Whether it is of an object, or of a command or declaration that names its release."""
    named = daemon.item.name not in ("", UNKNOWN)
    return named and daemon.is_on is True and not is_guide(daemon.source.file)


def _script(daemon: Daemon) -> str | None:
    """The script that installs a chart; empty of values that one names, None of all else."""
    document = daemon.source.document
    if (file := str(getattr(document, "file", ""))).endswith(".sh"):
        return file
    named = isinstance(daemon.item, Release) and daemon.item.name not in ("", UNKNOWN)
    return "" if named and at(getattr(document, "value", None), "kind") is None else None


def _installs_the_same(one: Daemon, other: Daemon) -> bool:
    names = [(d.item.chart, d.item.name) for d in (one, other) if isinstance(d.item, Release)]
    return UNKNOWN in {name for _, name in names} or names[0] == names[1]


def _two(kind: NodeKind, here: Sequence[Daemon], *, alone: bool) -> Iterator[Judgement]:
    nodes = kind.nodes
    if runs_bottlerocket(nodes) and nvidia_settings(nodes) is UNKNOWN:
        if here:
            what = f"the user data of {nodes.source.name}, by which it may switch off its plugin"
            yield NotSeen(TWO_PLUGINS, nodes.source, what)
        return
    if kind.serves_itself and here:
        whose = "EKS Auto Mode" if nodes.provisioner == "autoMode" else "Bottlerocket"
        yield Problem(
            TWO_PLUGINS,
            here[0].source,
            here[0].place,
            f"{at_start(here[0].title)} is for {nodes.source.name} too, where {whose} has a device "
            "plugin of its own.",
            "Keep the chart off these nodes by `affinity` or `nodeSelector`, or by taints that it "
            "does not tolerate.",
            against=(nodes.source, ()) if alone and is_applied(here[0]) else None,
        )
    elif len(here) > 1:
        yield Problem(
            TWO_PLUGINS,
            here[1].source,
            here[1].place,
            f"{at_start(here[0].title)} and {here[1].title} are both for {nodes.source.name}.",
            "Remove one of them, or let labels decide which nodes each is for.",
        )


@edge(PLUGIN_AND_DRA)
def same_name(inventory: Inventory) -> Iterator[Judgement]:
    """Device classes that stand for an extended resource, and plugins that register it."""
    for cluster in inventory.clusters():
        classes = [
            (each, name)
            for each in inventory.of(DeviceClaim, cluster)
            if each.kind == "DeviceClass"
            and isinstance(name := at(each.spec, "extendedResourceName"), str)
        ]
        plugins_here = [each for each in daemons(inventory, cluster) if each.role == "plugin"]
        if not classes or len(plugins_here) != 1 or plugins_here[0].is_on is not True:
            continue
        given = {
            GPU + SHARED_SUFFIX if config.renamed and GPU in config.replicas else GPU
            for _, config in sharings(inventory, cluster)
        }
        for device_class, name in classes:
            # A plugin that keeps to some nodes may leave others to the driver.
            if given == {name} and not keeps_to_some(plugins_here[0]):
                yield Problem(
                    PLUGIN_AND_DRA,
                    device_class.source,
                    ("spec", "extendedResourceName"),
                    f"{at_start(device_class.source.name)} gives devices as {name}, and "
                    f"{plugins_here[0].title} registers that name.",
                    "Give the class another name, or leave the device plugin out.",
                    None if inventory.complete else "warning",
                )


def keeps_to_some(plugin: Daemon, but: Sequence[tuple[str, Any]] = ()) -> bool:
    """Whether it selects nodes, by another selector than one that is the other's too."""
    given = plugin.item.values if isinstance(plugin.item, Release) else plugin.spec
    selector = at(given, "nodeSelector")
    same = bool(but) and pairs(selector) == list(but)
    return bool((selector and not same) or at(given, "affinity"))


@edge(TWO_ENGINES)
def engines(inventory: Inventory) -> Iterator[Judgement]:
    """Exporters that start an engine each, the operator's own, and that of EKS's agent."""
    for cluster in inventory.clusters():
        kinds = [kind for kind in declared_nodes(inventory, cluster) if not kind.serves_itself]
        found: list[tuple[Item, str]] = [
            (release, what)
            for release in _of_one_operator(inventory.of(Release, cluster))
            for what in _engines_of(release, kinds)
        ]
        found += [
            (daemon.item, "the DCGM exporter")
            for daemon in daemons(inventory, cluster)
            if daemon.role == "exporter"
            and isinstance(daemon.item, Workload)
            and _starts_one(daemon)
        ]
        found += [
            (workload, "DCGM")
            for workload in inventory.of(Workload, cluster)
            if workload.kind == "DaemonSet" and _runs_one(workload.spec)
        ]
        meeting = (
            pair
            for pair in combinations(found, 2)
            if _are_at_once(*(item.source.condition for item, _ in pair))
            and not never_meet(*(getattr(item, "spec", None) for item, _ in pair))
            and not are_two_ways(*(item for item, _ in pair))
        )
        pair = next(meeting, None)
        if pair is None or (not kinds and inventory.complete):
            continue
        (one, first), (other, second) = pair
        yield Problem(
            TWO_ENGINES,
            other.source,
            (),
            f"{at_start(second)} of {other.source.name} and {first} of {one.source.name} each run "
            "a host engine of DCGM on the nodes with GPUs.",
            f"Switch one of them off, or let the exporter use the other's by {REMOTE_ENGINE}.",
            None if kinds or inventory.complete else _as_certain(one, other),
        )


def _are_at_once(one: str | None, other: str | None) -> bool:
    return one is not None and one == other  # of two conditions one may be the other's


def _of_one_operator(releases: Sequence[Release]) -> Iterator[Release]:
    """Releases, without ClusterPolicies beside the operator's chart, which makes one, or another.

    The operator goes by one ClusterPolicy.
    """
    operators = [release for release in releases if chart_of(release.chart) == OPERATOR_CHART]
    policies = [release for release in operators if release.source.path[-1:] == ("spec",)]
    left_out = {id(each) for each in policies[len(policies) == len(operators) :]}
    yield from (release for release in releases if id(release) not in left_out)


def _as_certain(*items: Item) -> Severity | None:
    """A note, where a chart is only known by values that nothing says are installed."""
    loose = any(isinstance(item, Release) and item.name in ("", UNKNOWN) for item in items)
    return "info" if loose else None


def _engines_of(release: Release, kinds: Sequence[NodeKind]) -> Iterator[str]:
    chart = release.chart.rpartition("/")[2]
    if release.values is UNKNOWN:
        return
    if chart_of(chart) == EXPORTER_CHART:
        arguments = [str(text(item)) for item in items(at(release.values, "arguments"))]
        if not _uses_other(at(release.values, "extraEnv")) and "-r" not in arguments:
            yield "the DCGM exporter"
    elif chart_of(chart) == OPERATOR_CHART:
        if (own := engine_of_operator(release.values)) is not None:
            yield own
    elif chart.startswith(AGENT) and (not kinds or any(_is_on(release, kind) for kind in kinds)):
        yield "the node monitoring agent"


def engine_of_operator(values: Any) -> str | None:
    """What of the GPU Operator starts an engine, by the values of its chart; None if nothing does.

    With an engine of its own, the operator's exporter uses that one.
    """
    if switch(at(values, "dcgm", "enabled")) is True:
        return "DCGM"
    exporter = at(values, "dcgmExporter")
    exports = at(exporter, "enabled") in (None, True, "true")
    return "the DCGM exporter" if exports and not _uses_other(at(exporter, "env")) else None


def _is_on(agent: Release, kind: NodeKind) -> bool:
    """Whether the engine of EKS's agent runs on nodes: of one architecture, and as they taint."""
    taints, tolerations = lasting(kind.nodes.taints), engine_tolerations(agent)
    if taints is UNKNOWN or (kind.type is not None and kind.type.arch != ENGINE_ARCH):
        return False
    return all(is_tolerated(taint, tolerations) for taint in keeping_off(taints))


def _starts_one(exporter: Daemon) -> bool:
    """Whether a DaemonSet that is written out has the engine within, as it has untold."""
    for container in items(at(exporter.spec, "containers")):
        given = [*items(at(container, "command")), *items(at(container, "args"))]
        if _uses_other(at(container, "env")) or UNKNOWN in given:
            return False
        words = [word for argument in given for word in str(argument).split()]
        if any(word.startswith(("-r", "--remote-hostengine-info")) for word in words):
            return False
    return True


def _runs_one(spec: object) -> bool:
    """Whether pods are the engine itself: NVIDIA's image of it, or the program by its name."""
    return any(
        _ENGINE_IMAGE.fullmatch(str(at(container, "image")))
        or any("nv-hostengine" in str(word) for word in items(at(container, "command")))
        for container in items(at(spec, "containers"))
    )


def _uses_other(env: object) -> bool:
    return any(at(item, "name") == REMOTE_ENGINE for item in items(env)) or has_unknown(env)
