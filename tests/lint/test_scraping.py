"""What Prometheus takes of metrics of GPUs, and what it is asked for: wrong, and near it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lint_corpus import found_in

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding

MONITOR = """\
apiVersion: monitoring.coreos.com/v1
kind: KIND
metadata: {name: NAME, namespace: a, labels: {LABELS}}
spec:
  selector: {matchLabels: {app: APP}}
  ENDS: [{port: metrics, MORE}]
"""
SERVER = """\
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: own, namespace: a}
spec: {replicas: REPLICAS, SELECTOR}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: a}
spec:
  chart: {spec: {chart: CHART, version: 1.0.0}}
  values: {VALUES}
"""
SELECTOR = "serviceMonitorSelector: {matchLabels: {release: own}}"


def monitor(
    labels: str = "a: b",
    name: str = "dcgm-exporter",
    app: str = "exporter",
    more: str = "path: /metrics",
    kind: str = "ServiceMonitor",
) -> str:
    text = MONITOR.replace("LABELS", labels).replace("NAME", name).replace("APP", app)
    ends = "endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints"
    return text.replace("MORE", more).replace("KIND", kind).replace("ENDS", ends)


def server(selector: str = SELECTOR, replicas: str = "1") -> str:
    return SERVER.replace("SELECTOR", selector).replace("REPLICAS", replicas)


def release(chart: str, values: str, name: str = "own") -> str:
    text = RELEASE.replace("CHART", chart).replace("VALUES", values)
    return text.replace("NAME", name)


def codes(*texts: str, name: str = "a.yaml") -> list[str]:
    ours = ("GPU1393", "GPU1394", "GPU1381")
    return [each.code for each in found_in({name: "---\n".join(texts)}) if each.code in ours]


EXPORTER = "serviceMonitor: {enabled: true}"
TAKEN = "serviceMonitor: {enabled: true, additionalLabels: {release: own}}"
STACK = "kube-prometheus-stack"
JOBS = "additionalScrapeConfigs: [{job_name: gpus}]"


@pytest.mark.parametrize(
    "texts",
    [
        (server(), monitor()),
        (server(), monitor(name="a", app="dcgm-exporter")),
        (server(), monitor(name="vllm")),
        (server(), monitor(name="a", more="path: /nvidia")),
        (server(), monitor(), monitor("release: own", name="dcgm")),
        (server(), release("dcgm-exporter", EXPORTER, "d"), monitor("release: own", name="vllm")),
        (server("serviceMonitorSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}"),
         monitor()),
        (server(), release("dcgm-exporter", EXPORTER, "dcgm")),
        (server(), release("dcgm-exporter", "resources: {}", "dcgm")),
        (server(), release("dcgm-exporter", f"{EXPORTER[:-1]}, additionalLabels: {{a: b}}}}", "d")),
        (server(), release("gpu-operator", f"dcgmExporter: {{{EXPORTER}}}", "gpu-operator")),
        (release(STACK, "grafana: {enabled: true}"), monitor("release: other")),
        (release(STACK, "prometheus: {prometheusSpec: {serviceMonitorSelector: {}}}"), monitor()),
        (release(STACK, f"prometheus: {{prometheusSpec: {{{SELECTOR}}}}}", "b"), monitor()),
    ],
)  # fmt: skip
def test_a_monitor_that_no_server_takes(texts: tuple[str, ...]) -> None:
    assert codes(*texts) == ["GPU1393"]


@pytest.mark.parametrize(
    "texts",
    [
        (monitor(),),
        (release(STACK, f"prometheus: {{prometheusSpec: {{{JOBS}}}}}"), monitor("release: other")),
        (server(f"{SELECTOR}, {JOBS}"), monitor()),
        (server(), monitor("release: own")),
        (server(), monitor("release: $NAME")),
        (server(), monitor(name="a")),  # of something else
        (server(), monitor(kind="PodMonitor")),  # which it selects otherwise
        (server("serviceMonitorSelector: {}"), monitor()),
        (server("retention: 1d"), monitor()),  # which is of none, and is for others to say
        (server("serviceMonitorSelector: $ALL"), monitor()),
        (server(), server("serviceMonitorSelector: {}").replace("own", "b"), monitor()),
        (server(), server("retention: $A").replace("own", "b"), monitor()),
        (server(), release("dcgm-exporter", "serviceMonitor: {enabled: false}", "d")),
        (server(), release("gpu-operator", "dcgmExporter: {enabled: true}", "g")),
        # Somebody has one of his own for it.
        (server(), release("dcgm-exporter", EXPORTER, "d"), monitor("release: own")),
        (server(), release("dcgm-exporter", "resources: {}", "$NAME")),
        (server(), release("dcgm-exporter", TAKEN, "d")),
        (server(), release("gpu-operator", f"dcgmExporter: {{enabled: false, {EXPORTER}}}", "g")),
        (server(), release("keda", EXPORTER, "keda")),
        (release(STACK, "grafana: {enabled: true}"), monitor("release: own")),
        (release(STACK, "prometheus: {prometheusSpec: "
                 "{serviceMonitorSelectorNilUsesHelmValues: false}}"), monitor()),
        (release(STACK, "prometheus: {prometheusSpec: {serviceMonitorSelector: {matchLabels: "
                 "{release: $NAME}}}}"), monitor()),
        (release(STACK, "prometheus: {prometheusSpec: {serviceMonitorSelector: $ALL}}"), monitor()),
        (release(STACK, "grafana: {enabled: true}", "$NAME"), monitor()),
        (release("prometheus-adapter", "grafana: {enabled: true}"), monitor()),
    ],
)  # fmt: skip
def test_monitors_that_are_taken_or_may_be(texts: tuple[str, ...]) -> None:
    assert codes(*texts) == []


PODS = "podMonitorSelector: {matchLabels: {release: own}}"


def pods(labels: str) -> str:
    return monitor(labels, kind="PodMonitor")


def stack(spec: str) -> str:
    return release(STACK, f"prometheus: {{prometheusSpec: {{{spec}}}}}")


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((server(PODS), pods("a: b")), True),
        ((server(PODS), pods("release: own")), False),
        ((server(f"{SELECTOR}, podMonitorSelector: {{}}"), pods("a: b")), False),
        # Which takes monitors of the other kind only, or whatever it is told elsewhere.
        ((server(PODS), monitor()), False),
        ((server(f"{SELECTOR}, podMonitorSelector: $ALL"), pods("a: b")), False),
        ((server(PODS), server("retention: 1d").replace("own", "b"), pods("a: b")), False),
        ((stack(PODS), pods("release: stack")), True),
        ((stack(PODS), pods("release: own")), False),
        ((stack("retention: 1d"), pods("release: stack")), True),
        ((stack("retention: 1d"), pods("release: own")), False),
        ((stack("podMonitorSelectorNilUsesHelmValues: false"), pods("a: b")), False),
        # What is said of one kind is none of the other's.
        ((stack("serviceMonitorSelectorNilUsesHelmValues: false"), pods("a: b")), True),
        ((stack("podMonitorSelectorNilUsesHelmValues: false"), monitor()), True),
    ],
)
def test_each_kind_of_monitor_has_a_selector_of_its_own(
    texts: tuple[str, ...], wrong: bool
) -> None:
    assert codes(*texts) == ["GPU1393"] * wrong


def test_a_monitor_of_pods_is_told_by_what_takes_it() -> None:
    every = found_lint("a.yaml", f"{stack(PODS)}---\n{pods('a: b')}")
    (found,) = [each for each in every if each.code == "GPU1393"]

    assert found.message == (
        "The release own of kube-prometheus-stack takes PodMonitors with release: own, and the "
        "PodMonitor dcgm-exporter is none of them: it is never scraped."
    )
    assert found.fix == "Add release: own to `metadata.labels`."


def test_values_alone_say_what_a_server_takes() -> None:
    values = f"prometheus: {{prometheusSpec: {{{SELECTOR}}}}}\n"
    files = {"prometheus.yaml": values, "a.yaml": monitor()}

    assert [each.code for each in found_in(files)] == ["GPU1393"]
    assert (
        found_in({**files, "prometheus.yaml": "prometheus: {prometheusSpec: {retention: 1d}}"})
        == ()
    )


ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: own, namespace: argocd}
spec:
  destination: {namespace: a}
  source: {chart: kube-prometheus-stack, repoURL: https://a.example, targetRevision: 1.0.0, MORE}
"""


@pytest.mark.parametrize(
    ("stack", "label", "wrong"),
    [
        (release(STACK, "a: {}"), "own", False),
        (release(STACK, "a: {}").replace("spec:", "spec:\n  targetNamespace: b", 1), "own", True),
        (
            release(STACK, "a: {}").replace("spec:", "spec:\n  targetNamespace: b", 1),
            "b-own",
            False,
        ),
        (release(STACK, "a: {}").replace("spec:", "spec:\n  targetNamespace: $B", 1), "own", False),
        (release(STACK, "a: {}").replace("spec:", "spec:\n  releaseName: c", 1), "own", True),
        (release(STACK, "a: {}").replace("spec:", "spec:\n  releaseName: c", 1), "c", False),
        (ARGO.replace("MORE", "helm: {valuesObject: {}}"), "own", False),
        (ARGO.replace("MORE", "helm: {releaseName: c, valuesObject: {}}"), "own", True),
        (ARGO.replace("MORE", "helm: {releaseName: c, valuesObject: {}}"), "c", False),
    ],
)
def test_a_chart_takes_monitors_by_the_name_that_helm_has(
    stack: str, label: str, wrong: bool
) -> None:
    assert codes(stack, monitor(f"release: {label}")) == ["GPU1393"] * wrong


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("a.yaml", "prometheus: {prometheusSpec: {retention: 1d}}\nnone: 1\n", False),
        ("a.yml", release(STACK, "none: 1"), False),
        ("a.sh", "helm install p prometheus-community/kube-prometheus-stack --set none=1\n", True),
        ("b.yml", release("keda", "none: 1").replace("1.0.0", "2.20.2"), True),
    ],
)
def test_of_charts_of_metrics_in_files_nothing_else_is_judged(
    name: str, text: str, wrong: bool
) -> None:
    assert ("GPU1034" in [each.code for each in found_lint(name, text)]) is wrong


def found_lint(name: str, text: str) -> list[Finding]:
    reports = lint_files([GivenFile(name, text)])
    return [each for report in reports for each in report.findings]


def test_a_guide_shows_monitors_that_somebody_is_to_change() -> None:
    text = f"```yaml\n{monitor()}```\n\n```yaml\n{server()}```\n"

    assert codes(text, name="README.md") == []
    text = f"```yaml\n{release('dcgm-exporter', EXPORTER, 'd')}```\n\n```yaml\n{server()}```\n"
    assert codes(text, name="README.md") == []


# --- by pods ----------------------------------------------------------------------------------

SCALED = """\
apiVersion: keda.sh/v1alpha1
kind: KIND
metadata: {name: own, namespace: b}
spec:
  scaleTargetRef: {name: own}
  minReplicaCount: 1
  triggers:
    - type: prometheus
      metadata: {query: 'QUERY'}
"""
BY_POD = 'avg(DCGM_FI_DEV_GPU_UTIL{pod=~"own-.*"})'


def scaled(query: str = BY_POD, kind: str = "ScaledObject") -> str:
    return SCALED.replace("QUERY", query).replace("KIND", kind)


@pytest.mark.parametrize(
    "texts",
    [
        (monitor(), scaled()),
        (monitor(more="honorLabels: false"), scaled()),
        (monitor(kind="PodMonitor"), scaled()),
        (release("dcgm-exporter", EXPORTER), scaled()),
        (release("gpu-operator", f"dcgmExporter: {{{EXPORTER}}}"), scaled()),
        (monitor(), scaled('DCGM_FI_DEV_GPU_UTIL{gpu="0", container="own"}')),
        (monitor(), scaled('DCGM_FI_DEV_GPU_UTIL{pod!=""}')),
        (monitor(), scaled('DCGM_FI_DEV_GPU_TEMP{gpu="0"} + DCGM_FI_DEV_GPU_UTIL{pod="own-0"}')),
        (monitor(), release("prometheus-adapter",
                            "rules: {custom: [{seriesQuery: 'DCGM_FI_DEV_GPU_UTIL{pod!=\"\"}'}]}")),
        (monitor(), """\
apiVersion: v1
kind: ConfigMap
metadata: {name: adapter, namespace: a}
data: {config.yaml: "rules: [{seriesQuery: 'DCGM_FI_DEV_GPU_UTIL{pod!=\\"\\"}'}]"}
"""),
    ],
)  # fmt: skip
def test_a_query_by_pods_where_the_exporter_is_the_pod(texts: tuple[str, ...]) -> None:
    assert codes(*texts) == ["GPU1394"]


@pytest.mark.parametrize(
    "texts",
    [
        (scaled(),),
        (monitor(more="honorLabels: true"), scaled()),
        (monitor(more="honorLabels: $YES"), scaled()),
        (monitor(more="metricRelabelings: [{action: labelmap}]"), scaled()),
        (monitor(more="relabelings: [{action: labelmap}]"), scaled()),
        (monitor(more="relabelings: []"), scaled('DCGM_FI_DEV_GPU_UTIL{gpu="0"}')),
        (monitor(name="vllm"), scaled()),  # of another server
        (monitor().replace("[{port: metrics, path: /metrics}]", "$ENDS"), scaled()),
        (monitor(), """\
apiVersion: v1
kind: ConfigMap
metadata: {name: board, namespace: a}
data: {board.json: "{expr: 'DCGM_FI_DEV_GPU_UTIL{pod!=\\"\\"}'}"}
"""),
        (monitor(), monitor(name="dcgm", more="honorLabels: true"), scaled()),
        (monitor(), scaled('DCGM_FI_DEV_GPU_UTIL{exported_pod=~"own.*"}')),
        (monitor(), scaled('DCGM_FI_DEV_GPU_UTIL{pod=~"dcgm-exporter-.*"}')),
        (monitor(), scaled('DCGM_FI_DEV_GPU_UTIL{pod=~".+"}')),
        (monitor(), scaled('DCGM_FI_DEV_GPU_UTIL{pod=~".*"}')),
        (monitor(), scaled('DCGM_FI_DEV_GPU_UTIL{pod!="own-0"}')),
        (monitor(), scaled('DCGM_FI_DEV_GPU_UTIL{pod=""}')),
        (monitor(), scaled('vllm:num_requests_waiting{pod="own-0"}')),
        (monitor(), scaled("DCGM_FI_DEV_GPU_UTIL")),
        (monitor(), scaled(kind="ScaledJob")),
        (release("dcgm-exporter", f"{EXPORTER[:-1]}, honorLabels: true}}"), scaled()),
        (release("dcgm-exporter", f"{EXPORTER[:-1]}, relabelings: [{{action: drop}}]}}"), scaled()),
    ],
)  # fmt: skip
def test_queries_that_find_what_they_ask_for(texts: tuple[str, ...]) -> None:
    assert codes(*texts) == []


def alerting(query: str) -> str:
    return f"""\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {{name: idle, namespace: a}}
spec:
  groups:
  - name: gpus
    rules:
    - alert: Idle
      expr: max by (exported_pod) ({query}) < 5
"""


HONORED = monitor(more="honorLabels: true")
EXPORTED = 'DCGM_FI_DEV_GPU_UTIL{exported_namespace="own"}'


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((HONORED, scaled(EXPORTED)), True),
        ((HONORED, scaled('DCGM_FI_DEV_GPU_UTIL{exported_pod!=""}')), True),
        (
            (release("dcgm-exporter", f"{EXPORTER[:-1]}, honorLabels: true}}"), scaled(EXPORTED)),
            True,
        ),
        ((HONORED, server(), scaled(EXPORTED)), True),
        ((HONORED, alerting('DCGM_FI_DEV_GPU_UTIL{exported_pod!=""}')), True),
        ((HONORED, alerting('DCGM_FI_DEV_GPU_UTIL{pod!=""}')), False),
        ((monitor(), alerting('DCGM_FI_DEV_GPU_UTIL{exported_pod!=""}')), False),
        ((monitor(), alerting('DCGM_FI_DEV_GPU_UTIL{pod=~"gpu-metrics-.*"}')), False),
        ((HONORED, server("overrideHonorLabels: true"), scaled(EXPORTED)), False),
        ((HONORED, scaled('DCGM_FI_DEV_GPU_UTIL{namespace="own"}')), False),
        ((HONORED, scaled('DCGM_FI_DEV_GPU_UTIL{exported_pod=~".*"}')), False),
        ((HONORED, scaled('DCGM_FI_DEV_GPU_UTIL{exported_pod!="a"}')), False),
        ((HONORED, monitor(name="dcgm"), scaled(EXPORTED)), False),
        ((monitor(more="honorLabels: $YES"), scaled(EXPORTED)), False),
        ((monitor(), scaled('DCGM_FI_DEV_GPU_UTIL{namespace="own"}')), False),
        *(
            (
                (
                    HONORED,
                    release(STACK, f"prometheus: {{prometheusSpec: {{{key}}}}}"),
                    scaled(EXPORTED),
                ),
                False,
            )
            for key in ("additionalScrapeConfigs: [{job_name: a}]", "overrideHonorLabels: true")
        ),
    ],
)
def test_where_labels_are_honored_none_is_exported(texts: tuple[str, ...], *, wrong: bool) -> None:
    assert ("GPU1394" in codes(*texts)) is wrong


# --- lists of metrics -------------------------------------------------------------------------

LIST = "DCGM_FI_DEV_GPU_TEMP, gauge, temperature\\nDCGM_FI_DEV_FB_USED, gauge, memory\\n"


def listed(text: str = LIST) -> str:
    return release("dcgm-exporter", f'customMetrics: "{text}"')


def counters(text: str = LIST) -> str:
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: counters, namespace: a}}
data: {{dcgm-metrics.csv: "{text}"}}
"""


QUERY = "avg(DCGM_FI_DEV_GPU_UTIL)"


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((listed(), scaled(QUERY)), True),
        ((counters(), scaled(QUERY)), True),
        ((listed(f"{LIST}# DCGM_FI_DEV_GPU_UTIL, gauge, use\\n"), scaled(QUERY)), True),
        ((listed(f"{LIST}DCGM_FI_DEV_GPU_UTIL_OTHER, gauge, use\\n"), scaled(QUERY)), True),
        ((listed(f"{LIST}DCGM_FI_DEV_GPU_UTIL, gauge, use\\n"), scaled(QUERY)), False),
        ((listed(f"{LIST}DCGM_FI_DEV_GPU_UTIL , gauge, use\\n"), scaled(QUERY)), False),
        ((listed(), scaled("avg(DCGM_FI_DEV_GPU_TEMP)")), False),
        ((listed(), counters(), scaled(QUERY)), False),  # one of the two may be another exporter's
        ((counters("a,b,c"), scaled(QUERY)), False),
        ((counters("{{ .Values.list }}"), scaled(QUERY)), False),
        ((listed("$LIST"), scaled(QUERY)), False),
        ((scaled(QUERY),), False),
    ],
)
def test_what_is_asked_for_is_in_the_one_list(texts: tuple[str, ...], wrong: bool) -> None:
    assert codes(*texts) == (["GPU1381"] if wrong else [])


ALERT = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: own, namespace: a}
spec: {GROUPS}
"""
GROUPS = "groups: [{name: a, rules: [{KIND: a, expr: 'EXPR'}]}]"


def alert(expr: str = QUERY, kind: str = "alert") -> str:
    return ALERT.replace("GROUPS", grouped(expr, kind))


def grouped(expr: str = QUERY, kind: str = "alert") -> str:
    return GROUPS.replace("EXPR", expr).replace("KIND", kind)


def rules(text: str) -> str:
    return counters().replace("counters", "rules").replace(f'"{LIST}"', repr(text))


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((listed(), alert()), True),
        ((listed(), alert(kind="record")), True),
        ((listed(), release(STACK, f"additionalPrometheusRulesMap: {{a: {{{grouped()}}}}}")), True),
        ((listed(), release(STACK, f"additionalPrometheusRules: [{{{grouped()}}}]")), True),
        ((listed(), release("other", f"additionalPrometheusRules: [{{{grouped()}}}]")), False),
        ((listed(), grouped()), True),
        ((listed(), grouped(kind="record")), True),
        ((listed(), grouped(kind="test")), False),
        ((listed(), grouped("avg(DCGM_FI_DEV_GPU_TEMP)")), False),
        ((listed(), f"serverFiles: {{alerting_rules.yml: {{{grouped()}}}}}"), True),
        ((listed(), f"prometheus: {{serverFiles: {{own.yml: {{{grouped()}}}}}}}"), True),
        ((listed(), f"other: {{own.yml: {{{grouped()}}}}}"), False),
        ((listed(), release("prometheus", f"serverFiles: {{own.yml: {{{grouped()}}}}}")), True),
        ((listed(), f"apiVersion: 1\n{grouped()}"), False),
        ((listed(), rules(f"of_an_alert: {QUERY}")), False),
        ((listed(), rules(f"  - alert: a\\n    expr: {QUERY}".replace("\\n", "\n"))), True),
        ((listed(), alert("avg(DCGM_FI_DEV_GPU_TEMP)")), False),
        ((listed(), alert("DCGM_FI_DEV_GPU_UTIL or DCGM_FI_DEV_GPU_TEMP")), False),
        ((listed(), alert("node:DCGM_FI_DEV_GPU_UTIL:avg > 1")), False),
        ((listed(), alert("DCGM_FI_DEV_GPU_UTIL:avg > 1")), False),
        ((listed(), alert("DCGM_FI_DEV_GPU_TEMP # not DCGM_FI_DEV_GPU_UTIL")), False),
        ((listed(), alert("{{ .Values.expr }}")), False),
        ((alert(),), False),
    ],
)
def test_alerts_ask_for_what_is_in_the_one_list(texts: tuple[str, ...], wrong: bool) -> None:
    assert ("GPU1381" in codes(*texts)) is wrong


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (grouped(), "a.yaml"),
        (f"serverFiles: {{alerting_rules.yml: {{{grouped()}}}}}", "alerting_rules.yml"),
    ],
)
def test_rules_are_called_by_the_file_that_they_become(text: str, name: str) -> None:
    (report,) = lint_files([GivenFile("a.yaml", f"{listed()}---\n{text}")])
    (message,) = (each.message for each in report.findings if each.code == "GPU1381")

    assert message.startswith(f"The file of rules {name} asks for DCGM_FI_DEV_GPU_UTIL, ")


SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: a, labels: {app: exporter}}
spec: {selector: {app: web}, ports: [{name: PORT, port: 80}]}
"""
WEB = """\
apiVersion: apps/v1
kind: KIND
metadata: {name: web, namespace: a}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, LABELS}}
    spec:
      containers:
      - {name: a, image: a, ports: [PORTS], resources: {limits: {LIMITS}}}
"""


def web(
    ports: str = "{name: prom, containerPort: 1}",
    limits: str = "nvidia.com/gpu: 1",
    labels: str = "a: b",
    kind: str = "Deployment",
) -> str:
    text = WEB.replace("PORTS", ports).replace("LIMITS", limits).replace("LABELS", labels)
    return text.replace("KIND", kind)


def service(port: str = "prom") -> str:
    return SERVICE.replace("PORT", port)


OF_PODS = monitor(kind="PodMonitor", name="own", app="web")
OF_SERVICES = monitor(name="own")


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((OF_PODS, web()), True),
        ((OF_PODS, web(ports="")), True),
        ((OF_PODS, web(limits="cpu: 1")), False),
        ((OF_PODS.replace("own", "vllm"), web(limits="cpu: 1")), True),
        ((OF_PODS, web("{name: metrics, containerPort: 1}")), False),
        (
            (
                OF_PODS,
                web(),
                web("{name: metrics, containerPort: 1}").replace("name: web", "name: b"),
            ),
            False,
        ),
        ((OF_PODS, web("'{{ .a }}'")), False),
        ((OF_PODS, web().replace("app: web, a: b", "app: '{{ .a }}'")), False),
        ((OF_PODS, web(kind="RayThing")), False),
        ((OF_PODS.replace("port: metrics", "portNumber: 1"), web()), False),
        ((OF_PODS.replace("port: metrics", "port: http-envoy-prom"), web()), False),
        ((OF_PODS.replace("port: metrics", "port: '{{ .a }}'"), web()), False),
        ((OF_PODS.replace("namespace: a", "namespace: b"), web()), False),
        ((OF_PODS.replace(", namespace: a", ""), web()), False),
        ((OF_PODS.replace("spec:", "spec:\n  namespaceSelector: {any: true}"), web()), False),
        ((OF_PODS, web(), release("dcgm-exporter", "serviceMonitor: {enabled: false}")), False),
        ((OF_PODS,), False),
        ((OF_SERVICES, service(), web()), True),
        ((OF_SERVICES, service("metrics"), web()), False),
        ((OF_SERVICES, service(), web(limits="cpu: 1")), False),
        ((OF_SERVICES, service().replace("selector: {app: web}, ", ""), web()), False),
        ((OF_SERVICES, service("'{{ .a }}'"), web()), False),
        ((OF_SERVICES, web()), False),
        ((monitor(), service()), True),
    ],
)
def test_a_monitor_names_a_port_that_is_there(texts: tuple[str, ...], wrong: bool) -> None:
    assert codes(*texts) == (["GPU1393"] if wrong else [])


GROUP = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: web, namespace: a}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      metadata: {labels: {part: first}}
      spec: {containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 8}}}]}
    workerTemplate:
      spec: {containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 8}}}]}
"""


@pytest.mark.parametrize(
    ("selector", "wrong"),
    [
        ("{leaderworkerset.sigs.k8s.io/name: web, part: first}", True),
        ("{leaderworkerset.sigs.k8s.io/name: web}", True),
        ("{leaderworkerset.sigs.k8s.io/worker-index: '0'}", True),
        ("{leaderworkerset.sigs.k8s.io/name: other, part: first}", False),
        ("{leaderworkerset.sigs.k8s.io/name: web, part: other}", False),
    ],
)
def test_pods_of_a_group_have_labels_of_its_controller(selector: str, *, wrong: bool) -> None:
    """By which a Service selects them; only of pods with GPUs is the port told."""
    by_group = service().replace("{app: web},", f"{selector},")

    assert ("GPU1393" in codes(OF_SERVICES, by_group, GROUP)) is wrong


def test_the_names_of_ports_are_told() -> None:
    ports = "{name: prom, containerPort: 1}, {name: http, containerPort: 2}, {containerPort: 3}"
    every = found_lint("a.yaml", "---\n".join((OF_PODS, web(ports))))
    (found,) = [each for each in every if each.code == "GPU1393"]

    assert found.path == "spec.podMetricsEndpoints[0].port"
    assert found.message == (
        "The PodMonitor own is to scrape the port metrics of the Deployment web, whose ports have "
        "the names http, prom: it has no target."
    )


BY_KEY = "serviceMonitorSelector: {matchExpressions: [{key: c, operator: Exists}]}"


@pytest.mark.parametrize(
    ("texts", "said", "fix"),
    [
        (
            (server(), monitor()),
            "with release: own, and the ServiceMonitor dcgm-exporter is none of them: it",
            "Add release: own to `metadata.labels`.",
        ),
        (
            (server(), release("dcgm-exporter", EXPORTER, "dcgm")),
            "and the ServiceMonitor of the release dcgm of dcgm-exporter is none of them",
            "Add release: own to `serviceMonitor.additionalLabels`.",
        ),
        (
            (server(BY_KEY), monitor()),
            "The Prometheus own takes ServiceMonitors by its selector, and the ServiceMonitor",
            "Add labels that it selects to `metadata.labels`.",
        ),
        (
            (monitor(), scaled()),
            'asks for DCGM_FI_DEV_GPU_UTIL{pod=~"own-.*"}, and the ServiceMonitor dcgm-exporter ',
            "Set honorLabels: true at spec.endpoints of the ServiceMonitor dcgm-exporter, or ask ",
        ),
    ],
)
def test_what_is_wrong_is_told(texts: tuple[str, ...], said: str, fix: str) -> None:
    reports = lint_files([GivenFile("a.yaml", "---\n".join(texts))])
    (found,) = [each for report in reports for each in report.findings if each.severity != "info"]

    assert said in found.message
    assert found.fix.startswith(fix)
