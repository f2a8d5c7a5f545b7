"""Rules about what looks at the cluster, on both sides of each."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

IMAGE = "registry.example.com/eks-gpushare-verify:0.1.0"
GATEWAY = "http://pushgateway.monitoring.svc:9091"


def stack(**verifier: Any) -> dict[str, Any]:
    pool = {"instanceTypes": ["g6.2xlarge"], "sharing": {"mode": "exclusive"}}
    return {"pools": {"gpu": pool}, "verifier": {"image": IMAGE, **verifier}}


def told(code: str = "GPU860", **verifier: Any) -> list[tuple[str, str]]:
    return [(path, message) for path, message in findings(stack(**verifier), code)]


@pytest.mark.parametrize("seconds", [15, 299, 300, 360, 600, 720, 900, 1200, 1800, 3600])
def test_times_that_it_keeps(seconds: int) -> None:
    assert told(intervalSeconds=seconds) == []


@pytest.mark.parametrize("seconds", [301, 330, 420, 450, 2400, 3540])
def test_times_that_no_cron_job_keeps(seconds: int) -> None:
    message = f"{seconds} seconds are no part of an hour in whole minutes."

    assert told(intervalSeconds=seconds) == [("verifier.intervalSeconds", message)]


def test_metrics_are_pushed_by_a_cron_job_and_served_by_a_deployment() -> None:
    message = "Every 299 seconds a Deployment looks, whose metrics are served and not pushed."

    assert told(pushgateway=GATEWAY) == []
    assert told(pushgateway=GATEWAY, intervalSeconds=299) == [("verifier.pushgateway", message)]


@pytest.mark.parametrize(
    "address",
    [
        "gateway:9091",
        "http://u:p@gateway",
        "http://gateway?a",
        "http://gateway:0",
        "http://a b",
        "",
    ],
)
def test_addresses_to_which_nothing_can_be_pushed(address: str) -> None:
    message = f'"{address}" is not the address of a Pushgateway, without a name or password in it.'

    assert told(pushgateway=address) == [("verifier.pushgateway", message)]


@pytest.mark.parametrize(
    ("code", "image"),
    [
        ("GPU275", "registry.example.com/verify"),
        ("GPU275", "registry.example.com/verify:latest"),
        ("GPU728", "Registry.example.com/Verify:1.0"),
    ],
)
def test_images_that_are_none_or_move(code: str, image: str) -> None:
    assert [path for path, _ in told(code, image=image)] == ["verifier.image"]
    assert told(code) == []


@pytest.mark.parametrize("namespace", ["kube-system", "default", "A_"])
def test_namespaces_that_are_not_its_own(namespace: str) -> None:
    assert [path for path, _ in told(namespace=namespace)] == ["verifier.namespace"]


@pytest.mark.parametrize("name", ["", "a.b", "Prod", "-a", "a" * 41])
def test_names_that_make_no_namespace(name: str) -> None:
    assert [path for path, _ in told(name=name)] == ["verifier.name"]


def test_a_name_may_be_as_long_as_leaves_a_namespace() -> None:
    assert told(name="a" * 40) == []
    assert told("GPU735", name="a" * 40) == []


def test_a_namespace_that_is_given_is_judged_whatever_the_name() -> None:
    assert [path for path, _ in told(name="prod", namespace="default")] == ["verifier.namespace"]


@pytest.mark.parametrize(
    ("memory", "what"),
    [
        ("lots", "is no amount of memory"),
        ("512", "is less than 128Mi"),
        ("127Mi", "is less than 128Mi"),
    ],
)
def test_amounts_of_memory_that_are_none_or_too_small(memory: str, what: str) -> None:
    assert told(memory=memory) == [("verifier.memory", f'"{memory}" {what}.')]


@pytest.mark.parametrize("memory", ["128Mi", "1Gi", "600M"])
def test_amounts_of_memory(memory: str) -> None:
    assert told(memory=memory) == []


def test_a_namespace_is_made_once() -> None:
    message = "nvidia-device-plugin is made for the GPU stack already."

    assert told("GPU735", namespace="nvidia-device-plugin") == [("verifier.namespace", message)]
    assert told("GPU735") == []


def test_a_key_that_cannot_be_read_hides_nothing_of_the_others() -> None:
    given = stack(image="a/b:latest", intervalSeconds=420, namespace="default", pushgatway="x")

    assert [path for path, _ in findings(given, "GPU860")] == [
        *("verifier.intervalSeconds", "verifier.namespace"),
    ]
    assert [path for path, _ in findings(given, "GPU275")] == ["verifier.image"]
