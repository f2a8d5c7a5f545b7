"""HAMi's device plugin on nodes, MIG devices of two profiles, and layouts in maps of no one."""

from __future__ import annotations

import pytest

from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile


def said(code: str, **files: str) -> list[str]:
    """Messages with a code, of files whose names have `__` for a dot."""
    given = [GivenFile(name.replace("__", "."), text) for name, text in files.items()]
    found = [each for report in lint_files(given) for each in report.findings]
    assert CHECK_FAILED.id not in {each.code for each in found}
    return [each.message for each in found if each.code == code]


def group(more: str = "", kind: str = "g5.xlarge") -> str:
    return f"""\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {{name: c, region: us-west-2, version: "1.33"}}
managedNodeGroups:
  - {{name: gpu, instanceType: {kind}, amiFamily: AmazonLinux2023{more and ", "}{more}}}
"""


def pod(limits: str) -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  containers:
    - {{name: main, image: "own:1.0.0", resources: {{limits: {{{limits}}}}}}}
"""


def flux(chart: str, values: str = "{}", name: str = "it") -> str:
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {name}, namespace: gpu}}
spec: {{chart: {{spec: {{chart: {chart}}}}}, values: {values}}}
"""


HAMI = flux("hami", name="hami")
ON = 'labels: {gpu: "on"}'
OPERATOR = flux("gpu-operator")


@pytest.mark.parametrize(
    ("values", "more", "wrong"),
    [
        ("{}", "", True),
        ("{}", ON, False),
        ("{}", 'labels: {gpu: "off"}', True),
        ("{}", "labels: {gpu: '{{ .a }}'}", False),
        ("{devicePlugin: {nvidiaNodeSelector: {a: b}}}", "labels: {a: b}", False),
        ("{devicePlugin: {nvidianodeSelector: {a: b}}}", "labels: {a: b}", False),
        ("{devicePlugin: {nvidiaNodeSelector: {a: b}}}", ON, False),  # if the chart reads the other
        ("{devicePlugin: {nvidiaNodeSelector: {a: b}}}", "", True),
        ("{devicePlugin: {nvidiaNodeSelector: '{{ .a }}'}}", "", False),
        ("'{{ .a }}'", "", False),
        ("{devicePlugin: '{{ .a }}'}", "", False),
        ("{devicePlugin: {enabled: false}}", "", False),
        ("{resourceName: a.b/vgpu}", "", False),
    ],
)
def test_hamis_plugin_has_nodes(values: str, more: str, wrong: bool) -> None:
    found = said("GPU1102", a__yaml=flux("hami", values, "hami"), b__yaml=group(more))
    told = [each for each in found if "HAMi's device plugin runs on none of them" in each]

    assert bool(told) == wrong


def test_hamis_nodes_are_told_with_the_setting() -> None:
    given = [GivenFile("a.yaml", flux("hami", "{}", "hami")), GivenFile("b.yaml", group())]
    (found,) = [
        each for report in lint_files(given) for each in report.findings if each.code == "GPU1102"
    ]

    assert (found.severity, found.path) == (
        "warning",
        "spec.values.devicePlugin.nvidiaNodeSelector",
    )
    assert found.message == (
        "The release hami of hami is for nodes with gpu=on, and none of the nodes with GPUs has "
        "that label: HAMi's device plugin runs on none of them."
    )
    assert found.fix == (
        "Give the nodes the label, or set `devicePlugin.nvidiaNodeSelector` to one that they have."
    )


def test_nodes_that_somebody_labels_may_be_hamis() -> None:
    files = {"a__yaml": HAMI, "b__yaml": group()}

    assert said("GPU1102", **files, c__sh="kubectl label node a gpu=on\n") == []
    assert said("GPU1102", a__yaml=HAMI) == []
    assert said("GPU1102", **{**files, "a__yaml": flux("hami", name="''")}) == []


def test_hamis_plugin_is_alone_on_its_nodes() -> None:
    both = said("GPU1185", a__yaml=HAMI, b__yaml=group(ON), c__yaml=OPERATOR)

    assert both == [
        (
            "The device plugin of the release it of gpu-operator and that of the release hami of "
            "hami both give out nvidia.com/gpu of the node group gpu."
        )
    ]
    plugin = flux("nvidia-device-plugin", name="own")
    three = said("GPU1185", a__yaml=HAMI, b__yaml=group(ON), c__yaml=OPERATOR, d__yaml=plugin)
    assert len([each for each in three if "that of the release hami" in each]) == 1
    assert said("GPU1185", a__yaml=HAMI, b__yaml=group(), c__yaml=OPERATOR) == []
    off = flux("gpu-operator", "{devicePlugin: {enabled: false}}")
    assert said("GPU1185", a__yaml=HAMI, b__yaml=group(ON), c__yaml=off) == []


@pytest.mark.parametrize(
    ("limits", "wrong"),
    [
        ("nvidia.com/mig-1g.10gb: 1, nvidia.com/mig-1g.20gb: 2", True),
        ("nvidia.com/mig-1g.10gb: 2", False),
        ("nvidia.com/mig-1g.10gb: 1, nvidia.com/mig-1g.20gb: 0", False),
        ("nvidia.com/mig-1g.10gb: 1, cpu: 1", False),
        ("nvidia.com/mig-1g.10gb: 1, nvidia.com/gpu: 1", False),
    ],
)
def test_a_container_has_mig_devices_of_one_profile(limits: str, wrong: bool) -> None:
    assert bool(said("GPU1113", a__yaml=pod(limits))) == wrong


def test_containers_of_a_pod_may_have_other_profiles() -> None:
    two = pod("nvidia.com/mig-1g.10gb: 1") + (
        "    - {name: b, image: 'own:1.0.0', resources: {limits: {nvidia.com/mig-1g.20gb: 1}}}\n"
    )

    assert said("GPU1113", a__yaml=two) == []


def layouts(name: str = "team", at: str = "layouts") -> str:
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {at}, namespace: gpu}}
data:
  config.yaml: |
    version: v1
    mig-configs:
      {name}:
      - devices: all
        mig-enabled: true
        mig-devices: {{"1g.5gb": 7}}
"""


NAMED = "labels: {nvidia.com/mig.config: team}"


def test_a_layout_is_in_the_map_that_mig_manager_reads() -> None:
    files = {"a__yaml": OPERATOR, "b__yaml": group(NAMED, "p4d.24xlarge")}
    of_map = flux("gpu-operator", "{migManager: {config: {name: layouts}}}")

    assert said("GPU1131", **files, c__yaml=layouts()) == [
        (
            "The node group gpu has the label nvidia.com/mig.config=team, a layout of the "
            "ConfigMap layouts, and the release it of gpu-operator names no ConfigMap: MIG manager "
            "reads its own."
        )
    ]
    assert said("GPU1131", **files) == []
    assert said("GPU1131", **files, c__yaml=layouts("other")) == []
    assert said("GPU1131", **{**files, "a__yaml": of_map}, c__yaml=layouts()) == []
    assert said("GPU1131", b__yaml=files["b__yaml"], c__yaml=layouts()) == []
    hidden = flux("gpu-operator", "{migManager: {config: {name: '{{ .a }}'}}}")
    assert said("GPU1131", **{**files, "a__yaml": hidden}, c__yaml=layouts()) == []
