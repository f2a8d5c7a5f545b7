"""Policies on the device plugin and its configuration that edges of the inventory judge."""

from __future__ import annotations

from pulumi_policy import Severity

from eks_gpushare.inventory.edges.configs import MAP_MISSING
from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_policy
from gpushare_policies.reading.nodes import NODE_TOKENS
from gpushare_policies.tokens import ADDON, CHART_V4, RELEASE

EDGES = (
    edge_policy(
        "sharing-config-exists",
        "The configurations of the device plugin, MIG manager and others must exist and hold every "
        "key that a node label or a mount names.",
        # Whoever installs a chart in a program makes there what it names.
        applies_to=(
            *kinds.CHARTS,
            *kinds.NODES,
            "kubernetes:core/v1:ConfigMap",
            "kubernetes:apps/v1:DaemonSet",
        ),
        severity=Severity.HIGH,
        stack_file=(
            "Declare pools under `pools` in the stack file: the ConfigMap, its keys, the Release "
            "and the node labels then come from one declaration."
        ),
        fix=(
            "Make the ConfigMap in the Release's namespace, with one key for each value of the "
            "label."
        ),
        likely=(MAP_MISSING.id,),
    ),
    edge_policy(
        "gpu-stack-tolerates-taints",
        "The device plugin and what it needs must run on every GPU node, whatever its taints.",
        applies_to=(RELEASE, CHART_V4, *NODE_TOKENS),
        severity=Severity.HIGH,
        stack_file=(
            "A stack file tolerates its pools' taints: remove what overrides that under "
            "`charts.<chart>.values`, or manage these nodes as a pool."
        ),
        fix=(
            "Set the tolerations of both: `tolerations` and `nfd.worker.tolerations` of "
            "nvidia-device-plugin, `daemonsets.tolerations` and "
            "`node-feature-discovery.worker.tolerations` of gpu-operator. With "
            "nvidia-device-plugin, nodes with the label nvidia.com/gpu.present=true do without NFD."
        ),
    ),
    edge_policy(
        "gpu-nodes-have-device-plugin",
        "GPU nodes must have a device plugin, or they advertise no GPU.",
        applies_to=(*kinds.NODES, *kinds.CHARTS),
        severity=Severity.MEDIUM,
        stack_file="Declare the nodes as a pool in the stack file, which installs a device plugin.",
        fix="Install the chart nvidia-device-plugin or gpu-operator for these nodes.",
    ),
    edge_policy(
        "gpu-monitoring-reaches-nodes",
        "What tells of GPUs must run on every GPU node, whatever its taints.",
        applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:apps/v1:DaemonSet"),
        severity=Severity.LOW,
        stack_file=(
            "Tolerate the taints of the pools in the values of the chart, under "
            "`charts.<chart>.values`."
        ),
        fix="Add tolerations of the taints of the GPU nodes.",
    ),
    edge_policy(
        "sharing-config-takes-effect",
        # `fallbackStrategies: [empty]` is for nodes that are labelled later, as the plugin's README
        # does it: https://github.com/NVIDIA/k8s-device-plugin#updating-per-node-configuration-with-a-node-label
        "A configuration that shares GPUs must be one that the device plugin reads; of values that "
        "ask for none without a label of the node, people may set that later.",
        applies_to=(*kinds.CHARTS, *kinds.NODES, "kubernetes:core/v1:ConfigMap"),
        severity=Severity.MEDIUM,
        stack_file=(
            "Declare pools under `pools` in the stack file: the ConfigMap and what names it then "
            "come from one declaration."
        ),
        fix=(
            "Name the ConfigMap in the values of the chart, and a key of it in its default or in "
            "the label of the nodes."
        ),
    ),
    edge_policy(
        "device-plugin-config-valid",
        "Configurations of the device plugin must be ones that it starts with, and hold no key that"
        " it ignores.",
        applies_to=(*kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
        severity=Severity.HIGH,
        stack_file=(
            "Set `pools.<pool>.sharing` in the stack file, from which the configuration is made."
        ),
        fix="Correct the configuration in the ConfigMap or in the values of the chart.",
    ),
    edge_policy(
        "quotas-within-capacity",
        "Quotas of GPUs must be on resources that nodes advertise, within what there can be.",
        applies_to=(
            "kubernetes:core/v1:ResourceQuota",
            "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue",
            *kinds.NODES,
            *kinds.CHARTS,
        ),
        severity=Severity.MEDIUM,
        stack_file=(
            "Name the resource that the pool advertises; `eks-gpushare preview STACK` prints it."
        ),
        fix="Name the resource that nodes advertise, and no more of it than all nodes have.",
    ),
    edge_policy(
        "mps-runs",
        "GPUs that are shared by MPS must have its daemon, be whole, and serve no more pods than it"
        " can.",
        applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
        severity=Severity.HIGH,
        stack_file="Set `pools.<pool>.sharing` to mps with at most 48 replicas in the stack file.",
        fix=(
            "Use MPS on whole GPUs with at most 48 replicas (16 below compute capability 7.5), with"
            " GPU feature discovery on."
        ),
    ),
    edge_policy(
        "driver-not-twice",
        "GPU nodes must get their driver and container toolkit from one source.",
        applies_to=(*kinds.NODES, *kinds.CHARTS),
        severity=Severity.HIGH,
        likely=("GPU1180",),  # a toolkit alone goes well on some nodes
        stack_file=(
            "Leave `charts.gpuOperator.values` without `driver` and `toolkit`: the library sets "
            "them for the AMI."
        ),
        fix=(
            "With AMIs of EKS set `driver.enabled: false` and `toolkit.enabled: false` of "
            "gpu-operator; with others leave them on."
        ),
    ),
    edge_policy(
        "one-device-plugin",
        "The GPUs of a node must be given out by one device plugin, or by a DRA driver.",
        applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:apps/v1:DaemonSet"),
        severity=Severity.HIGH,
        stack_file=(
            "Choose one `gpuStack.manager` in the stack file, and install no other device plugin "
            "for its pools."
        ),
        fix="Install one of the charts, or keep them apart by node selectors.",
    ),
    edge_policy(
        "one-dcgm-engine",
        "One host engine of DCGM must run on a node.",
        applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:apps/v1:DaemonSet", ADDON),
        severity=Severity.LOW,
        stack_file="Turn one of them off in the stack file.",
        fix="Turn one of them off, or let the exporter use the engine that is there.",
    ),
    edge_policy(
        "shares-within-reach",
        "A node must not have more shares of GPUs than it can run pods, or has CPU and memory for.",
        applies_to=(*kinds.NODES, *kinds.CHARTS, *kinds.WORKLOADS),
        severity=Severity.LOW,
        stack_file=(
            "Lower `pools.<pool>.sharing.replicas` in the stack file, or choose a larger instance "
            "type."
        ),
        fix="Lower `replicas`, or choose a larger instance type.",
    ),
    edge_policy(
        "chart-values-known",
        "Values of the charts of NVIDIA must be ones that the chart reads.",
        applies_to=kinds.CHARTS,
        severity=Severity.MEDIUM,
        stack_file="Correct the key under `charts.<chart>.values` in the stack file.",
        fix="Correct the key, or remove it: the chart does not look at it.",
    ),
)
