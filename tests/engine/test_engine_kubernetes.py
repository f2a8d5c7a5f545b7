"""The device plugin's real chart on a real API server, by the real kubernetes provider.

What is wanted for that is said in `real_cluster.py`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.engine.real_cluster import NAMESPACE, PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.engine.conftest import Edit, Project, Result, StackFile
    from tests.engine.real_cluster import Api

DAEMON_SETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"
STACK = "kubernetes"


@pytest.fixture(scope="module")
def created(real: Project, kubeconfig_stack: StackFile, api: Api, node: str) -> Iterator[Result]:
    """The stack, which is up, and a node that joined its pool by the labels it asks for."""
    real.init(STACK, kubeconfig_stack)
    result = real.up(STACK)
    labels = result.outputs["pools"]["gpu"]["nodeLabels"]
    before = api.call(f"/api/v1/nodes/{node}")["metadata"]["labels"]
    api.call(f"/api/v1/nodes/{node}", {"metadata": {"labels": labels}})
    yield result
    undone = {key: before.get(key) for key in labels}
    api.call(f"/api/v1/nodes/{node}", {"metadata": {"labels": undone}})
    real.destroy(STACK)


def _scheduled(api: Api) -> dict[str, int]:
    return {
        item["metadata"]["name"]: item["status"]["desiredNumberScheduled"]
        for item in api.items(DAEMON_SETS)
    }


def _settled(api: Api, expected: dict[str, int]) -> dict[str, int]:
    """Where the DaemonSets are, once that is as expected or patience ends."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := _scheduled(api)) != expected and time.monotonic() < end:
        time.sleep(0.5)
    return found


def test_the_chart_is_installed_with_its_configuration(created: Result) -> None:
    assert created.changes == {
        "kubernetes gpushare-kubernetes": "create",
        "Namespace gpushare-device-plugin-namespace": "create",
        "ConfigMap gpushare-device-plugin-config": "create",
        "Release gpushare-device-plugin-release": "create",
    }


def test_the_daemon_sets_reach_the_node_of_the_pool(created: Result, api: Api) -> None:
    assert created.code == 0
    expected = {
        "nvidia-device-plugin": 1,
        "nvidia-device-plugin-gpu-feature-discovery": 1,
        "nvidia-device-plugin-mps-control-daemon": 0,
        "nvidia-device-plugin-node-feature-discovery-worker": 1,
    }

    assert _settled(api, expected) == expected


def test_the_pods_of_the_daemon_sets_are_on_no_other_node(
    created: Result, api: Api, node: str
) -> None:
    assert created.code == 0
    pods = api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
    of_daemon_sets = [
        pod for pod in pods if pod["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet"
    ]

    assert {pod["spec"].get("nodeName") for pod in of_daemon_sets} == {node}


def test_the_node_advertises_four_gpus_ten_times(
    created: Result, shares: Callable[[int], int]
) -> None:
    assert created.code == 0
    assert shares(40) == 40


@pytest.fixture(scope="module")
def repeated(created: Result, real: Project) -> Result:
    """A preview of the same."""
    assert created.code == 0
    return real.preview(STACK)


def test_a_second_preview_changes_nothing(repeated: Result) -> None:
    assert {operation for operation, _ in repeated.steps} == {"same"}


def test_a_second_up_changes_nothing(repeated: Result, real: Project) -> None:
    assert repeated.code == 0
    again = real.up(STACK)

    assert {operation for operation, _ in again.steps} == {"same"}


def test_another_address_of_the_cluster_replaces_nothing(
    created: Result, real: Project, kubeconfig: Path, api: Api
) -> None:
    assert created.code == 0
    text = kubeconfig.read_text(encoding="utf-8")
    try:
        kubeconfig.write_text(text.replace(api.server, f"{api.server}/"), encoding="utf-8")
        changes = real.preview(STACK).changes
    finally:
        kubeconfig.write_text(text, encoding="utf-8")

    assert changes == {"kubernetes gpushare-kubernetes": "update"}


@pytest.fixture(scope="module")
def fewer_replicas(
    repeated: Result, real: Project, kubeconfig_stack: StackFile, edited: Edit, api: Api
) -> tuple[Result, Any, Any]:
    """An update to 4 replicas, and the plugin's pod template before and after it."""
    assert repeated.code == 0
    before = api.call(f"{DAEMON_SETS}/nvidia-device-plugin")["spec"]["template"]
    result = real.up(STACK, edited(kubeconfig_stack, "pools.gpu.sharing.replicas", 4))
    after = api.call(f"{DAEMON_SETS}/nvidia-device-plugin")["spec"]["template"]
    return result, before, after


def test_fewer_replicas_are_a_new_config_map_and_an_updated_release(
    fewer_replicas: tuple[Result, Any, Any],
) -> None:
    assert fewer_replicas[0].changes == {
        "ConfigMap gpushare-device-plugin-config": "replaced, the new one first",
        "Release gpushare-device-plugin-release": "update",
    }


def test_fewer_replicas_roll_the_pods_of_the_plugin(
    fewer_replicas: tuple[Result, Any, Any],
) -> None:
    _, before, after = fewer_replicas

    assert _config_map(before) != _config_map(after)


def _config_map(template: Any) -> str:
    volumes = template["spec"]["volumes"]
    (name,) = {v["configMap"]["name"] for v in volumes if "configMap" in v}
    return str(name)


def test_fewer_replicas_are_fewer_shares_on_the_node(
    fewer_replicas: tuple[Result, Any, Any], shares: Callable[[int], int]
) -> None:
    assert fewer_replicas[0].code == 0
    assert shares(16) == 16


def test_one_config_map_is_left_and_the_pods_use_it(
    fewer_replicas: tuple[Result, Any, Any], api: Api
) -> None:
    maps = api.items(f"/api/v1/namespaces/{NAMESPACE}/configmaps")
    names = [item["metadata"]["name"] for item in maps]

    assert [name for name in names if name.startswith("nvidia-device-plugin-config-")] == [
        _config_map(fewer_replicas[2])
    ]


@pytest.fixture(scope="module")
def destroyed(fewer_replicas: tuple[Result, Any, Any], real: Project) -> Result:
    """The end."""
    assert fewer_replicas[0].code == 0
    return real.destroy(STACK)


def test_destroying_leaves_nothing_in_the_state(destroyed: Result, real: Project) -> None:
    assert destroyed.code == 0
    assert real.state(STACK)["deployment"].get("resources", []) == []


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces",
        "/apis/apps/v1/daemonsets",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    ],
)
def test_destroying_leaves_nothing_in_the_cluster(destroyed: Result, api: Api, path: str) -> None:
    assert destroyed.code == 0
    names = [item["metadata"]["name"] for item in api.items(path)]

    assert [name for name in names if name.startswith("nvidia-device-plugin")] == []


def test_without_a_device_plugin_the_node_gives_out_no_shares(
    destroyed: Result, shares: Callable[[int], int]
) -> None:
    assert destroyed.code == 0
    assert shares(0) == 0
