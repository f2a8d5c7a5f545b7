"""Where a chart comes from, and its version: a broken value is one finding, a right one none."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import TODAY, base, checked, stack_file_text

from eks_gpushare.catalog.chart_releases import chart_history, parse_version
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

OPERATOR = {"gpuStack": {"manager": "gpuOperator"}}
TIME_SLICING = {"mode": "timeSlicing", "replicas": 4}
MPS = {"mode": "mps", "replicas": 4}
SEVERAL = {**MPS, "failRequestsGreaterThanOne": False}
MIG = {"mode": "mig", "layout": "all-1g.10gb"}


def found(fragment: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Errors, and warnings about charts; how a pool shares has warnings of its own."""
    file = stack_file_of(stack_file_text(merge_values(base(), fragment)), "Pulumi.dev.yaml")
    report = check_stack_file(file, today=TODAY)
    return [
        (f.severity, f.code, f.path)
        for f in report.findings
        if f.severity == "error" or (f.severity == "warning" and f.at[0] == "charts")
    ]


def plugin(**chart: Any) -> dict[str, Any]:
    return {"charts": {"devicePlugin": chart}}


def operator(**chart: Any) -> dict[str, Any]:
    return {**OPERATOR, "charts": {"gpuOperator": chart}}


def shared(sharing: dict[str, Any], fragment: dict[str, Any]) -> dict[str, Any]:
    types = ["p5.48xlarge"] if sharing["mode"] == "mig" else ["g5.xlarge"]
    pool = {"instanceTypes": types, "amiVersion": "1.35.8-20260930", "sharing": sharing}
    return merge_values(fragment, {"pools": {"gpu": pool}})


FLOATING = (
    *("0.20", "0", "0.x", "0.20.x", "*", "latest", "", " ", "^0.20.0", "~0.20.0", ">=0.17"),
    *("0.20.0 ", " 0.20.0", "0.20.0\n", "V0.20.0", "0.20.0-", "0.20.0-.", "0.20.0+", "00.20.0"),
    *("0.20.00", "0.20.0.1", "0.20.0 - 0.21.0", "0.19.0 || 0.20.0", "=0.20.0", "vv0.20.0"),
    *("0.20.0-rc..1", "0.20.0-01", "\u0660.20.0", "stable", "HEAD", "sha256:abc"),
)


@pytest.mark.parametrize("version", FLOATING)
def test_a_version_that_is_not_exact(version: str) -> None:
    place = "charts.devicePlugin.version"

    assert found(plugin(version=version)) == [("error", "GPU702", place)]


OLD = [
    (TIME_SLICING, plugin(version="0.9.0")),
    (TIME_SLICING, plugin(version="v0.11.0")),
    (TIME_SLICING, plugin(version="0.12.0-rc.4")),
    ({"mode": "exclusive"}, plugin(version="0.10.0")),
    (MPS, plugin(version="0.14.5")),
    (MPS, plugin(version="v0.12.3")),
    (MPS, plugin(version="0.9.0")),
    (SEVERAL, plugin(version="0.19.3")),
    (SEVERAL, plugin(version="0.17.0", repository="https://charts.example.com")),
    (MIG, plugin(version="0.11.0")),
    (TIME_SLICING, operator(version="v1.10.1")),
    (MPS, operator(version="v23.9.2")),
    (MPS, operator(version="23.9.2")),
    (SEVERAL, operator(version="v26.3.3")),
    (MIG, operator(version="v22.9.2")),
    (MIG, operator(version="v22.9.2", repository="https://charts.example.com")),
]


@pytest.mark.parametrize(("sharing", "fragment"), OLD)
def test_a_version_that_cannot_do_what_a_pool_asks_for(
    sharing: dict[str, Any], fragment: dict[str, Any]
) -> None:
    place = f"charts.{next(iter(fragment['charts']))}.version"

    assert found(shared(sharing, fragment)) == [("error", "GPU718", place)]


OLD_IMAGES = [
    (MPS, plugin(values={"image": {"tag": "v0.14.5"}}), "charts.devicePlugin.values.image.tag"),
    (
        MPS,
        plugin(values={"image": {"tag": "v0.14.5-ubi8"}}),
        "charts.devicePlugin.values.image.tag",
    ),
    (SEVERAL, plugin(values={"image": {"tag": "v0.19.3"}}), "charts.devicePlugin.values.image.tag"),
    (
        MPS,
        operator(values={"devicePlugin": {"version": "v0.14.1"}}),
        "charts.gpuOperator.values.devicePlugin.version",
    ),
]


@pytest.mark.parametrize(("sharing", "fragment", "place"), OLD_IMAGES)
def test_an_image_that_cannot_do_what_a_pool_asks_for(
    sharing: dict[str, Any], fragment: dict[str, Any], place: str
) -> None:
    assert found(shared(sharing, fragment)) == [("error", "GPU718", place)]


UNPUBLISHED = [
    *(plugin(version=each) for each in ("0.17.9", "v0.19.4", "0.20.0-rc.1", "0.13.1", "0.16.3")),
    *(operator(version=each) for each in ("v24.3.1", "25.1.0", "v26.7.0-beta", "v24.12.0")),
]


@pytest.mark.parametrize("fragment", UNPUBLISHED)
def test_a_version_that_the_publisher_never_had(fragment: dict[str, Any]) -> None:
    place = f"charts.{next(iter(fragment['charts']))}.version"

    assert found(fragment) == [("error", "GPU719", place)]


def next_patch(chart: str) -> str:
    """A version right after the newest that is known of a chart."""
    history = chart_history(chart)
    assert history is not None
    first, _, patch = history.newest.rpartition(".")
    return f"{first}.{int(patch) + 1}"


@pytest.mark.parametrize(
    "fragment",
    [
        plugin(version=next_patch("nvidia-device-plugin")),
        plugin(version="v0.21.0-rc.1"),
        operator(version="v27.1.0"),
    ],
)
def test_a_newer_version_is_a_warning(fragment: dict[str, Any]) -> None:
    place = f"charts.{next(iter(fragment['charts']))}.version"

    assert found(fragment) == [("warning", "GPU720", place)]


NO_REPOSITORY = (
    *("", " ", "nvidia.github.io/k8s-device-plugin", "nvidia", "nvdp/nvidia-device-plugin"),
    *("./charts", "../charts", "/srv/charts", "~/charts", "file:///srv/charts", "file:charts"),
    *("C:\\charts", "https://", "https:///charts", "https//charts.example.com", "https:charts"),
    *("ftp://charts.example.com", "s3://bucket/charts", "git+https://example.com/x", "HTTPS://a.b"),
    *("OCI://registry.example.com/nvidia-device-plugin", "ssh://host/x"),
    *("https://charts.example.com ", " https://charts.example.com", "https://charts.example .com"),
    *("https://charts.example.com\n", "https://charts..example.com", "https://-charts.example.com"),
    *("https://charts.example.com:port", "https://charts.example.com:99999"),
    *("https://charts.example.com/index.yaml", "https://charts.example.com/x-0.20.0.tgz"),
    *("https://github.com/NVIDIA/k8s-device-plugin", "https://charts.example.com/#charts"),
    *("https://github.com/NVIDIA/k8s-device-plugin.git", "git@github.com:NVIDIA/gpu-operator"),
    *("https://github.com/NVIDIA/k8s-device-plugin/tree/main/deployments/helm",),
    *("oci://", "oci://registry.example.com", "oci://registry.example.com/"),
    *("oci://registry.example.com/nvidia-device-plugin:0.20.0",),
    *("oci://registry.example.com/Charts/nvidia-device-plugin",),
    *("oci://registry.example.com/charts/nvidia-device-plugin/",),
    *("oci://registry.example.com/nvidia-device-plugin@sha256:abc",),
    *("oci://registry.example.com/nvidia-device-plugin?x=1",),
)


@pytest.mark.parametrize("address", NO_REPOSITORY)
def test_an_address_that_is_of_no_repository(address: str) -> None:
    place = "charts.devicePlugin.repository"

    assert found(plugin(repository=address)) == [("error", "GPU721", place)]


@pytest.mark.parametrize(
    "address",
    [
        "https://robot:hunter2@charts.example.com",
        "https://hunter2@charts.example.com/nvidia",
        "https://:hunter2@charts.example.com",
        "oci://robot:hunter2@registry.example.com/nvidia-device-plugin",
        "http://robot:hunter2@charts.example.com",
    ],
)
def test_a_password_in_an_address_is_not_repeated(address: str) -> None:
    text = stack_file_text(merge_values(base(), plugin(repository=address)))
    report = checked(text)

    assert [(f.code, f.path) for f in report.findings if f.severity == "error"] == [
        ("GPU722", "charts.devicePlugin.repository")
    ]
    assert "hunter2" not in str(report.findings)


WARNED = [
    (plugin(repository="http://charts.example.com"), "GPU723", "repository"),
    (plugin(repository="http://10.0.0.7:8080/nvidia"), "GPU723", "repository"),
    (plugin(repository="oci://registry.example.com/charts"), "GPU724", "repository"),
    (plugin(repository="oci://registry.example.com:5000/gpu-operator"), "GPU724", "repository"),
    (plugin(path="/srv/charts/nvidia-device-plugin"), "GPU726", "path"),
    (plugin(path="~/charts/nvidia-device-plugin"), "GPU726", "path"),
    (plugin(path="../charts/nvidia-device-plugin"), "GPU726", "path"),
    (plugin(path="charts/../../nvidia-device-plugin"), "GPU726", "path"),
    (plugin(path="C:\\charts\\nvidia-device-plugin"), "GPU726", "path"),
    (plugin(path="charts/nvidia-device-plugin", version="0.20.0"), "GPU704", "version"),
]


@pytest.mark.parametrize(("fragment", "code", "key"), WARNED)
def test_a_source_that_works_on_some_machines_only(
    fragment: dict[str, Any], code: str, key: str
) -> None:
    assert found(fragment) == [("warning", code, f"charts.devicePlugin.{key}")]


@pytest.mark.parametrize(
    ("key", "folder"),
    [
        ("devicePlugin", "nvidia-device-plugin"),
        ("keda", "keda"),
        ("clusterAutoscaler", "cluster-autoscaler"),
    ],
)
def test_a_chart_elsewhere_is_told_a_folder_of_its_own_name(key: str, folder: str) -> None:
    fragment = {"charts": {key: {"path": "/srv/chart"}}}
    report = checked(stack_file_text(merge_values(base(), fragment)))

    assert [each.fix for each in report.findings if each.code == "GPU726"] == [
        f"Put the chart into the project's folder, and write path: charts/{folder}."
    ]


NO_PATH = (
    *("", " ", "\n", "$HOME/charts", "${HOME}/charts"),
    *("%USERPROFILE%/charts", "https://charts.example.com", "oci://registry.example.com/x"),
    *("file:charts/x", " charts/nvidia-device-plugin", "charts/nvidia-device-plugin "),
    *("charts/nvidia-device-plugin\n", "charts/nvidia-device-plugin/values.yaml"),
)


@pytest.mark.parametrize("path", NO_PATH)
def test_a_path_that_is_none(path: str) -> None:
    assert found(plugin(path=path)) == [("error", "GPU725", "charts.devicePlugin.path")]


RIGHT = [
    *(plugin(version=each) for each in ("0.20.0", "v0.20.0", "0.17.1", "0.12.0", "0.16.0-rc.1")),
    *(operator(version=each) for each in ("v26.7.0", "26.7.0", "v25.10.1", "v24.9.2")),
    plugin(version="0.20.0+mirror.1", repository="https://charts.example.com"),
    plugin(version="0.17.9", repository="https://charts.example.com"),
    plugin(version="0.19.0-company.3", repository="https://charts.example.com/nvidia"),
    plugin(repository="https://nvidia.github.io/k8s-device-plugin", version="0.19.0"),
    plugin(repository="https://charts.example.com:8443/a/b/"),
    plugin(repository="https://charts.example.com/nvidia?channel=stable"),
    plugin(repository="https://raw.githubusercontent.com/example/charts/gh-pages"),
    plugin(repository="https://artifacts.example.com/artifactory/api/helm/helm-remote"),
    plugin(repository="https://[2001:db8::1]:8443/charts"),
    plugin(repository="https://user-guide.example.com/@team/charts"),
    plugin(repository="oci://registry.example.com:5000/a/nvidia-device-plugin"),
    plugin(repository=f"oci://registry.example.com/nvidia-device-plugin@sha256:{'a' * 64}"),
    operator(repository="oci://111122223333.dkr.ecr.us-west-2.amazonaws.com/gpu-operator"),
    *(plugin(path=each) for each in ("charts/x", "./charts/x", "charts/x-0.20.0.tgz", "a..b/c")),
    {
        "charts": {"devicePlugin": {"version": "0.20.0"}, "karpenter": {"version": "1.14.0"}},
        "karpenter": {},
    },
]


@pytest.mark.parametrize("fragment", RIGHT)
def test_a_right_source_has_no_finding(fragment: dict[str, Any]) -> None:
    assert found(shared(TIME_SLICING, fragment)) == []


@pytest.mark.parametrize(
    ("sharing", "fragment"),
    [
        (MPS, plugin(version="0.15.0-rc.1")),
        (MPS, plugin(version="0.19.3")),
        (SEVERAL, plugin(version="0.20.0")),
        (MIG, plugin(version="0.12.0-rc.5")),
        (MPS, operator(version="v24.3.0")),
        (MIG, operator(version="v23.3.0")),
        (SEVERAL, operator(version="v26.7.0")),
        (MPS, plugin(values={"image": {"tag": "v0.15.0-ubi8"}})),
        (MPS, plugin(path="charts/nvidia-device-plugin")),
    ],
)
def test_the_first_version_that_can(sharing: dict[str, Any], fragment: dict[str, Any]) -> None:
    assert found(shared(sharing, fragment)) == []


@pytest.mark.parametrize("chart", ["nvidia-device-plugin", "gpu-operator"])
def test_releases_stand_in_their_order(chart: str) -> None:
    history = chart_history(chart)
    assert history is not None
    parsed = [parse_version(each) for each in history.releases]

    assert None not in parsed
    assert parsed == sorted(each for each in parsed if each is not None)
    assert set(history.since.values()) <= set(history.releases)


def test_versions_compare_as_semver_has_it() -> None:
    # The example of https://semver.org, section 11.
    ordered = "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11"
    versions = [*ordered.split(), "1.0.0-rc.1", "1.0.0"]
    parsed = [parse_version(each) for each in versions]

    assert parsed == sorted(each for each in parsed if each is not None)
