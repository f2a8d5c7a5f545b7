"""What goes with MPS and what does not, and how many may share a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.chart_daemonsets import PLUGIN_CHART
from eks_gpushare.catalog.mig import ALL_DISABLED
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.mps import most_clients, some_wait, user_of
from eks_gpushare.inventory.advertised import Offer, offers
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.mig_states import MIG_CONFIG_LABEL, mig_managers
from eks_gpushare.inventory.nodes import gpu_nodes
from eks_gpushare.inventory.plugin_configs import config_for, configs_of, plugin_settings
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import asks_for_none, gpu_workloads, requests_of
from eks_gpushare.inventory.shared_names import ANY_NODE, sharings
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


SEVERAL_USERS = rule_of("GPU1170")
NO_DAEMON = rule_of("GPU1171")
NOT_ON_MIG = rule_of("GPU1172")
TOO_MANY_CLIENTS = rule_of("GPU1173")
SHARED_MEMORY = rule_of("GPU1174")
_GUESSED = " Where no runAsUser is set, the image decides; root is assumed."
_DEPLOY_DAEMON = "Deploy mps-control-daemon of the plugin's image beside it, or use the chart."
_SHM = "/dev/shm"  # noqa: S108  (a place in a container)


@edge(NO_DAEMON, NOT_ON_MIG, TOO_MANY_CLIENTS)
def nodes_with_mps(inventory: Inventory) -> Iterator[Judgement]:
    """What the plugin and its daemon say to it."""
    for cluster in inventory.clusters():
        roles = {daemon.role for daemon in daemons(inventory, cluster)}
        discovers = "discovery" in roles
        yield from _no_daemon(inventory, cluster, discovers)
        yield from _no_root(inventory, cluster)
        yield from _cut_by_operator(inventory, cluster)
        said: set[tuple[int, str]] = set()
        for offer in offers(inventory, cluster).every:
            if offer.config is None or offer.config.sharing != "mps":
                continue
            for problem in _node(offer, inventory, discovers, "mps" in roles):
                once = (id(offer.kind.nodes), problem.rule.id)
                if once not in said:
                    said.add(once)
                    yield problem


def _no_daemon(inventory: Inventory, cluster: str, discovers: bool) -> Iterator[Problem]:  # noqa: FBT001  (of the cluster)
    """Plugins that share by MPS whatever nodes there are, and nothing that serves it."""
    if offers(inventory, cluster).every:
        return
    daemon_there = any(each.role == "mps" for each in daemons(inventory, cluster))
    for plugin, config in sharings(inventory, cluster):
        by_chart = plugin.chart == PLUGIN_CHART
        if config.sharing != "mps" or (discovers if by_chart else daemon_there):
            continue
        missing = "no MPS control daemon is here"
        fix = _DEPLOY_DAEMON
        if by_chart:
            missing = (
                "its daemon goes where nodes have the label nvidia.com/mps.capable=true: GPU "
                "feature discovery is off"
            )
            fix = "Set `gfd.enabled: true` of the chart."
        elif plugin.chart is not None:
            continue
        yield Problem(
            NO_DAEMON,
            plugin.source,
            (),
            f"{at_start(plugin.title)} shares GPUs by MPS, and {missing}.",
            fix,
            None if inventory.complete else "warning",
        )
        return


def _no_root(inventory: Inventory, cluster: str) -> Iterator[Problem]:
    """Plugins that are written out, which do not start without a folder for MPS.

    Source: `ValidateFlags` of cmd/nvidia-device-plugin/main.go in NVIDIA/k8s-device-plugin.
    """
    for plugin, config in sharings(inventory, cluster):
        if config.sharing != "mps" or not isinstance(plugin.item, Workload):
            continue
        spec = plugin.item.spec
        # Beside the plugin may be another program of its image.
        of_image = [
            (where, container)
            for where, container in containers(spec)
            if "device-plugin" in str(at(container, "image"))
        ]
        hidden = has_unknown(spec) or any(at(each, "envFrom") for _, each in of_image)
        told = any(plugin_settings(each).get("mps-root") for _, each in of_image)
        if of_image and not hidden and not told:
            yield Problem(
                NO_DAEMON,
                plugin.source,
                (*plugin.item.spec_path, *of_image[0][0]),
                f"{at_start(plugin.title)} shares GPUs by MPS and has no MPS_ROOT: it stops with "
                "`using MPS requires --mps-root to be specified`.",
                "Set MPS_ROOT to /run/nvidia/mps, and mount that of the host at /mps.",
            )


def _cut_by_operator(inventory: Inventory, cluster: str) -> Iterator[Problem]:
    """Nodes that the operator's MIG manager cuts by its default or by a label given by hand.

    Of those that are declared it is known what they have.
    """
    managers = mig_managers(inventory, cluster)
    default = at(managers[0].values, "migManager", "config", "default") if managers else None
    configs = configs_of(inventory, managers[0]) if len(managers) == 1 else None
    if configs is None:
        return
    kinds = [kind for kind in gpu_nodes(inventory, cluster) if kind.is_partial]
    found = [(at(kind.nodes.labels, MIG_CONFIG_LABEL), kind) for kind in kinds]
    if not offers(inventory, cluster).every:
        found.append((default, ANY_NODE))
    for layout, kind in found:
        config = config_for(configs, kind)
        if config is None or config.sharing != "mps" or config.mig_strategy == "none":
            continue
        if isinstance(layout, str) and layout not in ("", ALL_DISABLED):
            by_label = kind is not ANY_NODE
            yield Problem(
                NOT_ON_MIG,
                kind.nodes.source if by_label else managers[0].source,
                ("labels", MIG_CONFIG_LABEL) if by_label else (),
                f"MIG manager of {managers[0].source.name} cuts GPUs by the layout {layout}, and "
                "its device plugin shares them by MPS.",
                "Share them by timeSlicing, or leave the GPUs whole.",
                None if by_label else "warning",
            )


def _node(
    offer: Offer,
    inventory: Inventory,
    discovers: bool,  # noqa: FBT001  (of the cluster)
    served: bool,  # noqa: FBT001  (the same)
) -> Iterator[Problem]:
    nodes, config = offer.kind.nodes, offer.config
    title = at_start(nodes.source.name)
    if config is None:
        return
    if offer.mig.instances and config.mig_strategy != "none":
        yield Problem(
            NOT_ON_MIG,
            nodes.source,
            (),
            f"{title} has MIG devices, and its device plugin shares them by MPS.",
            "Share them by timeSlicing, or leave the GPUs whole.",
        )
    gpu = offer.kind.type.gpu if offer.kind.type else None
    most = max(config.replicas.values(), default=0)
    if gpu is not None and (limit := most_clients(gpu, most)) is not None:
        yield Problem(
            TOO_MANY_CLIENTS,
            nodes.source,
            (),
            f"The device plugin of {nodes.source.name} shares each GPU by MPS among {most}; a "
            f"{gpu.model} takes {limit}.",
            f"Set `replicas` to {limit} at most.",
        )
    by_chart = any(plugin.chart == PLUGIN_CHART for plugin in offer.plugins)
    capable = nodes.labels is not UNKNOWN and "nvidia.com/mps.capable" in nodes.labels
    if by_chart and not discovers and not capable and nodes.labels is not UNKNOWN:
        yield Problem(
            NO_DAEMON,
            nodes.source,
            (),
            f"{title} is to share GPUs by MPS, and nothing gives it the label "
            "nvidia.com/mps.capable=true: GPU feature discovery is off.",
            "Set `gfd.enabled: true` of the chart, or give the nodes the label.",
            None if inventory.complete else "warning",
        )
    by_hand = offer.plugins and all(plugin.chart is None for plugin in offer.plugins)
    if by_hand and not served:
        yield Problem(
            NO_DAEMON,
            nodes.source,
            (),
            f"{title} is to share GPUs by MPS, and no MPS control daemon is here.",
            _DEPLOY_DAEMON,
            None if inventory.complete else "warning",
        )


@edge(SEVERAL_USERS, SHARED_MEMORY)
def pods_with_mps(inventory: Inventory) -> Iterator[Judgement]:
    """Pods that may be on the same nodes."""
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        by_nodes: dict[int, list[tuple[Workload, Offer]]] = {}
        for workload, requests in gpu_workloads(inventory, cluster):
            found = [
                offer
                for offer in ground.places(workload, requests).seen
                if offer.config is not None
                and offer.config.sharing == "mps"
                and any(offer.is_shared(request.resource) for request in requests)
            ]
            if found:
                yield from _memory(workload, found[0])
            for offer in {id(offer.kind.nodes): offer for offer in found}.values():
                by_nodes.setdefault(id(offer.kind.nodes), []).append((workload, offer))
        for here in by_nodes.values():
            yield from _users(here)


def _users(here: Sequence[tuple[Workload, Offer]]) -> Iterator[Problem]:
    first: tuple[Workload, str] | None = None
    for workload, offer in here:
        users = users_of(workload)
        if users is None:
            continue
        first = first or (workload, users[0])
        if not some_wait([first[1], *users]):
            continue
        title, where = at_start(workload.source.name), offer.kind.nodes.source.name
        if some_wait(users):
            said = f"The containers of {workload.source.name} run as {_listed(users)}"
        else:
            said = f"{title} runs as {_user(users[0])} and {first[0].source.name} as "
            said += _user(first[1]).removeprefix("user ")
        unset = "" if _is_set(workload) and _is_set(first[0]) else _GUESSED
        yield Problem(
            SEVERAL_USERS,
            workload.source,
            (*workload.spec_path, "securityContext", "runAsUser"),
            f"{said}; {'they' if some_wait(users) else 'both'} share GPUs by MPS on {where}, where "
            f"one of the two is served at a time.{unset}",
            "Let both run as the same user, or give each its own pool.",
        )


def _user(user: str) -> str:
    return f"user {user}" if user.isascii() and user.isdecimal() else f"the user of {user}"


def _listed(users: Sequence[str]) -> str:
    return " and ".join(_user(user) for user in dict.fromkeys(users))


def users_of(workload: Workload) -> list[str] | None:
    """The users of the containers that ask for GPUs; None where one is not known, or none asks."""
    found = list(_settings(workload))
    if not found or any(has_unknown(term) for term in found):
        return None
    return [user_of(user, str(image), non_root=non_root is True) for user, non_root, image in found]


def _is_set(workload: Workload) -> bool:
    return all(user is not None for user, _, _ in _settings(workload))


def _settings(workload: Workload) -> Iterator[tuple[Any, Any, Any]]:
    """`runAsUser`, `runAsNonRoot` and image of each container that asks for GPUs."""
    asking = {request.container for request in requests_of(workload) if not asks_for_none(request)}
    for where, container in containers(workload.spec):
        if where[0] == "containers" and str(at(container, "name") or where[-1]) in asking:
            yield (
                _setting(workload.spec, container, "runAsUser"),
                _setting(workload.spec, container, "runAsNonRoot"),
                at(container, "image") or "",
            )


def _setting(spec: Any, container: Any, key: str) -> Any:
    """Of a security context, what the container says or else the pod."""
    own = at(container, "securityContext", key)
    return at(spec, "securityContext", key) if own is None else own


def _memory(workload: Workload, offer: Offer) -> Iterator[Problem]:
    for where, container in containers(workload.spec):
        for index, mount in enumerate(items(at(container, "volumeMounts"))):
            path = at(mount, "mountPath")
            if isinstance(path, str) and path.rstrip("/") == _SHM:
                yield Problem(
                    SHARED_MEMORY,
                    workload.source,
                    (*workload.spec_path, *where, "volumeMounts", index),
                    f"{at_start(workload.source.name)} mounts a volume at {_SHM} and shares GPUs "
                    f"by MPS on {offer.kind.nodes.source.name}.",
                    "Remove the mount: what the device plugin mounts there can be used as well.",
                )
