"""A VPC for a cluster, with a NAT gateway per zone."""

import pulumi

from eks_gpushare import Network

network = Network(
    "gpus",
    {
        "cidr": "10.30.0.0/16",
        "zones": ["us-west-2a", "us-west-2b"],
        "nat_gateways": "perZone",
        "flow_logs": True,
        "tags": {"team": "ml-platform"},
    },
)

pulumi.export("vpcId", network.vpc_id)
pulumi.export("privateSubnetIds", network.private_subnet_ids)
