"""What is said of configurations of mig-parted, word for word."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_reading import problems, read_with

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.readers.mig_parted import MigPartedReader

MIG = MigPartedReader()

Said = list[tuple[tuple[str | int, ...], str]]
"""Places, and what is said there."""


def fixes(value: dict[str, Any]) -> Said:
    """Where something is to be done, and what."""
    return [(each.path, each.fix) for each in problems(read_with(MIG, value))]


ITEM: dict[str, Any] = {"devices": "all", "mig-enabled": True, "mig-devices": {"1g.5gb": 7}}
A100 = "0x20B010DE"


def layouts(value: Any, **more: Any) -> dict[str, Any]:
    return {"version": "v1", "mig-configs": value, **more}


def of_item(**changes: Any) -> dict[str, Any]:
    """A configuration with one item, keys with underscores for dashes; `...` takes one away."""
    given = ITEM | {key.replace("_", "-"): each for key, each in changes.items()}
    return layouts({"a": [{key: each for key, each in given.items() if each is not ...}]})


RIGHT_OF_MIG = [
    of_item(),
    layouts(UNKNOWN),
    layouts({"a": UNKNOWN}),
    layouts({"a": [UNKNOWN]}),
    layouts({"a": [ITEM]}) | {"version": UNKNOWN},
    of_item(device_filter=""),
    of_item(device_filter=UNKNOWN),
    of_item(device_filter=[A100, ""]),
    of_item(device_filter=["", UNKNOWN], mig_devices={"9g.99gb": 1}),
    of_item(device_filter=str(0x20B010DE)),
    of_item(devices=[]),
    of_item(mig_enabled=UNKNOWN),
    of_item(mig_enabled=False, mig_devices=None),
    of_item(mig_enabled=False, mig_devices={}),
    of_item(mig_devices=UNKNOWN),
    of_item(mig_devices={"1g.5gb": UNKNOWN}),
    of_item(mig_devices={"1g.5gb": 7, "2g.10gb": 0}),
]


@pytest.mark.parametrize("value", RIGHT_OF_MIG)
def test_of_a_right_configuration_of_mig_parted_nothing_is_said(value: dict[str, Any]) -> None:
    assert fixes(value) == []


TOP = ("mig-configs", "a", 0)
PROFILES = (*TOP, "mig-devices")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"version": "v1", "mig_configs": {}}, [(("mig_configs",), "Write mig-configs.")]),
        (
            layouts({"a": [ITEM]}, comment="x"),
            [(("comment",), "Remove it; version and mig-configs are known.")],
        ),
        (layouts({}), [(("mig-configs",), "Write NAME: with a list of items.")]),
        (layouts([1]), [(("mig-configs",), "Write NAME: with a list of items.")]),
        ({"mig-configs": {"a": [ITEM]}}, [((), "Write version: v1.")]),
        (layouts({"a": [ITEM]}) | {"version": "v2"}, [(("version",), "Write version: v1.")]),
        (
            layouts({"a": [1]}),
            [(TOP, "Write devices, mig-enabled and mig-devices in it.")],
        ),
        (of_item(devices=...), [(TOP, "Write devices: all.")]),
        (of_item(mig_enabled=...), [(TOP, "Write mig-enabled: true.")]),
        (
            of_item(mig_enabled=..., migEnabled=True),
            [((*TOP, "migEnabled"), "Write mig-enabled.")],
        ),
        (
            of_item(count=1),
            [
                (
                    (*TOP, "count"),
                    "Remove it; an item has device-filter, devices, mig-enabled, mig-devices.",
                )
            ],
        ),
        (
            of_item(mig_devices=None),
            [(TOP, "Write mig-devices with profiles and counts, {} for none.")],
        ),
        (
            of_item(mig_devices=...),
            [(TOP, "Write mig-devices with profiles and counts, {} for none.")],
        ),
        (
            of_item(mig_devices={"1g.5gb": 0}),
            [(PROFILES, "Write how many of one at least, or mig-devices: {} for none.")],
        ),
        (
            of_item(mig_devices={"half": 1}),
            [((*PROFILES, "half"), "Write one such as 1g.5gb.")],
        ),
        (
            of_item(mig_devices={"1g.5bg": 1}, device_filter=A100),
            [((*PROFILES, "1g.5bg"), "Did you mean 1g.5gb?")],
        ),
    ],
)
def test_what_is_to_be_done_of_a_configuration_of_mig_parted(
    value: dict[str, Any], said: Said
) -> None:
    assert fixes(value) == said


@pytest.mark.parametrize(
    ("devices", "given", "message", "fix"),
    [
        (
            {"1g.7gb": 1},
            A100,
            "No A100-40GB has the MIG profile 1g.7gb.",
            "Its profiles are 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb.",
        ),
        (
            {"1g.5gb": 1, "1g.7gb": 1},
            A100,
            "No A100-40GB has the MIG profile 1g.7gb.",
            "Its profiles are 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb.",
        ),
        (
            {"7g.7gb": 1},
            [A100, "0x20B210DE"],
            "No GPU in EC2 has the MIG profile 7g.7gb.",
            "There are 7g.40gb, 7g.80gb.",
        ),
        (
            {"5g.7gb": 1},
            ["0x20B710DE", "0x2BB310DE"],
            "No GPU in EC2 has the MIG profile 5g.7gb.",
            (
                "There are 1g.24gb, 1g.24gb+gfx, 1g.24gb+me, 1g.24gb+me.all, 1g.24gb-me, 1g.6gb, "
                "1g.6gb+me, 2g.12gb, 2g.12gb+me, 2g.48gb, 2g.48gb+gfx, 4g.24gb."
            ),
        ),
        (
            {"1g.5gb": 1, "1g.6gb": 1},
            ...,
            "No GPU has all of 1g.5gb, 1g.6gb, which a puts on one.",
            "Give each kind of GPU an item of its own, with a device-filter.",
        ),
    ],
)
def test_profiles_that_no_gpu_has(
    devices: dict[str, int], given: Any, message: str, fix: str
) -> None:
    value = of_item(mig_devices=devices, device_filter=given)
    (problem,) = problems(read_with(MIG, value))

    assert (problem.message, problem.fix) == (message, fix)


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (of_item(), True),
        ({"MIG_configs": {}}, True),
        (of_item() | {"apiVersion": "v1"}, False),
        ({"version": "v1"}, False),
        (["mig-configs"], False),
        ("mig-configs", False),
    ],
)
def test_what_is_a_configuration_of_mig_parted(value: Any, is_one: bool) -> None:
    assert MIG.matches(Document("a.yaml", value, lambda _: Position(1, 1))) is is_one


@pytest.mark.parametrize(
    ("version", "given"),
    [(None, "It does not say version: v1"), ("v2", 'version is "v2"'), (2, "version is 2")],
)
def test_versions_that_mig_parted_refuses(version: Any, given: str) -> None:
    (problem,) = problems(read_with(MIG, of_item() | {"version": version}))

    assert problem.message == f"{given}, and mig-parted refuses all but v1."


def test_at_most_two_layouts_that_fit_are_named() -> None:
    value = of_item(mig_devices={"3g.20gb": 2, "1g.5gb": 1}, device_filter=A100)
    (problem,) = problems(read_with(MIG, value))

    assert problem.fix.startswith("The nearest that do are {")
    assert problem.fix.count("{") == 2
    assert problem.fix.count(" or ") == 1


@pytest.mark.parametrize(
    ("devices", "renamed"),
    [({"1g.5bg": 1}, ["1g.5gb"]), ({"1g.5bg": 1, "1g.5gb": 1}, [])],
)
def test_a_profile_is_not_renamed_to_one_that_is_there(
    devices: dict[str, int], renamed: list[str]
) -> None:
    value = of_item(mig_devices=devices, device_filter=A100)
    (problem,) = problems(read_with(MIG, value))

    assert [edit.value for edit in problem.edits] == renamed


@pytest.mark.parametrize(("version", "edits"), [(1, 1), ("1", 1), (2, 0), ("v2", 0)])
def test_versions_that_mean_the_one_there_is(version: Any, edits: int) -> None:
    (problem,) = problems(read_with(MIG, of_item() | {"version": version}))

    assert len(problem.edits) == edits
