"""Releases of charts, and since which of them NVIDIA's two can do what pools ask for.

A version before that is installed without a word: what its templates do not read is ignored, and
what its programs do not know is dropped. Read on 2026-11-22 in the charts and sources of each tag.
"""

from __future__ import annotations

import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Ability = Literal["config", "mig", "mps", "several", "attributes"]
"""config: a configuration for each node. mig: a MIG strategy for each node. mps: sharing by MPS.
several: MPS that lets a pod have several shares. attributes: MIG profiles told apart by what is
behind a sign, such as `+gfx` or `-me`."""
Version = tuple[int, int, int, int, tuple[tuple[int, int, str], ...]]
"""A version that compares as semver.org has it."""


class ChartHistory(NamedTuple):
    """What is known of a chart's versions.

    Attributes:
        chart: name of the chart.
        releases: the published versions without a leading v, oldest first.
        since: first version with each ability.
        source: where the list of versions was read.

    """

    chart: str
    releases: tuple[str, ...]
    since: Mapping[Ability, str]
    source: str

    @property
    def newest(self) -> str:
        """The newest release that this table knows."""
        return self.releases[-1]


_VERSION = re.compile(
    r"v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
    r"(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)


def parse_version(text: str) -> Version | None:
    """An exact version, None if the text is none: https://semver.org, with an optional v."""
    matched = _VERSION.fullmatch(text)
    if matched is None:
        return None
    parts = (
        tuple(_identifier(identifier) for identifier in matched[4].split(".")) if matched[4] else ()
    )
    return (int(matched[1]), int(matched[2]), int(matched[3]), not parts, parts)


def is_before(version: object, since: str) -> bool:
    """Whether a version is sure to be older than another; one that is not known is not."""
    exact, first = parse_version(str(version)), parse_version(since)
    return exact is not None and first is not None and exact < first


def _identifier(text: str) -> tuple[int, int, str]:
    """Numbers come before words, and in their own order."""
    return (0, int(text), "") if text.isascii() and text.isdecimal() else (1, 0, text)


@cache
def chart_history(chart: str) -> ChartHistory | None:
    """What is known of the versions of a chart such as "gpu-operator"; None if nothing is."""
    return _HISTORIES.get(chart)


def _texts(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Values `config.name` and `config.map` came with 0.12.0-rc.5 (rc.4 had `config.files`, and before
# there was none), together with cmd/config-manager and api/config/v1; MPS with 0.15.0-rc.1
# (cmd/mps-control-daemon). Commit f14d3d12 lets MPS have several shares, and pull request 1807
# tells profiles apart by their attributes; both are in 0.20.0 only.
PLUGIN_SINCE: Mapping[Ability, str] = MappingProxyType(
    {
        "config": "0.12.0-rc.5",
        "mig": "0.12.0-rc.5",
        "mps": "0.15.0-rc.1",
        "several": "0.20.0",
        "attributes": "0.20.0",
    }
)
"""Since when the device plugin itself has each ability, whoever installs it."""

_DEVICE_PLUGIN = ChartHistory(
    "nvidia-device-plugin",
    _texts(
        "0.6.0 0.7.0-rc.1 0.7.0-rc.2 0.7.0-rc.3 0.7.0-rc.4 0.7.0-rc.5 0.7.0-rc.6 0.7.0-rc.7 "
        "0.7.0-rc.8 0.7.0 0.7.1 0.7.2 0.7.3 0.8.0 0.8.1 0.8.2 0.9.0 0.10.0 0.11.0 0.12.0-rc.1 "
        "0.12.0-rc.2 0.12.0-rc.3 0.12.0-rc.4 0.12.0-rc.5 0.12.0-rc.6 0.12.0 0.12.1 0.12.2 0.12.3 "
        "0.13.0-rc.1 0.13.0-rc.2 0.13.0-rc.3 0.13.0 0.14.0-rc.1 0.14.0-rc.2 0.14.0-rc.3 0.14.0 "
        "0.14.1 0.14.2 0.14.3 0.14.4 0.14.5 0.15.0-rc.1 0.15.0-rc.2 0.15.0 0.15.1 0.16.0-rc.1 "
        "0.16.0 0.16.1 0.16.2 0.17.0-rc.1 0.17.0 0.17.1 0.17.2 0.17.3 0.17.4 0.18.0 0.18.1 0.18.2 "
        "0.19.0 0.19.1 0.19.2 0.19.3 0.20.0"
    ),
    PLUGIN_SINCE,
    "https://nvidia.github.io/k8s-device-plugin/index.yaml",
)

# `devicePlugin.config` came with v1.11.0. Until v22.9.2 an empty `mig.strategy` made every node's
# strategy none (applyMIGConfiguration in controllers/object_controls.go), and the ClusterPolicy
# knew no `migManager.config.default`. The assets state-mps-control-daemon came with v24.3.0, and
# device plugin 0.20.0 with v26.7.0.
_GPU_OPERATOR = ChartHistory(
    "gpu-operator",
    _texts(
        "1.0.0 1.1.0 1.1.1 1.1.2 1.1.3 1.1.4 1.1.5 1.1.6 1.1.7 1.2.0 1.3.0 1.4.0 1.5.0 1.5.1 1.5.2 "
        "1.6.0 1.6.1 1.6.2 1.7.0 1.7.1 1.8.0 1.8.1 1.8.2 1.9.0-beta 1.9.0 1.9.1 1.10.0 1.10.1 "
        "1.11.0 1.11.1 22.9.0 22.9.1 22.9.2 23.3.0 23.3.1 23.3.2 23.6.0 23.6.1 23.6.2 23.9.0 "
        "23.9.1 23.9.2 24.3.0 24.6.0 24.6.1 24.6.2 24.9.0 24.9.1 24.9.2 25.3.0 25.3.1 25.3.2 "
        "25.3.3 25.3.4 25.10.0 25.10.1 26.3.0 26.3.1 26.3.2 26.3.3 26.7.0"
    ),
    MappingProxyType(
        {
            "config": "1.11.0",
            "mig": "23.3.0",
            "mps": "24.3.0",
            "several": "26.7.0",
            "attributes": "26.7.0",
        }
    ),
    "https://github.com/NVIDIA/gpu-operator/tags",
)

# Before 9.13.0 a flag could be given once only, and pods were not spread. No ability of the other
# charts has a meaning here.
_CLUSTER_AUTOSCALER = ChartHistory(
    "cluster-autoscaler",
    _texts(
        "9.13.0 9.13.1 9.14.0 9.15.0 9.16.0 9.16.1 9.16.2 9.17.0 9.17.1 9.17.2 9.18.0 9.18.1 "
        "9.19.0 9.19.1 9.19.2 9.19.3 9.19.4 9.20.0 9.20.1 9.21.0 9.21.1 9.22.0 9.23.0 9.23.1 "
        "9.23.2 9.24.0 9.25.0 9.26.0 9.27.0 9.28.0 9.29.0 9.29.1 9.29.2 9.29.3 9.29.4 9.29.5 "
        "9.30.0 9.30.1 9.31.0 9.32.0 9.32.1 9.33.0 9.34.0 9.34.1 9.35.0 9.36.0 9.37.0 9.38.0 "
        "9.39.0 9.39.1 9.40.0 9.41.0 9.42.0 9.43.0 9.43.1 9.43.2 9.43.3 9.44.0 9.45.0 9.45.1 "
        "9.46.0 9.46.1 9.46.2 9.46.3 9.46.4 9.46.5 9.46.6 9.47.0 9.48.0 9.49.0 9.50.0 9.50.1 "
        "9.51.0 9.52.0 9.52.1 9.53.0 9.54.0 9.54.1 9.55.0 9.55.1 9.56.0 9.57.0 9.58.0 9.59.0"
    ),
    MappingProxyType({}),
    "https://kubernetes.github.io/autoscaler/index.yaml",
)

_HISTORIES = {
    history.chart: history for history in (_DEVICE_PLUGIN, _GPU_OPERATOR, _CLUSTER_AUTOSCALER)
}
