"""The files that a stack file names: kubeconfigs and charts on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_gpushare.catalog.versions import DEVICE_PLUGIN
from eks_gpushare.config.environment import Chart
from eks_gpushare.documents.kubeconfig import read_kubeconfig
from eks_gpushare.documents.local_paths import expanded, located
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.stack_file.check import check_file

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "https://c.example.com"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [
        {"name": "one", "context": {"cluster": "c", "user": "u"}},
        {"name": "other", "context": {"cluster": "c", "user": "u", "namespace": "n"}},
    ],
    "current-context": "one",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with stack files in a folder of their own, and a home directory."""
    (tmp_path / "person").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "program/stacks").mkdir(parents=True)
    (tmp_path / "program/Pulumi.yaml").write_text(
        "name: mine\nruntime: python\nstackConfigDir: stacks\n", encoding="utf-8"
    )
    return tmp_path / "program"


def found(
    project: Path,
    kubeconfig: str,
    context: str | None = None,
    charts: dict[str, Any] | None = None,
) -> list[tuple[str, str, str, str]]:
    """Errors of a stack file that names a kubeconfig."""
    existing = {"kubeconfig": kubeconfig} | ({"context": context} if context is not None else {})
    pool = {"provisioner": "existing", "instanceTypes": ["g6.xlarge"], "nodes": {"max": 1}}
    environment = {
        "cluster": {"existing": existing},
        "pools": {"gpu": {**pool, "sharing": {"mode": "exclusive"}}},
        "charts": charts or {},
    }
    file = project / "stacks/Pulumi.dev.yaml"
    file.write_text(json.dumps({"config": {"eks-gpushare:environment": environment}}))
    errors = [f for f in check_file(file).findings if f.severity == "error"]
    return [(f.code, f.path.rpartition(".")[2], f.message, f.fix) for f in errors]


def write(file: Path, config: dict[str, Any] | str | bytes) -> None:
    if isinstance(config, bytes):
        file.write_bytes(config)
    else:
        text = config if isinstance(config, str) else yaml.safe_dump(config)
        file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ("kubeconfig", "kubeconfig"),
        ("./kubeconfig", "kubeconfig"),
        ("../kubeconfig", "../kubeconfig"),
        ("~/kubeconfig", "../person/kubeconfig"),
        ("~/.kube/config", "../person/.kube/config"),
        ("a:b", "a:b"),
        ("$HOME", "$HOME"),
        ("with space.yaml", "with space.yaml"),
    ],
)
def test_a_path_leads_on_from_the_program_or_from_home(project: Path, given: str, at: str) -> None:
    (project / at).parent.mkdir(exist_ok=True)
    write(project / at, GOOD)

    assert found(project, given) == []


@pytest.mark.parametrize(
    "change",
    [
        {"current-context": "other"},
        {"preferences": {}, "extensions": []},
        {"users": [{"name": "u", "user": {"exec": {"command": "aws"}}}]},
        {"contexts": [{"name": "one", "context": {"cluster": "c"}}]},
        {"contexts": [{"name": "one", "context": {"cluster": "c", "user": ""}}]},
    ],
)
def test_a_kubeconfig_that_kubectl_takes_is_taken(project: Path, change: dict[str, Any]) -> None:
    write(project / "k", GOOD | change)

    assert found(project, "k") == []


def test_a_kubeconfig_may_be_json_and_need_no_current_context(project: Path) -> None:
    write(project / "k", json.dumps({**GOOD, "current-context": ""}))

    assert found(project, "k", "other") == []


LOST = "Give the path of a kubeconfig file, from the folder of the program on."


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "is no kubeconfig: it is empty."),
        ("# nothing\n", "is no kubeconfig: it is empty."),
        ("just text", "is no kubeconfig: it holds no mapping."),
        ("- a\n- b\n", "is no kubeconfig: it holds no mapping."),
        (b"\xff\xfe\x00", "is no kubeconfig: line 1: byte 0xff is not UTF-8."),
        ("a: b: c\n", None),
        ("a: [\n", None),
        ("\tclusters: []\n", None),
    ],
)
def test_what_is_no_kubeconfig_is_refused(
    project: Path, content: str | bytes, why: str | None
) -> None:
    write(project / "k", content)
    ((code, at, message, fix),) = found(project, "k")

    assert (code, at, fix) == ("GPU470", "kubeconfig", LOST)
    assert message == f"k ({project / 'k'}) {why}" if why else " is no kubeconfig: line " in message


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("k", LOST),
        ("stacks/k", LOST),
        ("~/.kube/config", LOST),
        ("~nobody-of-this-name/config", LOST),
        (
            "$HOME/.kube/config",
            "Variables are not expanded: write ~ for the home directory, or the whole path.",
        ),
        (
            "${KUBECONFIG}",
            "Variables are not expanded: write ~ for the home directory, or the whole path.",
        ),
        ("/a/config:/b/config", "Name one file, not a list of them."),
        ("~/a:~/b", "Name one file, not a list of them."),
        ("k" * 5000, LOST),
        ("k\0", LOST),
    ],
)
def test_a_kubeconfig_that_is_not_there_is_refused_with_where_it_was_looked_for(
    project: Path, given: str, fix: str
) -> None:
    ((code, at, message, said),) = found(project, given)

    assert (code, at, said) == ("GPU470", "kubeconfig", fix)
    assert message.startswith(given[:3000]) or "\0" in given


def test_the_message_says_where_a_path_leads(project: Path) -> None:
    ((_, _, message, _),) = found(project, "~/.kube/config")

    assert message == f"~/.kube/config ({project.parent}/person/.kube/config) is not there."


def test_a_folder_or_a_pipe_is_no_kubeconfig(project: Path) -> None:
    (project / "folder").mkdir()
    os.mkfifo(project / "pipe")

    assert [found(project, each)[0][2].partition(") ")[2] for each in ("folder", "pipe")] == [
        "is not a file.",
        "is not a file.",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_kubeconfig_that_may_not_be_read_is_refused(project: Path) -> None:
    write(project / "k", GOOD)
    (project / "k").chmod(0)

    assert "cannot be read: permission denied." in found(project, "k")[0][2]


@pytest.mark.parametrize(
    ("change", "context", "at", "message", "fix"),
    [
        ({}, "othre", "context", "The context othre is not in k.", "Did you mean other?"),
        ({}, "x", "context", "The context x is not in k.", "Give context: one, other."),
        (
            {"current-context": "gone-away"},
            None,
            "kubeconfig",
            "The current context gone-away is not in k.",
            "Give context: one, other.",
        ),
        (
            {"current-context": None},
            None,
            "kubeconfig",
            "k has no current context.",
            "Give context: one, other.",
        ),
        (
            {"clusters": []},
            "one",
            "context",
            "The context one names the cluster c, which k does not have.",
            "Give another context, or add the cluster to the file.",
        ),
        (
            {"users": None},
            None,
            "kubeconfig",
            "The context one names the user u, which k does not have.",
            "Give another context, or add the user to the file.",
        ),
        (
            {"contexts": [{"name": "one", "context": None}]},
            None,
            "kubeconfig",
            "The context one of k names no cluster.",
            "Give another context, or add the cluster to the file.",
        ),
    ],
)
def test_a_context_has_to_be_there_with_its_cluster_and_user(
    project: Path,
    change: dict[str, Any],
    context: str | None,
    at: str,
    message: str,
    fix: str,
) -> None:
    write(project / "k", GOOD | change)

    assert found(project, "k", context) == [("GPU471", at, message, fix)]


def test_a_kubeconfig_without_contexts_is_none(project: Path) -> None:
    write(project / "k", {"apiVersion": "v1", "kind": "Config"})

    assert found(project, "k") == [("GPU470", "kubeconfig", "k has no contexts.", LOST)]


@pytest.mark.parametrize("contexts", ["text", 3, [1, None, {"name": 4}], [[]], {"a": 1}])
def test_contexts_of_any_shape_raise_nothing(project: Path, contexts: object) -> None:
    write(project / "k", GOOD | {"contexts": contexts, "users": contexts, "clusters": contexts})

    assert [code for code, *_ in found(project, "k")] == ["GPU470"]


def test_a_path_of_a_file_without_a_program_leads_on_from_that_file(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    write(tmp_path / "stacks/k", GOOD)

    assert found(tmp_path, "k") == []


def test_a_program_elsewhere_is_where_paths_begin(project: Path) -> None:
    (project / "Pulumi.yaml").write_text("name: mine\nruntime: python\nmain: src\n")
    (project / "src").mkdir()
    write(project / "src/k", GOOD)

    assert found(project, "k") == []


def test_a_chart_on_disk_has_to_be_there(project: Path) -> None:
    write(project / "k", GOOD)
    (project / "chart").mkdir()
    (project / "empty").mkdir()
    (project / "chart/Chart.yaml").write_text("name: c\n", encoding="utf-8")
    (project.parent / "person/c.tgz").write_bytes(b"")
    charts = {
        "devicePlugin": {"path": "./chart"},
        "gpuOperator": {"path": "~/c.tgz"},
        "karpenter": {"path": "empty"},
        "efaDevicePlugin": {"path": "lost"},
    }

    assert [(code, message) for code, _, message, _ in found(project, "k", None, charts)] == [
        ("GPU472", f"empty ({project}/empty) is no chart: there is no Chart.yaml in it."),
        ("GPU472", f"lost ({project}/lost) is not there."),
    ]


def test_every_reader_expands_home_in_the_same_way(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = str(project.parent / "person")
    write(project.parent / "person/k", "text")

    assert read_kubeconfig("~/k") == "text"
    assert release_source(Chart(path="~/c"), DEVICE_PLUGIN) == {"chart": f"{home}/c"}
    assert release_source(Chart(path="./c"), DEVICE_PLUGIN) == {"chart": "./c"}
    assert located("~/k", Path("/elsewhere")) == Path(home) / "k"
    monkeypatch.delenv("HOME")
    assert expanded("~nobody-of-this-name/k") == "~nobody-of-this-name/k"
