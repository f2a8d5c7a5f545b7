from __future__ import annotations

import os
import shutil
import signal
import subprocess
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eks_gpushare_lab.binaries import build, versions
from eks_gpushare_lab.binaries.toolchain import find_go
from eks_gpushare_lab.binaries.versions import GoCommand, Tool
from eks_gpushare_lab.errors import LabError, NoGoError
from eks_gpushare_lab.host import folders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAIN = """\
package main

import "fmt"

var version = "unknown"

func main() { fmt.Println("tiny", version) }
"""

pytestmark = pytest.mark.slow


class Notes:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def begin(self, what: str, left: float) -> None:
        assert left >= 0, what

    def advance(self, detail: str, share: float, left: float) -> None:
        assert 0 <= share <= 1, detail
        assert left >= 0

    def end(self, what: str, seconds: float) -> None:
        assert seconds >= 0
        self.steps.append(what)

    def close(self) -> None:
        self.steps.append("closed")


@pytest.fixture(scope="session")
def go() -> Path:
    """The real Go, as the lab finds it, before a test puts something else on PATH."""
    try:
        return find_go(versions.required_go(versions.MODULES / "etcd"), print).path
    except NoGoError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def caches_of_go(go: Path) -> dict[str, str]:
    """Variables that say where Go keeps what it has loaded and built, asked once."""
    names = ("GOCACHE", "GOMODCACHE")
    told = subprocess.run([go, "env", *names], capture_output=True, text=True, check=True)
    return dict(zip(names, told.stdout.splitlines(), strict=True))


@pytest.fixture
def cache(
    go: Path, caches_of_go: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An empty cache of the lab's own; Go keeps its caches."""
    for name, folder in caches_of_go.items():
        monkeypatch.setenv(name, folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{go.parent}{os.pathsep}{os.environ['PATH']}")
    return folders.cache_folder()


@pytest.fixture
def tiny(tmp_path: Path) -> Tool:
    return make_tool(tmp_path / "tiny")


def make_tool(folder: Path, main: str = MAIN, requires: str = "") -> Tool:
    folder.mkdir(exist_ok=True)
    (folder / "go.mod").write_text(f"module example.com/tiny\n\ngo 1.21\n{requires}")
    (folder / "go.sum").write_text("")
    (folder / "main.go").write_text(main)
    command = GoCommand("tiny", "example.com/tiny", "tiny v1.2.3")
    return Tool(
        "tiny", "v1.2.3", folder, "example.com/tiny", (command,), stamps=("main.version=v1.2.3",)
    )


def script(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def without_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH that has a shell and nothing else, and no package index."""
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


def entries(cache: Path) -> list[str]:
    """What the cache has besides locks and logs."""
    return sorted(each.name for each in cache.iterdir() if each.name not in {"locks", "logs"})


def test_a_program_is_built_with_its_version(cache: Path, tiny: Tool) -> None:
    path = build.programs([tiny], progress=Notes()).paths["tiny"]
    said = subprocess.run([path], capture_output=True, text=True, check=True)

    assert path.is_relative_to(cache)
    assert said.stdout == "tiny v1.2.3\n"


@pytest.mark.usefixtures("cache")
def test_a_build_tag_chooses_among_files(tiny: Tool) -> None:
    tagged = tiny.folder / "tagged.go"
    tagged.write_text('//go:build chosen\n\npackage main\n\nfunc init() { version += "+chosen" }\n')
    plain = build.programs([tiny], progress=Notes()).paths["tiny"]
    chosen = replace(tiny, tags=("chosen",), commands=(replace(tiny.commands[0], says="tiny"),))
    path = build.programs([chosen], progress=Notes()).paths["tiny"]
    said = subprocess.run([path], capture_output=True, text=True, check=True)

    assert path != plain
    assert said.stdout == "tiny v1.2.3+chosen\n"


@pytest.mark.at_length
@pytest.mark.usefixtures("cache")
def test_a_program_that_does_not_tell_its_version_is_built(
    tiny: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = replace(tiny, commands=(replace(tiny.commands[0], says=""),))
    script(tmp_path / "bin" / "tiny", "echo tiny v1.2.3")
    on_path(tmp_path / "bin", monkeypatch)

    assert build.programs([silent], progress=Notes()).paths["tiny"] == build.entry(silent) / "tiny"


@pytest.mark.usefixtures("cache")
def test_what_is_built_is_not_built_again(tiny: Tool) -> None:
    first = build.programs([tiny], progress=Notes())
    notes = Notes()

    assert build.programs([tiny], progress=notes) == first
    assert (notes.notes, notes.steps) == ([], [])


@pytest.mark.at_length
@pytest.mark.usefixtures("cache")
def test_what_is_built_needs_no_go(
    tiny: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build.programs([tiny], progress=Notes())
    without_go(tmp_path / "bare", monkeypatch)

    assert build.programs([tiny], progress=Notes()) == first


@pytest.mark.at_length
def test_another_pin_is_another_entry(cache: Path, tiny: Tool) -> None:
    build.programs([tiny], progress=Notes())
    with (tiny.folder / "go.mod").open("a") as file:
        file.write("\n// another day\n")
    build.programs([tiny], progress=Notes())

    assert len(entries(cache)) == 2


@pytest.mark.at_length
@pytest.mark.usefixtures("cache")
def test_a_damaged_entry_is_built_again(tiny: Tool) -> None:
    path = build.programs([tiny], progress=Notes()).paths["tiny"]
    path.write_bytes(b"half")

    assert build.programs([tiny], progress=Notes()).paths["tiny"].stat().st_size > 100_000


@pytest.mark.at_length
def test_steps_are_told(cache: Path, tiny: Tool) -> None:
    notes = Notes()
    build.programs([tiny], progress=notes)

    assert notes.steps == ["tiny v1.2.3: modules", "tiny v1.2.3", "closed"]
    assert notes.notes[0].endswith(f" into {cache}, once")


@pytest.mark.at_length
@pytest.mark.usefixtures("cache")
def test_a_users_settings_do_not_change_what_is_built(
    tiny: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"GOOS": "windows", "GOFLAGS": "-mod=vendor", "GOWORK": "/nowhere"}.items():
        monkeypatch.setenv(name, value)

    assert build.programs([tiny], progress=Notes()).paths["tiny"].exists()


@pytest.mark.usefixtures("cache")
def test_the_wanted_version_on_path_is_taken(
    tiny: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "bin" / "tiny", "echo tiny v1.2.3")
    on_path(tmp_path / "bin", monkeypatch)

    assert build.programs([tiny]).paths == {"tiny": tmp_path / "bin" / "tiny"}


@pytest.mark.parametrize(
    "says", ["echo tiny v1.2.30", "echo tiny v1.2", "echo tiny v1.2.3-dirty", "exit 1", "echo"]
)
def test_another_version_on_path_is_not_taken(
    cache: Path, tiny: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    script(tmp_path / "bin" / "tiny", says)
    on_path(tmp_path / "bin", monkeypatch)

    assert build.programs([tiny], progress=Notes()).paths["tiny"].is_relative_to(cache)


BUILD = textwrap.dedent("""
    import sys
    from pathlib import Path
    from eks_gpushare_lab.binaries import build
    from eks_gpushare_lab.binaries.versions import GoCommand, Tool
    command = GoCommand("tiny", "example.com/tiny", "tiny v1.2.3")
    tool = Tool("tiny", "v1.2.3", Path(sys.argv[1]), "example.com/tiny", (command,),
                stamps=("main.version=v1.2.3",))
    print(build.programs([tool]).paths["tiny"])
""")


def test_two_builds_at_once_make_one_entry(
    cache: Path, tiny: Tool, python: Callable[..., subprocess.Popen[str]]
) -> None:
    both = [python("-c", BUILD, str(tiny.folder)) for _ in range(2)]
    outputs = [process.communicate(timeout=120) for process in both]
    errors = "".join(error for _, error in outputs)

    assert [output for output, _ in outputs] == [f"{build.entry(tiny) / 'tiny'}\n"] * 2
    assert errors.count("building with Go") == 1
    assert entries(cache) == [build.entry(tiny).name]


@pytest.fixture
def hanging(
    go: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], int]:
    """A Go whose builds never end; says the process id of one that is under way, or 0."""
    pid = tmp_path / "pid"
    hang = f"echo started > $GOTMPDIR/half; echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 300"
    script(tmp_path / "bin" / "go", f'[ "$1" = build ] || exec {go} "$@"\n{hang}')
    on_path(tmp_path / "bin", monkeypatch)
    assert not cache.exists()
    return lambda: int(pid.read_text()) if pid.exists() else 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_build_leaves_no_entry_and_no_process(
    cache: Path,
    tiny: Tool,
    hanging: Callable[[], int],
    python: Callable[..., subprocess.Popen[str]],
    eventually: Callable[..., bool],
    runs: Callable[[int], bool],
    number: signal.Signals,
) -> None:
    process = python("-c", BUILD, str(tiny.folder))
    assert eventually(lambda: hanging() > 0)
    process.send_signal(number)
    process.communicate(timeout=20)

    assert eventually(lambda: not runs(hanging()), 5)
    left_behind = entries(cache)
    # Only an orderly end can clean up after itself; what a kill leaves, the next build removes.
    if number == signal.SIGINT:
        assert left_behind == []
    assert [name for name in left_behind if not name.startswith(".")] == []


@pytest.mark.at_length
def test_a_build_after_a_killed_one_starts_afresh(
    cache: Path,
    tiny: Tool,
    hanging: Callable[[], int],
    python: Callable[..., subprocess.Popen[str]],
    eventually: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
    go: Path,
) -> None:
    process = python("-c", BUILD, str(tiny.folder))
    assert eventually(lambda: hanging() > 0)
    process.kill()
    process.communicate(timeout=20)
    left_behind = entries(cache)
    monkeypatch.setenv("PATH", f"{go.parent}{os.pathsep}{os.environ['PATH']}")
    build.programs([tiny], progress=Notes())

    assert [name[:10] for name in left_behind] == [".building-"]
    assert entries(cache) == [build.entry(tiny).name]


@pytest.mark.at_length
def test_a_waiting_build_says_for_whom(
    tiny: Tool,
    hanging: Callable[[], int],
    python: Callable[..., subprocess.Popen[str]],
    eventually: Callable[..., bool],
) -> None:
    first = python("-c", BUILD, str(tiny.folder))
    assert eventually(lambda: hanging() > 0)
    second = python("-c", BUILD, str(tiny.folder))
    assert second.stderr is not None

    expected = f"lab: another process (pid {first.pid}) is building: waiting for it\n"
    assert second.stderr.readline() == expected


@pytest.mark.usefixtures("cache")
def test_a_compiler_error_is_shown_with_its_log(tmp_path: Path, go: Path) -> None:
    tool = make_tool(tmp_path / "wrong", MAIN.replace("fmt.Println", "fmt.Printline"))
    with pytest.raises(LabError) as caught:
        build.programs([tool], progress=Notes())

    log = folders.cache_folder() / "logs" / "tiny-v1.2.3.log"
    number = ".".join(map(str, find_go((1,), print).version))
    assert str(caught.value) == (
        f"go build failed with Go {number} ({go}):\n"
        "  # example.com/tiny\n"
        "  ./main.go:7:19: undefined: fmt.Printline\n"
        f"tiny v1.2.3: the log is {log}"
    )


def test_a_program_that_does_not_say_its_version_is_refused(cache: Path, tmp_path: Path) -> None:
    tool = make_tool(tmp_path / "unstamped", MAIN.replace('"tiny"', '"other"'))
    with pytest.raises(LabError) as caught:
        build.programs([tool], progress=Notes())

    assert str(caught.value) == (
        "tiny was built, but does not say that it is 'tiny v1.2.3'; "
        f"the log is {cache / 'logs' / 'tiny-v1.2.3.log'}"
    )
    assert entries(cache) == []


def test_a_module_that_cannot_be_downloaded_is_an_affair_of_the_network(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = make_tool(
        tmp_path / "far",
        MAIN.replace('import "fmt"', 'import (\n"fmt"\n_ "example.com/far"\n)'),
        "\nrequire example.com/far v1.0.0\n",
    )
    (tool.folder / "go.sum").write_text(
        f"example.com/far v1.0.0 h1:{'A' * 43}=\nexample.com/far v1.0.0/go.mod h1:{'A' * 43}=\n"
    )
    monkeypatch.setenv("GOPROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("GONOSUMDB", "*")
    with pytest.raises(LabError) as caught:
        build.programs([tool], progress=Notes())
    first, detail, *rest = str(caught.value).splitlines()

    assert first == "modules could not be downloaded:"
    assert "connection refused" in detail
    assert rest == [
        "Go modules have to be downloaded once: see to the network, or set GOPROXY",
        f"tiny v1.2.3: the log is {cache / 'logs' / 'tiny-v1.2.3.log'}",
    ]


def test_a_full_disk_is_called_one(
    go: Path, cache: Path, tiny: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = "echo 'write main.a: no space left on device' >&2; exit 1"
    script(tmp_path / "bin" / "go", f'[ "$1" = build ] || exec {go} "$@"\n{full}')
    on_path(tmp_path / "bin", monkeypatch)
    with pytest.raises(LabError) as caught:
        build.programs([tiny], progress=Notes())
    free = shutil.disk_usage(cache).free >> 20

    assert str(caught.value).partition(" MB ")[0].startswith("the disk is full: ")
    assert int(str(caught.value).split()[4]) == pytest.approx(free, rel=0.05)
    assert str(caught.value).partition(" MB ")[2] == (
        f"are free where {cache} is; make room (a build takes 5 GB with Go's caches), or set "
        "XDG_CACHE_HOME, GOCACHE and GOMODCACHE to another disk\n"
        f"tiny v1.2.3: the log is {cache / 'logs' / 'tiny-v1.2.3.log'}"
    )


ADVICE = "Install Go 1.21 or later and put it on PATH, or put the programs themselves there."


def refusal(tool: Tool) -> tuple[str, str]:
    """First and last line of what a build without Go says; what pip says is between them."""
    with pytest.raises(NoGoError) as caught:
        build.programs([tool], progress=Notes())
    lines = str(caught.value).splitlines()
    return lines[0], lines[-1]


@pytest.mark.usefixtures("cache")
def test_no_go_at_all_is_refused(
    tiny: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_go(tmp_path / "bare", monkeypatch)

    package = "==".join(versions.GO_PACKAGE)
    expected = f"there is no `go` on PATH, and pip cannot install {package}:"
    assert refusal(tiny) == (expected, ADVICE)


@pytest.mark.at_length
@pytest.mark.usefixtures("cache")
def test_a_broken_go_is_named(tiny: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "bare" / "go"
    script(broken, "echo 'go: cannot find GOROOT directory: /x' >&2; exit 2")
    without_go(broken.parent, monkeypatch)

    first, last = refusal(tiny)
    what = f"{broken} does not work: go: cannot find GOROOT directory: /x, and pip cannot install"
    assert first.startswith(what)
    assert last == ADVICE


@pytest.mark.at_length
@pytest.mark.usefixtures("cache")
def test_an_old_go_is_named(tiny: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "bare" / "go"
    script(old, "echo go1.20.14")
    without_go(old.parent, monkeypatch)

    first, _ = refusal(tiny)
    what = f"Go 1.20.14 ({old}): Go 1.21 or later is needed, and pip cannot install"
    assert first.startswith(what)


@pytest.mark.at_length
def test_a_failed_installation_of_go_leaves_nothing(
    cache: Path, tiny: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_go(tmp_path / "bare", monkeypatch)
    refusal(tiny)

    assert entries(cache) == []


def test_a_lock_is_gone_with_its_process(
    tmp_path: Path, python: Callable[..., subprocess.Popen[str]]
) -> None:
    file = tmp_path / "locks" / "x"
    hold = (
        "import sys, time; from pathlib import Path\n"
        "from eks_gpushare_lab.host.folders import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(300)"
    )
    holder = python("-c", hold, str(file))
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.wait()
    waited: list[str] = []
    with folders.locked(file, waited.append):
        pass

    assert waited == []
