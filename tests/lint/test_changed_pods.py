"""Pods that policies of admission change: what is unknown of them, and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import found_in_parts, said

from eks_gpushare.lint.declared import Declared

if TYPE_CHECKING:
    from pathlib import Path

NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: home, region: eu-central-1, version: "1.33"}
managedNodeGroups:
  - name: gpu
    instanceType: g6.xlarge
    amiFamily: AmazonLinux2023
    taints: [{key: team, value: ml, effect: NoSchedule}]
"""
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml, labels: {team: ml}}\n"
POD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: ml}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
ADDED = "{spec: {+(tolerations): [{key: team, operator: Exists}]}}"


def kyverno(match: str = "any: [{resources: {kinds: [Pod]}}]", more: str = "") -> str:
    return f"""\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: gpu}}
spec:
  rules:
    - name: gpu
      match: {{{match}}}
      mutate: {{patchStrategicMerge: {ADDED}}}
      {more}
"""


def of_kubernetes(constraints: str = "namespaceSelector: {}") -> str:
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: gpu}}
spec:
  matchConstraints: {{{constraints}}}
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: 'Object{{spec: Object.spec{{tolerations: [Object.spec.tolerations{{}}]}}}}'
"""


def gatekeeper(match: str = "scope: Namespaced") -> str:
    return f"""\
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {{name: gpu}}
spec:
  applyTo: [{{groups: [""], kinds: [Pod], versions: [v1]}}]
  match: {{{match}}}
  location: spec.tolerations
  parameters: {{assign: {{value: [{{key: team, operator: Exists}}]}}}}
"""


OF_OTHERS = "kinds: [{apiGroups: ['*'], kinds: [Pod]}]"


@pytest.mark.parametrize(
    ("policy", "wrong"),
    [
        ("", True),
        (kyverno(), False),
        (kyverno("resources: {kinds: [Pod]}"), False),
        (kyverno("any: [{resources: {kinds: [apps/v1/Deployment]}}]"), False),
        (kyverno("any: [{resources: {kinds: [Service]}}]"), True),
        (kyverno("any: [{resources: {namespaces: [web]}}, {resources: {kinds: [Pod]}}]"), False),
        (kyverno("all: [{resources: {namespaces: ['m*']}}]"), False),
        (kyverno("all: [{resources: {namespaces: [web]}}]"), True),
        (kyverno("all: [{resources: {namespaces: [$SPACE]}}]"), False),
        (kyverno("any: [{resources: {selector: {matchLabels: {app: a}}}}]"), False),
        (kyverno("any: [{resources: {selector: {matchLabels: {app: b}}}}]"), True),
        (kyverno("any: [{resources: {namespaceSelector: {matchLabels: {team: ml}}}}]"), False),
        (kyverno("any: [{resources: {namespaceSelector: {matchLabels: {gpu: a}}}}]"), True),
        (kyverno(more="exclude: {any: [{resources: {namespaces: [ml]}}]}"), True),
        (kyverno(more="exclude: {any: [{resources: {namespaces: [web]}}]}"), False),
        (kyverno(more="exclude: {any: [{resources: {namespaces: [ml], names: [b]}}]}"), False),
        (kyverno(more="exclude: {any: [{resources: {kinds: [Pod], namespaces: [ml]}}]}"), True),
        (kyverno(more="exclude: {any: [{resources: {namespaces: [$SPACE]}}]}"), False),
        (kyverno("all: [{resources: {kinds: [Service]}}, {resources: {kinds: [Pod]}}]"), True),
        (kyverno().replace("+(tolerations)", "dnsPolicy"), True),
        (kyverno().replace("kyverno.io/v1", "example.com/v1"), True),
        (of_kubernetes(), False),
        (of_kubernetes("objectSelector: {matchLabels: {app: b}}"), True),
        (gatekeeper(), False),
        (gatekeeper(OF_OTHERS), False),
        (gatekeeper("labelSelector: {matchLabels: {app: b}}"), True),
        (gatekeeper("namespaces: [web]"), True),
    ],
)
def test_what_a_policy_may_add_is_not_missing(policy: str, *, wrong: bool) -> None:
    files = {"nodes.yaml": NODES, "pod.yaml": f"{SPACE}---\n{POD}", "policy.yaml": policy or "{}"}

    assert ("GPU1111" in said(files)) is wrong


@pytest.mark.parametrize(
    ("labels", "wrong"), [("{a: b}", True), ("$LABELS", False), ("{gpu: a}", False)]
)
def test_a_namespace_goes_by_the_labels_that_it_is_known_to_have(
    labels: str, *, wrong: bool
) -> None:
    policy = kyverno("any: [{resources: {namespaceSelector: {matchLabels: {gpu: a}}}}]")
    space = SPACE.replace("{team: ml}", labels)

    assert ("GPU1111" in said({"a.yaml": f"{NODES}---\n{space}---\n{POD}---\n{policy}"})) is wrong
    assert "GPU1111" not in said({"a.yaml": f"{NODES}---\n{POD}---\n{policy}"})


def test_what_is_not_known_of_a_pod_stays_so() -> None:
    unknown = POD.replace("      containers: [", "      $MORE\n      containers: [")

    assert "GPU1111" not in said({"a.yaml": f"{NODES}---\n{unknown}---\n{kyverno()}"})


@pytest.mark.parametrize(
    ("policy", "wrong"),
    [
        ({"policies/pods.yaml": kyverno()}, False),
        ({"policies/pods.yaml": kyverno(more="exclude: {any: [{resources: {namespaces: [ml]}}]}")},
         True),
        ({"policies/README.md": f"# Pods\n\n```yaml\n{kyverno()}```\n"}, True),
        ({}, True),
    ],
)  # fmt: skip
def test_a_policy_is_for_pods_of_other_folders(
    policy: dict[str, str], *, wrong: bool, tmp_path: Path
) -> None:
    files = {"cluster/nodes.yaml": NODES, "ml/pod.yaml": f"{SPACE}---\n{POD}", **policy}
    apart = Declared(paths={"a": ("cluster/*", "ml/*")}, folder=str(tmp_path))
    found = found_in_parts(tmp_path, files, apart)
    assert ("GPU1111" in {each.code for each in found}) is wrong
