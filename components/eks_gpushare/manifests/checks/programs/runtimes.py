"""What needs NVIDIA's container runtime on nodes where another one is the default.

Sources, November 2026: "NVIDIA Container Runtime Support" of https://docs.k3s.io/advanced,
"Prerequisites" of https://github.com/NVIDIA/k8s-device-plugin, and `runtimeClassName` of the values
of its chart and of that of https://github.com/NVIDIA/dcgm-exporter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, PLUGIN_CHART, chart_of
from eks_gpushare.inventory.daemons import Daemon, daemons
from eks_gpushare.inventory.items import PART_OF_POD, NodeSet, Pointer, Release, Workload
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.starting import OTHER_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_HANDLER: Final = "nvidia"
_KEY: Final = "runtimeClassName"
_NEED_IT: Final = ("plugin", "discovery", "exporter")
_OTHER_WAYS: Final = ("driver-root", "driver_root", "driverroot", "ld_library_path", "cdi")
"""Signs that libraries and devices come in another way."""


@edge(OTHER_RUNTIME)
def runtimes(inventory: Inventory) -> Iterator[Judgement]:
    """Where the plugin names a class of NVIDIA's, or pods one that is here, it is no default.

    On EKS's images for GPUs NVIDIA's is, and the GPU Operator makes it so.
    """
    for cluster in inventory.clusters():
        releases = inventory.of(Release, cluster)
        of_aws = any(each.provisioner != "byHand" for each in inventory.of(NodeSet, cluster))
        if of_aws or any(chart_of(each.chart) == OPERATOR_CHART for each in releases):
            continue
        names = {
            each.name
            for each in inventory.of(Pointer, cluster)
            if each.kind == "RuntimeClass" and at(each.spec, "handler") == _HANDLER
        } - {UNKNOWN}
        user = next(_users(inventory, cluster, names), None)
        if user is None:
            continue
        every = daemons(inventory, cluster)
        first: dict[int, Daemon] = {}
        for daemon in filter(_lacks, every):
            first.setdefault(id(daemon.item), daemon)
        yield from (_of_daemon(daemon, user) for daemon in first.values())
        named = any(each.role == "plugin" and _names_one(each, names) for each in every)
        if named and isinstance(user, Workload):
            for workload, requests in gpu_workloads(inventory, cluster):
                if _lacks_key(workload) and not _has_other_way(workload.spec):
                    yield Problem(
                        OTHER_RUNTIME,
                        workload.source,
                        workload.spec_path,
                        f"{at_start(workload.source.name)} asks for {requests[0].resource} and has "
                        f"no {_KEY}, which the device plugin and {user.source.name} have.",
                        f"Write {_KEY}: {_HANDLER}.",
                    )


def _users(inventory: Inventory, cluster: str, names: set[Any]) -> Iterator[Workload | Release]:
    """Who names a class: pods, and a plugin's chart, whether or not the class is here too."""
    for each in inventory.of(Workload, cluster):
        if each.kind != PART_OF_POD and str(at(each.spec, _KEY)) in names:
            yield each
    for release in inventory.of(Release, cluster):
        if chart_of(release.chart) == PLUGIN_CHART and at(release.values, _KEY) == _HANDLER:
            yield release


def _lacks_key(workload: Workload) -> bool:
    """What KServe makes of a `model` has the fields beside that."""
    spec, above = workload.spec, at(value_of(workload), *workload.spec_path[:-1], _KEY)
    return spec is not UNKNOWN and not above and not at(spec, _KEY) and not at(spec, "nodeName")


def _given(daemon: Daemon) -> Any:
    return daemon.item.values if isinstance(daemon.item, Release) else daemon.item.spec


def _names_one(daemon: Daemon, names: set[Any]) -> bool:
    return str(at(_given(daemon), _KEY)) in names


def _lacks(daemon: Daemon) -> bool:
    """Whether it is started by what is the default, as far as is known."""
    given = _given(daemon)
    if daemon.role not in _NEED_IT or daemon.is_on is not True or given is UNKNOWN:
        return False
    return not at(given, _KEY) and not _has_other_way(given)


def _has_other_way(given: Any) -> bool:
    shown = str(given).lower()
    return has_unknown(at(given, _KEY)) or any(sign in shown for sign in _OTHER_WAYS)


def _of_daemon(daemon: Daemon, user: Workload | Release) -> Problem:
    is_release = isinstance(daemon.item, Release)
    given = user.values if isinstance(user, Release) else user.spec
    place = value_place(daemon.item, (_KEY,)) if is_release else daemon.item.spec_path  # type: ignore[arg-type,union-attr]
    return Problem(
        OTHER_RUNTIME,
        daemon.source,
        place,
        f"{at_start(daemon.title)} has no {_KEY}, and {user.source.name} has "
        f"{text(at(given, _KEY))}, so that another runtime is the default.",
        f"Write {_KEY}: {_HANDLER}{' into its values' if is_release else ''}.",
    )
