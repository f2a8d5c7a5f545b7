"""`verify` with the rights of `--rbac` alone, and what the API server's log has of it.

With `--events` it writes Events, by a right to do so and no other.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.cli import main
from eks_gpushare.live import nodes
from eks_gpushare.live.kinds import LISTED
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from eks_gpushare_lab.binaries.build import Programs
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.at_length,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH"),
]

QUIET_SECONDS = 0.4
USER = "system:serviceaccount:default:verify"
STACK = "time-slicing"
EVENTS = "/api/v1/namespaces/default/events"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def audited(programs: Programs, lab_home: Path, tmp_path: Path, log: Path) -> Iterator[Lab]:
    """A control plane whose API server writes down who asks for what."""
    assert programs.paths
    assert lab_home.is_dir()
    policy = tmp_path / "policy.yaml"
    every = {"level": "Metadata", "omitStages": ["RequestReceived"]}
    about = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [every]}
    policy.write_text(yaml.safe_dump(about), encoding="utf-8")
    flags = [f"--audit-policy-file={policy}", f"--audit-log-path={log}"]
    with ControlPlane(flags={"kube-apiserver": flags}) as up:
        yield up.lab


def kubeconfig(lab: Lab, token: str, folder: Path) -> str:
    cluster = {"server": lab.url, "certificate-authority": str(lab.ca)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        "clusters": [{"name": "one", "cluster": cluster}],
        "users": [{"name": "one", "user": {"token": token}}],
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    return str(file)


def token_with(client: Client, role: dict[str, Any]) -> str:
    """A token of a service account that has a ClusterRole and nothing else."""
    name = role["metadata"]["name"]
    api = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": "verify", "namespace": "default"}
    client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "verify"}})
    client.apply(role)
    client.apply(
        {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
            "subjects": [account],
        }
    )
    path = "/api/v1/namespaces/default/serviceaccounts/verify/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token: str = client.request("POST", path, body=asked).object["status"]["token"]
    return token


def laid(lab: Lab, desired: Callable[[str], DesiredCluster]) -> Client:
    """The stack in the lab, at rest; who may do anything there."""
    client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
    with Session(client) as session:
        session.install(desired(STACK))
        assert session.settle(QUIET_SECONDS)
    return client


def asked_by(user: str, log: Path) -> list[dict[str, Any]]:
    events = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    return [event for event in events if event["user"]["username"] == user]


def test_with_its_role_alone_it_reads_and_asks_for_no_secret(
    audited: Lab,
    log: Path,
    desired: Callable[[str], DesiredCluster],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client = laid(audited, desired)
    assert main(["verify", "--rbac"]) == 0
    token = token_with(client, json.loads(capsys.readouterr().out))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}
    client.apply(secret)

    code = main(["verify", STACK, "--json", "--kubeconfig", kubeconfig(audited, token, tmp_path)])
    told = json.loads(capsys.readouterr().out)
    client.close()
    found = asked_by(USER, log)
    objects = [event["objectRef"] for event in found if "objectRef" in event]

    assert (code, told["unknown"]) == (0, [])
    assert told["pools"][0]["advertised"] == 40
    assert {event["verb"] for event in found} <= {"get", "list"}
    assert {event["annotations"]["authorization.k8s.io/decision"] for event in found} == {"allow"}
    served = [listed for listed in LISTED if listed.version and listed.where != "tenants"]
    core = {listed.plural for listed in served if listed.where not in {"refusals", "stuck"}}
    assert {about["resource"] for about in objects} == core
    of_kubectl = [each for each in found if each["requestURI"] == "/version?timeout=5s"]
    assert len(found) - len(of_kubectl) <= 14
    written = (json.loads(line)["verb"] for line in log.read_text(encoding="utf-8").splitlines())
    assert "patch" in written, "the log has what writes"


def test_with_events_it_writes_these_alone_and_one_for_each_cause(
    monkeypatch: pytest.MonkeyPatch,
    audited: Lab,
    log: Path,
    desired: Callable[[str], DesiredCluster],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(nodes, "JOINING_SECONDS", 0.0)  # its node has just been made
    client = laid(audited, desired)
    assert main(["verify", "--rbac", "--events"]) == 0
    token = token_with(client, json.loads(capsys.readouterr().out))
    config = kubeconfig(audited, token, tmp_path)

    def look() -> list[dict[str, Any]]:
        main(["verify", STACK, "--json", "--events", "--kubeconfig", config])
        assert json.loads(capsys.readouterr().out)["unknown"] == []
        events = client.request("GET", f"{EVENTS}?fieldSelector=source=eks-gpushare-verify")
        found: list[dict[str, Any]] = events.object["items"]
        return found

    def taints(given: list[dict[str, Any]]) -> None:
        merge = "application/merge-patch+json"
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        client.request("PATCH", path, body={"spec": {"taints": given}}, content_type=merge)

    (node,) = (
        each
        for each in client.request("GET", "/api/v1/nodes").object["items"]
        if "eks-gpushare/pool" in each["metadata"]["labels"]
    )
    before = node["spec"]["taints"]
    assert look() == []
    taints([*before, {"key": "dedicated", "value": "x", "effect": "NoExecute"}])
    (event,) = look()
    assert (event["reason"], event["count"]) == ("GPU1306", 1)
    assert event["involvedObject"]["uid"] == node["metadata"]["uid"]
    (same,) = look()
    assert same["count"] == 1, "not at every look"
    name, merge = event["metadata"]["name"], "application/merge-patch+json"
    long_ago = {"lastTimestamp": "2026-01-01T00:00:00Z"}
    client.request("PATCH", f"{EVENTS}/{name}", body=long_ago, content_type=merge)
    (again,) = look()
    assert (again["count"], again["metadata"]["uid"]) == (2, event["metadata"]["uid"])
    taints(before)
    assert [each["count"] for each in look()] == [2], "what has ended is told no more"
    client.close()

    written = [each for each in asked_by(USER, log) if each["verb"] not in {"get", "list"}]
    assert [each["verb"] for each in written] == ["create", "patch"]
    assert {each["objectRef"]["resource"] for each in written} == {"events"}
