"""How the lab starts Cluster Autoscaler, and the Auto Scaling groups that it finds there.

With `helm` on PATH and EKS_GPUSHARE_TEST_CHARTS naming a folder that has the chart
`cluster-autoscaler`, the arguments are held against what the real chart renders.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare_lab.binaries import build, versions
from eks_gpushare_lab.cloud.settings import CloudSettings, Shortage
from eks_gpushare_lab.controllers import cluster_autoscaler
from eks_gpushare_lab.controllers.running import scaled_groups
from eks_gpushare_lab.install.charts import render
from eks_gpushare_lab.install.desired_cluster import DesiredCluster, NodePool
from eks_gpushare_lab.install.release import DeclaredRelease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DISCOVERED = "asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/demo"
DEFAULTS = ["--logtostderr=true", "--stderrthreshold=info", "--v=4"]
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "discovery": (
        {"autoDiscovery": {"clusterName": "demo"}},
        [f"--node-group-auto-discovery={DISCOVERED}", *DEFAULTS],
    ),
    "own-tags": (
        {"autoDiscovery": {"clusterName": "demo", "tags": ["a", "b=c"]}},
        ["--node-group-auto-discovery=asg:tag=a,b=c", *DEFAULTS],
    ),
    "nothing": ({}, DEFAULTS),
    "groups": (
        {"autoscalingGroups": [{"name": "one", "minSize": 0, "maxSize": 9}]},
        ["--nodes=0:9:one", *DEFAULTS],
    ),
    "flags": (
        {
            "extraArgs": {
                "expander": "priority,least-waste",
                "balance-similar-node-groups": False,
                "startup-taint_1": "a/b",
                "startup-taint_2": "c",
                "scan-interval": "10s",
                "scale-down-utilization-threshold": 0.5,
                "v": 2,
                "stderrthreshold": None,
            },
            "customArgs": ["--one=2"],
        },
        [
            "--balance-similar-node-groups=false",
            "--expander=priority,least-waste",
            "--logtostderr=true",
            "--scale-down-utilization-threshold=0.5",
            "--scan-interval=10s",
            "--startup-taint=a/b",
            "--startup-taint=c",
            "--v=2",
            "--one=2",
        ],
    ),
}
POOL = NodePool(
    "gpu",
    ("g5.xlarge", "g5.2xlarge"),
    1,
    {"eks-gpushare/pool": "gpu"},
    (
        {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
        {"key": "a", "effect": "NoExecute"},
    ),
    group="gpushare-gpu-123",
    cluster="demo",
    minimum=0,
    maximum=5,
    tags={"k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu": "10"},
    region="us-west-2",
    zones=("us-west-2a", "us-west-2b"),
    ami_type="AL2023_x86_64_NVIDIA",
    version="1.35",
)


def release(values: dict[str, Any]) -> DeclaredRelease:
    return DeclaredRelease("ca", "autoscaling", "cluster-autoscaler", "9.59.0", values)


@pytest.mark.parametrize("case", CASES)
def test_the_arguments_are_those_of_the_chart(case: str) -> None:
    values, expected = CASES[case]

    assert cluster_autoscaler.arguments_of(release(values)) == [
        "--cloud-provider=aws",
        "--namespace=autoscaling",
        *expected,
    ]


@pytest.mark.parametrize("case", CASES)
def test_the_real_chart_renders_them(case: str, tmp_path: Path) -> None:
    charts = os.environ.get("EKS_GPUSHARE_TEST_CHARTS", "")
    chart, helm = Path(charts) / "cluster-autoscaler", shutil.which("helm")
    if not charts or helm is None or not chart.is_dir():
        pytest.skip("no helm, or no chart cluster-autoscaler; this file says more")
    values, expected = CASES[case]
    # The chart refuses to render without anything to scale.
    needed = {"autoDiscovery": {"clusterName": "demo"}}
    some = (
        values if {"autoDiscovery", "autoscalingGroups"} & values.keys() else {**needed, **values}
    )
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(some), encoding="utf-8")
    command = [helm, "template", "ca", str(chart), "--namespace=autoscaling", f"--values={file}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    (found,) = (each for each in objects if each["kind"] == "Deployment")
    program, *arguments = found["spec"]["template"]["spec"]["containers"][0]["command"]

    assert program == "./cluster-autoscaler"
    assert arguments == cluster_autoscaler.arguments_of(release(some))
    assert arguments[-len(expected) :] == expected


def test_every_flag_of_the_lab_is_one_of_the_program() -> None:
    if build.missing((versions.cluster_autoscaler(),)):
        pytest.skip("Cluster Autoscaler has not been built")
    program = build.programs((versions.cluster_autoscaler(),)).paths["cluster-autoscaler"]
    help_text = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    known = help_text.stdout + help_text.stderr

    assert [flag for flag in cluster_autoscaler.PACE if f"--{flag} duration" not in known] == []
    assert [flag for flag in cluster_autoscaler.HERE if f"--{flag} " not in known] == []


def test_a_minute_of_its_delays_is_a_second_here() -> None:
    given = [
        "--scale-down-unneeded-time=20m",
        "--scale-down-delay-after-add=2h",
        "--expander=random",
    ]
    found = dict(each.split("=") for each in cluster_autoscaler.compressed(given))

    assert found["--scale-down-unneeded-time"] == "20s"
    assert found["--scale-down-delay-after-add"] == "120s"
    assert found["--scale-down-unready-time"] == "20s"  # the default is 20 minutes
    assert found["--scan-interval"] == "1s"  # no less
    assert found.keys() == {f"--{flag}" for flag in cluster_autoscaler.PACE}


def test_nothing_of_its_chart_is_applied() -> None:
    assert render(release({})) == []


def test_nodes_come_from_groups_only_where_it_is_in_the_stack() -> None:
    other = replace(POOL, name="existing", group="")
    found = release({})
    with_it = DesiredCluster((), (found,), (POOL, other))

    assert scaled_groups(with_it) == (found, (POOL,))
    assert scaled_groups(replace(with_it, releases=())) == (None, ())
    assert scaled_groups(replace(with_it, pools=(other,))) == (None, ())


def test_a_node_group_survives_the_way_to_the_emulation() -> None:
    from dataclasses import asdict

    assert NodePool.from_json(json.loads(json.dumps(asdict(POOL)))) == POOL


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Clients of an AWS in memory with one cluster, and with EKS's groups as the lab makes them."""
    boto3, moto = pytest.importorskip("boto3"), pytest.importorskip("moto")

    from eks_gpushare_lab.cloud import auto_scaling
    from eks_gpushare_lab.cloud.ec2 import Behaviour

    monkeypatch.setattr(Behaviour, "settings", CloudSettings())
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with moto.mock_aws():
        # Within a mock of other tests neither beginning nor end of this one forgets anything.
        for service in ("autoscaling", "ec2", "eks"):
            for backends in moto.backends.get_backend(service).values():
                backends["us-west-2"].reset()
        eks = boto3.client("eks", region_name="us-west-2")
        role = "arn:aws:iam::123456789012:role/cluster"
        eks.create_cluster(name="demo", roleArn=role, resourcesVpcConfig={"subnetIds": []})
        # Another one where other tests of the same process have set it.
        account = boto3.client("sts", region_name="us-west-2").get_caller_identity()["Account"]
        monkeypatch.setattr(auto_scaling, "ACCOUNT_ID", account)
        auto_scaling.fill([POOL])
        yield lambda service: boto3.client(service, region_name="us-west-2")


def group_in(aws: Callable[[str], Any]) -> dict[str, Any]:
    answer = aws("autoscaling").describe_auto_scaling_groups(
        Filters=[
            {"Name": "tag-key", "Values": ["k8s.io/cluster-autoscaler/enabled"]},
            {"Name": "tag:k8s.io/cluster-autoscaler/demo", "Values": ["owned"]},
        ]
    )
    (found,) = answer["AutoScalingGroups"]
    return dict(found)


def set_size(aws: Callable[[str], Any], nodes: int) -> None:
    name = group_in(aws)["AutoScalingGroupName"]
    aws("autoscaling").set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=nodes)


def instances(aws: Callable[[str], Any]) -> list[tuple[str, str]]:
    """Type and zone of each that runs, in the order of their launch."""
    group = group_in(aws)
    ids = [each["InstanceId"] for each in group["Instances"]]
    if not ids:
        return []
    described = aws("ec2").describe_instances(InstanceIds=ids)["Reservations"]
    found = {each["InstanceId"]: each for one in described for each in one["Instances"]}
    return [(found[i]["InstanceType"], found[i]["Placement"]["AvailabilityZone"]) for i in ids]


def test_a_group_is_found_as_eks_makes_it(aws: Callable[[str], Any]) -> None:
    group = group_in(aws)
    policy = group["MixedInstancesPolicy"]["LaunchTemplate"]
    tags = {each["Key"]: each["Value"] for each in group["Tags"]}

    assert (group["MinSize"], group["DesiredCapacity"], group["MaxSize"]) == (0, 1, 5)
    assert [each["InstanceType"] for each in policy["Overrides"]] == ["g5.xlarge", "g5.2xlarge"]
    assert tags["eks:nodegroup-name"] == "gpushare-gpu-123"
    assert tags["eks:cluster-name"] == "demo"
    assert not any("node-template" in key for key in tags)  # those stay with the node group


def test_a_node_group_has_what_was_registered(aws: Callable[[str], Any]) -> None:
    asked = aws("eks").describe_nodegroup(clusterName="demo", nodegroupName=POOL.group)
    found = asked["nodegroup"]

    assert found["labels"] == POOL.labels
    assert found["tags"] == POOL.tags
    assert found["taints"] == [
        {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"},
        {"key": "a", "effect": "NO_EXECUTE"},
    ]


def test_instances_of_a_group_take_zones_in_turn(aws: Callable[[str], Any]) -> None:
    set_size(aws, 3)

    assert instances(aws) == [
        ("g5.xlarge", "us-west-2a"),
        ("g5.xlarge", "us-west-2b"),
        ("g5.xlarge", "us-west-2a"),
    ]


def lacking(*given: str) -> None:
    from eks_gpushare_lab.cloud.ec2 import Behaviour

    Behaviour.settings = CloudSettings(insufficient=tuple(map(Shortage.read, given)))


def test_a_group_goes_where_there_is_capacity(aws: Callable[[str], Any]) -> None:
    lacking("g5.xlarge:us-west-2b")
    set_size(aws, 3)
    lacking("g5.xlarge")
    set_size(aws, 4)

    assert instances(aws)[1:] == [
        ("g5.xlarge", "us-west-2a"),
        ("g5.xlarge", "us-west-2a"),
        ("g5.2xlarge", "us-west-2b"),
    ]


def activities(aws: Callable[[str], Any]) -> list[dict[str, Any]]:
    name = group_in(aws)["AutoScalingGroupName"]
    answer = aws("autoscaling").describe_scaling_activities(AutoScalingGroupName=name)
    return list(answer["Activities"])


def test_a_group_without_capacity_says_so(aws: Callable[[str], Any]) -> None:
    lacking("*:*:on-demand")
    set_size(aws, 3)
    newest, *others = activities(aws)

    assert len(instances(aws)) == 1
    assert group_in(aws)["DesiredCapacity"] == 3
    assert newest["StatusCode"] == "Failed"
    assert "do not have sufficient g5.xlarge capacity" in newest["StatusMessage"]
    assert [each["StatusCode"] for each in others] == ["Successful"]


def test_a_shortage_of_spot_is_none_of_an_on_demand_group(aws: Callable[[str], Any]) -> None:
    lacking("*:*:spot")
    set_size(aws, 2)

    assert len(instances(aws)) == 2


def test_an_instance_that_is_terminated_makes_its_group_smaller(aws: Callable[[str], Any]) -> None:
    set_size(aws, 3)
    first = group_in(aws)["Instances"][0]["InstanceId"]
    answer = aws("autoscaling").terminate_instance_in_auto_scaling_group(
        InstanceId=first, ShouldDecrementDesiredCapacity=True
    )
    group = group_in(aws)

    assert first in answer["Activity"]["Description"]
    assert group["DesiredCapacity"] == 2
    assert first not in [each["InstanceId"] for each in group["Instances"]]
