"""Rules about two declarations, each right by itself, of which one leaves no room for the other."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

NO_PLACE_TO_SPREAD: Final = Rule(
    "GPU1290",
    "warning",
    "Pods that are to be apart have as many zones, or nodes, as they need.",
    "A rule that is required is never bent: pods for which there is no further zone or node stay "
    "Pending, and an autoscaler adds none.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/",
)
CUT_SHORT: Final = Rule(
    "GPU1291",
    "warning",
    "A node that Karpenter ends waits as long as its pods may take to end.",
    "At the end of the node's own period Karpenter deletes what is still there: a checkpoint that "
    "is being written is lost.",
    "https://karpenter.sh/docs/concepts/disruption/#terminationgraceperiod",
)
NOT_FOR_AUTOSCALER: Final = Rule(
    "GPU1292",
    "warning",
    "What Cluster Autoscaler goes by is of groups and pods that it looks at.",
    "Pods below its cutoff of priority bring no node, and priorities are of groups by their names: "
    "patterns that no group matches, or that are in another namespace than its own, leave the "
    "choice to chance. Its log alone says so.",
    "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md",
)
BEYOND_QUOTA: Final = Rule(
    "GPU1293",
    "warning",
    "A quota of EC2 that is asked for is enough for the node groups beside it.",
    "EC2 starts no instance beyond the quota, which counts vCPUs and not instances.",
    "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html",
)
REFUSED_VOLUME: Final = Rule(
    "GPU1294",
    "error",
    "A gp3 volume has the IOPS that its throughput needs.",
    "EC2 gives 0.25 MiB/s for each of its IOPS and refuses more, so that no node or volume is "
    "made. Where no IOPS are written there are 3,000.",
    "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html#gp3-ebs-volume-type",
)
NO_SUCH_METRIC: Final = Rule(
    "GPU1295",
    "warning",
    "A metric by which pods are scaled is one that the adapter beside it makes.",
    "The metrics API has no other: the autoscaler knows no value, and scales nothing.",
    "https://github.com/kubernetes-sigs/prometheus-adapter/blob/master/docs/config.md",
)
PUT_BACK: Final = Rule(
    "GPU1296",
    "warning",
    "Argo CD leaves replicas alone that an autoscaler sets.",
    "With selfHeal it writes the number of the repository again as soon as an autoscaler has "
    "changed it: pods on GPUs are made and ended in turn.",
    "https://argo-cd.readthedocs.io/en/stable/user-guide/best_practices/#leaving-room-for-imperativeness",
)
NEVER_ZERO: Final = Rule(
    "GPU1297",
    "warning",
    "A model that is to go to zero is served in a way that can.",
    "Without Knative a HorizontalPodAutoscaler scales it, which keeps one pod: KServe takes "
    "0 for 1, and the GPU is paid for day and night.",
    "https://github.com/kserve/kserve/issues/3514",
)
ROLE_LACKS: Final = Rule(
    "GPU1298",
    "error",
    "Nodes have a role that there is, with the rights to join.",
    "Without them no node joins the cluster, or none is started.",
    "https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html",
)
MARKET_REFUSED: Final = Rule(
    "GPU1299",
    "error",
    "A managed node group says itself that it is of spot instances; that nodes are of a capacity "
    "block is said by the market type of their launch template.",
    "EKS refuses a launch template with market options, but for a capacity block. In such a block "
    "EC2 starts nothing that is asked for as on-demand: there is no node, and it is paid for.",
    "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-basics",
)
NOT_TRUSTED: Final = Rule(
    "GPU1332",
    "error",
    "A role of AWS lets in the ServiceAccount that is annotated with it, or that its pods have.",
    "Its trust policy, or its association of EKS Pod Identity, names accounts by namespace and "
    "name: AWS refuses the token of any other, so that a pod gets no model from S3, ends again and "
    "again, and holds its GPU.",
    "https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html",
)
NO_SUCH_RUNTIME: Final = Rule(
    "GPU1333",
    "error",
    "An InferenceService names a runtime of its own namespace, or of the cluster.",
    "KServe looks for a ServingRuntime in the namespace of the service, and then for a "
    "ClusterServingRuntime: without either it makes no pod.",
    "https://kserve.github.io/website/docs/concepts/resources/servingruntime",
)
