"""Sets of machines of OpenShift, whose nodes get labels and taints."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from foreign_reading import items, read_with

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader

PROFILE = "nvidia.com/device-plugin.config"
TAINT = {"key": "nvidia.com/gpu", "value": "yes", "effect": "NoSchedule"}
POLICY = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: policy}
spec:
  devicePlugin: {config: {name: profiles, default: one}}
  mig: {strategy: single}
  migManager: {config: {name: layouts}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: layouts, namespace: nvidia-gpu-operator}
data:
  config.yaml: |
    version: v1
    mig-configs:
      seven: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: profiles, namespace: nvidia-gpu-operator}
data:
  one: "version: v1"
  six: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 6}]}}
"""


def machines(kind: str = "MachineSet", group: str = "machine", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}.openshift.io/v1beta1",
        "kind": kind,
        "metadata": {"name": "gpu", "labels": {PROFILE: "of-the-object"}},
        "spec": spec
        if kind == "Machine"
        else {"template": {"metadata": {"labels": {PROFILE: "of-machines"}}, "spec": spec}},
    }


def nodes(value: dict[str, Any]) -> list[NodeSet]:
    found = items(read_with(KubernetesReader(), value))
    return [each for each in found if isinstance(each, NodeSet)]


@pytest.mark.parametrize("kind", ["MachineSet", "Machine"])
def test_labels_and_taints_are_those_of_nodes(kind: str) -> None:
    labelled, tainted = nodes(machines(kind, metadata={"labels": {PROFILE: "six"}}, taints=[TAINT]))

    assert labelled.labels == {PROFILE: "six"}
    assert tainted.taints is not UNKNOWN
    assert [str(each) for each in tainted.taints] == ["nvidia.com/gpu=yes:NoSchedule"]
    assert labelled.source.name == f"the {kind} gpu"


@pytest.mark.parametrize(
    "value",
    [
        machines(),
        machines(metadata={"labels": {}}),
        machines(group="other", metadata={"labels": {PROFILE: "six"}}),
        machines("MachineHealthCheck", metadata={"labels": {PROFILE: "six"}}),
    ],
)
def test_of_others_nothing_is_known(value: dict[str, Any]) -> None:
    assert nodes(value) == []


@pytest.mark.parametrize(
    ("label", "value", "codes"),
    [
        (PROFILE, "six", set()),
        (PROFILE, "x6", {"GPU1122"}),
        ("nvidia.com/mig.config", "seven", set()),
        ("nvidia.com/mig.config", "six", {"GPU1131"}),
    ],
)
def test_a_label_is_held_against_the_configurations(label: str, value: str, codes: Any) -> None:
    given = yaml.safe_dump(machines(metadata={"labels": {label: value}}))
    files = {
        "common/kustomization.yaml": "resources: [policy.yaml]\n",
        "common/policy.yaml": POLICY,
        "west/kustomization.yaml": "resources: [../common, machines.yaml]\n",
        "west/machines.yaml": given,
    }
    reports = lint_files([GivenFile(*each) for each in files.items()])
    found = [placed for report in reports for placed in report.found]
    told = [each for each in found if each.finding.severity == "error"]

    assert {each.finding.code for each in told} == codes
