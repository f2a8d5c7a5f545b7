"""What the documentation says is tried: commands and their output, stack files, programs.

Code blocks are taken as a reader takes them. HTML comments right above a block say what a reader
knows from the text around it:

* ``<!-- file: NAME -->``: the reader saved the block under this name; later commands may use it;
* ``<!-- edit: A to B: OLD => NEW -->``: the reader copied file A to B and replaced a text in it;
* ``<!-- ran: WORDS -->``: the reader ran eks-gpushare with these words before;
* ``<!-- in: FOLDER -->``: the reader has gone to this folder;
* ``<!-- refused -->``: the stack file in the block is wrong on purpose;
* ``<!-- exit: N -->``: the commands of the block end with this exit code;
* ``<!-- module -->``: the Python in the block is no program; its page is tried by pytest;
* ``<!-- json -->``: the output is one JSON document, of which the block shows the beginning.

In a shown output a line of three dots stands for any number of lines.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import make_pages
import pytest
import yaml

from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.program.run import run_program
from eks_gpushare.stack_file.check import check_file

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
WRITTEN = date(2026, 11, 21)
"""The day on which stack files are checked: versions of Kubernetes go out of support."""
PAGES = sorted(
    (
        page
        for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
        if not make_pages.is_generated(page)  # tests/unit/test_generated_docs.py has those
    ),
    key=lambda page: page.as_posix(),
)
_FENCE = re.compile(r"((?:^<!--[^\n]*-->\n)*)^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"<!-- (\w+)(?:: (.*?))? -->")
_EDIT = re.compile(r"(\S+) to (\S+): (.*) => (.*)")


@dataclass(frozen=True)
class Block:
    """A code block of a page, with what is noted above it."""

    page: Path
    line: int
    language: str
    text: str
    notes: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"

    def note(self, name: str) -> str | None:
        return next((value for key, value in self.notes if key == name), None)


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start(3)),
            found[2],
            found[3],
            tuple((note[1], note[2] or "") for note in _NOTE.finditer(found[1])),
        )
        for found in _FENCE.finditer(text)
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def of(language: str, containing: str = "") -> list[Any]:
    chosen = [b for b in BLOCKS if b.language == language and containing in b.text]
    return [pytest.param(block, id=block.id) for block in chosen]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A directory with the program, as a reader has it after cloning."""
    for name in ("Pulumi.yaml", "__main__.py", "Makefile"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("stacks", "policies"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    return tmp_path


def save(block: Block, directory: Path) -> None:
    """Do what the notes above a block say a reader did."""
    name, edit = block.note("file"), _EDIT.fullmatch(block.note("edit") or "")
    if name:
        (directory / name).write_text(block.text, encoding="utf-8")
    if edit:
        text = (directory / edit[1]).read_text(encoding="utf-8")
        assert edit[3] in text
        (directory / edit[2]).write_text(text.replace(edit[3], edit[4]), encoding="utf-8")


def prepare(block: Block, directory: Path) -> None:
    """Save the files of a page down to a block."""
    for earlier in blocks_of(block.page):
        if earlier.line <= block.line:
            if (earlier.note("file") or "").startswith("stacks/"):
                (directory / "stacks").mkdir(exist_ok=True)
            save(earlier, directory)


def run_line(line: str, directory: Path, run: Run) -> tuple[int, str, str]:
    """Run one command of a console block: eks-gpushare, what make demo runs, or cat."""
    words = line.split()
    if words == ["make", "demo"]:
        codes, out, err = zip(
            *(run_line(each, directory, run) for each in demo_commands()), strict=True
        )
        return max(codes), "".join(out), "".join(err)
    expanded = [each for word in words for each in globbed(word, directory)]
    if words[0] == "cat":
        texts = [(directory / name).read_text(encoding="utf-8") for name in expanded[1:]]
        return 0, "".join(texts), ""
    assert words[0] == "eks-gpushare", f"nothing here runs {words[0]}"
    done = run(*expanded[1:], cwd=directory)
    return done.code, done.out, done.err


def globbed(word: str, directory: Path) -> list[str]:
    if "*" not in word:
        return [word]
    return sorted(path.relative_to(directory).as_posix() for path in directory.glob(word))


def demo_commands() -> list[str]:
    """What the demo shows before its lab, which the walkthroughs of tests/lab run."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndemo:")[2]
    lines = [line.strip() for line in recipe.partition("\n\n")[0].splitlines()[1:]]
    command = "$(VENV)/bin/"
    return [line.removeprefix(command) for line in lines if line.startswith(command)]


def sessions(text: str) -> list[tuple[str, list[str]]]:
    """Commands of a console block with the output shown below each."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line.rstrip())
    return found


def shows(shown: list[str], printed: list[str]) -> bool:
    """Whether an output shown with `...` for left-out lines is what was printed."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(shows(shown[1:], printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and shows(shown[1:], printed[1:])


def printed_lines(text: str) -> list[str]:
    """Lines without the spaces that pad tables, and without empty lines, for shorter examples."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a", "...", "c"], ["a", "b", "b", "c"], True),
        (["a", "..."], ["a"], True),
        (["a"], ["a", "b"], False),
        (["...", "c"], ["a", "b"], False),
    ],
)
def test_three_dots_stand_for_any_lines(shown: list[str], printed: list[str], same: bool) -> None:
    assert shows(shown, printed) is same


@pytest.mark.parametrize("block", of("console", "$ eks-gpushare") + of("console", "$ make demo"))
def test_a_command_prints_what_the_page_shows(
    block: Block, clone: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):  # what a reader has said in the page only
        monkeypatch.delenv(name, raising=False)
    prepare(block, clone)
    if words := block.note("ran"):
        assert run(*words.split(), cwd=clone).code == 0
    folder = clone / (block.note("in") or "")
    expected = int(block.note("exit") or 0)

    for command, shown in sessions(block.text):
        code, out, err = run_line(command, folder, run)
        if block.note("json") is not None:
            json.loads(out)
        wanted = [line for line in shown if line.strip()]

        assert code == expected, f"{command}: exit code {code}\n{out}{err}"
        assert shows(wanted, printed_lines(out)), f"{command} printed\n{out}"


@pytest.mark.parametrize("block", of("yaml", ENVIRONMENT_KEY))
def test_a_stack_file_passes_the_check_unless_the_page_says_otherwise(
    block: Block, tmp_path: Path
) -> None:
    file = tmp_path / "Pulumi.example.yaml"
    file.write_text(block.text, encoding="utf-8")

    refused = block.note("refused") is not None
    # What a page refuses may be a file that is not there; other pages name files of their readers.
    found = check_file(file, today=WRITTEN, local_files=refused).findings
    errors = [str(each) for each in found if each.severity == "error"]

    assert bool(errors) is refused, "\n".join(errors)


def pod_specs(document: Any) -> list[Any]:
    if document["kind"] == "Pod":
        return [document["spec"]]
    return [document["spec"]["template"]["spec"]] if document["kind"] == "Deployment" else []


@pytest.mark.parametrize("block", of("yaml", "\nkind: Pod\n") + of("yaml", "\nkind: Deployment\n"))
def test_a_pod_requests_one_share_and_tolerates_the_taint(block: Block) -> None:
    for spec in pod_specs(yaml.safe_load(block.text)):
        limits = [container["resources"]["limits"] for container in spec["containers"]]

        assert [list(each.values()) for each in limits] == [[1]]
        assert "eks-gpushare/pool" in spec["nodeSelector"]
        assert spec["tolerations"][0]["key"] == "nvidia.com/gpu"


@pytest.mark.parametrize("block", of("json"))
def test_json_is_json(block: Block) -> None:
    json.loads(block.text)


def is_module(block: Block) -> bool:
    return "module" in dict(block.notes)


MODULES: list[Any] = [each.values[0] for each in of("python") if is_module(each.values[0])]
PROGRAMS = [each for each in of("python") if each.values[0] not in MODULES]


@pytest.mark.parametrize(
    "page", list(dict.fromkeys(block.page for block in MODULES)), ids=lambda page: page.name
)
def test_the_unit_tests_of_a_page_pass(page: Path, tmp_path: Path) -> None:
    for block in MODULES:
        if block.page == page:
            (tmp_path / dict(block.notes)["file"]).write_text(block.text, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(tmp_path),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+ passed", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("block", PROGRAMS)
def test_a_program_runs(block: Block, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(block.text, encoding="utf-8")

    recording = run_program(
        tmp_path, project="example", stack="dev", config={"aws:region": "us-west-2"}
    )

    assert recording.error is None, recording.error.traceback
    assert any(each.type.startswith("eks-gpushare:") for each in recording.resources)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_make_target_that_is_named_exists(page: Path) -> None:
    targets = re.findall(
        r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    code = re.findall(
        r"`make ([a-z]+)|^\$? ?make ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert {one or other for one, other in code} <= set(targets)


def test_every_page_is_in_a_table_of_contents() -> None:
    """The decisions are listed by a glob; pages for maintainers say that they are in none."""
    docs = ROOT / "docs"
    index = (docs / "index.md").read_text(encoding="utf-8")
    there = {page.stem: page.read_text(encoding="utf-8") for page in docs.glob("*.md")}
    pages = {name for name, text in there.items() if "\norphan: true\n" not in text} - {"index"}

    assert {page for page in pages if not re.search(rf"^{page}$", index, re.MULTILINE)} == set()
