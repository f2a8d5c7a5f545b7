"""Objects of Terraform's Kubernetes provider, as Kubernetes itself has them.

The provider spells keys with underscores, has every block as a list, and calls lists by the
singular: https://registry.terraform.io/providers/hashicorp/kubernetes/latest/docs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.lint.hcl.values import HclList, HclObject, place_in, written
from eks_gpushare.manifests.plain import mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "config_map": ("v1", "ConfigMap"),
    "secret": ("v1", "Secret"),
    "pod": ("v1", "Pod"),
    "deployment": ("apps/v1", "Deployment"),
    "daemonset": ("apps/v1", "DaemonSet"),
    "daemon_set": ("apps/v1", "DaemonSet"),
    "stateful_set": ("apps/v1", "StatefulSet"),
    "job": ("batch/v1", "Job"),
    "cron_job": ("batch/v1", "CronJob"),
    "namespace": ("v1", "Namespace"),
    "resource_quota": ("v1", "ResourceQuota"),
    "service_account": ("v1", "ServiceAccount"),
}
_LISTS: Final[Mapping[str, str]] = {
    "container": "containers",
    "init_container": "initContainers",
    "toleration": "tolerations",
    "volume": "volumes",
    "volume_mount": "volumeMounts",
    "env": "env",
    "env_from": "envFrom",
    "port": "ports",
    "node_selector_term": "nodeSelectorTerms",
    "match_expressions": "matchExpressions",
    "match_fields": "matchFields",
    "topology_spread_constraint": "topologySpreadConstraints",
    "items": "items",
    "image_pull_secrets": "imagePullSecrets",
    "volume_claim_template": "volumeClaimTemplates",
    "preferred_during_scheduling_ignored_during_execution": (
        "preferredDuringSchedulingIgnoredDuringExecution"
    ),
}
"""Blocks of which there may be several."""
_OF_PODS: Final = ("pod_affinity", "pod_anti_affinity")
_LISTS_OF_PODS: Final[Mapping[str, str]] = {
    **_LISTS,
    "required_during_scheduling_ignored_during_execution": (
        "requiredDuringSchedulingIgnoredDuringExecution"
    ),
}
"""The same below those, which have a list where an affinity to nodes has one."""
_OWN_KEYS: Final = frozenset(
    ("labels", "annotations", "limits", "requests", "node_selector", "match_labels", "hard", "data")
)
"""Mappings whose keys are the user's own."""
_TEXTS: Final = frozenset(("value", "command", "args"))
"""What the provider has as text, so that Terraform turns numbers and switches into it."""
_TEXTS_OF_MANIFESTS: Final = _TEXTS | frozenset(
    ("labels", "annotations", "nodeSelector", "matchLabels", "data", "values")
)
"""The same by the names of Kubernetes, with what mappings of texts there are."""
_TYPE: Final = re.compile(r"kubernetes_([a-z_]+?)(?:_v[0-9]+(?:(?:alpha|beta)[0-9]+)?)?")


def object_of(kind: str, given: Any) -> dict[str, Any] | None:
    """The object that a resource is; None of a kind that is not read."""
    matched = _TYPE.fullmatch(kind)
    known = _KINDS.get(matched[1]) if matched else None
    if known is None:
        return None
    made = _block(mapping(given))
    made |= {"apiVersion": known[0], "kind": known[1]}
    return made


def _block(given: Mapping[str, Any], lists: Mapping[str, str] = _LISTS) -> HclObject:
    """A block with the keys of Kubernetes, each with the place of the provider's."""
    made = HclObject()
    for key, value in given.items():
        if value is None or value == []:
            continue
        place = place_in(given, key)
        if key in lists:
            inner = value if isinstance(value, list) else [value]
            places = [place_in(value, index) or place for index, _ in enumerate(inner)]
            made.put(lists[key], HclList((_value(each) for each in inner), places), place)
        elif key in _TEXTS or key in _OWN_KEYS:
            made.put(_camel(key), _as_text(value), place)
        else:
            further = _LISTS_OF_PODS if key in _OF_PODS else _LISTS
            made.put(_camel(key), _value(value, further), place)
    return made


def _value(value: Any, lists: Mapping[str, str] = _LISTS) -> Any:
    if isinstance(value, dict):
        return _block(value, lists)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return _block(value[0], lists)
    return value


def typed(manifest: Any) -> Any:
    """A `kubernetes_manifest` as its provider sends it: of the types that the API's schema has.

    https://github.com/hashicorp/terraform-provider-kubernetes/blob/main/manifest/morph/morph.go
    """
    if isinstance(manifest, HclObject):
        made = type(manifest)()
        for key, inner in manifest.items():
            value = _as_text(inner) if key in _TEXTS_OF_MANIFESTS else typed(inner)
            made.put(key, value, place_in(manifest, key))
        return made
    if isinstance(manifest, HclList):
        return HclList((typed(inner) for inner in manifest), manifest.places)
    return manifest


def _as_text(value: Any) -> Any:
    """What Terraform makes of a number or a switch where the provider has a text."""
    if isinstance(value, HclObject):
        made = HclObject()
        for key, inner in value.items():
            made.put(key, _as_text(inner), place_in(value, key))
        return made
    if isinstance(value, HclList):
        return HclList((_as_text(inner) for inner in value), value.places)
    return written(value) if isinstance(value, bool | int | float) else value


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    word = first + "".join(part.title() for part in rest)
    return {"hostPid": "hostPID", "hostIpc": "hostIPC"}.get(word, word)
