from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eks_gpushare_lab.binaries import versions
from eks_gpushare_lab.binaries.toolchain import find_go, go_environment
from eks_gpushare_lab.errors import NoGoError

if TYPE_CHECKING:
    from eks_gpushare_lab.binaries.versions import Tool

FOLDERS = sorted(folder.name for folder in versions.MODULES.iterdir())


@pytest.fixture
def go() -> Path:
    try:
        return find_go((1, 21), print).path
    except NoGoError as error:
        pytest.skip(str(error))


def go_mod(folder: str) -> str:
    return (versions.MODULES / folder / "go.mod").read_text(encoding="utf-8")


def tool_packages(text: str) -> set[str]:
    """What the `tool` lines of a go.mod name."""
    block = re.search(r"^tool \((.*?)^\)", text, re.MULTILINE | re.DOTALL)
    lines = block[1].split() if block else []
    return {*lines, *re.findall(r"^tool ([^(\s]+)$", text, re.MULTILINE)}


def test_every_module_belongs_to_a_tool() -> None:
    assert sorted({tool.folder.name for tool in versions.every_tool()}) == FOLDERS


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_module_comes_with_its_checksums(folder: str) -> None:
    for tool in versions.every_tool():
        if tool.folder.name == folder:
            sums = (versions.MODULES / folder / "go.sum").read_text(encoding="utf-8")
            version = versions.required_version(tool.folder, tool.module)

            assert f"{tool.module} {version} h1:" in sums


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_built_is_what_go_mod_calls_its_tools(folder: str) -> None:
    built = {
        command.package
        for tool in versions.every_tool()
        if tool.folder.name == folder
        for command in tool.commands
    }

    assert tool_packages(go_mod(folder)) == built


def test_kubernetes_libraries_are_of_the_same_release() -> None:
    major, minor, patch = versions.kubernetes().version.removeprefix("v").split(".")
    replaced = re.findall(r"^\t(k8s\.io/\S+) => (\S+) (\S+)$", go_mod("kubernetes"), re.MULTILINE)

    assert major == "1"
    assert len(replaced) > 25
    assert {(theirs, number) for ours, theirs, number in replaced if ours == theirs} == {
        (theirs, f"v0.{minor}.{patch}") for _, theirs, _ in replaced
    }


def test_kubernetes_says_its_version() -> None:
    version = versions.kubernetes().version
    stamps = dict(stamp.rsplit("=", 1) for stamp in versions.kubernetes().stamps)

    assert stamps["k8s.io/component-base/version.gitVersion"] == version
    assert {command.says for command in versions.kubernetes().commands} == {f"Kubernetes {version}"}


def test_the_go_of_the_package_index_builds_every_tool() -> None:
    _, number = versions.GO_PACKAGE
    offered = tuple(int(part) for part in number.split("."))

    assert all(versions.required_go(tool.folder) <= offered for tool in versions.every_tool())


def test_a_module_that_is_not_required_is_named() -> None:
    folder = versions.MODULES / "etcd"

    with pytest.raises(LookupError, match=r"etcd/go\.mod does not require example\.com/x$"):
        versions.required_version(folder, "example.com/x")


def test_a_control_plane_alone_needs_nothing_of_autoscaling() -> None:
    assert not {tool.name for tool in versions.tools()} & {
        tool.name for tool in versions.on_demand()
    }


def test_karpenters_core_is_of_the_providers_release() -> None:
    """The provider requires a commit between two releases, which a proxy does not keep."""
    text = go_mod("karpenter")
    replaced = re.findall(r"^replace sigs\.k8s\.io/karpenter => (\S+) (\S+)$", text, re.MULTILINE)
    required = re.findall(r"^\tsigs\.k8s\.io/karpenter (v[0-9.]+)", text, re.MULTILINE)

    assert replaced == [("sigs.k8s.io/karpenter", versions.karpenter().version)]
    assert required == [versions.karpenter().version]


def test_a_commit_has_the_name_of_its_release() -> None:
    tool = versions.cluster_autoscaler()
    replaced = re.findall(
        r"^replace k8s\.io/\S+ => \S+ v0\.(\d+)\.", go_mod(tool.folder.name), re.MULTILINE
    )

    assert re.fullmatch(r"v1\.\d+\.\d+", tool.version)
    assert {tool.version.split(".")[1]} == set(replaced)


def test_the_commit_is_of_the_release_that_its_comment_names(go: Path) -> None:
    """What the module itself says, where it has been downloaded."""
    tool = versions.cluster_autoscaler()
    source = directory_of(go, tool)

    said = (source / "version/version.go").read_text(encoding="utf-8")

    assert f'ClusterAutoscalerVersion = "{tool.version.removeprefix("v")}"' in said


def test_files_of_a_tool_are_in_its_module(go: Path) -> None:
    for tool in (versions.karpenter_crds(), versions.keda_crds()):
        source = directory_of(go, tool)

        assert [file for file in tool.files if not (source / file).is_file()] == []


def test_prometheus_is_known_by_its_release() -> None:
    """Its Go module is numbered otherwise: 0.313.5 is 3.13.5."""
    (command,) = versions.prometheus().commands
    number = command.says.removeprefix("prometheus, version ")
    stamp = "github.com/prometheus/common/version.Version"

    assert re.fullmatch(r"[3-9]\.\d+\.\d+", number)
    assert versions.prometheus().stamps == (f"{stamp}={number}",)
    assert versions.promtool().version == versions.prometheus().version


@pytest.mark.parametrize("name", ["keda", "prometheus"])
def test_what_a_program_replaces_is_replaced_here(go: Path, name: str) -> None:
    """Go honours such lines in the main module only."""
    (tool,) = (each for each in versions.on_demand() if each.name == name)
    theirs = (directory_of(go, tool) / "go.mod").read_text(encoding="utf-8")
    replaced = re.compile(r"^(?:replace |\t)(\S+ => \S+ v\S+)", re.MULTILINE)

    assert set(replaced.findall(theirs)) <= set(replaced.findall(go_mod(tool.folder.name)))
    assert replaced.findall(theirs)


def directory_of(go: Path, tool: Tool) -> Path:
    """Where Go keeps the module of a tool; nothing is downloaded for this."""
    asked: list[str | Path] = [go, "mod", "download", "-json", tool.module]
    environment = {**go_environment(), "GOPROXY": "off"}
    done = subprocess.run(
        asked, cwd=tool.folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"{tool.module} has not been downloaded")
    return Path(json.loads(done.stdout)["Dir"])


def test_a_release_that_nobody_names_is_missed() -> None:
    folder = versions.MODULES / "karpenter"

    with pytest.raises(LookupError, match=r"karpenter/go\.mod does not say which release of "):
        versions.release_of(folder, "github.com/aws/karpenter-provider-aws")
