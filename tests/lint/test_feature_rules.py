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
      labels: {card-use: learn, pci-10de.present: "fals", rdma.capable: fals}
    - name: year
      labels: {card-year: "@pci.device.year"}
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
        (KEY, "write"),
        (KEY, "re"),
        (KEY, "'{{ .use }}'"),
        ("other.example/use", "write"),
        ("feature.node.kubernetes.io/pci-10de.present", "'false'"),
        ("feature.node.kubernetes.io/card-year", "'2020'"),
        ("feature.node.kubernetes.io/card-size", "large"),
        ("feature.node.kubernetes.io/rdma.capable", "'false'"),
    ],
)
def test_what_a_rule_gives_or_something_else_may(key: str, value: str) -> None:
    """NFD itself, an attribute of a node, or anybody of a name without its prefix."""
    assert not told(key, value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("card-use: learn", "card-use: '{{ .use }}'"),
        ("labels: {card-use: learn", "labels: {'{{ .name }}': learn"),
        ("  rules:\n", "  rules: '{{ .rules }}'\n  others:\n"),
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


def test_nodes_whose_labels_are_not_known() -> None:
    group = (
        'resource "aws_eks_node_group" "a" {\n  cluster_name = "a"\n  labels = var.labels\n'
        '  instance_types = ["g5.xlarge"]\n}\n'
    )
    files = [("rules.yaml", RULES), ("a.tf", group)]
    files += [("pod.yaml", POD.replace("KEY", KEY).replace("VALUE", "reading"))]

    assert "GPU1112" not in [each.code for each in every(files)]


@pytest.mark.parametrize(
    ("wanted", "given", "is_told"),
    [
        ("Read", "read", True),
        ("reed-all", "read-all", True),
        ("read", "write", False),
        ("rea", "reading", True),
        ("trein", "train", True),
        ("re", "read", False),
        ("a100-40", "a100-80", False),
        ("tier1", "tier", False),
    ],
)
def test_only_what_was_meant_is_told(wanted: str, given: str, *, is_told: bool) -> None:
    """Another value may be what something else puts on nodes."""
    rules = RULES.replace("card-use: read", f"card-use: {given}").replace(": learn", f": {given}")
    found = told(KEY, wanted, rules=rules)

    message = (
        f"The Pod ask selects nodes with {KEY}={wanted}, and NFD is told to give them {given}: "
    )
    assert [each for _, each in found] == [f"{message}it gets no node."] * is_told


CUSTOM = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: nfd-worker-conf, namespace: nfd}
data:
  nfd-worker.conf: "sources: {custom: [{name: a, labels: {LABEL: reading}}]}"
"""
INSTALLED = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nfd}
spec:
  source:
    repoURL: https://kubernetes-sigs.github.io/node-feature-discovery/charts
    chart: node-feature-discovery
    targetRevision: 0.17.0
    helm:
      valuesObject:
        worker: {config: {sources: {custom: [{name: x, labels: {LABEL: reading}}]}}}
"""


@pytest.mark.parametrize("text", [CUSTOM, INSTALLED])
def test_workers_of_nfd_have_rules_too(text: str) -> None:
    assert not told(KEY, "reading", text.replace("LABEL", "card-use"))
    assert told(KEY, "reading", text.replace("LABEL", "card-size"))


def test_a_guide_shows_an_example_of_rules() -> None:
    pod = POD.replace("KEY", KEY).replace("VALUE", "reading")
    files = [("README.md", f"```yaml\n{RULES}```\n"), ("pod.yaml", pod)]

    assert "GPU1112" not in [each.code for each in every(files)]


GROUP = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "c"
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::111122223333:role/nodes"
  subnet_ids      = ["subnet-1"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  instance_types  = ["g6.xlarge"]
  scaling_config {
    min_size     = 1
    max_size     = 2
    desired_size = 1
  }
}
"""
WORKERS = """\
worker:
  config:
    sources:
      custom:
      - name: use
        labels: {other.example/use: read}
        matchFeatures:
        - {feature: pci.device, matchExpressions: {vendor: {op: In, value: ["10de"]}}}
"""


def of_nodes(key: str, **others: str) -> bool:
    """Whether a pod is said to select a label that the node group lacks."""
    files = {"main.tf": GROUP, "pod.yaml": POD.replace("KEY", key).replace("VALUE", "read")}
    files |= {name.replace("__", "."): text for name, text in others.items()}
    return "GPU1112" in {each.code for each in every(files.items()) if each.severity != "info"}


TEMPLATED = RULES.replace(", other.example/use: read", "").replace(
    "labels: {feature", "labelsTemplate: other.example/use=read\n      labels: {feature"
)
INSTALLS = "helm install nfd nfd/node-feature-discovery -n nfd -f nfd.yaml\n"
AROUND = "".join(f"  {line}\n" for line in WORKERS.splitlines())


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, True),
        ({"rules__yaml": RULES}, False),
        ({"rules__yaml": RULES.replace("other.example/use", "other.example/used")}, True),
        ({"rules__yaml": TEMPLATED}, False),
        ({"nfd__sh": INSTALLS, "nfd__yaml": WORKERS}, False),
        ({"nfd__sh": INSTALLS, "nfd__yaml": WORKERS.replace("/use", "/used")}, True),
        (
            {
                "nfd__sh": INSTALLS.replace("nfd/node-feature-discovery", "nvidia/gpu-operator"),
                "nfd__yaml": f"driver: {{enabled: false}}\nnode-feature-discovery:\n{AROUND}",
            },
            False,
        ),
    ],
)
def test_a_label_that_a_rule_gives_needs_no_declaration(more: dict[str, str], told: bool) -> None:
    assert of_nodes("other.example/use", **more) is told
