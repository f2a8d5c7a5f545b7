from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pulumi
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.components.conftest import Run

CONTROL_PLANE = "demo-eks"


def test_a_cluster_with_defaults(
    cluster: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    golden("components/cluster.json", cluster().text())


def arguments(run: Run) -> dict[str, Any]:
    """Arguments of the `eks.Cluster` inside."""
    found = next(each for each in run.all("Cluster") if each.type == "eks:index:Cluster")
    return run.inputs("Cluster", found.name)


@pytest.mark.parametrize("preview", [True, False])
def test_the_kubeconfig_is_a_secret(cluster: Callable[..., Run], preview: bool) -> None:
    made = cluster(preview=preview)

    assert made.inputs("kubernetes", "demo-kubernetes")["kubeconfig"] == "[secret]"
    assert made.one("EksCluster").outputs["kubeconfig"].__class__.__name__ == "Secret"


def test_the_provider_is_identified_by_the_cluster(cluster: Callable[..., Run]) -> None:
    """So that a new kubeconfig replaces nothing on the cluster."""
    made = cluster(preview=False)
    plane = next(each for each in made.all("Cluster") if each.type == "aws:eks/cluster:Cluster")

    given = made.inputs("kubernetes", "demo-kubernetes")["clusterIdentifier"]
    assert given == plane.outputs["arn"]


def test_a_key_that_is_given_is_used_and_none_is_made(cluster: Callable[..., Run]) -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"

    made = cluster(secrets_key_arn=key)

    assert (made.all("Key"), made.all("Alias")) == ([], [])
    assert arguments(made)["encryptionConfigKeyArn"] == key


ADMIN = "arn:aws:iam::111122223333:role/Platform"


def test_protection_is_for_the_control_plane_and_its_key(cluster: Callable[..., Run]) -> None:
    made = cluster()

    protected = sorted(each.name for each in made if each.protect and not each.assumed)
    assert protected == ["demo-deletion-protection", "demo-eks", "demo-secrets"]
    assert arguments(made)["deletionProtection"] is True


def test_what_an_edit_may_take_away_is_not_protected(cluster: Callable[..., Run]) -> None:
    made = cluster(admins=[ADMIN], addons={"ebs_csi": True})

    kinds = ("AccessEntry", "AccessPolicyAssociation")
    leaving = [each for kind in kinds for each in made.all(kind)]
    leaving += [each for each in made.all("Addon") if not each.assumed]
    assert {each.protect for each in leaving} == {False}
    assert len(leaving) == 6


def test_what_the_control_plane_is_made_of_is_protected_with_it(
    cluster: Callable[..., Run],
) -> None:
    inside = [each for each in cluster() if each.assumed]

    assert {each.protect for each in inside} == {True}


def test_a_cluster_alone_guards_all_that_it_is_made_of(cluster: Callable[..., Run]) -> None:
    made = cluster(admins=[ADMIN], addons={"ebs_csi": True})

    unguarded = {each.urn for each in made if each.custom and not each.protect}
    assert unguarded
    assert unguarded <= set(made.one("DeletionProtection").dependencies)


def test_an_access_entry_is_found_where_it_was_before(cluster: Callable[..., Run]) -> None:
    """In 0.1.0 it was in the `eks.Cluster`; its policy comes along with it."""
    made = cluster(admins=[ADMIN])

    entry = made.one("AccessEntry")
    inside = made.one("Cluster", CONTROL_PLANE).urn
    assert entry.parent == made.one("EksCluster").urn
    assert [each["parentUrn"] for each in entry.options["aliases"]] == [inside]
    assert made.one("AccessPolicyAssociation").parent == entry.urn


def test_without_protection_nothing_is_protected(cluster: Callable[..., Run]) -> None:
    made = cluster(deletion_protection=False)

    assert [each.name for each in made if each.protect] == []
    assert made.one("DeletionProtection").dependencies
    assert arguments(made)["deletionProtection"] is False


def test_an_endpoint_is_private_unless_said_otherwise(cluster: Callable[..., Run]) -> None:
    """eks.Cluster waits for a public endpoint only, so a private one holds up no update."""
    given = arguments(cluster())

    assert (given["endpointPrivateAccess"], given["endpointPublicAccess"]) == (True, False)
    assert "publicAccessCidrs" not in given


def test_a_public_endpoint_is_for_named_networks(cluster: Callable[..., Run]) -> None:
    given = arguments(cluster(endpoint={"public": True, "public_cidrs": ["203.0.113.0/24"]}))

    assert (given["endpointPrivateAccess"], given["endpointPublicAccess"]) == (True, True)
    assert given["publicAccessCidrs"] == ["203.0.113.0/24"]


def test_admins_get_an_access_entry_each(cluster: Callable[..., Run]) -> None:
    """Two principals whose names end alike do not take each other's place."""
    admins = [
        "arn:aws:iam::111122223333:role/Admin",
        "arn:aws:iam::111122223333:role/team/Admin",
        "arn:aws:iam::111122223333:user/Admin",
        "arn:aws:iam::444455556666:role/Admin",
    ]

    made = cluster(admins=admins)

    entries = [each.inputs["principalArn"] for each in made.all("AccessEntry")]
    assert sorted(entries) == sorted(admins)
    assert len({each.name for each in made.all("AccessEntry")}) == len(admins)


def addon(run: Run, name: str) -> dict[str, Any]:
    return next(
        run.inputs("Addon", each.name)
        for each in run.all("Addon")
        if each.inputs["addonName"] == name
    )


def test_addons_are_pinned(cluster: Callable[..., Run]) -> None:
    made = cluster()

    versions = {each.inputs["addonName"]: each.inputs["addonVersion"] for each in made.all("Addon")}
    assert set(versions) == {
        "coredns",
        "eks-node-monitoring-agent",
        "eks-pod-identity-agent",
        "kube-proxy",
        "vpc-cni",
    }
    assert all(version.startswith("v1.") for version in versions.values())


def test_addon_versions_can_be_overridden(cluster: Callable[..., Run]) -> None:
    wanted = {
        "coredns": "v1.99.0-eksbuild.1",
        "kube-proxy": "v1.35.99-eksbuild.1",
        "vpc-cni": "v1.99.1-eksbuild.1",
    }

    made = cluster(addons={"versions": wanted})

    assert {name: addon(made, name)["addonVersion"] for name in wanted} == wanted


def test_the_ebs_driver_has_a_role_by_pod_identity(cluster: Callable[..., Run]) -> None:
    made = cluster(preview=False, addons={"ebs_csi": True}, tags={"team": "a"})
    role = made.one("Role", "demo-ebs-csi")

    assert made.inputs("Addon", "demo-ebs-csi") == {
        "addonName": "aws-ebs-csi-driver",
        "addonVersion": "v1.66.0-eksbuild.1",
        "clusterName": "demo",
        "podIdentityAssociations": [
            {"roleArn": role.outputs["arn"], "serviceAccount": "ebs-csi-controller-sa"}
        ],
        "resolveConflictsOnCreate": "OVERWRITE",
        "resolveConflictsOnUpdate": "OVERWRITE",
        "tags": {"team": "a"},
    }
    assert json.loads(role.inputs["assumeRolePolicy"]) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "pods.eks.amazonaws.com"},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
            }
        ],
    }


def test_the_ebs_driver_waits_until_its_role_may_do_something(cluster: Callable[..., Run]) -> None:
    made = cluster(addons={"ebs_csi": True})

    waits_for = made.one("Addon", "demo-ebs-csi").dependencies
    assert any("rolePolicyAttachment" in urn for urn in waits_for)


def test_no_addon_waits_for_nodes(cluster: Callable[..., Run]) -> None:
    """CoreDNS is healthy once there are nodes; nodes wait for none of the add-ons."""
    made = cluster()

    for each in made.all("Addon"):
        assert not any("nodeGroup" in urn for urn in each.dependencies)


def test_gpu_faults_are_watched_on_tainted_nodes(cluster: Callable[..., Run]) -> None:
    taints = [
        {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "value": "other", "effect": "NoSchedule"},
        {"key": "workload", "effect": "NoExecute"},
    ]

    made = cluster(gpu_taints=taints)

    given = json.loads(addon(made, "eks-node-monitoring-agent")["configurationValues"])
    assert given == {
        "dcgmAgent": {
            "tolerations": [
                {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "workload", "operator": "Exists", "effect": "NoExecute"},
            ]
        }
    }


def test_nodes_that_lose_a_taint_are_not_watched_before(cluster: Callable[..., Run]) -> None:
    """With the agent alone there, it would report GPUs as broken that have no host engine yet."""
    made = cluster(startup_taints=[{"key": "eks-gpushare/mig-layout", "effect": "NoSchedule"}])

    given = json.loads(addon(made, "eks-node-monitoring-agent")["configurationValues"])
    gpus = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    assert given == {
        "dcgmAgent": {"tolerations": [gpus]},
        "nodeAgent": {
            "tolerations": [
                {"operator": "Exists", "effect": "NoExecute"},
                {"key": "CriticalAddonsOnly", "operator": "Exists"},
                gpus,
            ]
        },
    }


def test_no_security_group_is_made_that_guards_nothing(cluster: Callable[..., Run]) -> None:
    made = cluster()

    assert made.all("SecurityGroup") == []


def test_a_cluster_without_public_subnets_asks_for_none(cluster: Callable[..., Run]) -> None:
    assert "publicSubnetIds" not in arguments(cluster())
    assert arguments(cluster(public_subnet_ids=[]))["publicSubnetIds"] == []


def test_options_of_a_cluster_do_not_replace_those_of_its_children(
    cluster: Callable[..., Run],
) -> None:
    made = cluster(opts=pulumi.ResourceOptions(protect=True), deletion_protection=False)

    orphans = [each.name for each in made if not each.parent and each.name != "demo-test"]
    assert orphans == []
    assert made.one("EksCluster").protect is True


def test_a_version_that_goes_out_of_support_is_warned_of_once(cluster: Callable[..., Run]) -> None:
    made = cluster(version="1.33", support_type="extended")

    assert [name for name, _ in made.warnings] == ["demo"]
