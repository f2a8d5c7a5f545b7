"""The pack on a program of pulumi-eks and raw resources: every fact, and each once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as k8s
import pytest

from eks_gpushare.program.policies.analyzer import run_pack
from eks_gpushare.program.run import run_program
from gpushare_policies import NAME, POLICIES
from gpushare_policies.words import Fix, is_of_pulumi_eks, is_ours, name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.program.policies.violations import Violation

pytestmark = pytest.mark.sdk_internals

SHARING = """\
version: v1
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: 12}
"""


def careless() -> None:
    """As somebody writes it who follows the pages of pulumi-eks and of the chart."""
    role = aws.iam.Role("nodes", assume_role_policy="{}")
    cluster = eks.Cluster(
        "raw", version="1.33", skip_default_node_group=True, instance_roles=[role]
    )
    eks.ManagedNodeGroup(
        "gpu",
        cluster=cluster,
        node_role=role,
        ami_type="AL2023_x86_64_NVIDIA",
        instance_types=["g5.12xlarge"],
        labels={"nvidia.com/device-plugin.config": "shared"},
        taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
    )
    provider = k8s.Provider("k8s", kubeconfig=cluster.kubeconfig_json)
    inside = pulumi.ResourceOptions(provider=provider)
    metadata: Any = {"name": "plugin", "namespace": "nvidia"}
    k8s.core.v1.ConfigMap("plugin", metadata=metadata, data={"any": SHARING}, opts=inside)
    k8s.helm.v3.Release(
        "nvdp",
        chart="nvidia-device-plugin",
        namespace="nvidia",
        values={"config": {"name": "plugin"}, "gfd": {"enabled": True}},
        opts=inside,
    )


def raw() -> None:
    """The same of `pulumi_aws` alone, as far as the cluster goes."""
    role = aws.iam.Role("nodes", assume_role_policy="{}")
    cluster = aws.eks.Cluster(
        "raw", version="1.33", role_arn=role.arn, vpc_config={"subnet_ids": ["subnet-1"]}
    )
    aws.eks.NodeGroup(
        "gpu",
        cluster_name=cluster.name,
        node_role_arn=role.arn,
        subnet_ids=["subnet-1"],
        instance_types=["g5.12xlarge"],
        scaling_config={"min_size": 1, "desired_size": 1, "max_size": 1},
    )


def by_default() -> None:
    """Nodes that `eks.Cluster` makes by itself, of a GPU type."""
    eks.Cluster("raw", version="1.36", instance_type="g5.xlarge", gpu=True)


OF_A_CLUSTER = (
    "public-endpoint-not-open",
    "private-endpoint-on",
    "control-plane-logs",
    "secrets-encrypted",
    "api-authentication",
    "standard-upgrade-policy",
)
VERDICTS: dict[tuple[Callable[[], None], str], list[tuple[str, str, str]]] = {
    (careless, "dev"): [
        *((rule, "mandatory", "raw-eksCluster") for rule in OF_A_CLUSTER),
        ("version-in-standard-support", "mandatory", "raw-eksCluster"),
        ("gpu-node-volume-size", "advisory", "gpu"),
        ("node-repair-on", "advisory", "gpu"),
        ("imdsv2-required", "mandatory", "gpu"),
        ("volumes-encrypted", "mandatory", "gpu"),
        ("time-slicing-replicas", "advisory", "plugin"),
        ("several-shares-refused", "advisory", "plugin"),
        ("chart-versions-pinned", "mandatory", "nvdp"),
        ("sharing-config-exists", "mandatory", "gpu"),
        ("gpu-stack-tolerates-taints", "mandatory", "nvdp"),
    ],
    (careless, "prod"): [
        *((rule, "mandatory", "raw-eksCluster") for rule in OF_A_CLUSTER),
        ("version-in-standard-support", "mandatory", "raw-eksCluster"),
        ("deletion-protection", "mandatory", "raw-eksCluster"),
        ("gpu-node-volume-size", "advisory", "gpu"),
        ("ami-versions-pinned", "mandatory", "gpu"),
        ("node-repair-on", "advisory", "gpu"),
        ("imdsv2-required", "mandatory", "gpu"),
        ("volumes-encrypted", "mandatory", "gpu"),
        ("time-slicing-replicas", "advisory", "plugin"),
        ("several-shares-refused", "advisory", "plugin"),
        ("chart-versions-pinned", "mandatory", "nvdp"),
        ("sharing-config-exists", "mandatory", "gpu"),
        ("gpu-stack-tolerates-taints", "mandatory", "nvdp"),
    ],
    (raw, "dev"): [
        *((rule, "mandatory", "raw") for rule in OF_A_CLUSTER),
        ("version-in-standard-support", "mandatory", "raw"),
        ("gpu-nodes-tainted", "mandatory", "gpu"),
        ("gpu-node-volume-size", "advisory", "gpu"),
        ("node-repair-on", "advisory", "gpu"),
        ("imdsv2-required", "mandatory", "gpu"),
        ("volumes-encrypted", "mandatory", "gpu"),
        ("gpu-ami-type-named", "advisory", "gpu"),
        ("gpu-nodes-have-device-plugin", "advisory", "gpu"),
    ],
    (by_default, "dev"): [
        *((rule, "mandatory", "raw-eksCluster") for rule in OF_A_CLUSTER),
        ("gpu-nodes-tainted", "mandatory", "raw"),
        ("imdsv2-required", "mandatory", "raw-launchTemplate"),
        ("imdsv2-required", "mandatory", "raw-launchTemplate"),
        ("volumes-encrypted", "mandatory", "raw-launchTemplate"),
        ("nodes-without-public-address", "mandatory", "raw-launchTemplate"),
        ("gpu-launch-template-volume-size", "advisory", "raw-launchTemplate"),
    ],
}


def judged(program: Callable[[], None], stack: str) -> list[Violation]:
    recording = run_program(
        program, project="theirs", stack=stack, config={"aws:region": "us-west-2"}
    )
    assert recording.error is None, recording.error.traceback
    return run_pack(POLICIES, recording, pack=NAME)


@pytest.mark.parametrize(
    ("program", "stack"), VERDICTS, ids=lambda each: getattr(each, "__name__", each)
)
def test_every_fact_is_said_and_each_once(program: Callable[[], None], stack: str) -> None:
    found = [(v.policy, v.level, v.urn.rpartition("::")[2]) for v in judged(program, stack)]

    assert sorted(found) == sorted(VERDICTS[program, stack])


@pytest.mark.parametrize("program", [careless, raw, by_default])
def test_fixes_are_in_the_words_of_what_was_written(program: Callable[[], None]) -> None:
    messages = [v.message for v in judged(program, "prod")]

    assert [text for text in messages if "stack file" in text or "pools." in text] == []
    paths = ("vpcConfig.", "accessConfig.", "encryptionConfig:")
    assert any(path in text for text in messages for path in paths) is (program is raw)


def test_a_message_says_its_fix_once() -> None:
    for violation in judged(careless, "prod"):
        assert violation.message_says_fix
        twice = [part for part, n in Counter(violation.message.split(". ")).items() if n > 1]
        assert twice == []


CHAINS = {
    "eks-gpushare:index:EksCluster$eks:index:Cluster$aws:eks/cluster:Cluster": "stack file",
    "eks-gpushare:index:GpuPool$aws:eks/nodeGroup:NodeGroup": "stack file",
    "eks-gpushare:index:GpuPool": "stack file",
    "eks:index:Cluster$aws:eks/cluster:Cluster": "eks",
    "eks:index:ManagedNodeGroup": "eks",
    "my:index:Platform$eks:index:ManagedNodeGroup$aws:eks/nodeGroup:NodeGroup": "eks",
    "my:index:Platform$aws:eks/cluster:Cluster": "raw",
    "aws:eks/nodeGroup:NodeGroup": "raw",
}


@pytest.mark.parametrize("chain", CHAINS)
def test_the_types_of_a_urn_decide_the_words(chain: str) -> None:
    urn = f"urn:pulumi:dev::theirs::{chain}::main-eksCluster"

    assert Fix("stack file", "eks", "raw").of(urn) == CHAINS[chain]
    assert (is_ours(urn), is_of_pulumi_eks(urn)) == (
        CHAINS[chain] == "stack file",
        CHAINS[chain] == "eks",
    )
    below = "eks:index:" in chain.rpartition("$")[0]
    assert name_of(urn) == ("main" if below else "main-eksCluster")


def test_every_rule_names_a_way_for_each_kind_of_program() -> None:
    for rule in POLICIES:
        assert "With raw resources: " in str(rule.remediation_steps)


def test_fixes_name_properties_that_pulumi_eks_has() -> None:
    """Or say that a transform is needed. What is not at the top is of `pulumi_aws`."""
    folder = Path(eks.__file__).parent
    source = "\n".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    known = set(re.findall(r'name="(\w+)"', source)) | set(re.findall(r"def (\w+)\(self\)", source))
    told = {
        rule.name: re.search(r"With pulumi_eks: (.*?)(?: With raw resources:|$)", steps)
        for rule in POLICIES
        if (steps := str(rule.remediation_steps))
    }
    named = {
        (name, key)
        for name, found in told.items()
        if found and "`transforms`" not in found[1]
        for key in re.findall(r"`(node[A-Z]\w*|enable\w+|metadata\w+|authentication\w+)", found[1])
    }

    assert named
    assert {each for each in named if each[1] not in known} == set()
