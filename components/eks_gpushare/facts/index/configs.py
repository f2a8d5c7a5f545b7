"""Facts about the device plugin's configurations."""

from __future__ import annotations

from eks_gpushare.catalog.versions import device_plugin_source
from eks_gpushare.facts.fact import Differs, Fact

IGNORED = Fact(
    "Every key of a device plugin's configuration is one that the plugin reads, in its place.",
    "It drops others without a word: sharing, or what was asked of it, is not in force.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/1433",
    "error",
    ("GPU1020", "device-plugin-config-valid"),
)

REFUSED = Fact(
    "A device plugin's configuration is one that the plugin starts with.",
    "It stops at a value that it cannot read, and restarts for ever; the node has no GPUs then.",
    device_plugin_source("api/config/v1/replicas.go"),
    "error",
    ("GPU1021", "device-plugin-config-valid"),
)

RESET = Fact(
    "A device plugin's configuration sets nothing that the plugin takes back.",
    "It says so in its log alone and goes on with the default: all devices, the usual name.",
    device_plugin_source("api/config/v1/config.go"),
    "warning",
    ("GPU1022", "device-plugin-config-valid"),
    {
        "device-plugin-config-valid": Differs(
            "error",
            "Whoever writes a configuration in a program means what it says; a file may be written"
            " for several clusters.",
        ),
    },
)

BOTH = Fact(
    "A configuration shares GPUs by time slicing or by MPS, not by both.",
    "Of both the plugin takes MPS without a word.",
    device_plugin_source("api/config/v1/sharing.go"),
    "error",
    ("GPU1023", "device-plugin-config-valid"),
)

NOT_WITH_MPS = Fact(
    "MPS shares whole GPUs, and no more often than MPS has clients.",
    "The plugin or its MPS daemon stops, and the node has no GPUs.",
    "https://github.com/NVIDIA/k8s-device-plugin#with-cuda-mps",
    "error",
    ("GPU1025", "device-plugin-config-valid"),
)

MAP_MISSING = Fact(
    "The ConfigMap that a chart's values name is there, in the namespace of the release.",
    "The device plugin's pods wait for the volume for ever: ContainerCreating, and no GPU.",
    "https://github.com/NVIDIA/gpu-operator/issues/412",
    "error",
    ("GPU1120", "sharing-config-exists"),
)

MAP_UNUSED = Fact(
    "A ConfigMap with configurations of the device plugin is named by the values of its chart.",
    "Nothing reads it: nodes advertise whole GPUs, and no error says that they are not shared.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/990",
    "warning",
    ("GPU1121", "sharing-config-takes-effect"),
)

KEY_MISSING = Fact(
    "The key that a node's label or a chart's default names is one of the ConfigMap.",
    "The config manager stops with `specified config does not exist`, and the plugin's pod crashes"
    " for ever.",
    "https://github.com/NVIDIA/k8s-device-plugin#updating-per-node-configuration-with-a-node-label",
    "error",
    ("GPU1122", "sharing-config-exists"),
)

NO_KEY = Fact(
    "Every node gets a configuration: by its label, or by the chart's default.",
    "Of several keys the plugin chooses none: its pod crashes. The GPU Operator's goes on without "
    "any, so that GPUs are not shared.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html",
    "error",
    ("GPU1123", "sharing-config-takes-effect"),
    {
        "sharing-config-takes-effect": Differs(
            "warning", "Something outside the program may label the nodes."
        ),
    },
)

LABEL_UNREAD = Fact(
    "A node's label for a configuration stands beside a chart that has configurations.",
    "Without a ConfigMap nothing looks at the label, and GPUs are not shared.",
    "https://github.com/NVIDIA/k8s-device-plugin#updating-per-node-configuration-with-a-node-label",
    "warning",
    ("GPU1124", "sharing-config-exists"),
    {
        "sharing-config-exists": Differs(
            "error", "A program has its charts: what the label names is nowhere."
        ),
    },
)

NO_YAML = Fact(
    "A configuration that a chart's values name is YAML.",
    "The device plugin or MIG manager stops at it, and its pod restarts for ever: no GPU is shared"
    " or cut.",
    "https://github.com/NVIDIA/k8s-device-plugin#updating-per-node-configuration-with-a-node-label",
    "error",
    ("GPU1125", "device-plugin-config-valid"),
)

MOUNT_MISSING = Fact(
    "The ConfigMap that a DaemonSet for GPUs mounts is there, in its namespace.",
    "Its pods wait for the volume for ever: ContainerCreating, and no GPU, layout or metric of "
    "theirs.",
    "https://kubernetes.io/docs/concepts/storage/volumes/#configmap",
    "error",
    ("GPU1127", "sharing-config-exists"),
)

FILE_MISSING = Fact(
    "What a DaemonSet for GPUs reads of a ConfigMap is one of its keys.",
    "The kubelet does not start the pods, or the program stops at a file that is not there.",
    "https://kubernetes.io/docs/concepts/storage/volumes/#configmap",
    "error",
    ("GPU1128", "sharing-config-exists"),
)
