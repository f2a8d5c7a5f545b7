"""How far apart the pools of tenants keep them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.test_rules_tenants import SHARED, SLICES, paths, tenant, told

TWO = {"gpu": SHARED, "quiet": SHARED}


@pytest.mark.parametrize(
    ("held", "isolation", "is_refused"),
    [
        ({"admission": False}, "fault", True),
        ({"admission": False}, "memory", True),
        ({"admission": False}, "none", False),
        ({}, "fault", False),
        ({"admission": False, "queue": True}, "fault", False),
    ],
)
def test_whom_a_quota_alone_holds_may_be_in_any_pool_of_the_name(
    held: dict[str, Any], isolation: str, is_refused: bool
) -> None:
    both = {"a": tenant(**held), "b": tenant(space="b", pool="quiet", isolation=isolation)}

    assert paths("GPU871", both, pools=TWO) == ["tenants.b.isolation"] * is_refused


def test_who_it_is_and_what_to_do_is_said() -> None:
    both = {
        "a": tenant(admission=False),
        "b": tenant(space="b", pool="quiet", isolation="fault", admission=False),
    }
    ((_, message),) = told("GPU871", both, pools=TWO)

    assert message == (
        "On quiet pods of b may share GPUs by time slicing with those of a, and faults of "
        "neighbours reach them."
    )


def test_other_names_keep_apart() -> None:
    both = {
        "a": {**tenant(admission=False), "pools": {"gpu": {"guaranteed": {"gpus": 1}}}},
        "b": tenant(space="b", pool="quiet", isolation="fault"),
    }
    renamed = {**SHARED, "sharing": {**SHARED["sharing"], "rename": False}}  # type: ignore[dict-item]

    assert paths("GPU871", both, pools={"gpu": renamed, "quiet": SHARED}) == []


def test_what_is_borrowed_counts_too() -> None:
    """A whole GPU is its own, and the devices that it may borrow others have at the same time."""
    sharing = {
        "mode": "mig",
        "layout": [{"gpus": [0], "devices": {"1g.5gb": 7}}],
        "timeSlicing": {"replicas": 2, "rename": True},
    }
    whole, device = {"gpu": 1}, {"mig-1g.5gb.shared": 1}
    own: dict[str, Any] = {"guaranteed": {"sharesOf": whole}}
    both = {
        "a": {**tenant(isolation="fault", queue=True), "pools": {"gpu": own}},
        "b": {**tenant(space="b"), "pools": {"gpu": {"guaranteed": {"sharesOf": device}}}},
    }
    pools = {"gpu": {**SLICES, "sharing": sharing}}

    assert paths("GPU871", both, pools=pools) == []
    own["maximum"] = {"sharesOf": {**whole, **device}}
    assert paths("GPU871", both, pools=pools) == ["tenants.a.isolation"]
