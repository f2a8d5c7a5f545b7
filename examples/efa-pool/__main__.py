"""A pool of p4d.24xlarge with EFA in a cluster that is there already, and what hands EFA out.

Outputs say what a pod has to ask for. The nodes have a role that the program makes by itself; the
disks in the machines hold images and the files of pods.
"""

import json

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_aws.iam import Role, RolePolicyAttachment

from eks_gpushare import EfaDevicePlugin, GpuPool

TRUSTED = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "ec2.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
)

role = Role("training-nodes", assume_role_policy=json.dumps(TRUSTED))
attached = [
    RolePolicyAttachment(
        f"training-nodes-{policy}", role=role.name, policy_arn=f"arn:aws:iam::aws:policy/{policy}"
    )
    for policy in POLICIES
]
pool = GpuPool(
    "training",
    {
        "pool": "train",
        "cluster_name": "research",
        "cluster_subnet_ids": ["subnet-0123456789abcdef0"],
        "cluster_security_group_id": "sg-0123456789abcdef0",
        "vpc_id": "vpc-0123456789abcdef0",
        "instance_types": ["p4d.24xlarge"],
        "nodes": {"min": 0, "desired": 2, "max": 2},
        "ami_version": "1.35.8-20260930",
        "efa": True,
        "node_role": role.arn,
        "local_storage": "raid0",
        "max_unavailable": "50%",
        "kubelet": {"cpuManagerPolicy": "static", "topologyManagerPolicy": "best-effort"},
        "sharing": {"mode": "exclusive"},
    },
    pulumi.ResourceOptions(depends_on=attached),
)
provider = kubernetes.Provider("cluster", cluster_identifier="research")
EfaDevicePlugin(
    "efa", {"pools": ["train"]}, pulumi.ResourceOptions(providers=[provider], depends_on=[pool])
)

pulumi.export("request", pool.request.apply(lambda gpus: {**gpus, "vpc.amazonaws.com/efa": 4}))
pulumi.export("nodeSelector", pool.node_selector)
