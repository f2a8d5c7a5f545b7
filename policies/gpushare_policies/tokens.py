"""Type tokens of the resources that rules look at."""

from __future__ import annotations

AWS_CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
ACCESS_ENTRY = "aws:eks/accessEntry:AccessEntry"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
VOLUME = "aws:ebs/volume:Volume"

EKS_CLUSTER = "eks:index:Cluster"
MANAGED_NODE_GROUP = "eks:index:ManagedNodeGroup"
SCALING_GROUPS = ("eks:index:NodeGroup", "eks:index:NodeGroupV2")
"""Node groups of `pulumi_eks` that Auto Scaling runs; AWS sees labels and taints as user data."""

OUR_CLUSTER = "eks-gpushare:index:EksCluster"
OUR_POOL = "eks-gpushare:index:GpuPool"

RELEASE = "kubernetes:helm.sh/v3:Release"
CHART_V4 = "kubernetes:helm.sh/v4:Chart"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
CLUSTER_ROLE_BINDING = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding"
