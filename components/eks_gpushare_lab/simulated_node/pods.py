"""What a pod tells of the program in it: which one, and how it is configured.

Programs are told apart by their commands and configured by their own environment and volumes, so
pods that NVIDIA's chart made and those that the lab made in their place read alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.image import image_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare_lab.client import Object

PLUGIN = "nvidia-device-plugin"
"""Command of the device plugin."""
DISCOVERY = "gpu-feature-discovery"
"""Command of GPU feature discovery."""
MPS_DAEMON = "mps-control-daemon"
"""Command of the MPS control daemon."""
MANAGER = "config-manager"
"""Command of the sidecar that selects the configuration."""
WORKER = "nfd-worker"
"""Command of node feature discovery on each node."""
MIG_MANAGER = "nvidia-mig-manager"
"""Command of the MIG manager."""
OPERATOR = "gpu-operator"
"""Command of the operator itself."""
VALIDATOR = "nvidia-operator-validator"
"""Command by which the lab marks the operator's validator."""
EXPORTER = "dcgm-exporter"
"""Command of the exporter of metrics, or its image, which in its own chart says the command."""
EFA_PLUGIN = "aws-efa-k8s-device-plugin"
"""Name of the container with AWS's device plugin of EFA, which has no command of its own."""
HOST_ENGINE = "nv-hostengine"
"""Command of a host engine of DCGM: that of the node monitoring agent, or the operator's."""
MONITOR = "eks-node-monitoring-agent"
"""Command of EKS's node monitoring agent."""
OTHERS = (
    *(WORKER, MIG_MANAGER, OPERATOR, VALIDATOR, EXPORTER),
    *(EFA_PLUGIN, HOST_ENGINE, MONITOR),
)
"""Programs that do something else than advertise, or have to be told apart."""

_PROGRAMS = (PLUGIN, DISCOVERY, MPS_DAEMON)
_GATE = "toolkit-validation"


@dataclass(frozen=True, slots=True)
class Program:
    """One of NVIDIA's programs as a pod runs it."""

    name: str
    """Its command."""
    config_map: str | None
    """ConfigMap that the pod mounts configurations from; None if there is none."""
    default: str
    """DEFAULT_CONFIG."""
    fallbacks: tuple[str, ...]
    """FALLBACK_STRATEGIES."""
    label: str
    """NODE_LABEL."""
    mig_strategy: str | None
    """MIG_STRATEGY; None leaves it to the configuration."""
    mps_root: str
    """MPS_ROOT."""

    gated: bool = False
    """Whether it waits for the operator's validator on its node."""

    @property
    def lacks_mps_root(self) -> bool:
        """Whether it is the device plugin and was not told where MPS keeps its files."""
        return self.name == PLUGIN and not self.mps_root


def program_of(pod: Object) -> Program | None:
    """The program of a pod, or None if it is none of NVIDIA's."""
    containers = pod["spec"]["containers"]
    main = next((container for container in containers if _command(container) in _PROGRAMS), None)
    if main is None:
        return None
    manager = next((container for container in containers if _command(container) == MANAGER), None)
    asked = dict(_environment(manager)) if manager else {}
    own = dict(_environment(main))
    return Program(
        name=_command(main),
        config_map=_config_map(pod, manager, asked.get("CONFIG_FILE_SRCDIR", "")),
        default=asked.get("DEFAULT_CONFIG", ""),
        fallbacks=tuple(filter(None, asked.get("FALLBACK_STRATEGIES", "").split(","))),
        label=asked.get("NODE_LABEL", ""),
        mig_strategy=own.get("MIG_STRATEGY"),
        mps_root=own.get("MPS_ROOT", ""),
        gated=_is_gated(pod),
    )


def role_of(spec: Object) -> str:
    """The program of a pod's spec by its command, `""` if it is none of NVIDIA's or NFD's."""
    names = map(_command, spec["containers"])
    return next((name for name in names if name in {*_PROGRAMS, *OTHERS}), "")


def environment_of(pod: Object, command: str) -> dict[str, str]:
    """The environment of a container by its command; empty without one."""
    return dict(_environment(_container_of(pod, command)))


def arguments_of(pod: Object, command: str) -> list[str]:
    """What follows the command in a container; empty without one."""
    found = _container_of(pod, command)
    return [*(found.get("command") or ())[1:], *(found.get("args") or ())]


def _container_of(pod: Object, command: str) -> dict[str, Any]:
    containers = pod["spec"]["containers"]
    return next((container for container in containers if _command(container) == command), {})


def mounted(pod: Object, path: str) -> str | None:
    """The ConfigMap that a pod mounts at a path, or None."""
    for container in pod["spec"]["containers"]:
        found = _config_map(pod, container, path)
        if found is not None:
            return found
    return None


def is_alive(pod: Object) -> bool:
    """Whether a pod runs and is not about to go."""
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _is_gated(pod: Object) -> bool:
    before = pod["spec"].get("initContainers") or ()
    return any(gate["name"] == _GATE for gate in before)


def _command(container: dict[str, Any]) -> str:
    if not container.get("command"):  # the image's own: it is known by container or image
        image = image_name(str(container.get("image") or ""))
        known = {EFA_PLUGIN: container["name"], EXPORTER: image}
        return next((program for program, name in known.items() if name == program), "")
    return str(container["command"][0]).rpartition("/")[2]


def _environment(container: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for variable in container.get("env") or ():
        if "valueFrom" not in variable:  # an empty value is left out by the API server, and set
            yield variable["name"], variable.get("value") or ""


def _config_map(pod: Object, manager: dict[str, Any] | None, folder: str) -> str | None:
    if manager is None:
        return None
    mounts = manager.get("volumeMounts") or ()
    volume = next((m["name"] for m in mounts if m["mountPath"] == folder), None)
    for each in pod["spec"].get("volumes") or ():
        if each["name"] == volume and "configMap" in each:
            return str(each["configMap"]["name"])
    return None
