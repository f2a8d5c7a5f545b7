"""The device plugin's real chart on a real API server, by the real kubernetes provider.

Wanted: `pulumi-resource-kubernetes` on PATH, and NVIDIA's chart on disk, named by the environment
variable EKS_GPUSHARE_TEST_CHART. The cluster is the lab's own control plane, if its programs are
there (`eks-gpushare lab up` builds them). EKS_GPUSHARE_TEST_KUBECONFIG names another one, with a
node that has the label nvidia.com/gpu.present=true (no GPU is needed); nobody advertises shares
there, so what is about them is skipped.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

from eks_gpushare.stack_file.yaml import read
from eks_gpushare_lab.binaries import build
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.install.desired_cluster import NodePool
from eks_gpushare_lab.install.nodes import nodes_of
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.engine.conftest import Edit, Engine, Project, Result, StackFile

    from eks_gpushare_lab.control_plane.state import Lab

NAMESPACE = "nvidia-device-plugin"
DAEMON_SETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"
STACK = "kubernetes"
PATIENCE_SECONDS = 30
CHART = "EKS_GPUSHARE_TEST_CHART"
OTHER_CLUSTER = "EKS_GPUSHARE_TEST_KUBECONFIG"
GPU = "nvidia.com/gpu"
PRESENT = "nvidia.com/gpu.present"
TAINT = {"key": GPU, "value": "true", "effect": "NoSchedule"}


@dataclass(frozen=True)
class Api:
    """The API server behind a kubeconfig."""

    server: str
    context: ssl.SSLContext

    def call(self, path: str, patch: object = None) -> Any:
        """Read an object, or patch it."""
        request = Request(  # noqa: S310  (an address of the tester's own)
            f"{self.server}{path}",
            data=None if patch is None else json.dumps(patch).encode(),
            headers={"Content-Type": "application/merge-patch+json"},
            method="GET" if patch is None else "PATCH",
        )
        with urlopen(request, context=self.context, timeout=30) as answer:  # noqa: S310
            return json.load(answer)

    def items(self, path: str) -> list[dict[str, Any]]:
        """The objects of a list."""
        items: list[dict[str, Any]] = self.call(path)["items"]
        return items


@dataclass(frozen=True)
class Cluster:
    """A cluster to try on."""

    kubeconfig: Path
    session: Session | None
    """Whoever plays its nodes; None in a cluster of somebody else's."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster that is named, else a control plane of the lab with two nodes."""
    copy, given = tmp_path_factory.mktemp("kubeconfig"), os.environ.get(OTHER_CLUSTER)
    if given:
        yield Cluster(Path(shutil.copy(given, copy)), None)
        return
    if absent := build.missing():
        pytest.skip(
            f"the lab has no {', '.join(absent)} yet: `eks-gpushare lab up` builds what is "
            f"missing; or name a cluster: {OTHER_CLUSTER}"
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        with ControlPlane() as up, Session(client_of(up.lab)) as session:
            for pool in (
                NodePool("gpu", ("p3.8xlarge",), 1, {PRESENT: "true"}, (TAINT,)),
                NodePool("other", ("m6i.large",), 1, {}, ()),  # for the chart's Deployments
            ):
                for node in nodes_of(pool):
                    session.client.create(node.object)
            yield Cluster(Path(shutil.copy(up.kubeconfig, copy)), session)


def client_of(lab: Lab) -> Client:
    return Client(lab.url, lab.ca, lab.client_cert, lab.client_key)


@pytest.fixture(scope="module")
def kubeconfig(cluster: Cluster) -> Path:
    """A copy of its kubeconfig."""
    return cluster.kubeconfig


@pytest.fixture(scope="module")
def chart() -> Path:
    """The device plugin's chart on disk."""
    given = os.environ.get(CHART)
    if not given:
        pytest.skip(f"{CHART} is not set; the top of this file says what it has to name")
    return Path(given)


@pytest.fixture(scope="module")
def api(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Api:
    """Its API server, reached with the client certificate of its first user."""
    content: Any = read(kubeconfig.read_bytes()).value
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    files = {}
    for key in ("client-certificate", "client-key"):
        if f"{key}-data" not in user:
            pytest.skip(f"{kubeconfig} holds no {key}-data, by which these tests look around")
        files[key] = tmp_path_factory.mktemp("user") / key
        files[key].write_bytes(base64.b64decode(user[f"{key}-data"]))
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    context.load_cert_chain(files["client-certificate"], files["client-key"])
    return Api(cluster["server"], context)


@pytest.fixture(scope="module")
def node(api: Api) -> str:
    """A node that is taken to have a GPU."""
    found = api.items("/api/v1/nodes?labelSelector=nvidia.com/gpu.present=true")
    if not found:
        pytest.skip("no node of the cluster has the label nvidia.com/gpu.present=true")
    name: str = found[0]["metadata"]["name"]
    return name


@pytest.fixture(scope="module")
def real(engine_with: Callable[..., Engine]) -> Project:
    """This repository's program, with the real kubernetes provider."""
    if shutil.which("pulumi-resource-kubernetes") is None:
        pytest.skip(
            "no pulumi-resource-kubernetes on PATH; "
            "how to get it: https://github.com/pulumi/pulumi-kubernetes/releases"
        )
    return engine_with("aws", "eks").project("eks-gpushare")


@pytest.fixture(scope="module")
def config(kubeconfig: Path, chart: Path) -> StackFile:
    """A stack on the cluster, with a pool of nodes that are there."""
    pool = {
        "provisioner": "existing",
        "instanceTypes": ["p3.8xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": 10},
    }
    environment = {
        "cluster": {"existing": {"kubeconfig": str(kubeconfig)}},
        "pools": {"gpu": pool},
        "charts": {"devicePlugin": {"path": str(chart)}},
    }
    return {"eks-gpushare:environment": environment}


@pytest.fixture(scope="module")
def created(real: Project, config: StackFile, api: Api, node: str) -> Iterator[Result]:
    """The stack, which is up, and a node that joined its pool by the labels it asks for."""
    real.init(STACK, config)
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


@pytest.fixture
def shares(cluster: Cluster, node: str) -> Callable[[int], int]:
    """`shares(40)` is what the node advertises, once that is 40 or patience ends."""
    session = cluster.session
    if session is None:
        pytest.skip("nobody plays the device plugin in a cluster that is not the lab's")

    def advertised(expected: int) -> int:
        end = time.monotonic() + PATIENCE_SECONDS
        while (found := _allocatable(session, node)) != expected and time.monotonic() < end:
            time.sleep(0.1)
        return found

    return advertised


def _allocatable(session: Session, node: str) -> int:
    there = session.watches.nodes.get(node)
    return int(there["status"]["allocatable"].get(GPU, 0)) if there else 0


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
    repeated: Result, real: Project, config: StackFile, edited: Edit, api: Api
) -> tuple[Result, Any, Any]:
    """An update to 4 replicas, and the plugin's pod template before and after it."""
    assert repeated.code == 0
    before = api.call(f"{DAEMON_SETS}/nvidia-device-plugin")["spec"]["template"]
    result = real.up(STACK, edited(config, "pools.gpu.sharing.replicas", 4))
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
