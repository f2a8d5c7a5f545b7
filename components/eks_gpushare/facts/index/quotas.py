"""Facts about quotas of accounts and namespaces."""

from __future__ import annotations

from eks_gpushare.facts.fact import Differs, Fact

VCPUS = Fact(
    "The account's vCPU quotas cover the pools at their largest.",
    "Launches fail with VcpuLimitExceeded; in new accounts the quotas for GPUs are 0.",
    "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html",
    "info",
    ("GPU801", "vcpus-within-quota"),
)

QUOTA_NAME = Fact(
    "A quota is on a resource that some node advertises.",
    "It counts nothing: pods ask for the resource by its other name and pass the quota unseen, or "
    "Kueue admits none of them.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#resource-quota-for-extended-resources",
    "error",
    ("GPU1150", "quotas-within-capacity"),
    {
        "quotas-within-capacity": Differs("warning", "Another program may make the nodes."),
    },
)

ABOVE_CAPACITY = Fact(
    "A quota is no more than all nodes together have when there are as many as there may be.",
    "What it promises is never there: pods within the quota stay Pending.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-and-cluster-capacity",
    "warning",
    ("GPU1151", "quotas-within-capacity"),
)

PROMISED_TWICE = Fact(
    "What ClusterQueues are sure of together is no more than there can be.",
    "Kueue admits pods up to each nominal quota, and the last of them stay Pending as admitted.",
    "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/",
    "warning",
    ("GPU1152", "quotas-within-capacity"),
)
