from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from eks_gpushare_lab.binaries.progress import Bar, Estimate, Lines, default_progress, spoken

if TYPE_CHECKING:
    from collections.abc import Callable

SHOW = """
from eks_gpushare_lab.binaries.progress import default_progress
progress = default_progress()
progress.begin("kube-apiserver v1.35.4", 300)
progress.advance("612 packages compiled", 0.4, 170)
progress.end("kube-apiserver v1.35.4", 120)
progress.close()
"""


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("two_cores")
def test_before_anything_is_done_the_estimate_is_what_it_took_elsewhere() -> None:
    assert Estimate(300, started=1000).left(1000) == pytest.approx(300)


@pytest.mark.usefixtures("two_cores")
def test_as_fast_as_elsewhere_the_estimate_counts_down() -> None:
    assert Estimate(300, done=100, started=1000).left(1100) == pytest.approx(200)


@pytest.mark.usefixtures("two_cores")
def test_a_slow_machine_is_noticed() -> None:
    left = Estimate(300, done=100, started=1000).left(1400)

    assert left == pytest.approx(200 * 420 / 120)


def test_a_faster_machine_is_expected_to_be_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)

    assert Estimate(300, started=1000).left(1000) == pytest.approx(75)


def test_more_than_everything_is_never_done() -> None:
    estimate = Estimate(300, done=400, started=1000)

    assert (estimate.share(), estimate.left(1300)) == (1.0, 0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "a few seconds"), (9, "a few seconds"), (44, "40 s"), (89, "90 s"), (400, "7 min")],
)
def test_a_guess_is_spoken_of_as_one(seconds: float, words: str) -> None:
    assert spoken(seconds) == words


def test_a_log_gets_a_line_every_fifteen_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = 100.0
    progress = Lines(lambda: now)
    progress.begin("etcd v3.6.16", 130)
    for now, packages in ((114.5, 12), (115.0, 13), (115.5, 14), (129.5, 20), (130.0, 21)):
        progress.advance(f"{packages} packages compiled", 0.1, 230 - now)
    progress.end("etcd v3.6.16", 36.4)
    progress.begin("kwok v0.8.0: modules", 60)
    progress.end("kwok v0.8.0: modules", 14.9)
    now = 145.0
    progress.advance("", 0.2, 55)
    progress.close()

    assert capsys.readouterr().err.splitlines() == [
        "lab: etcd v3.6.16; about 2 min left in all",
        "lab: etcd v3.6.16: 13 packages compiled; about 2 min left in all",
        "lab: etcd v3.6.16: 21 packages compiled; about 2 min left in all",
        "lab: etcd v3.6.16: done in 36 s",
        "lab: kwok v0.8.0: modules; about 60 s left in all",
    ]


@pytest.mark.parametrize(("minutes", "most"), [(5, 21), (12, 32), (60, 43)])
def test_a_log_stays_short_on_a_slow_machine(
    minutes: int, most: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eleven minutes are what all programs take on two cores; `make demo` has 110 other lines."""
    now = 0.0
    lines = Lines(lambda: now)
    lines.begin("kube-apiserver v1.35.4", 60.0 * minutes)
    told = [now] if capsys.readouterr().err else []
    for second in range(1, 60 * minutes):
        now = float(second)
        lines.advance(f"{second} packages compiled", second / (60 * minutes), 60 * minutes - now)
        told += [now] if capsys.readouterr().err else []
    gaps = [after - before for before, after in pairwise(told)]

    assert {*gaps[:19]} == {15.0}
    assert max(gaps) < max(60.0 * minutes / 4, 16)
    assert len(told) <= most


def test_without_a_terminal_there_is_no_bar(
    python: Callable[..., subprocess.Popen[str]],
) -> None:
    _, error = python("-c", SHOW).communicate(timeout=30)

    assert error.splitlines() == [
        "lab: kube-apiserver v1.35.4; about 5 min left in all",
        "lab: kube-apiserver v1.35.4: done in 120 s",
    ]


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")

    assert isinstance(default_progress(), Lines)


def shown_in_a_terminal(components: str, columns: int) -> str:
    """What a pseudo-terminal of so many columns is sent, without colours and cursor movements."""
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "PYTHONPATH": components,
        "TERM": "xterm",
        "COLUMNS": str(columns),
    }
    process = subprocess.Popen([sys.executable, "-c", SHOW], stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # how a pseudo-terminal says that nobody writes any more
            break
        if not chunk:
            break
        shown += chunk
    os.close(ours)
    process.wait(30)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())


def test_a_terminal_gets_a_bar_with_what_is_built_and_the_time_left(components: str) -> None:
    text = shown_in_a_terminal(components, 120)

    assert "kube-apiserver v1.35.4: 612 packages compiled" in text
    assert "about 3 min left" in text
    assert "lab: kube-apiserver v1.35.4: done in 120 s" in text


@pytest.mark.parametrize("columns", [80, 60])
def test_a_narrow_terminal_gets_less_of_the_step_and_all_of_the_time(
    components: str, columns: int
) -> None:
    lines = re.split(r"[\r\n]+", shown_in_a_terminal(components, columns))
    (drawn,) = {line for line in lines if line.endswith("about 3 min left")}

    assert drawn.startswith("kube-apiserver v1")
    assert len(drawn) <= columns


def test_a_bar_that_never_began_says_things_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Bar()
    progress.note("waiting")
    progress.close()

    assert capsys.readouterr().err == "lab: waiting\n"
