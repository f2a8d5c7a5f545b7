"""A real cluster for the real kubernetes provider: fixtures of the tests that need one.

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

    from tests.engine.conftest import Engine, Project, StackFile

    from eks_gpushare_lab.control_plane.state import Lab

NAMESPACE = "nvidia-device-plugin"
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

    def call(self, path: str, patch: object = None, method: str = "") -> Any:
        """Read an object, or patch it, or do something else with it."""
        request = Request(  # noqa: S310  (an address of the tester's own)
            f"{self.server}{path}",
            data=None if patch is None else json.dumps(patch).encode(),
            headers={"Content-Type": "application/merge-patch+json"},
            method=method or ("GET" if patch is None else "PATCH"),
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
def kubeconfig_stack(kubeconfig: Path, chart: Path) -> StackFile:
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
