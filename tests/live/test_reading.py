"""What a cluster is read from: an API server that is busy, forgetful or strict, and dumps of it."""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from tests.live.test_faults import pod

from eks_gpushare.cli import main
from eks_gpushare.live import connection, listing
from eks_gpushare.live.connection import ApiResponse, CannotLookError, api_server, event_server
from eks_gpushare.live.dumps import read_dumps
from eks_gpushare.live.held_shares import KINDS
from eks_gpushare.live.kinds import LISTED, cluster_role
from eks_gpushare.live.listing import PAGE, read_cluster
from eks_gpushare_lab.control_plane.certificates import ServiceAuthority

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NEEDS_KUBECTL = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")
DATA = Path(__file__).parents[2] / "examples" / "verify" / "cluster.json"
STACK = str(Path(__file__).parents[2] / "stacks" / "Pulumi.time-slicing.yaml")
HEALTHY = json.loads(DATA.read_text())["items"]
GONE = {"kind": "Status", "code": 410, "message": "The provided continue parameter is too old"}
FORBIDDEN = {"kind": "Status", "code": 403, "message": "pods is forbidden"}


VERSION = "v1.35.4-eks-1a2b3c4"


class FakeServer:
    """An API server with the objects of the data, as busy as a test wants it."""

    whence = "https://api.example.com"

    def __init__(self, **more: list[dict[str, Any]]) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, list[ApiResponse]] = {}
        """Answers that come before its own, by path."""
        self.groups: dict[str, dict[str, str]] = {"apps": {"daemonsets": "v1"}}
        self._objects: dict[str, list[dict[str, Any]]] = {
            f"{each['kind'].lower()}s": [] for each in HEALTHY
        }
        for each in HEALTHY:
            self._objects[f"{each['kind'].lower()}s"].append(each)
        self._objects |= more

    def get(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = "application/json"
    ) -> ApiResponse:
        query = query or {}
        self.asked.append(f"{path}?{query.get('continue', '')}".rstrip("?"))
        before = self.answers.get(path)
        if before:
            return before.pop(0)
        if path == "/apis":
            assert "apidiscovery" in accept
            return ApiResponse(200, {"items": [group_of(*each) for each in self.groups.items()]})
        if path == "/version":
            return ApiResponse(200, {"major": "1", "minor": "35", "gitVersion": VERSION})
        if "limit" not in query:  # such as whether it lives
            return ApiResponse(200, {})
        found = self._objects.get(path.rpartition("/")[2], [])
        start, most = int(query.get("continue") or 0), int(query["limit"])
        after = start + most
        metadata = {"continue": str(after)} if after < len(found) else {}
        return ApiResponse(
            200, {"apiVersion": "v1", "metadata": metadata, "items": found[start:after]}
        )


def group_of(name: str, resources: Mapping[str, str]) -> dict[str, Any]:
    versions = [
        {"version": version, "resources": [{"resource": resource}]}
        for resource, version in resources.items()
    ]
    return {"metadata": {"name": name}, "versions": versions}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr(listing, "pause", waits.append)
    return waits


def test_a_small_cluster_takes_a_request_for_each_kind() -> None:
    server = FakeServer()
    found = read_cluster(server)

    assert len(found.of("Node")) == 3
    assert found.of("Pod")[0]["kind"] == "Pod"  # of a list, which says it once
    assert not found.unread
    assert found.version == VERSION
    # Its groups, its version, and 11 kinds. A kubectl that chooses one of its own by the server's
    # version, such as the dispatcher of Google's SDK, asks for that twice more.
    always = [
        listed
        for listed in LISTED
        if listed.version and listed.where not in {"tenants", "refusals", "stuck"}
    ]
    assert len(server.asked) == 2 + len(always) == 13


def test_what_holds_tenants_is_asked_for_where_a_stack_has_them() -> None:
    without, with_them = FakeServer(), FakeServer()
    read_cluster(without)
    read_cluster(with_them, tenants=True)

    asked = {*with_them.asked} - {*without.asked}
    assert {path.rpartition("/")[2] for path in asked} == {
        "networkpolicies",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    }


def test_claims_are_asked_for_where_something_names_them() -> None:
    def asked(**more: list[dict[str, Any]]) -> bool:
        server = FakeServer(**more)
        server.groups["resource.k8s.io"] = {"resourceclaims": "v1"}
        read_cluster(server)
        return any("resourceclaims" in path for path in server.asked)

    made = pod("x", resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}])
    assert not asked()
    assert asked(pods=[made])


def test_whoever_needs_less_asks_for_less() -> None:
    server = FakeServer()
    found = read_cluster(server, kinds=KINDS)

    assert len(found.of("Node")) == 3
    assert {*found.by_kind} == {*KINDS}
    listed = {path for path in server.asked if path not in {"/apis", "/version"}}
    assert listed == {"/api/v1/nodes", "/api/v1/pods", "/api/v1/configmaps"}


def test_custom_resources_are_asked_for_where_they_are_served() -> None:
    server = FakeServer(nodepools=[{"metadata": {"name": "gpus"}}])
    server.groups["karpenter.sh"] = {"nodepools": "v1"}

    assert read_cluster(server).of("NodePool")[0]["apiVersion"] == "v1"
    assert "/apis/karpenter.sh/v1/nodepools" in server.asked


def test_many_objects_come_page_by_page() -> None:
    pods = [{"metadata": {"name": f"pod-{number}", "managedFields": []}} for number in range(1200)]
    server = FakeServer(pods=pods)

    found = read_cluster(server).of("Pod")
    assert len(found) == 1200
    assert "managedFields" not in found[0]["metadata"]
    asked = [each for each in server.asked if each.startswith("/api/v1/pods")]
    assert asked == ["/api/v1/pods", f"/api/v1/pods?{PAGE}", f"/api/v1/pods?{2 * PAGE}"]


def test_a_list_that_became_too_old_is_read_again_from_its_start() -> None:
    pods = [{"metadata": {"name": f"pod-{number}"}} for number in range(600)]
    server = FakeServer(pods=pods)
    page = {"apiVersion": "v1", "metadata": {"continue": "500"}, "items": pods[:500]}
    server.answers["/api/v1/pods"] = [ApiResponse(200, page), ApiResponse(410, GONE)]

    assert len(read_cluster(server).of("Pod")) == 600


def test_a_list_that_is_always_too_old_is_unknown() -> None:
    server = FakeServer()
    server.answers["/api/v1/configmaps"] = [ApiResponse(410, GONE)] * 9

    unread = read_cluster(server).unread
    assert unread == {"ConfigMap": "the list of configmaps was too old 4 times, before its end"}


def test_a_busy_server_is_asked_again_when_it_says(impatient: list[float]) -> None:
    server = FakeServer()
    server.answers["/api/v1/nodes"] = [ApiResponse(429, "", 3.0), ApiResponse(429, "", 99.0)]

    assert read_cluster(server).of("Node")
    assert impatient == [3.0, 10.0]


def test_a_missing_right_is_unknown_with_the_verb() -> None:
    server = FakeServer()
    server.answers["/apis/apps/v1/daemonsets"] = [ApiResponse(403, FORBIDDEN)]

    assert read_cluster(server).unread == {
        "DaemonSet": "to list daemonsets of apps is not allowed, so it is not known whether a "
        "device plugin is there; eks-gpushare verify --rbac prints the rights"
    }


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        ("/api/v1/nodes", ApiResponse(403, FORBIDDEN), "to list nodes is not allowed"),
        ("/api/v1/pods", ApiResponse(500, "etcd is away"), "pods cannot be listed: etcd is away"),
        ("/apis", ApiResponse(401, {"message": "Unauthorized"}), "does not know who asks"),
        (
            "/apis",
            ApiResponse(502, "getting credentials: exec: executable aws not found"),
            "aws not f",
        ),
    ],
)
def test_without_nodes_and_pods_there_is_nothing_to_say(
    path: str, answer: ApiResponse, said: str
) -> None:
    server = FakeServer()
    server.answers[path] = [answer]

    with pytest.raises(CannotLookError, match=said):
        read_cluster(server)


class Silent(FakeServer):
    """One that does not answer."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self._error = error

    def get(self, path: str, query: object = None, accept: str = "") -> ApiResponse:
        self.asked.append(f"{path}{query}{accept}")
        raise self._error


@pytest.mark.parametrize(
    ("error", "said", "tries"),
    [
        (TimeoutError("timed out"), "no answer in time", 1),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused", 4),
    ],
)
def test_nobody_answers(error: OSError, said: str, tries: int) -> None:
    server = Silent(error)

    with pytest.raises(CannotLookError, match=said):
        read_cluster(server)
    assert len(server.asked) == tries


def test_the_role_is_what_is_read_and_no_more() -> None:
    rules: Any = cluster_role("x")["rules"]

    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}
    allowed = {
        (group, each) for rule in rules for group in rule["apiGroups"] for each in rule["resources"]
    }
    assert allowed == {(listed.group, listed.plural) for listed in LISTED}
    assert "secrets" not in {plural for _, plural in allowed}


def written(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_dumps_of_every_shape_are_the_same(tmp_path: Path) -> None:
    one = written(tmp_path, "list.json", json.dumps({"kind": "List", "items": HEALTHY}))
    several = written(tmp_path, "documents.yaml", yaml.safe_dump_all(HEALTHY))
    raw = tmp_path / "raw"
    raw.mkdir()
    for kind in {each["kind"] for each in HEALTHY}:
        items = [
            {k: v for k, v in each.items() if k != "kind"}
            for each in HEALTHY
            if each["kind"] == kind
        ]
        written(
            raw,
            f"{kind}.json",
            json.dumps({"kind": f"{kind}List", "apiVersion": "v1", "items": items}),
        )

    found = [read_dumps([name]) for name in (one, several, str(raw))]
    for kind in ("Node", "Pod", "DaemonSet", "ConfigMap"):
        names = [sorted(each["metadata"]["name"] for each in dump.of(kind)) for dump in found]
        assert names[0] == names[1] == names[2]
    assert found[0].at == found[1].at == found[2].at


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps({"kind": "List", "items": HEALTHY})[:-900], "A dump that was cut off"),
        (yaml.safe_dump({"kind": "List", "items": HEALTHY})[:-33] + "\n  x: [", "was cut off"),
        ("", "no Node is in it"),
        ("kind: List\nitems: []\n", "kubectl get nodes,pods"),
        ("- 1\n- 2\n", "no Node is in it"),
    ],
)
def test_a_dump_that_is_none_is_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    assert main(["verify", "--from", written(tmp_path, "dump.yaml", text)]) == 2
    assert said in capsys.readouterr().err


def test_a_dump_without_daemon_sets_says_what_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [each for each in HEALTHY if each["kind"] in {"Node", "Pod"}]
    file = written(tmp_path, "dump.json", json.dumps({"kind": "List", "items": items}))

    assert main(["verify", "--from", file]) == 0
    out = capsys.readouterr().out
    assert "unknown DaemonSet: the dump has no DaemonSet, so it is not known whether" in out


@pytest.mark.parametrize(
    ("kind", "label", "unknown"),
    [
        ("Node", "karpenter.sh/nodepool", "NodeClaim NodePool"),
        ("Pod", "kueue.x-k8s.io/queue-name", "Workload"),
    ],
)
def test_a_dump_without_custom_resources_says_what_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, label: str, unknown: str
) -> None:
    items = copy.deepcopy(HEALTHY)
    given = next(each for each in items if each["kind"] == kind)
    given["metadata"].setdefault("labels", {})[label] = "x"
    file = written(tmp_path, "dump.json", json.dumps({"kind": "List", "items": items}))
    _, out, _ = verified(capsys, "--json", "--from", file)

    assert sorted(each["kind"] for each in json.loads(out)["unknown"]) == unknown.split()
    listed = {"kind": "List", "items": [*items, *map(custom, unknown.split())]}
    file = written(tmp_path, "dump.json", json.dumps(listed))
    assert json.loads(verified(capsys, "--json", "--from", file)[1])["unknown"] == []


def custom(kind: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}}


@pytest.mark.parametrize("given", ["", "a/", "/a", "a/b/c"])
def test_what_names_no_pod_is_said_to(capsys: pytest.CaptureFixture[str], given: str) -> None:
    assert main(["verify", "--pod", given]) == 2
    said = "names no pod: write NAMESPACE/NAME, or NAME of one in default"
    assert f"error: argument --pod: {given!r} {said}" in capsys.readouterr().err


def verified(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["verify", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_says_in_a_line_that_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert verified(capsys, "--quiet", "--from", str(DATA)) == (
        0,
        f"{DATA}: nothing is wrong, 1 pool, 1 node, 0 of 40 nvidia.com/gpu used\n",
        "",
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "nowhere.yaml"), "nowhere.yaml cannot be read: no such file or directory."),
        (
            ("--from", str(DATA), "--wait", "5"),
            "--context, --wait, --watch and --events are for a cluster",
        ),
        (("--from", str(DATA), "nothing"), "nothing"),
        (("--kubeconfig", "nowhere"), "There is no kubeconfig nowhere. Give --kubeconfig FILE."),
        (("--watch", "--output", "sarif"), "--watch shows text, or JSON by the line"),
        (("--watch", "--push", "http://g:9091"), "--push is for a single look"),
        (("--listen", ":9464"), "give --watch too"),
        (("--push-as", "prod"), "give --push too"),
        (("--push", "http://g:9091", "--push-as", "a/b"), "'a/b' is no name of an instance"),
        (("--watch", "--interval", "60"), "leave --interval away"),
        (("--watch", "--listen", "9464"), "'9464' is no HOST:PORT such as 127.0.0.1:9464"),
        (("--watch", "--listen", ":65536"), "':65536' is no HOST:PORT"),
        (("--push", "gateway:9091"), "'gateway:9091' is no address of a Pushgateway"),
        (("--push", "http://u:p@g:9091"), "is no address of a Pushgateway"),
        (("--push", "http://g:x"), "is no address of a Pushgateway"),
        (("--wait", "soon"), "'soon' is no number of seconds such as 600"),
        (("--from", str(DATA), "--pool", "x"), "has no pool x; its pools are gpu"),
        (("--from", str(DATA), "--pod", "a/b"), "There is no pod b in the namespace a"),
    ],
)
def test_wrong_usage_is_said_and_ends_with_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, out, err = verified(capsys, *words)

    assert (code, out) == (2, "")
    assert said in err


def test_a_stack_with_errors_declares_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """All of them are told, as other verbs tell them; 1 would say that the cluster is wrong."""
    wrong = "config:\n  eks-gpushare:environment: {pools: 1, clusters: 2}\n"
    file = written(tmp_path, "Pulumi.bad.yaml", wrong)
    code, out, err = verified(capsys, "--from", str(DATA), file)

    assert (code, out) == (2, "")
    assert "pools" in err
    assert "clusters" in err

    code, out, again = verified(capsys, "--from", str(DATA), "--json", file)
    assert (code, again) == (2, err)
    assert {found["severity"] for found in json.loads(out)["findings"]} == {"error"}
    assert main(["check", "--quiet", file]) == 1
    assert capsys.readouterr().out == err


def test_it_is_written_as_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = verified(capsys, "--from", str(DATA), "--output", "prometheus", STACK)

    assert code == 0
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    assert lines == [
        'gpushare_declared{pool="gpu",resource="nvidia.com/gpu"} 40',
        'gpushare_advertised{pool="gpu",resource="nvidia.com/gpu"} 40',
        'gpushare_used{pool="gpu",resource="nvidia.com/gpu"} 0',
        'gpushare_waiting_pods{resource="nvidia.com/gpu"} 0',
        'gpushare_check_failed{code="GPU1345",severity="info",pool="gpu"} 1',
        "gpushare_verify_last_success_timestamp_seconds 1795716127",
    ]
    told = {line.split()[2] for line in out.splitlines() if line.startswith("# TYPE")}
    assert told >= {line.split("{")[0].split()[0] for line in lines}


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github", "gitlab"])
def test_it_is_written_in_every_format(capsys: pytest.CaptureFixture[str], form: str) -> None:
    code, out, err = verified(capsys, "--from", str(DATA), "--output", form)

    assert (code, err) == (0, "")
    assert "GPU1345" in out


def test_its_json_has_pools_causes_and_what_is_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = verified(capsys, "--json", "--from", str(DATA))
    found = json.loads(out)

    assert (found["ok"], found["stack"], found["unknown"], found["joining"]) == (True, None, [], [])
    assert found["pools"] == [
        {
            "pool": "gpu",
            "resource": "nvidia.com/gpu",
            "nodes": {"declared": None, "there": 1, "ready": 1},
            "declared": None,
            "advertised": 40,
            "used": 0,
            "waiting": 0,
        }
    ]
    assert set(found["findings"][0]) == {
        *("code", "severity", "path", "message", "fix", "source"),
        *("nodes", "evidence", "follows"),
    }
    assert found["at"] == "2026-11-26T18:02:07+00:00"


def tainted(tmp_path: Path, pods: int, deployments: int = 1) -> str:
    """A dump of a cluster whose node somebody has tainted, so that pods wait."""
    given = copy.deepcopy(HEALTHY)
    node = next(each for each in given if each["metadata"]["name"] == "gpu-0")
    node["spec"]["taints"].append({"key": "dedicated", "value": "x", "effect": "NoSchedule"})
    entry = {"manager": "kubectl-taint", "time": "2026-11-26T17:50:07Z"}
    node["metadata"]["managedFields"] = [{**entry, "fieldsV1": {"f:spec": {"f:taints": {}}}}]
    for number in range(pods):
        app = f"app-{number % deployments}"
        owner = {"kind": "ReplicaSet", "name": f"{app}-7d", "controller": True}
        metadata = {
            "name": f"{app}-7d-{number}",
            "namespace": "team",
            "creationTimestamp": "2026-11-26T17:50:10Z",
            "labels": {"pod-template-hash": "7d"},
            "ownerReferences": [owner],
        }
        share = {"resources": {"limits": {"nvidia.com/gpu": "1"}}, "name": "x", "image": "x"}
        spec = {"containers": [share], "tolerations": [{"key": "nvidia.com/gpu"}]}
        given.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return written(tmp_path, "cluster.json", json.dumps({"kind": "List", "items": given}))


def test_consequences_are_short_and_times_are_ages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = verified(capsys, STACK, "--quiet", "--from", tainted(tmp_path, 3))
    told = " ".join(out.split())

    assert code == 1
    assert "set by kubectl-taint at 2026-11-26T17:50:07Z, 12 min ago" in told
    assert "Deployment team/app-0: 3 pods wait for 1 nvidia.com/gpu each. fix" in told
    assert "It must, or these nodes" not in told, "that is said where it is the cause"


def test_of_many_causes_the_first_are_told_and_the_others_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = verified(capsys, "--quiet", "--from", tainted(tmp_path, 40, deployments=40))

    assert out.count("\nerror GPU") == 20
    assert "  and 21 more, which --json has: 21 GPU1340\n" in out


def test_a_cluster_without_gpus_is_told_to_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [each for each in HEALTHY if each["metadata"]["name"].startswith("system-")]
    file = written(tmp_path, "cluster.json", json.dumps({"kind": "List", "items": nodes}))

    assert verified(capsys, "--from", file)[1].startswith(
        f"{file}: nothing is wrong as far as is known, no node has a GPU\n"
    )


def test_of_dumps_that_overlap_the_newer_counts_in_any_order(tmp_path: Path) -> None:
    files = []
    for version, share in (("99", "30"), ("100", "40")):
        given = copy.deepcopy(HEALTHY)
        node = next(each for each in given if each["metadata"]["name"] == "gpu-0")
        node["metadata"]["resourceVersion"] = version
        node["status"]["allocatable"]["nvidia.com/gpu"] = share
        text = json.dumps({"kind": "List", "items": given})
        files.append(written(tmp_path, f"{version}.json", text))

    for order in (files, files[::-1], [*files, *files]):
        (node,) = (n for n in read_dumps(order).of("Node") if n["metadata"]["name"] == "gpu-0")
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "40"


def test_its_role_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = verified(capsys, "--rbac")

    assert code == 0
    assert json.loads(out) == cluster_role("eks-gpushare-verify")


class Handler(BaseHTTPRequestHandler):
    """An API server for kubectl, which notes what is asked."""

    protocol_version = "HTTP/1.1"
    server: Asked

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.headers['Authorization']}")
        path = urlsplit(self.path)
        query = {key: value[0] for key, value in parse_qs(path.query).items()}
        answer = FakeServer().get(path.path, query, self.headers["Accept"])
        body = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def do_PATCH(self) -> None:
        self.do_POST()

    def do_PUT(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Asked(ThreadingHTTPServer):
    """An API server on a port of this machine."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        """Method and credentials of each request."""
        ServiceAuthority().write(folder, [])
        self.authority = folder / "ca.crt"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.port = self.server_address[1]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Asked]:
    with Asked(tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def kubeconfig(folder: Path, server: Asked, user: Mapping[str, Any]) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "one", "user": "one"}},
            {"name": "away", "context": {"cluster": "away", "user": "one"}},
        ],
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": f"https://127.0.0.1:{port}",
                    "certificate-authority": str(server.authority),
                },
            }
            for name, port in (("one", server.port), ("away", 1))
        ],
        "users": [{"name": "one", "user": user}],
    }
    return written(folder, "kubeconfig", yaml.safe_dump(config))


def by_exec(folder: Path, version: str) -> dict[str, Any]:
    """A login by a program, as AWS's is."""
    credential = {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "kind": "ExecCredential",
        "status": {"token": "of-a-program"},
    }
    program = written(folder, "login.py", f"print({json.dumps(json.dumps(credential))})")
    login = {"command": sys.executable, "args": [program], "interactiveMode": "Never"}
    return {"exec": {"apiVersion": credential["apiVersion"], **login}}


@NEEDS_KUBECTL
@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_a_login_by_a_program_is_kubectls_business(
    tmp_path: Path, served: Asked, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    config = kubeconfig(tmp_path, served, by_exec(tmp_path, version))
    code, out, err = verified(capsys, "--quiet", "--kubeconfig", config)

    assert (code, err) == (0, "")
    assert out.endswith("nothing is wrong, 1 pool, 1 node, 0 of 40 nvidia.com/gpu used\n")
    asked = served.asked
    assert set(asked) == {"GET Bearer of-a-program"}


@NEEDS_KUBECTL
def test_costs_are_of_the_cluster_that_is_named(
    tmp_path: Path, served: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    config = kubeconfig(tmp_path, served, {"token": "x"})
    code = main(["cost", STACK, "--kubeconfig", config, "--context", "one", "--json"])
    found = json.loads(capsys.readouterr().out)

    assert code == 0
    assert found["use"]["from"] == f"https://127.0.0.1:{served.port}"
    assert [line["use"] for line in found["lines"]] == ["idle"]
    assert found["usdPerHour"] == 4.6016


@NEEDS_KUBECTL
def test_nothing_that_writes_gets_through(tmp_path: Path, served: Asked) -> None:
    config = kubeconfig(tmp_path, served, {"token": "x"})
    with api_server(config) as server:
        raw = server._connection  # noqa: SLF001
        raw.request("DELETE", "/api/v1/nodes/gpu-0")
        answer = raw.getresponse()
        assert (answer.status, answer.read()) == (403, b"Forbidden\n")

    assert "DELETE Bearer x" not in served.asked


@NEEDS_KUBECTL
def test_nothing_but_events_gets_through_where_they_are_written(
    tmp_path: Path, served: Asked
) -> None:
    events, config = (
        "/api/v1/namespaces/default/events",
        kubeconfig(tmp_path, served, {"token": "x"}),
    )
    with event_server(config, None) as server:
        allowed = [
            server.write(*each, {}).status
            for each in (("POST", events), ("PATCH", f"{events}/gpu-0.a1"))
        ]
        refused = [
            server.write(*each, {}).status
            for each in (
                *(("DELETE", f"{events}/gpu-0.a1"), ("PUT", f"{events}/gpu-0.a1")),
                *(("GET", events), ("POST", "/api/v1/namespaces/default/pods")),
                *(("PATCH", "/api/v1/nodes/gpu-0"), ("POST", f"{events}/a/b")),
                *(("POST", "/api/v1/events"), ("POST", f"{events}/../pods")),
                ("PATCH", "/api/v1/namespaces/default/pods/x/events"),
            )
        ]

    assert allowed == [200, 200]
    assert set(refused) == {403, 301}, "301 tells to ask for what the way leads to, without .."
    # kubectl itself asks for the version of the server.
    asked = [each for each in served.asked if not each.startswith("GET ")]
    assert asked == ["POST Bearer x", "PATCH Bearer x"]


@NEEDS_KUBECTL
@pytest.mark.parametrize(
    ("user", "context", "said"),
    [
        ({"token": "x"}, "away", "connection refused"),
        ({"token": "x"}, "other", 'context "other" does not exist'),
        (
            {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "aws-of-nobody",
                    "interactiveMode": "Never",
                }
            },
            "one",
            "executable aws-of-nobody not found",
        ),
    ],
)
def test_what_kubectl_cannot_do_is_said_in_its_words(
    tmp_path: Path,
    served: Asked,
    capsys: pytest.CaptureFixture[str],
    user: dict[str, Any],
    context: str,
    said: str,
) -> None:
    config = kubeconfig(tmp_path, served, user)
    code, out, err = verified(capsys, "--kubeconfig", config, "--context", context)

    assert (code, out) == (2, "")
    assert said in err


def test_without_kubectl_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = verified(capsys, "--kubeconfig", written(tmp_path, "config", "{}"))

    assert code == 2
    assert "kubectl is not installed, by which clusters are read. Install it, or read a" in err


def test_without_a_kubeconfig_it_says_how_to_get_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    code, _, err = verified(capsys)

    assert code == 2
    assert "Run aws eks update-kubeconfig --name CLUSTER, or read a dump with --from FILE." in err


@pytest.mark.parametrize("named", [True, False], ids=["KUBECONFIG", "home"])
def test_a_kubeconfig_is_found_where_kubectl_finds_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    named: bool,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if named:
        away = f"{tmp_path / 'away'}{os.pathsep}{os.pathsep}{written(tmp_path, 'config', '{}')}"
        monkeypatch.setenv("KUBECONFIG", away)
    else:
        (tmp_path / ".kube").mkdir()
        written(tmp_path / ".kube", "config", "{}")
    code, _, err = verified(capsys)

    assert code == 2
    assert "kubectl is not installed" in err


def test_within_a_pod_the_service_account_is_used(
    tmp_path: Path,
    served: Asked,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written(tmp_path, "token", "of-a-pod\n")
    monkeypatch.setattr(connection, "_ACCOUNT", tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(served.port))
    code, _, err = verified(capsys)

    assert (code, err) == (0, "")
    assert set(served.asked) == {"GET Bearer of-a-pod"}


def test_a_pod_without_a_token_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_ACCOUNT", tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    code, _, err = verified(capsys)

    assert code == 2
    assert "automountServiceAccountToken: true" in err


AS_A_TERMINAL_HAS_IT = """\
import runpy, signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("eks_gpushare", run_name="__main__")
"""
"""The command, also where these tests run by nohup or behind others, which ignores signals."""


ENDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)


@NEEDS_KUBECTL
@pytest.mark.parametrize("number", ENDS)
def test_kubectl_ends_with_it_however_it_is_ended(
    tmp_path: Path, served: Asked, number: signal.Signals
) -> None:
    """A proxy that stays is a way to the cluster for whoever is this user."""
    real = shutil.which("kubectl")
    pid = tmp_path / "pid"
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *proxy*) echo $$ > {pid};; esac\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    config = kubeconfig(tmp_path, served, {"token": "of-a-file"})
    words = ["verify", "--kubeconfig", config, "--context", "away", "--wait", "60"]
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        [sys.executable, "-c", AS_A_TERMINAL_HAS_IT, *words],
        env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until = time.monotonic() + 20
        while not any(tmp_path.glob("gpushare-*/api")) and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)

    assert "Traceback" not in said
    if number is signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert process.returncode == (130 if number is signal.SIGINT else 128 + number)
        assert list(tmp_path.glob("gpushare-*")) == []
    assert ends(int(pid.read_text()))


@NEEDS_KUBECTL
def test_a_cluster_whose_address_kubectl_does_not_say_has_no_name(
    tmp_path: Path, served: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("kubectl")
    program = Path(written(tmp_path, "kubectl", "#!/bin/sh\n"))
    program.write_text(f'#!/bin/sh\ncase "$*" in *view*) exit 1;; esac\nexec {real} "$@"\n')
    program.chmod(0o755)
    config = kubeconfig(tmp_path, served, {"token": "of-a-file"})
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    with api_server(config, "away") as server:
        assert server.whence == "the cluster"


@NEEDS_KUBECTL
def test_a_proxy_that_ends_is_told(tmp_path: Path, served: Asked) -> None:
    config = kubeconfig(tmp_path, served, {"token": "of-a-file"})
    with api_server(config) as server:
        read_cluster(server)
        proxy = kubectl_children()[0]
        os.kill(proxy, signal.SIGKILL)
        os.waitpid(proxy, 0)

        with pytest.raises(CannotLookError, match=r"kubectl proxy, by which it is read, has ended"):
            read_cluster(server)


def ends(process: int) -> bool:
    """Whether a process ends soon, be it that nobody has asked for its exit code yet."""
    stat = Path(f"/proc/{process}/stat")
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def kubectl_children() -> list[int]:
    """Programs called kubectl that this process has started."""
    own = Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children").read_text()
    return [
        int(child) for child in own.split() if "kubectl" in Path(f"/proc/{child}/comm").read_text()
    ]
