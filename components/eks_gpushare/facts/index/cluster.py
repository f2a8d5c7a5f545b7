"""Facts about the cluster and its control plane."""

from __future__ import annotations

from eks_gpushare.facts.fact import ADOPTED, Differs, Fact

OWN_KEY = Fact(
    "The secrets of a cluster are encrypted with a KMS key of one's own.",
    "EKS encrypts them with a key of AWS: who may decrypt is not for you to decide, nor to see.",
    "https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html",
    "warning",
    ("GPU1088", "secrets-encrypted"),
    {
        "secrets-encrypted": ADOPTED,
    },
)

LOGGED = Fact(
    "The control plane of a cluster logs all five types.",
    "What is not logged cannot be looked up afterwards: who did what, and why pods got no node.",
    "https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html",
    "warning",
    ("GPU1089", "control-plane-logs"),
    {
        "control-plane-logs": ADOPTED,
    },
)

PRIVATE_ENDPOINT = Fact(
    "Nodes reach the API server from within the VPC.",
    "Without the private endpoint they come through NAT, from an address that publicCidrs do not "
    "name and that changes with the gateway: they never join, and nothing says so.",
    "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html",
    "error",
    ("GPU323", "GPU1090", "private-endpoint-on"),
    {
        "GPU1090": Differs(
            "warning",
            "A file of others may name, among the networks that use the public endpoint, the "
            "addresses that its nodes come from; in a stack file nobody knows them yet.",
        ),
    },
)

STANDARD_SUPPORT = Fact(
    "A version past its standard support is asked for by name.",
    "In extended support a cluster costs six times as much per hour.",
    "https://aws.amazon.com/eks/pricing/",
    "error",
    ("GPU603", "version-in-standard-support"),
)

OPEN_ENDPOINT = Fact(
    "A public endpoint is open to named networks only.",
    "EKS opens it to the whole internet when no networks are named. Everybody reaches the API "
    "server then: one leaked credential, or one hole in it, is enough.",
    "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html",
    "error",
    ("GPU608", "GPU1087", "public-endpoint-not-open"),
)
