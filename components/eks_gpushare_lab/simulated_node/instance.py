"""One of NVIDIA's programs in one pod: what it has read, and what stops it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_gpushare_lab.simulated_node import config_file
from eks_gpushare_lab.simulated_node.advertising import MOST_BYTES
from eks_gpushare_lab.simulated_node.config_file import ConfigFileError, Configuration
from eks_gpushare_lab.simulated_node.config_manager import (
    EMPTY,
    ConfigSelectionError,
    select_config,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.simulated_node.pods import Program

CRASH_LOOP = "CrashLoopBackOff"
"""Reason of a container that stops again and again."""
NO_VOLUME = "ContainerCreating"
"""Reason of a container whose volume cannot be mounted."""
TOO_LONG = "the kubelet takes no list of devices"
"""What a log says where there are too many."""
GATED = "PodInitializing"
"""Reason of a container whose init containers have not ended."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a container does not run."""

    reason: str
    """CrashLoopBackOff, ContainerCreating or PodInitializing."""
    message: str
    """What it says before it stops."""


class RunningProgram:
    """A program from the start of its pod to the pod's end."""

    def __init__(self, pod: Object, program: Program, node: str) -> None:
        """Take note of the pod; nothing is read yet."""
        self.uid: str = pod["metadata"]["uid"]
        self.namespace: str = pod["metadata"]["namespace"]
        self.pod: str = pod["metadata"]["name"]
        self.node = node
        self.program = program
        self.key: str | None = None
        """The key it runs with; None before the first, or without a ConfigMap."""
        self.configuration: Configuration | None = None
        """What it runs with; None if it does not run."""
        self.trouble: Trouble | None = None
        """What stops it, or its config-manager."""
        self.unlisted: Mapping[str, int] = {}
        """Resources whose list of devices is too long for the kubelet, with its bytes."""
        self._label: str | None = None

    def update(self, label: str, find: Callable[[str, str], Mapping[str, str] | None]) -> None:
        """Do what the original does about the node's label as it is now.

        An edited ConfigMap is noticed by a program that does not run, when its container starts
        once more, and by no other.

        Args:
            label: value of the node's label, `""` where it has none.
            find: the data of a ConfigMap by namespace and name, or None if there is none.
        """
        if self._label == label and self.trouble is None:
            return
        first = self._label is None or self.configuration is None
        self._label = label
        if self.program.config_map is None:
            self._read("")
            return
        files = find(self.namespace, self.program.config_map)
        if files is None:
            self._no_config_map(first=first)
            return
        try:
            key = select_config(label, self.program.default, self.program.fallbacks, files)
        except ConfigSelectionError as error:
            # On a change the config-manager alone stops: the program keeps what it has read.
            self.trouble = Trouble(CRASH_LOOP, str(error))
            return
        self.trouble = None
        if first or key != self.key:
            self.key = key
            self._read("" if key == EMPTY else files[key])

    def stop(self, message: str) -> None:
        """Stop for a reason that is not in the configuration."""
        self.trouble = Trouble(CRASH_LOOP, message)

    def hold(self) -> None:
        """Wait in the init container for the operator's validator, as long as nothing runs yet."""
        if self.configuration is None:
            message = "waiting for nvidia container stack to be setup"
            self.trouble = Trouble(GATED, message)

    def _no_config_map(self, *, first: bool) -> None:
        # A volume that is mounted stays as it was when its ConfigMap goes.
        if first:
            name = self.program.config_map
            message = f'MountVolume.SetUp failed for volume: configmap "{name}" not found'
            self.trouble = Trouble(NO_VOLUME, message)
        else:
            self.trouble = None

    def _read(self, text: str) -> None:
        try:
            self.configuration = config_file.read(text, self.program.mig_strategy)
            self.trouble = None
        except ConfigFileError as error:
            self.configuration = None
            self.trouble = Trouble(CRASH_LOOP, f"unable to load config: {error}")
            return
        lacks_root = self.program.lacks_mps_root and not self.configuration.mps_root
        if self.configuration.strategy == "mps" and lacks_root:
            self.configuration = None
            self.stop("using MPS requires --mps-root to be specified")

    def log(self) -> str:
        """What it would have written to its log about its configuration, in a sentence."""
        found = self.configuration
        where = self.program.config_map
        source = "no configuration" if where is None else f"key {self.key!r} of ConfigMap {where}"
        if found is None:
            return f"read {source}: nothing it can run with"
        if not found.resources:
            return f"read {source}: nothing is shared"
        shares = ", ".join(f"{resource.name} x {resource.replicas}" for resource in found.resources)
        renamed = ", renamed" if found.renamed else ""
        said = f"read {source}: {found.strategy} of {shares}{renamed}"
        for name, size in self.unlisted.items():
            said += f"; {TOO_LONG} above {MOST_BYTES} bytes, and that of {name} has {size}"
        return said
