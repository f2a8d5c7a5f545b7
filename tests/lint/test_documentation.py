"""Documentation: its commands and YAML."""

from __future__ import annotations

import pytest
from foreign_reading import ids, items, placed, problems, read_text_with

from eks_gpushare.inventory.items import ConfigMap, NodeSet, Release
from eks_gpushare.lint.readers.markdown import MarkdownReader

DOCUMENTATION = MarkdownReader()


def found(text: str) -> list[str]:
    return ids(read_text_with(DOCUMENTATION, text))


def test_what_sentences_say_is_for_people() -> None:
    """However wrong it is: what is meant by words was told wrongly too often."""
    text = "With 4 replicas each pod gets 25% of a p3.2xlarge. The T4 is cut by 1g.5gb."

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
    assert isinstance(nodes, NodeSet)
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
