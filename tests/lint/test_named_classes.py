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
GROUP = "karpenter.k8s.aws"
KIND = "EC2NodeClass"
CLAIM = """\
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: a}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: NAME}
---
"""
MODULE = """\
module "addons" {
  source  = "aws-ia/eks-data-addons/aws"
  version = "1.38.0"

  enable_karpenter_resources = true
  karpenter_resources_helm_config = { gpu = { values = VALUES } }
}
"""


def classes(*names: str) -> str:
    return "".join(CLASS.replace("NAME", each) for each in names)


def pool(of: str, name: str = "gpu", kind: str = "g6.xlarge") -> str:
    text = POOL.replace("NAME", of).replace("TYPE", kind).replace("GROUP", GROUP)
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
        (classes("render-gpu"), pool("render").replace(GROUP, "eks.amazonaws.com"), False),
        (
            classes("render-gpu"),
            pool("render").replace(GROUP, "karpenter.azure.com").replace(KIND, "AKSNodeClass"),
            False,
        ),
        (classes("render-gpu"), pool("render") + CLAIM.replace("NAME", "render-gpu"), False),
        (classes("render-gpu"), pool("render") + CLAIM.replace("NAME", "[a]"), False),
        (classes("render-gpu"), pool("render") + CLAIM.replace("NAME", "render"), True),
        (classes("default-gpu"), pool("default"), False),
        (classes("render-a"), pool("render-b"), False),
        (classes("render-gpu4"), pool("render-gpu5"), False),
        (classes("render-large"), pool("render-larges-gpu"), False),
        (classes("render-large-a"), pool("renders-large-b"), False),
        (classes("rent"), pool("render"), False),
        (classes("render-gpu"), pool("render") + POOL.replace("name: NAME", ""), False),
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


def test_a_kustomization_gives_classes_a_suffix_and_not_what_names_them() -> None:
    files = {
        "a/classes.yaml": classes("render"),
        "a/pools.yaml": pool("render-prod"),
        "a/kustomization.yaml": "nameSuffix: -prod\nresources: [classes.yaml, pools.yaml]\n",
    }

    assert "GPU1285" not in said(files)
    files["a/pools.yaml"] = pool("rendre")
    files["a/classes.yaml"] = classes("rendres")
    assert "GPU1285" in said(files)


def test_pools_that_a_module_makes_of_values_name_classes_too() -> None:
    files = {"a/classes.yaml": classes("render-gpu"), "a/pools.yaml": pool("render")}

    assert "GPU1285" in said(files | {"a/main.tf": MODULE.replace("VALUES", '["name: b"]')})
    for values in ('["name: render-gpu"]', "var.values"):
        assert "GPU1285" not in said(files | {"a/main.tf": MODULE.replace("VALUES", values)})


def test_a_class_of_another_folder_that_is_built_with_the_pool_is_another() -> None:
    files = {
        "a/one/classes.yaml": classes("rendres"),
        "a/two/pools.yaml": pool("rendre"),
        "a/kustomization.yaml": "resources: [one/classes.yaml, two/pools.yaml]\n",
    }

    assert "GPU1285" not in said(files)
    files["a/two/classes.yaml"] = files.pop("a/one/classes.yaml")
    files["a/kustomization.yaml"] = "resources: [two/classes.yaml, two/pools.yaml]\n"
    assert "GPU1285" in said(files)
