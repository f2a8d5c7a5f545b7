"""Policies on pods, and what belongs to them that edges of the inventory judge."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_policy

EDGES = (
    edge_policy(
        "workloads-can-land",
        "Pods that ask for GPUs of NVIDIA, by resources or claims, must ask for those of a node "
        "that they can be on, and be let on the nodes that they select.",
        applies_to=(*kinds.WORKLOADS, *kinds.NODES, *kinds.CHARTS),
        severity=Severity.HIGH,
        stack_file=(
            "Write the workload under `workloads` in the stack file: its resource, tolerations and "
            "selector then come from its pool."
        ),
        fix=(
            "Ask for a resource that a pool advertises, tolerate its taints, and select its labels."
        ),
        unseen=(
            "room for CPU and memory, and labels that AWS or a node itself gives, such as its zone "
            "or the product of its GPU."
        ),
    ),
    edge_policy(
        "gpu-requests-whole",
        "Pods must ask for GPUs in whole numbers, under limits, and the same under requests.",
        applies_to=kinds.WORKLOADS,
        severity=Severity.MEDIUM,
        stack_file="Write the workload under `workloads` in the stack file.",
        fix=(
            "Set a whole number under `resources.limits`, and the same or nothing under "
            "`resources.requests`."
        ),
    ),
    edge_policy(
        "one-share-per-container",
        "Containers must ask for one share of a GPU that pods take turns on.",
        applies_to=(*kinds.WORKLOADS, *kinds.CHARTS),
        severity=Severity.MEDIUM,
        stack_file="Set `workloads.<workload>.shares: 1` in the stack file, or use a pool of MIG.",
        fix="Ask for one; for more of a GPU use fewer replicas or a larger MIG profile.",
        likely=("GPU1113",),
    ),
    edge_policy(
        "mps-one-user",
        "Pods that share GPUs by MPS must run as one user and leave /dev/shm alone.",
        applies_to=(*kinds.WORKLOADS, *kinds.CHARTS),
        severity=Severity.LOW,
        stack_file="Give the workloads of one MPS pool one user, or pools of their own.",
        fix=(
            "Set one `securityContext.runAsUser` for all pods of a pool with MPS, and mount nothing"
            " at /dev/shm."
        ),
    ),
    edge_policy(
        "services-reach-pods",
        "Services and disruption budgets must select pods that are there.",
        applies_to=(
            "kubernetes:core/v1:Service",
            "kubernetes:policy/v1:PodDisruptionBudget",
            *kinds.WORKLOADS,
        ),
        severity=Severity.MEDIUM,
        stack_file=(
            "The Service and the budget of a stack file's workload select its pods: remove what "
            "changes that, such as a transform."
        ),
        fix="Select labels that the pods have, and a port that one of their containers names.",
    ),
    edge_policy(
        "budgets-let-nodes-go",
        "Disruption budgets must let pods go one at a time, or nodes cannot be drained.",
        applies_to=("kubernetes:policy/v1:PodDisruptionBudget", *kinds.WORKLOADS),
        severity=Severity.MEDIUM,
        stack_file=(
            "The budgets of a stack file's workloads let one pod go: remove what changes that, "
            "such as a transform."
        ),
        fix="Set `maxUnavailable: 1`, and no `minAvailable`.",
        likely=("GPU1195",),
    ),
    edge_policy(
        "kubernetes-objects-valid",
        "Pods and quotas must have fields and tolerations that Kubernetes takes, text where it "
        "wants text, and a version that it serves.",
        applies_to=kinds.WORKLOADS,
        severity=Severity.MEDIUM,
        stack_file="Write the workload under `workloads` in the stack file.",
        fix="Correct the field; `kubectl explain pod.spec` lists those that there are.",
    ),
)
