"""A control plane of their own for runs of stacks, empty again for each test."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.preview import locate, preview
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.install import manifests
from eks_gpushare_lab.install.desired_cluster import desired_cluster
from eks_gpushare_lab.reporting.report import report_of
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from tests.lab.conftest import Shared

    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

ROOT = Path(__file__).parents[3]
WALKTHROUGHS = ROOT / "examples" / "lab"

# Namespaces stay: they take seconds to go, and the next test wants the same.
EMPTIED = (
    "/apis/batch/v1/cronjobs",
    "/apis/batch/v1/jobs",
    "/apis/apps/v1/daemonsets",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/replicasets",
    "/api/v1/pods",
    "/api/v1/nodes",
    "/api/v1/resourcequotas",
    "/api/v1/persistentvolumeclaims",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/policy/v1/poddisruptionbudgets",
    "/api/v1/configmaps",
    (EVENTS := "/api/v1/events"),
)
QUIET_SECONDS = 0.4
"""Less than for users, of whom nobody waits sixty times."""
KEPT = (
    *("kube-root-ca.crt", "extension-apiserver-authentication", "cluster-info"),
    *("system-node-critical", "system-cluster-critical"),
)
BUT_KEPT = {
    "propagationPolicy": "Background",
    "gracePeriodSeconds": "0",
    "fieldSelector": ",".join(f"metadata.name!={name}" for name in KEPT),
}


@cache
def cluster_of(stack: str) -> DesiredCluster:
    """The cluster that a stack declares, by name or by its file under examples/lab."""
    file = ROOT / "stacks" / f"Pulumi.{stack}.yaml"
    if not file.is_file():
        (file,) = WALKTHROUGHS.rglob(f"Pulumi.{stack}.yaml")
    previewed = preview(*locate(str(file)), known=True)
    assert previewed.recording is not None, previewed.findings
    assert previewed.ok, previewed.recording.error or previewed.findings
    return desired_cluster(previewed.recording)


class Walk:
    """What a test does on the lab, and what it sees there."""

    def __init__(self, session: Session, tmp_path: Path) -> None:
        self.session = session
        self._tmp_path = tmp_path

    def install(self, stack: str | DesiredCluster) -> None:
        self.session.install(cluster_of(stack) if isinstance(stack, str) else stack)
        self.settle()

    def settle(self) -> None:
        assert self.session.settle(QUIET_SECONDS)

    def apply(self, *files: str, text: str = "") -> None:
        """Files under examples/lab, or a text."""
        paths = [str(WALKTHROUGHS / file) for file in files]
        if text:
            written = self._tmp_path / "manifest.yaml"
            written.write_text(text, encoding="utf-8")
            paths.append(str(written))
        given, found = manifests.read(paths)
        assert not found
        self.session.apply(given)
        self.settle()

    def scale(self, name: str, replicas: int) -> None:
        self.session.scale(name, replicas)
        self.settle()

    def see(self, **expected: int) -> dict[str, Any]:
        """The report as JSON. Names of expected workloads have _ for -."""
        named = {name.replace("_", "-"): count for name, count in expected.items()}
        return report_of(self.session, named, []).as_json()


def in_short(pool: dict[str, Any]) -> dict[str, Any]:
    """A pool of a report: how many nodes are there, and what they declare and advertise."""
    there = [node for node in pool["nodes"] if node["removedAfterSeconds"] is None]
    return {"nodes": len(there), **{key: pool[key] for key in ("declared", "advertised")}}


def messages(report: dict[str, Any], code: str) -> list[str]:
    return [each["message"] for each in report["findings"] if each["code"] == code]


def codes(report: dict[str, Any], severity: str = "error") -> list[str]:
    return sorted({each["code"] for each in report["findings"] if each["severity"] == severity})


@pytest.fixture
def shortly() -> Callable[[dict[str, Any]], dict[str, Any]]:
    return in_short


@pytest.fixture
def messages_of() -> Callable[..., list[str]]:
    return messages


@pytest.fixture
def codes_of() -> Callable[..., list[str]]:
    return codes


@pytest.fixture
def desired() -> Callable[[str], DesiredCluster]:
    return cluster_of


@pytest.fixture(scope="module")
def empty_lab(shared: Mapping[str, Shared]) -> Lab:
    """A control plane that only these tests use."""
    return shared["empty_lab"].started().lab


@pytest.fixture
def client(empty_lab: Lab) -> Iterator[Client]:
    lab = empty_lab
    made = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
    yield made
    made.close()


@pytest.fixture
def walk(client: Client, tmp_path: Path) -> Iterator[Walk]:
    with emptied(client), Session(client) as session:
        yield Walk(session, tmp_path)


@pytest.fixture(scope="module")
def module_walk(empty_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """A lab for several tests that only look, before any test that changes it."""
    lab = empty_lab
    client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
    with emptied(client), Session(client) as session:
        yield Walk(session, tmp_path_factory.mktemp("walk"))
    client.close()


@pytest.fixture(name="emptied")
def emptied_fixture() -> Callable[[Client], AbstractContextManager[None]]:
    return emptied


@contextmanager
def emptied(client: Client) -> Iterator[None]:
    """Leave nothing behind for the next test."""
    yield
    deadline = time.monotonic() + 30
    while not empty(client):
        assert time.monotonic() < deadline, "the lab does not get empty"
        time.sleep(0.1)


def empty(client: Client) -> bool:
    """Delete what is left, a collection at a time; whether nothing was but what tells of it."""
    left = 0
    for path in EMPTIED:
        found = [each["metadata"] for each in client.list(path)[0]]
        going = [each for each in found if each["name"] not in KEPT]
        left += len(going) if path != EVENTS else 0
        base, _, plural = path.rpartition("/")
        for namespace in {each.get("namespace", "") for each in going}:
            inside = f"/namespaces/{namespace}" if namespace else ""
            client.request("DELETE", f"{base}{inside}/{plural}", query=BUT_KEPT)
    return left == 0
