"""Recipes of Makefiles are read as the scripts that they are."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.shell.makefiles import is_makefile, script_of
from eks_gpushare.manifests.files import GivenFile, given_files

if TYPE_CHECKING:
    from pathlib import Path

MAKEFILE = """\
VERSION := 0.17.4
NAMESPACE ?= gpu # where it is
export WHO = platform
FLAGS = --set gfd.enabled=true \\
  --set nfd.enabled=false

define USAGE
NAME = none
endef

.PHONY: plugin
plugin: values.yaml
\t@helm upgrade --install nvdp nvdp/nvidia-device-plugin \\
\t\t--version $(VERSION) --namespace ${NAMESPACE} --set config.map.a=$(shell cat a) $(FLAGS)
\t-echo $$HOME $(WHO) $(patsubst a,b,c)
"""


def test_lines_stay_and_variables_have_their_values() -> None:
    script = script_of(MAKEFILE)

    assert script.count("\n") == MAKEFILE.count("\n")
    assert [line.lstrip() for line in script.split("\n") if line] == [
        "helm upgrade --install nvdp nvdp/nvidia-device-plugin \\",
        "--version 0.17.4 --namespace gpu --set config.map.a=$(shell cat a) ${FLAGS}",
        "echo $HOME platform $(patsubst a,b,c)",
    ]


MAKE, SHELL = shutil.which("make"), shutil.which("sh")


def test_a_shell_gets_what_make_gives_it(tmp_path: Path) -> None:
    text = "A := one\nB ?= $(A) two\nall:\n\t@echo $(A) '$(B)' $$((1 + 1)) \\\n\t  three\n"
    (tmp_path / "Makefile").write_text(text)
    made = subprocess.run(
        [str(MAKE), "-s"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    script = script_of(text)
    run = subprocess.run([str(SHELL), "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout == made.stdout == "one one two 2 three\n"


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("define A\nB = 1\nC = 2\nendef\nall:\n\techo $(B) $(C)\n", "echo ${B} ${C}"),
        ("define A\nB = 1\nendef\nB = 3\nall:\n\techo $(B)\n", "echo 3"),
        ("B = 3\nall:\n\techo $(B)\n", "echo 3"),
        ("A = $(A) a\nall:\n\techo $(A)\n", "echo ${A} a"),
        ("A = $(B)\nB = $(C)\nC = $(D)\nD = d\nall:\n\techo $(A)\n", "echo d"),
    ],
)
def test_variables_of_variables(text: str, script: str) -> None:
    assert script_of(text).strip() == script


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Makefile", True),
        ("a/GNUmakefile", True),
        ("make/gpu.mk", True),
        ("Makefile.md", False),
        ("notes", False),
    ],
)
def test_names_of_makefiles(name: str, told: bool) -> None:
    assert is_makefile(name) is told


WRONG = """\
CHART = nvidia/gpu-operator
install:
\thelm upgrade --install gpu-operator $(CHART) --version v25.3.4 \\
\t  --namespace gpu-operator --set mig.strategy=triple
"""


def test_what_a_recipe_installs_is_judged_where_it_stands() -> None:
    (report,) = lint_files([GivenFile("Makefile", WRONG)])
    (found,) = report.found

    assert (found.finding.code, found.finding.path) == ("GPU1036", "mig.strategy")
    assert found.position is not None
    assert (found.position.line, found.position.column) == (4, 35)
    assert not found.edits


def test_makefiles_of_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(WRONG)
    (tmp_path / "gpu.mk").write_text(WRONG)
    (tmp_path / "CMakeLists").write_text(WRONG)

    names = [file.name.rpartition("/")[2] for file in given_files([str(tmp_path)]) if file.text]
    assert names == ["Makefile", "gpu.mk"]
