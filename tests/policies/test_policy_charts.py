from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.reading.delivered import charts_delivered
from gpushare_policies.rules.sharing.several_shares_refused import SEVERAL_SHARES_REFUSED
from gpushare_policies.rules.sharing.time_slicing_replicas import TIME_SLICING_REPLICAS
from gpushare_policies.rules.supply_chain.chart_versions_pinned import CHART_VERSIONS_PINNED
from gpushare_policies.tokens import CHART_V4, CONFIG_MAP, OUR_POOL, RELEASE

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpushare_policies.rule import ResourcePolicy

NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
LATER = UNKNOWN_STRING_VALUE


@pytest.mark.parametrize("token", [RELEASE, CHART_V4])
@pytest.mark.parametrize(
    ("version", "shown"),
    [
        (None, "unset"),
        ("latest", "latest"),
        ("0.20", "0.20"),
        ("0.x", "0.x"),
        ("^0.20.0", "^0.20.0"),
        (">=0.20.0", ">=0.20.0"),
        ("~0.20.0", "~0.20.0"),
        ("0.19.0 || 0.20.0", "0.19.0 || 0.20.0"),
        ("0.20.0\n", "0.20.0\n"),
        ("", ""),
    ],
)
def test_a_chart_without_one_exact_version_is_refused(
    token: str, version: object, shown: str, violations: Callable[..., list[str]]
) -> None:
    props = {"chart": "nvidia-device-plugin", "version": version}

    assert violations(CHART_VERSIONS_PINNED, token, props) == [
        (
            f"The chart nvidia-device-plugin of gpu has the version {shown}. It must be one exact "
            f"version such as 0.20.0, no range, or the next run installs another chart. Set "
            f"`version` to one exact version."
        )
    ]


@pytest.mark.parametrize(("version", "count"), [("v26.7.0", 0), ("v26.7", 1), (">=v26.3", 1)])
def test_the_operator_s_chart_is_judged_like_any_other(
    version: str, count: int, violations: Callable[..., list[str]]
) -> None:
    props = {"chart": "gpu-operator", "version": version, "namespace": "gpu-operator"}

    assert len(violations(CHART_VERSIONS_PINNED, RELEASE, props)) == count


@pytest.mark.parametrize("version", ["0.20.0", "v26.7.0", "1.0.0-rc.1", "1.0.0+build.5"])
def test_an_exact_version_passes(version: str, violations: Callable[..., list[str]]) -> None:
    props = {"chart": "nvidia-device-plugin", "version": version}

    assert violations(CHART_VERSIONS_PINNED, RELEASE, props) == []


@pytest.mark.parametrize(
    "chart",
    [
        "./charts/nvidia-device-plugin",
        "/srv/charts/nvidia-device-plugin",
        "https://charts.example/nvidia-device-plugin-0.20.0.tgz",
        "oci://registry.example/nvidia-device-plugin@sha256:0a1b",
    ],
)
def test_a_chart_that_is_one_set_of_files_needs_no_version(
    chart: str, violations: Callable[..., list[str]]
) -> None:
    assert violations(CHART_VERSIONS_PINNED, RELEASE, {"chart": chart}) == []


@pytest.mark.parametrize(
    ("chart", "count"),
    [
        ("oci://registry.example/nvidia-device-plugin:0.20.0", 0),
        ("oci://registry.example:5000/nvidia/gpu-operator:v26.7.0", 0),
        ("oci://registry.example/nvidia-device-plugin:latest", 1),
        ("oci://registry.example/nvidia-device-plugin:0.20", 1),
        ("oci://registry.example:5000/nvidia-device-plugin", 1),
    ],
)
def test_a_tag_of_a_registry_is_a_version_if_it_is_exact(
    chart: str, count: int, violations: Callable[..., list[str]]
) -> None:
    assert len(violations(CHART_VERSIONS_PINNED, RELEASE, {"chart": chart})) == count


def test_a_chart_registered_without_arguments_is_not_judged(
    violations: Callable[..., list[str]],
) -> None:
    assert violations(CHART_VERSIONS_PINNED, CHART_V4, {}) == []


def _document(replicas: object, mode: str = "timeSlicing") -> str:
    return (
        f"version: v1\nsharing:\n  {mode}:\n    resources:\n"
        f"    - name: nvidia.com/gpu\n      replicas: {replicas}\n"
    )


def _too_many(where: str, resource: str, replicas: int, most: int = 8) -> str:
    lower = "`replicas` in that document"
    instead = "MPS and MIG limit what one pod can take from another."
    if where.startswith("The pool"):
        lower = "`pools.<pool>.sharing.replicas` in the stack file"
        instead = "`mode: mps` and `mig` limit what one pod can take from another."
    return (
        f"{where} cuts {resource} into {replicas} time slices. There must be at most {most}: pods "
        f"share memory and wait for each other, and AWS advises 2 to 8. Lower "
        f"{lower}, or raise `maximumReplicas` of this policy. {instead}"
    )


def test_more_time_slices_than_advised_are_reported(violations: Callable[..., list[str]]) -> None:
    props = {"data": {"dev": _document(10), "prod": _document(8)}}

    assert violations(TIME_SLICING_REPLICAS, CONFIG_MAP, props) == [
        _too_many("The key dev of the ConfigMap gpu", "nvidia.com/gpu", 10)
    ]


@pytest.mark.parametrize(("replicas", "count"), [(4, 0), (5, 1)])
def test_the_most_time_slices_are_configured(
    replicas: int, count: int, violations: Callable[..., list[str]]
) -> None:
    props = {"data": {"gpu": _document(replicas)}}
    found = violations(TIME_SLICING_REPLICAS, CONFIG_MAP, props, config={"maximumReplicas": 4.0})

    assert len(found) == count


@pytest.mark.parametrize(
    "text",
    [
        _document(20, "mps"),
        _document("many"),
        "timeSlicing: {",
        "- timeSlicing",
        "timeSlicing",
        "sharing: {timeSlicing: {resources: [gpu]}}",
        "",
    ],
)
def test_other_documents_are_left_alone(text: str, violations: Callable[..., list[str]]) -> None:
    assert violations(TIME_SLICING_REPLICAS, CONFIG_MAP, {"data": {"key": text}}) == []


@pytest.mark.parametrize("rule", [TIME_SLICING_REPLICAS, SEVERAL_SHARES_REFUSED])
@pytest.mark.parametrize(
    ("token", "props", "what"),
    [
        (CONFIG_MAP, {"data": LATER}, "the documents of the ConfigMap gpu"),
        (CONFIG_MAP, {"data": {"a": LATER}}, "the key a of the ConfigMap gpu"),
        (
            RELEASE,
            {"chart": "gpu-operator", "values": LATER},
            "the documents of the values of gpu",
        ),
        (
            RELEASE,
            {"chart": "gpu-operator", "values": {"config": {"map": {"a": LATER}}}},
            "the key a of the values of gpu",
        ),
        (RELEASE, {"chart": "karpenter", "values": LATER}, ""),
        (RELEASE, {"chart": LATER, "values": LATER}, ""),
        (CONFIG_MAP, {"data": {"a": 5.0}}, ""),
    ],
)
def test_documents_that_are_not_known_yet_are_said(
    rule: ResourcePolicy,
    token: str,
    props: dict[str, Any],
    what: str,
    violations: Callable[..., list[str]],
) -> None:
    if not what:
        assert violations(rule, token, props) == []
        return
    with pytest.raises(UnknownValueError) as said:
        violations(rule, token, props)

    assert said.value.message == f"could not be judged: {what}"


@pytest.mark.parametrize(
    "values",
    [
        {"config": {"map": {"gpu": _document(16)}}},
        {"devicePlugin": {"config": {"data": {"gpu": _document(16)}}}},
    ],
)
def test_documents_in_the_values_of_a_chart_count_too(
    values: dict[str, Any], violations: Callable[..., list[str]]
) -> None:
    assert violations(TIME_SLICING_REPLICAS, RELEASE, {"values": values}) == [
        _too_many("The key gpu of the values of gpu", "nvidia.com/gpu", 16)
    ]


def test_mig_configurations_hold_no_time_slices(violations: Callable[..., list[str]]) -> None:
    text = "version: v1\nmig-configs:\n  all-1g.5gb:\n  - devices: all\n    mig-enabled: true\n"

    assert violations(TIME_SLICING_REPLICAS, CONFIG_MAP, {"data": {"config.yaml": text}}) == []


@pytest.mark.parametrize(
    "sharing",
    [
        {"mode": "timeSlicing", "replicas": 12.0},
        {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 12.0}},
    ],
)
def test_a_bottlerocket_pool_is_judged_itself(
    sharing: dict[str, Any], violations: Callable[..., list[str]]
) -> None:
    props = {"amiFamily": "bottlerocket", "sharing": sharing}

    assert violations(TIME_SLICING_REPLICAS, OUR_POOL, props) == [
        _too_many("The pool gpu", "each GPU or MIG device", 12)
    ]


@pytest.mark.parametrize(
    "props",
    [
        {"amiFamily": "al2023", "sharing": {"mode": "timeSlicing", "replicas": 12.0}},
        {"amiFamily": "bottlerocket", "sharing": {"mode": "mps", "replicas": 12.0}},
        {"amiFamily": "bottlerocket", "sharing": {"mode": "exclusive"}},
        {"amiFamily": "bottlerocket", "sharing": {"mode": "timeSlicing", "replicas": 8.0}},
        {},
    ],
)
def test_other_pools_and_fewer_slices_pass(
    props: dict[str, Any], violations: Callable[..., list[str]]
) -> None:
    assert violations(TIME_SLICING_REPLICAS, OUR_POOL, props) == []


def test_a_pool_with_a_bottlerocket_image_of_ones_own_is_judged_itself(
    violations: Callable[..., list[str]],
) -> None:
    image = {"id": "ami-0123456789abcdef0", "family": "bottlerocket", "driverIncluded": True}
    sharing = {"mode": "timeSlicing", "replicas": 12.0}
    props = {"amiFamily": "custom", "customAmi": image, "sharing": sharing}

    assert violations(TIME_SLICING_REPLICAS, OUR_POOL, props) == [
        _too_many("The pool gpu", "each GPU or MIG device", 12)
    ]


@pytest.mark.parametrize(
    ("strategy", "count"),
    [
        ('device-sharing-strategy = "time-slicing"\n', 1),
        ("", 0),
        ('device-sharing-strategy = "mps"\n', 0),
    ],
)
def test_slices_of_bottlerocket_are_those_of_the_strategy_in_force(
    strategy: str, count: int, violations: Callable[..., list[str]]
) -> None:
    plugin = "settings.kubelet-device-plugins.nvidia"
    settings = f"[{plugin}]\n{strategy}[{plugin}.time-slicing]\nreplicas = 12\n"
    node_class = {"metadata": {"name": "gpu"}, "spec": {"userData": settings}}

    assert len(violations(TIME_SLICING_REPLICAS, NODE_CLASS, node_class)) == count


@pytest.mark.parametrize("text", ["- [", "day: 2026-13-45", "[" * 4000])
def test_values_that_no_yaml_reader_takes_are_not_known(text: str) -> None:
    """A chart of k3s has them as text, and a date of no calendar or a deep list stops a reader."""
    chart = {"spec": {"chart": "nvidia-device-plugin", "valuesContent": text}}
    (release,) = charts_delivered("kubernetes:helm.cattle.io/v1:HelmChart", chart)

    assert release == {"chart": "nvidia-device-plugin", "values": UNKNOWN}
