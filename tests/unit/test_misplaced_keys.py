"""What stands at the wrong place, or in another shape, is one error that says where and how."""

from __future__ import annotations

from typing import Any

import finding_examples
import pytest
import yaml

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.rules import check_environment
from eks_gpushare.validation.parse import parse
from eks_gpushare.validation.shapes import SHAPES

POOL = {"instanceTypes": ["g6.xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 4}}


def given(**changes: Any) -> dict[str, Any]:
    """The base of examples, changed; None removes a key."""
    return merge_values(finding_examples.base(), changes)


def errors(environment: object) -> list[tuple[str, str]]:
    parsed = parse(environment)
    found = list(parsed.findings)
    if parsed.environment is not None:
        found += check_environment(
            parsed.environment,
            region=finding_examples.REGION,
            today=finding_examples.TODAY,
            partly_read=bool(parsed.findings),
        )
    return [(each.path, each.fix) for each in found if each.severity == "error"]


def of_pool(**changes: Any) -> dict[str, Any]:
    return given(pools={"gpu": changes})


@pytest.mark.parametrize(
    ("environment", "path", "fix"),
    [
        (
            of_pool(replicas=4, sharing={"mode": "timeSlicing"}),
            "pools.gpu.replicas",
            "It stands under sharing: write sharing: {replicas: ...}.",
        ),
        (
            of_pool(mode="mps"),
            "pools.gpu.mode",
            "It stands under sharing: write sharing: {mode: ...}.",
        ),
        (
            of_pool(
                instanceTypes=["p4d.24xlarge"],
                layout="all-1g.5gb",
                sharing={"mode": "mig"},
            ),
            "pools.gpu.layout",
            "It stands under sharing: write sharing: {layout: ...}.",
        ),
        (
            of_pool(nodes=None, max=3),
            "pools.gpu.max",
            "It stands under nodes: write nodes: {max: ...}.",
        ),
        (
            given(cluster={"publicCidrs": ["203.0.113.0/24"]}),
            "cluster.publicCidrs",
            "It stands under endpoint: write endpoint: {publicCidrs: ...}.",
        ),
        (
            given(cluster={"version": None}, manager="gpuOperator")
            | {
                "cluster": {
                    "name": "x",
                    "version": "1.35",
                    "admins": ["arn:aws:iam::111122223333:role/Platform"],
                }
            },
            "manager",
            "It stands under gpuStack: write gpuStack: {manager: ...}.",
        ),
        (
            of_pool(pools={}),
            "pools.gpu.pools",
            "Write pools at the top of the environment, beside cluster.",
        ),
        (
            given(pools=None) | dict(POOL),
            "instanceTypes",
            f"Write them under its name: pools: {SHAPES['pools']}.",
        ),
        (
            given(pools=None) | {"pools": POOL},
            "pools",
            f"Give it a name: pools: {SHAPES['pools']}.",
        ),
        (given(cluster={"version": "1.27"}), "cluster.version", 'Use "1.36".'),
        (given(cluster={"version": "v1.35"}), "cluster.version", 'Write it as "1.35".'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_key_at_the_wrong_place_is_one_error(
    environment: dict[str, Any], path: str, fix: str
) -> None:
    assert errors(environment) == [(path, fix)]


@pytest.mark.parametrize("place", [each for each in SHAPES if "*" not in each.split(".")[-1]])
def test_something_else_in_place_of_a_block_is_told_its_shape(place: str) -> None:
    """Each is one error, and what it says is accepted."""
    mig = {"instanceTypes": ["p4d.24xlarge"], "sharing": {"mode": "mig", "layout": "all-1g.5gb"}}
    start = given(pools={"gpu": mig}) if "sharing." in place else given()
    if place == "cluster.existing":
        start = given(cluster=None, network=None)
    if place.startswith("tenants.*."):
        tenant = {"namespaces": ["team"], "pools": {"gpu": {"guaranteed": {"shares": 1}}}}
        start = given(tenants={"gpu": tenant})
    parts = place.replace("*", "gpu").split(".")

    def with_value(value: Any) -> dict[str, Any]:
        made = merge_values(start, {})
        inner = made
        for part in parts[:-1]:
            inner = inner.setdefault(part, {})
        inner[parts[-1]] = value
        return made

    shape = SHAPES[place]
    ((path, fix),) = errors(with_value("text" if shape.startswith("{") else {"a": "b"}))

    assert path == ".".join(parts)
    assert fix == f"Write {parts[-1]}: {shape}."
    assert parse(with_value(yaml.safe_load(shape))).findings == ()
