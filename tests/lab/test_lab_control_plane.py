"""What a real control plane of the lab is like: versions, privacy, admission, simulated nodes."""

from __future__ import annotations

import http.client
import json
import shutil
import ssl
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.binaries import versions
from eks_gpushare_lab.control_plane.control_plane import SIMULATED_NODE, ControlPlane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

Call = Any
GPU = "nvidia.com/gpu"
LISTEN = "0A"  # the state of a listening socket in /proc/net/tcp


def pod(name: str, **resources: int) -> dict[str, Any]:
    limits = {f"nvidia.com/{resource}": str(count) for resource, count in resources.items()}
    container = {"name": "main", "image": "app", "resources": {"limits": limits}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def node(name: str, *, simulated: bool = True, gpus: int = 0) -> dict[str, Any]:
    """A node in full: kwok invents what is missing."""
    sizes = {"cpu": "8", "memory": "32Gi", "pods": "50", GPU: str(gpus)}
    info = {"kubeletVersion": "v1.35.4", "architecture": "amd64", "operatingSystem": "linux"}
    taints = [{"key": GPU, "value": "true", "effect": "NoSchedule"}] if gpus else []
    return {
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name},
            "annotations": dict([SIMULATED_NODE]) if simulated else {},
        },
        "spec": {"taints": taints},
        "status": {"capacity": sizes, "allocatable": sizes, "nodeInfo": info},
    }


@pytest.fixture
def made_node(call: Call) -> Iterator[Callable[..., str]]:
    """`made_node(name, ...)` makes a node that is gone after the test."""
    names: list[str] = []

    def make(name: str, **how: Any) -> str:
        assert call("POST", "/api/v1/nodes", node(name, **how))["_code"] == 201
        names.append(name)
        return name

    yield make
    for name in names:
        call("DELETE", f"/api/v1/nodes/{name}")


def pids(control_plane: ControlPlane) -> dict[str, int]:
    return {**control_plane.lab.processes, "supervisor": control_plane.lab.pid}


def listening(pid: int) -> set[str]:
    """Addresses, in hexadecimal as the kernel shows them, at which a process listens."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = descriptor.readlink().name
        except FileNotFoundError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        lines = Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        for words in map(str.split, lines):
            bound = words[3] == LISTEN or table.startswith("udp")
            if bound and words[9] in sockets:
                found.add(f"{table} {words[1]}")
    return found


def test_every_process_runs(control_plane: ControlPlane, runs: Callable[[int], bool]) -> None:
    expected = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"]

    assert sorted(control_plane.lab.processes) == expected
    assert all(runs(pid) for pid in pids(control_plane).values())


def test_nothing_but_the_api_server_listens_and_that_on_loopback(
    control_plane: ControlPlane,
) -> None:
    found = {name: listening(pid) for name, pid in pids(control_plane).items()}
    loopback = f"tcp 0100007F:{control_plane.lab.port:04X}"

    assert {name: where for name, where in found.items() if where} == {"kube-apiserver": {loopback}}


def test_the_store_is_reached_through_a_private_folder_only(control_plane: ControlPlane) -> None:
    directory = control_plane.lab.directory
    sockets = sorted(file.name for file in directory.iterdir() if file.is_socket())

    assert sockets == ["localhost:1", "localhost:2"]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_nobody_else_can_read_a_file_of_it(control_plane: ControlPlane) -> None:
    directory = control_plane.lab.directory
    files = [file for file in directory.rglob("*") if not file.is_symlink()]
    open_ones = [
        str(file.relative_to(directory))
        for file in files
        if stat.S_IMODE(file.stat().st_mode) & 0o077
    ]

    assert len(files) > 20
    assert open_ones == []


def test_no_key_stands_on_a_command_line_or_in_an_environment(control_plane: ControlPlane) -> None:
    for pid in pids(control_plane).values():
        for file in ("cmdline", "environ"):
            assert b"PRIVATE" not in Path(f"/proc/{pid}/{file}").read_bytes()


def test_processes_inherit_nothing_of_the_environment(control_plane: ControlPlane) -> None:
    names = set()
    for pid in control_plane.lab.processes.values():
        content = Path(f"/proc/{pid}/environ").read_bytes()
        names |= {entry.partition(b"=")[0] for entry in content.split(b"\0") if entry}

    own = {b"HOME", b"TMPDIR", b"GOGC", b"GOMEMLIMIT"}
    assert names <= {*own, b"LC_CTYPE"}  # the last is Python's


def test_who_has_no_certificate_is_refused(control_plane: ControlPlane) -> None:
    context = ssl.create_default_context(cafile=str(control_plane.ca))
    connection = http.client.HTTPSConnection(
        "127.0.0.1", control_plane.lab.port, timeout=10, context=context
    )
    connection.request("GET", "/version")
    status = connection.getresponse().status
    connection.close()

    assert status == 401


def test_the_api_server_says_its_version(call: Call) -> None:
    version = call("GET", "/version")

    assert version["gitVersion"] == versions.kubernetes().version == "v1.35.4"
    assert (version["major"], version["minor"]) == ("1", "35")


def test_kubectl_says_the_servers_version(control_plane: ControlPlane) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("there is no kubectl on PATH")
    command: list[str | Path] = [
        kubectl,
        "--kubeconfig",
        control_plane.kubeconfig,
        "version",
        "--output=json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)

    assert json.loads(done.stdout)["serverVersion"]["gitVersion"] == "v1.35.4"


def test_every_component_says_the_same_version(control_plane: ControlPlane) -> None:
    said = set()
    for name, pid in control_plane.lab.processes.items():
        if name.startswith("kube-"):
            program = Path(f"/proc/{pid}/exe").readlink()
            done = subprocess.run(
                [program, "--version"], capture_output=True, text=True, check=True, timeout=30
            )
            said.add(done.stdout.strip())

    assert said == {"Kubernetes v1.35.4"}


def test_a_pod_that_requests_gpus_gets_the_toleration(call: Call, namespace: str) -> None:
    made = call("POST", f"/api/v1/namespaces/{namespace}/pods", pod("one", gpu=1))

    assert {"key": GPU, "operator": "Exists", "effect": "NoSchedule"} in [
        {key: value for key, value in toleration.items() if key in {"key", "operator", "effect"}}
        for toleration in made["spec"]["tolerations"]
    ] or {"key": GPU, "operator": "Exists"} in made["spec"]["tolerations"]


def test_a_restricted_namespace_refuses_a_privileged_pod(call: Call, namespace: str) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    call("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}})
    wanted = pod("one")
    wanted["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    answer = call("POST", f"/api/v1/namespaces/{namespace}/pods", wanted)

    assert answer["_code"] == 403
    assert 'violates PodSecurity "restricted:latest": privileged' in answer["message"]


def test_a_quota_counts_gpus(call: Call, namespace: str, eventually: Callable[..., bool]) -> None:
    hard = {f"requests.{GPU}": "2"}
    quota = {"metadata": {"name": "gpus"}, "spec": {"hard": hard}}
    call("POST", f"/api/v1/namespaces/{namespace}/resourcequotas", quota)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    assert call("POST", pods, pod("first", gpu=2))["_code"] == 201
    answers = []

    def is_refused() -> bool:
        """Not at once: a quota restrains nobody before its controller has counted."""
        answers.append(call("POST", f"{pods}?dryRun=All", pod("second", gpu=1)))
        return bool(answers[-1]["_code"] == 403)

    assert eventually(is_refused)
    assert answers[-1]["message"] == (
        'pods "second" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, '
        "used: requests.nvidia.com/gpu=2, limited: requests.nvidia.com/gpu=2"
    )


def test_a_service_account_may_do_nothing_by_itself(call: Call, namespace: str) -> None:
    review = {
        "spec": {
            "user": f"system:serviceaccount:{namespace}:default",
            "resourceAttributes": {"verb": "list", "resource": "nodes"},
        }
    }
    answer = call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)

    assert answer["status"]["allowed"] is False


def test_a_pod_runs_on_a_tainted_gpu_node_without_a_toleration_of_its_own(
    call: Call, namespace: str, made_node: Callable[..., str], eventually: Callable[..., bool]
) -> None:
    made_node("gpu-node", gpus=4)
    path = f"/api/v1/namespaces/{namespace}/pods"
    call("POST", path, pod("one", gpu=1))

    assert eventually(lambda: call("GET", f"{path}/one")["status"].get("phase") == "Running")
    assert call("GET", f"{path}/one")["spec"]["nodeName"] == "gpu-node"


def test_a_node_without_the_annotation_is_left_alone(
    call: Call, made_node: Callable[..., str], eventually: Callable[..., bool]
) -> None:
    def conditions(name: str) -> list[Any]:
        found: list[Any] = call("GET", f"/api/v1/nodes/{name}")["status"].get("conditions", [])
        return found

    made_node("other-node", simulated=False)
    made_node("our-node")

    assert eventually(lambda: conditions("our-node") != [])
    assert not any(each["status"] == "True" for each in conditions("other-node"))


@pytest.mark.at_length
def test_flags_environment_and_scheduler_settings_arrive(
    lab_home: Path, runs: Callable[[int], bool]
) -> None:
    with ControlPlane(
        name="own-settings",
        flags={"kwok": ["--v=4"]},
        environment={"etcd": {"GOGC": "400"}},
        scheduler={"percentageOfNodesToScore": 5},
    ) as up:
        processes = up.lab.processes
        directory = up.lab.directory
        kwok = Path(f"/proc/{processes['kwok']}/cmdline").read_bytes().split(b"\0")
        etcd = Path(f"/proc/{processes['etcd']}/environ").read_bytes().split(b"\0")
        scheduler = json.loads((directory / "scheduler.json").read_text(encoding="utf-8"))

    assert directory == lab_home / "eks-gpushare" / "lab" / "own-settings"
    assert b"--v=4" in kwok
    assert b"GOGC=400" in etcd
    assert scheduler["percentageOfNodesToScore"] == 5
    assert not directory.exists()
    assert not any(runs(pid) for pid in processes.values())
