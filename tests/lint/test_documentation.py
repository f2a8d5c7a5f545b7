"""Documentation: its commands and YAML, and what its sentences claim."""

from __future__ import annotations

import pytest
from foreign_reading import ids, items, placed, problems, read_text_with

from eks_gpushare.inventory.items import ConfigMap, Nodes, Release
from eks_gpushare.lint.readers.markdown import MarkdownReader

DOCUMENTATION = MarkdownReader()


def found(text: str) -> list[str]:
    return ids(read_text_with(DOCUMENTATION, text))


WRONG: list[tuple[str, str]] = [
    # Shares of time slicing.
    ("GPU1065", "With 10 virtual GPUs per GPU a pod asks for one, equating to 10 percent of it."),
    ("GPU1065", "Time slicing with `replicas: 4` gives each pod 25% of the GPU."),
    ("GPU1065", "- Value of 2: a GPU appears as 2 virtual GPUs (50% allocation per workload)"),
    ("GPU1065", "Set replicas to five, so that every pod owns 20 % of the card."),
    ("GPU1065", "A node has ten time-slicing replicas.\nEvery pod gets 10% of it, and never more."),
    ("GPU1065", "Time-slicing makes 10 virtual GPUs of one. A vGPU equals 10 percent of the GPU."),
    ("GPU1065", "Each replica of time-slicing is a quarter of the GPU."),
    ("GPU1065", "With time-slicing and 8 replicas, a pod gets 1/8 of the GPU."),
    ("GPU1065", "With replicas: 4 each pod gets 6 GB of GPU memory on an A10G."),
    ("GPU1065", "Time-slicing provides strict memory isolation between the pods."),
    ("GPU1065", "Configure time slicing.\n\n| replicas | share |\n|---|---|\n| 8 | 12.5% |"),
    ("GPU1065", "```yaml\nreplicas: 4  # time-slicing: 25% of the GPU for each\n```"),
    # Profiles of other boards.
    ("GPU1066", "Set the profile 1g.5gb for A100/H100 GPUs."),
    ("GPU1066", "On an H100, pick 3g.20gb."),
    ("GPU1066", "The T4 is cut by 1g.5gb."),
    ("GPU1066", "On a p4d.24xlarge you get 4g.40gb slices."),
    ("GPU1066", "We run p4d.24xlarge nodes.\n\nall-balanced makes 2g.20gb and 3g.40gb devices."),
    # Names of strategies.
    ("GPU1067", "## The single strategy\n\n```\n  nvidia.com/mig-1g.5gb: 56\n```\n"),
    ("GPU1067", "With mig.strategy=single, pods request nvidia.com/mig-1g.5gb."),
    # Counts.
    ("GPU1068", "You can have 24 pods with 10GB, 16 with 20GB, or 8 with 20GB MIG slices."),
    ("GPU1068", "A p4d.24xlarge can be cut into 64 1g.5gb devices."),
    # Types.
    ("GPU1069", "For training, use p3.2xlarge instances."),
    ("GPU1069", "Create a node group of P3.16xlarge."),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text"), WRONG)
def test_a_claim_that_is_wrong(code: str, text: str) -> None:
    assert found(text) == [code]


@pytest.mark.parametrize(
    "text",
    [
        # Shares.
        "A replica of time slicing is not 10% of a GPU: with 10 replicas, each can use all of it.",
        "With 4 replicas, pods take turns; none is guaranteed 25% of the GPU.",
        "With MPS and replicas: 4, each pod gets 25% of the memory.",
        "A 1g.5gb MIG device has a seventh of the compute.",
        "With time slicing, GPU utilization went from 20% to 80% with 5 replicas.",
        "Time slicing with 4 replicas cut cost by 75%, and 25 % is left.",
        "We saw 10% overhead with 10 replicas of time slicing.",
        "Set idleThreshold to 20% and run 5 replicas.",
        "A Deployment with 4 replicas, rolled out by 25% at a time.",
        "Time slicing provides no memory isolation.",
        "Unlike MIG, time slicing does not isolate memory.",
        "Half of the pods are waiting; replicas is 2.",
        "Each replica has up to 16 GB of GPU memory: all of it.",
        # Profiles.
        "The profile 1g.5gb is for the A100 of 40 GB.",
        "On H100, 1g.10gb; on A100 of 40 GB, 1g.5gb.",
        "1g.5gb does not exist on the H100.",
        "A p4d.24xlarge takes 1g.5gb, 2g.10gb and 3g.20gb.",
        "p4d.24xlarge has 3g.20gb, p4de.24xlarge 3g.40gb.",
        # Strategies.
        "## The single strategy\n\n`nvidia.com/gpu: 56`\n## Mixed\n\n`nvidia.com/mig-1g.5gb`",
        "With the single strategy there is no nvidia.com/mig-1g.5gb.",
        "## Single and mixed strategy\n\nnvidia.com/mig-1g.5gb\n",
        # Counts.
        "You can have 24 pods with 10GB, 16 with 20GB, or 8 with 40GB slices.",
        "A p4d.24xlarge has 56 1g.5gb devices, or 24 of 2g.10gb.",
        "Scale to 100 replicas: 56 run, as a p4d.24xlarge has 56 1g.5gb devices.",
        # Types.
        "Use g4dn.xlarge or p3dn.24xlarge.",
        "See https://example.com/p4d and version 1.2.3.",
    ],
)  # fmt: skip
def test_what_is_right_or_unclear_passes(text: str) -> None:
    assert found(text) == []


MIXED = """
# Sharing

First label the node:

```bash
$ kubectl label node <node> team=ml
node/ip-10-0-0-1 labeled
```

1. Then make the map:

   ```yaml
   apiVersion: v1
   kind: ConfigMap
   metadata: {name: shares, namespace: <your namespace>}
   data: {any: "version: v1"}
   ```

helm upgrade -i nvdp nvdp/nvidia-device-plugin \\
  --namespace kube-system \\
  --set config.name=shares

And this is the pool, without a fence:

apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: gpu

It is what we use.
"""


def test_commands_and_yaml_are_read_in_their_place() -> None:
    reads = read_text_with(DOCUMENTATION, MIXED)

    by_kind = {type(each): each for each in items(reads)}
    release, config_map = by_kind[Release], by_kind[ConfigMap]
    assert isinstance(release, Release)
    assert isinstance(config_map, ConfigMap)
    assert release.values == {"config": {"name": "shares"}}
    assert config_map.name == "shares"
    assert config_map.source.document.position(("metadata",)) == (15, 4)
    label, pool = problems(reads)
    assert (label.rule.id, placed(label)) == ("GPU1062", (6, 29))
    assert (pool.rule.id, placed(pool)) == ("GPU1050", (25, 1))


def test_of_several_ways_to_install_a_chart_the_last_counts() -> None:
    text = """
    ```
    helm install gpu-operator nvidia/gpu-operator
    ```
    or, with values:
    ```
    helm install gpuo nvidia/gpu-operator --set mig.strategy=single
    ```
    """

    (release,) = items(read_text_with(DOCUMENTATION, text))
    assert isinstance(release, Release)
    assert release.name == "gpuo"


def test_a_plan_that_lost_its_indentation() -> None:
    reads = read_text_with(
        DOCUMENTATION,
        """
        x-internal-integrations:
        multiTenantGpu:
        instanceType: g5.xlarge # the type
        timeSlicingReplicas: 2
        migProfile: 1g.10gb
        """,
    )

    (nodes,) = items(reads)
    assert isinstance(nodes, Nodes)
    (problem,) = problems(reads)
    assert (problem.rule.id, placed(problem)) == ("GPU1074", (5, 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```yaml\napiVersion: v1\nkind: Pod\n  name: a\n```", ["GPU1064"]),
        ("```yaml\napiVersion: v1\nkind: Pod\n  ...\n  name: a\n```", []),
        ("```yaml\nsome: {{ template }}\n```", []),
        ("```python\nkind: a: b\n```", []),
        ("```text\nNAME  READY\n```", []),
    ],
)
def test_yaml_that_cannot_be_read(text: str, expected: list[str]) -> None:
    assert found(text) == expected
