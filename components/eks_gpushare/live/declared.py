"""What of a stack is told to whatever looks at its cluster from within.

Whoever may read ConfigMaps there reads it too, and it says who may do what, and what runs on nodes.
So it is a list of what is told, and not of what is left out: a key that a later release adds is
told to nobody until it is put here. Only what was set is told: a default that is written out is
something that nobody asked for, which the rules take at its word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from zlib import crc32

from eks_gpushare.config.base import Model
from eks_gpushare.config.project import ENVIRONMENT_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.findings.finding import Finding

_Told: TypeAlias = "Mapping[str, _Told] | None"
"""Keys that are told, `*` for each of a mapping; None of a value that is told whole."""
_Place: TypeAlias = tuple[str, ...]


def _whole(*keys: str) -> dict[str, _Told]:
    return dict.fromkeys(keys)


_CHARTS: Final = (
    *("devicePlugin", "gpuOperator", "karpenter", "karpenterCrd", "clusterAutoscaler"),
    *("efaDevicePlugin", "dcgmExporter", "keda", "kueue"),
)
_AMOUNT: Final[_Told] = _whole("shares", "sharesOf", "gpus", "gpuMemoryGiB")
_POOL: Final[_Told] = {
    **_whole("provisioner", "instanceTypes", "nodes", "amiFamily", "customAmi", "bottlerocket"),
    **_whole("amiVersion", "zones", "capacityType", "reservation", "labels", "taints", "sharing"),
    **_whole("scaledBy", "nodeRepair", "waitForDriver", "efa", "gpusOnRequestOnly"),
    "karpenter": _whole("static", "weight", "limits", "capacityTypes", "startupTaints"),
    "warm": _whole("shares", "nodes", "schedule"),
    "kubelet": _whole("maxPods"),
}
_TENANT: Final[_Told] = {
    **_whole("namespaces", "existingNamespaces", "isolation", "queue", "priority", "admission"),
    "pools": {"*": {"guaranteed": _AMOUNT, "maximum": _AMOUNT}},
}
_TOLD: Final[_Told] = {
    "cluster": {
        **_whole("name", "version", "supportType"),
        "existing": _whole("name", "kubeconfig"),
        "addons": _whole("prefixDelegation"),
    },
    "network": _whole("zones"),
    "gpuStack": _whole("manager", "namespace", "efaDevicePlugin", "dcgmExporter"),
    "pools": {"*": _POOL},
    "karpenter": _whole("install", "nodeRole"),
    "clusterAutoscaler": {},
    "tenants": {"*": _TENANT},
    "keda": _whole("install"),
    "charts": dict.fromkeys(_CHARTS, _whole("version", "path")),
    "catalog": None,
}

_NOT_EMPTY: Final = frozenset({("network",)})
"""Blocks that say something by being there, which is not meant where all in them is left out."""
_SOMEBODYS_ROLE: Final = "arn:aws:iam::111122223333:role/not-told"
_STAND_INS: Final[Mapping[_Place, str]] = {
    ("cluster", "existing", "kubeconfig"): "not-told",
    ("karpenter", "nodeRole"): _SOMEBODYS_ROLE,
    **{("charts", chart, "path"): "not-told" for chart in _CHARTS},
}
"""What stands for a value that a stack has to have, and that is nobody's business."""
_KNOWN_LATER: Final[Mapping[_Place, str]] = {
    ("pools", "*", "customAmi", "id"): "ami-assumed",
    ("pools", "*", "reservation", "id"): "cr-assumed-{}",
}
"""The same for one that is known once something else is made; each another one, since two pools
with one reservation are a mistake. Rules take these for IDs, and nothing is compared with them."""


def declared_side(environment: Environment, region: str | None) -> dict[str, Any]:
    """A stack file with what of an environment is to be seen in its cluster.

    It reads without a finding that the environment itself has not.

    Args:
        environment: The environment, in which values may be such as are known later.
        region: Its AWS region.
    """
    around = {"aws:region": region} if region is not None else {}
    return {"config": {**around, ENVIRONMENT_KEY: _told(environment, _TOLD, ())}}


def undeclared(text: str) -> Iterator[Finding]:
    """What of a text makes that what looks at a cluster would be told nothing by it.

    Args:
        text: The text of a stack file, as `ShareVerifier` takes it.
    """
    from eks_gpushare.rules.verifier import VERIFIER
    from eks_gpushare.stack_file.check import check_stack_file
    from eks_gpushare.stack_file.file import stack_file_of

    report = check_stack_file(stack_file_of(text, "stack"))
    wrong = next((found for found in report.findings if found.severity == "error"), None)
    if wrong is None and report.environment is not None:
        return
    what = (
        "it has no environment" if wrong is None else f"{wrong.path}: {wrong.message}".lstrip(": ")
    )
    yield VERIFIER.finding(
        ("stack",),
        f"The text declares nothing that the cluster could be compared with: {what}",
        "Give the text of a stack file that eks-gpushare check finds nothing wrong with, or remove "
        "the key: faults are then found whatever the cluster should be.",
    )


def _told(value: Any, keys: _Told, at: _Place) -> Any:
    if keys is None:
        return _plain(value, at)
    found = {}
    for key, inner in _items(value):
        wanted = key if key in keys else "*"
        if wanted not in keys:
            continue
        place = (*at, key)
        told = _STAND_INS.get(place) or _told(inner, keys[wanted], place)
        if told is not _NOTHING and (told != {} or place not in _NOT_EMPTY):
            found[key] = told
    return found


_NOTHING: Final = object()


def _plain(value: Any, at: _Place) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Model | Mapping):
        every = ((key, _plain(inner, (*at, key))) for key, inner in _items(value))
        return {key: inner for key, inner in every if inner is not _NOTHING}
    if isinstance(value, list | tuple):
        every_item = [_plain(inner, (*at, str(place))) for place, inner in enumerate(value)]
        return [inner for inner in every_item if inner is not _NOTHING]
    return _known_later(at)


def _known_later(at: _Place) -> Any:
    for place, stand_in in _KNOWN_LATER.items():
        if len(place) == len(at) and all(p in ("*", q) for p, q in zip(place, at, strict=True)):
            return stand_in.format(crc32(at[1].encode()))
    return _NOTHING


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """What was set of a model by its keys, or what is in a mapping."""
    if not isinstance(value, Model):
        yield from value.items()
        return
    for name, field in type(value).model_fields.items():
        if name in value.model_fields_set and name in value.__dict__:
            yield field.alias or name, value.__dict__[name]
