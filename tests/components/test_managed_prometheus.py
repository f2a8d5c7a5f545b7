"""A workspace of Amazon's, AWS's collector and rules: what is made, and what each is told."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.components.test_gpu_metrics_component import MIG, OPERATOR, POOL, child, names

from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.catalog.managed_prometheus import MOST_RULES
from eks_gpushare.program.costs.stack import cost_of
from eks_gpushare.program.edits import edits
from eks_gpushare.program.permissions.policy import deploy_policy
from eks_gpushare.program.values import to_json
from eks_gpushare.rules.chart_values import wrong_values
from eks_gpushare.sharing.monitoring.groups import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run
    from tests.conftest import Promtool
    from tests.conftest import Run as Command

ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-1a2b"
KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
CLUSTER = {
    "cluster_arn": "arn:aws:eks:us-west-2:111122223333:cluster/demo",
    "subnet_ids": ["subnet-0a", "subnet-0b"],
    "security_group_ids": ["sg-0a"],
}
MANAGED = {"metrics": "managedPrometheus", "dashboards": "files"}
IN_CLUSTER = {"namespace", "exporter", "prometheus", "prometheus-namespace"}
OF_WORKSPACE = {"workspace", "workspace-configuration", "workspace-logs"}
COLLECTED = {"collector", "workspace-rules"}
VERIFIER = {"image": "registry.example.com/verify:1.0", "interval_seconds": 60}
EVERY_MODE = {"gpu": POOL, "slices": MIG, "more": {**POOL, "provisioner": "karpenter"}}


@pytest.fixture
def managed(gpu_metrics: Callable[..., Run]) -> Callable[..., Run]:
    """`managed(store, key=value)` makes a collector, and a workspace unless one is given."""

    def make(store: dict[str, Any] | None = None, **given: Any) -> Run:
        return gpu_metrics(
            prometheus={"install": True, **(store or {})}, **MANAGED, **CLUSTER, **given
        )

    return make


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ({}, {*IN_CLUSTER, *OF_WORKSPACE, *COLLECTED}),
        ({"workspace_arn": ARN}, {*IN_CLUSTER, *COLLECTED}),
    ],
)
def test_a_workspace_that_is_there_is_not_made_again(
    managed: Callable[..., Run], store: dict[str, Any], expected: set[str]
) -> None:
    assert names(managed(store)) == expected


def test_what_is_registered(
    managed: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    run = managed({"kms_key_arn": KEY}, verifier=VERIFIER, tags={"team": "ml"})
    made = {
        each.name: to_json(each.inputs)
        for each in run.recording.resources
        if "GpuMetrics$" in each.urn and not each.name.endswith("-exporter")
    }

    golden("components/managed-prometheus.json", f"{json.dumps(made, indent=2)}\n")


def test_a_workspace_is_encrypted_logged_and_keeps_for_a_time(managed: Callable[..., Run]) -> None:
    run = managed({"kms_key_arn": KEY, "retention_days": 60}, tags={"team": "ml"}, preview=False)
    made = child(run, "workspace")

    assert made["kmsKeyArn"] == KEY
    assert made["tags"] == {"team": "ml"}
    assert made["loggingConfiguration"]["logGroupArn"].endswith(":*")
    assert child(run, "workspace-configuration")["retentionPeriodInDays"] == 60
    logs = child(run, "workspace-logs")
    assert logs["namePrefix"].startswith("/aws/vendedlogs/prometheus/")
    assert logs["retentionInDays"] == 30


def test_a_given_workspace_gets_the_collector_and_the_rules(managed: Callable[..., Run]) -> None:
    run = managed({"workspace_arn": ARN})

    assert child(run, "collector")["destination"] == {"amp": {"workspaceArn": ARN}}
    assert child(run, "collector")["source"] == {
        "eks": {
            "clusterArn": CLUSTER["cluster_arn"],
            "subnetIds": CLUSTER["subnet_ids"],
            "securityGroupIds": CLUSTER["security_group_ids"],
        }
    }
    assert child(run, "workspace-rules")["workspaceId"] == "ws-1a2b"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"gpu_stack": OPERATOR},
        {"pools": EVERY_MODE, "verifier": VERIFIER, "interval": "1m"},
    ],
)
def test_prometheus_takes_what_the_collector_is_told(
    managed: Callable[..., Run], given: dict[str, Any], promtool: Promtool
) -> None:
    told = yaml.safe_load(child(managed(**given), "collector")["scrapeConfiguration"])

    assert promtool.refusal_of_configuration(told) == ""


def jobs(run: Run) -> dict[str, dict[str, Any]]:
    """What the collector is told, by the names of its jobs."""
    told = yaml.safe_load(child(run, "collector")["scrapeConfiguration"])
    return {job["job_name"]: job for job in told["scrape_configs"]}


def test_what_is_scraped_is_what_rules_ask(managed: Callable[..., Run]) -> None:
    assert [*jobs(managed())] == ["dcgm-exporter", "kube-state-metrics"]
    assert [*jobs(managed(pools=EVERY_MODE, verifier=VERIFIER))] == [
        *("dcgm-exporter", "kube-state-metrics", "karpenter", "eks-gpushare-verify"),
    ]
    # A CronJob is gone before anybody comes, and tells a Pushgateway.
    push = {"image": "v:1.0", "pushgateway": "http://pushgateway.monitoring.svc:9091"}
    assert "eks-gpushare-verify" not in jobs(managed(verifier=push))


def kept(job: dict[str, Any], name: str, resource: str = "") -> bool:
    """Whether a series stays, as Prometheus relabels: the whole of it has to match."""
    (rule,) = job["metric_relabel_configs"]
    assert rule["source_labels"] == ["__name__", "resource"]
    return re.fullmatch(rule["regex"], f"{name};{resource}") is not None


def test_of_the_cluster_s_state_only_what_rules_ask_is_paid_for(
    managed: Callable[..., Run],
) -> None:
    run = managed(pools=EVERY_MODE)
    job = jobs(run)["kube-state-metrics"]
    asked = set(re.findall(r"\bkube_\w+", child(run, "workspace-rules")["data"]))

    assert len(asked) > 5
    assert {name for name in asked if not kept(job, name, "nvidia_com_gpu")} == set()
    assert kept(job, "kube_pod_container_resource_requests", "nvidia_com_mig_1g_5gb")
    assert not kept(job, "kube_pod_container_resource_requests", "cpu")
    assert not kept(job, "kube_secret_info")
    assert kept(jobs(run)["karpenter"], "karpenter_nodepools_usage", "cpu")
    assert not kept(jobs(run)["karpenter"], "karpenter_pods_state")


@pytest.mark.parametrize(
    ("given", "label", "namespace"),
    [
        ({}, "app_kubernetes_io_name", "gpushare-metrics"),
        ({"gpu_stack": OPERATOR}, "app", "gpu-operator"),
    ],
)
def test_the_exporter_is_found_where_it_is(
    managed: Callable[..., Run], given: dict[str, Any], label: str, namespace: str
) -> None:
    job = jobs(managed(**given))["dcgm-exporter"]
    first, port = job["relabel_configs"]

    assert job["kubernetes_sd_configs"] == [
        {"role": "pod", "namespaces": {"names": [namespace]}},
    ]
    assert first["source_labels"] == [f"__meta_kubernetes_pod_label_{label}"]
    assert port["regex"] == "9400"
    assert job["honor_labels"] is True


@pytest.mark.parametrize(("interval", "scraped"), [("15s", "30s"), ("30s", "30s"), ("1m", "1m")])
def test_nothing_is_scraped_more_often_than_aws_does(
    managed: Callable[..., Run], interval: str, scraped: str
) -> None:
    told = child(managed(interval=interval), "collector")["scrapeConfiguration"]

    assert yaml.safe_load(told)["global"]["scrape_interval"] == scraped


def test_of_prometheus_chart_only_what_tells_the_state_is_installed(
    managed: Callable[..., Run],
) -> None:
    keys = chart_keys("kube-prometheus-stack")
    assert keys is not None
    values = child(managed(prometheus_chart={"values": {"fullnameOverride": "x"}}), "prometheus")[
        "values"
    ]

    assert list(wrong_values(values, keys)) == []
    assert values["fullnameOverride"] == "x"
    assert {key for key, given in values.items() if given == {"enabled": False}} == {
        *("alertmanager", "crds", "grafana", "kubernetesServiceMonitors", "nodeExporter"),
        *("prometheus", "prometheusOperator"),
    }
    # It may list no secrets.
    assert values["kube-state-metrics"]["collectors"] == ["nodes", "pods"]


def test_whoever_goes_by_annotations_does_not_find_the_exporter_too(
    managed: Callable[..., Run], gpu_metrics: Callable[..., Run]
) -> None:
    of_others = gpu_metrics(metrics="managedPrometheus", prometheus={"workspace_arn": ARN})

    assert child(managed(), "exporter")["values"]["podAnnotations"] == {}
    assert child(of_others, "exporter")["values"]["podAnnotations"] != {}


def test_an_environment_hands_on_its_cluster_and_five_subnets(
    environment: Callable[..., Run],
) -> None:
    network = {
        "vpc_id": "vpc-0a1b2c3d",
        "private_subnet_ids": [f"subnet-0a1b2c3{number}" for number in range(6)],
    }
    run = environment(
        network=network, observability={**MANAGED, "prometheus": {"install": True}}, preview=False
    )
    (made,) = (to_json(each.inputs) for each in run.all("Scraper"))

    assert made["source"]["eks"]["clusterArn"].endswith(":cluster/demo")
    assert made["source"]["eks"]["subnetIds"] == network["private_subnet_ids"][:5]
    (group,) = made["source"]["eks"]["securityGroupIds"]
    assert group.startswith("sg-")


def test_keda_asks_a_workspace_that_is_given(environment: Callable[..., Run]) -> None:
    workload = {"pool": "gpu", "image": "chat:1.0", "replicas": {"max": 3}}
    block = {**MANAGED, "prometheus": {"install": True, "workspace_arn": ARN}}
    run = environment(
        pools={"gpu": POOL}, observability=block, keda={}, workloads={"chat": workload}
    )

    assert "aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1a2b" in json.dumps(
        to_json(run.inputs("ScaledObject"))
    )


def test_keda_asks_the_workspace_that_the_stack_makes(environment: Callable[..., Run]) -> None:
    """In the update that makes it: address, region and role follow from the workspace."""
    workload = {"pool": "gpu", "image": "chat:1.0", "replicas": {"max": 3}}
    run = environment(
        pools={"gpu": POOL},
        observability={**MANAGED, "prometheus": {"install": True}},
        keda={},
        workloads={"chat": workload},
        preview=False,
    )

    workspace = run.one("Workspace")
    arn, endpoint = (workspace.outputs[key] for key in ("arn", "prometheusEndpoint"))
    for trigger in run.inputs("ScaledObject")["spec"]["triggers"]:
        assert trigger["metadata"]["serverAddress"] == endpoint.rstrip("/")
        assert trigger["metadata"]["awsRegion"] == arn.split(":")[3]
        assert trigger["authenticationRef"]["name"] == "eks-gpushare-prometheus"
    asked = [each for each in run.all("RolePolicy") if each.name.endswith("operator-query")]
    (statement,) = json.loads(asked[0].inputs["policy"])["Statement"]
    assert (statement["Action"], statement["Resource"]) == (["aps:QueryMetrics"], arn)


def test_a_keda_of_others_gets_no_role_for_a_workspace_to_be_made(
    environment: Callable[..., Run],
) -> None:
    run = environment(
        pools={"gpu": POOL},
        observability={**MANAGED, "prometheus": {"install": True}},
        keda={"install": False},
        fails=True,
    )

    assert "observability.prometheus.install" in run.error
    assert "GPU834" in run.error


def test_once_it_is_made_keda_names_it_and_the_stack_keeps_it(
    environment: Callable[..., Run],
) -> None:
    workload = {"pool": "gpu", "image": "chat:1.0", "replicas": {"max": 3}}
    run = environment(
        pools={"gpu": POOL},
        observability={**MANAGED, "prometheus": {"install": True}},
        keda={"prometheus": {"workspace_arn": ARN}},
        workloads={"chat": workload},
    )

    assert [each.name for each in run.all("Workspace")] == ["demo-metrics-workspace"]
    assert "workspaces/ws-1a2b" in json.dumps(to_json(run.inputs("ScaledObject")))


def said(environment: Callable[..., Run], *blocks: dict[str, Any] | None) -> dict[str, str]:
    """What an edit of the block says, by the names of what goes or becomes another."""
    before, after = (
        environment(preview=False, pools={"gpu": POOL}, **({"observability": each} if each else {}))
        for each in blocks
    )
    return {
        each.name: each.message.removeprefix(f"{each.name}: ")
        for each in edits(before.recording, after.recording)
    }


MADE = {**MANAGED, "prometheus": {"install": True}}
GIVEN = {**MANAGED, "prometheus": {"install": True, "workspace_arn": ARN}}
WITH_KEY = {**MANAGED, "prometheus": {"install": True, "kms_key_arn": KEY}}
CLOUDWATCH = {"metrics": "cloudwatch", "dashboards": "files"}
GONE = "the workspace goes, and with it every series that it has kept."
ANOTHER = "another workspace is made, and what this one has kept is gone (kmsKeyArn)."
ADDON = "demo-cluster-addon-amazon-cloudwatch-observability"


@pytest.mark.parametrize(
    ("before", "after", "name", "says"),
    [
        (MADE, GIVEN, "demo-metrics-workspace", GONE),
        (MADE, WITH_KEY, "demo-metrics-workspace", ANOTHER),
        (MADE, CLOUDWATCH, "demo-metrics-workspace", GONE),
        (GIVEN, MADE, "demo-metrics-workspace", None),
        (
            CLOUDWATCH,
            MADE,
            ADDON,
            "EKS removes the add-on, and whatever it runs on the nodes.",
        ),
    ],
)
def test_what_goes_by_an_edit_is_said(
    environment: Callable[..., Run],
    before: dict[str, Any],
    after: dict[str, Any],
    name: str,
    says: str | None,
) -> None:
    assert said(environment, before, after).get(name) == says


@pytest.mark.parametrize(
    ("block", "named"),
    [
        (MADE, {"samples and queries of managed Prometheus", "collectors of managed Prometheus"}),
        (GIVEN, {"collectors of managed Prometheus"}),
        (CLOUDWATCH, {"metrics in CloudWatch"}),
        ({**MANAGED, "prometheus": {"workspace_arn": ARN}}, set()),
    ],
)
def test_what_is_charged_by_use_is_named(
    environment: Callable[..., Run], block: dict[str, Any], named: set[str]
) -> None:
    run = environment(pools={"gpu": POOL}, observability=block)
    words = cost_of(run.recording, "us-west-2").not_included

    assert {each for each in words if "Prometheus" in each or "metrics" in each} == named


def test_of_a_given_workspace_nothing_else_is_in_reach(environment: Callable[..., Run]) -> None:
    """Rights on workspaces that a stack makes are held by tests/aws, in an account in memory."""
    run = environment(pools={"gpu": POOL}, observability=GIVEN)
    found = deploy_policy(run.recording, region="us-west-2", account="111122223333")
    reached = {
        resource
        for each in found.statements
        if {"aps:CreateScraper", "aps:UpdateScraper"} & {*each["Action"]}
        for resource in each["Resource"]
    }

    assert reached == {
        ARN,
        "arn:aws:aps:us-west-2:111122223333:scraper/*",
        "arn:aws:eks:us-west-2:111122223333:cluster/demo",
    }
    assert not any("aps:CreateWorkspace" in each["Action"] for each in found.statements)


def test_a_file_for_amazon_has_no_group_above_its_quota(run: Command, promtool: Promtool) -> None:
    """The same rules in the same order, but in groups that a workspace takes."""
    of = {
        form: json.loads(run("rules", "tenants", "--format", form, "--json").out)["rules"]
        for form in ("prometheus", "amp")
    }
    whole, parts = (of[form]["groups"] for form in ("prometheus", "amp"))

    assert "amp" in FORMATS
    assert max(len(group["rules"]) for group in whole) > MOST_RULES
    assert max(len(group["rules"]) for group in parts) == MOST_RULES
    assert [each for group in parts for each in group["rules"]] == [
        each for group in whole for each in group["rules"]
    ]
    assert len({group["name"] for group in parts}) == len(parts)
    assert promtool.refusal_of_rules(of["amp"]) == ""
