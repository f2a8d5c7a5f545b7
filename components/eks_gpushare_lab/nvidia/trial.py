"""NVIDIA's programs on one node: what the plugin registers, and the labels that are written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.host.folders import make_private
from eks_gpushare_lab.host.processes import spawn, stop
from eks_gpushare_lab.nvidia import mock_gpus
from eks_gpushare_lab.nvidia.kubelet import SOCKET, Kubelet
from eks_gpushare_lab.nvidia.mounts import last_lines, mounted
from eks_gpushare_lab.nvidia.programs import LIBRARY
from eks_gpushare_lab.simulated_node.pods import DISCOVERY, PLUGIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SECONDS = 30.0
"""How long a program may take; NVIDIA's plugin waits 5 s for the kubelet, and starts in one."""
QUIET_SECONDS = 1.0
"""How long no further resource may have registered for the plugin to count as done."""

_NVML_VIEW = Path(__file__).with_name("nvml_view.py")
_PLUGINS = "/var/lib/kubelet/device-plugins"
_PROGRAMS, _NODE = "/var/lib/eks-gpushare/nvidia", "/var/lib/eks-gpushare/node"
_LABELS, _CONFIGURATION, _MOCK, _MACHINE = "labels", "config.yaml", "gpus.json", "machine"
_NO_HEALTH = {"DP_DISABLE_HEALTHCHECKS": "all"}
"""No mock of NVML tells of a GPU's health what NVIDIA's driver would."""
_NOTHING = "No devices found"
_MPS_CONTROL = "nvidia-cuda-mps-control"
_MIG_MINORS, _DRIVER = "nvidia-caps/mig-minors", "/proc/driver"
_GPUS, _GPU_INSTANCES, _COMPUTE_INSTANCES = 16, 15, 8
_STOP_SECONDS = 2.0
_TICK = 0.05


@dataclass(frozen=True, slots=True)
class TrialNode:
    """What the programs are told of a node."""

    name: str
    """The node."""
    instance_type: str
    """What its machine says that it is."""
    gpus: str
    """Its GPUs as the mock of NVML reads them."""
    mig: bool
    """Whether any is split, so that the driver has a list of capabilities."""


@dataclass(frozen=True, slots=True)
class TrialProgram:
    """One of the programs as a pod of the node runs it."""

    arguments: Sequence[str]
    """What follows the command."""
    environment: Mapping[str, str]
    """The container's variables."""
    configuration: str | None
    """Text of the key of the ConfigMap; None where it reads none."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What came of a program."""

    found: Mapping[str, int] | Mapping[str, str] | None
    """Devices by resource, or labels; None if it came to none."""
    why: str = ""
    """What ended it, with its last lines."""


@contextmanager
def trial(folder: Path, node: TrialNode, work: Path) -> Iterator[Trial]:
    """A place for the programs of a node, of which nothing is left after the block.

    Args:
        folder: of NVIDIA's programs.
        node: the node.
        work: where to put what they read and write; made, and removed.

    """
    make_private(work)
    try:
        yield Trial(folder, node, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


class Trial:
    """Runs the programs of one node."""

    def __init__(self, folder: Path, node: TrialNode, work: Path) -> None:
        """Write what both of them read."""
        self._folder, self._node, self._work = folder, node, work
        self._plugins = make_private(work / "device-plugins")
        self._files = make_private(work / "node")
        self._driver = make_private(work / "driver")
        self._write(_MOCK, node.gpus)
        self._write(_MACHINE, f"{node.instance_type}\n")
        # The plugin asks the MPS daemon only whether it is there. Who runs the daemon needs a GPU.
        self._write(_MPS_CONTROL, "#!/bin/sh\nread -r _\necho 100.0\n").chmod(0o700)
        minors = self._driver / _MIG_MINORS
        make_private(minors.parent)
        minors.write_text("".join(_capabilities()), encoding="ascii")

    def gpus(self) -> list[dict[str, object]]:
        """The GPUs that the library shows: name, and MIG instances or None.

        Raises:
            LabError: If it does not load, or does not answer.
        """
        library = self._folder / LIBRARY
        environment = {**_inherited(), mock_gpus.VARIABLE: str(self._files / _MOCK)}
        try:
            done = subprocess.run(  # noqa: S603  (our own script)
                [sys.executable, "-I", "-S", _NVML_VIEW, library],
                env=environment,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise LabError(f"{library} does not answer within {SECONDS:.0f} s") from None
        if done.returncode:
            said = last_lines(done.stderr) or f"exit code {done.returncode}"
            raise LabError(f"{library} cannot be used: {said}")
        shown: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
        return shown

    def plugin(self, program: TrialProgram, expected: Mapping[str, int]) -> TrialResult:
        """What the device plugin registers.

        Args:
            program: as the node's pod has it.
            expected: what is waited for; anything else gets some time to come, too.
        """
        # By its number and not by its path, which may be longer than that of a socket can be.
        number = os.open(self._plugins, os.O_PATH)
        try:
            with (
                Kubelet(Path(f"/proc/self/fd/{number}")) as kubelet,
                self._running(PLUGIN, program, _NO_HEALTH) as process,
            ):
                return self._registered(kubelet, process, expected)
        finally:
            os.close(number)
            (self._plugins / SOCKET).unlink(missing_ok=True)

    def discovery(self, program: TrialProgram) -> TrialResult:
        """The labels that GPU feature discovery writes, once and to a file."""
        own = {
            "USE_NODE_FEATURE_API": "false",
            "GFD_USE_NODE_FEATURE_API": "false",
            "GFD_ONESHOT": "true",
            "GFD_NO_TIMESTAMP": "true",
            "GFD_OUTPUT_FILE": f"{_NODE}/{_LABELS}",
            "GFD_MACHINE_TYPE_FILE": f"{_NODE}/{_MACHINE}",
        }
        with self._running(DISCOVERY, program, own) as process:
            code = self._wait(process)
            written = self._files / _LABELS
            if code != 0 or not written.exists():
                return TrialResult(None, self._why(DISCOVERY, code))
            lines = written.read_text(encoding="utf-8").splitlines()
        return TrialResult(dict(line.split("=", 1) for line in lines if "=" in line))

    def _registered(
        self, kubelet: Kubelet, process: subprocess.Popen[bytes], expected: Mapping[str, int]
    ) -> TrialResult:
        begun = changed = time.monotonic()
        counts: Mapping[str, int] = {}
        while time.monotonic() < begun + SECONDS:
            code = process.poll()
            if code is not None:
                return TrialResult(None, self._why(PLUGIN, code))
            now = kubelet.counts()
            if now != counts:
                counts, changed = now, time.monotonic()
            refused = kubelet.refused()
            ended = counts or refused or _NOTHING in self._log(PLUGIN)
            quiet = time.monotonic() - changed > QUIET_SECONDS
            if ended and quiet and expected.keys() <= counts.keys() | refused.keys():
                each = "; ".join(f"{name}: {why}" for name, why in refused.items())
                return TrialResult(
                    counts, f"the kubelet does not take its list of {each}" if each else ""
                )
            time.sleep(_TICK)
        why = f"{PLUGIN} registers no more within {SECONDS:.0f} s: {self._tail(PLUGIN)}"
        return TrialResult(counts or None, why)

    @contextmanager
    def _running(
        self, name: str, program: TrialProgram, own: Mapping[str, str]
    ) -> Iterator[subprocess.Popen[bytes]]:
        environment = {
            **_inherited(),
            **program.environment,
            **own,
            "PATH": f"{_NODE}:{os.environ.get('PATH', os.defpath)}",
            "LD_LIBRARY_PATH": _PROGRAMS,
            mock_gpus.VARIABLE: f"{_NODE}/{_MOCK}",
            "NODE_NAME": self._node.name,
        }
        environment.pop("CONFIG_FILE", None)
        environment.pop("KUBELET_SOCKET", None)
        if program.configuration is not None:
            self._write(_CONFIGURATION, program.configuration)
            environment["CONFIG_FILE"] = f"{_NODE}/{_CONFIGURATION}"
        command = [*mounted(self._places()), f"{_PROGRAMS}/{name}", *program.arguments]
        with (self._work / f"{name}.log").open("wb") as log:
            process = spawn(command, cwd=Path("/"), environment=environment, output=log.fileno())
            try:
                yield process
            finally:
                stop([process], _STOP_SECONDS)

    def _places(self) -> dict[Path, str]:
        places = {self._plugins: _PLUGINS, self._folder.resolve(): _PROGRAMS, self._files: _NODE}
        if self._node.mig and Path(_DRIVER).is_dir():
            places[self._driver] = _DRIVER
        return places

    def _wait(self, process: subprocess.Popen[bytes]) -> int | None:
        try:
            return process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def _why(self, name: str, code: int | None) -> str:
        if code is None:
            return f"{name} is not done within {SECONDS:.0f} s: {self._tail(name)}"
        how = f"ends by signal {-code}" if code < 0 else f"ends with exit code {code}"
        return f"{name} {how}: {self._tail(name)}"

    def _tail(self, name: str) -> str:
        return last_lines(self._log(name).encode()) or "it says nothing"

    def _log(self, name: str) -> str:
        return (self._work / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def _write(self, name: str, text: str) -> Path:
        file = self._files / name
        file.write_text(text, encoding="utf-8")
        return file


def _inherited() -> dict[str, str]:
    return {name: os.environ[name] for name in ("LANG", "TMPDIR", "HOME") if name in os.environ}


def _capabilities() -> Iterator[str]:
    """Lines of the driver's list of MIG capabilities, for every instance that there could be."""
    minor = 3
    for gpu in range(_GPUS):
        for instance in range(_GPU_INSTANCES):
            yield f"gpu{gpu}/gi{instance}/access {minor}\n"
            minor += 1
            for compute in range(_COMPUTE_INSTANCES):
                yield f"gpu{gpu}/gi{instance}/ci{compute}/access {minor}\n"
                minor += 1
