"""The controller that frees nodes, against a real API server: its objects, its rights, its script.

The script that runs is the one of the ConfigMap that was applied, with a token of the
ServiceAccount that was applied, as an ordinary process instead of in a container.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pulumi
import pytest

from eks_gpushare.in_cluster.data import mig_taint_remover as script
from eks_gpushare.in_cluster.mig_taint_remover import OBJECT_NAME, register_mig_taint_remover
from eks_gpushare.program.run import run_program
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.install.desired_cluster import desired_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from eks_gpushare_lab.control_plane.control_plane import ControlPlane
    from eks_gpushare_lab.control_plane.state import Lab

    Call = Callable[..., dict[str, Any]]

NAMESPACE = "mig-taint-remover"
SLICES = {"nvidia.com/mig-1g.5gb": 56}
EXPECTED = {
    "slices": {"config": "all-1g.5gb", "advertises": {"p4d.24xlarge": SLICES}},
    "single": {"config": "all-1g.5gb", "advertises": {"p4d.24xlarge": {"nvidia.com/gpu": 56}}},
}
STARTUP = {"key": "eks-gpushare/mig-layout", "value": "pending", "effect": "NoSchedule"}
OTHERS = [
    {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
    {"key": "eks-gpushare/mig", "value": "failed", "effect": "NoSchedule"},
]
READY = {
    "eks-gpushare/pool": "slices",
    "nvidia.com/mig.config": "all-1g.5gb",
    "nvidia.com/mig.config.state": "success",
    "node.kubernetes.io/instance-type": "p4d.24xlarge",
}


@dataclass
class Installed:
    """What was applied, and where."""

    client: Client
    lab: Lab
    files: dict[str, str]
    """Data of the ConfigMap, as the API server has it."""
    token: str

    def account(self, folder: Path) -> Path:
        """What the kubelet would mount into the pod."""
        folder.mkdir()
        (folder / "token").write_text(f"{self.token}\n", encoding="utf-8")
        (folder / "ca.crt").write_bytes(self.lab.ca.read_bytes())
        return folder


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane) -> Iterator[Installed]:
    lab = control_plane.lab
    client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)

    def program() -> None:
        import pulumi_kubernetes

        cluster = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        opts = pulumi.ResourceOptions(provider=cluster)
        register_mig_taint_remover("demo", NAMESPACE, None, EXPECTED, opts)

    recording = run_program(program, project="demo", stack="test", config={}, preview=False)
    assert recording.error is None
    # The namespace takes no pod that asks for more than the strictest standard gives.
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"name": NAMESPACE, "labels": labels}
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace})
    applied = [client.apply(each).object for each in desired_cluster(recording).objects]
    (config_map,) = (each for each in applied if each["kind"] == "ConfigMap")
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{OBJECT_NAME}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = client.request("POST", path, body=request).object["status"]["token"]
    yield Installed(client, lab, config_map["data"], token)
    client.close()


@dataclass
class Nodes:
    """Nodes of one test."""

    call: Call
    prefix: str
    made: list[str] = field(default_factory=list)

    def make(
        self,
        name: str,
        labels: Mapping[str, str | None] | None = None,
        resources: dict[str, int] | None = None,
        taints: list[dict[str, str]] | None = None,
    ) -> str:
        """A node that is ready to lose its taint, but for what is given."""
        full = f"{self.prefix}-{name}"
        given = {key: value for key, value in {**READY, **(labels or {})}.items() if value}
        metadata = {"name": full, "labels": given}
        spec = {"taints": [OTHERS[0], STARTUP, OTHERS[1]] if taints is None else taints}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}
        # In the creation itself, so that no watcher sees the node without it.
        body["status"] = status_of(SLICES if resources is None else resources)
        assert self.call("POST", "/api/v1/nodes", body)["_code"] == 201
        self.made.append(full)
        return full

    def taints(self, node: str) -> list[tuple[str, str, str]]:
        """Those that this test has given it; controllers of the control plane add their own."""
        found = self.call("GET", f"/api/v1/nodes/{node}")["spec"].get("taints", [])
        ours = [each for each in found if not each["key"].startswith("node.kubernetes.io/")]
        return [(each["key"], each.get("value", ""), each["effect"]) for each in ours]

    def is_free(self, node: str) -> bool:
        return tuple(STARTUP.values()) not in self.taints(node)

    def label(self, node: str, **labels: str) -> None:
        changed = {f"nvidia.com/mig.{key}": value for key, value in labels.items()}
        self.call("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": changed}})

    def advertise(self, node: str, resources: dict[str, int]) -> None:
        gone = dict.fromkeys(SLICES)
        status = {part: {**gone, **counts} for part, counts in status_of(resources).items()}
        self.call("PATCH", f"/api/v1/nodes/{node}/status", {"status": status})


def status_of(resources: dict[str, int]) -> dict[str, dict[str, str]]:
    counts = {name: str(count) for name, count in resources.items()}
    return {"capacity": counts, "allocatable": counts}


@pytest.fixture
def nodes(call: Call, request: pytest.FixtureRequest) -> Iterator[Nodes]:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())
    found = Nodes(call, name[-40:].strip("-"))
    yield found
    for each in found.made:
        call("DELETE", f"/api/v1/nodes/{each}")


@dataclass
class Running:
    """The script as a process."""

    process: subprocess.Popen[bytes]
    output: Path

    def said(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.output.read_text(encoding="utf-8").splitlines()]

    def why(self, node: str) -> list[str]:
        return [each["why"] for each in self.said() if each.get("node") == node and "why" in each]


@pytest.fixture
def start(installed: Installed, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """`start()` runs the script of the ConfigMap; `port` is another way to the API server."""
    started: list[subprocess.Popen[bytes]] = []
    folder = tmp_path / "script"
    folder.mkdir()
    for name, text in installed.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    account = installed.account(tmp_path / "account")
    output = tmp_path / "output"

    def run(port: int | None = None, **environment: str) -> Running:
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-I", "-B", str(folder / "mig_taint_remover.py")],
                env={
                    "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                    "KUBERNETES_SERVICE_PORT": str(port or installed.lab.port),
                    "SERVICE_ACCOUNT_DIR": str(account),
                    "HEARTBEAT_FILE": str(tmp_path / "heartbeat"),
                    **environment,
                },
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        started.append(process)
        return Running(process, output)

    yield run
    for process in started:
        process.kill()
        process.wait()


def test_exactly_the_startup_taint_goes(
    nodes: Nodes, start: Callable[..., Running], eventually: Callable[..., bool]
) -> None:
    there = nodes.make("there")
    running = start()
    assert eventually(lambda: nodes.is_free(there))
    joining = nodes.make("joining")
    assert eventually(lambda: nodes.is_free(joining))

    others = [tuple(taint.values()) for taint in OTHERS]
    assert nodes.taints(there) == nodes.taints(joining) == others
    assert [
        each["node"] for each in running.said() if each["message"] == "the taint is removed"
    ] == [
        there,
        joining,
    ]


WAITING: dict[str, tuple[dict[str, str | None], dict[str, int]]] = {
    "pending": ({"nvidia.com/mig.config.state": "pending"}, SLICES),
    "rebooting": ({"nvidia.com/mig.config.state": "rebooting"}, SLICES),
    "failed": ({"nvidia.com/mig.config.state": "failed"}, SLICES),
    "not-begun": ({"nvidia.com/mig.config.state": None}, SLICES),
    "other-config": ({"nvidia.com/mig.config": "all-disabled"}, SLICES),
    "other-type": ({"node.kubernetes.io/instance-type": "p5.48xlarge"}, SLICES),
    "other-pool": ({"eks-gpushare/pool": "somebody-elses"}, SLICES),
    "whole-gpus": ({}, {"nvidia.com/gpu": 8}),
    "whole-gpus-under-one-name": ({"eks-gpushare/pool": "single"}, {"nvidia.com/gpu": 8}),
    "nothing-yet": ({}, {}),
    "too-few": ({}, {"nvidia.com/mig-1g.5gb": 49}),
    "too-many-kinds": ({}, {**SLICES, "nvidia.com/gpu": 1}),
}
"""Labels and resources of nodes that have to wait."""
REASONS = {
    "pending": "nvidia.com/mig.config.state is pending",
    "rebooting": "nvidia.com/mig.config.state is rebooting",
    "failed": "nvidia.com/mig.config.state is failed",
    "not-begun": "nvidia.com/mig.config.state is not there",
    "other-config": "nvidia.com/mig.config is all-disabled and not all-1g.5gb",
    "other-type": "the instance type p5.48xlarge is not one of the pool's",
    "other-pool": "the pool somebody-elses is not one of these",
    "whole-gpus": "it advertises nvidia.com/gpu: 8 and not nvidia.com/mig-1g.5gb: 56",
    "whole-gpus-under-one-name": "it advertises nvidia.com/gpu: 8 and not nvidia.com/gpu: 56",
    "nothing-yet": "it advertises nothing and not nvidia.com/mig-1g.5gb: 56",
    "too-few": "it advertises nvidia.com/mig-1g.5gb: 49 and not nvidia.com/mig-1g.5gb: 56",
    "too-many-kinds": "it advertises nvidia.com/gpu: 1, nvidia.com/mig-1g.5gb: 56 and not "
    "nvidia.com/mig-1g.5gb: 56",
}


def test_nodes_that_are_not_ready_keep_it_and_say_why(
    nodes: Nodes, start: Callable[..., Running], eventually: Callable[..., bool]
) -> None:
    names = {kind: nodes.make(kind, *given) for kind, given in WAITING.items()}
    lookalike = {**STARTUP, "value": "mine"}
    other_taint = nodes.make("other-taint", taints=[lookalike])
    unlabelled = nodes.make("unlabelled", {"eks-gpushare/pool": None})
    running = start()
    ready = nodes.make("ready")
    assert eventually(lambda: nodes.is_free(ready))

    expected = {kind: [why] for kind, why in REASONS.items()}
    assert eventually(lambda: {kind: running.why(node) for kind, node in names.items()} == expected)
    assert not [kind for kind, node in names.items() if nodes.is_free(node)]
    assert nodes.taints(other_taint) == [tuple(lookalike.values())]
    assert not nodes.is_free(unlabelled)


def test_a_node_is_freed_when_the_last_thing_it_waits_for_comes(
    nodes: Nodes, start: Callable[..., Running], eventually: Callable[..., bool]
) -> None:
    """In the order of MIG manager: it says success before the device plugin is back."""
    labels = {"nvidia.com/mig.config.state": None}
    node = nodes.make("new", labels, {"nvidia.com/gpu": 8})
    running = start()
    reasons = ["nvidia.com/mig.config.state is not there"]
    for state in ("pending", "rebooting", "pending"):
        assert eventually(lambda: running.why(node) == reasons)
        nodes.label(node, **{"config.state": state})
        reasons.append(f"nvidia.com/mig.config.state is {state}")
    assert eventually(lambda: running.why(node) == reasons)
    nodes.label(node, **{"config.state": "success"})
    reasons.append(REASONS["whole-gpus"])
    assert eventually(lambda: running.why(node) == reasons)
    assert not nodes.is_free(node)

    nodes.advertise(node, {"nvidia.com/gpu": 0, **SLICES})

    assert eventually(lambda: nodes.is_free(node))


def test_success_of_an_earlier_layout_does_not_count(
    nodes: Nodes, start: Callable[..., Running], eventually: Callable[..., bool]
) -> None:
    node = nodes.make("relabelled", {"nvidia.com/mig.config": "all-2g.10gb"})
    running = start()

    assert eventually(lambda: running.why(node) != [])
    assert running.why(node) == ["nvidia.com/mig.config is all-2g.10gb and not all-1g.5gb"]
    assert not nodes.is_free(node)


def test_it_goes_on_after_the_api_server_has_ended_the_watch(
    nodes: Nodes, start: Callable[..., Running], gate: Gate, eventually: Callable[..., bool]
) -> None:
    running = start(gate.port, WATCH_SECONDS="1")
    assert eventually(lambda: gate.passed > 2)  # a list and a watch, and a list after its end

    node = nodes.make("late")

    assert eventually(lambda: nodes.is_free(node))
    assert [each["level"] for each in running.said()] == ["info"] * len(running.said())


class Gate:
    """A way to the API server that can be cut: connections through it end in the middle."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._ends: list[socket.socket] = []
        self._moving = threading.Lock()
        self.is_open = True
        self.passed = 0
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                with self._moving:
                    if not self.is_open:
                        near.close()
                        continue
                    self._ends.append(near)
                    far = socket.create_connection(("127.0.0.1", self._to))
                    self._ends.append(far)
                    self.passed += 1
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while part := one.recv(65536):
                other.sendall(part)
        with suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        with self._moving:
            self.is_open = False
            for end in self._ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        self._listening.shutdown(socket.SHUT_RDWR)  # wakes who accepts, as close() does not
        self._accepting.join()
        self._listening.close()
        for end in self._ends:
            end.close()


@pytest.fixture
def gate(installed: Installed) -> Iterator[Gate]:
    found = Gate(installed.lab.port)
    yield found
    found.close()


def test_it_comes_back_when_the_api_server_does(
    nodes: Nodes, start: Callable[..., Running], gate: Gate, eventually: Callable[..., bool]
) -> None:
    before = nodes.make("before")
    running = start(gate.port)
    assert eventually(lambda: nodes.is_free(before))

    gate.cut()
    away = nodes.make("away")
    assert eventually(lambda: any("trying again in 2 s" in e["message"] for e in running.said()))
    assert not nodes.is_free(away)
    gate.is_open = True

    assert eventually(lambda: nodes.is_free(away))
    assert running.process.poll() is None


def test_sigterm_ends_it_at_once(
    nodes: Nodes, start: Callable[..., Running], eventually: Callable[..., bool]
) -> None:
    node = nodes.make("watched")
    running = start()
    assert eventually(lambda: nodes.is_free(node))  # it watches now

    began = time.monotonic()
    running.process.send_signal(signal.SIGTERM)
    code = running.process.wait(10)

    assert (code, running.said()[-1]["message"]) == (0, "stopped by SIGTERM")
    assert time.monotonic() - began < 2


def test_sigterm_ends_it_while_it_waits_to_try_again(
    start: Callable[..., Running], gate: Gate, eventually: Callable[..., bool]
) -> None:
    gate.cut()
    running = start(gate.port)
    assert eventually(lambda: any("trying again in 4 s" in e["message"] for e in running.said()))

    began = time.monotonic()
    running.process.send_signal(signal.SIGTERM)

    assert running.process.wait(10) == 0
    assert time.monotonic() - began < 2


@pytest.fixture
def api(installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> script.Api:
    """The script's own client, with the rights of the ServiceAccount."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(installed.lab.port))
    monkeypatch.setenv("SERVICE_ACCOUNT_DIR", str(installed.account(tmp_path / "rights")))
    return script.Api()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/api/v1/nodes/{node}"),
        ("GET", "/api/v1/nodes/{node}"),
        ("PUT", "/api/v1/nodes/{node}"),
        ("PATCH", "/api/v1/nodes/{node}/status"),
        ("POST", "/api/v1/nodes"),
        ("GET", "/api/v1/secrets"),
        ("GET", "/api/v1/pods"),
        ("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps"),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
    ],
)
def test_its_account_may_do_nothing_else(
    api: script.Api, nodes: Nodes, method: str, path: str
) -> None:
    node = nodes.make("n")

    with pytest.raises(script.ApiError) as refused:
        api.call(method, path.format(node=node), {}, {})

    assert refused.value.status == 403


def test_certificates_of_old_eks_clusters_are_good_enough(api: script.Api) -> None:
    """Python 3.13 would refuse them for a missing key identifier; the rest is checked as ever."""
    assert not api.context.verify_flags & ssl.VERIFY_X509_STRICT
    assert api.context.verify_mode == ssl.CERT_REQUIRED
    assert api.context.check_hostname


def remover(api: script.Api) -> script.Remover:
    return script.Remover(api, EXPECTED, None)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"nvidia.com/mig.config.state": "pending"}}},
        {"metadata": {"labels": {"nvidia.com/mig.config": "all-disabled"}}},
        {"spec": {"taints": [STARTUP, *OTHERS]}},
        {"spec": {"taints": [*OTHERS]}},
    ],
    ids=["state", "config", "order", "gone"],
)
def test_a_change_in_between_is_not_overwritten(
    api: script.Api,
    nodes: Nodes,
    call: Call,
    change: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = f"/api/v1/nodes/{nodes.make('n')}"
    seen = call("GET", path)
    call("PATCH", path, change)
    before = call("GET", path)

    remover(api).look_at(seen)

    after = call("GET", path)
    assert json.loads(capsys.readouterr().out)["message"] == "the node changed meanwhile"
    assert what_others_set(after) == what_others_set(before)


def what_others_set(node: dict[str, Any]) -> tuple[Any, Any]:
    """Labels and taints, but for those that Kubernetes itself sets and takes as nodes get ready."""
    taints = [t for t in node["spec"]["taints"] if not t["key"].startswith("node.kubernetes.io/")]
    return taints, node["metadata"]["labels"]


def test_a_node_that_went_meanwhile_is_no_failure(
    api: script.Api, nodes: Nodes, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"/api/v1/nodes/{nodes.make('n')}"
    seen = call("GET", path)
    call("DELETE", path)

    remover(api).look_at(seen)

    assert json.loads(capsys.readouterr().out)["message"] == "the node changed meanwhile"


def test_every_page_of_nodes_is_looked_at(
    api: script.Api, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "PAGE", 2)
    made = [nodes.make(str(number)) for number in range(5)]

    remover(api).sweep()

    assert all(nodes.is_free(node) for node in made)


def test_its_pod_passes_the_strictest_standard_and_stays_off_gpu_nodes(
    installed: Installed, call: Call, nodes: Nodes, eventually: Callable[..., bool]
) -> None:
    """The ReplicaSet could not make the pod if the namespace's standard refused it."""
    nodes.make("gpu", taints=[])
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    assert eventually(lambda: call("GET", path)["items"] != [])

    (pod,) = call("GET", path)["items"]
    assert pod["spec"].get("nodeName") is None
    assert pod["spec"]["priority"] == 2_000_000_000
    assert set(installed.files) == {"mig_taint_remover.py", "expected.json"}


def test_the_probe_tells_progress_from_none(
    start: Callable[..., Running], tmp_path: Path, eventually: Callable[..., bool]
) -> None:
    heartbeat = tmp_path / "heartbeat"
    start()
    assert eventually(heartbeat.exists)

    def probe(seconds: str) -> int:
        command = [sys.executable, "-I", str(tmp_path / "script" / "mig_taint_remover.py")]
        environment = {"HEARTBEAT_FILE": str(heartbeat)}
        return subprocess.run([*command, "alive", seconds], env=environment, check=False).returncode

    assert (probe("600"), probe("0")) == (0, 1)
