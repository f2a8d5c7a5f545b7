"""What is wrong with metrics, alerts and boards: one broken field at a time."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings, fixes

from eks_gpushare.config.component_specs import GpuMetricsSpec
from eks_gpushare.rules.metrics_alone import check_gpu_metrics

URL = {"prometheus": {"url": "http://prometheus.monitoring.svc:9090"}}
ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-1"
WORKSPACE = {"metrics": "managedPrometheus", "prometheus": {"workspaceArn": ARN}}
BOTTLEROCKET = {"pools": {"gpu": {"amiFamily": "bottlerocket", "amiVersion": "1.65.0-0be31b34"}}}
ONE = "Give one: install: true, an address, or the ARN of a workspace."
INSTALL = {"install": True}
EXISTING = {"exporter": "existing"}
URL_WITH_NAME = "http://me:secret@prometheus"
EBS = {"cluster": {"addons": {"ebsCsi": True}}}


def found(code: str, block: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    return findings({"observability": block, **more}, code)


CODES = [*(f"GPU88{number}" for number in range(8)), "GPU893", "GPU894"]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "block",
    [
        {"prometheus": {"install": True}},
        {**WORKSPACE, "interval": "5s"},
        {**WORKSPACE, "interval": "2m", "podLabels": ["^app$", "team"]},
        {**WORKSPACE, "alerts": {"runbook": "https://wiki.example.com/gpu", "labels": {"a": "b"}}},
        {"metrics": "none", "cost": {"split": "activity"}},
        {"metrics": "cloudwatch"},
    ],
)
def test_what_is_right_is_no_finding(code: str, block: dict[str, Any]) -> None:
    assert found(code, block, **EBS) == []


@pytest.mark.parametrize(
    ("block", "at", "message"),
    [
        (
            {"prometheus": {}},
            "observability.prometheus",
            "None of install, url and workspaceArn is given, and metrics have one store.",
        ),
        (
            {"prometheus": {"install": True, "workspaceArn": ARN}},
            "observability.prometheus",
            "install and workspaceArn are given, and metrics have one store.",
        ),
        (
            {"metrics": "cloudwatch", "prometheus": INSTALL},
            "observability.prometheus.install",
            (
                "metrics is cloudwatch, and install is a store of prometheusOperator or "
                "managedPrometheus."
            ),
        ),
        (
            {"prometheus": {"workspaceArn": ARN}},
            "observability.prometheus.workspaceArn",
            "metrics is prometheusOperator, and workspaceArn is a store of managedPrometheus.",
        ),
        (
            {"prometheus": {"url": URL_WITH_NAME}},
            "observability.prometheus.url",
            "What is given is not the address of a Prometheus, without a password in it.",
        ),
        (
            {"prometheus": {"url": "prometheus:9090"}},
            "observability.prometheus.url",
            '"prometheus:9090" is not the address of a Prometheus, without a password in it.',
        ),
        (
            {"metrics": "managedPrometheus", "prometheus": {"workspaceArn": "ws-1"}},
            "observability.prometheus.workspaceArn",
            '"ws-1" is not the ARN of a workspace.',
        ),
        (
            {
                "metrics": "managedPrometheus",
                "prometheus": {"workspaceArn": ARN.replace("aws", "aws-cn", 1)},
            },
            "observability.prometheus.workspaceArn",
            "The workspace is in aws-cn, and the stack in another partition.",
        ),
    ],
)
def test_metrics_have_one_store(block: dict[str, Any], at: str, message: str) -> None:
    assert found("GPU880", block) == [(at, message)]


@pytest.mark.parametrize("block", [{}, URL])
def test_a_new_cluster_has_no_kinds_of_the_operator(block: dict[str, Any]) -> None:
    assert found("GPU881", block) == [
        (
            "observability.metrics",
            "The stack makes the cluster, and nothing of it installs Prometheus' operator.",
        )
    ]


@pytest.mark.parametrize(
    "block",
    [
        {"prometheus": {}},
        {"prometheus": {"install": True, "workspaceArn": ARN}},
        {"prometheus": {"workspaceArn": ARN}},
        {"metrics": "cloudwatch", "prometheus": INSTALL},
        {"prometheus": {"install": True, "url": "http://p:9090"}, "metrics": "managedPrometheus"},
    ],
)
def test_of_a_store_that_is_not_clear_one_thing_is_said(block: dict[str, Any]) -> None:
    assert len(found("GPU880", block)) == 1
    assert [found(code, block) for code in ("GPU881", "GPU885")] == [[], []]


@pytest.mark.parametrize(
    ("block", "at", "message"),
    [
        (
            {"selectorLabels": {"release": "a b"}},
            "selectorLabels.release",
            (
                'The value "a b" is not up to 63 letters, digits, -, _ and . with a letter or '
                "digit at both ends."
            ),
        ),
        (
            {"selectorLabels": {"-release": "a"}},
            "selectorLabels.-release",
            (
                '"-release" is not 1 to 63 letters, digits, -, _ and . with a letter or digit at '
                "both ends."
            ),
        ),
        (
            {"prometheus": {**INSTALL, "storageClass": "GP3_fast"}},
            "prometheus.storageClass",
            '"GP3_fast" is not lower-case letters, digits, - and . with none of them last.',
        ),
        (
            {"prometheus": {**INSTALL, "storageClass": "a" * 254}},
            "prometheus.storageClass",
            f'"{"a" * 254}" is not lower-case letters, digits, - and . with none of them last.',
        ),
    ],
)
def test_what_objects_have_of_it_is_valid(block: dict[str, Any], at: str, message: str) -> None:
    assert found("GPU893", {**URL, **block}, **EBS) == [(f"observability.{at}", message)]


def test_of_an_existing_cluster_nobody_here_knows() -> None:
    cluster = {"name": None, "version": None, "admins": None, "existing": {"name": "demo"}}

    assert found("GPU881", {}, cluster=cluster, network=None) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("4s", "4s is not between 5 seconds and 2 minutes."),
        ("121s", "121s is not between 5 seconds and 2 minutes."),
        ("15", '"15" is no time in whole seconds.'),
        ("5500ms", '"5500ms" is no time in whole seconds.'),
        *((text, f'"{text}" is no time in whole seconds.') for text in ("1.5m", "+15s", "30s1m")),
    ],
)
def test_scrapes_are_seconds_apart(given: str, message: str) -> None:
    assert found("GPU882", {**URL, "interval": given}) == [("observability.interval", message)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (".*", '".*" takes every label of every pod.'),
        ("", '"" takes every label of every pod.'),
        ("(", '"(" is no regular expression: missing ), unterminated subpattern at position 0.'),
        ("^a(?=b)", '"^a(?=b)" has (?= in it, which expressions of Go do not know.'),
        ("a{1001}", '"a{1001}" repeats something 1,001 times, and expressions of Go 1,000 times.'),
        ("^a$,^b$", '"^a$,^b$" has a comma in it, at which the exporter parts expressions.'),
    ],
)
def test_labels_of_pods_are_chosen(given: str, message: str) -> None:
    assert found("GPU883", {**URL, "podLabels": ["^app$", given]}) == [
        ("observability.podLabels[1]", message)
    ]


@pytest.mark.parametrize(
    ("alerts", "at", "message"),
    [
        ({"severity": {"GpuXids": "info"}}, "severity.GpuXids", "There is no alert GpuXids."),
        (
            {"labels": {"severity": "x"}},
            "labels.severity",
            "severity is a label that each alert has already.",
        ),
        (
            {"labels": {"team": "{{ bad"}},
            "labels.team",
            '"{{ bad" is a template to Prometheus, and no label.',
        ),
        (
            {"labels": {"a-b": "x"}},
            "labels.a-b",
            '"a-b" is not the name of a label of Prometheus.',
        ),
        ({"runbook": "wiki"}, "runbook", '"wiki" is not the address of a page.'),
    ],
)
def test_what_is_changed_about_alerts(alerts: dict[str, Any], at: str, message: str) -> None:
    assert found("GPU884", {**URL, "alerts": alerts}) == [(f"observability.alerts.{at}", message)]


def test_who_misspells_an_alert_is_told_which_was_meant() -> None:
    def fix(name: str) -> str:
        block = {**URL, "alerts": {"severity": {name: "info"}}}
        (found,) = fixes({"observability": block}, "GPU884")
        return found

    assert fix("GpuXids") == "Did you mean GpuXid?"
    assert fix("NodeDown").startswith("Use one of GpuNodesUnknown, GpuSharesExhausted, ")


def test_an_installed_prometheus_has_a_volume() -> None:
    message = "Prometheus asks for a volume, and the cluster has no driver for one."

    assert found("GPU885", {"prometheus": INSTALL}) == [("observability.prometheus", message)]
    assert found("GPU885", {"prometheus": {**INSTALL, "storageClass": "efs"}}) == []
    assert found("GPU885", {"prometheus": INSTALL}, **EBS) == []
    assert found("GPU885", URL) == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://prometheus:9090/api/v1/query", "KEDA adds /api/v1/query to the address."),
        (
            "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1",
            "The address is that of a workspace, which answers signed requests only.",
        ),
    ],
)
def test_an_address_is_one_that_whoever_asks_can_take(url: str, message: str) -> None:
    """Workloads that follow their use take it from here, as from keda.prometheus."""
    assert found("GPU880", {"prometheus": {"url": url}}) == [
        ("observability.prometheus.url", message)
    ]


@pytest.mark.parametrize(
    ("block", "fix"),
    [
        ({"interval": 15}, "Write it with its unit, such as 15s or 5m."),
        ({"cost": "memory"}, "Write cost: {split: memory}."),
        ({"alerts": ["GpuXid"]}, "Write alerts: {severity: {GpuXid: critical}}."),
        ({"slo": 99.5}, "Write slo: {schedulingSeconds: 60, availability: 99.5}."),
        (
            {"selectorLabels": ["release"]},
            "Write selectorLabels: {release: kube-prometheus-stack}.",
        ),
        ({"podLabels": {"app": True}}, 'Write podLabels: ["^app$"].'),
    ],
)
def test_how_a_value_is_written_is_told(block: dict[str, Any], fix: str) -> None:
    assert fixes({"observability": block}, "GPU005") == [fix]


BY_OPERATOR = {"gpuStack": {"manager": "gpuOperator"}}


def of_exporter(values: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    """What is said of values that undo what metrics count on, without KEDA."""
    turns = {"gpu": {"sharing": {"mode": "timeSlicing", "replicas": 4}}}
    return found("GPU844", URL, charts=values, pools=turns, **more)


def test_values_do_not_undo_what_rules_count_on() -> None:
    """Without it each pod has 0, or no number at all, and every board shows that."""
    at = "charts.dcgmExporter.values"
    lost = "The exporter of the stack runs without"

    assert of_exporter({"dcgmExporter": {"values": {"resources": {}}}}) == []
    assert of_exporter({"dcgmExporter": {"values": {"hostPID": False}}}) == [
        (at, f"{lost} hostPID: true.")
    ]
    file = "DCGM_FI_DEV_GPU_UTIL, gauge, Use.\n"
    ((_, message),) = of_exporter({"dcgmExporter": {"values": {"customMetrics": file}}})
    assert message.startswith(f"{lost} the counters DCGM_FI_DEV_SM_CLOCK, ")
    assert "GPU_UTIL" not in message
    assert "DCGM_FI_DRIVER_VERSION" not in message
    assert "DCGM_EXP_XID_ERRORS_COUNT" in message


def test_values_of_the_operator_do_not_either() -> None:
    at = "charts.gpuOperator.values.dcgmExporter"
    off = {"gpuOperator": {"values": {"dcgmExporter": {"enabled": False}}}}
    alone = {"gpuOperator": {"values": {"dcgmExporter": {"hostPID": False}}}}

    assert of_exporter({}, **BY_OPERATOR) == []
    assert of_exporter(off, **BY_OPERATOR) == [
        (
            f"{at}.enabled",
            "Metrics are asked for, and the GPU Operator is told not to run its exporter.",
        )
    ]
    assert of_exporter(alone, **BY_OPERATOR) == [
        (at, "The exporter of the GPU Operator runs without hostPID: true.")
    ]
    whole = {"gpu": {"sharing": {"mode": "exclusive"}}}
    assert found("GPU844", URL, charts=alone, pools=whole, **BY_OPERATOR) == []


@pytest.mark.parametrize(
    ("keda", "paths"),
    [
        ({}, []),
        ({"install": False}, ["observability.prometheus.workspaceArn"]),
        ({"install": False, "prometheus": {"url": "http://prometheus:9090"}}, []),
    ],
)
def test_a_workspace_of_the_block_is_asked_by_a_role_too(
    keda: dict[str, Any], paths: list[str]
) -> None:
    """Workloads take the store of the block: its requests are signed as those of KEDA's are."""
    assert [at for at, _ in found("GPU834", WORKSPACE, keda=keda)] == paths


def test_the_default_class_of_that_volume_is_not_switched_off() -> None:
    """A cluster of EKS has had none by itself since Kubernetes 1.30."""
    values = {"defaultStorageClass": {"enabled": False}}
    addons = {"ebsCsi": True, "byName": {"aws-ebs-csi-driver": {"values": values}}}
    off = {"cluster": {"addons": addons}}
    at = "cluster.addons.byName.aws-ebs-csi-driver.values.defaultStorageClass.enabled"
    message = "Prometheus asks for a volume of the default class, and a new cluster has none."

    assert found("GPU885", {"prometheus": INSTALL}, **off) == [(at, message)]
    assert found("GPU885", {"prometheus": {**INSTALL, "storageClass": "gp3"}}, **off) == []


@pytest.mark.parametrize(("split", "what"), [("memory", "memory"), ("activity", "compute")])
def test_costs_are_split_by_what_is_measured(split: str, what: str) -> None:
    why = "the exporter does not start on Bottlerocket"
    ((at, message),) = found("GPU886", {**URL, "cost": {"split": split}}, **BOTTLEROCKET)

    assert at == "observability.cost.split"
    assert message.startswith(f"Of pods of gpu no {what} is measured: {why}")
    assert found("GPU886", {**URL, "cost": {"split": split}}) == []


def test_of_an_exporter_that_the_stack_does_not_set_nothing_is_split_by() -> None:
    ((at, message),) = found("GPU886", {"metrics": "cloudwatch", "cost": {"split": "memory"}})

    assert at == "observability.cost.split"
    assert message == (
        "The exporter of CloudWatch's add-on tells no memory of pods: it is not this stack that "
        "says what it measures."
    )


def test_of_an_isolated_tenant_something_is_measured() -> None:
    amount = {"guaranteed": {"gpus": 1}}
    tenants = {
        name: {"namespaces": [name], "pools": {"gpu": amount}, "isolation": isolation}
        for name, isolation in (("vision", "fault"), ("audio", "none"))
    }

    ((at, message),) = found("GPU886", URL, tenants=tenants, **BOTTLEROCKET)
    assert at == "tenants.vision.pools.gpu"
    assert message.startswith("No number tells what pods of vision do on gpu: ")
    assert found("GPU886", URL, tenants=tenants) == []


def test_it_is_said_where_one_of_two_numbers_is_a_pods() -> None:
    sharing = {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 2}}
    pools = {"gpu": {"instanceTypes": ["p4d.24xlarge"], "sharing": sharing}}
    tenant = {"namespaces": ["a"], "pools": {"gpu": {"guaranteed": {"shares": 1}}}}
    tenants = {"vision": {**tenant, "isolation": "fault"}}

    ((at, message),) = found("GPU886", URL, tenants=tenants, pools=pools)
    assert at == "tenants.vision.pools.gpu"
    assert "NVML has no samples of processes" in message


@pytest.mark.parametrize("name", ["default", "kube-system", "No Name"])
def test_the_namespace_is_its_own(name: str) -> None:
    assert [at for at, _ in found("GPU887", {**URL, "namespace": name})] == [
        "observability.namespace"
    ]


def test_a_chart_that_nothing_installs() -> None:
    charts = {"charts": {"prometheus": {"timeoutSeconds": 60}}}
    said = ("charts.prometheus", "This stack installs no Prometheus.")

    assert said in findings(charts, "GPU714")
    assert said in found("GPU714", URL, **charts)
    assert found("GPU714", {"prometheus": INSTALL}, **charts, **EBS) == []


def test_rules_that_a_stack_is_given_shadow_none_of_its_own() -> None:
    own = [
        {"record": "team:nodes", "expr": "1"},
        {"alert": "GpuXid", "expr": "1"},
        {"alert": "TeamsOwn", "expr": "gpushare:nodes > 3"},
        "no rule",
    ]
    listed = [{"name": "own", "groups": [{"name": "own", "rules": own}]}]
    values = {"additionalPrometheusRules": listed, "grafana": {"x": {"alert": "GpuXid"}}}
    charts = {"charts": {"prometheus": {"values": values}}}

    assert found("GPU894", {"prometheus": INSTALL}, **charts, **EBS) == [
        (
            "charts.prometheus.values.additionalPrometheusRules[0].groups[0].rules[1].alert",
            "GpuXid is a rule that the stack makes too.",
        )
    ]


def test_the_exporter_is_installed_once() -> None:
    ((at, message),) = found("GPU852", URL, gpuStack={"dcgmExporter": True})

    assert at == "gpuStack.dcgmExporter"
    assert message == "observability installs the exporter, in a namespace of its own."


OFF = {"gpuOperator": {"values": {"dcgmExporter": {"enabled": False}}}}
OPERATOR = {"manager": "gpuOperator"}


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ({"observability": URL}, []),
        (
            {"observability": URL, "keda": {"prometheus": {**URL["prometheus"], **EXISTING}}},
            ["keda.prometheus.exporter"],
        ),
        (
            {
                "observability": {"metrics": "none"},
                "keda": {"prometheus": {**URL["prometheus"], **EXISTING}},
            },
            [],
        ),
        ({"observability": {"metrics": "cloudwatch"}}, []),
        (
            {"observability": {"metrics": "cloudwatch"}, "gpuStack": {"dcgmExporter": True}},
            ["observability.metrics"],
        ),
        (
            {"observability": {"metrics": "cloudwatch"}, "gpuStack": OPERATOR},
            ["observability.metrics"],
        ),
        (
            {
                "observability": {"metrics": "cloudwatch"},
                "gpuStack": OPERATOR,
                "charts": OFF,
            },
            [],
        ),
        ({"observability": URL, "gpuStack": OPERATOR}, []),
    ],
)
def test_metrics_are_of_one_exporter(given: dict[str, Any], at: list[str]) -> None:
    assert [where for where, _ in findings(given, "GPU852")] == at


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ({"namespace": "nvidia-device-plugin"}, ["observability.namespace"]),
        ({"namespace": "metrics"}, []),
        ({"namespace": "nvidia-device-plugin", "metrics": "none"}, []),
    ],
)
def test_its_namespace_is_nobody_elses(given: dict[str, Any], at: list[str]) -> None:
    assert [where for where, _ in found("GPU735", given)] == at


ALONE_POOL = {"instanceTypes": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, []),
        ({"interval": "1s"}, [("GPU882", "interval")]),
        ({"exporterChart": {"version": "1.0"}}, [("GPU702", "exporter_chart.version")]),
        (
            {
                "prometheus": {"install": True},
                "exporterChart": {"values": {"nonsense": 1}},
                "prometheusChart": {"values": {"nonsense": 1}},
            },
            [
                ("GPU711", "exporter_chart.values.nonsense"),
                ("GPU711", "prometheus_chart.values.nonsense"),
            ],
        ),
        (
            {"pools": {"gpu": {**ALONE_POOL, "instanceTypes": ["g99.2xlarge"]}}},
            [("GPU101", "pools.gpu.instanceTypes[0]")],
        ),
    ],
)
def test_metrics_alone_are_told_of_by_their_own_arguments(
    given: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    spec = GpuMetricsSpec.model_validate(
        {"pools": {"gpu": ALONE_POOL}, **URL, **given}, by_name=True, by_alias=True
    )

    assert sorted((each.code, each.path) for each in check_gpu_metrics(spec, ())) == told


@pytest.mark.parametrize(
    ("text", "fix"), [("app(", "Correct it."), ("^app(?=x)", "Write it as Go knows it.")]
)
def test_how_an_expression_is_mended_is_said(text: str, fix: str) -> None:
    given = {"observability": {**WORKSPACE, "podLabels": [text]}}

    assert fixes(given, "GPU883") == [fix]
