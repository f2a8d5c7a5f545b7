"""Every verb on streams that are closed, full, narrow or odd, and on names that are no names."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conftest import sampled

from eks_gpushare.cli import _VERBS, main, streams

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
STACK = str(ROOT / "stacks" / "Pulumi.time-slicing.yaml")
MANIFEST = str(ROOT / "examples" / "lint" / "GPU1110" / "good.yaml")
SECONDS = 60

COMMANDS = {
    "check": ["check", STACK],
    "check --json": ["check", "--json", STACK],
    "preview": ["preview", STACK],
    "preview --json": ["preview", "--json", STACK],
    "preview --before": ["preview", STACK, "--before", STACK],
    "policy": ["policy", STACK],
    "policy --json": ["policy", "--json", STACK],
    "iam": ["iam", STACK],
    "mig profiles": ["mig", "profiles", "A100-40GB"],
    "mig layouts": ["mig", "layouts", "A100-40GB"],
    "mig check": ["mig", "check", "A100-40GB", "3g.20gb=1", "1g.5gb=9"],
    "shares": ["shares", "g5.xlarge", "--gpu-memory", "3GiB"],
    "rules": ["rules", str(ROOT / "stacks" / "Pulumi.tenants.yaml")],
    "tenants": ["tenants", str(ROOT / "stacks" / "Pulumi.tenants.yaml")],
    "cost": ["cost", str(ROOT / "stacks" / "Pulumi.tenants.yaml")],
    "cost --csv": ["cost", "--csv", str(ROOT / "stacks" / "Pulumi.tenants.yaml")],
    "lint": ["lint", MANIFEST],
    "lint --json": ["lint", "--json", MANIFEST],
    "verify": ["verify", "--from", str(ROOT / "examples" / "verify" / "cluster.json")],
    "schema": ["schema"],
    "findings": ["findings"],
    "findings one": ["findings", "GPU201"],
    "--help": ["--help"],
    "check --help": ["check", "--help"],
    "init --help": ["init", "--help"],
    "completion": ["completion", "bash"],
    "completion --json": ["completion", "bash", "--json"],
    "--version": ["--version"],
}
FOUND = {"mig check": 1}
RUN_A_PROGRAM = [
    name for name, words in COMMANDS.items() if words[0] in {"preview", "policy", "iam"}
]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that registers nothing, for what is not about what it registers."""
    (tmp_path / "Pulumi.yaml").write_text("name: mine\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")
    (tmp_path / "__main__.py").write_text("")
    monkeypatch.chdir(tmp_path)


def test_every_verb_is_tried() -> None:
    assert {words[0] for words in COMMANDS.values() if words[0][0] != "-"} == set(_VERBS)


class Device(io.TextIOWrapper):
    """A stream as a process has it: of one encoding, strict, and held back until it is flushed."""

    def __init__(self, raw: io.RawIOBase | io.BytesIO, encoding: str) -> None:
        super().__init__(io.BufferedWriter(raw), encoding=encoding)
        self.raw = raw


class Failing(io.RawIOBase):
    def __init__(self, error: OSError) -> None:
        self._error: OSError | None = error

    def end(self) -> None:
        self._error = None

    def writable(self) -> bool:
        return True

    def write(self, content: object) -> int:
        if self._error is not None:
            raise self._error
        return len(bytes(content))  # type: ignore[call-overload]  # a buffer


def ran(
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    encoding: str,
    raw: Failing | None = None,
) -> tuple[int, bytes, bytes]:
    kept = io.BytesIO()
    out = Device(raw or kept, encoding)
    err_kept = io.BytesIO()
    err = Device(err_kept, encoding)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", out)
        patched.setattr(sys, "stderr", err)
        code = main(words)
        if raw is None:
            out.flush()
        err.flush()
    told = kept.getvalue(), err_kept.getvalue()
    if raw is not None:
        raw.end()
    out.close()
    err.close()
    return code, *told


@pytest.mark.parametrize(
    ("name", "encoding"),
    sampled(
        [
            (name, encoding)
            for encoding in ("ascii", "latin-1", "cp437", "utf-8")
            for name in COMMANDS
            if encoding == "ascii" or name not in RUN_A_PROGRAM  # which take a while
        ],
        3,
    ),
)
def test_a_terminal_of_any_encoding_will_do(
    name: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = ran(COMMANDS[name], monkeypatch, encoding)

    assert code == FOUND.get(name, 0)
    assert (out + err).decode(encoding)
    assert b"Traceback" not in err
    assert b"\\u25" not in out, "lines are drawn in what the terminal has"
    if "--json" in name:
        json.loads(out)


@pytest.mark.parametrize("name", sampled([*COMMANDS], 2))
def test_output_that_nobody_can_have_is_neither_success_nor_a_finding(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, gone = OSError(28, "No space left on device"), BrokenPipeError(32, "Broken pipe")

    code, _, err = ran(COMMANDS[name], monkeypatch, "utf-8", Failing(full))
    assert code == 2
    told = b"eks-gpushare: the output cannot be written: No space left on device\n"
    assert err.endswith(told)
    assert b"Traceback" not in err

    if name in RUN_A_PROGRAM[1:]:  # which take a while
        return
    code, _, err = ran(COMMANDS[name], monkeypatch, "utf-8", Failing(gone))
    assert code == 141
    assert b"Traceback" not in err


ENVIRONMENTS = {
    "COLUMNS=1": {"COLUMNS": "1"},
    "COLUMNS=0": {"COLUMNS": "0"},
    "COLUMNS=-5": {"COLUMNS": "-5"},
    "COLUMNS=x": {"COLUMNS": "x"},
    "COLUMNS of digits": {"COLUMNS": "9" * 5000},
    "COLUMNS=\u0664\u0662": {"COLUMNS": "\u0664\u0662"},
    "COLUMNS=\u00b2": {"COLUMNS": "\u00b2"},
    "LINES": {"LINES": "x"},
    "TERM": {"TERM": "dumb"},
    "no TERM": {"TERM": ""},
    "NO_COLOR": {"NO_COLOR": "1"},
    "FORCE_COLOR": {"FORCE_COLOR": "1", "TERM": "xterm"},
    "no HOME": {"HOME": ""},
}


@pytest.mark.parametrize("variables", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_variables_of_terminals_may_say_anything(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for words in (["check", STACK], COMMANDS["mig check"], ["preview", STACK]):
        if words[0] == "preview" and "COLUMNS" not in variables:
            continue  # which takes a while
        assert main(words) in {0, 1}
        assert "Traceback" not in capfd.readouterr().err


SHELL = {
    "stdout closed": (">&-", 2),
    "stdout full": (">/dev/full", 2),
    "stderr closed": ("2>&-", 0),
    "both closed": (">&- 2>&-", 2),
    "all closed": ("<&- >&- 2>&-", 2),
    "stdin closed": ("<&-", 0),
    "stderr full": ("2>/dev/full", 0),
}


@pytest.mark.parametrize(("redirected", "code"), SHELL.values(), ids=SHELL.keys())
@pytest.mark.parametrize(
    "words", ["check", pytest.param("preview --json", marks=pytest.mark.at_length)]
)
def test_streams_as_a_shell_leaves_them(words: str, redirected: str, code: int) -> None:
    line = f'exec "$0" -m eks_gpushare {words} "$1" {redirected}'
    done = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, STACK],
        capture_output=True,
        timeout=SECONDS,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr


NAMES = [
    *(
        "",
        ".",
        "..",
        "/",
        "a/b",
        "../x",
        "-",
        "--",
        "x" * 4096,
        "\n",
        "a\nb",
        "\0",
        "a\0b",
        "\x1b[2J",
    ),
    *(
        "~",
        "*",
        "[a",
        "%s",
        "{}",
        "\u202e",
        "\udcff",
        " ",
        "Pulumi..yaml",
        "x" * 300 + ".yaml",
        "/dev",
    ),
    *(
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/proc/self/mem",
        "/proc/self/environ",
        "/etc/shadow/x",
    ),
]


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["preview"],
        ["policy"],
        ["iam"],
        ["preview", "dev", "--before"],
        ["preview", "dev", "--program"],
        ["preview", "dev", "--answers"],
        ["policy", "dev", "--config"],
        ["policy", "dev", "--pack"],
        ["iam", "dev", "--account"],
        ["mig", "layouts"],
        ["mig", "check", "A100-40GB"],
        ["findings"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("small")
def test_any_word_may_stand_where_a_name_is_asked_for(
    words: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.isatty", lambda _: True)  # standard input of the tests' own process
    if "--account" in words:
        names = ["", "x" * 4096, "\u0661" * 12, "1" * 13, "\n", "\x1b[2J"]
    else:
        names = [
            each for each in NAMES if each != "--" and not (words[0] == "findings" and not each)
        ]
    for name in names:
        begun = time.process_time()
        code = main([*words, name] if name[:1] != "-" or name == "-" else [*words, f"./{name}"])
        out, err = capfd.readouterr()

        assert code in {1, 2} or name in {"", "."} or "--program" in words, (name, out)
        assert "Traceback" not in err
        assert "defect" not in err
        assert not {"\x1b", "\u202e", "\0", "\r"} & {*out, *err}
        assert len(out) + len(err) < 20_000
        assert time.process_time() - begun < SECONDS


def fifo(at: Path) -> None:
    os.mkfifo(at)


def listening(at: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(at))


def growing(at: Path) -> None:
    with at.open("wb") as file:
        file.truncate(100 * 1024 * 1024)


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "fifo": (fifo, "it is a named pipe, not a file"),
    "directory": (Path.mkdir, "it is a directory, not a file"),
    "socket": (listening, "it is a socket, not a file"),
    "device": (lambda at: at.symlink_to("/dev/zero"), "it is a device, not a file"),
    "broken link": (lambda at: at.symlink_to("nowhere"), "no such file or directory"),
    "loop": (lambda at: at.symlink_to(at.name), "too many levels of symbolic links"),
    "large": (growing, "it has 104,857,600 bytes; 1,048,576 are the most that are read"),
}
READERS = {
    "check": ["check"],
    "check --json": ["check", "--json"],
    "preview --before": ["preview", "dev", "--before"],
    "preview --answers": ["preview", "dev", "--answers"],
    "policy --config": ["policy", "dev", "--config"],
}


@pytest.mark.parametrize(
    ("words", "make", "why"),
    sampled(
        [
            pytest.param(words, *made, id=f"{name} of a {kind}")
            for kind, made in FILES.items()
            for name, words in READERS.items()
        ],
        3,
    ),
)
@pytest.mark.usefixtures("small")
def test_what_is_no_file_is_refused_before_it_is_read(
    make: Callable[[Path], object],
    why: str,
    words: list[str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    make(Path("thing.yaml"))

    assert main([*words, "thing.yaml"]) == 2
    out, err = capfd.readouterr()
    assert why in " ".join((out + err).split())
    assert "Traceback" not in err


CONTENTS = {
    "NUL": b"a: \0",
    "UTF-16": "a: é".encode("utf-16"),
    "UTF-32": "a: é".encode("utf-32"),
    "latin-1": b"a: \xe9",
    "random": bytes(range(256)),
    "a long line": b"a: " + b"x" * 10**6,
    "brackets": b"[" * 10**6,
    "braces": b"{" * 10**5,
    "aliases": b"a: &a [x]\n" + b"".join(b"b%d: [*a, *a]\n" % n for n in range(1000)),
    "anchors": b"a: &a [*a]",
    "empty": b"",
    "carriage returns": b"\r" * 1000,
    "many keys": b"".join(b"k%d: 1\n" % n for n in range(60_000)),
    "digits": b"a: " + b"9" * 100_000,
}


@pytest.mark.parametrize(
    ("words", "content"),
    sampled(
        [
            pytest.param(words, content, id=f"{name} of {what}")
            for what, content in CONTENTS.items()
            for name, words in READERS.items()
        ],
        3,
    ),
)
@pytest.mark.usefixtures("small")
def test_a_file_may_hold_anything(
    content: bytes, words: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "thing.yaml"
    file.write_bytes(content)

    # An empty file answers nothing, and another project's file may have nothing of ours.
    lenient = "--before" in words or ("--answers" in words and not content.strip(b"\r"))
    fine = {0} if lenient else set()
    assert main([*words, str(file)]) in {1, 2} | fine
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    assert "defect" not in out + err
    assert len(out) + len(err) < 10**6


CONFIGS = {
    "a list": "[]",
    "a number": "1",
    "null": "null",
    "text": '"x"',
    "a level that is none": '{"all": "x"}',
    "a number for a policy": '{"all": 1}',
    "a list for a policy": '{"all": []}',
    "null for a policy": '{"all": null}',
    "a level that is a list": '{"all": {"enforcementLevel": []}}',
    "a level that is a mapping": '{"all": {"enforcementLevel": {}}}',
    "no such policy": '{"x": "advisory"}',
    "nested": "[" * 100_000,
    "nested mappings": '{"a":' * 100_000,
    "no JSON": "{",
    "two documents": "{} {}",
    "NaN": '{"time-slicing-replicas": {"maximum": NaN}}',
    "digits": '{"time-slicing-replicas": ' + "9" * 5000 + "}",
}


@pytest.mark.parametrize(
    "content", sampled([pytest.param(text, id=name) for name, text in CONFIGS.items()], 3)
)
def test_a_configuration_of_a_wrong_shape_is_refused(
    content: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "levels.json"
    file.write_text(content)

    assert main(["policy", STACK, "--config", str(file)]) == 2
    out, err = capfd.readouterr()
    assert (out, "Traceback" in err) == ("", False)
    assert err.startswith("eks-gpushare: ")


@pytest.mark.parametrize("name", sampled(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"], 2))
def test_standard_input_is_read_until_its_writer_closes_it(name: str) -> None:
    def piped(content: bytes) -> tuple[int, bytes]:
        done = subprocess.run(
            [sys.executable, "-m", "eks_gpushare", "check", name],
            input=content,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        return done.returncode, done.stdout

    code, out = piped(Path(STACK).read_bytes())
    assert (code, out.split(b",")[0]) == (0, f"{name}: ok".encode())
    code, out = piped(b"#" * (3 * 1024 * 1024))
    assert (code, b"the most that are read" in b" ".join(out.split())) == (2, True)


def test_a_file_of_a_shell_s_own_pipe_is_read_once_and_for_all(tmp_path: Path) -> None:
    """As `--before <(git show HEAD:stacks/Pulumi.dev.yaml)`."""
    done = subprocess.run(
        [
            "/bin/bash",
            "-c",
            '"$1" -m eks_gpushare preview "$0" --before <(cat "$0")',
            STACK,
            sys.executable,
        ],
        capture_output=True,
        check=False,
        timeout=SECONDS,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert done.returncode == 0, done.stderr
    assert b"What the edit does to nodes\n  nothing\n" in done.stdout


def test_only_weight_and_colour_pass_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    streams.Stream(terminal).write(
        "\x1b[1;31mred\x1b[0m \x1b[8mhidden\x1b[2J\x9b1m\x1b]0;t\x07\r\n"
    )

    assert terminal.getvalue() == (
        "\x1b[1;31mred\x1b[0m \\x1b[8mhidden\\x1b[2J\\x9b1m\\x1b]0;t\\x07\\r\n"
    )
