"""Shared GPUs for a cluster that is there already: a pool, and the device plugin that serves it."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from eks_gpushare import DevicePlugin, GpuPool
from eks_gpushare.documents.kubeconfig import eks_kubeconfig

found = aws.eks.get_cluster(name="platform")
nodes = GpuPool(
    "inference",
    {
        "pool": "inference",
        "instance_types": ["g6.12xlarge"],
        "nodes": {"min": 1, "max": 3},
        "sharing": {"mode": "mps", "replicas": 4},
        "cluster_name": found.name,
        "cluster_subnet_ids": found.vpc_config.subnet_ids,
    },
)
provider = kubernetes.Provider(
    "platform",
    kubeconfig=eks_kubeconfig(
        found.name,
        found.endpoint,
        found.certificate_authorities[0].data,
        region="us-west-2",
        profile=None,
    ),
    cluster_identifier=found.arn,
)
DevicePlugin(
    "device-plugin",
    {"served": [nodes.served]},
    pulumi.ResourceOptions(providers=[provider], depends_on=[nodes]),
)

pulumi.export("request", nodes.request)
pulumi.export("nodeSelector", nodes.node_selector)
pulumi.export("tolerations", nodes.tolerations)
