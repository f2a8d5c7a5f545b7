"""NodePools and the EC2NodeClass that they name, in files given together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.registry import Edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.reading import Reading
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from eks_gpushare.inventory.inventory import Inventory

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %s}
spec:
  userData: "echo x"
  %s
"""


def nodes_of(*texts: str) -> NodeSet:
    seen: list[Inventory] = []

    def look(inventory: Inventory) -> Any:
        seen.append(inventory)
        return iter(())

    reading = Reading()
    for number, text in enumerate(texts):
        reading.add(GivenFile(f"{number}.yaml", text))
    reading.judge([Edge((), look)])
    (found,) = seen[0].of(NodeSet)
    return found


@pytest.mark.parametrize(
    ("spec", "ami"),
    [
        ("amiSelectorTerms: [{alias: al2023@v20260714}]", "al2023@v20260714"),
        ("amiSelectorTerms: [{id: ami-0123456789abcdef0}]", "ami-0123456789abcdef0"),
        ("amiSelectorTerms: [{tags: {team: ml}}]", UNKNOWN),
        ("amiFamily: Bottlerocket", "Bottlerocket"),
        ("amiFamily: Custom", UNKNOWN),
        ("kubelet: {}", UNKNOWN),
        ('amiSelectorTerms: "{{ terms }}"\n  amiFamily: AL2023', UNKNOWN),
        ('amiSelectorTerms: [{alias: "{{ alias }}"}]', UNKNOWN),
        ('amiFamily: "{{ family }}"', UNKNOWN),
        ("amiSelectorTerms: []", UNKNOWN),
    ],
)
def test_a_pool_has_the_image_of_its_class(spec: str, ami: Any) -> None:
    for texts in ((POOL, CLASS % ("gpu", spec)), (CLASS % ("gpu", spec), POOL)):
        found = nodes_of(*texts)
        assert found.ami == ami
        assert found.user_data == "echo x"


def test_another_class_says_nothing() -> None:
    assert nodes_of(POOL, CLASS % ("other", "amiFamily: AL2023")).ami is UNKNOWN
    assert nodes_of(POOL).ami is UNKNOWN
    of_others = CLASS.replace("karpenter.k8s.aws", "example.com") % ("gpu", "amiFamily: AL2023")
    assert nodes_of(POOL, of_others).ami is UNKNOWN
    other_kind = CLASS.replace("EC2NodeClass", "Other") % ("gpu", "amiFamily: AL2023")
    assert nodes_of(POOL, other_kind).ami is UNKNOWN
