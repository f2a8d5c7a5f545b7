"""The plugin as an archive that the engine installs."""

from __future__ import annotations

import importlib.util
import re
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from packaging.requirements import InvalidRequirement, Requirement

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
WHEELS = ("eks_gpushare_checks-1.2.3-py3-none-any.whl", "eks_gpushare-1.2.3-py3-none-any.whl")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = ROOT / "tools/packaging/plugin_archive.py"
    spec = importlib.util.spec_from_file_location("plugin_archive", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def archives(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("plugin")
    wheels = [folder / name for name in WHEELS]
    for wheel in wheels:
        wheel.write_bytes(b"a wheel")
    written: list[Path] = tool.write_archives(wheels, folder / "archives")
    return written


def test_an_archive_is_named_as_the_engine_asks_for_it(archives: list[Path]) -> None:
    name = re.compile(
        r"pulumi-resource-eks-gpushare-v1\.2\.3-(linux|darwin|windows)-(amd64|arm64)\.tar\.gz"
    )

    assert all(name.fullmatch(each.name) for each in archives)
    assert len({each.name for each in archives}) == len(archives)


def test_the_plugin_is_at_the_root_with_the_wheels_that_it_installs(archives: list[Path]) -> None:
    for each in archives:
        with tarfile.open(each) as archive:
            assert set(archive.getnames()) == {
                *("PulumiPlugin.yaml", "__main__.py", "requirements.txt", *WHEELS),
            }
            requirements = archive.extractfile("requirements.txt")
            assert requirements is not None
            assert requirements.read().decode().splitlines() == [f"./{name}" for name in WHEELS]


def test_the_plugin_says_its_name_and_how_it_runs() -> None:
    said = yaml.safe_load((ROOT / "plugin/PulumiPlugin.yaml").read_text(encoding="utf-8"))

    assert said["name"] == "eks-gpushare"
    assert said["runtime"]["options"] == {"toolchain": "pip", "virtualenv": "venv"}


def test_the_folder_installs_the_distributions_that_it_is_cloned_with() -> None:
    """As a path: pip takes one after a package's name only as a URL."""
    text = (ROOT / "plugin/requirements.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]

    for line in lines:
        with pytest.raises(InvalidRequirement):
            Requirement(line)
    assert [(ROOT / "plugin" / line).resolve() for line in lines] == [ROOT, ROOT / "components"]
    assert all((ROOT / "plugin" / line / "pyproject.toml").exists() for line in lines)
