"""The part of a node's user data by which kubelet waits for the NVIDIA driver.

Nothing on the EKS AMIs orders the two. The GPU Operator's validator looks for a driver on the host
once, and from then on for one in a container only: on a node whose kubelet was first it waits for
ever, and with it everything else of the operator, so the node never advertises a GPU. The device
plugin's own chart needs none of this, since its containers are started again until they find the
driver.

A unit of its own could not do it as well: kubelet would have to be ordered after it in every
transaction that starts kubelet, and a drop-in of kubelet is in all of them. It leaves no label and
no taint: both would outlive a driver that comes in the end. What shows a node without its driver is
what the node lacks, and the console; where the node monitoring agent runs, it finds no GPU and EKS
repairs the node.

Source: `runValidation` in `cmd/nvidia-validator/main.go` of NVIDIA/gpu-operator, at the version in
`catalog.versions`.
"""

from __future__ import annotations

from eks_gpushare.documents.node_files import SYSTEMD, data, written

DRIVER_SCRIPT = "/usr/local/sbin/eks-gpushare-driver"
"""File on the node that waits."""
DRIVER_DROPIN = f"{SYSTEMD}/kubelet.service.d/40-eks-gpushare-driver.conf"
"""File on the node that makes kubelet run it."""


def driver_gate_part() -> str:
    """The shell part of the user data; kubelet is started after it, by `nodeadm-run.service`."""
    lines = [
        "#!/bin/bash",
        "# Lets kubelet wait for the NVIDIA driver, at every boot.",
        "set -euo pipefail",
        f"mkdir -p {DRIVER_DROPIN.rpartition('/')[0]} {DRIVER_SCRIPT.rpartition('/')[0]}",
        written(DRIVER_SCRIPT, data("eks-gpushare-driver.sh")),
        f"chmod 0755 {DRIVER_SCRIPT}",
        written(DRIVER_DROPIN, data("eks-gpushare-driver.conf")),
        "systemctl daemon-reload",
    ]
    return "\n".join([*lines, ""])
