"""Rules about workloads in files that are to run on the pools of a stack."""

from __future__ import annotations

from eks_gpushare.facts.index import rule_of
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
    "A node has the CPU and memory that a pod asks for beside its share.",
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
SHARES_UNREACHED = rule_of("GPU1207")
THIN_SHARES = rule_of("GPU1208")
OVER_CONTRACT = rule_of("GPU1217")
QUOTA_OF_OTHERS = Rule(
    "GPU1272",
    "error",
    "Quotas of others leave a tenant what it is sure of.",
    "All quotas of a namespace hold, so that the least counts; one with the name of the stack's "
    "own is in the way of that.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
)
