"""Boots of a machine with the units of an EKS AMI, by systemd itself.

systemd runs as a user manager in namespaces of its own, where nothing of this machine is seen or
touched. The units around ours are stand-ins with the names and the order of the AMI's, as the
sources of awslabs/amazon-eks-ami have them; each writes its name to a log when it is done.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

SYSTEMD = Path("/usr/lib/systemd/systemd")
# `unshare` kills systemd with its first process; what hangs ends with it.
_SECONDS = 30
_ALONE = Path(tempfile.gettempdir(), f"eks-gpushare-test-boot-{os.geteuid()}")
"""Held by who boots: units of one name are one control group of this machine, in which the manager
that ends first ends the processes of another."""
_USER = () if os.geteuid() == 0 else ("--map-root-user",)
_UNSHARE = ("unshare", *_USER, "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
_BOOT = """
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/user && chmod 700 /run/user || exit 9
export XDG_RUNTIME_DIR=/run/user SYSTEMD_UNIT_PATH={root}/units HOME={root}
{systemd} --user --unit=multi-user.target </dev/null >/dev/null 2>&1 &
until grep -qx kubelet {root}/log; do /bin/sleep 0.1; done
exit 0
"""


@cache
def why_not() -> str | None:
    """Why systemd cannot be run here, None if it can."""
    if not SYSTEMD.exists() or shutil.which("systemctl") is None:
        return "no systemd here: apt-get install systemd brings it"
    try:
        done = subprocess.run(
            [*_UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/run"],
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no namespaces of one's own here: {error}"
    return (
        None
        if done.returncode == 0
        else "no namespaces of one's own here: be root, or let users have them"
    )


def oneshot(name: str, *lines: str, does: str = "true", last: str = "true") -> str:
    """A stand-in of a unit that runs once at boot; what it does `last` no longer counts as its."""
    order = "\n".join(lines)
    return (
        f"[Unit]\n{order}\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        f"ExecStart=/bin/sh -c '{does} && echo {name} >>@ROOT@/log && {last}'\n"
    )


_DRIVER = "/bin/sleep 1; echo driver >>@ROOT@/log; touch @ROOT@/driver"
_COMMON = {
    "basic.target": "[Unit]\n",
    "nodeadm-config.service": oneshot("nodeadm-config", "Before=cloud-final.service"),
    "cloud-final.service": oneshot(
        "cloud-final", "After=nodeadm-config.service", does="bash @ROOT@/user-data"
    ),
    "nodeadm-run.service": oneshot(
        "nodeadm-run",
        "After=nodeadm-config.service cloud-final.service",
        "Requires=nodeadm-config.service",
        # Else kubelet may run, and say so, before this has been said.
        last="systemctl --user restart --no-block kubelet.service",
    ),
    # Restart= and the process that stays are those of the original.
    "kubelet.service": "[Service]\n"
    "ExecStart=/bin/sh -c 'echo kubelet >>@ROOT@/log; exec /bin/sleep 600'\n"
    "Restart=on-failure\nRestartSec=1\n"
    "Environment=PATH=@ROOT@/tools:/usr/bin:/bin DRIVER_TEST_ROOT=@ROOT@\n",
}
_AFTER_DRIVER = ("nvidia-persistenced", "nvidia-fabricmanager")
OLD = {
    "nvidia-kmod-load.service": oneshot(
        "nvidia-kmod-load",
        "Before=nvidia-fabricmanager.service nvidia-persistenced.service",
        does=_DRIVER,
    ),
    **{f"{name}.service": oneshot(name) for name in _AFTER_DRIVER},
}
"""NVIDIA's units until v20260914 (templates/al2023/runtime/gpu at v20260714)."""
NEW = {
    # On the first boot it starts the other two itself, and does not wait for them.
    "nvidia-setup.service": oneshot(
        "nvidia-setup",
        "Before=nvidia-persistenced.service nvidia-fabricmanager.service",
        "Before=nvidia-cdi-refresh.service",
        does=_DRIVER
        + "".join(f"; systemctl --user start --no-block {name}.service" for name in _AFTER_DRIVER),
    ),
    **{f"{name}.service": oneshot(name) for name in _AFTER_DRIVER},
}
"""The same since v20260917 (pull request 2819, commit be7adc2e)."""


class Boots:
    """A machine whose boots are run by systemd."""

    def __init__(self, root: Path, units: dict[str, str]) -> None:
        self.root = root
        # Those that nvidia-setup starts itself are not enabled.
        started = units.get("nvidia-setup.service", "")
        self.enabled = [name for name in units if f"--no-block {name}" not in started]
        for name, text in {**_COMMON, **units}.items():
            self.write(f"units/{name}", text)
        self.write("user-data", "true\n")
        self.write("proc/uptime", "20.71 12.00\n")
        self.write("dev/kmsg", "")
        self.program("tools/sleep", "exit 0")
        self.program("tools/nvidia-smi", "[[ -e @ROOT@/driver ]] || exit 9; echo 'GPU 0: L4'")

    def write(self, path: str, text: str) -> None:
        """A file below the root of the machine."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("@ROOT@", str(self.root)), encoding="utf-8")

    def program(self, path: str, text: str) -> None:
        """A program below the root of the machine."""
        self.write(path, f"#!/bin/bash\n{text}\n")
        (self.root / path).chmod(0o755)

    def user_data(self, script: str) -> None:
        """What cloud-init runs at the first boot, with this machine's paths and its own systemd."""
        own = script.replace("/etc/systemd/system/", f"{self.root}/units/")
        own = re.sub(r"(?<=[ >=-])/(?=etc/|usr/local/|var/lib/|run/)", f"{self.root}/", own)
        own = own.replace("\nsystemctl ", "\nsystemctl --user ")
        # systemctl would make its links in the user's own folder.
        own = re.sub(
            r"\nsystemctl --user enable (\S+)",
            rf"\nfor by in multi-user.target.wants nodeadm-run.service.requires; do "
            rf"mkdir -p {self.root}/units/$by; ln -sf ../\1 {self.root}/units/$by/; done",
            own,
        )
        self.write("user-data", own.replace("journal+console", "null"))

    def boot(self) -> list[str]:
        """Boot, and say what was done in which order until kubelet runs."""
        (self.root / "log").write_text("", encoding="utf-8")
        (self.root / "driver").unlink(missing_ok=True)
        shutil.rmtree(self.root / "run", ignore_errors=True)
        wanted = " ".join(["cloud-final.service", "nodeadm-run.service", *self.enabled])
        self.write("units/multi-user.target", f"[Unit]\nWants={wanted}\n")
        with _ALONE.open("a", encoding="utf-8") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            done = subprocess.run(
                [*_UNSHARE, "bash", "-c", _BOOT.format(root=self.root, systemd=SYSTEMD)],
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        self.write("user-data", "true\n")  # cloud-init runs it once
        return self.text("log").split()

    def text(self, path: str) -> str:
        """A file of the machine."""
        return (self.root / path).read_text(encoding="utf-8")
