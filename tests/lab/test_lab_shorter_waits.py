"""Delays of Karpenter's that are shorter in the lab."""

from __future__ import annotations

import pytest

from eks_gpushare_lab.controllers.karpenter import environment_of
from eks_gpushare_lab.controllers.shorter_waits import Shorter, said_of, shorter, shorter_batches
from eks_gpushare_lab.install.release import DeclaredRelease


@pytest.mark.parametrize(
    ("given", "here"),
    [
        ("300s", "10s"),
        ("5m", "10s"),
        ("15m", "30s"),
        ("1h30m", "180s"),
        ("1h0m15s", "120s"),
        ("45s", "2s"),
        ("10s", "1s"),
        ("2s", "1s"),
        ("1s", "1s"),
        ("0s", "0s"),
        ("Never", "Never"),
        ("", ""),
    ],
)
def test_how_long_a_node_has_to_be_empty(given: str, here: str) -> None:
    assert shorter(given, 30) == here
    assert shorter(given, 1) == given


@pytest.mark.parametrize(
    ("longest", "pause", "here"),
    [
        ("10s", "1s", "5s"),
        ("1m", "1s", "5s"),
        ("20s", "8s", "8s"),
        ("8s", "8s", None),
        ("5s", "1s", None),
        ("3s", "1s", None),
        ("soon", "1s", None),
    ],
)
def test_how_long_a_node_is_kept_in_mind(longest: str, pause: str, here: str | None) -> None:
    values = {"settings": {"batchMaxDuration": longest, "batchIdleDuration": pause}}
    given = environment_of(DeclaredRelease("karpenter", "karpenter", "karpenter", "1.14.1", values))

    assert shorter_batches(given, 30).get("BATCH_MAX_DURATION") == here
    assert set(shorter_batches(given, 30)) <= {"BATCH_MAX_DURATION"}
    assert shorter_batches(given, 1) == {}


def test_what_is_shorter_is_told_with_what_the_stack_says() -> None:
    (found,) = said_of([Shorter("gpu", "300s", "10s"), Shorter("other", "15m", "30s")])

    assert (found.code, found.severity) == ("GPU970", "info")
    assert "gpu 10s instead of 300s, other 30s instead of 15m" in found.message
    assert list(said_of([])) == []
