"""Karpenter and a pool of shared GPUs in a cluster that is there already.

Nodes start when pods ask for shares, four on each GPU, and end five minutes after the last of them.
The cluster needs the add-on eks-pod-identity-agent.
"""

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import DevicePlugin, Karpenter, KarpenterPool

provider = kubernetes.Provider("cluster", cluster_identifier="research")
karpenter = Karpenter(
    "karpenter",
    {
        "cluster_name": "research",
        "cluster_arn": "arn:aws:eks:us-west-2:111122223333:cluster/research",
        "tags": {"team": "research"},
    },
    pulumi.ResourceOptions(providers=[provider]),
)
pool = KarpenterPool(
    "shared",
    {
        "pool": "shared",
        "node_role_name": karpenter.node_role_name,
        "cluster_subnet_ids": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
        "security_group_ids": ["sg-0123456789abcdef0"],
        "instance_types": ["g6.2xlarge", "g6.4xlarge"],
        "nodes": {"max": 4},
        "ami_version": "1.35.8-20260930",
        "karpenter": {"budgets": [{"nodes": 1}], "termination_grace_period": "24h"},
        "sharing": {"mode": "timeSlicing", "replicas": 4},
    },
    # Destroying, the nodes go before what ends them.
    pulumi.ResourceOptions(providers=[provider], depends_on=[karpenter]),
)
DevicePlugin(
    "plugin",
    {"served": [pool.served]},
    pulumi.ResourceOptions(providers=[provider], depends_on=[pool]),
)

pulumi.export("request", pool.request)
pulumi.export("nodeSelector", pool.node_selector)
pulumi.export("tolerations", pool.tolerations)
