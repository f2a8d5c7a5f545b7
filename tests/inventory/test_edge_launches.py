"""What EC2 is told of nodes: the metadata service, volumes, addresses and room on disks."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import PRESENT, nodes, plugin, problems

from eks_gpushare.inventory.edges import launches
from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.launches import gib, launch_of, switched
from eks_gpushare.inventory.source import UNKNOWN, Source

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item, NodeLaunch

SAFE = {"httpTokens": "required", "httpPutResponseHopLimit": 1}
ASKS = NodeTaint("nvidia.com/gpu", "true", "PreferNoSchedule")
KEEPS = ASKS._replace(effect="NoSchedule")
PARAMETER = (
    "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/image_id"
)
SOURCE = Source("the launch template gpu")


def volume(size: Any = 200, /, **ebs: Any) -> dict[str, Any]:
    return {"deviceName": "/dev/xvda", "ebs": {"volumeSize": size, "encrypted": True, **ebs}}


def launch(**data: Any) -> NodeLaunch:
    return launch_of(SOURCE, "gpu", data)


def group(launched: Any, *types: str, **more: Any) -> tuple[Item, ...]:
    labels = {} if types == ("m6i.large",) else PRESENT
    return nodes(*types, launch=launched, labels=labels, **more), plugin()


BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "IMDSv1": ("GPU1210", group(launch(metadataOptions={"httpTokens": "optional"}))),
    "a template that no node group names": (
        "GPU1210",
        (launch(metadataOptions={"httpTokens": "optional"}),),
    ),
    "nodes without a GPU": (
        "GPU1210",
        group(launch(metadataOptions={"httpTokens": "optional"}), "m6i.large"),
    ),
    "two hops": ("GPU1211", group(launch(metadataOptions={**SAFE, "httpPutResponseHopLimit": 2}))),
    "a volume in the clear": (
        "GPU1212",
        group(launch(blockDeviceMappings=[volume(encrypted=False)])),
    ),
    "the second of two": (
        "GPU1212",
        group(launch(blockDeviceMappings=[volume(), volume(encrypted="false")])),
    ),
    "a public address": ("GPU1213", group(launch(associatePublicIPAddress=True))),
    "of an interface": (
        "GPU1213",
        group(launch(networkInterfaces=[{"associatePublicIpAddress": "true"}])),
    ),
    "little room": ("GPU1214", group(launch(blockDeviceMappings=[volume(99)]))),
    "little room on all volumes": (
        "GPU1214",
        group(launch(blockDeviceMappings=[volume(2), volume(40)])),
    ),
    "a quantity": ("GPU1214", group(launch(blockDeviceMappings=[volume("40Gi")]))),
    "taints that only ask": ("GPU1215", (nodes(taints=(ASKS,), labels=PRESENT), plugin())),
    "two that do, of Karpenter": (
        "GPU1215",
        (nodes(taints=(ASKS, ASKS), labels=PRESENT, provisioner="karpenter"), plugin()),
    ),
    "what a parameter says that day": (
        "GPU1216",
        (nodes(ami=f"resolve:ssm:{PARAMETER}", labels=PRESENT), plugin()),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "nothing is said": group(launch()),
    "no launch": group(None),
    "all of it is safe": group(
        launch(
            metadataOptions=SAFE,
            blockDeviceMappings=[volume(100)],
            networkInterfaces=[{"associatePublicIpAddress": False}],
        )
    ),
    "no metadata service": group(
        launch(metadataOptions={"httpEndpoint": "disabled", "httpTokens": "optional"})
    ),
    "encryption is left to the account": group(
        launch(blockDeviceMappings=[volume(encrypted=None)])
    ),
    "a small volume without a GPU": group(launch(blockDeviceMappings=[volume(20)]), "m6i.large"),
    "a large volume for images": group(launch(blockDeviceMappings=[volume(2), volume(100)])),
    "a volume of a snapshot's size": group(
        launch(blockDeviceMappings=[volume(None, snapshotId="snap-0a1b2c3d"), volume(20)])
    ),
    "images are on the disks of the instance": group(
        launch(blockDeviceMappings=[volume(20)]),
        "g5.xlarge",
        user_data="kind: NodeConfig\nspec: {instance: {localStorage: {strategy: RAID0}}}",
    ),
    "so does Karpenter": group(
        launch(blockDeviceMappings=[volume("20Gi")], instanceStorePolicy="RAID0")
    ),
    "no taint, which others may give": (nodes(labels=PRESENT), plugin()),
    "a taint that asks beside one that keeps out": (
        nodes(taints=(ASKS, KEEPS), labels=PRESENT),
        plugin({"tolerations": [{"operator": "Exists"}]}),
    ),
    "nodes that somebody labels": (
        nodes(taints=(ASKS,), labels=PRESENT, provisioner="byHand"),
        plugin(),
    ),
    "a taint of nodes without a GPU": (nodes("m6i.large", taints=(ASKS,)), plugin()),
    "one version of a parameter": (
        nodes(ami=f"resolve:ssm:{PARAMETER}:7", labels=PRESENT),
        plugin(),
    ),
    "one image": (nodes(ami="ami-0a1b2c3d4e5f60718", labels=PRESENT), plugin()),
    "no device": group(launch(blockDeviceMappings=[{"deviceName": "/dev/xvdb", "noDevice": ""}])),
}


@pytest.mark.parametrize(("code", "items"), BROKEN.values(), ids=BROKEN)
def test_it_is_said_once(code: str, items: tuple[Item, ...]) -> None:
    assert [each.rule.id for each in problems(*items)] == [code]


@pytest.mark.parametrize("items", RIGHT.values(), ids=RIGHT)
def test_nothing_is_said(items: tuple[Item, ...]) -> None:
    assert problems(*items) == []


def test_a_launch_of_two_node_groups_is_judged_once() -> None:
    wrong = launch(metadataOptions={"httpTokens": "optional"}, blockDeviceMappings=[volume(20)])
    groups = [nodes(name=name, launch=wrong, labels=PRESENT) for name in "ab"]

    assert [each.rule.id for each in problems(*groups, wrong, plugin())] == ["GPU1210", "GPU1214"]


def test_a_volume_is_named_and_the_largest_counts() -> None:
    mapped = [
        {"deviceName": "/dev/a", "ebs": {"volumeSize": 60, "encrypted": False}},
        {"deviceName": "/dev/b", "ebs": {"volumeSize": 40}},
    ]
    clear, small = problems(*group(launch(blockDeviceMappings=mapped)))

    assert "has the volume /dev/a not encrypted" in clear.message
    assert "a volume of 60 GiB" in small.message
    assert small.path == ("blockDeviceMappings", 0, "ebs")


def test_a_volume_without_a_name_is_told_without_it() -> None:
    (clear,) = problems(launch(blockDeviceMappings=[{"ebs": {"encrypted": False}}]))

    assert "has the volume not encrypted" in clear.message


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"metadata_options": [{"http_tokens": "optional"}]}, ("metadata_options", 0)),
        ({"MetadataOptions": {"HttpTokens": "optional"}}, ("MetadataOptions",)),
        ({"metadataOptions": {"httpTokens": "optional"}}, ("metadataOptions",)),
    ],
    ids=["Terraform", "CloudFormation", "Karpenter"],
)
def test_words_of_ec2_are_read_however_they_are_joined(
    data: dict[str, Any], place: tuple[Any, ...]
) -> None:
    (found,) = problems(launch_of(SOURCE, "gpu", data))

    assert (found.rule, found.path) == (launches.TOKENS, place)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (
            {"block_device_mappings": [{"ebs": [{"encrypted": "false"}]}]},
            ("block_device_mappings", 0, "ebs", 0),
        ),
        (
            {"BlockDeviceMappings": [{"Ebs": {"Encrypted": False}}]},
            ("BlockDeviceMappings", 0, "Ebs"),
        ),
        (
            {"blockDeviceMappings": [{"ebs": {"encrypted": False}}]},
            ("blockDeviceMappings", 0, "ebs"),
        ),
    ],
    ids=["Terraform", "CloudFormation", "Karpenter"],
)
def test_volumes_are_read_however_their_words_are_joined(
    data: dict[str, Any], place: tuple[Any, ...]
) -> None:
    (found,) = problems(launch_of(SOURCE, "gpu", data))

    assert (found.rule, found.path) == (launches.ENCRYPTED, place)


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (100, Fraction(100)),
        (1, Fraction(1)),
        ("100", Fraction(100)),
        ("100Gi", Fraction(100)),
        ("1Ti", Fraction(1024)),
        (0, None),
        (True, None),
        ("much", None),
        (None, None),
        (UNKNOWN, UNKNOWN),
    ],
    ids=str,
)
def test_a_size_is_in_gib(given: Any, size: Any) -> None:
    assert gib(given) == size


@pytest.mark.parametrize(
    ("given", "on"),
    [(True, True), ("true", True), (False, False), ("false", False), ("", None), (None, None)],
    ids=str,
)
def test_a_switch_may_be_text(given: Any, on: Any) -> None:
    assert switched(given) is on
    assert switched(UNKNOWN) is UNKNOWN


def test_what_is_not_known_is_not_known_of_the_launch() -> None:
    unknown = launch_of(SOURCE, "gpu", UNKNOWN)

    assert (unknown.tokens, unknown.hops, unknown.public_address) == (UNKNOWN, UNKNOWN, UNKNOWN)
    assert launch_of(SOURCE, "gpu", {"blockDeviceMappings": [UNKNOWN]}).volumes is UNKNOWN


@pytest.mark.parametrize("ebs", [None, []])
def test_a_mapping_without_ebs_is_no_volume(ebs: Any) -> None:
    assert launch(blockDeviceMappings=[{"ebs": ebs}]).volumes == ()
