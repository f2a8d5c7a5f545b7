"""Rules about workloads in files that are to run on the pools of a stack."""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule

_RESOURCES = "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
_EXTENDED = (
    "https://kubernetes.io/docs/tasks/administer-cluster/extended-resource-node/"
    "#advertise-a-new-extended-resource-on-one-of-your-nodes"
)

STACK_WITH_ERRORS = Rule(
    "GPU1200",
    "error",
    "The stack file that files are held against has no errors of its own.",
    "Nothing is known of pools that cannot be planned.",
    "https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus",
)
TOO_MANY_PODS = Rule(
    "GPU1201",
    "error",
    "The pods of a workload all have room on the pools of the stack.",
    "Those that are too many stay Pending, and no autoscaler adds a node beyond the most that the "
    "stack allows.",
    _EXTENDED,
)
TOO_LARGE_POD = Rule(
    "GPU1202",
    "error",
    "A node of the stack has the CPU and memory that a pod asks for beside its share.",
    "It waits for ever, and an autoscaler adds no node that it would not fit on either.",
    _RESOURCES,
)
TOO_MUCH_TOGETHER = Rule(
    "GPU1203",
    "error",
    "Workloads that run at the same time have room on the pools of the stack together.",
    "Each fits by itself, and the pods that come last stay Pending.",
    _EXTENDED,
)
SHARES_UNREACHED = Rule(
    "GPU1207",
    "warning",
    "CPU and memory of a node go round for all its shares.",
    "The node is full before its shares are: some of the GPU that is paid for stays unused.",
    _RESOURCES,
)
THIN_SHARES = Rule(
    "GPU1208",
    "info",
    "A share comes with a CPU and some memory of the node.",
    "CPU or memory runs out before the shares do, so the last shares are paid for and not used.",
    "https://karpenter.sh/docs/reference/instance-types/",
)
