"""Values of a stack file that are just right or just wrong, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from finding_examples import TODAY, base, checked, findings, fixes, stack_file_text

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.component_specs import GpuPoolSpec, SystemNodesSpec
from eks_gpushare.config.environment import Environment
from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.rules import mig_boot, user_data
from eks_gpushare.rules.component_rules import check_pool, check_system_nodes
from eks_gpushare.rules.context import Context
from eks_gpushare.rules.planned import planned
from eks_gpushare.validation.partial import read_block

EXISTING = {"name": None, "version": None, "admins": None, "existing": {"name": "there"}}
THEIRS: dict[str, Any] = {"cluster": EXISTING, "network": None}
BY_KUBECONFIG: dict[str, Any] = {
    "cluster": {**EXISTING, "existing": {"kubeconfig": "./kubeconfig"}},
    "network": None,
}
SUBNETS = ["subnet-07c1f29d6e4b8a35d", "subnet-04e6a8d1b7c2f903e"]
VPC = {"zones": None, "vpcId": "vpc-07c1f29d6e4b8a35d", "privateSubnetIds": SUBNETS}
CUSTOM = {"id": "ami-7c1f29d64e6a8d1b0", "family": "al2023", "driverIncluded": True}
OWN_IMAGE = {"amiFamily": "custom", "amiVersion": None, "customAmi": CUSTOM}
OWN_BOTTLEROCKET = {**OWN_IMAGE, "customAmi": {**CUSTOM, "family": "bottlerocket"}}
KARPENTER: dict[str, Any] = {
    "provisioner": "karpenter",
    "nodes": {"min": None, "desired": None, "max": 4},
}
BOTTLEROCKET = {"amiFamily": "bottlerocket", "amiVersion": "1.65.0-0be31b34"}
OPERATOR = {"gpuStack": {"manager": "gpuOperator"}}
BY_RESERVATION = {"id": "cr-7c1f29d64e6a8d1b0"}


def pool(**keys: Any) -> dict[str, Any]:
    return {"pools": {"gpu": keys}}


def karpenter(**keys: Any) -> dict[str, Any]:
    return pool(**{**KARPENTER, **keys})


def endpoint(*cidrs: str, public: bool = True) -> dict[str, Any]:
    return {"cluster": {"endpoint": {"public": public, "publicCidrs": list(cidrs)}}}


def part(content: str, kind: str) -> dict[str, Any]:
    return {"userData": [{"contentType": kind, "content": content}]}


def toml(content: str) -> dict[str, Any]:
    return {**BOTTLEROCKET, **part(content, "application/toml")}


def node_config(spec: str) -> dict[str, Any]:
    head = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"
    return part(f"{head}spec: {spec}\n", "application/node.eks.aws")


QUOTED = toml('[settings.kernel."x y"]\na = 1\n')
RIGHT: list[tuple[str, dict[str, Any]]] = [
    # Of the stack as a whole.
    ("GPU618", {}),
    ("GPU619", THEIRS | pool(provisioner="existing")),
    ("GPU619", THEIRS | pool(subnetIds=SUBNETS[:1])),
    ("GPU619", {**THEIRS, "network": VPC}),
    ("GPU619", {}),
    # Networks of manuals, which belong to nobody.
    ("GPU435", endpoint("203.0.113.0/24", public=False)),
    ("GPU435", endpoint()),
    ("GPU435", endpoint("any")),
    ("GPU435", endpoint("8.8.8.0/24")),
    ("GPU435", endpoint("8.8.8.0/24", "203.0.113.0/24")),
    ("GPU435", THEIRS),
    # What a node does before kubelet starts.
    ("GPU643", OPERATOR | pool(waitForDriver=True)),
    ("GPU643", OPERATOR | pool(waitForDriver=False)),
    ("GPU643", OPERATOR | pool(**OWN_BOTTLEROCKET, waitForDriver=False)),
    # Settings of nodes.
    ("GPU630", pool(zones=["us-west-2a"], rootVolumeGiB=300, maxUnavailable=1)),
    ("GPU426", {"cluster": {"version": "1.36"}} | pool(kubelet={"tlsCurvePreferences": []})),
    ("GPU426", THEIRS | pool(kubelet={"tlsCurvePreferences": []})),
    ("GPU423", karpenter(**QUOTED)),
    ("GPU423", pool(**QUOTED | OWN_BOTTLEROCKET)),
    # Places and tags.
    ("GPU405", karpenter(instanceTypes=["g5.xlarge", "g5.2xlarge"])),
    ("GPU439", THEIRS | {"tags": {"kubernetes.io/cluster/there": "owned"}}),
    ("GPU439", {"tags": {"kubernetes.io/cluster/there": "owned"}} | pool(efa=True)),
    ("GPU439", THEIRS | {"tags": {"kubernetes.io/cluster/None": "owned"}} | pool(efa=True)),
]


@pytest.mark.parametrize(("code", "given"), RIGHT)
def test_just_right(code: str, given: dict[str, Any]) -> None:
    assert findings(given, code) == []


WRONG: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "GPU619",
        "pools.gpu.subnetIds",
        THEIRS,
        "The nodes of this pool go into every private subnet that the cluster has.",
    ),
    (
        "GPU435",
        "cluster.endpoint.publicCidrs",
        endpoint("203.0.113.0/24", "2001:db8:1::/48"),
        "203.0.113.0/24, 2001:db8:1::/48 is for documentation and belongs to nobody.",
    ),
    (
        "GPU643",
        "pools.gpu.waitForDriver",
        OPERATOR | pool(**BOTTLEROCKET, waitForDriver=True),
        "Kubelet cannot wait here: Bottlerocket orders its driver before kubelet itself.",
    ),
    (
        "GPU426",
        "pools.gpu.kubelet.tlsCurvePreferences",
        pool(kubelet={"tlsCurvePreferences": []}),
        "The kubelet has tlsCurvePreferences since 1.36; the cluster has 1.35.",
    ),
    (
        "GPU423",
        "pools.gpu.userData[0].content",
        pool(**QUOTED),
        "EKS cannot merge quoted keys in headers, nor quotes within values.",
    ),
    (
        "GPU405",
        "pools.gpu.instanceTypes",
        karpenter(
            instanceTypes=["p5.48xlarge", "p5en.48xlarge"],
            reservation=BY_RESERVATION,
            karpenter={"capacityTypes": ["reserved", "capacityBlock"]},
        ),
        "A capacity block has one instance type; 2 are given.",
    ),
    (
        "GPU439",
        'tags["kubernetes.io/cluster/there"]',
        THEIRS | {"tags": {"kubernetes.io/cluster/there": "owned"}} | pool(efa=True),
        (
            "kubernetes.io/cluster/there would stand on the security group for EFA of gpu too, "
            "beside the one of EKS that has it."
        ),
    ),
    (
        "GPU655",
        "pools.gpu.karpenter.startupTaints[0]",
        karpenter(
            karpenter={
                "startupTaints": [
                    {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
                ]
            }
        ),
        "node.kubernetes.io/out-of-service is set by Kubernetes' node controller.",
    ),
]


@pytest.mark.parametrize(("code", "path", "given", "message"), WRONG)
def test_just_wrong(code: str, path: str, given: dict[str, Any], message: str) -> None:
    assert findings(given, code) == [(path, message)]


@pytest.mark.parametrize(
    ("code", "given", "fix"),
    [
        ("GPU426", pool(kubelet={"podPidLimit": 1}), "Did you mean podPidsLimit?"),
        ("GPU426", pool(kubelet={"colour": "green"}), "Remove it."),
        (
            "GPU429",
            pool(instanceTypes=["p3.16xlarge"], localStorage="raid0"),
            "Remove localStorage, or take a type with one, such as g4dn.16xlarge.",
        ),
        (
            "GPU423",
            pool(**part("#!/bin/sh", "text/x-shelscript")),
            "Did you mean text/x-shellscript?",
        ),
        (
            "GPU423",
            pool(**part("GIF89a", "image/gif")),
            "Use text/x-shellscript, text/cloud-config or application/node.eks.aws.",
        ),
        ("GPU423", pool(**node_config("{kubelett: {}}")), "Did you mean kubelet?"),
        (
            "GPU423",
            pool(**node_config("{colour: {}}")),
            "There are cluster, containerd, featureGates, instance, kubelet.",
        ),
    ],
)
def test_what_is_to_be_done(code: str, given: dict[str, Any], fix: str) -> None:
    assert fixes(given, code) == [fix]


@pytest.mark.parametrize(("stack", "asked"), [({}, True), (THEIRS, True), (BY_KUBECONFIG, False)])
def test_what_is_made_in_aws_is_made_in_a_region(stack: dict[str, Any], asked: bool) -> None:
    given = merge_values(base(), stack)
    text = str(yaml.safe_dump({"config": {ENVIRONMENT_KEY: given}}))
    found = {each.code for each in checked(text).findings}

    assert ("GPU618" in found) is asked


def demand(**keys: Any) -> list[str]:
    found = findings(karpenter(**keys), "GPU801")
    return [message.rpartition(": ")[2] for _, message in found]


def test_the_vcpus_of_a_pool_of_karpenters() -> None:
    sizes = ["g5.xlarge", "g5.12xlarge"]  # 4 and 48 vCPUs, 1 and 4 GPUs

    assert demand() == ["gpu 16."]
    assert demand(nodes={**KARPENTER["nodes"], "max": None}) == ["gpu 4."]
    assert demand(instanceTypes=sizes) == ["gpu 192."]
    assert demand(instanceTypes=[*sizes, "g5.huge"]) == ["gpu 48."]
    assert demand(karpenter={"limits": {"nvidia.com/gpu": 6}}) == ["gpu 24."]


LONG = {"allowedUnsafeSysctls": [f"net.core.{n:020}" for n in range(500)]}


def sized(given: dict[str, Any]) -> tuple[str, int]:
    """Where user data is told to be too long, and how many bytes it has."""
    ((path, message),) = findings(given, "GPU425")
    return path, int(message.split(" has ")[1].split()[0])


@pytest.mark.parametrize(
    ("given", "limit", "path"),
    [
        (
            pool(**part(f"#!/bin/sh\n{'#' * 9999}", "text/x-shellscript")),
            "USER_DATA_LIMIT",
            "userData",
        ),
        (pool(kubelet=LONG), "USER_DATA_LIMIT", "kubelet"),
        (
            karpenter(**part(f"#!/bin/sh\n{'#' * 9999}", "text/x-shellscript")),
            "USER_DATA_LIMIT",
            "userData",
        ),
        (
            pool(**OWN_IMAGE, labels={f"example.com/{n}": "x" * 60 for n in range(250)}),
            "_EC2_LIMIT",
            "labels",
        ),
    ],
)
def test_the_last_byte_of_user_data_may_be_used(
    given: dict[str, Any], limit: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_data, limit, 9000)
    where, size = sized(given)
    assert where == f"pools.gpu.{path}"

    monkeypatch.setattr(user_data, limit, size - 1)
    assert sized(given) == (where, size)
    monkeypatch.setattr(user_data, limit, size)
    assert findings(given, "GPU425") == []


def test_the_last_byte_of_the_user_data_for_a_layout_may_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def said(limit: int, image: dict[str, Any]) -> list[str]:
        monkeypatch.setattr(mig_boot, "USER_DATA_LIMIT", limit)
        sharing = {"mode": "mig", "layout": "all-1g.10gb"}
        keys = {"instanceTypes": ["p5.48xlarge"], "sharing": sharing, **image}
        return [message for _, message in findings(pool(**keys), "GPU240")]

    def size(image: dict[str, Any]) -> int:
        (message,) = said(1, image)
        return int(message.split(" has ")[1].split()[0])

    assert len(said(size({}) - 1, {})) == 1
    assert said(size({}), {}) == []
    # An image of one's own is told of its cluster too, in some two thousand bytes.
    assert size(OWN_IMAGE) > size({}) + 2000


def test_the_subnets_of_nodes_alone_are_those_of_their_program() -> None:
    given = {"pool": "gpu", "instanceTypes": ["g5.xlarge"], "sharing": {"mode": "exclusive"}}

    def said(**keys: Any) -> list[str]:
        spec = read_block(GpuPoolSpec, {**given, **keys}, by_alias=True).block
        return [each.path for each in check_pool(spec, 2) if each.code == "GPU414"]

    assert said() == []
    assert said(zones=["us-west-2a"]) == ["zones"]
    assert said(subnetIds=SUBNETS) == ["subnetIds"]

    def of_system(**keys: Any) -> list[str]:
        spec = read_block(SystemNodesSpec, keys, by_alias=True).block
        return [each.path for each in check_system_nodes(spec) if each.code == "GPU414"]

    assert of_system() == []
    assert of_system(zones=["us-west-2a"]) == ["zones"]


@pytest.mark.parametrize(
    ("types", "is_planned"),
    [
        (["g5.xlarge"], True),
        (["g5.xlarge", "g5.2xlarge"], True),
        ([], False),
        (["g5.huge"], False),
        (["g5.xlarge", "g5.huge"], False),
        (["g5.xlarge", "m5.large"], False),
    ],
)
def test_of_a_wrong_pool_nothing_is_planned(types: list[str], is_planned: bool) -> None:
    given = merge_values(base(), pool(instanceTypes=types))
    environment = Environment.model_validate(given)
    ctx = Context(environment, Catalog(), "us-west-2", TODAY)

    assert (planned(ctx, "gpu", environment.pools["gpu"]) is not None) is is_planned


def test_all_of_the_right_ones_were_read() -> None:
    """Otherwise little would be said of them."""
    for _, given in RIGHT:
        report = checked(stack_file_text(merge_values(base(), given)))
        assert [str(each) for each in report.findings if each.code < "GPU010"] == []
