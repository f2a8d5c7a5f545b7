"""Labels that NFD gives nodes by rules of one's own, and pods that select by them."""

from __future__ import annotations

import pytest
from linted import every

RULES = """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: cards}
spec:
  rules:
    - name: small
      labels: {feature.node.kubernetes.io/card-use: read, other.example/use: read}
    - name: large
      labels: {card-use: learn, pci-10de.present: "true", card-year: "@pci.device.year"}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: ask}
spec:
  nodeSelector: {KEY: VALUE}
  containers: [{name: a, image: a:1, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
KEY = "feature.node.kubernetes.io/card-use"


def told(key: str, value: str, *others: str, rules: str = RULES) -> list[tuple[str, str]]:
    """Severity and message of what is said of the pod's selector."""
    pod = POD.replace("KEY", key).replace("VALUE", value)
    files = [("rules.yaml", rules), ("pod.yaml", pod)]
    files += [(f"{number}.yaml", text) for number, text in enumerate(others)]
    return [(each.severity, each.message) for each in every(files) if each.code == "GPU1112"]


def test_a_value_that_no_rule_gives() -> None:
    ((severity, message),) = told(KEY, "reading")
    given = "and NFD is told to give them read, learn: it gets no node."
    assert severity == "warning"
    assert message == f"The Pod ask selects nodes with {KEY}=reading, {given}"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (KEY, "learn"),
        (KEY, "'{{ .use }}'"),
        ("other.example/use", "write"),
        ("feature.node.kubernetes.io/pci-10de.present", "'false'"),
        ("feature.node.kubernetes.io/card-year", "'2020'"),
        ("feature.node.kubernetes.io/card-size", "large"),
    ],
)
def test_what_a_rule_gives_or_something_else_may(key: str, value: str) -> None:
    """NFD itself, an attribute of a node, or anybody of a name without its prefix."""
    assert not told(key, value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("card-use: learn", "card-use: '{{ .use }}'"),
        ("name: large", "labelsTemplate: 'a={{ .b }}'"),
        ("nfd.k8s-sigs.io", "example.com"),
    ],
)
def test_rules_of_which_something_is_not_known(old: str, new: str) -> None:
    assert not told(KEY, "reading", rules=RULES.replace(old, new))


def test_nodes_that_have_the_label_by_themselves() -> None:
    group = (
        "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n"
        "metadata: {name: a, region: eu-west-1}\n"
        "managedNodeGroups: [{name: b, instanceType: g5.xlarge, labels: {LABELS}}]\n"
    )

    assert not told(KEY, "reading", group.replace("LABELS", f"{KEY}: reading"))


def test_a_guide_shows_an_example_of_rules() -> None:
    pod = POD.replace("KEY", KEY).replace("VALUE", "reading")
    files = [("README.md", f"```yaml\n{RULES}```\n"), ("pod.yaml", pod)]

    assert "GPU1112" not in [each.code for each in every(files)]
