"""Servers of Prometheus that triggers of KEDA ask are those that are there."""

from __future__ import annotations

import pytest
from linted import said

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


def test_a_server_of_others() -> None:
    assert not is_told(OF_ANOTHER, more=SERVICE)
    assert not is_told(OF_ANOTHER, server=SERVER.replace("name: watch", "name: $NAME"))
    assert not is_told(OF_ANOTHER, server=SERVER.replace("namespace: metrics", "namespace: $A"))
    assert not is_told(OF_ANOTHER, more=SERVER.replace("watch", "old").replace("VALUES", "{}"))
