"""Where labs live: in a folder of their own, which is taken for theirs with care."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.preview import locate
from eks_gpushare_lab.control_plane import state
from eks_gpushare_lab.engine.engine import Engine
from eks_gpushare_lab.engine.tools import Tools
from eks_gpushare_lab.engine.workspace import scratch_folder
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.host import folders

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What XDG_STATE_HOME names, which is not there yet."""
    folder = tmp_path / "above" / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_every_folder_that_is_made_is_private(home: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        made = folders.make_state_folder()
    finally:
        os.umask(before)

    assert made == home / "eks-gpushare" / "lab"
    assert {mode(each) for each in (home.parent, home, made.parent, made)} == {0o700}


def test_a_folder_that_was_there_keeps_its_mode_and_the_labs_own_is_closed(home: Path) -> None:
    own = home / "eks-gpushare" / "lab"
    own.mkdir(parents=True)
    for each in (home, own):
        each.chmod(0o755)
    folders.make_state_folder()

    assert (mode(home), mode(own)) == (0o755, 0o700)


def precious(tmp_path: Path) -> Path:
    """Somebody's files, in the shape of what a lab leaves."""
    folder = tmp_path / "precious"
    (folder / "default").mkdir(parents=True)
    (folder / "default" / "thesis").write_text("words", encoding="utf-8")
    (folder / "run-1-0123abcd").mkdir()
    (folder / "run-1-0123abcd" / "thesis").write_text("words", encoding="utf-8")
    return folder


def files_in(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


@pytest.mark.parametrize("which", ["eks-gpushare", "eks-gpushare/lab"])
def test_a_link_as_the_state_folder_is_not_followed(home: Path, which: str, tmp_path: Path) -> None:
    target = precious(tmp_path)
    (home / which).parent.mkdir(parents=True)
    (home / which).symlink_to(target, target_is_directory=True)
    before = files_in(target)
    with pytest.raises(LabError) as caught:
        state.find()

    assert str(caught.value) == (
        f"{home / which} is a symbolic link, which the lab does not follow: remove it, or name "
        "another place by XDG_STATE_HOME"
    )
    assert files_in(target) == before


def test_a_link_to_nowhere_is_refused_and_nothing_is_made_there(home: Path, tmp_path: Path) -> None:
    (home / "eks-gpushare").mkdir(parents=True)
    (home / "eks-gpushare" / "lab").symlink_to(tmp_path / "nowhere")
    with pytest.raises(LabError, match="is a symbolic link"):
        state.find()

    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_its_place_is_refused(home: Path) -> None:
    (home / "eks-gpushare").mkdir(parents=True)
    (home / "eks-gpushare" / "lab").write_text("words", encoding="utf-8")
    with pytest.raises(LabError, match="is no folder: remove it"):
        state.find()


def test_a_folder_of_somebody_else_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "eks-gpushare" / "lab").mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(LabError, match=r"belongs to the user \d+, and this one is 4711"):
        state.find()


def test_a_folder_with_something_else_in_it_is_refused(home: Path) -> None:
    own = home / "eks-gpushare" / "lab"
    (own / "default").mkdir(parents=True)
    (own / "default" / "thesis").write_text("words", encoding="utf-8")
    with pytest.raises(LabError, match="is no folder of the lab: it holds default"):
        state.find()

    assert files_in(own) == ["default", "default/thesis"]


def test_a_folder_of_an_earlier_version_is_taken_over(home: Path) -> None:
    own = home / "eks-gpushare" / "lab"
    (own / "default" / "logs").mkdir(parents=True)
    (own / ".lock").write_text("1", encoding="utf-8")
    state.find()

    assert (own / ".eks-gpushare-lab").is_file()


def test_links_and_others_folders_among_labs_stay_when_dead_labs_go(
    home: Path, tmp_path: Path
) -> None:
    assert home.parent == tmp_path / "above"
    own, target = folders.make_state_folder(), precious(tmp_path)
    (own / "default").symlink_to(target / "default")
    (own / "run-2-0123abcd").symlink_to(target / "run-1-0123abcd")
    (own / "notes").mkdir()
    (own / "run-3-0123abcd" / "logs").mkdir(parents=True)
    before = files_in(target)
    with state.registry():
        state.clean()
        with pytest.raises(LabError, match="default is a symbolic link"):
            state.claim(own / "default")

    assert files_in(target) == before
    assert (own / "notes").is_dir()
    assert not (own / "run-3-0123abcd").exists()


PULUMI = """#!/bin/sh
echo "$TMPDIR" > {note}
mktemp >> {note}
cp {key} "$(mktemp)"
{then}
"""


def engine(tmp_path: Path, above: Path, then: str = "") -> tuple[Engine, Path]:
    """One whose `pulumi` leaves a kubeconfig in the temporary folder, as a killed provider does."""
    note, key, pulumi = tmp_path / "note", tmp_path / "key", tmp_path / "pulumi"
    key.write_text("client-key-data: a2V5", encoding="utf-8")
    pulumi.write_text(PULUMI.format(note=note, key=key, then=then), encoding="utf-8")
    pulumi.chmod(0o700)
    project, _ = locate("exclusive", str(ROOT))
    return Engine(Tools(pulumi, "3", "4", None), project, "{}", above), note


def test_what_providers_leave_in_the_temporary_folder_goes_with_the_run(tmp_path: Path) -> None:
    above = tmp_path / "lab"
    above.mkdir(mode=0o700)
    made, note = engine(tmp_path, above)
    assert made.up(lambda: None, lambda _: None)

    folder, file = map(Path, note.read_text(encoding="utf-8").splitlines())
    assert folder.is_relative_to(above)
    assert file.parent == folder
    assert [each.name for each in above.iterdir()] == ["engine.lock"]


RUN = """
import signal
import sys
import time
from pathlib import Path

from eks_gpushare_lab import command
from eks_gpushare_lab.engine.workspace import scratch_folder

signal.signal(signal.SIGTERM, command._terminate)
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "kubeconfig").write_text("key")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_or_the_next_one_removes_it(
    tmp_path: Path, number: signal.Signals, python: Callable[..., subprocess.Popen[str]]
) -> None:
    process: Any = python("-c", RUN, str(tmp_path))
    said = process.stdout.readline().strip()
    assert said, process.stderr.read()
    folder = Path(said)
    with scratch_folder(tmp_path) as other:
        assert (folder / "kubeconfig").is_file(), "it is alive"
        assert other != folder
    process.send_signal(number)
    process.wait(30)

    assert folder.exists() is (number is signal.SIGKILL)
    with scratch_folder(tmp_path):
        assert not folder.exists()
