"""The MIG manager on one node: from the node's label to the GPUs, and the labels on its way.

It pauses the operator's programs by their labels, waits until their pods are gone, and those of
other DaemonSets that select nodes by its label for clients, changes the GPUs and lets the programs
come back. It does not drain: a pod that uses a GPU makes it fail, and so does a host engine of DCGM
that it does not know of. Where a change of MIG mode needs a reboot, it reboots the node if
WITH_REBOOT says so, which ends a host engine's hold too, and fails if not.

Source: NVIDIA/mig-parted, `cmd/nvidia-mig-manager` and `pkg/mig/reconfigure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare_lab.simulated_node import mig_parted
from eks_gpushare_lab.simulated_node.instance import CRASH_LOOP, NO_VOLUME, Trouble
from eks_gpushare_lab.simulated_node.mig_parted import ApplyError, SpecError
from eks_gpushare_lab.simulated_node.operator import DEPLOY, MIG_CONFIG
from eks_gpushare_lab.simulated_node.pods import (
    DISCOVERY,
    EXPORTER,
    HOST_ENGINE,
    MIG_MANAGER,
    PLUGIN,
    environment_of,
    is_alive,
    mounted,
    role_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu
    from eks_gpushare_lab.simulated_node.hardware import Hardware
    from eks_gpushare_lab.simulated_node.mig_parted import AppliedItem, Spec

    Find = Callable[[str, str], Mapping[str, str] | None]

STATE = "nvidia.com/mig.config.state"
"""The label by which it says how far it is: pending, rebooting, success or failed."""
SUCCESS, FAILED, PENDING = "success", "failed", "pending"
PAUSED = "paused-for-mig-change"
"""Value of the labels of programs that it has stopped."""

_PAUSES = ("device-plugin", "gpu-feature-discovery", "dcgm-exporter", "dcgm", "nvsm")
_CLIENT = f"{DEPLOY}client"
_FOLDER, _FILE = "/mig-parted-config", "config.yaml"
_STOPPED = (PLUGIN, DISCOVERY, EXPORTER)


class MigManager:
    """The program from the start of its pod to the pod's end."""

    def __init__(self, pod: Object, node: str) -> None:
        """Take note of the pod; nothing is read yet."""
        self.uid: str = pod["metadata"]["uid"]
        self.namespace: str = pod["metadata"]["namespace"]
        self.pod: str = pod["metadata"]["name"]
        self.node = node
        self.trouble: Trouble | None = None
        """What stops its container."""
        self.labels: dict[str, str] = {}
        """Labels that it has set on the node, to be patched."""
        self.gpus: tuple[SimulatedGpu, ...] | None = None
        """The GPUs as it has left them; None before the first change."""
        environment = environment_of(pod, MIG_MANAGER)
        self._own = "CONFIG_FILE" in environment
        self._reboots = environment.get("WITH_REBOOT", "").lower() in {"1", "t", "true"}
        self.config_map = mounted(pod, _FOLDER) if self._own else None
        """The ConfigMap with its configurations; None if it makes its own by the hardware."""
        self._handled: str | None = None
        self._items: Sequence[AppliedItem] | None = None
        self._said = ""

    @property
    def waits(self) -> bool:
        """Whether it waits for pods to be gone."""
        return self._items is not None

    def update(
        self,
        there: Mapping[str, str],
        gpus: tuple[SimulatedGpu, ...],
        hardware: Hardware,
        find: Find,
    ) -> None:
        """Do what the original does about the node's label as it is now.

        Args:
            there: labels of the node.
            gpus: of the node.
            hardware: the same GPUs as they are made.
            find: the data of a ConfigMap by namespace and name, or None if there is none.
        """
        if self.waits:
            return
        spec = self._spec(hardware, find)
        name = there.get(MIG_CONFIG, "")
        if spec is None or not name or name == self._handled:
            return
        self._handled = name
        try:
            items = mig_parted.selected(spec() if callable(spec) else spec, name)
            if mig_parted.is_applied(items, gpus, hardware):
                self._end(there, SUCCESS, f"{name} is already applied")
                return
        except (SpecError, ApplyError) as error:
            self._end(there, FAILED, f"{name}: {error}")
            return
        self._items, self._said = items, f"{name}: waiting for pods to be gone"
        self.labels = {STATE: PENDING, **self._switched(there, PAUSED)}

    def go_on(
        self,
        there: Mapping[str, str],
        gpus: tuple[SimulatedGpu, ...],
        hardware: Hardware,
        pods: Iterable[Object],
    ) -> None:
        """Go on once the paused programs have gone from the node.

        Args:
            there: labels of the node.
            gpus: of the node.
            hardware: the same GPUs as they are made.
            pods: all pods on the node.
        """
        items, here = self._items, list(pods)
        if items is None or any(self._is_stopped(pod) for pod in here):
            return
        self._items = None
        try:
            self.gpus = self._applied(items, gpus, hardware, here)
        except ApplyError as error:
            self._end(there, FAILED, f"{self._handled}: {error}")
        else:
            self._end(there, SUCCESS, f"{self._handled} is applied")

    def log(self) -> str:
        """What it would have written to its log."""
        return self._said or f"waiting for change to '{MIG_CONFIG}' label"

    def _applied(
        self,
        items: Sequence[AppliedItem],
        gpus: tuple[SimulatedGpu, ...],
        hardware: Hardware,
        pods: Sequence[Object],
    ) -> tuple[SimulatedGpu, ...]:
        switched = mig_parted.modes_are_applied(items, gpus, hardware)
        users = [pod for pod in pods if _uses_gpu(pod)]
        if switched or not hardware.is_ampere or not self._reboots:
            users += [p for p in pods if role_of(p["spec"]) == HOST_ENGINE and is_alive(p)]
        if users:
            names = ", ".join(pod["metadata"]["name"] for pod in users)
            raise ApplyError(f"error clearing MigConfig: In use by another client ({names})")
        if not switched:
            if hardware.is_ampere and not self._reboots:
                raise ApplyError(
                    "error resetting all GPUs: the change of MIG mode stays pending until the "
                    "node reboots, and WITH_REBOOT is not true"
                )
            gpus = mig_parted.with_modes(items, gpus, hardware)
            if not mig_parted.modes_are_applied(items, gpus, hardware):
                raise ApplyError("MIG mode change did not take effect after rebooting")
        return mig_parted.with_instances(items, gpus, hardware)

    def _spec(self, hardware: Hardware, find: Find) -> Spec | Callable[[], Spec] | None:
        """Its configurations; None while its container cannot start."""
        self.trouble = None
        if not self._own:
            return mig_parted.generated(hardware)
        files = find(self.namespace, self.config_map or "")
        if files is None:
            message = f'MountVolume.SetUp failed for volume: configmap "{self.config_map}"'
            self.trouble = Trouble(NO_VOLUME, f"{message} not found")
            return None
        if _FILE not in files:
            path = f"{_FOLDER}/{_FILE}"
            text = f"failed to read custom config {path}: stat {path}: no such file or directory"
            self.trouble = Trouble(CRASH_LOOP, f"failed to setup MIG config: {text}")
            return None
        return lambda: mig_parted.read(files[_FILE])

    def _end(self, there: Mapping[str, str], state: str, said: str) -> None:
        self._said = said
        self.labels = {STATE: state, **self._switched(there, "true")}

    def _switched(self, there: Mapping[str, str], value: str) -> dict[str, str]:
        """The labels of the programs, but for those that somebody has switched off."""
        keys = [f"{DEPLOY}{pause}" for pause in _PAUSES]
        keys += [_CLIENT] if there.get(_CLIENT) else []
        return {key: value for key in keys if there.get(key) != "false"}

    def _is_stopped(self, pod: Object) -> bool:
        """Whether a pod is of those that it waits for."""
        mine = pod["metadata"]["namespace"] == self.namespace
        selects = _CLIENT in (pod["spec"].get("nodeSelector") or {}) and _of_daemon_set(pod)
        return selects or (mine and role_of(pod["spec"]) in _STOPPED)


def _of_daemon_set(pod: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["kind"] == "DaemonSet" for owner in owners)


def _uses_gpu(pod: Object) -> bool:
    if pod["status"].get("phase") not in {"Pending", "Running"}:
        return False
    limits = (
        (container.get("resources") or {}).get("limits") or {}
        for container in pod["spec"]["containers"]
    )
    return any(name.startswith("nvidia.com/") for limit in limits for name in limit)
