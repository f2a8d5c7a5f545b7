from __future__ import annotations

import gzip
import json
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.aws.efa import efa_interfaces
from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.sharing.efa import efa_cards

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

ENDPOINT = "https://ABCDEF.gr7.us-west-2.eks.amazonaws.com"
AMI = "ami-0123456789abcdef0"
WIRES = {
    "cluster_endpoint": ENDPOINT,
    "cluster_certificate_authority": "Q0E=",
    "cluster_service_cidr": "172.20.0.0/16",
}
CUSTOM = {
    "ami_family": "custom",
    "custom_ami": {"id": AMI, "family": "al2023", "driver_included": True},
    **WIRES,
}
EFA = {
    "instance_types": ["p4d.24xlarge"],
    "sharing": {"mode": "exclusive"},
    "efa": True,
    "vpc_id": "vpc-0a1b2c3d",
    "cluster_security_group_id": "sg-cluster",
}
BLOCK = {
    "instance_types": ["p5.48xlarge"],
    "sharing": {"mode": "exclusive"},
    "capacity_type": "capacityBlock",
    "reservation": {"id": "cr-0123456789abcdef0"},
    "cluster_subnet_ids": ["subnet-0a"],
    "nodes": {"min": 0, "desired": 0, "max": 4},
}
EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
RESERVED = {
    "capacity_type": "reserved",
    "reservation": {"id": "cr-0123456789abcdef0"},
    "cluster_subnet_ids": ["subnet-0a"],
}


@pytest.mark.parametrize("mode", ["preview", "update"])
def test_a_pool_with_defaults(
    gpu_pool: Callable[..., Run], golden: Callable[[str, str], None], mode: str
) -> None:
    golden(f"components/gpu-pool.{mode}.json", gpu_pool(preview=mode == "preview").text())


def differing(run: Run, plain: Run, kind: str) -> dict[str, Any]:
    """Inputs that differ from those of a pool with defaults; None where one is gone."""
    old, new = plain.inputs(kind), run.inputs(kind)
    return {key: new.get(key) for key in old.keys() | new.keys() if old.get(key) != new.get(key)}


def test_node_repair_can_be_turned_off(gpu_pool: Callable[..., Run]) -> None:
    """Said outright: leaving the block away would not turn it off again."""
    made = gpu_pool(node_repair=False)

    assert differing(made, gpu_pool(), "NodeGroup") == {"nodeRepairConfig": {"enabled": False}}


def test_kubelet_waits_for_the_driver_where_it_is_told_to(
    gpu_pool: Callable[..., Run], decoded: Callable[[object], str]
) -> None:
    waiting = differing(gpu_pool(wait_for_driver=True), gpu_pool(), "LaunchTemplate")
    assert (
        decoded(waiting["userData"]).count("ExecStartPre=-/usr/local/sbin/eks-gpushare-driver") == 1
    )
    assert list(waiting) == ["userData"]

    assert differing(gpu_pool(wait_for_driver=False), gpu_pool(), "LaunchTemplate") == {}


def test_kubelet_of_an_image_of_ones_own_waits_too(
    gpu_pool: Callable[..., Run], decoded: Callable[[object], str]
) -> None:
    made = gpu_pool(preview=False, wait_for_driver=True, **CUSTOM)
    text = decoded(made.inputs("LaunchTemplate")["userData"])

    assert text.index("kind") < text.index("eks-gpushare-driver")


def test_a_desired_size_that_an_autoscaler_decides_is_left_alone(
    gpu_pool: Callable[..., Run],
) -> None:
    options = gpu_pool(scaled_by="autoscaler").one("NodeGroup").options

    assert options["ignoreChanges"] == ["scalingConfig.desiredSize"]


def test_a_desired_size_of_the_stack_is_kept_up(gpu_pool: Callable[..., Run]) -> None:
    assert "ignoreChanges" not in gpu_pool().one("NodeGroup").options


def test_efa_gives_an_interface_per_network_card(
    gpu_pool: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    golden("components/gpu-pool.efa.json", gpu_pool(preview=False, **EFA).text())


def interfaces(run: Run) -> list[tuple[int, int, str]]:
    given = run.inputs("LaunchTemplate")["networkInterfaces"]
    return [(i["networkCardIndex"], i["deviceIndex"], i["interfaceType"]) for i in given]


def test_the_first_efa_interface_carries_ip_traffic_too(gpu_pool: Callable[..., Run]) -> None:
    assert interfaces(gpu_pool(**EFA)) == [
        (0, 0, "efa"),
        (1, 0, "efa-only"),
        (2, 0, "efa-only"),
        (3, 0, "efa-only"),
    ]


NETWORK = {
    name: told["NetworkInfo"]
    for name, told in json.loads(
        gzip.decompress((files("moto") / "ec2/resources/instance_types.json.gz").read_bytes())
    ).items()
}
"""What DescribeInstanceTypes says of the network of each type."""


@pytest.mark.parametrize(
    "name", sorted(n for n, t in gpu_instance_types().items() if t.efa_interfaces and n in NETWORK)
)
def test_cards_have_room_for_the_interfaces_of_node_groups_and_of_karpenter(name: str) -> None:
    """Of both makers one function says the card and device index, and AWS how many a card has."""
    found = gpu_instance_types()[name]
    of_template = efa_interfaces(found, [])
    further = [(each["network_card_index"], each["device_index"]) for each in of_template[1:]]

    assert further == [place for place in efa_cards(found) if place[0]]
    room = {
        card["NetworkCardIndex"]: card["MaximumNetworkInterfaces"]
        for card in NETWORK[name]["NetworkCards"]
    }
    for card, device in [(0, 0), *further, *efa_cards(found)]:
        assert device < room[card], (card, device)
    with_efa = [each for each in of_template if each["interface_type"].startswith("efa")]
    assert len(with_efa) == NETWORK[name]["EfaInfo"]["MaximumEfaInterfaces"]


def test_the_first_card_of_a_p6_b300_has_no_efa(gpu_pool: Callable[..., Run]) -> None:
    """Sixteen cards with EFA, and one before them that has none."""
    found = interfaces(gpu_pool(**{**EFA, "instance_types": ["p6-b300.48xlarge"]}))

    assert found == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]


def test_efa_keeps_the_cluster_s_security_group(gpu_pool: Callable[..., Run]) -> None:
    made = gpu_pool(preview=False, **EFA)

    groups = {
        tuple(i["securityGroups"]) for i in made.inputs("LaunchTemplate")["networkInterfaces"]
    }
    assert groups == {("sg-cluster", made.one("SecurityGroup").id)}


def test_a_placement_group_is_made_on_request(gpu_pool: Callable[..., Run]) -> None:
    made = gpu_pool(preview=False, placement_group=True, cluster_subnet_ids=["subnet-0a"])

    assert made.inputs("PlacementGroup", "demo-placement") == {"strategy": "cluster"}
    assert made.inputs("LaunchTemplate")["placement"] == {
        "groupName": made.one("PlacementGroup").outputs["name"]
    }


def test_a_reserved_pool_draws_on_its_reservation(gpu_pool: Callable[..., Run]) -> None:
    made = gpu_pool(**RESERVED)

    assert differing(made, gpu_pool(), "LaunchTemplate") == {
        "capacityReservationSpecification": {
            "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
        }
    }
    assert made.inputs("NodeGroup")["capacityType"] == "ON_DEMAND"


def test_reserved_nodes_leave_before_others_take_their_capacity(
    gpu_pool: Callable[..., Run],
) -> None:
    made = gpu_pool(**RESERVED)

    assert made.one("NodeGroup").options["deleteBeforeReplace"] is True


def test_a_capacity_block_names_its_type_in_the_launch_template(
    gpu_pool: Callable[..., Run],
) -> None:
    """EKS refuses the type in the node group, and wants the market and the target beside it."""
    made = gpu_pool(**BLOCK)
    group, template = made.inputs("NodeGroup"), made.inputs("LaunchTemplate")

    assert (group["capacityType"], group.get("instanceTypes")) == ("CAPACITY_BLOCK", None)
    assert template["instanceType"] == "p5.48xlarge"
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert template["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
    }


def test_a_capacity_block_can_wait_for_its_start_without_nodes(
    gpu_pool: Callable[..., Run],
) -> None:
    sizes = gpu_pool(**BLOCK).inputs("NodeGroup")["scalingConfig"]

    assert sizes == {"minSize": 0, "desiredSize": 0, "maxSize": 4}


def test_nodes_with_an_image_of_the_user_s_own_are_told_their_cluster(
    gpu_pool: Callable[..., Run],
    decoded: Callable[[object], str],
    golden: Callable[[str, str], None],
) -> None:
    template = gpu_pool(preview=False, **CUSTOM).inputs("LaunchTemplate")

    assert template["imageId"] == AMI
    golden("components/custom-ami.user-data.txt", decoded(template["userData"]))


def test_user_data_is_one_node_config(
    gpu_pool: Callable[..., Run], decoded: Callable[[object], str]
) -> None:
    text = decoded(gpu_pool(preview=False, **CUSTOM).inputs("LaunchTemplate")["userData"])

    body = text.split("\n\n", 2)[2].rsplit("\n--", 1)[0]
    assert json.loads(body)["spec"]["cluster"] == {
        "name": "demo",
        "apiServerEndpoint": ENDPOINT,
        "certificateAuthority": "Q0E=",
        "cidr": "172.20.0.0/16",
    }


def registered_with(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Labels and taints that user data lets a node register with, the latter as EKS spells them."""
    flags = dict(
        flag.removeprefix("--").split("=", 1)
        for flag in json.loads(text.split("\n\n", 2)[2].split("\n--", 1)[0])["spec"]["kubelet"][
            "flags"
        ]
    )
    labels = dict(each.split("=") for each in flags["node-labels"].split(","))
    taints = []
    for each in flags.get("register-with-taints", "").split(","):
        what, _, effect = each.rpartition(":")
        key, _, value = what.partition("=")
        taints.append({"key": key, "value": value, "effect": EFFECTS[effect]})
    return labels, taints


def test_nodes_with_an_image_of_the_user_s_own_register_with_labels_and_taints(
    gpu_pool: Callable[..., Run], decoded: Callable[[object], str]
) -> None:
    run = gpu_pool(
        preview=False,
        labels={"team": "a", "eks-node": "gpu"},
        taints=[
            {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
            {"key": "dedicated", "effect": "NoExecute"},
        ],
        **CUSTOM,
    )
    group = run.inputs("NodeGroup")

    labels, taints = registered_with(decoded(run.inputs("LaunchTemplate")["userData"]))

    assert labels == group["labels"]
    assert by_key(taints) == by_key(group["taints"])
    assert labels["nvidia.com/device-plugin.config"] == "gpu"


def by_key(taints: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(taints, key=lambda taint: taint["key"])


def test_the_layout_that_mig_manager_makes_stays_out_of_user_data(
    gpu_pool: Callable[..., Run], decoded: Callable[[object], str]
) -> None:
    sharing = {"mode": "mig", "apply": "migManager"}
    runs = [
        gpu_pool(
            preview=False,
            instance_types=["p4d.24xlarge"],
            sharing={**sharing, "layout": layout},
            **CUSTOM,
        )
        for layout in ("all-1g.5gb", "all-balanced")
    ]

    labels, taints = registered_with(decoded(runs[0].inputs("LaunchTemplate")["userData"]))

    assert runs[1].changed_from(runs[0]) == {"GpuPool demo", "NodeGroup demo"}
    assert runs[0].inputs("NodeGroup")["labels"].keys() - labels.keys() == {"nvidia.com/mig.config"}
    assert by_key(taints) == by_key(runs[0].inputs("NodeGroup")["taints"])
    assert "eks-gpushare/mig-layout" in {taint["key"] for taint in taints}


def test_with_an_image_of_one_s_own_the_order_of_labels_and_taints_changes_no_node(
    gpu_pool: Callable[..., Run],
) -> None:
    labels = {"a": "1", "b": "2"}
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("nvidia.com/gpu", "a")]
    before = gpu_pool(preview=False, labels=labels, taints=taints, **CUSTOM)
    turned = dict(reversed(labels.items()))
    after = gpu_pool(preview=False, labels=turned, taints=taints[::-1], **CUSTOM)
    other = gpu_pool(preview=False, labels={**labels, "b": "3"}, taints=taints, **CUSTOM)

    assert "LaunchTemplate demo-template" not in after.changed_from(before)
    assert "LaunchTemplate demo-template" in other.changed_from(before)


def test_bottlerocket_s_own_images_register_with_labels_and_taints(
    gpu_pool: Callable[..., Run], decoded: Callable[[object], str]
) -> None:
    custom = {
        **CUSTOM,
        "custom_ami": {"id": AMI, "family": "bottlerocket", "driver_included": True},
    }
    taints = [
        {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "value": "", "effect": "NoExecute"},
        {"key": "dedicated", "value": "ml", "effect": "PreferNoSchedule"},
    ]
    run = gpu_pool(preview=False, labels={"team": "a"}, taints=taints, **custom)

    told = tomllib.loads(decoded(run.inputs("LaunchTemplate")["userData"]))["settings"]

    assert told["kubernetes"]["node-labels"] == run.inputs("NodeGroup")["labels"]
    assert told["kubernetes"]["node-taints"] == {
        "dedicated": ["ml:PreferNoSchedule"],
        "nvidia.com/gpu": [":NoExecute", "true:NoSchedule"],
    }


@pytest.mark.parametrize("family", ["al2023", "bottlerocket"])
def test_eks_brings_labels_and_taints_to_its_own_images(
    gpu_pool: Callable[..., Run], family: str
) -> None:
    template = gpu_pool(preview=False, ami_family=family, labels={"team": "a"}).inputs(
        "LaunchTemplate"
    )

    assert "userData" not in template or "team" not in template["userData"]


@pytest.mark.parametrize("own", [False, True])
def test_both_volumes_of_bottlerocket_are_encrypted(
    gpu_pool: Callable[..., Run], *, own: bool
) -> None:
    image = {"family": "bottlerocket", "id": AMI, "driver_included": True}
    given = {**CUSTOM, "custom_ami": image} if own else {"ami_family": "bottlerocket"}
    mappings = gpu_pool(**given).inputs("LaunchTemplate")["blockDeviceMappings"]

    encrypted = {"encrypted": "true", "volumeType": "gp3", "deleteOnTermination": "true"}
    assert mappings == [
        {"deviceName": "/dev/xvdb", "ebs": {**encrypted, "volumeSize": 200}},
        {"deviceName": "/dev/xvda", "ebs": encrypted},  # of the size that the image has
    ]


def test_versions_belong_to_the_image_where_it_is_the_user_s_own(
    gpu_pool: Callable[..., Run],
) -> None:
    given = gpu_pool(version="1.35", **CUSTOM).inputs("NodeGroup")

    assert {"amiType", "version", "releaseVersion"} & given.keys() == set()


def test_a_version_and_a_release_are_given_together(gpu_pool: Callable[..., Run]) -> None:
    given = gpu_pool(version="1.35", ami_version="1.35.8-20260930").inputs("NodeGroup")

    assert (given["version"], given["releaseVersion"]) == ("1.35", "1.35.8-20260930")


def test_a_hop_limit_of_two_is_for_pods_that_need_it(gpu_pool: Callable[..., Run]) -> None:
    made = gpu_pool(metadata_hop_limit=2)

    assert differing(made, gpu_pool(), "LaunchTemplate") == {
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 2,
        }
    }


def test_tags_stay_out_of_the_launch_template_s_data(gpu_pool: Callable[..., Run]) -> None:
    """Each change of them would roll every node."""
    made = gpu_pool(tags={"team": "a"})

    assert differing(made, gpu_pool(), "LaunchTemplate") == {
        "tags": {"team": "a", "Name": "demo-template"}
    }


def test_instances_are_tagged_on_request(gpu_pool: Callable[..., Run]) -> None:
    made = gpu_pool(tags={"team": "a"}, tag_instances=True)

    assert made.inputs("LaunchTemplate")["tagSpecifications"] == [
        {"resourceType": kind, "tags": {"team": "a"}}
        for kind in ("instance", "volume", "network-interface")
    ]


def test_everything_that_takes_tags_has_them(gpu_pool: Callable[..., Run]) -> None:
    placed = {"placement_group": True, "cluster_subnet_ids": ["subnet-0a"]}

    made = gpu_pool(tags={"team": "a"}, **EFA, **placed)

    untagged = {
        each.name
        for each in made
        if each.type.startswith("aws:") and each.inputs.get("tags", {}).get("team") != "a"
    }
    assert untagged == {"demo-worker", "demo-cni", "demo-images", "demo-ssm"}  # attachments


def test_the_order_of_instance_types_changes_nothing(gpu_pool: Callable[..., Run]) -> None:
    spot = {"capacity_type": "spot", "sharing": {"mode": "timeSlicing", "replicas": 2}}
    before = gpu_pool(instance_types=["g6.2xlarge", "g6.4xlarge"], **spot)
    after = gpu_pool(instance_types=["g6.4xlarge", "g6.2xlarge"], **spot)

    assert after.changed_from(before) == {"GpuPool demo"}


def test_replicas_change_no_node(gpu_pool: Callable[..., Run]) -> None:
    after = gpu_pool(sharing={"mode": "timeSlicing", "replicas": 3})

    assert after.changed_from(gpu_pool()) == {"GpuPool demo"}


def test_labels_taints_and_sizes_leave_the_launch_template_alone(
    gpu_pool: Callable[..., Run],
) -> None:
    after = gpu_pool(
        labels={"a": "b"},
        taints=[{"key": "nvidia.com/gpu", "effect": "NoExecute"}],
        nodes={"min": 1, "desired": 2, "max": 3},
    )

    assert after.changed_from(gpu_pool()) == {"GpuPool demo", "NodeGroup demo"}


def test_taints_are_spelt_as_eks_wants_them(gpu_pool: Callable[..., Run]) -> None:
    taints = [
        {"key": "a", "value": "b", "effect": "NoExecute"},
        {"key": "c", "effect": "PreferNoSchedule"},
    ]

    assert gpu_pool(taints=taints).inputs("NodeGroup")["taints"] == [
        {"key": "a", "value": "b", "effect": "NO_EXECUTE"},
        {"key": "c", "value": "", "effect": "PREFER_NO_SCHEDULE"},
    ]


def test_an_instance_type_can_be_added_to_the_catalog(gpu_pool: Callable[..., Run]) -> None:
    gpu = {"model": "L5", "count": 2, "memory_mib": 49152, "compute_capability": "9.0"}
    added = {"vcpus": 16, "memory_mib": 65536, "arch": "amd64", "gpu": gpu}

    made = gpu_pool(
        instance_types=["g9.4xlarge"], catalog={"instance_types": {"g9.4xlarge": added}}
    )

    assert made.inputs("NodeGroup")["instanceTypes"] == ["g9.4xlarge"]


def test_outputs_of_a_pool_say_how_to_use_it(gpu_pool: Callable[..., Run]) -> None:
    made = gpu_pool(preview=False, sharing={"mode": "timeSlicing", "replicas": 2, "rename": True})

    group = made.one("NodeGroup").outputs["nodeGroupName"]
    assert made.one("GpuPool").outputs == {
        "nodeGroupName": group,
        "nodeSelector": {"eks-gpushare/pool": "gpu"},
        "request": {"nvidia.com/gpu.shared": 1},
        "tolerations": [
            {
                "key": "nvidia.com/gpu",
                "operator": "Equal",
                "value": "true",
                "effect": "NoSchedule",
            }
        ],
    }


def test_wires_may_be_outputs(record: Callable[..., Run]) -> None:
    def program() -> None:
        import pulumi

        from eks_gpushare import GpuPool

        unknown = pulumi.Output.from_input("demo").apply(lambda name: name)
        GpuPool(
            "demo",
            {
                "pool": "gpu",
                "cluster_name": unknown,
                "cluster_subnet_ids": pulumi.Output.from_input(["subnet-0a", "subnet-0b"]),
                "instance_types": ["g6.2xlarge"],
                "sharing": {"mode": "exclusive"},
            },
        )

    assert record(program).inputs("NodeGroup")["subnetIds"] == ["subnet-0a", "subnet-0b"]
