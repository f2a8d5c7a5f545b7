"""The part of a node's user data by which containers get GPUs on request only.

A drop-in of kubelet, and not a command that runs once: whatever was done to the toolkit's
configuration before, no pod starts until it is closed, and a toolkit that cannot be told keeps
kubelet down instead of leaving every GPU to every container. The runtime reads the file for each
container, so nothing has to be restarted.

Source: `cmd/nvidia-ctk/config` of NVIDIA/nvidia-container-toolkit, whose own program was run on
this command line: `tests/unit/test_closed_runtime.py`.
"""

from __future__ import annotations

from typing import Final

from eks_gpushare.documents.node_files import SYSTEMD, data, written

RUNTIME_DROPIN: Final = f"{SYSTEMD}/kubelet.service.d/30-eks-gpushare-runtime.conf"
"""File on the node that makes kubelet close the runtime first."""


def closed_runtime_part() -> str:
    """The shell part of the user data; kubelet is started after it, by `nodeadm-run.service`."""
    lines = [
        "#!/bin/bash",
        "# Gives GPUs to containers that ask for them alone, at every start of kubelet.",
        "set -euo pipefail",
        f"mkdir -p {RUNTIME_DROPIN.rpartition('/')[0]}",
        written(RUNTIME_DROPIN, data("eks-gpushare-runtime.conf")),
        "systemctl daemon-reload",
    ]
    return "\n".join([*lines, ""])
