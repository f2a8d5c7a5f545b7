"""What `verify --watch` takes of a CPU while nothing happens: `python benchmarks/run.py --lab`.

It watches a control plane of the lab, whose programs are built on first use, by kubectl and by way
of the network as any other. The first look, which imports and starts everything, is not counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from report import Figure

if TYPE_CHECKING:
    from subjects import Setting

STACK = "time-slicing"
_SECONDS = 30
"""Between two looks, as by default."""
_LOOKS = 4
_MOST_PERCENT = 2.0
_QUIET_SECONDS = 2.0


def verify_at_rest(setting: Setting) -> list[Figure]:
    """CPU of `verify --watch` and of what it starts, in hundredths of one CPU."""
    from eks_gpushare.program.preview import locate, preview
    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.control_plane.control_plane import ControlPlane
    from eks_gpushare_lab.install.desired_cluster import desired_cluster
    from eks_gpushare_lab.session import Session

    file = f"stacks/Pulumi.{STACK}.yaml"
    recording = preview(*locate(str(setting.root / file)), known=True).recording
    if recording is None:
        raise RuntimeError(f"{file} cannot be previewed")
    with ControlPlane() as plane:
        lab = plane.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        with Session(client) as session:
            session.install(desired_cluster(recording))
            session.settle(_QUIET_SECONDS)
        client.close()
        command = setting.command("verify", file, "--json", "--watch", str(_SECONDS))
        percent = _watched([*command, "--kubeconfig", str(plane.kubeconfig)], setting.root)
    text = f"`verify --watch` of a small cluster at rest, a look each {_SECONDS} s, of a CPU"
    return [Figure("a running cluster", text, percent, "percent", _MOST_PERCENT)]


def _watched(command: list[str], folder: Path) -> float:
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as child:
        try:
            _next_look(child)
            cpu, began = _cpu(child.pid), time.monotonic()
            for _ in range(_LOOKS):
                _next_look(child)
            return 100 * (_cpu(child.pid) - cpu) / (time.monotonic() - began)
        finally:
            child.terminate()


def _next_look(child: subprocess.Popen[bytes]) -> None:
    if child.stdout is None or not child.stdout.readline():
        raise RuntimeError("verify --watch ended")


def _cpu(process: int) -> float:
    """CPU seconds of a process and of its children that have ended, such as kubectl (Linux)."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    ticks = map(int, stat.rpartition(")")[2].split()[11:15])
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit("run benchmarks/run.py --lab")
