"""Pods have no more of a node than they need."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import is_true
from gpushare_policies.reading.charts import charts_of
from gpushare_policies.reading.containers import Container, Pod, on_pods, pods_of, unknown_of
from gpushare_policies.reading.node_images import works_on_nodes
from gpushare_policies.reading.objects import Kind, KubernetesObject
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import at_top, items, mappings, text
from gpushare_policies.rule import ResourcePolicy, Setting, cis
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HARMLESS = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
        "IPC_LOCK",
    )
)
"""Capabilities that give nothing of a node: those that the level baseline of Pod Security allows
(https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline), and to lock memory,
as EFA and NCCL do."""
_HOST = {
    "hostPID": "sees and signals every process of its node",
    "hostIPC": "shares memory with every process of its node",
    "hostNetwork": "has its node's network, the metadata service among it",
}
_PATHS = (
    *("/dev", "/proc", "/sys", "/etc", "/root", "/boot", "/run", "/var/run", "/home"),
    *("/var/lib/kubelet", "/var/lib/containerd", "/var/lib/docker", "/var/lib/cni", "/opt/cni"),
    *("/usr", "/lib", "/lib64", "/bin", "/sbin", "/var/spool/cron", "/.bottlerocket", "/local"),
    *("/var/log/pods", "/var/log/containers"),
)
"""Of a node; what is above one of them has it in it."""
_VOLUMES = {
    "flexVolume": "runs a program of its node",
    "gitRepo": "has the kubelet run git as root of its node",
}
"""Kinds of volumes that reach what is their node's, other than paths of it."""
_HOST_DRIVERS = ("hostpath.csi.k8s.io", "csi-hostpath")

_CONFINED_TYPES = ("container_t", "container_init_t", "container_kvm_t", "container_engine_t")
"""Types of SELinux that keep a container from its node, as in the level baseline."""

IMAGES: Setting[tuple[str, ...]] = Setting(
    "images",
    (),
    "Patterns of further repositories whose programs work on nodes, such as those of a mirror: "
    "`registry.example/nvidia/*`.",
    {"type": "array", "items": {"type": "string"}, "default": []},
    lambda value: tuple(map(str, value)),
)

NAMESPACES: Setting[tuple[str, ...]] = Setting(
    "namespaces",
    ("kube-system",),
    "Namespaces in which pods may have what is their node's.",
    {"type": "array", "items": {"type": "string"}, "default": ["kube-system"]},
    lambda value: tuple(map(str, value)),
)

_PERSISTENT = Kind("", "PersistentVolume")
_MUTATING = Kind("admissionregistration.k8s.io", "MutatingAdmissionPolicy")
_OPENS = re.compile(
    r"\b(?:privileged|hostPID|hostIPC|hostNetwork)\b[\"']?\s*[:,=]\s*(?:value:\s*)?true"
)
_CLAIMS = (
    Kind("resource.k8s.io", "ResourceClaim"),
    Kind("resource.k8s.io", "ResourceClaimTemplate"),
)
_RELEASE = Kind("helm.sh", "Release")
_TAKE_AWAY = (
    "Remove it. What has to work on nodes belongs into a namespace of the setting `namespaces` of "
    "this policy, or its mirror among `images`; GPUs need none of it: the device plugin hands them "
    "over."
)
_PRIVILEGED = Fix(_TAKE_AWAY, _TAKE_AWAY, _TAKE_AWAY)


def pods_and_strangers(subject: Subject) -> Iterator[tuple[Pod, list[Container]]]:
    """Each pod outside of the settings' namespaces, and its containers that do not work on nodes.

    The policy that asks has the settings `NAMESPACES` and `IMAGES`.
    """
    namespace = subject.object.namespace
    if namespace is not UNKNOWN and text(namespace) in NAMESPACES.of(subject.args):
        return
    mirrors = IMAGES.of(subject.args)
    for pod in pods_of(subject.object):
        yield pod, [found for found in pod.containers if not works_on_nodes(found, mirrors)]


def _pods(subject: Subject) -> Iterator[str | Unjudged]:
    for pod, strange in pods_and_strangers(subject):
        yield from unknown_of(pod)
        if strange or not pod.containers:
            yield from _of_host(subject, pod)
        for container in strange:
            yield from _of_container(subject, container)


def _of_host(subject: Subject, pod: Pod) -> Iterator[str | Unjudged]:
    fix = _PRIVILEGED.of(subject.args.urn)
    for key, what in _HOST.items():
        value = at(pod.spec, key)
        if value is UNKNOWN:
            yield Unjudged(key)
        elif is_true(value):
            yield (f"A pod of {subject.title} has {key}, so that it {what}. It must not. {fix}")
    if at(pod.spec, "securityContext", "windowsOptions", "hostProcess") is True:
        yield f"A pod of {subject.title} runs as a process of its node. It must not. {fix}"
    yield from _selinux(subject, "A pod", at(pod.spec, "securityContext"))
    volumes = at(pod.spec, "volumes")
    if volumes is UNKNOWN or UNKNOWN in items(volumes):
        yield Unjudged("volumes")
    for _, volume in mappings(volumes):
        yield from _volume(subject, volume)


def _selinux(subject: Subject, who: str, context: Any) -> Iterator[str]:
    kind = at(context, "seLinuxOptions", "type")
    if isinstance(kind, str) and kind and kind not in _CONFINED_TYPES:
        yield (
            f"{who} of {subject.title} has the SELinux type {kind}, which does not keep it from "
            f"its node. It must not. {_PRIVILEGED.of(subject.args.urn)}"
        )


def _volume(subject: Subject, volume: Mapping[str, Any]) -> Iterator[str | Unjudged]:
    fix = _PRIVILEGED.of(subject.args.urn)
    path, driver = at(volume, "hostPath", "path"), at(volume, "csi", "driver")
    path = at(volume, "hostDisk", "path") if path is None else path
    if UNKNOWN in (path, at(volume, "hostPath")):
        yield Unjudged(f"the hostPath of the volume {text(volume.get('name'))}")
    elif isinstance(path, str) and _is_of_node(path):
        yield _mounted(f"A pod of {subject.title}", path, fix)
    for kind, what in _VOLUMES.items():
        if volume.get(kind) is not None:
            yield f"A pod of {subject.title} has a {kind}, which {what}. It must not. {fix}"
    if driver in _HOST_DRIVERS:
        yield _mounted(f"A pod of {subject.title}", f"paths by {driver}", fix)


def _mounted(who: str, what: str, fix: str) -> str:
    return (
        f"{who} mounts {what} of its node. It must not: that hands over devices, sockets or files "
        f"of the node and of other pods. {fix}"
    )


def _persistent(subject: Subject) -> Iterator[str | Unjudged]:
    """A volume that pods claim, and so get without naming a path themselves."""
    for kind in ("hostPath", "local"):
        path = at(subject.object.body, "spec", kind, "path")
        if path is UNKNOWN:
            yield Unjudged(f"the {kind}")
        elif isinstance(path, str) and _is_of_node(path):
            yield _mounted(f"Who claims {subject.title}", path, _PRIVILEGED.of(subject.args.urn))


def _mutating(subject: Subject) -> Iterator[str]:
    """Expressions by which the API server changes pods.

    https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
    """
    for _, mutation in mappings(at(subject.object.body, "spec", "mutations")):
        for key in ("applyConfiguration", "jsonPatch"):
            if found := _OPENS.search(str(at(mutation, key, "expression"))):
                yield (
                    f"{subject.opening} gives pods `{found[0]}`. It must not. "
                    f"{_PRIVILEGED.of(subject.args.urn)}"
                )


def _claim(subject: Subject) -> Iterator[str]:
    """A claim by which a pod gets devices that others have.

    https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access
    """
    namespace = subject.object.namespace
    if namespace is not UNKNOWN and text(namespace) in NAMESPACES.of(subject.args):
        return
    spec = at(subject.object.body, "spec")
    for devices in (at(spec, "devices"), at(spec, "spec", "devices")):
        for _, request in mappings(at(devices, "requests")):
            if is_true(at(request, "exactly", "adminAccess")) or is_true(
                at(request, "adminAccess")
            ):
                yield (
                    f"{subject.opening} asks for devices with adminAccess. It must not: who uses "
                    f"it has devices of its node that others have. "
                    f"{_PRIVILEGED.of(subject.args.urn)}"
                )


def _chart(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
    for subject in of_values(args):
        yield from _pods(subject)


def of_values(args: ResourceValidationArgs) -> Iterator[Subject]:
    """The values of each chart that is not for nodes, as an object in which pods may stand."""
    namespace = at_top(args.props, "namespace")
    for chart in charts_of(args.props):
        if chart.of_gpus or chart.values is UNKNOWN:
            continue
        body = {
            "metadata": {"name": args.name, "namespace": namespace},
            "values": chart.values,
        }
        yield Subject(KubernetesObject(_RELEASE, "v3", body), args)


def _is_of_node(given: str) -> bool:
    clean = posixpath.normpath(f"/{given.lstrip('/')}")
    inside = any(clean == path or clean.startswith(f"{path}/") for path in _PATHS)
    return inside or any(path.startswith(f"{clean.rstrip('/')}/") for path in _PATHS)


def _of_container(subject: Subject, container: Container) -> Iterator[str | Unjudged]:
    fix = _PRIVILEGED.of(subject.args.urn)
    context = container.get("securityContext")
    privileged = at(context, "privileged")
    if privileged is None:
        privileged = container.get("privileged")  # as Jenkins and GitLab's runners have it
    if privileged is UNKNOWN:
        yield Unjudged(f"whether the container {container.name} is privileged")
    elif privileged is True:
        yield (
            f"The container {container.name} of {subject.title} is privileged. It must not be: it "
            f"has every device and all rights of its node. {fix}"
        )
    if at(context, "windowsOptions", "hostProcess") is True:
        yield (
            f"The container {container.name} of {subject.title} is a process of its Windows node. "
            f"It must not be: it has all rights there. {fix}"
        )
    yield from _selinux(subject, f"The container {container.name}", context)
    yield from _capabilities(subject, container, at(context, "capabilities", "add"))


def _capabilities(subject: Subject, container: Container, added: Any) -> Iterator[str | Unjudged]:
    if added is UNKNOWN or UNKNOWN in items(added):
        yield Unjudged(f"capabilities of the container {container.name}")
    too_many = sorted(
        str(item)
        for item in items(added)
        if isinstance(item, str) and item.upper().removeprefix("CAP_") not in HARMLESS
    )
    if too_many:
        yield (
            f"The container {container.name} of {subject.title} adds the capability "
            f"{', '.join(too_many)}. It must not: beyond what is harmless, a capability reaches "
            f"the node or the network of others. "
            f"{_PRIVILEGED.of(subject.args.urn)}"
        )


PODS_NOT_PRIVILEGED = ResourcePolicy(
    "pods-not-privileged",
    "Pods must not be privileged, nor have their node's processes, network, devices or files.",
    checks=ObjectChecks(
        {
            **on_pods(_pods),
            _PERSISTENT: _persistent,
            _MUTATING: _mutating,
            **dict.fromkeys(_CLAIMS, _claim),
        },
        {RELEASE: _chart, CHART_V4: _chart},
        theirs=_pods,
    ),
    unseen="folders in which a node keeps nothing of its own, such as those of scratch disks.",
    severity=Severity.HIGH,
    framework=cis("4.2.1", "The admission of privileged containers is minimized."),
    also=("cis-eks-1.8.0/4.2.2", "cis-eks-1.8.0/4.2.3", "cis-eks-1.8.0/4.2.4"),
    fix=_PRIVILEGED,
    settings=(NAMESPACES, IMAGES),
)
