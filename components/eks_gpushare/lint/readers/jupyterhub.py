"""Values of JupyterHub's chart, from which pods of notebooks are made.

Sources: `jupyterhub/values.schema.yaml` of https://github.com/jupyterhub/zero-to-jupyterhub-k8s and
the options of `KubeSpawner`, https://jupyterhub-kubespawner.readthedocs.io (November 2026).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NOTEBOOK, PART_OF_POD, Workload
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.lint.rules.jupyterhub import UNREAD
from eks_gpushare.manifests.readers.pod_parts import PodPartsReader
from eks_gpushare.manifests.readers.values import mappings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document, Read

_OF_CHART: Final = {
    "resources": "extraResource",
    "tolerations": "extraTolerations",
    "extra_tolerations": "extraTolerations",
    "extraResources": "extraResource",
    "node_selector": "nodeSelector",
    "affinity": "extraNodeAffinity",
}
"""What people write under `singleuser`, and what the chart reads there."""
_OF_SPAWNER: Final = {
    "extra_tolerations": "tolerations",
    "extraTolerations": "tolerations",
    "nodeSelector": "node_selector",
    "extraResource": "extra_resource_limits",
    "extra_resources": "extra_resource_limits",
    "extra_resource": "extra_resource_limits",
    "extraResourceLimits": "extra_resource_limits",
    "resources": "extra_resource_limits",
    "resource_limits": "extra_resource_limits",
    "runtimeClassName": "extra_pod_config",
    "extraPodConfig": "extra_pod_config",
    "extraNodeAffinity": "node_affinity_required",
}
"""The same of `kubespawner_override`, whose keys are KubeSpawner's options."""


_PARTS: Final = PodPartsReader()
"""Values have parts of pods as those of other charts have them."""


class JupyterHubReader:
    """Reads values that make notebooks."""

    name = "JupyterHub"

    def matches(self, document: Document) -> bool:
        """Whether it says how notebooks are made, alone or as a subchart's values."""
        return not isinstance(at(document.value, "kind"), str) and any(
            isinstance(found := at(document.value, *above, "singleuser"), dict)
            and at(found, "image", "repository") is None  # as Bitnami's chart calls it
            for above in _ABOVE
        )

    def read(self, document: Document) -> Read:
        """What notebooks ask for, and what is not read."""
        source = Source("the values of JupyterHub", document)
        above = next(e for e in _ABOVE if isinstance(at(document.value, *e, "singleuser"), dict))
        place: FieldPath = (*above, "singleuser")
        given = at(document.value, *place)
        problems = [*_unread(source, place, given, _OF_CHART)]
        limits = at(given, "extraResource", "limits")
        made = [_part(source, (*place, "extraResource", "limits"), limits)] if pairs(limits) else []
        as_said = _is_as_said(at(document.value, *above))
        for path, override in _overrides(place, given):
            problems += _unread(source, path, override, _OF_SPAWNER)
            limits = at(override, "extra_resource_limits")
            spec = _pod(given, override) if as_said and not _has_options(document, path) else None
            if pairs(limits) and spec is not None:
                made.append(_notebook(source, path, spec))
            elif pairs(limits):
                made.append(_part(source, (*path, "extra_resource_limits"), limits))
        parts = _PARTS.read(document)
        return parts._replace(
            items=[*parts.items, *made], judgements=[*parts.judgements, *problems]
        )


_ABOVE: Final[tuple[FieldPath, ...]] = ((), ("jupyterhub",))


def _overrides(place: FieldPath, given: Any) -> Iterator[tuple[FieldPath, Any]]:
    for index, profile in mappings(at(given, "profileList")):
        path = (*place, "profileList", index)
        yield (*path, "kubespawner_override"), at(profile, "kubespawner_override")
        for name, option in pairs(at(profile, "profile_options")):
            for key, choice in pairs(at(option, "choices")):
                inner = (*path, "profile_options", name, "choices", key, "kubespawner_override")
                yield inner, at(choice, "kubespawner_override")


def _unread(
    source: Source, place: FieldPath, given: Any, instead: dict[str, str]
) -> Iterator[Problem]:
    for key, value in pairs(given):
        meant = instead.get(key)
        if meant is None or (key == "resources" and not _has_devices(value)):
            continue
        same_shape = key not in ("resources", "affinity", "runtimeClassName", "extraResource")
        edits = (Edit("rename", (*place, key), meant),) if same_shape and meant not in given else ()
        yield Problem(
            UNREAD,
            source,
            (*place, key),
            f"{place[-1]} has no {key}, so it says nothing of notebooks.",
            f"Write {meant}.",
            edits=edits,
        )


def _has_devices(value: Any) -> bool:
    parts = (at(value, part) for part in ("limits", "requests"))
    return any("/" in name for part in parts for name, _ in pairs(part))


_PURPOSE: Final = (
    {"key": "hub.jupyter.org/dedicated", "operator": "Equal", "value": "user"},
    {"key": "hub.jupyter.org_dedicated", "operator": "Equal", "value": "user"},
)
"""What notebooks tolerate by themselves: `scheduling.userPods.tolerations` of the chart."""
_BY_PROGRAM: Final = re.compile(r"toleration|node_selector|affinity|hook|profile|extra_pod_config")
_ELSEWHERE: Final = ("extra_pod_config", "extraPodConfig", "node_affinity_required")


def _is_as_said(values: Any) -> bool:
    """Whether nothing but `singleuser` decides where notebooks go."""
    told = [at(values, "hub", key) for key in ("extraConfig", "extraFiles", "config")]
    given = at(values, "singleuser")
    users = at(values, "scheduling", "userPods")
    decided = [at(given, key) for key in ("extraPodConfig", "extraNodeAffinity", "extraFiles")]
    return not (
        has_unknown([told, users, *decided]) or any(decided) or _BY_PROGRAM.search(str(told))
    )


def _has_options(document: Document, path: FieldPath) -> bool:
    """Whether a choice beside an override may say more, or it is one of these."""
    return bool(at(document.value, *path[:-1], "profile_options")) or "choices" in path


def _pod(given: Any, override: Any) -> dict[str, Any] | None:
    """What notebooks of a profile say of their nodes; None where it is not all known.

    An override goes over what the chart says, which it need not merge with.
    """
    if has_unknown(override) or any(at(override, key) for key in _ELSEWHERE):
        return None
    tolerations, selector = at(override, "tolerations"), at(override, "node_selector")
    if tolerations is None:
        added = at(given, "extraTolerations")
        tolerations = [*_PURPOSE, *items(added)] if not has_unknown(added) else UNKNOWN
    selector = at(given, "nodeSelector") if selector is None else selector
    if has_unknown([tolerations, selector]):
        return None
    limits = dict(pairs(at(override, "extra_resource_limits")))
    resources = {"limits": limits}
    return {
        "tolerations": tolerations,
        "nodeSelector": selector,
        "containers": [{"name": "notebook", "resources": resources}],
    }


def _notebook(source: Source, path: FieldPath, spec: dict[str, Any]) -> Workload:
    """The pod of a profile, whose override has some of its fields by the names of pods."""
    document = replace(source.document, editable=False)
    called = text(at(document.value, *path[:-1], "display_name"))
    named = f" {called}" if isinstance(called, str) and called else ""
    return Workload(
        source=Source(f"the profile{named} of JupyterHub", document, path),
        kind=NOTEBOOK,
        name=UNKNOWN,
        namespace=UNKNOWN,
        replicas=UNKNOWN,
        labels=UNKNOWN,
        spec=spec,
    )


def _part(source: Source, place: FieldPath, limits: Any) -> Workload:
    """What of a notebook's pod is known, at a place of which only the names count."""
    inner = Source(source.name, source.document, place[:-1])
    return Workload(
        source=inner,
        kind=PART_OF_POD,
        name=UNKNOWN,
        namespace=UNKNOWN,
        labels=UNKNOWN,
        spec={"containers": [{"name": "notebook", "resources": {"limits": dict(pairs(limits))}}]},
    )
