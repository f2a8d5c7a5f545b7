"""Where Amazon Managed Service for Prometheus is, and where its collectors for EKS are.

Source: service `aps` in botocore 1.44.5, botocore/data/endpoints.json, for workspaces; the types
AWS::APS::Workspace and AWS::APS::Scraper of each region in cfn-lint 1.58.0, for collectors. Read
2026-11-28. CloudFormation tells nothing of me-south-1, which is as botocore has it.
"""

from __future__ import annotations

from typing import Final

COLLECTED: Final = frozenset(
    (
        *("af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-1", "ap-northeast-2"),
        *("ap-northeast-3", "ap-south-1", "ap-south-2", "ap-southeast-1", "ap-southeast-2"),
        *("ap-southeast-3", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6"),
        *("ap-southeast-7", "ca-central-1", "ca-west-1", "eu-central-1", "eu-central-2"),
        *("eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-2", "eu-west-3"),
        *("il-central-1", "me-central-1", "me-south-1", "mx-central-1", "sa-east-1", "us-east-1"),
        *("us-east-2", "us-west-1", "us-west-2"),
    )
)
"""Regions with workspaces and with collectors for clusters of EKS."""
KEPT: Final = frozenset((*COLLECTED, "us-gov-east-1", "us-gov-west-1"))
"""Regions with workspaces; in those of GovCloud a collector is the user's own."""
MOST_RULES: Final = 20
"""Rules of a group that a workspace takes unless AWS allows more: "Rules per rule group" among the
quotas (https://docs.aws.amazon.com/prometheus/latest/userguide/AMP_quotas.html). Read as Service
Quotas lists them, on 2026-11-28."""
LEAST_SECONDS: Final = 30
"""Time between two scrapes of a collector, as in the configuration that AWS gives for a start.
Whether it takes less is not written, and so nothing less is asked of it."""
