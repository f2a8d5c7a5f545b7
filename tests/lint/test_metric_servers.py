"""Servers of Prometheus that triggers of KEDA ask are those that are there."""

from __future__ import annotations

import pytest
from linted import found, said

SERVER = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: watch, namespace: metrics}
spec:
  chart: {spec: {chart: kube-prometheus-stack, version: 80.0.0}}
  values: VALUES
"""
SCALER = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: llm, namespace: own}
spec:
  scaleTargetRef: {name: llm}
  triggers:
    - type: prometheus
      metadata: {serverAddress: "ADDRESS", query: sum(up), threshold: "1"}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: old-kube-prometheus-prometheus, namespace: metrics}
spec: {selector: {a: b}, ports: [{port: 9090}]}
"""
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: watch, namespace: argocd}
spec:
  generators: [{list: {elements: [{cluster: a}]}}]
  template:
    metadata: {name: "NAME"}
    spec:
      destination: {namespace: metrics, server: https://kubernetes.default.svc}
      source: {repoURL: https://a.example, chart: kube-prometheus-stack, targetRevision: 80.0.0}
"""
SEVERAL = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: watch, namespace: argocd}
spec:
  destination: {namespace: metrics, server: https://kubernetes.default.svc}
  sources:
  - {repoURL: https://a.example, chart: b, targetRevision: 1.0.0, helm: {releaseName: b}}
  - {repoURL: https://a.example, chart: kube-prometheus-stack, targetRevision: 80.0.0, helm: MORE}
"""
OF_RELEASE = "http://watch-kube-prometheus-stac-prometheus.metrics.svc:9090"
OF_ANOTHER = "http://old-kube-prometheus-prometheus.metrics.svc.cluster.local:9090"


def is_told(address: str, values: str = "{}", more: str = "", server: str = SERVER) -> bool:
    texts = (server.replace("VALUES", values), *((more,) if more else ()))
    files = {
        "a/server.yaml": "---\n".join(texts),
        "a/scaler.yaml": SCALER.replace("ADDRESS", address),
    }
    return "GPU1194" in said(files)


@pytest.mark.parametrize(
    ("address", "values"),
    [
        (OF_ANOTHER, "{}"),
        (OF_ANOTHER.replace(".svc.cluster.local", ""), "{}"),
        (OF_ANOTHER.replace(":9090", "/path"), "{}"),
        (OF_RELEASE, "{fullnameOverride: short}"),
        (OF_RELEASE, "{nameOverride: short}"),
    ],
)
def test_a_server_by_another_name_than_the_charts(address: str, values: str) -> None:
    assert is_told(address, values)


@pytest.mark.parametrize(
    ("address", "values"),
    [
        (OF_RELEASE, "{}"),
        ("http://prometheus-operated.metrics.svc:9090", "{}"),
        (OF_ANOTHER.replace(".metrics", ".others"), "{}"),
        (OF_ANOTHER.replace(".metrics", ".$SPACE"), "{}"),
        (OF_ANOTHER, "{fullnameOverride: $NAME}"),
        (OF_ANOTHER, "{fullnameOverride: old-kube-prometheus}"),
        (OF_ANOTHER, "{prometheus: {enabled: false}}"),
        (OF_ANOTHER.replace("metrics.svc", "example.com"), "{}"),
    ],
)
def test_a_server_that_may_be_there(address: str, values: str) -> None:
    assert not is_told(address, values)


def test_the_server_that_is_there_is_told() -> None:
    server, scaler = SERVER.replace("VALUES", "{}"), SCALER.replace("ADDRESS", OF_ANOTHER)
    given = found([("a/server.yaml", server), ("a/scaler.yaml", scaler)])
    (told,) = (each for each in given if each.code == "GPU1194")

    assert told.message == (
        "Trigger 0 of the ScaledObject llm asks old-kube-prometheus-prometheus, and the release "
        "watch of kube-prometheus-stack, the one in metrics, calls its server "
        "watch-kube-prometheus-stac-prometheus: KEDA finds no such host."
    )


def test_a_server_of_others() -> None:
    assert not is_told(OF_ANOTHER, more=SERVICE)
    assert not is_told(OF_ANOTHER, server=SERVER.replace("name: watch", "name: $NAME"))
    assert not is_told(OF_ANOTHER, server=SERVER.replace("namespace: metrics", "namespace: $A"))
    assert not is_told(OF_ANOTHER, more=SERVER.replace("watch", "old").replace("VALUES", "{}"))


@pytest.mark.parametrize(
    ("server", "wrong"),
    [
        (SET.replace("NAME", "watch"), True),
        (SET.replace("NAME", "watch-{{cluster}}"), False),
        (SET.replace("NAME", "old"), False),
        (SEVERAL.replace("MORE", "{}"), True),
        (SEVERAL.replace("MORE", "{releaseName: old}"), False),
        (SEVERAL.replace("MORE", "{releaseName: $NAME}"), False),
        (SERVER.replace("  chart:", "  targetNamespace: metrics\n  chart:"), True),
        (SERVER.replace("watch", "old").replace("  chart:", "  releaseName: b\n  chart:"), True),
    ],
)
def test_a_release_has_the_name_that_its_installer_gives_it(server: str, *, wrong: bool) -> None:
    address = OF_ANOTHER.replace("prometheus-prometheus", "prometheus-stack-prometheus")

    assert is_told(address, server=server) is wrong


def test_a_release_of_an_unknown_namespace_may_be_the_one_that_is_asked() -> None:
    other = SERVER.replace("watch", "old").replace("metrics", "$SPACE").replace("VALUES", "{}")

    assert is_told(OF_ANOTHER)
    assert not is_told(OF_ANOTHER, more=other)
