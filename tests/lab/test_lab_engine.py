"""What `lab run --engine` does around the engine; the engine itself is in tests/engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import sampled

from eks_gpushare.live import die_with_parent
from eks_gpushare.program.preview import preview
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of
from eks_gpushare.stack_file.project import find_project
from eks_gpushare_lab.engine import engine as engines
from eks_gpushare_lab.engine import guard, tools
from eks_gpushare_lab.engine.engine import Engine
from eks_gpushare_lab.engine.events import Events, Step
from eks_gpushare_lab.engine.stack import on_existing_cluster
from eks_gpushare_lab.engine.tools import Tools
from eks_gpushare_lab.errors import LabError, NoEngineError

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
KUBECONFIG = Path("/lab/kubeconfig")
LAB = {
    "clusters": [{"name": "lab", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "admin"}}],
    "current-context": "lab",
    "users": [{"name": "admin", "user": {}}],
}
"""A kubeconfig as the lab writes them."""


def derived(name: str) -> dict[str, Any]:
    """The environment of a stack of this repository, on an existing cluster."""
    file = ROOT / "stacks" / f"Pulumi.{name}.yaml"
    content = json.loads(on_existing_cluster(file, KUBECONFIG, ROOT))
    environment: dict[str, Any] = content["config"]["eks-gpushare:environment"]
    return environment


def stack(tmp_path: Path, text: str) -> dict[str, Any]:
    """The whole of what is derived of a stack file with this text."""
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    content: dict[str, Any] = json.loads(on_existing_cluster(file, KUBECONFIG, tmp_path))
    return content


def test_nothing_of_aws_is_left_in_a_stack_for_the_engine() -> None:
    assert derived("time-slicing") == {
        "cluster": {"existing": {"kubeconfig": "/lab/kubeconfig"}},
        "pools": {
            "gpu": {
                "provisioner": "existing",
                "instanceTypes": ["g6.12xlarge"],
                "nodes": {"min": 1, "desired": 1, "max": 1},
                "labels": {"eks-node": "gpu"},
                "sharing": {"mode": "timeSlicing", "replicas": 10},
            }
        },
        "tags": {"team": "ml-platform"},
    }


NOT_ON_NODES = {
    "cluster-autoscaler",
    "oci://public.ecr.aws/karpenter/karpenter",
    "oci://public.ecr.aws/karpenter/karpenter-crd",
}
"""Charts of what makes nodes, which an existing cluster has its own of."""
CUT_AT_BOOT = {
    *("karpenter-mig", "mig-balanced", "mig-time-slicing", "mig-uniform"),
    *("multi-tenant", "serve", "tenants"),
}
"""Stacks whose nodes make their MIG layout at boot, which nodes of others do not."""
STACKS = sorted(file.stem.partition(".")[2] for file in (ROOT / "stacks").glob("Pulumi.*.yaml"))


@pytest.mark.parametrize("name", sampled(STACKS, 4))
def test_a_stack_for_the_engine_configures_the_device_plugin_alike(
    name: str, tmp_path: Path
) -> None:
    kubeconfig, file = tmp_path / "kubeconfig", tmp_path / f"Pulumi.{name}.yaml"
    kubeconfig.write_text(json.dumps(LAB), encoding="utf-8")
    given = ROOT / "stacks" / f"Pulumi.{name}.yaml"
    file.write_text(on_existing_cluster(given, kubeconfig, ROOT), encoding="utf-8")
    project = find_project(ROOT)
    updated = preview(project, file, known=True)
    refused = {each.code for each in updated.findings if each.severity == "error"}
    if name in CUT_AT_BOOT:
        assert refused == {"GPU242"}
        return

    assert shared_by(updated) == shared_by(preview(project, given, known=True))


def shared_by(previewed: Any) -> list[Any]:
    assert previewed.ok, previewed.findings
    kinds = ("kubernetes:core/v1:ConfigMap", "kubernetes:helm.sh/v3:Release")
    found = [
        each.inputs
        for kind in kinds
        for each in previewed.recording.of_type(kind)
        if each.inputs.get("chart") not in NOT_ON_NODES
    ]
    for inputs in found:  # of a cluster that is there it is not known whether it has EKS's agent
        inputs.get("values", {}).pop("dcgmExporter", None)
    return found


def test_amazons_prometheus_is_asked_by_an_address(tmp_path: Path) -> None:
    """KEDA has no role on a cluster that is there, and in the lab it needs none."""
    content = stack(
        tmp_path,
        """
        config:
          eks-gpushare:environment:
            cluster: {name: mine}
            pools: {gpu: {instanceTypes: [g6.xlarge], sharing: {mode: exclusive}}}
            keda:
              replicas: 1
              prometheus:
                workspaceArn: arn:aws:aps:us-west-2:111122223333:workspace/ws-1a2b
                processMetrics: true
        """,
    )

    environment = content["config"]["eks-gpushare:environment"]
    assert environment["keda"] == {
        "replicas": 1,
        "prometheus": {"processMetrics": True, "url": "http://prometheus.lab"},
    }
    # And the rules take that for an address.
    report = check_stack_file(stack_file_of(json.dumps(content), "Pulumi.mine.yaml"))
    assert [each for each in report.findings if each.path.startswith("keda.prometheus")] == []


def test_a_chart_on_disk_is_found_from_wherever_the_program_runs(tmp_path: Path) -> None:
    content = stack(
        tmp_path,
        """
        config:
          eks-gpushare:environment:
            cluster: {existing: {name: there}}
            pools: {}
            charts: {devicePlugin: {path: charts/plugin}, gpuOperator: {version: 1.2.3}}
        """,
    )

    assert content["config"]["eks-gpushare:environment"]["charts"] == {
        "devicePlugin": {"path": str(tmp_path / "charts" / "plugin")},
        "gpuOperator": {"version": "1.2.3"},
    }


def test_shares_that_are_renamed_with_karpenter_stay_so(tmp_path: Path) -> None:
    content = stack(
        tmp_path,
        """
        config:
          eks-gpushare:environment:
            cluster: {existing: {name: there}}
            pools:
              a: {provisioner: karpenter, sharing: {mode: timeSlicing, replicas: 3}}
              b: {provisioner: karpenter, sharing: {mode: mps, replicas: 3, rename: false}}
              c: {sharing: {mode: timeSlicing, replicas: 3}}
        """,
    )
    pools = content["config"]["eks-gpushare:environment"]["pools"]

    assert {name: pool["sharing"].get("rename") for name, pool in pools.items()} == {
        "a": True,
        "b": False,
        "c": None,
    }


def test_secrets_of_a_stack_do_not_reach_the_engine(tmp_path: Path) -> None:
    content = stack(
        tmp_path,
        """
        encryptionsalt: v1:abc
        secretsprovider: awskms://alias/x
        config:
          aws:region: us-west-2
          other:token: {secure: v1:xyz}
          other:list: [{secure: v1:xyz}, 4]
          eks-gpushare:environment: {cluster: {existing: {name: there}}, pools: {}}
        """,
    )

    assert content.keys() == {"config"}
    assert content["config"]["aws:region"] == "us-west-2"
    assert content["config"]["other:token"] == "[secret]"
    assert content["config"]["other:list"] == ["[secret]", 4]


def test_a_stack_without_an_environment_is_not_for_the_engine(tmp_path: Path) -> None:
    with pytest.raises(LabError) as caught:
        stack(tmp_path, "config: {aws:region: us-west-2}")

    assert str(caught.value) == (
        "--engine installs what eks-gpushare:environment declares, and "
        f"{tmp_path}/Pulumi.mine.yaml has none; run it without --engine"
    )


def command(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for commands, the only one on PATH besides the system's, and an empty home."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    return folder


@pytest.mark.usefixtures("on_path")
def test_without_pulumi_it_is_said_how_to_get_it() -> None:
    with pytest.raises(NoEngineError) as caught:
        tools.find()

    assert str(caught.value) == (
        "--engine runs `pulumi up`, and there is no `pulumi` on PATH; how to get it: "
        "https://www.pulumi.com/docs/install/"
    )


@pytest.mark.parametrize(
    "listed", ["[]", '[{"name": "kubernetes", "kind": "resource", "version": "3.0.0"}]', ""]
)
def test_without_the_plugin_it_is_said_how_to_get_it(on_path: Path, listed: str) -> None:
    command(on_path, "pulumi", f"echo '{listed}'")
    with pytest.raises(NoEngineError) as caught:
        tools.find()

    wanted = version("pulumi-kubernetes")
    assert str(caught.value) == (
        f"--engine needs the plugin of the kubernetes provider, {wanted}: pulumi plugin install "
        f"resource kubernetes {wanted}"
    )


def test_an_installed_plugin_will_do(on_path: Path, tmp_path: Path) -> None:
    wanted = version("pulumi-kubernetes")
    listed = json.dumps([{"name": "kubernetes", "kind": "resource", "version": wanted}])
    script = f"if [ $1 = version ]; then echo v3.260.0; else echo '{listed}'; fi"
    pulumi = command(on_path, "pulumi", script)
    (tmp_path / "home" / "plugins").mkdir(parents=True)

    assert tools.find() == Tools(pulumi, "3.260.0", wanted, tmp_path / "home" / "plugins")


def test_a_pulumi_that_is_not_pulumis_is_refused(on_path: Path) -> None:
    pulumi = command(on_path, "pulumi", "echo hello")
    command(on_path, "pulumi-resource-kubernetes", "")
    with pytest.raises(NoEngineError) as caught:
        tools.find()

    assert str(caught.value) == f"{pulumi} does not say which version it is; is it Pulumi's?"


def test_the_command_ends_with_2_without_pulumi(on_path: Path, components: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eks_gpushare", "lab", "run", "time-slicing", "--engine", "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": components, "XDG_STATE_HOME": str(on_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["error"].startswith("--engine runs `pulumi up`, and there is no")
    assert not (on_path / "state").exists()


def guarded(seconds: float, *words: str) -> subprocess.Popen[bytes]:
    script = [sys.executable, "-I", "-S", str(Path(guard.__file__))]
    script += [die_with_parent.__file__, str(seconds), *words]
    return subprocess.Popen(script, stdin=subprocess.PIPE)


FAMILY = "setsid sleep 300 & echo $! >{0}.new && mv {0}.new {0}; "
"""A program with a child in a session of its own, as the engine's plugins are."""


def child_of(note: Path, eventually: Callable[..., bool]) -> int:
    assert eventually(note.exists)
    return int(note.read_text())


def test_the_guard_ends_as_its_program_does() -> None:
    with guarded(30, "/bin/sh", "-c", "exit 7") as process:
        assert process.wait(20) == 7


def test_nothing_is_left_of_a_program_that_ended(
    tmp_path: Path, runs: Callable[[int], bool], eventually: Callable[..., bool]
) -> None:
    note = tmp_path / "child"
    with guarded(30, "/bin/sh", "-c", FAMILY.format(note)) as process:
        child = child_of(note, eventually)
        code = process.wait(20)

    assert code == 0
    assert not runs(child)


def test_nothing_is_left_of_a_program_whose_time_is_over(
    tmp_path: Path, runs: Callable[[int], bool], eventually: Callable[..., bool]
) -> None:
    note = tmp_path / "child"
    with guarded(1, "/bin/sh", "-c", f"trap '' TERM INT; {FAMILY.format(note)} wait") as process:
        child = child_of(note, eventually)
        code = process.wait(20)

    assert code == guard.TIME_IS_OVER
    assert not runs(child)


def test_nothing_is_left_when_the_caller_has_gone(
    tmp_path: Path, runs: Callable[[int], bool], eventually: Callable[..., bool]
) -> None:
    note = tmp_path / "child"
    with guarded(60, "/bin/sh", "-c", f"{FAMILY.format(note)} wait") as process:
        child = child_of(note, eventually)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(20)

    assert not runs(child)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_is_left_when_the_guard_is_to_stop(
    number: signal.Signals,
    tmp_path: Path,
    runs: Callable[[int], bool],
    eventually: Callable[..., bool],
) -> None:
    note = tmp_path / "child"
    with guarded(60, "/bin/sh", "-c", f"{FAMILY.format(note)} wait") as process:
        child = child_of(note, eventually)
        process.send_signal(number)
        process.wait(20)

    assert not runs(child)


URN = "urn:pulumi:lab::p::a:index:A$kubernetes:core/v1:ConfigMap::config"


def step(kind: str, operation: str, urn: str = URN, *, custom: bool = True) -> dict[str, Any]:
    of = urn.split("::")[2].rpartition("$")[2]
    metadata = {"op": operation, "urn": urn, "type": of, "new": {"custom": custom}, "old": None}
    return {kind: {"metadata": metadata}}


def test_steps_are_told_as_the_log_grows(tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    events = Events(file)
    assert events.news() == []

    begun = json.dumps(step("resourcePreEvent", "create"))
    file.write_text(f"{begun}\n{begun[:20]}", encoding="utf-8")
    assert events.news() == [Step("ConfigMap config", "create", done=False)]

    done = json.dumps(step("resOutputsEvent", "create"))
    file.write_text(f"{begun}\n{done}\n", encoding="utf-8")
    assert events.news() == [Step("ConfigMap config", "create", done=True)]
    assert events.changes == {"ConfigMap config": "create"}


def test_what_stays_the_same_is_no_change(tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    stack_urn = "urn:pulumi:lab::p::pulumi:pulumi:Stack::p-lab"
    quiet = [
        step("resOutputsEvent", "same"),
        step("resOutputsEvent", "create", stack_urn),
        step("resOutputsEvent", "create", URN.replace("kubernetes:core/v1:", "a:"), custom=False),
    ]
    file.write_text("".join(f"{json.dumps(each)}\n" for each in quiet), encoding="utf-8")
    events = Events(file)

    assert events.news() == []
    assert events.changes == {}


@pytest.fixture
def updated(tmp_path: Path, on_path: Path) -> Callable[[str], Engine]:
    """`updated(script)` is what has become of an update by a `pulumi` that is this shell script.

    The shell sees the engine's event log as $LOG.
    """

    def update(script: str) -> Engine:
        find_log = (
            'for word; do LOG=$last; last=$word; done; LOG=$(echo "$*" | grep -o "/[^ ]*json")'
        )
        only_up = "[ $1 = up ] || exit 0"
        pulumi = command(on_path, "pulumi", f"{only_up}\n{find_log}\n{script}")
        made = Engine(Tools(pulumi, "3.260.0", "4.34.2", None), find_project(ROOT), "{}", tmp_path)
        made.up(lambda: None, lambda _: None)
        return made

    return update


def test_an_error_of_the_engine_is_a_finding(updated: Callable[[str], Engine]) -> None:
    said = {"urn": URN, "severity": "error", "message": f'resource "{URN}" is\n wrong'}
    failed = {"urn": "", "severity": "error", "message": "update failed"}
    lines = "\n".join(json.dumps({"diagnosticEvent": each}) for each in (said, failed))
    (found,) = updated(f"cat >$LOG <<'END'\n{lines}\nEND\nexit 255").findings

    assert (found.code, found.path) == ("GPU951", 'engine["ConfigMap config"]')
    assert found.message == 'resource "ConfigMap config" is wrong'


def test_what_pulumi_prints_is_a_finding_where_it_logs_nothing(
    updated: Callable[[str], Engine],
) -> None:
    (found,) = updated("echo 'error: no language plugin'; exit 1").findings

    assert (found.code, found.path) == ("GPU951", "engine")
    assert found.message == "error: no language plugin"


def test_a_chart_out_of_reach_is_told_what_to_do_about(updated: Callable[[str], Engine]) -> None:
    text = (
        'chart: looks like "https://x.example" is not a valid chart repository or cannot be reached'
    )
    (found,) = updated(f"echo '{text}'; exit 1").findings

    assert found.fix == (
        "Let this machine reach the chart's repository, or give a mirror or a chart on disk: "
        "repository or path, under charts in the stack file."
    )


def test_an_update_without_end_is_stopped(
    updated: Callable[[str], Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "LIMIT_SECONDS", 1.0)
    (found,) = updated("trap '' TERM INT; sleep 300").findings

    assert found.message == "pulumi up did not end within 1 s and was stopped. Done were nothing."


def test_nothing_of_a_run_stays_on_disk(updated: Callable[[str], Engine], tmp_path: Path) -> None:
    updated("exit 1")

    assert list(tmp_path.glob("engine-*")) == []


def test_the_engine_sees_nothing_that_leads_to_aws_or_another_cluster(
    updated: Callable[[str], Engine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_PROFILE", "KUBECONFIG", "PULUMI_ACCESS_TOKEN", "PULUMI_STACK"):
        monkeypatch.setenv(name, "mine")
    updated(f"env >{tmp_path}/seen")
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())

    assert {key for key, value in seen.items() if value == "mine"} == set()
    assert seen["PULUMI_BACKEND_URL"].startswith(f"file://{tmp_path}/engine-")
    assert seen["PULUMI_HOME"].startswith(f"{tmp_path}/engine-")
