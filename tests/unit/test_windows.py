"""Windows of time: what is taken for one, when KEDA has it open, and how long in a week.

github.com/robfig/cron, by which KEDA reads schedules, has said of each when it is open
(`robfig_cron.go`). What it said is kept in `robfig_cron.json`, and asked anew where the lab's
programs may be built.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from bisect import bisect
from datetime import UTC, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from eks_gpushare.catalog.arns import queue_of
from eks_gpushare.documents.cron import cron_fault, cron_times
from eks_gpushare.documents.windows import (
    ZonedWindow,
    hours_per_week,
    skipped,
    window_fault,
    zone_fault,
)
from eks_gpushare_lab.binaries import build

ASKED = bool(os.environ.get("EKS_GPUSHARE_TEST_SCALING"))
HERE = Path(__file__).parent
KEPT = HERE / "robfig_cron.json"
BERLIN, TOKYO, NEW_YORK = "Europe/Berlin", "Asia/Tokyo", "America/New_York"
DAYS = "0 8 * * 1-5"
FIRST = datetime(2029, 3, 5, 0, 30, tzinfo=UTC)
"""Of four weeks, in the last of which Europe's clocks change."""
AT = [FIRST + timedelta(hours=hour) for hour in range(4 * 168)]
RIGHT = [
    ZonedWindow(DAYS, "0 18 * * 1-5", "UTC"),
    ZonedWindow(DAYS, "0 18 * * 1-5", TOKYO),
    ZonedWindow("0 8 * * MON-fri", "59 7 * * 2-6", "UTC"),
    ZonedWindow("0 22 * * 1-5", "0 6 * * 2-6", "UTC"),
    ZonedWindow("0 20 * * 5", "0 8 * * 1", "UTC"),
    ZonedWindow("0 0 * * 6", "0 0 * * 1", "UTC"),
    ZonedWindow("0 */6 * * *", "0 3-23/6 * * ?", "UTC"),
    ZonedWindow("0 9 1,15 * 1", "0 17 1,15 * 1", "UTC"),
    ZonedWindow("0 9 */2 * 1", "0 17 */2 * 1", "UTC"),
    ZonedWindow("0 9 */1 * 1", "0 17 * * 1", "UTC"),
    ZonedWindow("0 0 29 2 *", "0 12 29 2 *", "UTC"),
    ZonedWindow("0 9-9/4 20/5 3 *", "0 11 20/5 mar *", "UTC"),
]
WRONG = {
    ZonedWindow(DAYS, "0 18 * * *", "UTC"): (
        "no start falls between the end of Fri 5 January 2029, 18:00 and that of Sat 6 January "
        "2029, 18:00, and KEDA keeps it open for that time"
    ),
    ZonedWindow("0 8,12 * * *", "0 18 * * *", "UTC"): (
        "no end falls between the start of Mon 1 January 2029, 08:00 and that of Mon 1 January "
        "2029, 12:00, and KEDA keeps it closed for that time"
    ),
    ZonedWindow("0 8 * * *", "00 8 * * *", "UTC"): (
        "start and end fall together, as on Mon 1 January 2029, 08:00"
    ),
    ZonedWindow(DAYS, "0 8 * * *", "UTC"): (
        "start and end fall together, as on Mon 1 January 2029, 08:00"
    ),
    ZonedWindow("0 0 30 2 *", "0 9 * * *", "UTC"): "its start never falls",
    ZonedWindow("0 9 * * *", "0 0 31 4,6 *", "UTC"): "its end never falls",
}
NO_SCHEDULES = [
    *("", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *"),
    *("* * * 13 *", "* * * * 7", "* * * * sunday", "5-1 * * * *", "*/0 * * * *", "-1 * * * *"),
    *("1.5 * * * *", "a * * * *", "1-2-3 * * * *", "1/2/3 * * * *", "@daily", "0 8 * * mon-"),
]


def meant(window: ZonedWindow) -> list[bool]:
    """Whether it has started and not ended since, at each time; at one minute, the end counts."""
    days = [FIRST.date() + timedelta(days=day) for day in range(-4 * 366, 30)]
    events = sorted(
        (datetime.combine(day, time()) + timedelta(minutes=minute), not is_start)
        for is_start, text in ((True, window.start), (False, window.end))
        for times in (cron_times(text),)
        for day in filter(times.falls_on, days)
        for minute in times.times
    )
    clock = (at.astimezone(ZoneInfo(window.zone)).replace(tzinfo=None) for at in AT)
    places = (bisect(events, (now, True)) for now in clock)
    return [place > 0 and not events[place - 1][1] for place in places]


def asked(windows: list[ZonedWindow], at: list[datetime]) -> list[dict[str, Any]]:
    program = HERE.parents[1] / "build" / "robfig_cron"
    module = Path(build.__file__).parent / "go" / "keda"
    source = HERE / "robfig_cron.go"
    go = shutil.which("go") or "go"
    subprocess.run([go, "build", "-C", module, "-o", program, source], check=True, timeout=600)
    seconds = [int(moment.timestamp()) for moment in at]
    given = [{**window._asdict(), "at": seconds} for window in windows]
    done = subprocess.run(
        [program], input=json.dumps(given), capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]  # as the program writes it


@cache
def answers() -> dict[str, dict[str, str]]:
    if not ASKED:
        return json.loads(KEPT.read_text(encoding="utf-8"))  # type: ignore[no-any-return]  # so kept
    skipping = ZonedWindow("30 2 * * *", "0 6 * * *", BERLIN)
    written = [ZonedWindow(text, DAYS, "UTC") for text in NO_SCHEDULES]
    windows = [*RIGHT, *WRONG, skipping, *written]
    return {
        f"{window.start}; {window.end}; {window.zone}": {
            "error": found["start"],
            "open": f"{int(found['open'] or '0', 2):x}",
        }
        for window, found in zip(windows, asked(windows, AT), strict=True)
    }


def opened(window: ZonedWindow) -> list[bool]:
    """Whether KEDA has it open, at each time."""
    found = int(answers()[f"{window.start}; {window.end}; {window.zone}"]["open"], 16)
    return [bit == "1" for bit in f"{found:0{len(AT)}b}"]


def test_what_was_said_is_what_is_kept(request: pytest.FixtureRequest) -> None:
    if ASKED and request.config.getoption("--update-golden"):
        KEPT.write_text(json.dumps(answers(), indent=1) + "\n", encoding="utf-8")

    assert answers() == json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("window", RIGHT, ids=str)
def test_keda_has_a_window_open_from_its_start_to_its_end(window: ZonedWindow) -> None:
    assert window_fault(window.start, window.end) is None
    assert opened(window) == meant(window)


@pytest.mark.parametrize(("window", "fault"), WRONG.items(), ids=str)
def test_a_window_that_keda_has_open_at_other_times_is_refused(
    window: ZonedWindow, fault: str
) -> None:
    assert window_fault(window.start, window.end) == fault
    if "end never" not in fault:  # which is closed, whatever it is meant to be
        assert opened(window) != meant(window)


@pytest.mark.parametrize("window", RIGHT[:7], ids=str)
def test_the_hours_of_a_week_are_those_in_which_keda_has_it_open(window: ZonedWindow) -> None:
    # Times are half an hour past; 07:59 is a minute before the hour that they count.
    hours = hours_per_week(frozenset({window}))

    assert hours == pytest.approx(sum(opened(window)) / 4, abs=0.1)


def test_hours_that_windows_share_count_once() -> None:
    def hours(*windows: tuple[str, str, str]) -> float:
        return hours_per_week(frozenset(ZonedWindow(*window) for window in windows))

    later = ("0 12 * * 1-5", "0 20 * * 1-5")

    assert hours((DAYS, "0 18 * * 1-5", "UTC"), (*later, "UTC")) == 60
    # At nine in the evening in Tokyo it is noon in London, in winter.
    assert hours((DAYS, "0 18 * * 1-5", TOKYO), (DAYS, "0 18 * * 1-5", NEW_YORK)) == 100
    assert hours(("0 8 * * *", "0 20 * * *", TOKYO), ("0 8 * * *", "0 20 * * *", "UTC")) == 147
    assert hours() == 0


def test_a_time_that_clocks_leave_out_is_told() -> None:
    start = ZonedWindow("30 2 * * *", "0 6 * * *", BERLIN)

    assert skipped(start) == "start of Sun 25 March 2029, 02:30"
    assert skipped(start._replace(start="0 22 * * *", end="0 2 * * *")) == (
        "end of Sun 25 March 2029, 02:00"
    )
    assert skipped(start._replace(zone=NEW_YORK)) == "start of Sun 11 March 2029, 02:30"
    assert skipped(start._replace(zone=TOKYO)) is None
    assert skipped(start._replace(start="30 3 * * *")) is None
    # From the end on Saturday to that on Sunday, for a start that did not fall.
    since = AT.index(datetime(2029, 3, 24, 6, 30, tzinfo=UTC))
    assert all(opened(start)[since : since + 22])


@pytest.mark.parametrize("text", NO_SCHEDULES)
def test_what_is_no_schedule_to_keda_is_none_here(text: str) -> None:
    said = answers()[f"{text}; {DAYS}; UTC"]["error"]

    assert said
    assert text == "@daily" or cron_fault(text) is not None  # Karpenter knows such words


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("Europe/Berlin", None),
        ("UTC", None),
        ("Etc/GMT+5", None),
        ("europe/berlin", "Write Europe/Berlin."),
        ("Berlin", "Write Europe/Berlin."),
        ("new york", "Write America/New_York."),
        *(
            (name, "Write one like Europe/Berlin, America/New_York or UTC.")
            for name in ("", "CEST")
        ),
        ("Local", "Write one like Europe/Berlin, America/New_York or UTC."),
    ],
)
def test_names_of_time_zones(name: str, fix: str | None) -> None:
    assert zone_fault(name) == fix


@pytest.mark.parametrize(
    ("given", "url"),
    [
        (
            "arn:aws:sqs:us-west-2:111122223333:jobs",
            "sqs.us-west-2.amazonaws.com/111122223333/jobs",
        ),
        (
            "https://sqs.eu-central-1.amazonaws.com/111122223333/jobs.fifo",
            "sqs.eu-central-1.amazonaws.com/111122223333/jobs.fifo",
        ),
        (
            "arn:aws-cn:sqs:cn-north-1:111122223333:jobs",
            "sqs.cn-north-1.amazonaws.com.cn/111122223333/jobs",
        ),
        ("arn:aws-cn:sqs:us-west-2:111122223333:jobs", None),
        ("https://sqs.cn-north-1.amazonaws.com/111122223333/jobs", None),
        ("arn:aws:sqs:us-west-2:11112222333:jobs", None),
        ("arn:aws:sqs:us-west-2:111122223333:job.s", None),
        ("arn:aws:sqs:us-west-2:111122223333/jobs", None),
        (f"arn:aws:sqs:us-west-2:111122223333:{'j' * 81}", None),
        ("arn:aws:sqs:us-west-2:111122223333:" + "j" * 76 + ".fifo", None),
        ("arn:aws:sns:us-west-2:111122223333:jobs", None),
        ("http://sqs.us-west-2.amazonaws.com/111122223333/jobs", None),
        ("jobs", None),
    ],
)
def test_queues_by_arn_and_by_url(given: str, url: str | None) -> None:
    found = queue_of(given)

    assert (found and found.url) == (url and f"https://{url}")
    assert found is None or queue_of(found.arn) == queue_of(found.url) == found
