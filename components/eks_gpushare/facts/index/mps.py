"""Facts about MPS."""

from __future__ import annotations

from eks_gpushare.catalog.versions import device_plugin_source
from eks_gpushare.facts.fact import Differs, Fact

CLIENTS = Fact(
    "A GPU is shared by as many as MPS takes at most.",
    "The control daemon stops with `invalid MPS configuration`, and the node advertises nothing.",
    device_plugin_source("cmd/mps-control-daemon/mps/device.go"),
    "error",
    ("GPU202", "GPU1173", "mps-runs"),
)

ONE_USER = Fact(
    "Pods that share GPUs by MPS run as one user.",
    "The MPS control daemon serves one user ID at a time: clients of another wait until all of the"
    " first are done, which servers never are. NVIDIA's plugin does not start it for several.",
    "https://manpages.ubuntu.com/manpages/jammy/man1/nvidia-cuda-mps-control.1.html",
    "warning",
    ("GPU280", "GPU1170", "GPU953", "mps-one-user"),
    {
        "GPU280": Differs("info", "A stack file has no pods: it is said beforehand."),
        "GPU953": Differs("error", "The lab has seen pods wait for their turn for ever."),
    },
)

NO_DAEMON = Fact(
    "Nodes that share GPUs by MPS get the MPS control daemon.",
    "Its DaemonSet selects the label nvidia.com/mps.capable=true, which GPU feature discovery "
    "writes; without the daemon the device plugin waits for it and advertises nothing.",
    "https://github.com/NVIDIA/k8s-device-plugin#with-cuda-mps",
    "error",
    ("GPU1171", "mps-runs"),
)

NOT_ON_MIG = Fact(
    "GPUs that are cut by MIG are not shared by MPS.",
    "The device plugin stops: sharing using MPS is not supported for MIG devices.",
    "https://github.com/NVIDIA/k8s-device-plugin#with-cuda-mps",
    "error",
    ("GPU1172", "mps-runs"),
)

SHARED_MEMORY = Fact(
    "Pods that share GPUs by MPS leave /dev/shm to the device plugin.",
    "It mounts the shared memory of the MPS control daemon there, by which clients talk to it.",
    "https://github.com/NVIDIA/k8s-device-plugin#with-cuda-mps",
    "warning",
    ("GPU1174", "mps-one-user"),
)
