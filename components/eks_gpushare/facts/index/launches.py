"""Facts about what EC2 starts nodes with: metadata service, volumes, addresses."""

from __future__ import annotations

from eks_gpushare.facts.fact import ADOPTED, Fact

TOKENS = Fact(
    "Nodes answer for credentials to those alone who show a token (IMDSv2).",
    "A request that somebody has a pod forge reads the credentials of the node.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html",
    "warning",
    ("GPU1210", "imdsv2-required", "node-class-imdsv2"),
    {"imdsv2-required": ADOPTED, "node-class-imdsv2": ADOPTED},
)

HOPS = Fact(
    "Answers of the metadata service do not leave the node.",
    "With two hops every pod reads the credentials of the node, and may do what the node may.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html",
    "info",
    ("GPU1211", "imdsv2-required", "node-class-imdsv2"),
    {"imdsv2-required": ADOPTED, "node-class-imdsv2": ADOPTED},
)

ENCRYPTED = Fact(
    "Volumes of nodes are encrypted.",
    "Where the account does not encrypt by default, models, data and secrets that pods put on the"
    " node lie there in the clear, in snapshots too.",
    "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption.html",
    "warning",
    (
        "GPU1212",
        "volumes-encrypted",
        "launch-template-volumes-encrypted",
        "node-class-volumes-encrypted",
    ),
    {
        "volumes-encrypted": ADOPTED,
        "launch-template-volumes-encrypted": ADOPTED,
        "node-class-volumes-encrypted": ADOPTED,
    },
)

PRIVATE = Fact(
    "Nodes have private addresses only.",
    "With a public one everybody reaches what a security group lets through by mistake.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/subnets.html",
    "warning",
    ("GPU1213", "nodes-without-public-address", "node-class-without-public-address"),
    {"nodes-without-public-address": ADOPTED, "node-class-without-public-address": ADOPTED},
)
