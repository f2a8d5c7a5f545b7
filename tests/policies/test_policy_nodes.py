from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.proxy import UNKNOWN_ARRAY_VALUE, UNKNOWN_STRING_VALUE, UnknownValueError

from gpushare_policies.rules.nodes.gpu_taints import GPU_NODES_TAINTED
from gpushare_policies.rules.nodes.image_pins import AMI_VERSIONS_PINNED
from gpushare_policies.rules.nodes.node_repair_on import NODE_REPAIR_ON
from gpushare_policies.rules.nodes.node_ssh_keys import NODE_SSH_KEYS
from gpushare_policies.rules.nodes.volume_sizes import GPU_NODE_VOLUME_SIZE
from gpushare_policies.tokens import LAUNCH_TEMPLATE, MANAGED_NODE_GROUP, NODE_GROUP, OUR_POOL

if TYPE_CHECKING:
    from collections.abc import Callable

# Node groups are judged, whatever component they come from, and pools whose nodes Karpenter makes.
ALL_SHAPES = pytest.mark.parametrize("token", [NODE_GROUP, OUR_POOL])
RAW_SHAPES = pytest.mark.parametrize("token", [NODE_GROUP])
OF_KARPENTER = {"provisioner": "karpenter"}


def _untainted(effects: str, token: str = NODE_GROUP) -> str:
    stack_file = (
        '`pools.<pool>.taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]` in the '
        "stack file, or leave the key out for this default."
    )
    raw = '`taints: [{key: nvidia.com/gpu, value: "true", effect: NO_SCHEDULE}]`.'
    return (
        f"The GPU nodes of gpu have no taint that keeps other pods out (effects given: {effects}). "
        f"There must be one with the effect NoSchedule or NoExecute, or pods that need no GPU "
        f"fill the expensive nodes. Set {stack_file if token == OUR_POOL else raw}"
    )


@ALL_SHAPES
def test_gpu_nodes_with_an_empty_list_of_taints_are_refused(
    token: str, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = {**valid(token), **OF_KARPENTER, "taints": []}

    assert violations(GPU_NODES_TAINTED, token, props) == [_untainted("[]", token)]


@RAW_SHAPES
def test_gpu_nodes_without_taints_are_refused(
    token: str, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(token)
    del props["taints"]

    assert violations(GPU_NODES_TAINTED, token, props) == [_untainted("[]")]


def test_a_pool_without_the_key_has_the_default_taint(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(OUR_POOL)
    del props["taints"]

    assert violations(GPU_NODES_TAINTED, OUR_POOL, props) == []


@pytest.mark.parametrize("provisioner", ["existing", "managedNodeGroup", None])
def test_a_pool_of_other_nodes_is_not_where_taints_are_judged(
    provisioner: str | None,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = {**valid(OUR_POOL), "provisioner": provisioner, "taints": []}

    assert violations(GPU_NODES_TAINTED, OUR_POOL, props) == []


@pytest.mark.parametrize(
    ("token", "effect"),
    [(NODE_GROUP, "PREFER_NO_SCHEDULE"), (OUR_POOL, "PreferNoSchedule")],
)
def test_a_taint_that_only_prefers_is_refused(
    token: str,
    effect: str,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    taints = [{"key": "nvidia.com/gpu", "effect": effect}]
    props = {**valid(token), **OF_KARPENTER, "taints": taints}

    assert violations(GPU_NODES_TAINTED, token, props) == [_untainted(f"[{effect}]", token)]


@pytest.mark.parametrize(
    "props",
    [
        {"amiType": "AL2023_ARM_64_NVIDIA"},
        {"amiType": "BOTTLEROCKET_x86_64_NVIDIA_FIPS"},
        {"amiType": "AL2_x86_64_GPU"},
        {"instanceTypes": ["t3.large", "g5.xlarge"]},
        {"amiType": UNKNOWN_STRING_VALUE, "instanceTypes": ["g6f.large"]},
        {"gpu": True},
    ],
)
def test_gpu_nodes_are_known_by_image_instance_type_or_switch(
    props: dict[str, Any], violations: Callable[..., list[str]]
) -> None:
    assert violations(GPU_NODES_TAINTED, NODE_GROUP, props) == [_untainted("[]")]


@pytest.mark.parametrize(
    "props",
    [
        {},
        {"amiType": "AL2023_x86_64_STANDARD", "instanceTypes": ["t3.large"]},
        {"amiType": "AL2023_x86_64_NEURON", "instanceTypes": ["inf2.xlarge"]},
    ],
)
def test_nodes_without_an_nvidia_gpu_need_no_taint(
    props: dict[str, Any], violations: Callable[..., list[str]]
) -> None:
    assert violations(GPU_NODES_TAINTED, NODE_GROUP, props) == []


def test_instance_types_that_are_not_known_yet_are_not_judged(
    violations: Callable[..., list[str]],
) -> None:
    with pytest.raises(UnknownValueError):
        violations(GPU_NODES_TAINTED, NODE_GROUP, {"instanceTypes": UNKNOWN_ARRAY_VALUE})


def test_one_good_taint_is_enough_beside_one_that_is_not_known_yet(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(NODE_GROUP)
    props["taints"].insert(0, {"key": "team", "effect": UNKNOWN_STRING_VALUE})

    assert violations(GPU_NODES_TAINTED, NODE_GROUP, props) == []


def _disk(found: str, least: int = 100, token: str = OUR_POOL) -> str:
    raw = "Set `diskSize`, in GiB."
    stack_file = "Raise `pools.<pool>.rootVolumeGiB` in the stack file."
    return (
        f"The GPU nodes of gpu have {found}. There must be at least {least} GiB, or pulling CUDA "
        f"images fills it and evicts pods. {stack_file if token == OUR_POOL else raw}"
    )


def test_gpu_nodes_with_a_small_disk_are_refused(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = {**valid(MANAGED_NODE_GROUP), "diskSize": 99.0}

    assert violations(GPU_NODE_VOLUME_SIZE, NODE_GROUP, props) == [
        _disk("a disk of 99 GiB", token=NODE_GROUP)
    ]


def test_gpu_nodes_with_the_disk_of_eks_are_refused(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(MANAGED_NODE_GROUP)
    del props["diskSize"]

    assert violations(GPU_NODE_VOLUME_SIZE, NODE_GROUP, props) == [
        _disk("no disk size, and the EKS default is 20 GiB", token=NODE_GROUP)
    ]


def test_a_pool_with_a_small_root_volume_is_refused(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = {**valid(OUR_POOL), **OF_KARPENTER, "rootVolumeGiB": 50.0}

    assert violations(GPU_NODE_VOLUME_SIZE, OUR_POOL, props) == [_disk("a root volume of 50 GiB")]


def test_the_smallest_disk_is_configured(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = {**valid(OUR_POOL), **OF_KARPENTER}
    found = violations(GPU_NODE_VOLUME_SIZE, OUR_POOL, props, config={"minimumGiB": 500.0})

    assert found == [_disk("a root volume of 200 GiB", 500)]


@pytest.mark.parametrize(("size", "violated"), [(100.0, 0), ("100", 0), (99.9, 1), ("many", 1)])
def test_a_disk_is_large_enough_at_the_least_size(
    size: object,
    violated: int,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = {**valid(MANAGED_NODE_GROUP), "diskSize": size}

    assert len(violations(GPU_NODE_VOLUME_SIZE, NODE_GROUP, props)) == violated


@pytest.mark.parametrize(("size", "violated"), [(100.0, 0), (None, 0), (99.0, 1)])
def test_a_root_volume_of_a_pool_is_large_enough_at_the_least_size(
    size: object,
    violated: int,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = {**valid(OUR_POOL), **OF_KARPENTER, "rootVolumeGiB": size}

    assert len(violations(GPU_NODE_VOLUME_SIZE, OUR_POOL, props)) == violated


def test_a_disk_of_nodes_without_gpus_may_be_small(violations: Callable[..., list[str]]) -> None:
    props = {"instanceTypes": ["t3.large"], "diskSize": 20.0}

    assert violations(GPU_NODE_VOLUME_SIZE, NODE_GROUP, props) == []


RELEASE = (
    "Set `releaseVersion` to an EKS AMI release version, for example `1.35.8-20260930`, or name a "
    "custom AMI by its ID."
)


def _unpinned(found: str, stack: str = "prod", fix: str = RELEASE) -> str:
    return (
        f"The nodes of gpu {found}, so the same program gives other nodes tomorrow. In the stack "
        f"{stack} the AMI version must be pinned. {fix}"
    )


NEWEST = "have no AMI release version and get the newest at creation"


@RAW_SHAPES
def test_nodes_without_an_ami_version_are_refused_in_production(
    token: str, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(token)
    del props["releaseVersion"]

    assert violations(AMI_VERSIONS_PINNED, token, props) == [_unpinned(NEWEST)]


def test_nodes_without_an_ami_version_pass_elsewhere(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(NODE_GROUP)
    del props["releaseVersion"]

    assert violations(AMI_VERSIONS_PINNED, NODE_GROUP, props, stack="dev") == []


def test_the_stacks_with_pinned_amis_are_configured(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    props = valid(NODE_GROUP)
    del props["releaseVersion"]
    found = violations(
        AMI_VERSIONS_PINNED, NODE_GROUP, props, stack="dev", config={"stacks": ["*"]}
    )

    assert found == [_unpinned(NEWEST, "dev")]


@pytest.mark.parametrize(
    "props",
    [
        {"amiType": "CUSTOM"},
        {"launchTemplate": {"id": "lt-1"}},
        {"releaseVersion": UNKNOWN_STRING_VALUE},
        {"amiId": "ami-1"},
    ],
)
def test_a_custom_image_is_a_pinned_one(
    props: dict[str, Any], violations: Callable[..., list[str]]
) -> None:
    assert violations(AMI_VERSIONS_PINNED, NODE_GROUP, props) == []


def test_a_launch_template_whose_image_moves_is_refused(
    violations: Callable[..., list[str]],
) -> None:
    image = "resolve:ssm:/aws/service/eks/optimized-ami/1.35/recommended/image_id"

    assert violations(AMI_VERSIONS_PINNED, LAUNCH_TEMPLATE, {"imageId": image}) == [
        _unpinned(
            f"get whatever image {image} means at the time",
            fix="Set `imageId` to the ID of an AMI.",
        )
    ]


@pytest.mark.parametrize("image", ["ami-0123456789abcdef0", "resolve:ssm:/images/gpu:3"])
def test_a_launch_template_with_one_image_passes(
    image: str, violations: Callable[..., list[str]]
) -> None:
    assert violations(AMI_VERSIONS_PINNED, LAUNCH_TEMPLATE, {"imageId": image}) == []


@pytest.mark.parametrize(("repair", "shown"), [(None, "unset"), ({"enabled": False}, "false")])
def test_gpu_nodes_without_repair_are_reported(
    repair: object,
    shown: str,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    props = {**valid(NODE_GROUP), "nodeRepairConfig": repair}

    assert violations(NODE_REPAIR_ON, NODE_GROUP, props) == [
        (
            f"Node repair of the GPU nodes of gpu is {shown}. It must be on, so that EKS replaces "
            f"a node whose GPU has failed. Set `nodeRepairConfig: {{enabled: true}}`."
        )
    ]


def test_nodes_without_gpus_need_no_repair(violations: Callable[..., list[str]]) -> None:
    assert violations(NODE_REPAIR_ON, NODE_GROUP, {"instanceTypes": ["t3.large"]}) == []


def test_nodes_that_mig_manager_reboots_need_no_repair(
    valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    labels = {"nvidia.com/mig.config": "all-1g.5gb"}
    props = {**valid(NODE_GROUP), "labels": labels, "nodeRepairConfig": {"enabled": False}}

    assert violations(NODE_REPAIR_ON, NODE_GROUP, props) == []


@pytest.mark.parametrize("enabled", [True, "true", 1.0])
def test_nodes_that_mig_manager_reboots_are_not_to_be_repaired(
    enabled: object,
    valid: Callable[[str], dict[str, Any]],
    violations: Callable[..., list[str]],
) -> None:
    labels = {"nvidia.com/mig.config": "all-1g.5gb"}
    props = {**valid(NODE_GROUP), "labels": labels, "nodeRepairConfig": {"enabled": enabled}}

    assert violations(NODE_REPAIR_ON, NODE_GROUP, props) == [
        (
            "Node repair of gpu is on, and MIG manager reboots its nodes to cut their GPUs. It "
            "must be off there: EKS takes a GPU that is away for ten minutes for broken and "
            "replaces the node. Set `nodeRepairConfig: {enabled: false}`."
        )
    ]


@pytest.mark.parametrize(
    "key",
    [
        "eks-gpushare/mig-layout",
        "startup-taint.cluster-autoscaler.kubernetes.io/driver",
        "ignore-taint.cluster-autoscaler.kubernetes.io/driver",
    ],
)
def test_a_taint_that_nodes_lose_keeps_nobody_out(
    key: str, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    start = {"key": key, "value": "pending", "effect": "NO_SCHEDULE"}
    preferring = {"key": "nvidia.com/gpu", "effect": "PREFER_NO_SCHEDULE"}
    lasting = {"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}

    def said(*taints: dict[str, str]) -> list[str]:
        return violations(GPU_NODES_TAINTED, NODE_GROUP, {**valid(NODE_GROUP), "taints": taints})

    assert len(said(start)) == 1
    assert len(said(start, preferring)) == 1
    assert said(start, lasting) == []


def test_of_user_data_that_nobody_can_read_no_key_is_said(
    violations: Callable[..., list[str]],
) -> None:
    props = {"imageId": "ami-1", "instanceType": "g5.xlarge", "userData": "//4="}  # no text
    keyed = {**props, "userData": "#cloud-config\nssh_authorized_keys:\n  - ssh-ed25519 AAAA a\n"}

    assert violations(NODE_SSH_KEYS, LAUNCH_TEMPLATE, keyed)
    assert not violations(NODE_SSH_KEYS, LAUNCH_TEMPLATE, props)
