"""Pods have no more of a node than they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.containers import Container, Pod, on_pods, pods_of, unknown_of
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings, text
from gpushare_policies.rule import ResourcePolicy, Setting, Unjudged, cis
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_KNOWN_IMAGES = frozenset(
    (
        "k8s-device-plugin",
        "k8s-mig-manager",
        "k8s-driver-manager",
        "k8s-mps-control-daemon",
        "gpu-feature-discovery",
        "gpu-operator",
        "gpu-operator-validator",
        "container-toolkit",
        "driver",
        "dcgm",
        "dcgm-exporter",
        "vgpu-device-manager",
        "k8s-dra-driver-gpu",
        "dra-driver-nvidia-gpu",
        "node-feature-discovery",
        "eks-node-monitoring-agent",
        "eks-pod-identity-agent",
        "aws-efa-k8s-device-plugin",
        "aws-ebs-csi-driver",
        "aws-efs-csi-driver",
        "aws-fsx-csi-driver",
        "aws-mountpoint-s3-csi-driver",
        "csi-node-driver-registrar",
        "node-driver-registrar",
        "livenessprobe",
        "amazon-k8s-cni",
        "amazon-k8s-cni-init",
        "aws-network-policy-agent",
        "kube-proxy",
    )
)
"""Images by the last part of their name, which work on nodes themselves.

Source: the DaemonSets of gpu-operator v26.7.0, nvidia-device-plugin 0.20.0, dcgm-exporter, the DRA
driver, and of the add-ons of EKS and charts of aws/eks-charts, November 2026.
"""
_OF_NVIDIA_ALONE = frozenset(("driver", "dcgm"))
_CAPABILITIES = frozenset(
    ("ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO", "NET_ADMIN", "BPF")
)
_HOST = {
    "hostPID": "sees and signals every process of its node",
    "hostIPC": "shares memory with every process of its node",
    "hostNetwork": "has its node's network, the metadata service among it",
}
_PATHS = (
    *("/dev", "/proc", "/sys", "/etc", "/root", "/boot", "/run", "/var/run"),
    *("/var/lib/kubelet", "/var/lib/containerd", "/var/lib/docker", "/usr", "/lib"),
)

NAMESPACES: Setting[tuple[str, ...]] = Setting(
    "namespaces",
    ("kube-system",),
    "Namespaces in which pods may have what is their node's.",
    {"type": "array", "items": {"type": "string"}, "default": ["kube-system"]},
    lambda value: tuple(map(str, value)),
)

_TAKE_AWAY = (
    "Remove it. What has to work on nodes belongs into a namespace of the setting `namespaces` of "
    "this policy; GPUs need none of it: the device plugin hands them over."
)
_PRIVILEGED = Fix(_TAKE_AWAY, _TAKE_AWAY, _TAKE_AWAY)


def _pods(subject: Subject) -> Iterator[str | Unjudged]:
    namespace = subject.object.namespace
    if namespace is not UNKNOWN and text(namespace) in NAMESPACES.of(subject.args):
        return
    for pod in pods_of(subject.object):
        yield from unknown_of(pod)
        if pod.containers and all(map(_is_known, pod.containers)):
            continue
        yield from _of_host(subject, pod)
        for container in pod.containers:
            if not _is_known(container):
                yield from _of_container(subject, container)


def _is_known(container: Container) -> bool:
    """Whether a container runs one of the programs that work on nodes."""
    image = container.get("image")
    if not isinstance(image, str):
        return False
    path = image.partition("@")[0]
    above, _, last = path.rpartition("/")
    name = last.partition(":")[0]
    if name in _OF_NVIDIA_ALONE:
        return above.endswith(("nvcr.io/nvidia", "nvidia", "nvidia/cloud-native"))
    return name in _KNOWN_IMAGES


def _of_host(subject: Subject, pod: Pod) -> Iterator[str | Unjudged]:
    fix = _PRIVILEGED.of(subject.args.urn)
    for key, what in _HOST.items():
        value = at(pod.spec, key)
        if value is UNKNOWN:
            yield Unjudged(key)
        elif value is True:
            yield (f"A pod of {subject.title} has {key}, so that it {what}. It must not. {fix}")
    volumes = at(pod.spec, "volumes")
    if volumes is UNKNOWN or UNKNOWN in items(volumes):
        yield Unjudged("volumes")
    for _, volume in mappings(volumes):
        path = at(volume, "hostPath", "path")
        if path is UNKNOWN:
            yield Unjudged(f"the hostPath of the volume {text(volume.get('name'))}")
        elif isinstance(path, str) and _is_of_node(path):
            yield (
                f"A pod of {subject.title} mounts {path} of its node. It must not: that hands over "
                f"devices, sockets or files of the node and of other pods. {fix}"
            )


def _is_of_node(path: str) -> bool:
    import posixpath

    clean = posixpath.normpath(f"/{path.lstrip('/')}")
    return clean == "/" or any(clean == path or clean.startswith(f"{path}/") for path in _PATHS)


def _of_container(subject: Subject, container: Container) -> Iterator[str | Unjudged]:
    fix = _PRIVILEGED.of(subject.args.urn)
    context = container.get("securityContext")
    privileged = at(context, "privileged")
    if privileged is UNKNOWN:
        yield Unjudged(f"whether the container {container.name} is privileged")
    elif privileged is True:
        yield (
            f"The container {container.name} of {subject.title} is privileged. It must not be: it "
            f"has every device and all rights of its node. {fix}"
        )
    yield from _capabilities(subject, container, at(context, "capabilities", "add"))


def _capabilities(subject: Subject, container: Container, added: Any) -> Iterator[str | Unjudged]:
    if added is UNKNOWN or UNKNOWN in items(added):
        yield Unjudged(f"capabilities of the container {container.name}")
    too_many = sorted(
        str(item)
        for item in items(added)
        if isinstance(item, str) and item.upper().removeprefix("CAP_") in _CAPABILITIES
    )
    if too_many:
        yield (
            f"The container {container.name} of {subject.title} adds the capability "
            f"{', '.join(too_many)}. It must not: that is as good as privileged. "
            f"{_PRIVILEGED.of(subject.args.urn)}"
        )


PODS_NOT_PRIVILEGED = ResourcePolicy(
    "pods-not-privileged",
    "Pods must not be privileged, nor have their node's processes, network, devices or files.",
    checks=ObjectChecks(on_pods(_pods), theirs=_pods),
    severity=Severity.HIGH,
    framework=cis("4.2.1", "The admission of privileged containers is minimized."),
    also=("cis-eks-1.8.0/4.2.2", "cis-eks-1.8.0/4.2.3", "cis-eks-1.8.0/4.2.4"),
    fix=_PRIVILEGED,
    settings=(NAMESPACES,),
)
