"""MIG layouts: there under their name, for GPUs that can have them, applied and named alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.catalog.mig import ALL_DISABLED
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.advertised import Offer, offers
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.edges.configs import KEY_MISSING, MAP_MISSING, NO_YAML, not_yaml
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Release
from eks_gpushare.inventory.mig_states import (
    CONFIG_KEY,
    MIG_CONFIG_LABEL,
    is_of_nvidia,
    layouts_of,
    mig_configs,
    mig_managers,
    mig_state,
)
from eks_gpushare.inventory.nodes import NodeKind, gpu_nodes, without_operands
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, holds, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start, if_missing
from eks_gpushare.sharing.resources import mig_resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

OF_THE_OPERATOR = "default-mig-parted-config"
"""The ConfigMap that the operator makes itself: `assets/state-mig-manager` of NVIDIA/gpu-operator,
read 2026-11-22."""

CANNOT = rule_of("GPU1130")
NO_LAYOUT = rule_of("GPU1131")
NOBODY_APPLIES = rule_of("GPU1132")
NOT_UNIFORM = rule_of("GPU1133")
NO_STRATEGY = rule_of("GPU1134")
UNDONE = rule_of("GPU1135")


@edge(UNDONE)
def undone(inventory: Inventory) -> Iterator[Judgement]:
    """Layouts of a boot beside a MIG manager that has a default."""
    for cluster in inventory.clusters():
        for release in mig_managers(inventory, cluster):
            given = at(release.values, "migManager", "config", "default")
            if holds(release.values, "migManager", "config", "default") and not given:
                continue
            switched = at(release.values, "migManager", "enabled")
            said: set[int] = set()
            for offer in offers(inventory, cluster).every:
                nodes = offer.kind.nodes
                if offer.mig.by != "boot" or offer.mig.instances == {} or id(nodes) in said:
                    continue
                said.add(id(nodes))
                if without_operands(nodes):
                    continue
                place = value_place(release, ("migManager", "config", "default"))
                if UNKNOWN in (given, switched):
                    unseen = "default" if given is UNKNOWN else "switch"
                    what = f"MIG manager's {unseen} of {release.source.name}"
                    yield NotSeen(UNDONE, release.source, what)
                    break
                yield Problem(
                    UNDONE,
                    release.source,
                    place,
                    f"{at_start(nodes.source.name)} cuts its GPUs at boot, and MIG manager of "
                    f"{release.source.name} has the default {given or ALL_DISABLED} for nodes "
                    f"without the label {MIG_CONFIG_LABEL}.",
                    'Set `migManager.config.default: ""`, or `migManager.enabled: false`.',
                )


@edge(CANNOT, NO_LAYOUT, NOT_UNIFORM, NO_STRATEGY)
def layouts(inventory: Inventory) -> Iterator[Judgement]:
    """What each declaration of nodes is to be, once for all of its types that say the same."""
    for cluster in inventory.clusters():
        said: set[tuple[int, str]] = set()
        for offer in offers(inventory, cluster).every:
            for problem in _layout(inventory, offer):
                once = (id(offer.kind.nodes), problem.message)
                if once not in said:
                    said.add(once)
                    yield problem
        yield from _by_hand(inventory, cluster)


def _layout(inventory: Inventory, offer: Offer) -> Iterator[Problem]:
    nodes, state = offer.kind.nodes, offer.mig
    place = _place(offer.kind)
    title = at_start(nodes.source.name)
    if state.is_known_name is False:
        yield _not_there(inventory, nodes, state.named)
    elif state.is_known_name is None:
        yield from _in_no_ones_map(inventory, offer, title, place)
    for problem in state.problems[:1]:
        what = f" {state.named}" if state.named else ""
        type_name = offer.kind.type.name if offer.kind.type else "?"
        yield Problem(
            CANNOT,
            nodes.source,
            place,
            f"{title} is to have the MIG layout{what} on {type_name}. {problem.message}",
            problem.fix,
        )
    yield from _beyond(inventory, offer, title, place)
    yield from _strategy(offer, title, place)


def _not_there(inventory: Inventory, nodes: NodeSet, name: str) -> Problem:
    known = pairs(mig_configs(inventory, nodes.cluster))
    listed = ", ".join(each for each, _ in known) or "none"
    return Problem(
        NO_LAYOUT,
        nodes.source,
        ("labels", MIG_CONFIG_LABEL),
        f"{at_start(nodes.source.name)} has the label {MIG_CONFIG_LABEL}={name}; MIG manager's "
        f"ConfigMap has {listed}.",
        "Name one of those, or add the layout to the ConfigMap.",
    )


def _in_no_ones_map(
    inventory: Inventory, offer: Offer, title: str, place: FieldPath
) -> Iterator[Problem]:
    """A layout of a ConfigMap that is here, and that no MIG manager is given."""
    cluster, name = offer.kind.nodes.cluster, offer.mig.named
    managers = mig_managers(inventory, cluster)
    given = [at(release.values, "migManager", "config", "name") for release in managers]
    if any(each not in (None, "") for each in given):
        return
    for config_map in inventory.of(ConfigMap, cluster) if managers else ():
        if name in dict(pairs(layouts_of(at(config_map.data, CONFIG_KEY)))):
            yield Problem(
                NO_LAYOUT,
                offer.kind.nodes.source,
                place,
                f"{title} has the label {MIG_CONFIG_LABEL}={name}, a layout of "
                f"{config_map.source.name}, and {managers[0].source.name} names no ConfigMap: MIG "
                "manager reads its own.",
                f"Set `migManager.config.name: {config_map.name}`.",
                "warning",
            )
            return


def _beyond(inventory: Inventory, offer: Offer, title: str, place: FieldPath) -> Iterator[Problem]:
    """GPUs that a layout names by a number that none has: MIG manager passes them over."""
    found, name = offer.kind.type, offer.mig.named
    config = dict(pairs(mig_configs(inventory, offer.kind.nodes.cluster))).get(name)
    if found is None or config in (None, UNKNOWN):
        return
    numbers = [index for item in items(config) for index in items(at(item, "devices"))]
    whole = [index for index in numbers if isinstance(index, int)]
    if not found.gpu_count or not whole or min(whole) < found.gpu_count:
        return  # some are there: a layout may be for several types
    yield Problem(
        CANNOT,
        offer.kind.nodes.source,
        place,
        f"{title} is to have the MIG layout {name} on {found.name}. It names the GPUs "
        f"{', '.join(map(str, whole))}, and there is {found.gpu_count}, numbered from 0.",
        "Name GPUs that there are, or all.",
    )


def _place(kind: NodeKind) -> FieldPath:
    labels = kind.nodes.labels
    if labels is not UNKNOWN and MIG_CONFIG_LABEL in labels:
        return ("labels", MIG_CONFIG_LABEL)
    return ()


def _strategy(offer: Offer, title: str, place: FieldPath) -> Iterator[Problem]:
    state, config = offer.mig, offer.config
    if config is None or not state.instances or state.by == "bottlerocket":
        return
    devices = ", ".join(f"{count} of {name}" for name, count in state.instances.items())
    if config.mig_strategy == "none":
        yield Problem(
            NO_STRATEGY,
            offer.kind.nodes.source,
            place,
            f"{title} has MIG devices ({devices}), and its device plugin the MIG strategy none.",
            "Set `migStrategy: mixed` in the plugin's configuration or its chart's values; single "
            "where all devices of a node are alike.",
        )
    elif config.mig_strategy == "single" and (len(state.instances) > 1 or state.whole):
        whole = f", and {state.whole} whole GPUs" if state.whole else ""
        names = ", ".join(mig_resource(name) for name in state.instances)
        yield Problem(
            NOT_UNIFORM,
            offer.kind.nodes.source,
            place,
            f"{title} has MIG devices of several kinds ({devices}{whole}), and its device plugin "
            "the MIG strategy single.",
            f"Use the strategy mixed, with which pods ask for {names}; or a layout of one profile.",
        )


def _by_hand(inventory: Inventory, cluster: str) -> Iterator[Problem]:
    """Labels that somebody gives to nodes one by one, where no node of the cluster can do it."""
    kinds = [node for node in gpu_nodes(inventory, cluster) if not node.is_partial]
    for nodes in inventory.of(NodeSet, cluster):
        named = _label(nodes)
        is_partial = nodes.provisioner == "byHand" and not nodes.instance_types
        if not is_partial or named in (None, UNKNOWN):
            continue
        state = mig_state(inventory, NodeKind(nodes, None))
        if state.is_known_name is False and len(mig_managers(inventory, cluster)) == 1:
            yield _not_there(inventory, nodes, named)
        elif kinds:
            yield from _nowhere_possible(inventory, kinds, nodes, named)


def _nowhere_possible(
    inventory: Inventory, kinds: Sequence[NodeKind], nodes: NodeSet, named: str
) -> Iterator[Problem]:
    """A layout that none of the nodes with GPUs can have."""
    states = [
        mig_state(inventory, NodeKind(_labelled(kind.nodes, nodes), kind.type)) for kind in kinds
    ]
    if all(state.problems for state in states):
        first = states[0].problems[0]
        listed = ", ".join(dict.fromkeys(kind.type.name for kind in kinds if kind.type))
        yield Problem(
            CANNOT,
            nodes.source,
            ("labels", MIG_CONFIG_LABEL),
            f"{at_start(nodes.source.name)} gives nodes the MIG layout {named}, and the nodes "
            f"with GPUs are {listed}. {first.message}",
            first.fix,
        )


def _label(nodes: NodeSet) -> Any:
    labels = nodes.labels
    found = UNKNOWN if labels is UNKNOWN else labels.get(MIG_CONFIG_LABEL)
    return found if found in (None, UNKNOWN) else str(text(found))


def _labelled(nodes: NodeSet, by_hand: NodeSet) -> NodeSet:
    """Nodes as they are once somebody has labelled them."""
    from dataclasses import replace

    own: Mapping[str, Any] = {} if nodes.labels is UNKNOWN else nodes.labels
    more: Mapping[str, Any] = {} if by_hand.labels is UNKNOWN else by_hand.labels
    return replace(nodes, labels={**own, **more})


@edge(NOBODY_APPLIES, NO_LAYOUT, MAP_MISSING, KEY_MISSING, NO_YAML)
def managers(inventory: Inventory) -> Iterator[Judgement]:
    """MIG manager itself, and the ConfigMap that it is given."""
    for cluster in inventory.clusters():
        found = mig_managers(inventory, cluster)
        for release in found:
            yield from _map(inventory, release)
            yield from _default(inventory, release)
        every = daemons(inventory, cluster)
        if found or any(daemon.role == "migManager" for daemon in every):
            continue
        plugins = [daemon for daemon in every if daemon.role == "plugin"]
        if not plugins and not inventory.complete:
            continue
        switches = (
            at(each.values, "migManager", "enabled")
            for each in inventory.of(Release, cluster)
            if chart_of(each.chart) == OPERATOR_CHART
        )
        beside: Severity = "warning" if False in switches else "info"
        for nodes in inventory.of(NodeSet, cluster):
            named = _label(nodes)
            if named in (None, UNKNOWN, "all-disabled"):
                continue
            yield Problem(
                NOBODY_APPLIES,
                nodes.source,
                ("labels", MIG_CONFIG_LABEL),
                f"{at_start(nodes.source.name)} has the label {MIG_CONFIG_LABEL}={named}, and no "
                "MIG manager is here to apply it.",
                "Install the GPU Operator with migManager.enabled, or cut the GPUs at boot.",
                None if inventory.complete else beside,
            )


def _map(inventory: Inventory, release: Release) -> Iterator[Judgement]:
    if release.values is UNKNOWN:
        return
    block = at(release.values, "migManager", "config")
    name = at(block, "name")
    if UNKNOWN in (block, name):
        what = f"MIG manager's ConfigMap of {release.source.name}"
        yield NotSeen(MAP_MISSING, release.source, what)
        return
    if not name or at(block, "data") or name == OF_THE_OPERATOR:
        return
    place = value_place(release, ("migManager", "config", "name"))
    maps = inventory.of(ConfigMap, release.cluster)
    named = [config_map for config_map in maps if config_map.name == name]
    here = [
        config_map for config_map in named if may_be_same(config_map.namespace, release.namespace)
    ]
    if named and not here:
        message = (
            f"{at_start(release.source.name)} is in the namespace {release.namespace}, and the "
            f"ConfigMap {name} of MIG manager in {named[0].namespace}. A pod reads ConfigMaps of "
            "its own namespace only."
        )
        fix = f"Make the ConfigMap in the namespace {release.namespace}."
        yield Problem(MAP_MISSING, release.source, place, message, fix)
    elif not here and not any(config_map.name is UNKNOWN for config_map in maps):
        message = (
            f"{at_start(release.source.name)} names the ConfigMap {name} for MIG manager, which is "
            "not here."
        )
        fix = "Make it before the chart, in the namespace of the release, or remove the name."
        yield Problem(MAP_MISSING, release.source, place, message, fix, if_missing(inventory))
    elif here and here[0].data is not UNKNOWN and CONFIG_KEY not in here[0].data:
        keys = ", ".join(here[0].data) or "none"
        message = f"{at_start(here[0].source.name)} has the keys {keys}; MIG manager reads one."
        fix = f"Call it {CONFIG_KEY}."
        yield Problem(KEY_MISSING, here[0].source, ("data",), message, fix)
    elif (
        here
        and isinstance(given := at(here[0].data, CONFIG_KEY), str)
        and (wrong := not_yaml(given))
    ):
        message = f"The MIG layouts of {here[0].source.name} are no YAML: {wrong}."
        fix = "Correct the text; `nvidia-mig-parted assert` reads it as MIG manager does."
        yield Problem(NO_YAML, here[0].source, ("data", CONFIG_KEY), message, fix)


def _default(inventory: Inventory, release: Release) -> Iterator[Problem]:
    """The layout that the operator names to nodes without the label."""
    path = ("migManager", "config", "default")
    name = text(at(release.values, *path))
    configs = mig_configs(inventory, release.cluster)
    if name in ("", None, UNKNOWN, ALL_DISABLED) or configs is UNKNOWN:
        return
    if name in configs if configs is not None else is_of_nvidia(name) or not inventory.complete:
        return
    listed = "those that it makes of the GPUs" if configs is None else ", ".join(configs) or "none"
    yield Problem(
        NO_LAYOUT,
        release.source,
        value_place(release, path),
        f"MIG manager of {release.source.name} has the default {name} for nodes without the label "
        f"{MIG_CONFIG_LABEL}; its layouts are {listed}.",
        f'Name one of those, or set `{".".join(path)}: ""`, which leaves such nodes alone.',
    )
