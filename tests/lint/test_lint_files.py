"""Files that are none, too large, or made to harm: one finding each, in little time and memory."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.cli import main
from eks_gpushare.manifests import files
from eks_gpushare.manifests.files import MAX_BYTES, given_files, read_file

if TYPE_CHECKING:
    from pathlib import Path

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


MEASURED = """
import sys
from pathlib import Path
from eks_gpushare.cli import main
from eks_gpushare.manifests import files
main(["lint", "--quiet", "."])
status = Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024, file=sys.stderr)
"""
# The peak that getrusage tells begins with that of the process which started this one.


def bomb() -> str:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(["a0: &a0 [x, x]", *levels]) + "\n"


def merge_bomb() -> str:
    keys = ", ".join(f"k{n}: 1" for n in range(1000))
    return f"a: &a {{{keys}}}\n" + "".join(f"b{n}: {{<<: *a}}\n" for n in range(5000))


HOSTILE = {
    "aliases": (bomb(), "More than 120,000 keys and values, with aliases written out."),
    "merges": (merge_bomb(), "More than 120,000 keys and values, with aliases written out."),
    "brackets": ("[" * 1_000_000, "More than 100 levels of nesting."),
    "dashes": ("- " * 500_000, "More than 100 levels of nesting."),
    "keys": ("".join(f"k{n}: 1\n" for n in range(100_000)), "More than 120,000 keys and values"),
    "itself": ("a: &a [*a]\n", "The alias *a stands for a value it is part of."),
    "nothing": ("a: *b\n", "The alias *b is not defined above."),
    "control": ("a: \x01\n", "The character U+0001 is not allowed in YAML."),
    "tabs": ("a:\n\tb: 1\n", "A tab stands where YAML allows only blanks."),
    "quote": ('a: "b\n', "Not valid YAML"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused_in_a_sentence(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = HOSTILE[name]
    (folder / "a.yaml").write_text(text)

    assert main(["lint", "--json", "a.yaml"]) == 2
    (report,) = json.loads(capsys.readouterr().out)["files"]
    assert [each["code"] for each in report["findings"]] == ["GPU1000"]
    assert report["findings"][0]["message"].startswith(message)
    assert report["findings"][0]["fix"]


BYTES = {
    "half of UTF-16": (b"\xfe\xff\0ab", "it is no whole UTF-16; save it as UTF-8"),
    "utf-32": ("a: b\n".encode("utf-32"), "it is no text: it holds a NUL byte"),
    "binary": (b"\x7fELF\0\0", "it is no text: it holds a NUL byte"),
    "git-crypt": (b"\0GITCRYPT\0\xe3\x01", "it is encrypted"),
    "Plural": (b"CHARTMART-ENCRYPTED\xe3\x01", "it is encrypted"),
    "latin-1 after a line": (b"\n\xe4", "line 2: the byte 0xe4 is not UTF-8; save it as UTF-8"),
    "latin-1": (
        b"a: b\nc: \xe4\n",
        "line 2: the byte 0xe4 is not UTF-8; save it as UTF-8",
    ),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes_that_are_no_text(name: str, folder: Path) -> None:
    content, problem = BYTES[name]
    (folder / "a.yaml").write_bytes(content)

    assert read_file("a.yaml").problem == problem
    passed = read_file("a.yaml", in_folder=True).note != ""
    assert passed == (problem == "it is encrypted" or b"\0" in content)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_file_of_a_windows_shell_is_read_and_corrected_in_its_encoding(
    encoding: str, folder: Path
) -> None:
    # kubectl reads it: `unicode.BOMOverride` in cli-runtime's FileVisitor.
    env = "[{name: ü, image: a, env: [{name: A, value: %s}]}]"
    text = "kind: Pod\napiVersion: v1\nspec: {containers: " + env + "}\n"
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    (folder / "a.yaml").write_bytes(mark + (text % 1).encode(encoding))

    main(["lint", "--set", "kubernetes", "--fix", "a.yaml"])

    assert (folder / "a.yaml").read_bytes() == mark + (text % '"1"').encode(encoding)
    assert read_file("a.yaml").text == text % '"1"'


def test_what_is_no_file_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")
    (folder / "loop.yaml").symlink_to("loop.yaml")
    (folder / "gone.yaml").symlink_to("nowhere")

    assert [each.note for each in given_files(["."])] == [
        "it is not read: no such file or directory",
        "it is not read: too many levels of symbolic links",
        "it is not read: it is a named pipe, not a file",
    ]
    assert [each.problem for each in given_files(["gone.yaml", "loop.yaml", "pipe.yaml"])] == [
        "no such file or directory",
        "too many levels of symbolic links",
        "it is a named pipe, not a file",
    ]
    assert read_file("/dev/zero").problem == "it is a device, not a file"
    assert read_file("a\0b").problem == "embedded null byte"


def test_a_large_file_is_refused_unread(folder: Path) -> None:
    with (folder / "large.yaml").open("wb") as opened:
        opened.truncate(100 * 1024 * 1024)

    said = f"it has 104,857,600 bytes; {MAX_BYTES:,} are the most that are read"
    assert read_file("large.yaml").problem == said
    # Where nobody named it, it is data, and no reason to fail.
    assert [(each.problem, each.note) for each in given_files(["."])] == [("", said)]


def test_a_folder_stands_for_what_lies_below(folder: Path) -> None:
    for name in ("b/z.yml", "b/c/a.yaml", "a.json", ".git/x.yaml", "node_modules/y.yaml", "b/n.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "b" / "again").symlink_to(folder)
    (folder / "b" / "pic.txt").write_bytes(b"\0")
    (folder / "empty").mkdir()

    found = {each.name: each.note for each in given_files([".", "b/z.yml", "empty"])}
    assert list(found) == ["a.json", "b/pic.txt", "b/z.yml", "b/c/a.yaml", ".", "empty"]
    assert found["."] == "1 file below it is of no kind that is read: 1 .py"
    assert found["b/pic.txt"] == "it is not read: it is no text: it holds a NUL byte"
    endings = ".yaml, .yml, .json, .toml, .sh"
    assert found["empty"] == f"nothing below it has an ending such as {endings}"


def test_more_files_than_one_call_reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILES", 2)
    for name in "abcd":
        (folder / name).write_text("x")

    found = [(each.name, each.text, each.problem) for each in given_files("aaabcd")]
    said = "it is beyond the 2 files that one call reads"
    assert found == [("a", "x", ""), ("b", "x", ""), ("c", "", said)]


def test_more_bytes_than_one_call_reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_TOTAL", 6)
    monkeypatch.setattr(files, "MAX_FILES", 4)
    for name in "abcd":
        (folder / name).write_text("xyz")

    found = [(each.name, each.text, each.problem) for each in given_files("abcd")]
    said = "it is beyond the 6 bytes that one call reads"
    assert found == [("a", "xyz", ""), ("b", "xyz", ""), ("c", "xyz", ""), ("d", "", said)]


def test_more_folders_than_one_call_looks_into(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_FOLDERS", 2)
    for name in ("a/b", "b"):
        (folder / name).mkdir(parents=True)
    for name in ("x.yaml", "a/y.yaml", "a/b/z.yaml", "b/z.yaml"):
        (folder / name).write_text("")

    assert [each.name for each in given_files(["."])] == ["x.yaml", "a/y.yaml"]


def test_names_that_no_file_can_have(folder: Path) -> None:
    found = {each.name: each.problem for each in given_files(["a\0b", "a" * 5000])}

    assert found == {"a\0b": "embedded null byte", "a" * 5000: "file name too long"}
    assert list(folder.iterdir()) == []


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "-").mkdir()
    monkeypatch.setattr(files, "read_bytes", lambda _name, _most: POD.encode())

    assert [(each.name, each.text) for each in given_files(["-", "-"])] == [("-", POD)]


def test_a_file_that_is_named_is_read_whatever_it_is_called(folder: Path) -> None:
    (folder / "pod").write_text(POD)

    assert main(["lint", "pod"]) == 0


def test_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eks_gpushare", "lint", "--json", "-"],
        input=POD,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0
    assert json.loads(done.stdout)["files"][0]["read"] == ["Kubernetes Pod"]


@pytest.mark.at_length
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_thousand_files_and_the_worst_of_them_in_little_memory(folder: Path) -> None:
    for number in range(1000):
        (folder / f"{number}.yaml").write_text(POD)
    (folder / "bomb.yaml").write_text(bomb())
    (folder / "huge.yaml").write_text("- " + "a" * (MAX_BYTES - 10))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert done.stdout.endswith("1,002 files: refused, 1 error, 1 note\n")
    assert int(done.stderr) < 200
