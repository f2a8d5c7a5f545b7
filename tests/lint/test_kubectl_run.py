"""Pods that a command runs, and labels that Karpenter gives nodes by their type."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile


def codes(**files: str) -> list[str]:
    named = [GivenFile(name.replace("_", "."), text) for name, text in files.items()]
    found = [each for report in lint_files(named) for each in report.findings]
    return [each.code for each in found if each.severity != "info"]


RUN = """\
#!/bin/bash
kubectl run %s test --rm -it --image=nvidia/cuda:12.4.1-base-ubuntu22.04 --restart=Never \\
  --overrides='{"spec": %s}' -- nvidia-smi
"""
LIMITS = '{"limits": {"nvidia.com/gpu": %s}}'
PART = f'{{"containers": [{{"name": "test", "image": "x:1", "resources": {LIMITS}}}]}}'


@pytest.mark.parametrize("flags", ["", "-n gpu", "-i"])
def test_overrides_are_the_pod(flags: str) -> None:
    assert codes(a_sh=RUN % (flags, PART % '"0.5"')) == ["GPU1114"]
    assert codes(a_sh=RUN % (flags, PART % '"1"')) == []


@pytest.mark.parametrize("spec", ["$SPEC", "{", "[]", '{"tolerations": []}'])
def test_what_is_no_pod_gives_nothing(spec: str) -> None:
    assert codes(a_sh=RUN % ("", spec)) == []


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("--limits=nvidia.com/gpu=1 -- nvidia-smi", True),
        ("--limits 'cpu=1,nvidia.com/gpu=1' --rm -it -- nvidia-smi", True),
        ("--requests=nvidia.com/mig-1g.5gb=1 -- nvidia-smi", True),
        ("--limits=cpu=1 -- nvidia-smi", False),
        ("-- tool --limits=nvidia.com/gpu=1", False),
        ("--rm --limits", False),
        ("--env=LIMIT=nvidia.com/gpu -- nvidia-smi", False),
    ],
)
def test_kubectl_run_takes_no_resources(given: str, *, wrong: bool) -> None:
    command = f"kubectl run test --image=nvidia/cuda:12.4.1-base-ubuntu22.04 {given}\n"

    assert codes(a_sh=f"#!/bin/sh\n{command}") == ["GPU1314"] * wrong
    assert codes(a_md=f"Then try it:\n\n```bash\n{command}```\n") == ["GPU1314"] * wrong


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: %s, kind: NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge, g5.2xlarge]}
  limits: {nvidia.com/gpu: 4}
"""
VALUES = """\
# Values of nvidia-device-plugin
migStrategy: none
gfd: {enabled: true}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: app, namespace: x}
spec:
  nodeSelector: {%s}
  containers: [{name: a, image: "x:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""


@pytest.mark.parametrize(
    ("label", "is_there"),
    [
        ("instance-gpu-name: a10g", True),
        ("instance-gpu-name: l4", False),
        ("instance-family: g5", True),
        ("instance-family: g6", False),
        ("instance-size: 2xlarge", True),
        ("instance-size: 4xlarge", False),
        ("instance-cpu: '8'", True),
        ("instance-cpu: '16'", False),
        ("instance-gpu-count: '1'", True),
        ("instance-gpu-count: '4'", False),
        ("instance-category: g", True),
        ("instance-category: p", False),
        ("instance-network-bandwidth: '10000'", True),
    ],
)
@pytest.mark.parametrize("group", ["karpenter.k8s.aws", "eks.amazonaws.com"])
def test_labels_follow_from_the_types(group: str, label: str, is_there: bool) -> None:
    files = {"pool_yaml": POOL % group, "pod_yaml": POD % f"{group}/{label}"}
    if group == "karpenter.k8s.aws":  # EKS Auto Mode brings its own device plugin
        files["values_yaml"] = VALUES

    assert ("GPU1112" not in codes(**files)) is is_there
