"""NodePools name a node class that is there."""

from __future__ import annotations

import pytest
from linted import said

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: NAME}
spec:
  amiSelectorTerms: [{alias: al2023@v20260714}]
  role: nodes
  subnetSelectorTerms: [{tags: {for: a}}]
  securityGroupSelectorTerms: [{tags: {for: a}}]
---
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: POOL}
spec:
  template:
    spec:
      nodeClassRef: {group: GROUP, kind: EC2NodeClass, name: NAME}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [TYPE]}]
---
"""


def classes(*names: str) -> str:
    return "".join(CLASS.replace("NAME", each) for each in names)


def pool(of: str, name: str = "gpu", kind: str = "g6.xlarge") -> str:
    group = "karpenter.k8s.aws"
    text = POOL.replace("NAME", of).replace("TYPE", kind).replace("GROUP", group)
    return text.replace("POOL", name)


@pytest.mark.parametrize(
    ("there", "pools", "wrong"),
    [
        (classes("render-gpu"), pool("render"), True),
        (classes("render"), pool("render-gpu"), True),
        (classes("al2023-gpu"), pool("al2023-gpus"), True),
        (classes("render-gpu", "default"), pool("render") + pool("default", "cpu"), True),
        (classes("render-gpu"), pool("render-gpu"), False),
        (classes("default"), pool("render"), False),
        (classes("render-gpu"), pool("render") + pool("render-gpu", "b"), False),
        (classes("render-a", "render-b"), pool("render"), False),
        (classes("render-gpu"), pool("render", kind="m7i.large"), False),
        (classes("render-gpu"), pool("$CLASS"), False),
        (classes("render-gpu", "$CLASS"), pool("render"), False),
        (classes("render-gpu"), pool("render") + pool("$CLASS", "b"), False),
        (
            classes("render-gpu"),
            pool("render").replace("karpenter.k8s.aws", "eks.amazonaws.com"),
            False,
        ),
    ],
)
def test_the_class_of_a_pool_is_there(there: str, pools: str, *, wrong: bool) -> None:
    assert ("GPU1285" in said({"a/classes.yaml": there, "a/pools.yaml": pools})) is wrong


def test_a_class_elsewhere_is_not_the_one_that_was_meant() -> None:
    files = {
        "karpenter/classes/a.yaml": classes("render-gpu"),
        "karpenter/pools/a.yaml": pool("render"),
    }

    assert "GPU1285" not in said(files)
    assert "GPU1285" not in said({"README.md": f"```yaml\n{classes('a-b')}{pool('a')}```\n"})
