"""Keys of one way of sharing that stand in another's block."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, stack_file_text

from eks_gpushare.documents.helm import merge_values

BOTH = (
    "cannot stand here: MPS and MIG do not go together, the device plugin has no MPS on MIG "
    "devices."
)
BOTH_FIX = (
    "Use mode: mig with timeSlicing: {replicas: ...} on top of the layout, or mode: mps without a "
    "layout."
)


def said(**sharing: Any) -> list[tuple[str, str, str]]:
    fragment = {"pools": {"gpu": {"instanceTypes": ["p4d.24xlarge"], "sharing": None}}}
    environment = merge_values(base(), fragment)
    environment["pools"]["gpu"]["sharing"] = sharing
    report = checked(stack_file_text(environment))
    return [(f.path, f.message, f.fix) for f in report.findings if f.code == "GPU003"]


def test_mps_beside_a_layout_is_refused_with_its_reason() -> None:
    assert said(mode="mig", layout="all-balanced", mps={"replicas": 2}) == [
        ("pools.gpu.sharing.mps", f"mps {BOTH}", BOTH_FIX)
    ]


@pytest.mark.parametrize("key", ["layout", "strategy", "apply", "mig"])
def test_a_key_of_mig_beside_mps_is_refused_with_its_reason(key: str) -> None:
    assert said(mode="mps", replicas=2, **{key: "mixed"}) == [
        (f"pools.gpu.sharing.{key}", f"{key} {BOTH}", BOTH_FIX)
    ]


@pytest.mark.parametrize(("key", "value"), [("replicas", 4), ("replicas", 2), ("rename", True)])
def test_replicas_of_mig_devices_stand_under_time_slicing(
    key: str,
    value: Any,
) -> None:
    assert said(mode="mig", layout="all-balanced", **{key: value}) == [
        (
            f"pools.gpu.sharing.{key}",
            f"{key} stands under timeSlicing with mode: mig.",
            f"Write timeSlicing: {{{key}: ...}} beside the layout.",
        )
    ]


def test_a_layout_with_time_slicing_means_mig() -> None:
    assert said(mode="timeSlicing", replicas=4, layout="all-1g.5gb") == [
        (
            "pools.gpu.sharing.layout",
            "layout belongs to mode: mig.",
            "Write mode: mig, with timeSlicing: {replicas: ...} on top, or remove layout.",
        )
    ]


def test_a_layout_with_whole_gpus_means_mig() -> None:
    assert said(mode="exclusive", layout="all-1g.5gb") == [
        (
            "pools.gpu.sharing.layout",
            "layout belongs to mode: mig.",
            "Write mode: mig, or remove layout.",
        )
    ]


def test_any_other_key_is_told_as_everywhere() -> None:
    assert said(mode="mig", layout="all-balanced", replica=2) == [
        (
            "pools.gpu.sharing.replica",
            "replica is not a key of this block.",
            "Remove it; the keys here are mode, layout, strategy, apply, timeSlicing.",
        )
    ]


def test_the_rest_of_the_stack_is_still_checked() -> None:
    environment = merge_values(
        base(),
        {
            "pools": {
                "gpu": {"sharing": {"mode": "exclusive", "replicas": 3}},
                "other": {"instanceTypes": ["g99.xlarge"], "sharing": {"mode": "exclusive"}},
            }
        },
    )
    report = checked(stack_file_text(environment))

    assert {f.code for f in report.findings if f.severity == "error"} == {"GPU003", "GPU101"}
