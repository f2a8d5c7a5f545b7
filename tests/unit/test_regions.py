"""Which regions are near which."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from eks_gpushare.catalog import alternatives, gpu_instance_types
from eks_gpushare.catalog.regions import by_distance
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

REGIONS = sorted({region for t in gpu_instance_types().values() for region in t.zones})


@pytest.mark.parametrize(
    ("here", "first"),
    [
        ("eu-west-1", ["eu-west-2", "eu-west-3", "eu-central-1", "eu-central-2"]),
        ("us-west-1", ["us-west-2", "us-east-2", "us-east-1", "ca-central-1"]),
        ("ap-southeast-1", ["ap-southeast-5", "ap-southeast-3"]),
        ("ap-northeast-2", ["ap-northeast-3", "ap-northeast-1"]),
        ("eu-south-2", ["eu-west-3", "eu-south-1"]),
        ("me-central-1", ["me-south-1", "il-central-1"]),
        ("ap-southeast-2", ["ap-southeast-3"]),
        ("sa-east-1", ["us-east-1", "us-east-2"]),
    ],
)
def test_near_regions_come_first(here: str, first: list[str]) -> None:
    others = [region for region in REGIONS if region != here]

    assert by_distance(here, others)[: len(first)] == first


def test_an_unknown_region_comes_last_and_is_not_lost() -> None:
    assert by_distance("eu-west-1", ["xx-new-1", "us-east-1", "eu-west-2"]) == [
        "eu-west-2",
        "us-east-1",
        "xx-new-1",
    ]
    assert by_distance("xx-new-1", ["us-east-1", "eu-west-2"]) == ["eu-west-2", "us-east-1"]


def test_every_commercial_region_of_botocore_has_a_place() -> None:
    partitions = json.loads(files("botocore").joinpath("data/partitions.json").read_text())
    commercial = next(p for p in partitions["partitions"] if p["id"] == "aws")
    regions = [region for region in commercial["regions"] if region != "aws-global"]

    # One without a place would come after the regions of other continents.
    assert by_distance("eu-west-1", ["xx-new-1", *regions])[-1] == "xx-new-1"


STACK = """config:
  aws:region: {region}
  eks-gpushare:environment:
    cluster: {{name: demo, version: "1.35"}}
    pools:
      gpu: {{instanceTypes: [{type}], sharing: {sharing}}}
"""


def fix(code: str, region: str, instance_type: str, sharing: str = "{mode: exclusive}") -> str:
    text = STACK.format(region=region, type=instance_type, sharing=sharing)
    report = check_stack_file(stack_file_of(text, "Pulumi.x.yaml"))
    (found,) = [f.fix for f in report.findings if f.code == code]
    return found


def test_a_type_that_a_region_lacks_names_near_regions_and_what_is_there() -> None:
    assert fix("GPU107", "eu-west-1", "g6.12xlarge") == (
        "It was in eu-west-2, eu-west-3, eu-central-1, eu-central-2, eu-south-2, eu-north-1 and 12 "
        "more. Types with 4 GPUs in eu-west-1 are g4dn.12xlarge, g5.12xlarge, g5.24xlarge. Ask EC2 "
        "for its offerings before you rely on it."
    )


def test_what_is_named_for_a_mig_pool_can_be_cut() -> None:
    said = fix("GPU107", "eu-west-1", "p4de.24xlarge", "{mode: mig, layout: all-balanced}")

    assert "Types with 8 GPUs in eu-west-1 are p4d.24xlarge." in said


def test_what_stands_in_for_a_retired_type_is_offered_in_the_region() -> None:
    """In us-west-1 there is one such type alone."""
    assert fix("GPU104", "us-west-1", "p3.8xlarge") == "Types with 4 GPUs are g4dn.12xlarge."
    retired = gpu_instance_types()["p3.8xlarge"]
    for name in alternatives(retired, "us-west-1"):
        assert "us-west-1" in gpu_instance_types()[name].zones
