"""The part of a node's user data that cuts its GPUs at boot, before kubelet starts.

It writes what is wanted (mig.env), a script, a systemd unit that runs the script at every boot and
a drop-in by which kubelet waits for it. Nothing on the EKS AMIs does this: they have no mig-parted.

cloud-init runs the part once per instance. The unit is ordered after it, so it is started without
waiting: a start that waits would wait for itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.documents.node_files import SYSTEMD, data, written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    Instances: TypeAlias = tuple[tuple[int | str, int], ...]

MIG_ENV = "/etc/eks-gpushare/mig.env"
"""File on the node that says what is wanted."""
MIG_SCRIPT = "/usr/local/sbin/eks-gpushare-mig"
"""File on the node that does it."""
MIG_UNIT = "eks-gpushare-mig.service"
"""systemd unit that runs it."""

_STATE = "/var/lib/eks-gpushare/mig"

# What a shell that sources mig.env, a YAML flag and a kubelet flag take without quoting.
_PLAIN = {
    "profile": re.compile(r"[0-9]+|[0-9]+g\.[0-9]+gb([+-][a-z][a-z.]*)*"),
    "product": re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*|"),
    "taint": re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*(=[A-Za-z0-9_.-]*)?:(NoSchedule|NoExecute)"),
    "label": re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*"),
    "layout_hash": re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"),
}


@dataclass(frozen=True, slots=True)
class MigBoot:
    """What a node's boot makes of its GPUs."""

    layout: tuple[Instances, ...]
    """Of each GPU, by its index, the instances in the order to make them: number or name of the
    profile for `nvidia-smi mig -cgi`, and the memory slice at which it starts. A GPU with none
    stays whole."""
    product: str
    """Part of the name that `nvidia-smi` shows for these GPUs; on another board nothing is made."""
    taint: str
    """Taint of a node on which the layout could not be made, as `key=value:Effect`."""
    label: str
    """Label whose value is the hash of the layout, or `failed`; `<label>-reason` then says why."""
    layout_hash: str
    """Short name of the layout, fit for a label."""

    def __post_init__(self) -> None:
        """Refuse what would not survive the shell; the rules let none of it come here.

        Raises:
            ValueError: Naming the value.
        """
        profiles = [str(profile) for gpu in self.layout for profile, _ in gpu]
        for kind, value in (
            *(("profile", profile) for profile in profiles),
            ("product", self.product),
            ("taint", self.taint),
            ("label", self.label),
            ("layout_hash", self.layout_hash),
        ):
            if not _PLAIN[kind].fullmatch(value):
                raise ValueError(f"{value!r} is no {kind} that a node's boot could use")
        if any(start < 0 for gpu in self.layout for _, start in gpu):
            raise ValueError("an instance starts at memory slice 0 or later")

    @property
    def gpus(self) -> int:
        """GPUs of the node; with another number nothing is made."""
        return len(self.layout)


def mig_env(boot: MigBoot) -> str:
    """What the script reads, as lines of KEY="VALUE".

    MIG_LAYOUT has an entry `GPU=profile:start,...` for each GPU that is cut, with `*` for all GPUs
    that are not named.
    """
    values = {
        "MIG_LAYOUT": " ".join(_entries(boot.layout)),
        "MIG_GPUS": str(boot.gpus),
        "MIG_PRODUCT": boot.product,
        "MIG_TAINT": boot.taint,
        "MIG_LABEL": boot.label,
        "MIG_HASH": boot.layout_hash,
    }
    return "".join(f'{key}="{value}"\n' for key, value in values.items())


def mig_boot_part(boot: MigBoot) -> str:
    """The shell part of the user data; it has to be the last one, for it starts the unit."""
    waits = f"{SYSTEMD}/kubelet.service.d"
    folders = [_STATE, waits, str(Path(MIG_ENV).parent), str(Path(MIG_SCRIPT).parent)]
    lines = [
        "#!/bin/bash",
        "# Cuts the GPUs of this node into MIG instances before kubelet starts, at every boot.",
        "set -euo pipefail",
        "trap 'echo \"eks-gpushare-mig: line $LINENO of the user data failed\" >&2' ERR",
        # This runs once in the life of an instance; an image made of another one may bring state.
        f"rm -rf {_STATE}",
        f"mkdir -p {' '.join(folders)}",
        # First of all, so that kubelet stays down should anything after it fail.
        written(f"{waits}/50-eks-gpushare.conf", data("eks-gpushare-kubelet.conf")),
        "systemctl daemon-reload",
        written(MIG_ENV, mig_env(boot)),
        written(MIG_SCRIPT, data("eks-gpushare-mig.sh")),
        f"chmod 0755 {MIG_SCRIPT}",
        written(f"{SYSTEMD}/{MIG_UNIT}", data(MIG_UNIT)),
        "systemctl daemon-reload",
        f"systemctl enable {MIG_UNIT}",
        f"systemctl start --no-block {MIG_UNIT}",
    ]
    return "\n".join([*lines, ""])


def _entries(layout: tuple[Instances, ...]) -> Iterator[str]:
    """One entry per GPU that is cut; where all are, the most frequent layout once, for the rest."""
    texts = [",".join(f"{profile}:{start}" for profile, start in gpu) for gpu in layout]
    rest = max(dict.fromkeys(texts), key=texts.count, default="")
    if not all(texts):
        rest = ""
    for index, text in enumerate(texts):
        if text and text != rest:
            yield f"{index}={text}"
    if rest:
        yield f"*={rest}"
