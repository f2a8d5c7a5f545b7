from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path
from typing import is_typeddict

import pytest

import eks_gpushare
from eks_gpushare import args

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
CLASSES = [name for name in eks_gpushare.__all__ if name not in {"__version__", "args", "testing"}]


def loaded_by(statement: str) -> set[str]:
    """Top-level names of the modules that a statement loads in a new interpreter."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_the_package_loads_no_sdk() -> None:
    heavy = {name for name in loaded_by("import eks_gpushare") if name.startswith("pulumi")}

    assert heavy == set()


@pytest.mark.parametrize("name", CLASSES)
def test_an_export_is_what_its_module_defines(name: str) -> None:
    exported = getattr(eks_gpushare, name)

    assert exported.__name__ == name
    assert exported.__module__.startswith("eks_gpushare.")


def test_every_dictionary_of_the_arguments_is_public() -> None:
    assert args.__all__ == sorted(name for name, value in vars(args).items() if is_typeddict(value))


def test_the_arguments_are_an_attribute_of_the_package() -> None:
    program = "import eks_gpushare\nprint(eks_gpushare.args.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "eks_gpushare.args\n"


def test_the_page_of_what_is_public_names_every_export() -> None:
    named = set(re.findall(r"`(?:eks_gpushare\.)?(\w+)`", PAGE))

    assert {name for name in eks_gpushare.__all__ if not name.endswith("Args")} <= named


def test_the_page_of_what_is_public_names_every_verb() -> None:
    out = subprocess.run(
        [sys.executable, "-m", "eks_gpushare", "--help"], capture_output=True, text=True, check=True
    ).stdout
    verbs = re.findall(r"^    ([a-z]+) ", out, re.MULTILINE)

    assert verbs
    assert {verb for verb in verbs if f"`{verb}`" not in PAGE} == set()


def test_the_version_is_the_distributions() -> None:
    assert eks_gpushare.__version__ == importlib.metadata.version("eks-gpushare")


def test_every_export_is_listed() -> None:
    assert set(eks_gpushare.__all__) <= set(dir(eks_gpushare))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError) as refusal:
        getattr(eks_gpushare, "GpuPond")  # noqa: B009  (a type checker would refuse the plain form)

    assert str(refusal.value) == "module 'eks_gpushare' has no attribute 'GpuPond'"
