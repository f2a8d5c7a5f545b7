"""A cluster with two pools that share their GPUs, and the device plugin that serves both."""

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import DevicePlugin, EksCluster, GpuPool, Network, SystemNodes

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
    },
)
SystemNodes(
    "gpus-system",
    {
        "cluster_name": cluster.cluster_name,
        "subnet_ids": network.private_subnet_ids,
        "version": VERSION,
    },
)

notebooks = GpuPool(
    "notebooks",
    {
        "pool": "notebooks",
        "instance_types": ["g6.2xlarge"],
        "nodes": {"min": 1, "max": 3},
        # Four pods take turns on each GPU.
        "sharing": {"mode": "timeSlicing", "replicas": 4},
        "cluster_name": cluster.cluster_name,
        "cluster_subnet_ids": network.private_subnet_ids,
        "version": VERSION,
    },
)
inference = GpuPool(
    "inference",
    {
        "pool": "inference",
        "instance_types": ["g6.12xlarge"],
        "nodes": {"min": 0, "max": 2},
        # Two pods run at once on each GPU, with half of its memory each.
        "sharing": {"mode": "mps", "replicas": 2},
        "cluster_name": cluster.cluster_name,
        "cluster_subnet_ids": network.private_subnet_ids,
        "version": VERSION,
    },
)

provider = kubernetes.Provider(
    "gpus", kubeconfig=cluster.kubeconfig, cluster_identifier=cluster.cluster_arn
)
DevicePlugin(
    "device-plugin",
    {"served": [notebooks.served, inference.served]},
    pulumi.ResourceOptions(providers=[provider], depends_on=[notebooks, inference]),
)

pulumi.export("request", notebooks.request)
pulumi.export("nodeSelector", notebooks.node_selector)
pulumi.export("tolerations", notebooks.tolerations)
