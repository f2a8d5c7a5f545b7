"""Which availability zones a region has, by their letters.

An account sees a choice of a region's zones under letters that are its own
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html): a
letter that no account has is a slip. Source: moto 5.2.5, availability_zones_and_regions.py, which
has what DescribeAvailabilityZones answered; to that, letters that only older accounts have
(https://docs.aws.amazon.com/ram/latest/userguide/working-with-az-ids.html). Read 2026-11-22.
"""

from __future__ import annotations

_THREE = (
    *("af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-3", "ap-south-1", "ap-south-2"),
    *("ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5"),
    *("ap-southeast-6", "ap-southeast-7", "ca-west-1", "eu-central-1", "eu-central-2"),
    *("eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-3", "il-central-1"),
    *("me-central-1", "me-south-1", "mx-central-1", "sa-east-1", "us-east-2"),
    *("us-gov-east-1", "us-gov-west-1", "cn-north-1", "cn-northwest-1"),
)
ZONE_LETTERS = dict.fromkeys(_THREE, "abc") | {
    "ap-northeast-1": "abcd",  # b: older accounts
    "ap-northeast-2": "abcd",
    "ca-central-1": "abd",
    "eu-west-2": "abcd",  # d: the fourth zone, euw2-az4
    "us-east-1": "abcdef",
    "us-west-1": "abc",  # each account has two of them
    "us-west-2": "abcd",
}
"""Letters of the zones by region; of other regions they are not known."""
