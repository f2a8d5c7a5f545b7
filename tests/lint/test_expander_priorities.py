"""Where Cluster Autoscaler looks for the priorities of its expander."""

from __future__ import annotations

import pytest
from linted import found

PRIORITIES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, SPACE}
data:
  priorities: |-
    20: [".*spare.*"]
    10: [".*"]
"""
RELEASE = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: scaler, namespace: argocd}
spec:
  project: default
  source:
    repoURL: https://kubernetes.github.io/autoscaler
    chart: cluster-autoscaler
    targetRevision: 9.50.1
    helm:
      valuesObject:
        autoDiscovery: {clusterName: own}
        VALUES
  destination: {server: https://kubernetes.default.svc, namespace: scaling}
"""
WRITTEN = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: scaler, namespace: scaling}
spec:
  selector: {matchLabels: {app: scaler}}
  template:
    metadata: {labels: {app: scaler}}
    spec:
      containers:
        - name: scaler
          image: IMAGE
          command: COMMAND
"""
IMAGE = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"
BY_PRIORITY = "extraArgs: {expander: 'priority,least-waste'}"


def priorities(space: str = "namespace: ops", name: str = "") -> str:
    named = name or "cluster-autoscaler-priority-expander"
    return PRIORITIES.replace("NAME", named).replace("SPACE", space)


def release(values: str = BY_PRIORITY) -> str:
    return RELEASE.replace("VALUES", values)


def written(command: str, image: str = IMAGE) -> str:
    return WRITTEN.replace("COMMAND", command).replace("IMAGE", image)


def told(*texts: str, name: str = "file") -> list[str]:
    """Messages of each GPU1292 of files."""
    given = [(f"{name}{number}.yaml", text) for number, text in enumerate(texts)]
    return [each.message for each in found(given) if each.code == "GPU1292"]


def test_priorities_are_in_the_namespace_of_the_release() -> None:
    (message,) = told(priorities(), release())

    assert message == (
        "The ConfigMap cluster-autoscaler-priority-expander is in the namespace ops, and the "
        "release scaler of cluster-autoscaler looks for it in scaling: its priorities are not read."
    )


@pytest.mark.parametrize(
    ("space", "values", "name"),
    [
        ("namespace: scaling", BY_PRIORITY, ""),
        ("namespace: $SPACE", BY_PRIORITY, ""),
        ("labels: {a: b}", BY_PRIORITY, ""),  # wherever it is applied to
        ("namespace: ops", BY_PRIORITY, "priorities-of-somebody"),
        ("namespace: ops", "extraArgs: {expander: least-waste}", ""),
        ("namespace: ops", "extraArgs: {expander: no-priority}", ""),
        ("namespace: ops", "extraArgs: {v: 4}", ""),
        ("namespace: ops", "extraArgs: {expander: $EXPANDER}", ""),
        ("namespace: ops", "extraArgs: {expander: priority, namespace: ops}", ""),
        ("namespace: ops", "extraArgs: {expander: priority, namespace: $SPACE}", ""),
        ("namespace: ops", f"{BY_PRIORITY}\n        cloudProvider: clusterapi", ""),
        ("namespace: ops", f"{BY_PRIORITY}\n        expanderPriorities: {{10: ['.*']}}", ""),
    ],
)
def test_priorities_that_are_read_or_may_be_are_let_be(space: str, values: str, name: str) -> None:
    assert told(priorities(space, name), release(values)) == []


def test_what_the_chart_is_told_of_a_namespace_goes_first() -> None:
    values = "extraArgs: {expander: priority, namespace: elsewhere}\n        cloudProvider: aws"

    (message,) = told(priorities(), release(values))

    assert "looks for it in elsewhere" in message


@pytest.mark.parametrize(
    ("command", "image", "where"),
    [
        ("[./cluster-autoscaler, --expander=priority]", IMAGE, "kube-system"),
        ("[./cluster-autoscaler, --expander=priority]", "own:1", "kube-system"),
        ("['-expander=price,priority', --v=4]", IMAGE, "kube-system"),
        ("[--expander, priority, --namespace, scaling]", IMAGE, "scaling"),
        ("[--namespace=scaling, --expander=priority]", IMAGE, "scaling"),
        ("[--leader-elect-resource-namespace=ops, --expander=priority]", IMAGE, "kube-system"),
        ("[--expander=priority, --namespace=ops]", IMAGE, None),
        ("[--expander=priority, --namespace=$(SPACE)]", IMAGE, None),
        ("[--expander=least-waste]", IMAGE, None),
        ("[--expander=$(EXPANDER)]", IMAGE, None),
        ("[--expander=priority]", "own:1", None),  # no autoscaler as far as is known
    ],
)
def test_an_autoscaler_that_is_written_out_says_where_it_reads(
    command: str, image: str, where: str | None
) -> None:
    messages = told(priorities(), written(command, image))

    assert [f"looks for it in {where}:" in each for each in messages] == [True] * bool(where)


def test_one_reader_of_several_or_one_of_several_maps_is_enough() -> None:
    other = written("[--expander=priority, --namespace=ops]")

    assert told(priorities(), release(), other) == []
    assert told(priorities(), priorities("namespace: scaling"), release()) == []
    assert told(priorities(), release(), written("[--expander=$(EXPANDER)]")) == []
    assert len(told(priorities(), release(), written("[--expander=random]"))) == 1


def test_each_cluster_has_its_own() -> None:
    files = {
        "prod/scaler.yaml": release(),
        "prod/map.yaml": priorities("namespace: scaling"),
        "test/map.yaml": priorities(),
    }

    assert [each.code for each in found(files.items()) if each.code == "GPU1292"] == []


def test_a_guide_shows_one_way_of_many() -> None:
    guide = f"# Scaling\n\n```yaml\n{priorities()}```\n\n```yaml\n{release()}```\n"

    assert [each.code for each in found([("README.md", guide)]) if each.code == "GPU1292"] == []
