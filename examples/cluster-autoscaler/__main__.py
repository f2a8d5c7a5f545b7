"""Cluster Autoscaler and a pool of shared GPUs in a cluster that is there already.

Node groups with `scaled_by` autoscaler tell it what their nodes will advertise. The cluster needs
the add-on eks-pod-identity-agent.
"""

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import ClusterAutoscaler, DevicePlugin, GpuPool

provider = kubernetes.Provider("cluster", cluster_identifier="research")
pool = GpuPool(
    "shared",
    {
        "pool": "shared",
        "cluster_name": "research",
        "cluster_subnet_ids": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
        "instance_types": ["g6.2xlarge"],
        "nodes": {"min": 0, "desired": 0, "max": 4},
        "ami_version": "1.35.8-20260930",
        "scaled_by": "autoscaler",
        "sharing": {"mode": "timeSlicing", "replicas": 4},
    },
)
options = pulumi.ResourceOptions(providers=[provider], depends_on=[pool])
DevicePlugin("plugin", {"served": [pool.served]}, options)
ClusterAutoscaler(
    "autoscaler",
    {
        "cluster_name": "research",
        "version": "1.35",
        "pools": ["shared"],
        "node_group_names": [pool.node_group_name],
        "scaling_group_names": [pool.scaling_group_name],
        "node_templates": [pool.node_template],
        "nodes": [pool.nodes],
    },
    options,
)

pulumi.export("request", pool.request)
pulumi.export("nodeSelector", pool.node_selector)
pulumi.export("tolerations", pool.tolerations)
