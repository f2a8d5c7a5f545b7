"""Shared GPUs for a cluster that is there already: a pool, and the device plugin that serves it."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from eks_gpushare import DevicePlugin, GpuPool
from eks_gpushare.args import Sharing
from eks_gpushare.documents.kubeconfig import eks_kubeconfig

found = aws.eks.get_cluster(name="platform")
instance_types = ["g6.12xlarge"]
sharing: Sharing = {"mode": "mps", "replicas": 4}

nodes = GpuPool(
    "inference",
    {
        "pool": "inference",
        "instance_types": instance_types,
        "nodes": {"min": 1, "max": 3},
        "sharing": sharing,
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
# The nodes' label names the key of the plugin's configuration that has the pool's name.
DevicePlugin(
    "device-plugin",
    {"pools": {"inference": {"instance_types": instance_types, "sharing": sharing}}},
    pulumi.ResourceOptions(providers=[provider], depends_on=[nodes]),
)

pulumi.export("request", nodes.request)
pulumi.export("nodeSelector", nodes.node_selector)
