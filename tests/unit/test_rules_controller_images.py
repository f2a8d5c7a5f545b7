"""Images of Karpenter's and KEDA's charts, where somebody has a mirror."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.catalog import versions
from eks_gpushare.config.base import TakesOutput
from eks_gpushare.documents.helm import merge_values

MIRROR = "registry.example.com"
DIGEST = f"sha256:{'0' * 64}"
LATER = TakesOutput().checked_as
IMAGES = ["GPU728", "GPU729", "GPU730"]


def of_karpenter(**values: Any) -> dict[str, Any]:
    pool = {"provisioner": "karpenter", "nodes": {"max": 3}}
    return {"pools": {"gpu": pool}, "charts": {"karpenter": {"values": values}}}


def controller(**image: Any) -> dict[str, Any]:
    return of_karpenter(controller={"image": image})


def of_keda(**values: Any) -> dict[str, Any]:
    keda = {"prometheus": {"url": "http://prometheus.monitoring.svc:9090"}}
    return {"keda": keda, "charts": {"keda": {"values": values}}}


def operator(**image: Any) -> dict[str, Any]:
    return of_keda(image={"keda": image})


@pytest.mark.parametrize(
    "given",
    [
        of_karpenter(),
        controller(repository=f"{MIRROR}/karpenter/controller"),
        controller(repository=f"{MIRROR}:5000/controller", tag="1.14.1", digest=DIGEST),
        controller(repository="controller", tag="", digest=""),
        controller(tag=LATER, repository=LATER, digest=LATER),
        controller(),
        of_karpenter(controller={"image": None}),
        of_karpenter(imagePullSecrets=[{"name": "mirror"}]),
        of_keda(),
        operator(registry=MIRROR),
        operator(registry=f"{MIRROR}:5000/proxy", repository="kedacore/keda", tag="2.20.2"),
        operator(registry="", repository=f"{MIRROR}/kedacore/keda"),
        operator(registry=None, repository=f"{MIRROR}/kedacore/keda"),
        operator(registry="harbor.example.com", repository="ghcr.io/kedacore/keda"),
        operator(repository="my-fork/keda"),
        operator(registry=LATER, repository=LATER),
        of_keda(
            **{"global": {"image": {"registry": MIRROR}}},
            image={"webhooks": {"repository": "ghcr.io/kedacore/keda-admission-webhooks"}},
        ),
        of_keda(image={"pullPolicy": "IfNotPresent"}, imagePullSecrets=[{"name": "mirror"}]),
    ],
)
def test_images_that_can_be_pulled(given: dict[str, Any]) -> None:
    assert [findings(given, code) for code in IMAGES] == [[], [], []]


@pytest.mark.parametrize(
    ("given", "code", "at", "message"),
    [
        (
            controller(repository=f"{MIRROR}/karpenter:1.14.1"),
            "GPU728",
            "charts.karpenter.values.controller.image.repository",
            f'"{MIRROR}/karpenter:1.14.1" is not a repository: it has a tag in it.',
        ),
        (
            controller(tag=DIGEST),
            "GPU728",
            "charts.karpenter.values.controller.image.tag",
            f'"{DIGEST}" is not a tag: the chart writes a colon before it, and not an @.',
        ),
        (
            controller(digest="723130949e4c"),
            "GPU728",
            "charts.karpenter.values.controller.image.digest",
            '"723130949e4c" is not a digest: a digest is sha256: and 64 hexadecimal digits.',
        ),
        (
            controller(tag="latest"),
            "GPU729",
            "charts.karpenter.values.controller.image.tag",
            '"latest" is another image tomorrow.',
        ),
        (
            of_karpenter(imagePullSecrets=["mirror"]),
            "GPU730",
            "charts.karpenter.values.imagePullSecrets[0]",
            "This chart takes items with a name.",
        ),
        (
            operator(registry=f"https://{MIRROR}"),
            "GPU728",
            "charts.keda.values.image.keda.registry",
            (
                f'"https://{MIRROR}" is not a registry: it is an address, and images are named '
                "without https://."
            ),
        ),
        (
            operator(registry=f"{MIRROR}/"),
            "GPU728",
            "charts.keda.values.image.keda.registry",
            (
                f'"{MIRROR}/" is not a registry: "/image" is not letters, digits and . _ - '
                "between them."
            ),
        ),
        (
            of_keda(**{"global": {"image": {"registry": "Mirror"}}}),
            "GPU728",
            "charts.keda.values.global.image.registry",
            '"Mirror" is not a registry: "Mirror/image" has capital letters.',
        ),
        (
            of_keda(image={"metricsApiServer": {"repository": "kedacore/Keda"}}),
            "GPU728",
            "charts.keda.values.image.metricsApiServer.repository",
            '"kedacore/Keda" is not a repository: "kedacore/Keda" has capital letters.',
        ),
        (
            operator(repository=f"{MIRROR}/kedacore/keda"),
            "GPU728",
            "charts.keda.values.image.keda.repository",
            f'"{MIRROR}/kedacore/keda" is not a repository: the chart writes ghcr.io/ before it.',
        ),
        (
            of_keda(image={"webhooks": {"tag": "main"}}),
            "GPU729",
            "charts.keda.values.image.webhooks.tag",
            '"main" is another image tomorrow.',
        ),
        (
            of_keda(imagePullSecrets=[{"name": "My_Secret"}]),
            "GPU730",
            "charts.keda.values.imagePullSecrets[0]",
            '"My_Secret" is not the name of a Secret.',
        ),
    ],
)
def test_one_thing_wrong(given: dict[str, Any], code: str, at: str, message: str) -> None:
    assert findings(given, code) == [(at, message)]


def test_the_fix_takes_the_registry_out_of_the_repository() -> None:
    given = operator(repository=f"{MIRROR}:5000/proxy/keda")
    report = checked(stack_file_text(merge_values(base(), given)))

    assert [each.fix for each in report.findings if each.code == "GPU728"] == [
        f"Write registry: {MIRROR}:5000 and repository: proxy/keda."
    ]


def test_an_image_is_shown_one_like_it_of_the_version_that_is_installed() -> None:
    report = checked(stack_file_text(merge_values(base(), operator(tag="v 2"))))

    (found,) = (each for each in report.findings if each.code == "GPU728")
    assert found.fix == f"Write a tag, such as {versions.KEDA.version}."
