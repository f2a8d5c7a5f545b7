from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run


def test_system_nodes_with_defaults(
    system_nodes: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    golden("components/system-nodes.json", system_nodes().text())


def test_arm_nodes_have_an_arm_image(system_nodes: Callable[..., Run]) -> None:
    made = system_nodes(instance_types=["m7g.large"])

    assert made.inputs("NodeGroup")["amiType"] == "AL2023_ARM_64_STANDARD"


def test_a_release_is_pinned_with_its_version(system_nodes: Callable[..., Run]) -> None:
    given = system_nodes(version="1.35", ami_version="1.35.8-20260930").inputs("NodeGroup")

    assert (given["version"], given["releaseVersion"]) == ("1.35", "1.35.8-20260930")
