"""ConfigMaps of the GPU Operator: under its own names, without data, and layouts for nodes."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: gpu-operator}
spec:
  chart: {spec: {chart: CHART, version: v25.3.0}}
  values: VALUES
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: WHERE, MORE}
data:
  config.yaml: |
    version: v1
    mig-configs:
      LAYOUT: [{devices: all, mig-enabled: true, mig-devices: {DEVICES}}]
"""
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {LABELS}}
"""
OWN = "default-mig-parted-config"


def release(values: str = "{}", chart: str = "gpu-operator") -> str:
    return RELEASE.replace("VALUES", values).replace("CHART", chart).replace("NAME", "operator")


def config(
    name: str = OWN,
    where: str = "gpu-operator",
    more: str = "labels: {a: b}",
    layout: str = "ours",
    devices: str = '"1g.10gb": 2',
) -> str:
    text = CONFIG.replace("NAME", name).replace("WHERE", where).replace("MORE", more)
    return text.replace("LAYOUT", layout).replace("DEVICES", devices)


def node(labels: str = "nvidia.com/mig.config: ours") -> str:
    return NODE.replace("LABELS", labels)


def codes(*texts: str) -> list[str]:
    ours = ("GPU1395", "GPU1120", "GPU1133")
    return [e.code for e in found_in({"a.yaml": "---\n".join(texts)}) if e.code in ours]


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((release(), config()), True),
        ((release(f"{{migManager: {{config: {{name: {OWN}}}}}}}"), config()), True),
        ((release("{migManager: {enabled: true}}"), config()), True),
        ((release("{migManager: {enabled: false}}"), config()), False),
        ((release("{migManager: {config: {name: other}}}"), config(), config("other")), False),
        ((release(), config("ours")), False),
        ((release(), config(where="other")), False),
        ((release(), config(layout="all-1g.10gb")), False),  # as the operator has it
        ((release(), config(more="ownerReferences: [{kind: ClusterPolicy}]")), False),
        ((release(), config().replace("config.yaml", "other.yaml")), False),
        ((release(), config(layout="{{ .Values.layout }}")), False),
        ((release("$VALUES"), config()), False),
        ((release(chart="hami"), config()), False),
        ((config(),), False),
    ],
)
def test_the_operator_writes_its_own_layouts(texts: tuple[str, ...], wrong: bool) -> None:
    assert ("GPU1395" in codes(*texts)) is wrong


NOT_MADE = "{devicePlugin: {config: {create: false, name: shares}}}"
NAMELESS = "{devicePlugin: {config: {create: true, data: {}}}}"
PLUGIN = "{devicePlugin: {config: {create: true, name: shares, GIVEN}}}"
MIG = "{migManager: {config: {create: true, name: ours, GIVEN}}}"


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((release(PLUGIN.replace("GIVEN", "data: {}")),), True),
        ((release(PLUGIN.replace("GIVEN", "default: a")),), True),
        ((release(MIG.replace("GIVEN", "data: {}")),), True),
        ((release(PLUGIN.replace("GIVEN", 'data: {a: "version: v1"}')),), False),
        ((release(PLUGIN.replace("GIVEN", "data: $DATA")),), False),
        ((release(NOT_MADE),), False),
        ((release(NAMELESS),), False),
        ((release(PLUGIN.replace("GIVEN", "data: {}")), config("shares")), False),
        ((release(PLUGIN.replace("GIVEN", "data: {}")), config("$NAME")), False),
    ],
)
def test_a_chart_makes_no_config_map_without_data(texts: tuple[str, ...], wrong: bool) -> None:
    said = [e for e in found_in({"a.yaml": "---\n".join(texts)}) if "has no data" in e.message]

    assert [each.code for each in said] == ["GPU1120"] * wrong


SINGLE = "{mig: {strategy: single}, migManager: {config: {name: layouts}}}"
TWO = '"1g.10gb": 2, "2g.20gb": 1'


def layouts(devices: str = TWO, layout: str = "ours") -> str:
    return config("layouts", devices=devices, layout=layout)


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((release(SINGLE), layouts(), node()), True),
        ((release(SINGLE.replace("single", "mixed")), layouts(), node()), False),
        ((release(SINGLE), layouts('"1g.10gb": 2'), node()), False),
        ((release(SINGLE), layouts(layout="other"), node()), False),
        ((release(SINGLE), layouts(), node("a: b")), False),
        ((release(SINGLE), layouts(), node("nvidia.com/mig.config: $LAYOUT")), False),
        ((release(SINGLE), layouts()), False),
        ((release(SINGLE), node()), False),
        ((release(SINGLE, "hami"), layouts(), node()), False),
    ],
)
def test_nodes_of_the_single_strategy_are_alike(texts: tuple[str, ...], wrong: bool) -> None:
    assert ("GPU1133" in codes(*texts)) is wrong


def test_nodes_of_a_known_type_are_judged_by_it() -> None:
    known = node("nvidia.com/mig.config: ours, node.kubernetes.io/instance-type: p4de.24xlarge")

    assert "GPU1133" not in codes(release(SINGLE), layouts(), known)
