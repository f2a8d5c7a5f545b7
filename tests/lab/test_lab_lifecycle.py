"""Up, status and down; and that nothing stays behind, whatever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.control_plane import lifecycle, state
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.host import folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare_lab.binaries.build import Programs
    from eks_gpushare_lab.control_plane.state import Lab

pytestmark = pytest.mark.slow

Python = Any
KILLED = pytest.param(signal.SIGKILL, marks=pytest.mark.at_length)
TERMINATED = pytest.param(signal.SIGTERM, marks=pytest.mark.at_length)
LAB = textwrap.dedent("""
    import sys
    from argparse import ArgumentParser
    from eks_gpushare_lab import command
    parser = ArgumentParser()
    parser.add_argument("--json", action="store_true")
    command.add_arguments(parser)
    sys.exit(command.run(parser.parse_args()))
""")
HELD = textwrap.dedent("""
    import time
    from eks_gpushare_lab.control_plane.control_plane import ControlPlane
    with ControlPlane(name="held") as up:
        print("ready", flush=True)
        time.sleep(300)
""")


@pytest.fixture
def own_home(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home for labs of this test alone; what it left up goes down."""
    assert programs.paths
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield folders.state_folder()
    for directory in [*folders.state_folder().glob("[a-z]*")]:
        state.stop(directory, 5)


def started() -> Lab:
    lab, was_started = lifecycle.up()
    assert was_started
    return lab


def everything(lab: Lab) -> list[int]:
    return [lab.pid, *lab.processes.values()]


def starting(name: str) -> bool:
    """Whether a lab is on its way up, with processes that it could leave behind."""
    lab = state.read(state.directory_of(name))
    return lab is not None and any((lab.directory / "logs").glob("kube-apiserver.log"))


def descendants(directory: Path) -> list[int]:
    """Processes whose working directory is that of a lab, dead or alive."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str((process / "cwd").readlink()).removesuffix(" (deleted)") == str(directory):
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.at_length
@pytest.mark.usefixtures("own_home")
def test_a_lab_goes_up_and_down_and_leaves_only_logs_and_state(
    runs: Callable[[int], bool],
) -> None:
    lab = started()
    alive = [runs(pid) for pid in everything(lab)]
    begun = time.monotonic()
    stopped = lifecycle.down()
    seconds = time.monotonic() - begun

    assert alive == [True] * 6
    assert stopped == lab
    assert not any(runs(pid) for pid in everything(lab))
    assert seconds < 5
    assert sorted(file.name for file in lab.directory.iterdir()) == ["lock", "logs", "state.json"]
    assert (lab.logs / "kube-apiserver.log").stat().st_size > 0
    assert lifecycle.status().as_json() == {
        "running": False,
        "healthy": False,
        "phase": "stopped",
        "logs": str(lab.logs),
    }


@pytest.fixture(scope="module")
def shared(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab that is up, for tests that leave it as it was."""
    assert programs.paths
    home = str(tmp_path_factory.mktemp("shared"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", home)
        lab = started()
    yield lab
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", home)
        state.stop(lab.directory, 5)


@pytest.fixture
def up(shared: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """The same, as the lab of this test's user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(shared.directory.parents[2]))
    return shared


def test_a_second_up_reuses_the_lab(up: Lab) -> None:
    assert lifecycle.up() == (up, False)


def test_a_lab_of_other_versions_is_not_reused(up: Lab) -> None:
    file = up.directory / "state.json"
    text = file.read_text()
    file.write_text(text.replace('"v1.35.4"', '"v1.34.9"'))
    try:
        with pytest.raises(LabError) as caught:
            lifecycle.up()
    finally:
        file.write_text(text)

    assert str(caught.value) == (
        "a lab is up with kubernetes v1.34.9, kwok v0.8.0, etcd v3.6.16; this version runs "
        "kubernetes v1.35.4, kwok v0.8.0, etcd v3.6.16. `eks-gpushare lab down` stops it"
    )


def stopped(pid: int) -> bool:
    """Whether every thread of a process is stopped."""
    threads = (file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat"))
    return all(text.rpartition(")")[2].split()[0] == "T" for text in threads)


def test_a_lab_that_does_not_answer_is_not_reused(
    up: Lab, eventually: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "ANSWER_SECONDS", 0.5)
    os.kill(up.processes["kube-apiserver"], signal.SIGSTOP)
    try:
        # The signal is sent, but a busy machine may let its threads answer for a while yet.
        assert eventually(lambda: stopped(up.processes["kube-apiserver"]))
        with pytest.raises(LabError) as caught:
            lifecycle.up()
    finally:
        os.kill(up.processes["kube-apiserver"], signal.SIGCONT)

    assert str(caught.value) == (
        f"a lab is up (pid {up.pid}), but its API server is not ready; the logs are in "
        f"{up.logs}. `eks-gpushare lab down` stops it"
    )


def test_status_measures_the_lab(up: Lab, eventually: Callable[..., bool]) -> None:
    lab = up
    assert eventually(lambda: lifecycle.status().healthy)
    document = lifecycle.status().as_json()
    memory = document.pop("memoryBytes")

    assert document == {
        "running": True,
        "healthy": True,
        "phase": "ready",
        "logs": str(lab.logs),
        "versions": {"kubernetes": "v1.35.4", "kwok": "v0.8.0", "etcd": "v3.6.16"},
        "url": lab.url,
        "port": lab.port,
        "pid": lab.pid,
        "processes": lab.processes,
        "kubeconfig": str(lab.kubeconfig),
        "started": lab.started,
        "readySeconds": lab.ready_seconds,
    }
    assert sorted(memory) == sorted([*lab.processes, "supervisor", "total"])
    assert memory["kube-apiserver"] > 50 << 20
    assert memory["total"] == sum(memory.values()) - memory["total"]


@pytest.mark.at_length
@pytest.mark.usefixtures("own_home")
def test_a_killed_supervisor_takes_everything_with_it_and_a_lab_goes_up_afresh(
    runs: Callable[[int], bool], eventually: Callable[..., bool]
) -> None:
    first = started()
    os.kill(first.pid, signal.SIGKILL)

    assert eventually(lambda: not any(runs(pid) for pid in everything(first)), 5)

    second = started()

    assert second.pid != first.pid
    assert lifecycle.status().healthy


@pytest.mark.at_length
@pytest.mark.usefixtures("own_home")
def test_two_ups_at_once_make_one_lab(python: Python) -> None:
    both = [python("-c", LAB, "up", "--json") for _ in range(2)]
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in both]

    assert sorted(answer["reused"] for answer in answers) == [False, True]
    assert answers[0]["pid"] == answers[1]["pid"]


@pytest.mark.at_length
@pytest.mark.usefixtures("own_home")
def test_a_lab_that_hangs_goes_down_all_the_same(runs: Callable[[int], bool]) -> None:
    lab = started()
    for pid in lab.processes.values():
        os.kill(pid, signal.SIGSTOP)
    lifecycle.down()

    assert not any(runs(pid) for pid in everything(lab))


@pytest.mark.usefixtures("own_home")
def test_without_a_lab_there_is_nothing_to_say_or_stop() -> None:
    assert lifecycle.status().as_json() == {"running": False, "healthy": False}
    assert lifecycle.down() is None


@pytest.mark.at_length
def test_the_next_lab_removes_what_a_killed_one_left(
    own_home: Path, python: Python, eventually: Callable[..., bool]
) -> None:
    process = python("-c", HELD)
    assert process.stdout.readline() == "ready\n"
    held = state.read(own_home / "held")
    assert held is not None
    os.kill(held.pid, signal.SIGKILL)
    assert eventually(lambda: not state.find("held")[1], 5)
    there = held.directory.exists()
    with ControlPlane(name="next"):
        pass

    assert there
    assert not held.directory.exists()


@pytest.mark.at_length
@pytest.mark.parametrize("number", [KILLED, signal.SIGINT])
def test_a_control_plane_ends_with_the_process_that_has_it(
    own_home: Path,
    python: Python,
    runs: Callable[[int], bool],
    eventually: Callable[..., bool],
    number: signal.Signals,
) -> None:
    process = python("-c", HELD)
    assert process.stdout.readline() == "ready\n"
    held = state.read(own_home / "held")
    assert held is not None
    process.send_signal(number)

    assert eventually(lambda: not any(runs(pid) for pid in everything(held)), 6)
    assert eventually(lambda: not held.directory.exists(), 2)


@pytest.mark.parametrize("number", [KILLED, TERMINATED, signal.SIGINT])
def test_an_up_that_is_interrupted_leaves_nothing(
    own_home: Path, python: Python, eventually: Callable[..., bool], number: signal.Signals
) -> None:
    process = python("-c", LAB, "up")
    assert eventually(lambda: starting("default"))
    was_there = len(descendants(own_home / "default"))
    process.send_signal(number)

    assert was_there > 0
    assert eventually(lambda: descendants(own_home / "default") == [], 6)
    assert eventually(lambda: not state.find()[1], 2)


@pytest.mark.at_length
@pytest.mark.usefixtures("own_home")
def test_a_lab_that_loses_a_process_stops_and_says_so(
    runs: Callable[[int], bool], eventually: Callable[..., bool]
) -> None:
    lab = started()
    os.kill(lab.processes["kube-scheduler"], signal.SIGKILL)

    assert eventually(lambda: not any(runs(pid) for pid in everything(lab)), 6)
    document = lifecycle.status().as_json()
    first = document["error"].splitlines()[0]
    file = lab.logs / "kube-scheduler.log"
    assert document["phase"] == "failed"
    assert first == f"kube-scheduler ended with signal SIGKILL; its log is {file} and ends so:"


def test_a_control_plane_that_cannot_start_shows_why(own_home: Path) -> None:
    broken = ControlPlane(name="broken", flags={"kube-apiserver": ["--no-such-flag"]})
    with pytest.raises(LabError) as caught:
        broken.start()
    first, *rest = str(caught.value).splitlines()
    logs = own_home / "broken" / "logs"

    log = logs / "kube-apiserver.log"
    assert first == f"kube-apiserver ended with exit code 1; its log is {log} and ends so:"
    assert any("unknown flag: --no-such-flag" in line for line in rest)
    assert descendants(own_home / "broken") == []
    assert sorted(each.name for each in (own_home / "broken").iterdir()) == [
        "lock",
        "logs",
        "state.json",
    ]


def test_a_control_plane_that_is_not_up_has_no_address() -> None:
    with pytest.raises(LabError) as caught:
        _ = ControlPlane().url

    assert str(caught.value) == (
        "the control plane is not up: use it in a `with` block, or start it"
    )


@pytest.mark.at_length
@pytest.mark.usefixtures("own_home")
def test_the_command_says_how_to_reach_the_lab(python: Python) -> None:
    up, error = python("-c", LAB, "up").communicate(timeout=60)
    lab, _ = state.find()
    assert lab is not None

    assert error == ""
    assert up == (
        f"The lab is up; it took {lab.ready_seconds:.1f} s.\n"
        "  versions    kubernetes v1.35.4, kwok v0.8.0, etcd v3.6.16\n"
        f"  API server  {lab.url}\n"
        f"  kubeconfig  {lab.kubeconfig}\n"
    )


@pytest.mark.usefixtures("own_home")
def test_status_without_a_lab_exits_with_1(python: Python) -> None:
    process = python("-c", LAB, "status")
    said = process.communicate(timeout=60)[0]

    assert (said, process.returncode) == (
        "No lab is up. `eks-gpushare lab up` starts one.\n",
        1,
    )


def run(python: Python, *words: str) -> subprocess.CompletedProcess[str]:
    process = python("-c", LAB, *words)
    output, error = process.communicate(timeout=60)
    return subprocess.CompletedProcess(words, process.returncode, output, error)


@pytest.mark.parametrize("word", ["app", "app=", "=3", "app=x", "app=-1", "app=1.5"])
def test_a_count_that_is_none_is_refused(python: Python, word: str) -> None:
    done = run(python, "run", "stack", "--expect", word)

    assert done.returncode == 2
    assert done.stderr.endswith(
        f"argument --expect: '{word}' is not NAME=N: the name of a workload, or namespace/name, "
        "and a number of pods, such as gpu-demo/app=20\n"
    )
