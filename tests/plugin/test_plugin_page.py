"""The page on other languages shows refusals as the plugin says them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from plugin_driver import Deployment, Plugin

from eks_gpushare.program.values import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "languages.md"
POOL: dict[str, Any] = {
    "pool": "inference",
    "clusterName": "shared",
    "clusterSubnetIds": ["subnet-1", "subnet-2"],
    "instanceTypes": ["g6.xlarge"],
    "sharing": {"mode": "mps", "replicas": 4},
}
SHOWN: dict[str, dict[str, Any]] = {
    "sharing.repplicas": {"sharing": {"mode": "mps", "replicas": 1, "repplicas": 4}},
    "instanceTypes[0]": {"instanceTypes": [UNKNOWN]},
}
"""What is wrong, by the path that the page shows first."""


@pytest.fixture(scope="module")
def plugin() -> Iterator[Plugin]:
    running = Plugin()
    yield running
    running.close()


def shown() -> dict[str, str]:
    """What the page says that the engine prints, by its first path."""
    text = PAGE.read_text(encoding="utf-8")
    printed = re.findall(
        r"^error: eks-gpushare:index:GpuPool resource 'inference' has a problem: (.*?)^```$",
        text,
        re.MULTILINE | re.DOTALL,
    )
    return {each.splitlines()[1].strip().partition(": ")[0]: each.rstrip() for each in printed}


def test_the_page_shows_these() -> None:
    assert set(shown()) == set(SHOWN)


@pytest.mark.parametrize("path", SHOWN)
def test_a_refusal_on_the_page_is_what_the_plugin_says(plugin: Plugin, path: str) -> None:
    deployment = Deployment()
    refusal = plugin.refused(deployment, "GpuPool", {**POOL, **SHOWN[path]})
    deployment.close()

    assert refusal.message == shown()[path]
