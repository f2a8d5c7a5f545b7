"""An update that failed or was stopped, and the stack file of before: what is left on the nodes.

On a real API server by the real provider with NVIDIA's real charts; `real_cluster.py` says what is
wanted. The GPU Operator's chart is taken from the folder that EKS_GPUSHARE_TEST_CHARTS names.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.engine.real_cluster import NAMESPACE, PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.engine.conftest import Edit, Project, StackFile
    from tests.engine.real_cluster import Api

STACK = "way-back"
RELEASE = "gpushare-device-plugin-release"
PLUGIN = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/nvidia-device-plugin"
NOWHERE = {"nfd": {"gc": {"nodeSelector": {"nowhere": "true"}}}}
"""Values with which a pod of the chart never gets a node: the update waits, and fails."""
OPERATOR_NOWHERE = {"operator": {"nodeSelector": {"nowhere": "true"}}}
TIMEOUT_SECONDS = 45


@pytest.fixture
def up(
    real: Project, kubeconfig_stack: StackFile, edited: Edit, api: Api, node: str
) -> Iterator[StackFile]:
    """A stack with 10 shares per GPU that is up, and a node of its pool."""
    stack = edited(kubeconfig_stack, "charts.devicePlugin.timeoutSeconds", TIMEOUT_SECONDS)
    real.init(STACK, stack)
    labels = real.up(STACK).outputs["pools"]["gpu"]["nodeLabels"]
    before = api.call(f"/api/v1/nodes/{node}")["metadata"]["labels"]
    api.call(f"/api/v1/nodes/{node}", {"metadata": {"labels": labels}})
    yield stack
    undone = {key: before.get(key) for key in labels}
    api.call(f"/api/v1/nodes/{node}", {"metadata": {"labels": undone}})
    real.destroy(STACK)
    real.remove(STACK)


@pytest.fixture
def broken(up: StackFile, edited: Edit) -> StackFile:
    """The same with 4 shares and a chart of which one pod never gets a node."""
    fewer = edited(up, "pools.gpu.sharing.replicas", 4)
    return edited(fewer, "charts.devicePlugin.values", NOWHERE)


@pytest.fixture
def holds(api: Api, shares: Callable[[int], int]) -> Callable[[int], None]:
    """`holds(40)`: the node advertises 40, also after the plugin has been started anew."""

    def hold(expected: int) -> None:
        assert shares(expected) == expected
        template = api.call(PLUGIN)["spec"]["template"]
        wanted = {
            volume["configMap"]["name"]
            for volume in template["spec"]["volumes"]
            if "configMap" in volume
        }
        maps = api.items(f"/api/v1/namespaces/{NAMESPACE}/configmaps")
        assert wanted <= {item["metadata"]["name"] for item in maps}
        restart = {"metadata": {"annotations": {"restarted": str(time.monotonic())}}}
        api.call(PLUGIN, {"spec": {"template": restart}})
        assert shares(expected) == expected

    return hold


def names_of(api: Api, path: str) -> set[str]:
    return {item["metadata"]["name"] for item in api.items(path)}


def _maps(api: Api) -> list[str]:
    maps = api.items(f"/api/v1/namespaces/{NAMESPACE}/configmaps")
    return [n for item in maps if "-config-" in (n := item["metadata"]["name"])]


def test_a_failed_update_is_undone_by_the_file_of_before(
    up: StackFile, broken: StackFile, real: Project, api: Api, holds: Callable[[int], None]
) -> None:
    failed = real.up(STACK, broken, fails=True)

    assert "deadline exceeded" in failed.text
    assert real.up(STACK, up).code == 0
    holds(40)
    assert len(_maps(api)) == 1


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")
def test_pods_that_do_not_get_ready_are_named(broken: StackFile, real: Project) -> None:
    """Helm removes them afterwards."""
    failed = real.up(STACK, broken, fails=True)

    (warning,) = re.findall(r"node-feature-discovery-gc-\S+ is not ready: (.*)", failed.text)[:1]
    assert warning.startswith("Unschedulable: 0/2 nodes are available:")


def test_a_failed_update_is_undone_after_a_refresh_too(
    up: StackFile, broken: StackFile, real: Project, holds: Callable[[int], None]
) -> None:
    real.up(STACK, broken, fails=True)

    assert real.up(STACK, up, "--refresh").code == 0
    holds(40)


def test_the_same_file_fails_again_rather_than_to_succeed(broken: StackFile, real: Project) -> None:
    real.up(STACK, broken, fails=True)

    assert "deadline exceeded" in real.up(STACK, broken, fails=True).text


def test_after_a_refresh_the_same_file_does_not_succeed_either(
    broken: StackFile, real: Project, api: Api
) -> None:
    real.up(STACK, broken, fails=True)
    before = _maps(api)

    refreshed = real.up(STACK, broken, "--refresh", fails=True)

    assert "deadline exceeded" in refreshed.text
    assert set(before) <= set(_maps(api))


def test_an_interrupted_update_is_undone_by_the_file_of_before(
    up: StackFile, broken: StackFile, real: Project, holds: Callable[[int], None]
) -> None:
    real.stopped(STACK, broken, RELEASE, signal.SIGINT)

    assert real.up(STACK, up).code == 0
    holds(40)


@pytest.fixture
def killed(up: StackFile, broken: StackFile, real: Project) -> StackFile:
    """The file of before, after an update was killed while Helm was at work."""
    real.stopped(STACK, broken, RELEASE, signal.SIGKILL)
    locked = real.up(STACK, up, fails=True)
    assert "another operation (install/upgrade/rollback) is in progress" in locked.text
    return up


def test_a_killed_update_is_undone_by_a_replacement_of_the_release(
    killed: StackFile, real: Project, api: Api, holds: Callable[[int], None]
) -> None:
    assert real.up(STACK, killed, "--replace", real.urn(STACK, RELEASE)).code == 0
    holds(40)
    assert len(_maps(api)) == 1


def test_a_killed_update_is_undone_by_helm(
    killed: StackFile, real: Project, kubeconfig: Path, api: Api, holds: Callable[[int], None]
) -> None:
    helm = shutil.which("helm")
    if helm is None:
        pytest.skip("no helm on PATH")
    command = [helm, "rollback", "nvidia-device-plugin", "--namespace", NAMESPACE]
    subprocess.run([*command, "--kubeconfig", str(kubeconfig)], check=True)

    assert real.up(STACK, killed).code == 0
    holds(40)
    assert len(_maps(api)) == 1


def test_a_killed_update_does_not_succeed_by_a_refresh(
    up: StackFile, broken: StackFile, real: Project, api: Api, holds: Callable[[int], None]
) -> None:
    real.stopped(STACK, broken, RELEASE, signal.SIGKILL)
    before = _maps(api)

    refreshed = real.up(STACK, broken, "--refresh", fails=True)

    assert "not deployed but pending-upgrade" in refreshed.text
    assert "Traceback" not in refreshed.text
    assert _maps(api) == before
    assert real.up(STACK, up, "--replace", real.urn(STACK, RELEASE)).code == 0
    holds(40)


@pytest.fixture
def operator(up: StackFile, edited: Edit) -> StackFile:
    """The same pool served by the GPU Operator."""
    given = os.environ.get("EKS_GPUSHARE_TEST_CHARTS")
    if not given:
        pytest.skip("EKS_GPUSHARE_TEST_CHARTS is not set; the top of this file says what it is")
    chart = {
        "path": str(Path(given) / "gpu-operator"),
        "timeoutSeconds": TIMEOUT_SECONDS,
    }
    switched = edited(up, "gpuStack", {"manager": "gpuOperator"})
    return edited(
        switched, "charts", {**up["eks-gpushare:environment"]["charts"], "gpuOperator": chart}
    )


def test_an_operator_that_cannot_be_removed_goes_without_its_hooks(
    up: StackFile,
    operator: StackFile,
    real: Project,
    api: Api,
    kubeconfig: Path,
    holds: Callable[[int], None],
) -> None:
    helm = shutil.which("helm")
    if helm is None:
        pytest.skip("no helm on PATH")
    real.up(STACK, operator)
    nodes = api.items("/api/v1/nodes?labelSelector=!nvidia.com/gpu.present")
    for full in (True, False):  # no room for the Job that runs before the deletion, and then some
        for each in nodes:
            path = f"/api/v1/nodes/{each['metadata']['name']}"
            api.call(path, {"spec": {"unschedulable": full}})
        if full:
            assert "timed out" in real.up(STACK, up, fails=True).text
            command = [helm, "uninstall", "gpu-operator", "--namespace", "gpu-operator"]
            command += ["--no-hooks", "--kubeconfig", str(kubeconfig)]
            subprocess.run(command, check=True)

    assert real.up(STACK, up, "--refresh").code == 0
    holds(40)


def test_a_manager_that_does_not_come_up_is_undone_by_the_file_of_before(
    up: StackFile,
    operator: StackFile,
    edited: Edit,
    real: Project,
    api: Api,
    holds: Callable[[int], None],
) -> None:
    real.up(STACK, edited(operator, "charts.gpuOperator.values", OPERATOR_NOWHERE), fails=True)

    assert real.up(STACK, up).code == 0
    holds(40)
    again = real.preview(STACK)
    assert {operation for operation, _ in again.steps} == {"same"}
    assert NAMESPACE in names_of(api, "/api/v1/namespaces")


def test_a_first_installation_that_was_killed_begins_again_without_its_namespace(
    real: Project, kubeconfig_stack: StackFile, edited: Edit, api: Api
) -> None:
    waiting = edited(kubeconfig_stack, "charts.devicePlugin.values", NOWHERE)
    real.init("first", waiting)
    try:
        real.stopped("first", waiting, RELEASE, signal.SIGKILL)
        locked = real.up("first", kubeconfig_stack, fails=True)
        assert "cannot re-use a name that is still in use" in locked.text
        api.call(f"/api/v1/namespaces/{NAMESPACE}", method="DELETE")
        end = time.monotonic() + PATIENCE_SECONDS
        while NAMESPACE in names_of(api, "/api/v1/namespaces") and time.monotonic() < end:
            time.sleep(0.5)

        assert real.up("first", kubeconfig_stack, "--refresh").code == 0
    finally:
        real.destroy("first")
        real.remove("first")


def test_a_first_installation_that_failed_goes_on(
    real: Project, kubeconfig_stack: StackFile, edited: Edit
) -> None:
    fast = edited(kubeconfig_stack, "charts.devicePlugin.timeoutSeconds", TIMEOUT_SECONDS)
    real.init("first", edited(fast, "charts.devicePlugin.values", NOWHERE))
    try:
        real.up("first", fails=True)

        assert real.up("first", fast).code == 0
    finally:
        real.destroy("first")
        real.remove("first")


def test_a_daemon_set_that_somebody_deleted_comes_back_with_a_replacement(
    up: StackFile, real: Project, api: Api, shares: Callable[[int], int]
) -> None:
    api.call(PLUGIN, method="DELETE")
    assert shares(0) == 0
    unseen = real.up(STACK, up, "--refresh")
    assert {operation for operation, _ in unseen.steps} <= {"same", "refresh"}

    real.up(STACK, up, "--replace", real.urn(STACK, RELEASE))

    assert shares(40) == 40


@pytest.mark.parametrize("kind", ["configmaps", "secrets"])
def test_what_somebody_deleted_comes_back_with_a_refresh(
    kind: str, up: StackFile, real: Project, api: Api, holds: Callable[[int], None]
) -> None:
    """The ConfigMap, and Helm's record of the release."""
    if kind == "configmaps":
        (gone,) = _maps(api)
        api.call(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{gone}", method="DELETE")
    else:
        api.call(
            f"/api/v1/namespaces/{NAMESPACE}/secrets?labelSelector=owner=helm", method="DELETE"
        )

    assert real.up(STACK, up, "--refresh").code == 0
    holds(40)
