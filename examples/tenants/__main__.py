"""Two teams share the pools of a cluster that is there: each has a namespace and a quota."""

import pulumi
import pulumi_kubernetes as kubernetes

from eks_gpushare import Tenants

CLUSTER = "ml-platform"

provider = kubernetes.Provider("cluster", cluster_identifier="lab")
tenants = Tenants(
    "tenants",
    {
        "cluster_name": CLUSTER,
        "region": "us-west-2",
        "pools": {
            "notebooks": {
                "instance_types": ["g6.4xlarge"],
                "nodes": {"min": 2, "desired": 2, "max": 2},
                "sharing": {"mode": "timeSlicing", "replicas": 8, "rename": True},
            },
            "slices": {
                "instance_types": ["p4d.24xlarge"],
                "nodes": {"min": 1, "desired": 1, "max": 1},
                "sharing": {"mode": "mig", "layout": "all-balanced"},
            },
        },
        "tenants": {
            "research": {
                "namespaces": ["research"],
                "pools": {
                    "notebooks": {"guaranteed": {"shares": 12}},
                    "slices": {"guaranteed": {"gpu_memory_gib": 80}},
                },
                "admins": ["arn:aws:iam::111122223333:role/Research"],
            },
            "vision": {
                "namespaces": ["vision"],
                "isolation": "fault",
                "pools": {"slices": {"guaranteed": {"gpu_memory_gib": 240}}},
                "admins": ["arn:aws:iam::111122223333:role/Vision"],
            },
        },
    },
    pulumi.ResourceOptions(providers=[provider]),
)

pulumi.export("tenants", tenants.tenants)
