"""Versions of images and add-ons: each broken value is one error, and a right one none."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from finding_examples import base, checked, stack_file_text

from eks_gpushare.catalog import eks_versions
from eks_gpushare.catalog.amis import BEFORE_EKS
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.defects import CHECK_FAILED

TODAY = date(2026, 11, 21)


def found(fragment: dict[str, Any], today: date = TODAY) -> list[tuple[str, str]]:
    """Code and path of the errors."""
    report = checked(stack_file_text(merge_values(base(), fragment)), today)
    return [(f.code, f.path) for f in report.findings if f.severity == "error"]


def pool(version: str, cluster: str = "1.35", **keys: Any) -> dict[str, Any]:
    made = {"version": cluster, "supportType": "extended"}
    return {"cluster": made, "pools": {"gpu": {"amiVersion": version, **keys}}}


BOTTLEROCKET = {"amiFamily": "bottlerocket"}
AMI = "pools.gpu.amiVersion"

NO_DAY = (
    *("1.35.8-20261332", "1.35.8-20260230", "1.35.8-20260431", "1.35.8-00000000"),
    *("1.35.8-20261124", "1.35.8-20271114", "1.35.8-99991231"),
    *("1.35.0-20251228", "1.35.2-20240101", "1.35.8-20200930"),
)


@pytest.mark.parametrize("version", NO_DAY)
def test_a_date_on_which_there_was_no_release(version: str) -> None:
    assert found(pool(version)) == [("GPU646", AMI)]
    assert found({"system": {"amiVersion": version}}) == [("GPU646", "system.amiVersion")]


NO_RELEASE = (
    *("", " ", "latest", "1.35", "1.35.8", "20260930", "v20260930", "1.35-20260930"),
    *("v1.35.8-20260930", "1.35.8-2026-09-30", "1.35.8-202609", "1.35.8-20260930 "),
    *("1.35.8_20260930", "1.36.4-20260930", "1.34.11-20260930", "1.65.0-0be31b34"),
    *("ami-0123456789abcdef0", "\u0661.35.8-20260930", "1.35.8-20260930\n"),
)


@pytest.mark.parametrize("version", NO_RELEASE)
def test_what_is_no_release_of_the_clusters_version(version: str) -> None:
    assert found(pool(version)) == [("GPU504", AMI)]


NO_BOTTLEROCKET = (
    *(
        "1.35.8-20260930",
        "1.35.0-20260114",
        "1.65",
        "v1.65.0",
        "1.65.0-0BE31B34",
        "1.65.0-0be31b3",
        "latest",
        "",
    ),
    *("1.65.0-0be31b34 ", "bottlerocket-1.65.0", "1.65.0+0be31b34"),
)


@pytest.mark.parametrize("version", NO_BOTTLEROCKET)
def test_what_is_no_bottlerocket_release(version: str) -> None:
    assert found(pool(version, **BOTTLEROCKET)) == [("GPU504", AMI)]


OLDER = [
    ("1.52.0-0a1b2c3d", "1.35"),
    ("1.40.0", "1.35"),
    ("0.4.1-0a1b2c3d", "1.35"),
    ("1.60.0-0a1b2c3d", "1.36"),
    ("1.46.0-0a1b2c3d", "1.34"),
    ("1.38.0-0a1b2c3d", "1.33"),
    ("1.29.0-0a1b2c3d", "1.32"),
    ("1.21.1-0a1b2c3d", "1.31"),
]


@pytest.mark.parametrize(("version", "cluster"), OLDER)
def test_a_bottlerocket_release_without_an_image_for_the_cluster(
    version: str, cluster: str
) -> None:
    assert found(pool(version, cluster, **BOTTLEROCKET)) == [("GPU647", AMI)]


def bottlerocket(version: str, cluster: str, **keys: Any) -> list[str]:
    """Paths of findings on the release and the cluster's version."""
    fragment = pool(version, cluster, **BOTTLEROCKET, **keys)
    report = checked(stack_file_text(merge_values(base(), fragment)))
    return [f.path for f in report.findings if f.code == "GPU647"]


@pytest.mark.parametrize(
    ("version", "cluster", "paths"),
    [
        ("1.63.9", "1.30", []),
        ("1.64.0", "1.30", [AMI]),
        ("1.65.0", "1.30", [AMI]),
        ("1.52.9", "1.35", [AMI]),
        ("1.53.0", "1.35", []),
        ("0.0.0", "1.40", []),
    ],
)
def test_bottlerocket_has_images_for_a_version_from_one_release_to_another(
    version: str, cluster: str, paths: list[str]
) -> None:
    assert bottlerocket(version, cluster) == paths


CUSTOM = {"id": "ami-0123456789abcdef0", "family": "bottlerocket", "driverIncluded": True}


@pytest.mark.parametrize(
    "keys",
    [
        {"provisioner": "existing", "nodes": None},
        {"amiFamily": "custom", "customAmi": CUSTOM},
        {"amiFamily": "al2023"},
    ],
)
def test_a_release_of_an_image_that_eks_does_not_choose_is_not_held_to_its_versions(
    keys: dict[str, Any],
) -> None:
    fragment = pool("1.40.0", "1.35", **(BOTTLEROCKET | keys))

    assert [code for code, _ in found(fragment) if code == "GPU647"] == []


EFA = {"instanceTypes": ["p4d.24xlarge"], "efa": True, "zones": ["us-west-2a"]}


@pytest.mark.parametrize(
    ("version", "keys", "code"),
    [
        ("1.24.9", {"sharing": {"mode": "timeSlicing", "replicas": 4}}, "GPU250"),
        ("1.25.0", {"sharing": {"mode": "timeSlicing", "replicas": 4}}, "GPU647"),
        ("1.27.9", {**EFA, "sharing": {"mode": "exclusive"}}, "GPU433"),
        ("1.28.0", {**EFA, "sharing": {"mode": "exclusive"}}, "GPU647"),
    ],
)
def test_a_release_too_old_for_two_is_so_once(
    version: str, keys: dict[str, Any], code: str
) -> None:
    report = checked(stack_file_text(merge_values(base(), pool(version, **BOTTLEROCKET, **keys))))

    assert [(f.code, f.path) for f in report.findings if f.path == AMI] == [(code, AMI)]
    [fix] = [f.fix for f in report.findings if f.path == AMI]
    assert fix.startswith("Take 1.53.0 or later")


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ({"sharing": {"mode": "mps", "replicas": 4}}, "GPU250"),  # needs 1.54, and 1.35 has 1.53
        ({"sharing": {"mode": "timeSlicing", "replicas": 4}}, "GPU250"),
        ({}, "GPU647"),
        ({"bottlerocket": {"devicePlugin": "chart"}}, "GPU250"),
    ],
)
def test_what_needs_the_later_release_is_said_alone(keys: dict[str, Any], code: str) -> None:
    assert found(pool("1.20.0-0a1b2c3d", **BOTTLEROCKET, **keys)) == [(code, AMI)]


RIGHT = [
    *(pool(each) for each in ("1.35.8-20260930", "1.35.2-20261114", "1.35.0-20260114")),
    *(pool(each) for each in ("1.35.8-20261121", "1.35.8-20261123", "1.35.3-20260228")),
    pool("1.32.0-20241225", "1.32"),
    pool("1.33.0-20250519", "1.33"),
    pool("1.34.0-20250915", "1.34"),
    pool("1.36.1-20260610", "1.36"),
    pool("1.65.0-0be31b34", **BOTTLEROCKET),
    pool("1.53.0-0a1b2c3d", **BOTTLEROCKET),
    pool("1.66.0", "1.36", **BOTTLEROCKET),
    pool("1.63.0", "1.34", **BOTTLEROCKET),
    {"system": {"amiVersion": "1.35.8-20260930"}},
    {"pools": {"gpu": {"provisioner": "existing", "amiVersion": "1.35.8-20261332", "nodes": None}}},
]


@pytest.mark.parametrize("fragment", RIGHT)
def test_a_release_that_is_there(fragment: dict[str, Any]) -> None:
    assert found(fragment) == []


@pytest.mark.parametrize("minor", [each for each, of in eks_versions().items() if of.released])
def test_images_are_older_than_their_version_by_so_much(minor: str) -> None:
    released = eks_versions()[minor].released
    assert released is not None
    first = released - BEFORE_EKS

    for day, wrong in ((first, False), (first - timedelta(days=1), True)):
        codes = [code for code, _ in found(pool(f"{minor}.0-{day:%Y%m%d}", minor))]
        assert ("GPU646" in codes) is wrong


def test_the_day_is_given_and_not_asked_of_the_clock() -> None:
    assert found(pool("1.35.8-20260930"), date(2026, 9, 28)) == []
    assert found(pool("1.35.8-20260930"), date(2026, 9, 27)) == [("GPU646", AMI)]


def addons(**given: Any) -> dict[str, Any]:
    return {"cluster": {"addons": given}}


def about_addons(fragment: dict[str, Any]) -> list[tuple[str, str, str]]:
    report = checked(stack_file_text(merge_values(base(), fragment)))
    return [
        (f.severity, f.code, f.path)
        for f in report.findings
        if f.severity == "error" or f.path.startswith("cluster.addons")
    ]


NO_VERSION = (
    *("latest", "", " ", "1.22.4", "v1.22.4", "v1.22", "1.22.4-eksbuild.3", "v1.22.4-eksbuild"),
    *("v1.22.4-eksbuild.3 ", "V1.22.4-eksbuild.3", "v1.22.4_eksbuild.3", "v1.22.x-eksbuild.1"),
    *("v1.22.4-eksbuild.latest", ">=v1.22.4-eksbuild.3", "v1.22.4-eksbuild.3\n", "default"),
    "v1.22.\u0664-eksbuild.3",
)


@pytest.mark.parametrize("version", NO_VERSION)
def test_what_is_no_version_of_an_addon(version: str) -> None:
    by_name = {"metrics-server": {"version": version}}

    assert about_addons(addons(versions={"vpc-cni": version})) == [
        ("error", "GPU461", "cluster.addons.versions.vpc-cni")
    ]
    assert about_addons(addons(byName=by_name)) == [
        ("error", "GPU461", "cluster.addons.byName.metrics-server.version")
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("metric-server", "metrics-server"),
        ("metrics-sever", "metrics-server"),
        ("core-dns", "coredns"),
        ("coreDNS", "coredns"),
        ("kubeproxy", "kube-proxy"),
        ("aws-vpc-cni", "vpc-cni"),
        ("aws-ebs-csi", "aws-ebs-csi-driver"),
        ("ebs-csi-driver", "aws-ebs-csi-driver"),
        ("aws-efs-csi-drvier", "aws-efs-csi-driver"),
        ("pod-identity-agent", "eks-pod-identity-agent"),
        ("amazon-cloudwatch-observabilty", "amazon-cloudwatch-observability"),
        ("certmanager", "cert-manager"),
    ],
)
def test_an_addon_that_was_meant(name: str, meant: str) -> None:
    report = checked(stack_file_text(merge_values(base(), addons(byName={name: {}}))))

    assert [(f.code, f.path, f.fix) for f in report.findings if f.severity == "error"] == [
        ("GPU460", f"cluster.addons.byName.{name}", f"Did you mean {meant}?")
    ]


def test_an_addon_that_nobody_here_knows_is_a_warning() -> None:
    given = {"aws-quantum-tunnel": {"version": "v1.0.0-eksbuild.1"}}

    assert about_addons(addons(byName=given)) == [
        ("warning", "GPU460", "cluster.addons.byName.aws-quantum-tunnel")
    ]


@pytest.mark.parametrize("name", ["", "Vpc-cni", "vpc cni", "vpc-cni ", "-vpc", "vpc/cni", "vpc."])
def test_what_is_no_name_of_an_addon(name: str) -> None:
    report = checked(stack_file_text(merge_values(base(), addons(byName={name: {}}))))

    assert [f.code for f in report.findings if f.severity == "error"] == ["GPU326"]


OTHER_PROXIES = ("v1.36.0-eksbuild.25", "v2.0.0-eksbuild.1", "v1.31.10-eksbuild.2")


@pytest.mark.parametrize("version", [*OTHER_PROXIES, "v1.20.4-eksbuild.2"])
def test_kube_proxy_of_another_minor(version: str) -> None:
    assert about_addons(addons(versions={"kube-proxy": version})) == [
        ("error", "GPU462", "cluster.addons.versions.kube-proxy")
    ]


def test_coredns_of_a_later_minor_is_a_warning() -> None:
    given = addons(versions={"coredns": "v1.14.3-eksbuild.23"})

    assert about_addons(given) == [("warning", "GPU462", "cluster.addons.versions.coredns")]
    report = checked(stack_file_text(merge_values(base(), given)))
    [message] = [f.message for f in report.findings if f.code == "GPU462"]
    assert message.endswith("newer than what EKS has for Kubernetes 1.35, 1.13.")


@pytest.mark.parametrize("cluster", ["1", "1.x", "x.35", "1.35.2", "1.35 ", "1.\u0663\u0665"])
def test_what_is_no_version_of_a_cluster_is_not_compared(cluster: str) -> None:
    versions = {"kube-proxy": "v9.9.0-eksbuild.1", "coredns": "v9.9.0-eksbuild.1"}
    fragment = {"cluster": {"version": cluster, "addons": {"versions": versions}}}

    report = checked(stack_file_text(merge_values(base(), fragment)))
    assert {f.code for f in report.findings} & {"GPU462", "GPU601"} == {"GPU601"}
    assert CHECK_FAILED.id not in {f.code for f in report.findings}


def test_a_version_of_a_misspelt_addon_says_what_was_meant() -> None:
    fragment = addons(versions={"vpc-cin": "v1.22.4-eksbuild.3"})
    report = checked(stack_file_text(merge_values(base(), fragment)))

    assert [(f.code, f.fix) for f in report.findings if f.severity == "error"] == [
        ("GPU325", "Did you mean vpc-cni?")
    ]


RIGHT_ADDONS = [
    addons(versions={"vpc-cni": "v1.22.4-eksbuild.3"}),
    *(addons(versions={"kube-proxy": f"v1.{n}.0-eksbuild.1"}) for n in (32, 33, 34, 35)),
    addons(versions={"coredns": "v1.13.2-eksbuild.31", "kube-proxy": "v1.35.3-eksbuild.29"}),
    addons(versions={"coredns": "v1.11.4-eksbuild.2"}),
    addons(ebsCsi=True, versions={"aws-ebs-csi-driver": "v1.66.0-eksbuild.1"}),
    addons(byName={"metrics-server": {"version": "v0.8.0-eksbuild.2"}}),
    addons(byName={"kubecost_kubecost": {"version": "v1.103.3-eksbuild.0"}}),
    addons(byName={"stormforge_optimize-Live": {}}),
    addons(byName={"datadog_operator": {"version": "v0.1.9+rev.2"}}),
    addons(byName={name: {} for name in ("cert-manager", "external-dns", "fluent-bit", "adot")}),
    addons(byName={"aws-fsx-csi-driver": {"values": {"controller": {"replicas": 2}}}}),
]


@pytest.mark.parametrize("fragment", RIGHT_ADDONS)
def test_a_right_addon_has_no_finding(fragment: dict[str, Any]) -> None:
    assert about_addons(fragment) == []
