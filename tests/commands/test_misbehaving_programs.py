"""Programs and policy packs that print, break and end what they run in: one document all the same.

Each program is run in this process, with its descriptors caught as a shell would catch them.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import sampled

from eks_gpushare.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of what these programs leave open
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROOT = Path(__file__).parents[2]
SECONDS = 60


@pytest.fixture(scope="module", autouse=True)
def _what_is_left_open_is_closed_here() -> Iterator[None]:
    yield
    gc.collect()


FINE = {
    "print": "print('NOISE')",
    "print without end": "print('NOISE', end='')",
    "flush": "print('NOISE', flush=True)",
    "write": "import sys; sys.stdout.write('NOISE\\n')",
    "bytes": "import sys; sys.stdout.buffer.write(b'NOISE\\xff\\n')",
    "the first stdout": "import sys; print('NOISE', file=sys.__stdout__, flush=True)",
    "os.write": "import os; os.write(1, b'NOISE\\n')",
    "open 1": "open(1, 'w', closefd=False).write('NOISE\\n')",
    "/dev/stdout": "open('/dev/stdout', 'a').write('NOISE\\n')",
    "/dev/fd/1": "open('/dev/fd/1', 'a').write('NOISE\\n')",
    "os.system": "import os; os.system('echo NOISE')",
    "subprocess": "import subprocess; subprocess.run(['echo', 'NOISE'])",
    "subprocess to stdout": "import subprocess, sys; subprocess.run(['echo', 'NOISE'], "
    "stdout=sys.stdout)",
    "popen": "import os; os.popen('echo NOISE >&2').read()",
    "logging": "import logging, sys; logging.basicConfig(stream=sys.stdout); "
    "logging.error('NOISE')",
    "a logger of its own": "import logging; logging.getLogger('x').addHandler("
    "logging.FileHandler('/dev/stdout')); logging.getLogger('x').error('NOISE')",
    "thread": "import threading; t = threading.Thread(target=print, args=['NOISE']); t.start(); "
    "t.join()",
    "C": "import ctypes; c = ctypes.CDLL(None); c.puts(b'NOISE'); c.fflush(None)",
    "C write": "import ctypes; ctypes.CDLL(None).write(1, b'NOISE\\n', 6)",
    "faulthandler": "import faulthandler; faulthandler.dump_traceback(open('/dev/stdout', 'w'))",
    "a fork": "import os\npid = os.fork()\nif pid == 0:\n    print('NOISE', flush=True)\n"
    "    os._exit(0)\nos.waitpid(pid, 0)",
    "a fork that returns": "import os\npid = os.fork()\nif pid == 0:\n    raise SystemExit(0)\n"
    "os.waitpid(pid, 0)",
    "a fork that runs on": "import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)",
    "a JSON document": "print('{\"resources\": []}')",
    "much": "print('NOISE\\n' * 20000)",
    "stdout replaced": "import io, sys; sys.stdout = io.StringIO(); print('NOISE')",
    "stdout None": "import sys; sys.stdout = None",
    "stdout odd": "import sys; sys.stdout = 5",
    "stdout closed": "import sys; sys.stdout.close()",
    "stderr closed": "import sys; sys.stderr.close()",
    "both closed": "import sys; sys.stdout.close(); sys.stderr.close()",
    "redirected": "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n"
    "    print('NOISE')",
    "detached": "import sys; sys.stdout.detach()",
    "chdir": "import os; os.chdir('/')",
    "environment": "import os; os.environ.clear()",
    "handlers": "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "alarm": "import signal; signal.setitimer(signal.ITIMER_REAL, 1000)",
    "own signal": "import os, signal; signal.signal(signal.SIGUSR1, lambda *_: None); "
    "os.kill(os.getpid(), signal.SIGUSR1)",
    "kill 0": "import os; os.kill(os.getpid(), 0)",
    "sys.exit()": "import sys; sys.exit()",
    "sys.exit(0)": "import sys; sys.exit(0)",
    "SystemExit": "raise SystemExit",
    "warning": "import warnings; warnings.warn('NOISE')",
    "NaN": "import pulumi; pulumi.export('x', float('nan')); pulumi.export('y', -float('inf'))",
    "deep output": "import pulumi; pulumi.export('x', [[[[[1]]]]])",
    "huge output": "import pulumi; pulumi.export('x', 'x' * 10**6)",
    "escapes": "import pulumi; pulumi.export('\\x1b[2J\\x9b\\u202e\\r', '\\x1b]0;x\\x07')",
    "log": "import pulumi; pulumi.info('NOISE')",
    "hooks": "import sys; sys.excepthook = sys.displayhook = None",
    "recursion limit": "import sys; sys.setrecursionlimit(3000)",
}
"""Programs that come to their end."""

BROKEN = {
    "os._exit(0)": ("import os; os._exit(0)", "_exit(0), which ends its process"),
    "posix._exit": ("from posix import _exit; _exit(0)", "_exit(0), which ends its process"),
    "_exit in except": ("import os\ntry:\n    os._exit(0)\nexcept Exception:\n    pass", "_exit"),
    "_exit in a thread": (
        "import os, threading as t; t = t.Thread(target=os._exit, args=[0]); t.start(); t.join()",
        "_exit(0), which ends its process",
    ),
    "abort": ("import os; os.abort()", "abort(), which ends"),
    "kill": ("import os; os.kill(os.getpid(), 9)", "which ends its process"),
    "term": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "which ends"),
    "group": ("import os; os.kill(0, 15)", "kill(0, 15), which ends"),
    "killpg": ("import os; os.killpg(os.getpgrp(), 15)", "killpg("),
    "raise_signal": ("import signal; signal.raise_signal(15)", "raise_signal"),
    "exec": ("import os; os.execv('/bin/true', ['true'])", "execv('/bin/true', ['true'])"),
    "execlp": ("import os; os.execlp('true', 'true')", "exec"),
    "sys.exit(3)": ("import sys; sys.exit(3)", "sys.exit(3)"),
    "sys.exit(text)": ("import sys; sys.exit('no')", "sys.exit('no')"),
    "an untellable error": (
        "class E(Exception):\n    def __str__(self): 1 / 0\n    __repr__ = __str__\nraise E",
        "E, whose text cannot be told: ZeroDivisionError",
    ),
    "an untellable exit": (
        "import sys\nclass E:\n    def __repr__(self): raise ValueError\nsys.exit(E())",
        "sys.exit(a E)",
    ),
    "recursion": ("def f(): f()\nf()", "recursion"),
    "recursion in repr": ("a = []\nfor _ in range(9**5): a = [a]\nrepr(a)", "recursion"),
    "syntax": ("def", "invalid syntax"),
    "NUL": ("\0", ""),
    "not UTF-8": (b"a = '\xff'\n", ""),
    "BaseException": ("raise BaseException('stop')", "stop"),
    "GeneratorExit": ("raise GeneratorExit", "GeneratorExit"),
    "memory": ("raise MemoryError", "MemoryError"),
    "escapes": ("raise ValueError('\\x1b[2J\\x9b1m\\u202e\\r')", "\x1b[2J"),
    "surrogate": ("raise ValueError('\\udcff')", "\udcff"),
    "group of errors": ("raise ExceptionGroup('two', [ValueError('a')])", "two"),
    "argv": ("import sys; sys.argv[:] = []", ""),
    "a surrogate told": ("import pulumi; pulumi.log.warn('\\udcff')", ""),
    "no such folder": ("import os, shutil\nos.chdir('/nowhere')", "/nowhere"),
}
"""Programs that do not, and what is said of each."""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "Pulumi.yaml").write_text("name: mine\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert Path.cwd() == tmp_path


def written(program: Path, source: str | bytes) -> None:
    data = source if isinstance(source, bytes) else source.encode()
    (program / "__main__.py").write_bytes(data)


def one_document(text: str) -> dict[str, Any]:
    def refused(word: str) -> None:
        raise AssertionError(word)

    assert text.isascii()
    document: dict[str, Any] = json.loads(text, parse_constant=refused)
    return document


@pytest.mark.parametrize("source", FINE.values(), ids=FINE.keys())
@pytest.mark.filterwarnings("ignore")
def test_a_program_may_print_what_and_how_it_likes(
    source: str, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    handlers = signal.getsignal(signal.SIGINT)
    written(program, source)

    code = main(["preview", "dev", "--json"])

    out, err = capfd.readouterr()
    document = one_document(out)
    assert (code, document["error"]) == (0, None)
    assert "NOISE" not in out
    assert "Traceback" not in err
    assert signal.getsignal(signal.SIGINT) is handlers


@pytest.mark.parametrize(("source", "said"), BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.filterwarnings("ignore")  # of what these programs leave open
def test_what_ends_a_program_is_said_and_is_no_success(
    source: str, said: str, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    written(program, source)

    code = main(["preview", "dev", "--json"])

    out, err = capfd.readouterr()
    assert code == 1
    assert said in one_document(out)["error"]["text"]
    assert "Traceback" not in err

    assert main(["preview", "dev"]) == 1
    out, err = capfd.readouterr()
    assert not {"\x1b", "\x9b", "\u202e", "\r"} & {*out, *err}
    assert err


def test_what_is_printed_is_not_lost(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    written(program, "import os\nprint('one')\nos.system('echo two')\nos.write(1, b'three\\n')\n")

    main(["preview", "dev", "--json"])

    assert set(capfd.readouterr().err.split()) == {"one", "two", "three"}


def test_numbers_that_json_lacks_are_text(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    written(program, FINE["NaN"])

    main(["preview", "dev", "--json"])

    assert one_document(capfd.readouterr().out)["outputs"] == {"x": "NaN", "y": "-Infinity"}


def test_an_interrupt_within_is_one(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    written(program, "raise KeyboardInterrupt")

    assert main(["preview", "dev", "--json"]) == 130
    assert capfd.readouterr() == ("", "interrupted\n")


PACK = """import os, sys, atexit
from pulumi_policy import *
{first}
def validate(args, report):
    {inside}
PolicyPack("p", policies=[ResourceValidationPolicy("a", "A.", validate)])
"""
PACKS = {
    "prints": ("print('NOISE')", "print('NOISE')", 0),
    "writes": ("os.write(1, b'NOISE')", "os.system('echo NOISE')", 0),
    "closes": ("sys.stdout.close()", "pass", 0),
    "exits at once": ("sys.exit(0)", "pass", 2),
    "exits hard": ("os._exit(0)", "pass", 2),
    "exits within": ("pass", "sys.exit(0)", 2),
    "exits hard within": ("pass", "os._exit(0)", 2),
    "fails": ("1 / 0", "pass", 2),
    "fails within": ("pass", "1 / 0", 2),
    "fails untellably": (
        "class E(Exception):\n    def __str__(self): raise ValueError",
        "raise E",
        2,
    ),
}


@pytest.mark.parametrize(("first", "inside", "code"), PACKS.values(), ids=PACKS.keys())
def test_a_policy_pack_may_do_so_too(
    first: str, inside: str, code: int, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    written(program, "import pulumi\npulumi.ComponentResource('a:b:C', 'x')\n")
    (program / "policies").mkdir()
    (program / "policies" / "__main__.py").write_text(PACK.format(first=first, inside=inside))

    assert main(["policy", "dev", "--pack", "policies", "--json"]) == code
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    if code:
        assert (out, bool(err)) == ("", True)
    else:
        assert one_document(out)["violations"] == []


LEFT = {
    "exit handlers": ("import atexit; atexit.register(print, 'NOISE')", 0),
    "an exit handler that exits": ("import atexit, os; atexit.register(os._exit, 0); 1 / 0", 1),
    "a thread without end": (
        "import threading, time; threading.Thread(target=time.sleep, args=[999]).start()",
        0,
    ),
    "C that is held back": ("import ctypes; ctypes.CDLL(None).printf(b'NOISE\\n')", 0),
    "descriptor 1 closed": ("import os; os.close(1)", 0),
    "descriptor 2 closed": ("import os; os.close(2)", 0),
    "many closed": ("import os; os.closerange(0, 100)", 1),
}
"""Programs whose trace shows when the process ends, and its exit code."""


@pytest.mark.parametrize(
    ("source", "code"), sampled([pytest.param(*left, id=name) for name, left in LEFT.items()], 4)
)
def test_what_a_program_leaves_behind_changes_neither_document_nor_code(
    source: str, code: int, program: Path
) -> None:
    written(program, source)
    done = subprocess.run(
        [sys.executable, "-m", "eks_gpushare", "preview", "dev", "--json"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert done.returncode == code, done.stderr
    assert one_document(done.stdout)["stack"] == "dev"
