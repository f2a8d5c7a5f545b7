"""Products that flavors and pods select, beside configurations that are called after a model."""

from __future__ import annotations

from typing import Any

import pytest
from linted import found

LABEL = "nvidia.com/gpu.product"


def shares(replicas: int = 4, *, renamed: bool = False) -> str:
    resources = f"[{{name: nvidia.com/gpu, replicas: {replicas}}}]"
    sliced = f"{{renameByDefault: {str(renamed).lower()}, resources: {resources}}}"
    return f"{{version: v1, sharing: {{timeSlicing: {sliced}}}}}"


WHOLE = "{version: v1}"


def release(default: str = "whole", chart: str = "nvidia-device-plugin", **keys: str) -> str:
    listed = {"whole": WHOLE, **{key.replace("_", "-"): text for key, text in keys.items()}}
    given = ", ".join(f"{key}: '{text}'" for key, text in listed.items())
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: plugin, namespace: gpu}}
spec:
  chart: {{spec: {{chart: {chart}}}}}
  values: {{config: {{default: {default}, map: {{{given}}}}}}}
"""


def node(key: str, name: str = "box") -> str:
    label = f"{{nvidia.com/device-plugin.config: {key}}}"
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {label}}}\n---\n"


def flavor(product: str = "NVIDIA-A10", name: str = "small") -> str:
    return f"""\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {{name: {name}}}
spec: {{nodeLabels: {{{LABEL}: {product}}}}}
---
"""


def pod(product: str, asked: str = "nvidia.com/gpu") -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: work}}
spec:
  nodeSelector: {{{LABEL}: {product}}}
  containers: [{{name: a, image: a:1, resources: {{limits: {{{asked}: 1}}}}}}]
---
"""


def said(*files: str, **named: str) -> list[Any]:
    given = [(f"{number}.yaml", text) for number, text in enumerate(files)]
    given += [(name.replace("__", "."), text) for name, text in named.items()]
    told = found(given)
    assert "GPU012" not in {each.code for each in told}
    return [each for each in told if each.code == "GPU1260"]


ANY = "apiVersion: v1\nkind: Node\nmetadata: {name: any, labels: $ALL}\n"
EXPORTER = release().replace("nvidia-device-plugin", "dcgm-exporter")
A10 = release(a10_four=shares())
BY_DEFAULT = release("a10-four", a10_four=shares(), a10_two=shares(2))
OTHER = flavor("NVIDIA-H100", "large")
UNSURE = flavor("Quadro-RTX-6000", "large")


def test_nodes_that_are_called_so_are_shared() -> None:
    (only,) = said(A10, node("a10-four"), flavor())

    assert (only.severity, only.path) == ("warning", f'spec.nodeLabels["{LABEL}"]')
    assert only.message == (
        f"The ResourceFlavor small is for nodes with {LABEL} NVIDIA-A10, and the configuration "
        "a10-four of the release plugin of nvidia-device-plugin, which nodes are given, shares "
        "GPUs under their own name."
    )
    assert only.fix == "Write NVIDIA-A10-SHARED, if these are the nodes that are meant."


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ((A10, node("a10-four"), pod("NVIDIA-A10")), 1),
        ((A10, node("a10-four"), pod("NVIDIA-A10", "nvidia.com/gpu.shared")), 0),
        ((A10, node("a10-four"), flavor("NVIDIA-A10G")), 0),
        ((A10, node("a10-four"), flavor("NVIDIA-A10-SHARED")), 0),
        ((A10, node("a10-four"), flavor() + flavor("NVIDIA-A10-SHARED", "other")), 0),
        ((A10, node("a10-four"), flavor() + pod("NVIDIA-A10-SHARED")), 0),
        ((A10, node("whole"), flavor()), 0),
        ((A10, flavor()), 0),
        ((A10, node("a10-four") + node("$KEY", "more"), flavor()), 0),
        ((A10, node("a10-four") + ANY, flavor()), 0),
        ((release("a10-four", a10_four=shares()), flavor()), 0),
        ((release("a10-four", a10_four=shares()), node("whole"), flavor()), 0),
        ((release("a10-four", a10_four=shares()), node("whole"), flavor(), OTHER), 1),
        ((release("a10-four", a10_four=shares()), node("whole"), flavor(), UNSURE), 0),
        ((release("a10-four", a10_four=shares(), h100=WHOLE), node("h100"), flavor()), 1),
        (
            (release("a10-four", a10_four=shares(), a10_one=WHOLE), node("whole"), flavor(), OTHER),
            0,
        ),
        ((BY_DEFAULT, node("whole") + node("a10-two", "b"), flavor(), OTHER), 1),
        ((BY_DEFAULT, node("whole"), flavor(), OTHER.replace("100", "100-SHARED")), 0),
        ((release("a10-four", a10_four=shares()), node("other"), flavor()), 0),
        ((release("$DEFAULT", a10_four=shares()), node("whole"), flavor()), 0),
        ((release(a10_four=shares(renamed=True)), node("a10-four"), flavor()), 0),
        ((release(a10_four=shares(1)), node("a10-four"), flavor()), 0),
        ((release(a10_four="{version: none}"), node("a10-four"), flavor()), 0),
        ((release(a10_four=shares(), a10_one=WHOLE), node("a10-four"), flavor()), 0),
        ((release(a10_four=shares(), a10_two=shares(2)), node("a10-two"), flavor()), 1),
        ((release(h100=shares()), node("h100"), flavor("NVIDIA-H100-80GB-HBM3")), 1),
        ((release(a100=shares()), node("a100"), flavor("NVIDIA-A100-SXM4-40GB")), 1),
        ((release(four=shares()), node("four"), flavor()), 0),
        ((A10, EXPORTER, node("a10-four"), flavor()), 1),
        ((A10.replace("values: {", "values: $ALL #{"), node("a10-four"), flavor()), 0),
        ((A10.replace(f"'{shares()}'", "$DOCUMENT"), node("a10-four"), flavor()), 0),
        ((A10.replace("config: {", "other: {"), node("a10-four"), flavor()), 0),
        ((release(quadro=shares()), node("quadro"), flavor("Quadro-RTX-6000")), 0),
        ((A10, A10.replace("name: plugin", "name: second"), node("a10-four"), flavor()), 0),
        ((node("a10-four"), flavor()), 0),
        ((A10, node("a10-four"), flavor().replace("ResourceFlavor", "LocalQueue")), 0),
    ],
)
def test_what_is_told(files: tuple[str, ...], count: int) -> None:
    assert len(said(*files)) == count


def test_a_guide_shows_only_how_nodes_are_labelled() -> None:
    guide = f"# Labels\n```yaml\n{node('a10-four')}```\n"

    assert said(A10, flavor(), README__md=guide) == []


def test_of_nodes_that_are_declared_more_is_known() -> None:
    group = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: a, region: us-east-1}
managedNodeGroups: [{name: gpu, instanceType: g5.xlarge}]
"""

    assert said(A10, node("a10-four"), flavor(), group) == []
