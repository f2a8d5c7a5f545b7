"""Rules about an edit of a stack that is up: what EKS or Pulumi would refuse midway.

They compare two environments, so they are no part of a check of one: `preview --before` asks, and
what it asks by is `program/edits/refused.py`.
"""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule

NETWORK_KEPT = Rule(
    "GPU810",
    "error",
    "A cluster that is up keeps its VPC and its availability zones.",
    "EKS moves no control plane to another VPC, and takes no subnets of other zones than those it "
    "was made with. The update would stop there, with the new subnets made and nothing using them.",
    "https://github.com/aws/containers-roadmap/issues/2258",
)
CLUSTER_KEPT = Rule(
    "GPU811",
    "error",
    "A protected cluster that is up is neither replaced nor given up.",
    "Pulumi refuses the whole update. Where protection is turned off in the same edit it does not, "
    "and EKS, which still protects the old cluster, refuses when the new one stands beside it.",
    "https://docs.aws.amazon.com/eks/latest/userguide/deletion-protection.html",
)
KEY_KEPT = Rule(
    "GPU812",
    "error",
    "A cluster that is up keeps its key for secrets.",
    "EKS changes no key. Pulumi would make another cluster first, and its name is taken.",
    "https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html",
)
ONE_MINOR_UP = Rule(
    "GPU813",
    "error",
    "The Kubernetes version of a cluster that is up goes up by one minor version at a time.",
    "EKS skips none. It takes a control plane back by one within seven days, but only after its "
    "nodes, and an update of a stack does it before them.",
    "https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html",
)
SIZE_KEPT = Rule(
    "GPU814",
    "error",
    "The limits of a pool that an autoscaler scales hold the desired size that EKS is sent.",
    "Updates leave the desired size as it is in the state, and EKS refuses limits that exclude it.",
    "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3521",
)
REGION_KEPT = Rule(
    "GPU815",
    "error",
    "A stack with a protected cluster keeps its region.",
    "In another region everything is made anew and the old things go, which Pulumi refuses of a "
    "protected cluster.",
    "https://docs.aws.amazon.com/eks/latest/userguide/deletion-protection.html",
)
KARPENTER_KEPT = Rule(
    "GPU775",
    "error",
    "A Karpenter that a stack has installed is not given up while its pools stay.",
    "Its custom resource definitions go with it, and with those every NodePool in the cluster and "
    "all nodes that Karpenter has made.",
    "https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/",
)
STATIC_KEPT = Rule(
    "GPU779",
    "error",
    "A pool of Karpenter's stays static, or stays dynamic.",
    "Karpenter's API refuses the change of a NodePool that is there, after the rest of the update.",
    "https://karpenter.sh/docs/concepts/nodepools/#specreplicas",
)
IMAGE_BEHIND = Rule(
    "GPU816",
    "warning",
    "Nodes from an image of one's own follow the control plane to a new Kubernetes version.",
    "EKS changes no image of yours: its kubelet stays where it is, and a control plane that is "
    "more than three minor versions ahead of it is not upgraded.",
    "https://kubernetes.io/releases/version-skew-policy",
)

ENTRY_KEPT = Rule(
    "GPU993",
    "error",
    "A principal keeps the access entry by which a cluster that is up knows it.",
    "EKS has one of each. Pulumi makes the one of another name first, which EKS refuses, and the "
    "update stops there.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html",
)
