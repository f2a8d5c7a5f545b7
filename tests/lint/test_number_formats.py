"""vLLM told to compute in bfloat16, on nodes that have it, have not, or may have."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: a, region: eu-west-1, version: "1.34"}
managedNodeGroups:
  - {name: one, instanceType: TYPE, amiFamily: AmazonLinux2023, maxSize: 2, labels: {for: one}}
  - {name: two, instanceType: g5.xlarge, amiFamily: AmazonLinux2023, maxSize: 2, labels: {for: two}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: demo}
spec:
  nodeSelector: {SELECTED}
  containers:
    - name: main
      image: IMAGE
      args: [ARGS]
      resources: {limits: {nvidia.com/gpu: 1}}
"""


def messages(
    kind: str = "g4dn.xlarge",
    args: str = '--model=/models, "--dtype=bfloat16"',
    selected: str = "for: one",
    image: str = "vllm/vllm-openai:v0.11.0",
) -> list[str]:
    pod = POD.replace("SELECTED", selected).replace("IMAGE", image).replace("ARGS", args)
    found = found_in({"a.yaml": f"{NODES.replace('TYPE', kind)}---\n{pod}"})
    return [each.message for each in found if each.code == "GPU1390"]


@pytest.mark.parametrize(
    ("kind", "gpu"),
    [("g4dn.xlarge", "T4 of compute capability 7.5"), ("p3.2xlarge", "V100 of compute capability")],
)
def test_gpus_without_the_format_are_named(kind: str, gpu: str) -> None:
    assert [gpu in each for each in messages(kind)] == [True]
    assert len(messages(kind, args="serve, /models, --dtype, bfloat16")) == 1
    assert len(messages(kind, '"python -m vllm --dtype bfloat16 --port 80"', image="own:1")) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "g5.xlarge"},
        {"selected": "for: two"},
        {"selected": ""},  # may be on either
        {"selected": "for: $WHERE"},
        {"args": "--dtype=half"},
        {"args": "--dtype=auto"},
        {"args": "--kv-cache-dtype=bfloat16"},
        {"image": "own:1"},  # others compute in another format, and say so
    ],
)
def test_nothing_is_said_where_it_is_there_or_may_be(given: dict[str, str]) -> None:
    assert messages(**given) == []
