"""Charts that are not in the repository from which a command takes them.

Sources: `index.yaml` in the branches gh-pages of NVIDIA's k8s-device-plugin, gpu-operator,
dcgm-exporter, gpu-monitoring-tools and gpu-feature-discovery on GitHub, November 2026. What else
NVIDIA publishes at helm.ngc.nvidia.com is not known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.versions import DCGM_EXPORTER, DEVICE_PLUGIN, GPU_OPERATOR
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.lint.rules.shell import NO_CHART
from eks_gpushare.manifests.placeholders import GAP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.inventory.source import Source
    from eks_gpushare.manifests.shell.command import Word
    from eks_gpushare.manifests.shell.said import Said

_EXPORTERS: Final = "dcgm-exporter"
_DISCOVERY: Final = "gpu-feature-discovery"
_CHARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "k8s-device-plugin": ("nvidia-device-plugin", _DISCOVERY),
    "gpu-operator": ("gpu-operator",),
    "dcgm-exporter/helm-charts": (_EXPORTERS,),
    "dcgm-exporter": (),
    "gpu-monitoring-tools/helm-charts": (_EXPORTERS, "kube-prometheus", "prometheus-operator"),
    "gpu-feature-discovery": (_DISCOVERY,),
}
"""By their place at nvidia.github.io, of which some have a copy in `stable`."""
_PLACE: Final = re.compile(r"https?://nvidia\.github\.io/(.+?)(?:/stable)?/*")
_HOMES: Final = {
    each.name: each.repository for each in (DEVICE_PLUGIN, GPU_OPERATOR, DCGM_EXPORTER)
}


_ENDED: Final = {"charts.karpenter.sh": "0.16.3"}
"""Repositories that get no more charts, with the last version of those that they have: Karpenter is
an artifact of OCI since 0.17, https://karpenter.sh/docs/upgrading/upgrade-guide/."""


def last_of(addresses: Iterable[object]) -> str:
    """The last version that a repository has, if it gets no more; empty of any other.

    Args:
        addresses: Its addresses.
    """
    ended = (last for host, last in _ENDED.items() for each in addresses if host in str(each))
    return next(ended, "")


def added(plain: Sequence[Word], said: Said) -> None:
    """Take the name that `helm repo add` gives a repository."""
    match [word.text for word in plain]:
        case ["repo", "add", name, address]:
            said.repositories.setdefault(name, []).append(address)
        case _:
            pass


def not_there(
    reference: str, source: Source, said: Said, given: Word | None = None
) -> Iterator[Problem]:
    """What is said of a chart that no repository of the name before it has.

    Args:
        reference: The chart as a command names it.
        source: The release.
        said: What the text has said so far.
        given: The address of the repository where the command names it itself.
    """
    name, _, chart = reference.partition("/")
    addresses = said.repositories.get(name, [])
    if given is not None:
        addresses, chart = [given.text], reference
    places = [_PLACE.fullmatch(address) for address in addresses]
    known = [_CHARTS.get(place[1]) if place else None for place in places]
    charts = [each for each in known if each is not None]
    if not known or len(charts) < len(known) or GAP in chart:
        return
    if not chart or any(chart in each for each in charts):
        return
    has = ", ".join(charts[-1]) or "none"
    fix = f"It has {has}."
    if chart in _HOMES:
        fix = f"Take it from {_HOMES[chart]}."
    whence = f"{source.name[:1].upper()}{source.name[1:]} is taken from {addresses[-1]}"
    yield Problem(NO_CHART, source, (), f"{whence}, which has no {chart}.", fix)
