"""DaemonSets and their pods, as charts and the operator make them, as far as they matter here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.release import DeclaredRelease

ROLE = "lab.eks-gpushare/role"
"""Annotation of a DaemonSet: which of the chart's programs it is."""
NAME_LENGTH = 63
"""The longest name that a label can hold."""

_CONFIG_LABEL = "nvidia.com/device-plugin.config"
_CONFIGS = "/available-configs"


@dataclass(slots=True)
class Pods:
    """The pods of one DaemonSet."""

    containers: list[Object]
    """Containers, the program's own last."""
    before: list[Object] = field(default_factory=list)
    """Init containers."""
    volumes: list[Object] = field(default_factory=list)
    """Volumes."""
    scheduling: Mapping[str, Any] = field(default_factory=dict)
    """Values that say where they go: nodeSelector, affinity, tolerations, priorityClassName."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of each pod."""
    host_pid: bool = False
    """Whether they see the processes of their node."""


def container(
    program: str, image: str, environment: Mapping[str, str], command: str = ""
) -> Object:
    """A container of a program."""
    variables = [{"name": key, "value": value} for key, value in environment.items()]
    found: Object = {"name": f"{program}-ctr", "image": image, "command": [command or program]}
    return {**found, "env": variables} if variables else found


def add_config_manager(
    pods: Pods, program: str, config_map: str, default: str, fallbacks: Sequence[str]
) -> None:
    """Put the config-manager before and beside a program, with the ConfigMap it chooses from."""
    image = pods.containers[-1]["image"]
    environment = {"DEFAULT_CONFIG": default, "FALLBACK_STRATEGIES": ",".join(fallbacks)}
    pods.volumes += [
        {"name": "available-configs", "configMap": {"name": config_map}},
        {"name": "config", "emptyDir": {}},
    ]
    pods.before.append(_manager(f"{program}-init", image, environment, oneshot=True))
    pods.containers.insert(0, _manager(f"{program}-sidecar", image, environment, oneshot=False))


def _manager(name: str, image: str, more: Mapping[str, str], *, oneshot: bool) -> Object:
    environment = {
        "ONESHOT": str(oneshot).lower(),
        "NODE_LABEL": _CONFIG_LABEL,
        "CONFIG_FILE_SRCDIR": _CONFIGS,
        "CONFIG_FILE_DST": "/config/config.yaml",
        **more,
        "SEND_SIGNAL": str(not oneshot).lower(),
    }
    mounts = [
        {"name": "available-configs", "mountPath": _CONFIGS},
        {"name": "config", "mountPath": "/config"},
    ]
    made = container(name, image, environment, "config-manager")
    return {**made, "name": name, "volumeMounts": mounts}


def full_name(release: DeclaredRelease, values: Mapping[str, Any]) -> str:
    """The name that most charts give to what they make, by the helper that Helm writes for them."""
    if values["fullnameOverride"]:
        return str(values["fullnameOverride"])[:NAME_LENGTH].rstrip("-")
    name = str(values["nameOverride"] or release.chart)
    full = release.name if name in release.name else f"{release.name}-{name}"
    return full[:NAME_LENGTH].rstrip("-")


def daemon_set(name: str, namespace: str, program: str, instance: str, pods: Pods) -> Object:
    """A DaemonSet.

    Args:
        name: its name.
        namespace: its namespace.
        program: what it runs.
        instance: the release it belongs to.
        pods: its pods.
    """
    labels = {"app.kubernetes.io/name": program, "app.kubernetes.io/instance": instance}
    spec: Object = {"containers": pods.containers}
    optional = {
        "initContainers": pods.before,
        "volumes": pods.volumes,
        "priorityClassName": pods.scheduling.get("priorityClassName"),
        "nodeSelector": pods.scheduling.get("nodeSelector"),
        "affinity": pods.scheduling.get("affinity"),
        "tolerations": pods.scheduling.get("tolerations"),
        "hostPID": pods.host_pid,
    }
    spec |= {key: value for key, value in optional.items() if value}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": name[:NAME_LENGTH].rstrip("-"),
            "namespace": namespace,
            "labels": labels,
            "annotations": {ROLE: program},
        },
        "spec": {
            "selector": {"matchLabels": labels},
            # One at a time takes the simulated pods as long as a real node; all at once do not.
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}},
            "template": {
                "metadata": {"labels": labels, "annotations": dict(pods.annotations)},
                "spec": spec,
            },
        },
    }
