"""What `verify --push` puts into a real Pushgateway, and what is left of it after the next look."""

from __future__ import annotations

import copy
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from tests.live.test_faults import HEALTHY, NOW, STACK, objects_of, shares

from eks_gpushare.cli.verify_watch import push
from eks_gpushare.live.metrics import metrics
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 60.0


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    """The address of one that runs."""
    program = shutil.which("pushgateway")
    if program is None:
        pytest.skip("no pushgateway on PATH")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = "127.0.0.1:{1}".format(*one.getsockname())
    command = [program, f"--web.listen-address={address}", "--log.level=error"]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + SECONDS
        while not is_ready(f"http://{address}/-/ready"):
            assert running.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        yield f"http://{address}"
    finally:
        running.terminate()
        running.wait(SECONDS)


def is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310  (our own address)
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def told(count: int) -> str:
    cluster = copy.deepcopy(HEALTHY)
    shares(cluster, count)
    return metrics(verdict_of(objects_of(cluster), STACK), NOW)


def kept(gateway: str, instance: str) -> dict[str, float]:
    """What it has of an instance, as Prometheus would read it."""
    with urllib.request.urlopen(f"{gateway}/metrics", timeout=5) as answer:  # noqa: S310
        text = answer.read().decode()
    found = {}
    for line in text.splitlines():
        if f'instance="{instance}"' in line and not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            assert 'job="eks-gpushare-verify"' in series
            found[re.sub(r'(instance|job)="[^"]*",?', "", series)] = float(value)
    return found


def test_a_pushgateway_takes_what_verify_says_and_keeps_the_last_look(gateway: str) -> None:
    assert push(told(30), gateway, "prod") is None
    assert push(told(40), gateway, "other") is None
    first = kept(gateway, "prod")

    advertised = 'gpushare_advertised{pool="gpu",resource="nvidia.com/gpu"}'
    assert first[advertised] == 30
    assert any('code="GPU1320"' in series for series in first)
    assert first["gpushare_verify_last_success_timestamp_seconds{}"] == NOW.timestamp()
    assert first["push_failure_time_seconds{}"] == 0

    assert push(told(40), gateway, "prod") is None
    second = kept(gateway, "prod")
    assert second[advertised] == 40
    assert not any('code="GPU1320"' in series for series in second)
    assert kept(gateway, "other")[advertised] == 40


def test_what_it_refuses_is_said_and_leaves_the_last_look(gateway: str) -> None:
    assert push(told(40), gateway, "refused") is None

    said = push("gpushare_advertised{ 1\n", gateway, "refused")
    assert said is not None
    assert said.startswith(f"The Pushgateway {gateway} takes no metrics: 400 ")
    assert (
        kept(gateway, "refused")['gpushare_advertised{pool="gpu",resource="nvidia.com/gpu"}'] == 40
    )
