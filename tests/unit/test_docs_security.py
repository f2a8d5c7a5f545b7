"""What docs/security.md calls always on is on in a stack that says as little as it can."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.program.run import run_program
from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Recording

ROOT = Path(__file__).parents[2]
LEAST = """
cluster: {name: least, version: "1.35"}
pools:
  gpu: {instanceTypes: [g6.xlarge], sharing: {mode: exclusive}}
  bottle: {instanceTypes: [g6.xlarge], amiFamily: bottlerocket, sharing: {mode: exclusive}}
"""


@cache
def recording() -> Recording:
    config = {"aws:region": "us-west-2", ENVIRONMENT_KEY: yaml.safe_load(LEAST)}
    found = run_program(ROOT, project="eks-gpushare", stack="least", config=config)
    assert found.error is None, found.error
    return found


def inputs(kind: str) -> list[dict[str, Any]]:
    return [to_json(each.inputs) for each in recording().of_type(kind)]


def test_the_control_plane_is_closed_logged_encrypted_and_protected() -> None:
    (cluster,) = inputs("aws:eks/cluster:Cluster")
    (key,) = inputs("aws:kms/key:Key")

    assert cluster["vpcConfig"]["endpointPrivateAccess"] is True
    assert cluster["vpcConfig"]["endpointPublicAccess"] is False
    assert cluster["accessConfig"]["authenticationMode"] == "API"
    assert len(cluster["enabledClusterLogTypes"]) == 5
    assert cluster["encryptionConfig"]["resources"] == ["secrets"]
    assert cluster["upgradePolicy"] == {"supportType": "STANDARD"}
    assert cluster["deletionProtection"] is True
    assert (key["enableKeyRotation"], key["deletionWindowInDays"]) == (True, 30)


def test_the_network_lets_nothing_in_and_gives_nodes_no_public_address() -> None:
    (group,) = inputs("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
    subnets = inputs("aws:ec2/subnet:Subnet")

    assert {"ingress", "egress"} & set(group) == set()
    assert {subnet["mapPublicIpOnLaunch"] for subnet in subnets} == {False}


def test_nodes_keep_their_credentials_and_disks_to_themselves() -> None:
    templates = inputs("aws:ec2/launchTemplate:LaunchTemplate")
    disks = [disk["ebs"] for each in templates for disk in each["blockDeviceMappings"]]

    assert len(templates) == 3
    assert {each["metadataOptions"]["httpTokens"] for each in templates} == {"required"}
    assert {each["metadataOptions"]["httpPutResponseHopLimit"] for each in templates} == {1}
    assert len(disks) == len(templates) + 1  # Bottlerocket has two
    assert {disk["encrypted"] for disk in disks} == {"true"}
    assert not any("keyName" in each for each in templates)


def test_nodes_have_four_policies_a_taint_and_are_repaired() -> None:
    groups = inputs("aws:eks/nodeGroup:NodeGroup")
    attached = inputs("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    of_nodes = [
        str(each["policyArn"]).rpartition("/")[2]
        for each in attached
        if "EKSClusterPolicy" not in str(each["policyArn"])
    ]
    shared = [each for each in groups if "NVIDIA" in each["amiType"]]

    assert not any("remoteAccess" in each for each in groups)
    assert {each["nodeRepairConfig"]["enabled"] for each in groups} == {True}
    assert len(of_nodes) == 4 * len(groups)
    assert set(of_nodes) == {
        "AmazonEKSWorkerNodePolicy",
        "AmazonEKS_CNI_Policy",
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonSSMManagedInstanceCore",
    }
    assert {(t["key"], t["effect"]) for each in shared for t in each["taints"]} == {
        ("nvidia.com/gpu", "NO_SCHEDULE")
    }


def test_the_namespace_of_nvidias_programs_is_privileged() -> None:
    (namespace,) = inputs("kubernetes:core/v1:Namespace")

    assert namespace["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "privileged"}
