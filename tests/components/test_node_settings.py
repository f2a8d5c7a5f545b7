"""What a stack says of its nodes besides their GPUs, as it reaches AWS."""

from __future__ import annotations

import email
import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

ROLE = "arn:aws:iam::111122223333:role/gpu-nodes"
SCRIPT = "#!/bin/bash\necho größer\n"
PARTS = [
    {"content_type": "text/x-shellscript", "content": SCRIPT},
    {
        "content_type": "application/node.eks.aws",
        "content": "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n",
    },
]
CUSTOM = {
    "ami_family": "custom",
    "custom_ami": {"id": "ami-0123456789abcdef0", "family": "al2023", "driver_included": True},
    "cluster_endpoint": "https://ABCDEF.gr7.us-west-2.eks.amazonaws.com",
    "cluster_certificate_authority": "Q0E=",
    "cluster_service_cidr": "172.20.0.0/16",
}
MIG = {"instance_types": ["p4d.24xlarge"], "sharing": {"mode": "mig", "layout": "all-1g.5gb"}}


def parts(text: str) -> list[tuple[str, str]]:
    """Type and text of each part, as cloud-init reads them: with Python's own parser."""
    message = email.message_from_bytes(text.encode())
    found = []
    for each in message.walk():
        if not each.is_multipart():
            content = each.get_payload(decode=True)
            assert isinstance(content, bytes)
            charset = each.get_content_charset() or "ascii"
            found.append((each.get_content_type(), content.decode(charset)))
    return found


def spec(text: str) -> dict[str, Any]:
    """What is below `spec` of the first NodeConfig."""
    found: dict[str, Any] = json.loads(parts(text)[0][1])["spec"]
    return found


def test_a_role_of_ones_own_is_used_and_none_is_made(gpu_pool: Callable[..., Run]) -> None:
    run = gpu_pool(node_role=ROLE)

    assert run.inputs("NodeGroup")["nodeRoleArn"] == ROLE
    assert run.all("Role") + run.all("RolePolicyAttachment") == []
    assert run.inputs("GpuPool")["nodeRole"] == ROLE


def test_system_nodes_may_have_one_too(system_nodes: Callable[..., Run]) -> None:
    run = system_nodes(node_role=ROLE)

    assert run.inputs("NodeGroup")["nodeRoleArn"] == ROLE
    assert run.all("Role") == []


@pytest.mark.parametrize("preview", [True, False])
def test_a_role_may_be_made_by_the_same_program(
    record: Callable[..., Run], *, preview: bool
) -> None:
    def program() -> None:
        from pulumi_aws.iam import Role

        from eks_gpushare import GpuPool, GpuSharingEnvironment, SystemNodes, args

        role = Role("own", assume_role_policy="{}").arn
        types = ["g6.2xlarge"]
        whole: args.Sharing = {"mode": "exclusive"}
        GpuPool(
            "alone",
            {
                "pool": "gpu",
                "cluster_name": "demo",
                "cluster_subnet_ids": ["subnet-0a"],
                "instance_types": types,
                "sharing": whole,
                "node_role": role,
            },
        )
        SystemNodes("few", {"cluster_name": "demo", "subnet_ids": ["subnet-0a"], "node_role": role})
        GpuSharingEnvironment(
            "all",
            {
                "cluster": {"name": "demo", "version": "1.35"},
                "network": {"zones": ["us-west-2a", "us-west-2b"]},
                "system": {"node_role": role},
                "pools": {
                    "gpu": {"instance_types": types, "sharing": whole, "node_role": role},
                    "other": {"instance_types": types, "sharing": whole},
                },
                "region": "us-west-2",
            },
        )

    run = record(program, preview=preview)

    made = {each.name for each in run.all("Role")}
    arns = {
        each.name: run.inputs("NodeGroup", each.name)["nodeRoleArn"]
        for each in run.all("NodeGroup")
    }
    assert {name for name in made if name.endswith("-role")} & {
        f"{name}-role" for name in arns
    } == {"all-other-role"}
    if not preview:
        assert len({arns[name] for name in ("alone", "few", "all-gpu", "all-system")}) == 1
        assert arns["all-other"] != arns["alone"]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (None, {"maxUnavailable": 1}),
        (3, {"maxUnavailable": 3}),
        ("33%", {"maxUnavailablePercentage": 33}),
    ],
)
def test_nodes_are_exchanged_so_many_at_a_time(
    gpu_pool: Callable[..., Run],
    system_nodes: Callable[..., Run],
    given: object,
    made: dict[str, int],
) -> None:
    keys = {} if given is None else {"max_unavailable": given}

    assert gpu_pool(**keys).inputs("NodeGroup")["updateConfig"] == made
    assert system_nodes(**keys).inputs("NodeGroup")["updateConfig"] == made


def test_what_is_not_given_is_in_no_user_data(
    gpu_pool: Callable[..., Run], system_nodes: Callable[..., Run]
) -> None:
    assert "userData" not in gpu_pool().inputs("LaunchTemplate")
    assert "userData" not in system_nodes().inputs("LaunchTemplate")


@pytest.mark.parametrize("own", [False, True])
def test_kubelet_and_instance_store_are_in_the_node_config(
    gpu_pool: Callable[..., Run], decoded: Callable[[object], str], *, own: bool
) -> None:
    given = {"kubelet": {"podPidsLimit": 4096, "maxPods": 50}, "local_storage": "raid0"}
    run = gpu_pool(preview=False, instance_types=["g6.2xlarge"], **given, **(CUSTOM if own else {}))

    told = spec(decoded(run.inputs("LaunchTemplate")["userData"]))

    assert told["kubelet"]["config"] == {"maxPods": 50, "podPidsLimit": 4096}
    assert told["instance"] == {"localStorage": {"strategy": "RAID0"}}
    assert ("cluster" in told, "flags" in told["kubelet"]) == (own, own)


def test_the_order_of_kubelet_settings_changes_no_node(gpu_pool: Callable[..., Run]) -> None:
    one = gpu_pool(kubelet={"maxPods": 50, "podPidsLimit": 4096})
    other = gpu_pool(kubelet={"podPidsLimit": 4096, "maxPods": 50})

    assert one.inputs("LaunchTemplate") == other.inputs("LaunchTemplate")


def test_further_parts_stand_between_node_config_and_script(
    gpu_pool: Callable[..., Run],
    decoded: Callable[[object], str],
    golden: Callable[[str, str], None],
) -> None:
    run = gpu_pool(preview=False, **MIG, user_data=PARTS, kubelet={"maxPods": 50})
    text = decoded(run.inputs("LaunchTemplate")["userData"])

    found = parts(text)

    assert [kind for kind, _ in found] == [
        "application/node.eks.aws",
        "text/x-shellscript",
        "application/node.eks.aws",
        "text/x-shellscript",
    ]
    assert found[1][1].rstrip("\n") == SCRIPT.rstrip("\n")
    assert "eks-gpushare-mig.service" in found[3][1]
    alone = gpu_pool(preview=False, user_data=PARTS, kubelet={"maxPods": 50})
    golden(
        "components/further-parts.user-data.txt",
        decoded(alone.inputs("LaunchTemplate")["userData"]),
    )


def test_system_nodes_take_parts_and_kubelet_settings(
    system_nodes: Callable[..., Run], decoded: Callable[[object], str]
) -> None:
    run = system_nodes(preview=False, user_data=PARTS, kubelet={"maxPods": 50})
    text = decoded(run.inputs("LaunchTemplate")["userData"])

    assert spec(text) == {"kubelet": {"config": {"maxPods": 50}}}
    assert [kind for kind, _ in parts(text)][1:] == [each["content_type"] for each in PARTS]


@pytest.mark.parametrize("own", [False, True])
def test_bottlerocket_has_all_of_it_as_settings(
    gpu_pool: Callable[..., Run],
    decoded: Callable[[object], str],
    golden: Callable[[str, str], None],
    *,
    own: bool,
) -> None:
    image = {"id": "ami-0123456789abcdef0", "family": "bottlerocket", "driver_included": True}
    family = {**CUSTOM, "custom_ami": image} if own else {"ami_family": "bottlerocket"}
    kernel = '[settings.kernel.sysctl]\n"vm.nr_hugepages" = "5128"\n'
    run = gpu_pool(
        preview=False,
        **family,
        kubelet={
            "maxPods": 50,
            "cpuManagerPolicy": "static",
            "cpuManagerPolicyOptions": {
                "full-pcpus-only": "true",
                "strict-cpu-reservation": "false",
            },
            "systemReserved": {"cpu": "100m"},
        },
        local_storage="raid0",
        user_data=[{"content_type": "application/toml", "content": kernel}],
    )
    text = decoded(run.inputs("LaunchTemplate")["userData"])

    told = tomllib.loads(text)["settings"]

    kubernetes = told["kubernetes"]
    assert ("cluster-name" in kubernetes, "node-labels" in kubernetes) == (own, own)
    assert {key: kubernetes[key] for key in ("max-pods", "cpu-manager-policy")} == {
        "max-pods": 50,
        "cpu-manager-policy": "static",
    }
    assert kubernetes["cpu-manager-policy-options"] == ["full-pcpus-only"]
    assert told["kernel"]["sysctl"] == {"vm.nr_hugepages": "5128"}
    assert told["kubelet-device-plugins"]["nvidia"]["time-slicing"]["replicas"] == 2
    golden(f"components/bottlerocket-settings.{'own' if own else 'eks'}.toml", text)
