"""Parts of GPUs that pods ask Volcano for, and a scheduler that is not told to look at them.

Source: `pkg/scheduler/plugins/deviceshare/deviceshare.go` of
https://github.com/volcano-sh/volcano, release 1.12: until 1.8.2 the plugin predicates had these
arguments, and called them `predicate.`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.go_yaml import first_document
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import ConfigMap, Release, Workload
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.charts import VOLCANO
from eks_gpushare.manifests.rules.other_schedulers import NOT_ASKED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_KEY: Final = "volcano-scheduler.conf"
_OVERRIDE: Final = ("custom", "scheduler_config_override")
_PLUGIN, _FORMER = "deviceshare", "predicate."
_SWITCHES: Final = {
    "volcano.sh/vgpu-number": "deviceshare.VGPUEnable",
    "volcano.sh/gpu-memory": "deviceshare.GPUSharingEnable",
    "volcano.sh/gpu-number": "deviceshare.GPUNumberEnable",
}
"""What makes the scheduler look at a resource."""


@edge(NOT_ASKED)
def switched_on(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods and a configuration of Volcano's scheduler that are both here."""
    for cluster in inventory.clusters():
        maps = [each for each in _told(inventory, cluster) if _conf(each) is not None]
        wanted: dict[str, Workload] = {}
        for workload in inventory.of(Workload, cluster) if len(maps) == 1 else ():
            for resource in () if is_guide(workload.source.file) else _asked(workload):
                wanted.setdefault(resource, workload)
        for resource, workload in wanted.items():
            arguments = _arguments(_conf(maps[0]))
            name = _SWITCHES[resource]
            if arguments is None or has_unknown(arguments) or is_guide(maps[0].source.file):
                continue
            given = arguments.get(name)
            if str(text(given)).lower() in ("none", "", "false"):
                others = [key for key in arguments if key.startswith(_FORMER)]
                has = f"has {others[0]}, which it does not read" if others else "has it not on"
                yield Problem(
                    NOT_ASKED,
                    maps[0].source,
                    ("data", _KEY) if isinstance(maps[0], ConfigMap) else _OVERRIDE,
                    f"{at_start(workload.source.name)} asks for {resource}, for which Volcano's "
                    f"plugin {_PLUGIN} has to have {name}; it {has}.",
                    f"Write `{name}: true` under its arguments.",
                    "warning",
                )


def _asked(workload: Workload) -> Iterator[str]:
    for _, container in containers(workload.spec):
        for key, _ in pairs(at(container, "resources", "limits")):
            if key in _SWITCHES:
                yield key


def _told(inventory: Inventory, cluster: str) -> Iterator[ConfigMap | Release]:
    """What may configure the scheduler: a ConfigMap, or values of Volcano's chart."""
    yield from inventory.of(ConfigMap, cluster)
    yield from (each for each in inventory.of(Release, cluster) if each.chart == VOLCANO)


def _conf(given: ConfigMap | Release) -> str | None:
    if isinstance(given, Release):
        found = at(given.values, *_OVERRIDE)
    else:
        found = None if given.data is UNKNOWN else given.data.get(_KEY)
    # What a template has yet to fill in decides.
    return found if isinstance(found, str) and "{{" not in found else None


def _arguments(conf: str | None) -> dict[str, Any] | None:
    """Those of the plugin, none where it is not there; None where older releases are told."""
    try:
        value = first_document(conf or "")
    except ValueError:
        return None
    plugins = [each for tier in items(at(value, "tiers")) for each in items(at(tier, "plugins"))]
    before = [each for each in plugins if at(each, "name") == "predicates"]
    if any(key.startswith(_FORMER) for each in before for key, _ in pairs(at(each, "arguments"))):
        return None
    if has_unknown(value) or not plugins:
        return None
    found = [at(each, "arguments") for each in plugins if at(each, "name") == _PLUGIN]
    return dict(pairs(found[0])) if found else {}
