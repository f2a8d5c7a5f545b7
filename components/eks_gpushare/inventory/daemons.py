"""DaemonSets for GPU nodes: those that charts make of their values, and those written out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.chart_daemonsets import (
    CHART_DAEMONSETS,
    OPERATOR_CHART,
    DaemonSetValues,
    Role,
    chart_of,
)
from eks_gpushare.catalog.chart_releases import is_before
from eks_gpushare.documents.image import image_name
from eks_gpushare.inventory.items import Release, Workload
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, holds, items, switch, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.source import Maybe, Source

TITLES: dict[Role, str] = {
    "plugin": "the device plugin",
    "discovery": "GPU feature discovery",
    "nfd": "the NFD worker",
    "mps": "the MPS control daemon",
    "migManager": "MIG manager",
    "exporter": "the DCGM exporter",
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = ("nodeAffinity", _REQUIRED, "nodeSelectorTerms")

_PROGRAMS: tuple[tuple[str, Role], ...] = (
    ("mps-control-daemon", "mps"),
    ("gpu-feature-discovery", "discovery"),
    ("nvidia-mig-manager", "migManager"),
    ("k8s-mig-manager", "migManager"),
    ("nfd-worker", "nfd"),
    ("node-feature-discovery", "nfd"),
    ("dcgm-exporter", "exporter"),
    ("nvidia-device-plugin", "plugin"),
    ("k8s-device-plugin", "plugin"),
)
"""Programs and images by what they do; the first that is named counts."""
_MANAGER = "config-manager"


@dataclass(frozen=True, slots=True)
class Daemon:
    """A DaemonSet for GPU nodes."""

    item: Release | Workload
    """What it comes from."""
    role: Role
    spec: Any
    """What of its pods' spec says where they go."""
    place: FieldPath
    """Where its tolerations are written or would be, below the item's source."""
    setting: str
    """How its tolerations are called: `tolerations` of a manifest, `nfd.worker.tolerations`."""
    is_on: bool | None = True
    """Whether it is there at all, None where that is not known."""

    @property
    def source(self) -> Source:
        """Where it was read."""
        return self.item.source

    @property
    def title(self) -> str:
        """How messages call it: `the NFD worker of the Release plugin`."""
        return f"{TITLES[self.role]} of {self.source.name}"

    @property
    def chart(self) -> str | None:
        """The chart that it is of."""
        return chart_of(self.item.chart) if isinstance(self.item, Release) else None

    @property
    def of_operator(self) -> bool:
        """Whether the GPU Operator makes it, on nodes that NFD has labelled for it."""
        return self.chart == OPERATOR_CHART and self.role != "nfd"


@kept
def daemons(inventory: Inventory, cluster: str) -> tuple[Daemon, ...]:
    """The DaemonSets for GPU nodes of a cluster, but those that are switched off."""
    found = [
        *(daemon for release in inventory.of(Release, cluster) for daemon in _of_chart(release)),
        *(daemon for workload in inventory.of(Workload, cluster) for daemon in _written(workload)),
    ]
    return tuple(daemon for daemon in found if daemon.is_on is not False)


def _of_chart(release: Release) -> Iterator[Daemon]:
    for values in CHART_DAEMONSETS.get(chart_of(release.chart) or "", ()):
        yield Daemon(
            release,
            values.role,
            _spec(release, values),
            value_place(release, values.tolerations),
            ".".join(values.tolerations),
            _is_on(release.values, values),
        )


def _is_on(given: Any, values: DaemonSetValues) -> bool | None:
    if given is UNKNOWN:
        return None if values.switches else values.on
    for path in values.switches:
        if (found := at(given, *path)) is not None:
            turned = switch(found)
            return None if turned is UNKNOWN else bool(turned)
    return values.on


def _spec(release: Release, values: DaemonSetValues) -> Any:
    given: Any = release.values
    if given is UNKNOWN:
        return UNKNOWN
    spec: dict[str, Any] = {"tolerations": _tolerations(given, values)}
    selector = at(given, *values.node_selector) if values.node_selector else None
    if selector is UNKNOWN:
        spec["nodeSelector"] = UNKNOWN
    else:
        own = selector if isinstance(selector, dict) else {}
        spec["nodeSelector"] = {**own, **values.fixed_selector}
    spec["affinity"] = _affinity(given, values, release.version)
    return spec


def _tolerations(given: Any, values: DaemonSetValues) -> Any:
    found = at(given, *values.tolerations)
    if found is UNKNOWN:
        return UNKNOWN
    kept = values.empty_is_default and not found
    if kept or not holds(given, *values.tolerations):
        return list(values.default_tolerations)
    return items(found)


def _affinity(given: Any, values: DaemonSetValues, version: Maybe[str]) -> Any:
    """Helm merges mappings, so that a chart's terms stay unless a list takes their place."""
    if values.affinity is None:
        return {}
    found = at(given, *values.affinity)
    if not values.default_terms or found is UNKNOWN or is_before(version, values.terms_since):
        return found or {}
    places = accumulate(_TERMS, lambda above, key: (*above, key), initial=values.affinity)
    if any(holds(given, *path) and at(given, *path) is None for path in places):
        return {}  # null takes the chart's own away
    terms = at(found, *_TERMS)
    if terms is None:
        terms = list(values.default_terms)
    return {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}


def _written(workload: Workload) -> Iterator[Daemon]:
    """A DaemonSet written out runs one of the programs, or several in containers of one pod."""
    if workload.kind != "DaemonSet":
        return
    role = role_of(workload.spec)
    if role is not None:
        place = (*workload.spec_path, "tolerations")
        yield Daemon(workload, role, workload.spec, place, "tolerations")


def may_be_more(inventory: Inventory, cluster: str) -> bool:
    """Whether a DaemonSet may be one for GPUs, of which it is not known what it runs."""
    for workload in inventory.of(Workload, cluster):
        if workload.kind != "DaemonSet" or role_of(workload.spec) is not None:
            continue
        listed = at(workload.spec, "containers")
        if listed is UNKNOWN or any(at(item, "image") is UNKNOWN for item in items(listed)):
            return True
    return False


def role_of(spec: Maybe[Any]) -> Role | None:
    """What the pods of a spec do for GPU nodes, by the programs that they run."""
    return next((role for each in items(at(spec, "containers")) if (role := _role(each))), None)


def plugin_container(spec: Maybe[Any]) -> Any:
    """The container of the device plugin among those of its pods; None where there is none."""
    return next((each for each in items(at(spec, "containers")) if _role(each) == "plugin"), None)


def config_manager(spec: Maybe[Any]) -> Any:
    """The container that gives the plugin its configuration by a label of the node, if any."""
    return next((one for one in items(at(spec, "containers")) if _MANAGER in _words(one)), None)


def _role(container: Any) -> Role | None:
    words = _words(container)
    if _MANAGER in words:
        return None  # of the plugin's image, and beside feature discovery and MPS as well
    return next((role for program, role in _PROGRAMS if program in words), None)


def _words(container: Any) -> list[str]:
    """The programs that a container names, and its image without registry and tag."""
    command = [str(text(part)) for key in ("command", "args") for part in items(at(container, key))]
    image = image_name(str(text(at(container, "image"))))
    return [*(part.rpartition("/")[2] for part in command), image]
