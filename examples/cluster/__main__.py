"""A cluster with nodes without GPUs, ready for pools."""

import pulumi

from eks_gpushare import EksCluster, Network, SystemNodes

VERSION = "1.35"

network = Network("gpus", {"zones": ["us-west-2a", "us-west-2b"]})
cluster = EksCluster(
    "gpus",
    {
        "name": "gpus",
        "version": VERSION,
        "vpc_id": network.vpc_id,
        "private_subnet_ids": network.private_subnet_ids,
        "public_subnet_ids": network.public_subnet_ids,
        "endpoint": {"public": True, "public_cidrs": ["203.0.113.0/24"]},
        "admins": ["arn:aws:iam::111122223333:role/Platform"],
        "addons": {"ebs_csi": True},
    },
)
# CoreDNS and the EBS driver get healthy once there are nodes.
SystemNodes(
    "gpus-system",
    {
        "cluster_name": cluster.cluster_name,
        "subnet_ids": network.private_subnet_ids,
        "version": VERSION,
    },
)

pulumi.export("cluster", cluster.cluster_name)
pulumi.export("kubeconfig", cluster.kubeconfig)
