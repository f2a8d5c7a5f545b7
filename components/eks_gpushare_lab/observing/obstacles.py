"""What keeps a pod from running that no node can help: what it waits for or names is not there.

A scheduler says of some of it only that it has not found a node, and of some nothing at all; a
kubelet says of the rest, and kwok plays kubelets that run everything. Sources: kube-scheduler's
plugins SchedulingGates, VolumeBinding and DynamicResources; kubelet, pkg/kubelet/kubelet_pods.go
and pkg/volume (https://github.com/kubernetes/kubernetes/tree/v1.35.4).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eks_gpushare_lab.client import Object

_CORE = "/api/v1/namespaces/{}/{}/{}"
_RESOURCE = "/apis/resource.k8s.io/v1/namespaces/{}/{}/{}"
_DOMAIN = (
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]+)?/|\[[0-9a-fA-F:]+\](?::[0-9]+)?/)?"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"{_DOMAIN}{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
"""A reference as https://github.com/distribution/reference has it."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing that keeps a pod from running."""

    what: str
    """What it is, as a clause."""
    fix: str
    """What to do about it, as a sentence."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A ConfigMap or Secret that a kubelet needs before it starts a container."""

    kind: str
    """ConfigMap or Secret."""
    name: str
    """Its name."""
    key: str
    """The key that has to be in it; `""` for any."""
    by: str
    """What names it, for people."""


def before_a_node(
    pod: Object, get: Callable[[str], Object | None], nodes: Callable[[str], Object | None]
) -> Iterator[Obstacle]:
    """What keeps a pod from getting a node, whichever nodes there are.

    Args:
        pod: the pod.
        get: reads an object by its path.
        nodes: reads a node by its name.
    """
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    gates = ", ".join(gate["name"] for gate in spec.get("schedulingGates") or ())
    if gates:
        yield Obstacle(
            f"its scheduling gates hold it: {gates}",
            "Whoever sets them has to take them away; leave them out if nobody does.",
        )
    name = spec.get("nodeName")
    if name and nodes(name) is None:
        yield Obstacle(
            f"it names the node {name}, which is not there",
            "Leave nodeName out, so that the scheduler finds a node, or name one that there is.",
        )
    for volume in spec.get("volumes") or ():
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if volume.get("ephemeral"):
            claim = f"{pod['metadata']['name']}-{volume['name']}"
        if claim:
            there = get(_CORE.format(namespace, "persistentvolumeclaims", claim))
            yield from _of_claim(claim, there)
    yield from _of_devices(pod, get)


def waits_for_devices(pod: Object, get: Callable[[str], Object | None]) -> bool:
    """Whether a pod names a ResourceClaim that is not there: the scheduler says nothing of it."""
    return any(_of_devices(pod, get))


def on_its_node(
    pod: Object, config_map: Callable[[str], Object | None], secret: Callable[[str], Object | None]
) -> Iterator[Obstacle]:
    """What keeps a kubelet from starting the containers of a pod.

    Args:
        pod: the pod.
        config_map: reads a ConfigMap of the pod's namespace by its name.
        secret: reads a Secret of it.
    """
    read = {"ConfigMap": config_map, "Secret": secret}
    for reference in references(pod["spec"]):
        there = read[reference.kind](reference.name)
        if there is None:
            what = f"the {reference.kind} {reference.name} is not there, which {reference.by} names"
            yield Obstacle(what, f"Apply it, or mark it as optional in {reference.by}.")
        elif reference.key and reference.key not in _keys(there):
            keys = ", ".join(sorted(_keys(there))) or "none"
            what = f"the {reference.kind} {reference.name} has no key {reference.key}, "
            what += f"which {reference.by} names"
            yield Obstacle(what, f"Name one of its keys: {keys}.")
    for container in _containers(pod["spec"]):
        image = container.get("image", "")
        if image and _IMAGE.fullmatch(image) is None:
            yield Obstacle(
                f"the container {container['name']} has an image that is no reference: {image!r}",
                "Write registry/name:tag in lower case, or registry/name@sha256:... .",
            )


def references(spec: Object) -> Iterator[Reference]:
    """The ConfigMaps and Secrets that pods of a spec cannot do without."""
    for volume in spec.get("volumes") or ():
        by = f"the volume {volume['name']}"
        sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
        for source in sources:
            yield from _of_volume("ConfigMap", source.get("configMap"), "name", by)
            yield from _of_volume("Secret", source.get("secret"), "secretName", by)
    for container in _containers(spec):
        by = f"the environment of the container {container['name']}"
        for each in container.get("envFrom") or ():
            for kind, key in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
                yield from _one(kind, each.get(key), by)
        for variable in container.get("env") or ():
            source = variable.get("valueFrom") or {}
            for kind, key in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
                yield from _one(kind, source.get(key), by)


def _of_volume(
    kind: str, source: Mapping[str, Any] | None, named: str, by: str
) -> Iterator[Reference]:
    if not source or source.get("optional"):
        return
    name = str(source.get(named) or source.get("name") or "")
    if not name:
        return
    items = [str(item["key"]) for item in source.get("items") or ()]
    for key in items or [""]:
        yield Reference(kind, name, key, by)


def _one(kind: str, source: Mapping[str, Any] | None, by: str) -> Iterator[Reference]:
    if source and source.get("name") and not source.get("optional"):
        yield Reference(kind, str(source["name"]), str(source.get("key") or ""), by)


def _of_claim(claim: str, there: Object | None) -> Iterator[Obstacle]:
    if there is None:
        fix = f"Apply a PersistentVolumeClaim {claim}, in the namespace of the pod."
        yield Obstacle(f"the claim {claim} does not exist", fix)
        return
    if there.get("status", {}).get("phase") == "Bound":
        return
    wanted = there["spec"].get("storageClassName")
    of = f" of the storage class {wanted}" if wanted else ""
    yield Obstacle(
        f"the claim {claim}{of} is not bound to a volume, and the lab provides none",
        "Apply a PersistentVolume that it can bind to, or --expect that these pods wait: on EKS "
        "a CSI driver makes the volume.",
    )


def _of_devices(pod: Object, get: Callable[[str], Object | None]) -> Iterator[Obstacle]:
    """ResourceClaims that are not there, or were not made yet of their templates."""
    namespace = pod["metadata"]["namespace"]
    made = {
        claim["name"]: claim.get("resourceClaimName")
        for claim in pod["status"].get("resourceClaimStatuses") or ()
    }
    for claim in pod["spec"].get("resourceClaims") or ():
        template, name = claim.get("resourceClaimTemplateName"), claim.get("resourceClaimName")
        if template and not made.get(claim["name"]):
            if get(_RESOURCE.format(namespace, "resourceclaimtemplates", template)) is None:
                fix = f"Apply a ResourceClaimTemplate {template}, in the namespace of the pod."
                yield Obstacle(f"the ResourceClaimTemplate {template} does not exist", fix)
        elif name and get(_RESOURCE.format(namespace, "resourceclaims", name)) is None:
            fix = f"Apply a ResourceClaim {name}, in the namespace of the pod."
            yield Obstacle(f"the ResourceClaim {name} does not exist", fix)


def _containers(spec: Object) -> Iterator[Mapping[str, Any]]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _keys(given: Object) -> set[str]:
    return {*(given.get("data") or ()), *(given.get("binaryData") or ())}
