"""What Kueue counts of what pods ask for, by the configuration of its manager.

Source: `pkg/workload/workload.go` (`dropExcludedResources`, `applyResourceTransformations`) and
`apis/config/v1beta2/configuration_types.go` of https://github.com/kubernetes-sigs/kueue at ff69552.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.go_yaml import first_document
from eks_gpushare.inventory.items import ConfigMap, Pointer, Release
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.manifests.charts import KUEUE
from eks_gpushare.sharing.kueue import CONFIGURATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory

KIND: Final = "Configuration"
"""Of Kueue's configuration, as a pointer has it."""
_GROUP: Final = "config.kueue.x-k8s.io/"


class Counting(NamedTuple):
    """How Kueue takes the resources that pods ask for."""

    is_here: bool = False
    """Whether the configuration is among the files; the default counts all by their own names."""
    excluded: tuple[str, ...] = ()
    """Beginnings of names that are not counted."""
    made: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """By what is asked for the names that are counted for it."""
    only_declared: bool = False
    """Whether what a queue does not cover is passed over."""

    def names(self, resource: str) -> tuple[str, ...]:
        """What is counted of a resource."""
        if resource.startswith(self.excluded):
            return ()
        return dict(self.made).get(resource, (resource,))


@kept
def counting(inventory: Inventory, cluster: str) -> Counting | None:
    """How it counts in a cluster; None where that is not known, or said in two ways."""
    found = {_read(given) for given in _given(inventory, cluster)}
    return next(iter(found), Counting()) if len(found) <= 1 else None


def configuration(inventory: Inventory, cluster: str) -> Any:
    """The one configuration that is there; None where there is none, or several, or no YAML."""
    given = list(_given(inventory, cluster))
    if len(given) != 1:
        return None
    try:
        return first_document(given[0]) if isinstance(given[0], str) else given[0]
    except ValueError:
        return None


def _given(inventory: Inventory, cluster: str) -> Iterator[Any]:
    """Each configuration as it is written: an object, a text, None of a chart without one."""
    for pointer in inventory.of(Pointer, cluster):
        if pointer.kind == KIND:
            yield pointer.spec
    for release in inventory.of(Release, cluster):
        if release.chart.rstrip("/").rpartition("/")[2] == KUEUE:
            yield at(release.values, "managerConfig", CONFIGURATION)
    for each in inventory.of(ConfigMap, cluster):
        for value in each.data.values() if isinstance(each.data, dict) else ():
            if isinstance(value, str) and _GROUP in value:
                yield value


def _read(given: Any) -> Counting | None:
    if isinstance(given, str):
        try:
            given = first_document(given)
        except ValueError:
            return None
    resources = at(given, "resources")
    if has_unknown(resources):
        return None
    return Counting(
        is_here=True,
        excluded=tuple(str(each) for each in items(at(resources, "excludeResourcePrefixes"))),
        made=tuple(_made(each) for each in items(at(resources, "transformations"))),
        only_declared=at(resources, "quotaCheckStrategy") == "IgnoreUndeclared",
    )


def _made(given: Any) -> tuple[str, tuple[str, ...]]:
    name, outputs = str(text(at(given, "input"))), at(given, "outputs")
    made = tuple(str(key) for key in outputs) if isinstance(outputs, dict) else ()
    return name, made if at(given, "strategy") == "Replace" else (name, *made)
