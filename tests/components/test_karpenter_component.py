from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

ARN = "arn:aws:eks:us-west-2:111122223333:cluster/demo"
ROLE = "arn:aws:iam::111122223333:role/teams/ml/gpu-nodes"


@pytest.mark.parametrize("mode", ["preview", "update"])
def test_karpenter_with_defaults(
    karpenter: Callable[..., Run], golden: Callable[[str, str], None], mode: str
) -> None:
    golden(f"components/karpenter.{mode}.json", karpenter(preview=mode == "preview").text())


def test_two_charts_of_one_version(karpenter: Callable[..., Run]) -> None:
    run = karpenter()
    crds, release = (run.inputs("Release", f"demo-{each}") for each in ("crds", "release"))

    assert (crds["name"], release["name"]) == ("karpenter-crd", "karpenter")
    assert crds["version"] == release["version"] == versions.KARPENTER.version
    assert (crds["chart"], release["chart"]) == (
        "oci://public.ecr.aws/karpenter/karpenter-crd",
        "oci://public.ecr.aws/karpenter/karpenter",
    )
    # Its chart has the definitions too, which Helm would install once and never again.
    assert release["skipCrds"] is True


@pytest.mark.parametrize(
    ("given", "definitions"),
    [
        ({}, ("oci://public.ecr.aws/karpenter/karpenter-crd", "1.14.1", None)),
        (
            {"chart": {"version": "1.13.0"}},
            ("oci://public.ecr.aws/karpenter/karpenter-crd", "1.13.0", None),
        ),
        (
            {"chart": {"repository": "oci://mirror.example/k/karpenter"}},
            ("oci://mirror.example/k/karpenter-crd", "1.14.1", None),
        ),
        (
            {"chart": {"repository": "https://charts.example"}},
            ("karpenter-crd", "1.14.1", {"repo": "https://charts.example"}),
        ),
        ({"crd_chart": {"path": "charts/karpenter-crd"}}, ("charts/karpenter-crd", None, None)),
        (
            {"crd_chart": {"repository": "oci://mirror.example/crds/karpenter-crd"}},
            ("oci://mirror.example/crds/karpenter-crd", "1.14.1", None),
        ),
    ],
)
def test_the_definitions_come_from_beside_the_chart(
    karpenter: Callable[..., Run], given: dict[str, Any], definitions: tuple[object, ...]
) -> None:
    found = karpenter(**given).inputs("Release", "demo-crds")

    assert (found["chart"], found.get("version"), found.get("repositoryOpts")) == definitions


def test_values_are_the_users_last(karpenter: Callable[..., Run]) -> None:
    run = karpenter(
        preview=False,
        replicas=3,
        feature_gates={"nodeOverlay": True, "staticCapacity": True},
        chart={"values": {"logLevel": "debug", "settings": {"batchMaxDuration": "20s"}}},
    )

    values = run.inputs("Release", "demo-release")["values"]
    assert values["replicas"] == 3
    assert values["logLevel"] == "debug"
    assert values["settings"] == {
        "batchMaxDuration": "20s",
        "clusterName": "demo",
        "featureGates": {"nodeOverlay": True, "nodeRepair": False, "staticCapacity": True},
        "interruptionQueue": run.one("Queue").outputs["name"],
    }
    # Pods on nodes with a hop limit of 1 cannot ask the instance metadata for it.
    assert values["controller"]["env"] == [{"name": "AWS_REGION", "value": "us-west-2"}]


def test_variables_of_the_users_own_stand_beside_the_region(karpenter: Callable[..., Run]) -> None:
    def env(*given: dict[str, str]) -> Any:
        run = karpenter(preview=False, chart={"values": {"controller": {"env": [*given]}}})
        return run.inputs("Release", "demo-release")["values"]["controller"]["env"]

    ours, proxy = (
        {"name": "AWS_REGION", "value": "us-west-2"},
        {"name": "HTTPS_PROXY", "value": "http://proxy:3128"},
    )
    assert env(proxy) == [ours, proxy]
    assert env({**ours, "value": "eu-west-1"}) == [{**ours, "value": "eu-west-1"}]


def test_the_controller_runs_only_while_it_may_do_everything(karpenter: Callable[..., Run]) -> None:
    """Destroyed before it, any of these would keep it from ending its nodes."""
    run = karpenter(preview=False)
    needed = {each.name for each in run if each.custom and each.type.startswith("aws:")}

    assert needed <= set(run.depends("Release", "demo-release")) | {"demo-node", "demo-controller"}
    assert "demo-crds" in run.depends("Release", "demo-release")


def test_without_a_queue_nothing_of_it_is_made(karpenter: Callable[..., Run]) -> None:
    run = karpenter(preview=False, interruption_queue=False)

    assert not [each for each in run if "sqs" in each.type or "event" in each.type]
    assert "interruptionQueue" not in run.inputs("Release", "demo-release")["values"]["settings"]
    assert "demo-controller-interruption" not in [each.name for each in run.all("RolePolicy")]
    assert run.one("Karpenter").outputs["queueName"] == ""


def test_a_role_of_ones_own_is_the_one_that_may_be_passed(karpenter: Callable[..., Run]) -> None:
    run = karpenter(preview=False, node_role=ROLE)
    policy = json.loads(run.inputs("RolePolicy", "demo-controller-iam-integration")["policy"])
    (passing,) = [each for each in policy["Statement"] if each["Action"] == "iam:PassRole"]

    assert [each.name for each in run.all("Role")] == ["demo-controller"]
    assert passing["Resource"] == ROLE
    assert run.inputs("AccessEntry")["principalArn"] == ROLE
    assert run.one("Karpenter").outputs["nodeRoleName"] == "gpu-nodes"


def test_the_access_entry_may_be_somebody_elses(karpenter: Callable[..., Run]) -> None:
    assert karpenter(node_role=ROLE, access_entry=False).all("AccessEntry") == []


def test_what_another_account_shares_can_be_launched_into(karpenter: Callable[..., Run]) -> None:
    """A subnet of a shared VPC and a shared reservation have the account of their owner."""
    policies = {
        each.name: json.loads(each.inputs["policy"])["Statement"]
        for each in karpenter(preview=False).all("RolePolicy")
    }
    launching = policies["demo-controller-node-lifecycle"]
    (used,) = [each["Resource"] for each in launching if "Condition" not in each]
    kinds = ("security-group", "subnet", "capacity-reservation", "placement-group")
    assert [each for each in used if "*:" in each] == [
        f"arn:aws:ec2:us-west-2:*:{kind}/*" for kind in kinds
    ]
    # What is made is made in the cluster's own account.
    made = [each["Resource"] for each in launching if "Condition" in each]
    for resource in (arn for arns in made for arn in ([arns] if isinstance(arns, str) else arns)):
        assert resource.startswith("arn:aws:ec2:us-west-2:111122223333:")


def test_a_namespace_of_its_own_is_made(karpenter: Callable[..., Run]) -> None:
    run = karpenter(namespace="karpenter")

    assert run.inputs("Namespace")["metadata"]["name"] == "karpenter"
    assert run.inputs("Release", "demo-release")["namespace"] == "karpenter"
    assert run.inputs("PodIdentityAssociation")["namespace"] == "karpenter"
    # Moved, it would be replaced, and every pool in the cluster would go with the definitions.
    assert run.inputs("Release", "demo-crds")["namespace"] == "kube-system"


@pytest.mark.parametrize(
    ("region", "partition"), [("us-gov-west-1", "aws-us-gov"), ("cn-north-1", "aws-cn")]
)
def test_everything_is_of_one_partition(
    karpenter: Callable[..., Run], region: str, partition: str
) -> None:
    arn = f"arn:{partition}:eks:{region}:111122223333:cluster/demo"
    run = karpenter(preview=False, cluster_arn=arn, partition=partition)
    policies = [json.loads(each.inputs["policy"]) for each in run.all("RolePolicy")]
    resources = json.dumps([s["Resource"] for each in policies for s in each["Statement"]])

    arns = resources.count('"arn:')
    own = resources.count(f'"arn:{partition}:')
    queue = resources.count('"arn:aws:sqs:us-west-2')  # which the in-process run makes up
    node_role = resources.count('"arn:aws:iam::111122223333:role/demo-node')
    assert arns == own + queue + node_role
    assert own > 20


def test_roles_have_the_boundary_and_path_of_the_account(karpenter: Callable[..., Run]) -> None:
    boundary = "arn:aws:iam::111122223333:policy/Boundary"
    run = karpenter(iam={"permissions_boundary": boundary, "path": "/ml/"}, tags={"team": "ml"})

    for each in run.all("Role"):
        inputs = run.inputs("Role", each.name)
        assert (inputs["permissionsBoundary"], inputs["path"]) == (boundary, "/ml/")
    tagged = ("Role", "Queue", "EventRule", "AccessEntry", "PodIdentityAssociation")
    assert {
        each.type.split(":")[-1] for each in run if each.inputs.get("tags") == {"team": "ml"}
    } >= {*tagged}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cluster_name": None}, "cluster_name: cluster_name is required here."),
        ({"cluster_arn": "demo"}, 'cluster_arn: "demo" is not the ARN of an EKS cluster.'),
        ({"cluster_arn": "arn:aws:iam::1:role/x"}, "is not the ARN of an EKS cluster."),
        ({"replicas": 0}, "replicas: "),
        ({"install": False}, "install: Karpenter is what installs it."),
        ({"namespace": "kube-public"}, "namespace: kube-public is Kubernetes's own"),
        ({"namespace": "Karpenter"}, 'namespace: "Karpenter" is not 1 to 63 lower-case letters'),
        ({"node_role": "gpu-nodes"}, 'node_role: "gpu-nodes" '),
        ({"chart": {"version": "latest"}}, 'chart.version: "latest" is not an exact version.'),
        ({"crd_chart": {"version": "1.x"}}, 'crd_chart.version: "1.x" is not an exact version.'),
        ({"chart": {"version": "1.6.2"}}, 'Karpenter 1.6.2 is too old for the gate "nodeOverlay"'),
        (
            {"feature_gates": {"nodeOverlays": True}},
            'Karpenter has no feature gate "nodeOverlays". Did you mean "nodeOverlay"?',
        ),
        (
            {"feature_gates": {"zork": True}},
            (
                'feature_gates.zork: Karpenter has no feature gate "zork". It has '
                '"capacityBuffer", "nodeOverlay", "nodeRepair", "reservedCapacity", '
                '"spotToSpotConsolidation", "staticCapacity".'
            ),
        ),
        (
            {"feature_gates": {"terminateFirstDrift": True}},
            (
                "feature_gates.terminateFirstDrift: Karpenter 1.14.1 is too old for the gate "
                '"terminateFirstDrift", which needs 1.15.0 at least.'
            ),
        ),
        ({"feature_gates": {"nodeRepairs": True}}, 'nodeRepairs". Did you mean "nodeRepair"?'),
        (
            {"chart": {"values": {"settings": {"clusterName": "other"}}}},
            "chart.values.settings.clusterName: settings.clusterName is derived from the stack",
        ),
        (
            {"replicas": 3, "chart": {"values": {"replicas": 2}}},
            "chart.values.replicas: replicas is derived from the stack: it is ",
        ),
        ({"replica": 2}, "replica: replica is not an argument. Did you mean replicas?"),
    ],
)
def test_wrong_arguments_are_refused(
    karpenter: Callable[..., Run], given: dict[str, Any], message: str
) -> None:
    assert message in karpenter(fails=True, **given).error


def test_without_a_provider_it_is_refused(record: Callable[..., Run]) -> None:
    def program() -> None:
        from eks_gpushare import Karpenter

        Karpenter("demo", {"cluster_name": "demo", "cluster_arn": ARN})

    assert "No Kubernetes provider is given" in record(program, fails=True).error


def test_names_may_be_long(record: Callable[..., Run]) -> None:
    def program() -> None:
        import pulumi
        import pulumi_kubernetes

        from eks_gpushare import Karpenter

        provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        args: Any = {"cluster_name": "demo", "cluster_arn": ARN}
        Karpenter("n" * 70, args, pulumi.ResourceOptions(providers=[provider]))

    run = record(program, preview=False)
    for kind, longest in (("Role", 64), ("EventRule", 64), ("Queue", 80)):
        for each in run.all(kind):
            assert len(each.outputs["name"]) <= longest


@pytest.mark.parametrize(("most", "memory"), [(10, "1Gi"), (1000, "2560Mi")])
def test_it_has_memory_for_the_nodes_of_its_pools(
    record: Callable[..., Run], most: int, memory: str
) -> None:
    """It took 2,377 MB with 1,000 nodes (benchmarks)."""

    def program() -> None:
        import eks_gpushare

        pool: Any = {
            "provisioner": "karpenter",
            "instance_types": ["g6.2xlarge"],
            "nodes": {"max": most},
            "sharing": {"mode": "timeSlicing", "replicas": 4},
        }
        args: Any = {
            "cluster": {"name": "demo", "version": "1.35"},
            "network": {"zones": ["us-west-2a", "us-west-2b"]},
            "system": {"instance_types": ["m6i.xlarge"]},
            "pools": {"gpu": pool},
            "region": "us-west-2",
        }
        eks_gpushare.GpuSharingEnvironment("demo", args)

    (release,) = (
        resource
        for resource in record(program, preview=False).recording.of_type(
            "kubernetes:helm.sh/v3:Release"
        )
        if resource.name == "demo-karpenter-release"
    )
    told = release.inputs["values"]["controller"]["resources"]

    assert told["limits"] == {"memory": memory}
    assert told["requests"]["memory"] == memory
