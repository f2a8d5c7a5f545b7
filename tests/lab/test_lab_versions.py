from __future__ import annotations

import re

import pytest

from eks_gpushare_lab.binaries import versions

FOLDERS = sorted(folder.name for folder in versions.MODULES.iterdir())


def go_mod(folder: str) -> str:
    return (versions.MODULES / folder / "go.mod").read_text(encoding="utf-8")


def tool_packages(text: str) -> set[str]:
    """What the `tool` lines of a go.mod name."""
    block = re.search(r"^tool \((.*?)^\)", text, re.MULTILINE | re.DOTALL)
    lines = block[1].split() if block else []
    return {*lines, *re.findall(r"^tool ([^(\s]+)$", text, re.MULTILINE)}


def test_every_module_belongs_to_a_tool() -> None:
    assert sorted({tool.folder.name for tool in versions.tools()}) == FOLDERS


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_module_comes_with_its_checksums(folder: str) -> None:
    for tool in versions.tools():
        if tool.folder.name == folder:
            sums = (versions.MODULES / folder / "go.sum").read_text(encoding="utf-8")

            assert f"{tool.module} {tool.version} h1:" in sums


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_built_is_what_go_mod_calls_its_tools(folder: str) -> None:
    built = {
        command.package
        for tool in versions.tools()
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

    assert all(versions.required_go(tool.folder) <= offered for tool in versions.tools())


def test_a_module_that_is_not_required_is_named() -> None:
    folder = versions.MODULES / "etcd"

    with pytest.raises(LookupError, match=r"etcd/go\.mod does not require example\.com/x$"):
        versions.required_version(folder, "example.com/x")
