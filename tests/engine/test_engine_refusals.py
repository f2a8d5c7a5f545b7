"""What `preview --before` calls an error is refused by an update, and the rest passes.

EKS is stood in for, with its rules and wordings; that the engine gets as far as asking it, and what
it asks, is real.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.edits.refused import check_edit
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from tests.engine.conftest import Edit, Project, Result, StackFile

    Update: TypeAlias = Callable[..., Result]

STACK = "refusals"
OTHER_KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def _pool(**more: object) -> dict[str, Any]:
    return {
        "instanceTypes": ["g5.xlarge"],
        "nodes": {"min": 1, "desired": 3, "max": 5},
        "amiVersion": "1.35.8-20260930",
        "sharing": {"mode": "timeSlicing", "replicas": 4},
        **more,
    }


@pytest.fixture(scope="module")
def running(project: Project) -> tuple[StackFile, dict[str, Any]]:
    """A stack that is up, and its state."""
    environment = {
        "cluster": {"name": "demo", "version": "1.35", "deletionProtection": False},
        "network": {"zones": ["us-west-2a", "us-west-2b"]},
        "pools": {"gpu": _pool(), "scaled": _pool(scaledBy="autoscaler")},
    }
    config = {"aws:region": "us-west-2", "eks-gpushare:environment": environment}
    project.init(STACK, config)
    project.up(STACK)
    return config, project.state(STACK)


@pytest.fixture
def update(project: Project, running: tuple[StackFile, dict[str, Any]]) -> Iterator[Update]:
    """`update(config, fails=...)`: an update of the stack as it was made, whatever came before."""
    yield lambda config, *, fails=False: project.up(STACK, config, fails=fails)
    project.set_state(STACK, running[1])


def codes(before: StackFile, after: StackFile) -> set[str]:
    """Codes of what `preview --before` finds in an edit."""
    read = [parse(each["eks-gpushare:environment"]).environment for each in (before, after)]
    assert read[0] is not None
    assert read[1] is not None
    return {found.code for found in check_edit(read[0], read[1])}


@pytest.mark.parametrize(
    ("path", "value", "code", "says"),
    [
        ("network.zones", ["us-west-2a", "us-west-2b", "us-west-2c"], "GPU810", "the exact set"),
        ("network.zones", ["us-west-2a", "us-west-2c"], "GPU810", "the exact set"),
        ("network.cidr", "10.1.0.0/16", "GPU810", "are not in the cluster's VPC"),
        ("cluster.secretsKeyArn", OTHER_KEY, "GPU812", "already exists with name: demo"),
        (
            "pools.scaled.nodes",
            {"min": 4, "desired": 4, "max": 5},
            "GPU814",
            "Minimum capacity 4 can't be greater than desired size 3",
        ),
        (
            "pools.scaled.nodes",
            {"min": 1, "desired": 2, "max": 2},
            "GPU814",
            "desiredSize can't be greater than maxSize",
        ),
    ],
)
def test_what_is_an_error_is_refused(
    update: Update,
    running: tuple[StackFile, dict[str, Any]],
    edited: Edit,
    path: str,
    value: object,
    code: str,
    says: str,
) -> None:
    config = edited(running[0], path, value)
    result = update(config, fails=True)

    assert says in result.text
    assert codes(running[0], config) == {code}


@pytest.mark.parametrize(
    "changes",
    [
        {
            "network.zones": ["us-west-2b", "us-west-2a"],
            "pools.gpu.nodes": {"min": 0, "desired": 0, "max": 1},
            "pools.gpu.taints": [{"key": "nvidia.com/gpu", "effect": "NoExecute"}],
            "pools.scaled.nodes": {"min": 3, "desired": 4, "max": 9},
        },
        {
            "network.natGateways": "perZone",
            "cluster.deletionProtection": True,
            "pools.scaled.scaledBy": "stack",
        },
        {"cluster.name": "other"},
    ],
    ids=["sizes", "protection", "name"],
)
def test_what_is_no_error_passes(
    update: Update,
    running: tuple[StackFile, dict[str, Any]],
    edited: Edit,
    changes: dict[str, object],
) -> None:
    config = running[0]
    for path, value in changes.items():
        config = edited(config, path, value)

    assert update(config).code == 0
    assert codes(running[0], config) == set()


@pytest.mark.parametrize(("version", "found"), [("1.36", set()), ("1.34", {"GPU813"})])
def test_versions_go_up_by_one(
    update: Update,
    running: tuple[StackFile, dict[str, Any]],
    edited: Edit,
    version: str,
    found: set[str],
) -> None:
    config = edited(running[0], "cluster.version", version)
    for pool in ("gpu", "scaled"):
        config = edited(config, f"pools.{pool}.amiVersion", None)
    result = update(config, fails=bool(found))

    assert ("Unsupported Kubernetes minor version update" in result.text) is bool(found)
    assert codes(running[0], config) == found


def test_a_cluster_is_not_replaced_in_the_update_that_turns_its_protection_off(
    update: Update, running: tuple[StackFile, dict[str, Any]], edited: Edit
) -> None:
    protected = edited(running[0], "cluster.deletionProtection", value=True)
    renamed = edited(protected, "cluster.name", "other")
    both = edited(running[0], "cluster.name", "other")
    update(protected)
    first = update(renamed, fails=True)
    second = update(both, fails=True)

    assert "currently marked for protection" in first.text
    assert "Cluster has deletion protection enabled" in second.text
    assert codes(protected, renamed) == codes(protected, both) == {"GPU811"}


def test_a_release_that_is_no_longer_pinned_changes_nothing(
    update: Update, running: tuple[StackFile, dict[str, Any]], edited: Edit
) -> None:
    assert update(edited(running[0], "pools.gpu.amiVersion", None)).changes == {}
