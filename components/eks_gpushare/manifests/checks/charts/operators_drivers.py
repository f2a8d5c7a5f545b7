"""Which drivers the GPU Operator is told to install: by its values, and by objects of its own.

Sources, November 2026: issues 170, 1795 and 2355 of NVIDIA/gpu-operator, and "NVIDIA Driver Custom
Resource Definition" of https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.catalog.chart_releases import is_before
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import Pointer, Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

OTHER_DRIVER: Final = Rule(
    "GPU1281",
    "error",
    "The GPU Operator is told of one driver for a node, by a version as it pulls it.",
    "It adds the system of the node to the version, and pulls no image that has it twice. Of two "
    "objects for one node it reconciles none, and one that its chart makes counts as another.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-driver-configuration.html",
)
_KIND: Final = "NVIDIADriver"
_SYSTEM: Final = re.compile(
    r"[0-9.]+-((?:ubuntu|rhel|rhcos|centos|amzn|sles|sle|flatcar|debian|rocky)[0-9.]*)"
)
_SWITCH: Final = ("driver", "nvidiaDriverCRD", "enabled")
_DEFAULT: Final = ("driver", "nvidiaDriverCRD", "deployDefaultCR")
_OFF_COUNTS_SINCE: Final = "25.10.0"
"""The first version of the chart that may heed `driver.enabled: false` for the object too."""
_OWN_COUNTS_SINCE: Final = "26.7.0"
"""The first version whose default object leaves nodes to others."""


@edge(OTHER_DRIVER)
def operators_drivers(inventory: Inventory) -> Iterator[Judgement]:
    """Of releases whose values are known, and of objects."""
    for cluster in inventory.clusters():
        own = [each for each in inventory.of(Pointer, cluster) if each.kind == _KIND]
        for each in own:
            yield from _version(each.source, ("spec", "version"), at(each.spec, "version"))
        for release in inventory.of(Release, cluster):
            if chart_of(release.chart) != OPERATOR_CHART:
                continue
            place = ("driver", "version")
            given = at(release.values, *place)
            yield from _version(release.source, value_place(release, place), given)
            yield from _default_object(release, own)


def _version(source: Source, place: FieldPath, given: Any) -> Iterator[Problem]:
    found = _SYSTEM.fullmatch(given) if isinstance(given, str) else None
    if found is not None:
        yield Problem(
            OTHER_DRIVER,
            source,
            place,
            f"The driver of {source.name} is {given}, and the operator adds {found[1]} by itself.",
            f"Write {given.removesuffix(f'-{found[1]}')}.",
        )


def _default_object(release: Release, own: list[Pointer]) -> Iterator[Problem]:
    values, version = release.values, str(release.version).removeprefix("v")
    is_made = at(values, *_SWITCH) is True and at(values, *_DEFAULT) in (None, True)
    if not is_made or release.version in ("", UNKNOWN):
        return
    title = at_start(release.source.name)
    if at(values, "driver", "enabled") is False:
        if is_before(version, _OFF_COUNTS_SINCE):
            yield Problem(
                OTHER_DRIVER,
                release.source,
                value_place(release, _SWITCH),
                f"{title} has driver.enabled: false, and its chart makes an {_KIND} all the same, "
                "by which the operator installs a driver.",
                "Set `driver.nvidiaDriverCRD.enabled: false`.",
            )
    elif own and is_before(version, _OWN_COUNTS_SINCE):
        yield Problem(
            OTHER_DRIVER,
            release.source,
            value_place(release, _DEFAULT),
            f"{title} makes an {_KIND} for all nodes with GPUs, and {own[0].source.name} is for "
            "some of them: the operator reconciles neither.",
            "Set `driver.nvidiaDriverCRD.deployDefaultCR: false`.",
        )
