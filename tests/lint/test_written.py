"""What texts say of nodes in commands that are not followed, so that checks are silent."""

from __future__ import annotations

from typing import Any

import pytest
from linted import found

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import DEFAULT_TAGS, MADE_BY_GCLOUD, WRITTEN_LABEL
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.written import written_in

KEY = "nvidia.com/mig.config"


def values(text: str) -> list[Any]:
    made = written_in("a.sh", text)
    return [at(each.spec, "value") for each in made if each.kind == WRITTEN_LABEL]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"kubectl label $n {KEY}=half --overwrite\n", ["half"]),
        (
            f'kubectl patch node a -p \'{{"metadata": {{"labels": {{"{KEY}": "half"}}}}}}\'',
            ["half"],
        ),
        (f'-p "{{\\"{KEY}\\":\\"half\\"}}"', ["half"]),
        (f"set_label {KEY}=$1\n", ["$1"]),
        ("[{op: add, path: /metadata/labels/nvidia.com~1mig.config, value: half}]", [UNKNOWN]),
        (f"labels:\n  {KEY}: half\n", ["half"]),
        (f"{KEY}.state=success other.{KEY}=half x/{KEY}=half", []),
        (f"kubectl get nodes -l {KEY}=half", []),
        (f'kubectl get nodes --selector="{KEY}=half"', []),
        (f"nodeSelector:\n  a: b\n\n  {KEY}: half\n", []),
        (f"nodeSelector: {{{KEY}: half}}\n", []),
        ("", []),
    ],
)
def test_labels_with_values(text: str, expected: list[Any]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("gcloud container node-pools create gpus --cluster a\n", 1),
        ("gcloud beta container \\\n  clusters create a\n", 1),
        ("gcloud container clusters get-credentials a\n", 0),
    ],
)
def test_nodes_that_gcloud_makes(text: str, count: int) -> None:
    assert [each.kind for each in written_in("a.sh", text)] == [MADE_BY_GCLOUD] * count


@pytest.mark.parametrize(
    ("tags", "known"),
    [
        ('{ tags = { team = "a" } }', True),
        ("{ tags = local.tags }", False),
        ('{ tags = merge(local.tags, { team = "a" }) }', False),
        ('{ tags = { (var.key) = "a" } }', False),
        ('{ tags = { for key in var.keys : key => "a" } }', False),
        ('{ tags = { team = "a"', False),
    ],
)
def test_tags_that_a_provider_gives(tags: str, known: bool) -> None:
    (only,) = written_in("main.tf", f'provider "aws" {{\n  default_tags {tags}\n}}\n')

    assert only.kind == DEFAULT_TAGS
    assert (only.spec is not UNKNOWN) is known


INSTALL = """\
helm install shared nvdp/nvidia-device-plugin --version 0.17.2 -n plugin --set gfd.enabled=true
kubectl taint nodes box nvidia.com/gpu=ours:NoSchedule
"""


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("", 1),
        ("for n in $(kubectl get nodes -o name); do kubectl label $n LABEL=true; done\n", 0),
        ("kubectl get nodes -o name | xargs -I{} kubectl label {} LABEL=true\n", 0),
        ("kubectl get nodes -l LABEL=true\n", 1),
    ],
)
@pytest.mark.parametrize(
    "label", ["nvidia.com/gpu.present", "feature.node.kubernetes.io/cpu-model.vendor_id"]
)
def test_nodes_that_are_labelled_otherwise_need_no_discovery(
    more: str, count: int, label: str
) -> None:
    every = found([("up.sh", INSTALL + more.replace("LABEL", label))])

    assert [each.code for each in every if each.code == "GPU1100"] == ["GPU1100"] * count


LAYOUTS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: cuts, namespace: gpu-operator}
data:
  config.yaml: |
    version: v1
    mig-configs:
      small: [{devices: all, mig-enabled: true, mig-devices: {"1g.10gb": 7}}]
      half: [{devices: all, mig-enabled: true, mig-devices: {"3g.40gb": 2}}]
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: read, namespace: a}
spec:
  containers: [{name: a, image: a:1, resources: {limits: {nvidia.com/mig-3g.40gb: 1}}}]
"""
UP = """\
helm install gpu-operator nvidia/gpu-operator --version v25.3.0 -n gpu-operator \\
  --set mig.strategy=mixed --set migManager.config.name=cuts
kubectl apply -f cuts.yaml -f pod.yaml
kubectl label node a nvidia.com/mig.config=small
"""


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("", 1),
        ("for n in $(list); do kubectl label $n nvidia.com/mig.config=half; done\n", 0),
        ("list | xargs -I{} kubectl label {} nvidia.com/mig.config=half\n", 0),
        (
            'kubectl patch node b -p \'{"labels":{"nvidia.com/mig.config":"half"}}\'\n',
            0,
        ),
        ('put() { kubectl label node b "$@"; }\nput nvidia.com/mig.config=half\n', 0),
        ("ssh head k3s kubectl label node b nvidia.com/mig.config=half\n", 0),
        ("list | xargs -I{} kubectl label {} nvidia.com/mig.config=small\n", 1),
    ],
)
def test_layouts_that_are_given_otherwise_are_given(more: str, count: int) -> None:
    every = found([("up.sh", UP + more), ("cuts.yaml", LAYOUTS), ("pod.yaml", POD)])

    assert [each.code for each in every if each.code == "GPU1110"] == ["GPU1110"] * count


def test_it_stands_at_the_beginning_of_its_file() -> None:
    (made,) = written_in("a.sh", f"kubectl label nodes --all {KEY}=cuts\n")

    assert made.source.file == "a.sh"
    assert made.source.document.position(("spec",)) == Position(1, 1)


def test_a_list_of_tags_without_an_end_is_not_known() -> None:
    (made,) = written_in("main.tf", "default_tags {\n  tags = { a = 1 }\n")

    assert made.spec is UNKNOWN


def test_tags_that_are_written_out_are_known_to_their_end() -> None:
    (made,) = written_in("main.tf", "default_tags {\n  tags = { a = 1 }\n}\nb = 2\n")

    assert made.spec == {"text": "default_tags {\n  tags = { a = 1 }\n}"}
