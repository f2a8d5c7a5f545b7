"""What looks at a cluster: its objects, its rights, and what it is told is declared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pulumi
import pytest
import yaml
from tests.components.conftest import ROOT, STACKS
from tests.components.test_karpenter_pool_component import THEIRS
from tests.conftest import sampled

from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.kinds import cluster_role
from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.components.conftest import Run

    from eks_gpushare.lint.stack_side import Stack

IMAGE = "registry.example.com/eks-gpushare-verify:0.1.0"
DECLARED = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster: {name: demo, version: "1.35"}
    pools:
      gpu: {instanceTypes: [g6.2xlarge], sharing: {mode: exclusive}}
"""
NOTHING = "stack: The text declares nothing that the cluster could be compared with: "
POOL = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 2}}
KARPENTER_POOL = {**POOL, "provisioner": "karpenter", "ami_version": "1.35.8-20260930"}
ROLE = "arn:aws:iam::111122223333:role/Nodes"
ENVIRONMENT = "eks-gpushare:index:GpuSharingEnvironment"
GATEWAY = "http://pushgateway.monitoring.svc:9091"


def pod_of(run: Run) -> dict[str, Any]:
    made = run.all("CronJob") or run.all("Deployment")
    spec: dict[str, Any] = to_json(made[0].inputs)["spec"]
    return dict(spec.get("jobTemplate", {"spec": spec})["spec"]["template"]["spec"])


def args_of(run: Run) -> list[str]:
    (container,) = pod_of(run)["containers"]
    return list(container["args"])


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("cron-job", {"stack": DECLARED, "pushgateway": GATEWAY}),
        ("deployment", {"interval_seconds": 60, "namespace": "watching"}),
    ],
)
def test_what_is_registered(
    share_verifier: Callable[..., Run],
    golden: Callable[[str, str], None],
    name: str,
    given: dict[str, Any],
) -> None:
    run = share_verifier(**given)

    made = [
        {"urn": each.urn.split("::", 2)[2], "inputs": to_json(each.inputs)}
        for each in run.recording.resources
        if "ShareVerifier" in each.urn
    ]
    golden(f"components/share-verifier-{name}.json", json.dumps(made, indent=2) + "\n")


def test_it_may_do_what_the_command_says_it_needs(share_verifier: Callable[..., Run]) -> None:
    rules = share_verifier().inputs("ClusterRole")["rules"]

    assert rules == cluster_role("")["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}
    assert "secrets" not in {name for rule in rules for name in rule["resources"]}


def test_the_example_without_pulumi_is_the_same(share_verifier: Callable[..., Run]) -> None:
    run = share_verifier(preview=False, stack=DECLARED)
    text = (ROOT / "examples" / "verify" / "cronjob.yaml").read_text(encoding="utf-8")
    example = {each["kind"]: each for each in yaml.safe_load_all(text)}

    map_name = run.inputs("ConfigMap")["metadata"]["name"]
    for kind in ("CronJob", "Namespace", "ServiceAccount", "ClusterRoleBinding"):
        made = json.dumps(to_json(run.all(kind)[0].inputs)).replace(map_name, "stack")
        assert json.loads(made) == example[kind]


@pytest.mark.parametrize(
    ("seconds", "times"), [(300, "*/5 * * * *"), (1800, "*/30 * * * *"), (3600, "0 * * * *")]
)
def test_a_cron_job_looks_as_often_as_it_is_told(
    share_verifier: Callable[..., Run], seconds: int, times: str
) -> None:
    spec = share_verifier(interval_seconds=seconds).inputs("CronJob")["spec"]

    assert spec["schedule"] == times
    assert spec["jobTemplate"]["spec"]["activeDeadlineSeconds"] < seconds


def test_two_that_look_at_one_cluster_have_names(share_verifier: Callable[..., Run]) -> None:
    run = share_verifier(name="prod", pushgateway=GATEWAY)

    assert run.inputs("Namespace")["metadata"]["name"] == "gpushare-verify-prod"
    of_cluster = ("ClusterRole", "ClusterRoleBinding")
    names = [run.inputs(kind)["metadata"]["name"] for kind in of_cluster]
    assert names == ["eks-gpushare-verify-prod"] * 2
    assert run.inputs("CronJob")["metadata"]["name"] == "eks-gpushare-verify"
    assert args_of(run)[-2:] == ["--push-as", "prod"]


@pytest.mark.parametrize(
    ("given", "requested", "most"),
    [
        ({}, "128Mi", "512Mi"),
        ({"memory": "2Gi"}, "512Mi", "2Gi"),
        ({"memory": "200Mi"}, "128Mi", "200Mi"),
    ],
)
def test_memory(
    share_verifier: Callable[..., Run], given: dict[str, str], requested: str, most: str
) -> None:
    (container,) = pod_of(share_verifier(**given))["containers"]

    assert container["resources"]["requests"]["memory"] == requested
    assert container["resources"]["limits"] == {"memory": most}


@pytest.mark.parametrize(("nodes", "most"), [(1000, "512Mi"), (5000, "1920Mi")])
def test_memory_follows_the_nodes_that_pools_may_have(
    environment: Callable[..., Run], nodes: int, most: str
) -> None:
    pool = {**POOL, "nodes": {"min": 0, "desired": 1, "max": nodes}}
    run = environment(pools={"gpu": pool}, verifier={"image": IMAGE})

    (container,) = pod_of(run)["containers"]
    assert container["resources"]["limits"] == {"memory": most}


def test_it_runs_with_the_clusters_own_and_rather_not_on_gpus(
    share_verifier: Callable[..., Run],
) -> None:
    pod = pod_of(share_verifier())

    assert pod["tolerations"] == [{"key": "CriticalAddonsOnly", "operator": "Exists"}]
    (rather,) = pod["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    labels = {each["key"]: each["operator"] for each in rather["preference"]["matchExpressions"]}
    assert labels == {"eks-gpushare/pool": "DoesNotExist", "nvidia.com/gpu.present": "DoesNotExist"}


def test_without_a_stack_it_looks_for_faults_alone(share_verifier: Callable[..., Run]) -> None:
    run = share_verifier()

    assert args_of(run) == ["verify", "--json", "--interval", "300"]
    assert run.all("ConfigMap") == []
    assert [volume["name"] for volume in pod_of(run)["volumes"]] == ["tmp"]


def test_an_image_and_a_stack_may_be_known_later(
    record: Callable[..., Run],
) -> None:
    def program() -> None:
        import pulumi_kubernetes

        from eks_gpushare import ShareVerifier

        provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        late = pulumi.Output.from_input(IMAGE)
        ShareVerifier(
            "demo",
            {"image": late, "stack": pulumi.Output.from_input(DECLARED)},
            pulumi.ResourceOptions(providers=[provider]),
        )

    run = record(program)

    assert pod_of(run)["containers"][0]["image"] == IMAGE
    assert run.inputs("ConfigMap")["data"] == {"Pulumi.stack.yaml": DECLARED}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"image": None}, "image: image is required here."),
        ({"image": "registry.example.com/verify"}, "has neither a digest nor the tag of a release"),
        ({"image": "Registry/Verify:1.0"}, "is not an image"),
        ({"interval_seconds": 420}, "420 seconds are no part of an hour in whole minutes"),
        ({"interval_seconds": 10}, "interval_seconds"),
        (
            {"interval_seconds": 60, "pushgateway": GATEWAY},
            "pushgateway: Every 60 seconds a Deployment looks",
        ),
        ({"pushgateway": "gateway:9091"}, "is not the address of a Pushgateway"),
        ({"namespace": "kube-system"}, "kube-system is not a namespace for what looks"),
        ({"stack": "config: {}\n"}, NOTHING + "config: The file has no eks-gpushare:environment."),
        ({"stack": ""}, NOTHING + "The file is empty."),
        ({"stack": DECLARED.replace("exclusive", "alone")}, NOTHING + "pools.gpu.sharing.mode: "),
        ({"stack": "[}"}, NOTHING + "line 1, column 2: "),
        ({"stack": "environment: [shared]\n"}, NOTHING + "it has no environment"),
        ({"stack": pulumi.Output.from_input("{}")}, NOTHING),
    ],
)
def test_wrong_arguments_are_refused(
    share_verifier: Callable[..., Run], given: dict[str, Any], message: str
) -> None:
    assert message in share_verifier(fails=True, **given).error


@pytest.mark.parametrize("stack", sampled(STACKS, 4))
def test_a_stack_is_told_to_what_looks_at_it(
    run_stack: Callable[..., Run], stack: str, tmp_path: Path
) -> None:
    """In the pod there is that file and nothing beside it: no project, no kubeconfig, no chart."""

    def with_it(environment: dict[str, Any]) -> None:
        environment["verifier"] = {"image": IMAGE}

    run = run_stack(stack, edit=with_it)
    data = run.inputs("ConfigMap", f"{run.recording.of_type(ENVIRONMENT)[0].name}-verifier-stack")
    file = tmp_path / "Pulumi.stack.yaml"
    file.write_text(data["data"]["Pulumi.stack.yaml"], encoding="utf-8")

    told = read_stack(file)
    own = read_stack(ROOT / "stacks" / f"Pulumi.{stack}.yaml")
    assert told.errors == ()
    assert {n: plan.as_json() for n, plan in told.plans.items()} == {
        n: plan.as_json() for n, plan in own.plans.items()
    }
    assert len(told.items) == len(own.items)
    assert told.region == own.region


def told_of(run: Run, folder: Path) -> tuple[str, Stack]:
    """The text in the ConfigMap, and what the command makes of it."""
    text = run.inputs("ConfigMap", "demo-verifier-stack")["data"]["Pulumi.stack.yaml"]
    file = folder / "Pulumi.stack.yaml"
    file.write_text(text, encoding="utf-8")
    return text, read_stack(file)


def environment_of(record: Callable[..., Run], given: Callable[[], dict[str, Any]]) -> Run:
    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment

        args: Any = {
            "region": "us-west-2",
            "cluster": {"name": "demo", "version": "1.35"},
            "network": {"zones": ["us-west-2a", "us-west-2b"]},
            "pools": {"gpu": POOL},
            "verifier": {"image": IMAGE, "interval_seconds": 60},
            **given(),
        }
        GpuSharingEnvironment("demo", args)

    return record(program)


def test_what_is_secret_or_of_the_account_is_told_to_nobody(
    record: Callable[..., Run], tmp_path: Path
) -> None:
    def given() -> dict[str, Any]:
        values = {"podAnnotations": {"token": pulumi.Output.secret("hush"), "a": "b"}}
        return {
            "pools": {"gpu": {**POOL, "node_role": ROLE}},
            "charts": {"device_plugin": {"values": values}},
            "tags": {"owner": "ml"},
        }

    run = environment_of(record, given)

    text, told = told_of(run, tmp_path)
    assert "hush" not in text
    assert told.errors == ()
    assert set(json.loads(text)["config"]["eks-gpushare:environment"]) == {"cluster", "pools"} | {
        "network",
        "charts",
    }
    assert run.all("Deployment")[0].name == "demo-verifier-verify"


def test_a_karpenter_of_others_is_told_as_it_was_declared(
    environment: Callable[..., Run], tmp_path: Path
) -> None:
    """Defaults that are written out are keys of an installation, which GPU772 refuses."""
    of_others = {"install": False, "node_role": ROLE}
    run = environment(
        **{**THEIRS, "pools": {"gpu": KARPENTER_POOL}},
        preview=False,
        karpenter=of_others,
        verifier={"image": IMAGE},
    )

    text, told = told_of(run, tmp_path)
    assert told.errors == ()
    assert ROLE not in text
    assert told.plans["gpu"].per_node == {"g6.2xlarge": {"nvidia.com/gpu.shared": 2}}


def test_what_is_known_later_leaves_the_text_readable(
    record: Callable[..., Run], tmp_path: Path
) -> None:
    late = pulumi.Output.from_input

    def given() -> dict[str, Any]:
        own = {"id": late("ami-0a5e3c9d7b1f2468a"), "family": "al2023", "driver_included": True}
        bought = {**POOL, "capacity_type": "reserved", "zones": ["us-west-2a"]}
        return {
            "pools": {
                "gpu": {
                    **POOL,
                    "ami_family": "custom",
                    "custom_ami": own,
                    "labels": {"a": late("b")},
                },
                "one": {**bought, "reservation": {"id": late("cr-0a5e3c9d7b1f2468a")}},
                "two": {**bought, "reservation": {"id": late("cr-0b5e3c9d7b1f2468a")}},
            },
            "workloads": {"model": {"image": late("registry.example.com/a:1"), "pool": "gpu"}},
            "keda": {"prometheus": {"url": late("http://prometheus:9090"), "exporter": "existing"}},
        }

    run = environment_of(record, given)

    text, told = told_of(run, tmp_path)
    assert told.errors == ()
    assert set(told.plans) == {"gpu", "one", "two"}
    assert "registry.example.com/a:1" not in text
    pools = json.loads(text)["config"]["eks-gpushare:environment"]["pools"]
    assert len({pools[name]["reservation"]["id"] for name in ("one", "two")}) == 2
