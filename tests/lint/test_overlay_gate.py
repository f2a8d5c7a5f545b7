"""NodeOverlays beside a Karpenter that does not read them."""

from __future__ import annotations

import pytest
from linted import found, said

from eks_gpushare.catalog.karpenter_releases import GATES_READ

OVERLAY = """\
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: shares}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.2xlarge]}]
  capacity: {nvidia.com/gpu.shared: 4}
"""
KARPENTER = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: kube-system}
spec:
  chart: {spec: {chart: karpenter, VERSION}}
  values: VALUES
"""
ON = "{settings: {featureGates: {nodeOverlay: true}}}"
OFF = "{settings: {featureGates: {nodeOverlay: false}}}"
ENV = "{controller: {env: [{name: FEATURE_GATES, value: NodeOverlay=true}]}}"


def karpenter(values: str, version: str = "version: 1.8.2", more: str = "") -> str:
    return KARPENTER.replace("VERSION", version).replace("VALUES", values) + more


@pytest.mark.parametrize(
    ("release", "wrong"),
    [
        (karpenter(OFF), True),
        (karpenter(OFF, version="sourceRef: {name: a}"), True),
        (karpenter("{settings: {clusterName: '${CLUSTER}'}}"), True),
        (karpenter("{}"), True),
        (karpenter(ON), False),
        (karpenter(ON.replace("true", "'true'")), False),
        (karpenter(ON, version="version: 1.6.1"), True),
        # What the default of other releases is, is not known.
        (karpenter("{}", version="sourceRef: {name: a}"), False),
        (karpenter("{}", version="version: 9.0.0"), False),
        (karpenter("{}", version=f"version: {GATES_READ}"), True),
        (karpenter("{}", version="version: ${VERSION}"), False),
        (karpenter(ENV), False),
        (karpenter("{controller: {envFrom: [{configMapRef: {name: a}}]}}"), False),
        (karpenter("${VALUES}"), False),
        (karpenter("{settings: '${SETTINGS}'}"), False),
        (karpenter("{settings: {featureGates: {nodeOverlay: '${ON}'}}}"), False),
        (karpenter("{}", more="  valuesFrom: [{kind: ConfigMap, name: a}]\n"), False),
        (karpenter(OFF, more="  valuesFrom: [{kind: ConfigMap, name: a}]\n"), False),
        (f"{karpenter(OFF)}---\n{karpenter(ON).replace('name: karp', 'name: other-karp')}", False),
        ("", False),
    ],
)
def test_karpenter_is_told_to_read_overlays(release: str, wrong: bool) -> None:
    assert ("GPU1138" in said({"all.yaml": f"{OVERLAY}---\n{release}"})) is wrong


def test_without_overlays_there_is_nothing_to_read() -> None:
    assert "GPU1138" not in said({"all.yaml": karpenter(OFF)})


@pytest.mark.parametrize(
    ("version", "why", "fix"),
    [
        ("1.8.2", "has the gate nodeOverlay off", "Set"),
        ("1.6.0", "is 1.6.0, which has none", "Install 1.7.0 or later, and set"),
    ],
)
def test_it_says_why(version: str, why: str, fix: str) -> None:
    text = f"{OVERLAY}---\n{karpenter(OFF, version=f'version: {version}')}"
    (told,) = [each for each in found([("all.yaml", text)]) if each.code == "GPU1138"]

    assert told.message == (
        f"Karpenter does not read the NodeOverlay shares: the release karpenter of karpenter {why}."
    )
    assert told.fix == f"{fix} settings.featureGates.nodeOverlay: true in its values."
    assert told.path == "kind"


def test_of_a_guide_it_is_not_judged() -> None:
    block = f"```yaml\n{OVERLAY}---\n{karpenter(OFF)}```\n"

    assert "GPU1138" not in said({"README.md": block})
