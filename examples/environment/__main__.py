"""A whole environment beside resources of one's own: an image repository and a namespace."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from eks_gpushare import GpuSharingEnvironment

environment = GpuSharingEnvironment(
    "ml",
    {
        "region": "us-west-2",
        "cluster": {
            "name": "ml",
            "version": "1.35",
            "endpoint": {"public": True, "public_cidrs": ["203.0.113.0/24"]},
            "admins": ["arn:aws:iam::111122223333:role/Platform"],
        },
        "network": {"zones": ["us-west-2a", "us-west-2b"]},
        "pools": {
            "notebooks": {
                "instance_types": ["g6.2xlarge"],
                "nodes": {"min": 1, "max": 4},
                "sharing": {"mode": "timeSlicing", "replicas": 2},
            },
            "training": {
                "instance_types": ["g6.12xlarge"],
                "nodes": {"min": 0, "max": 2},
                "sharing": {"mode": "exclusive"},
            },
        },
        "tags": {"team": "ml-platform"},
    },
)
images = aws.ecr.Repository("images")
kubernetes.core.v1.Namespace(
    "notebooks", opts=pulumi.ResourceOptions(provider=environment.provider)
)

for name, value in environment.exports().items():
    pulumi.export(name, value)
pulumi.export("images", images.repository_url)
