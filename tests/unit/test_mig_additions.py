"""MIG profiles and layouts that a stack file brings along."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.catalog import Catalog, mig_models
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.environment import CatalogAdditions
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.mig.geometry import all_layouts, place

SLICE = {
    "computeSlices": 1,
    "memorySlices": 1,
    "memoryGB": 24,
    "maxCount": 7,
    "placements": [0, 1, 2, 3, 4, 5, 6],
}
B400 = {
    "1g.40gb": {**SLICE, "memoryGB": 40, "maxCount": 4, "placements": [0, 1, 2, 3]},
    "1g.40gb+me": {**SLICE, "memoryGB": 40, "maxCount": 1, "placements": [0, 1, 2, 3]},
    "4g.160gb": {
        "computeSlices": 4,
        "memorySlices": 4,
        "memoryGB": 160,
        "maxCount": 1,
        "placements": [0],
    },
}


def catalog(**additions: Any) -> Catalog:
    found, problems = catalog_of(CatalogAdditions.model_validate(additions), None)
    assert problems == []
    return found


def wrong(**additions: Any) -> list[tuple[str, str]]:
    return findings({"catalog": additions}, "GPU235")


def wrong_profile(name: str = "1g.24gb", **changes: Any) -> list[tuple[str, str]]:
    found = wrong(migProfiles={"B200-180GB": {name: {**SLICE, **changes}}})
    prefix = f'catalog.migProfiles.B200-180GB["{name}"]'
    return [(path.removeprefix(prefix), message) for path, message in found]


def test_a_profile_is_added_to_a_known_gpu() -> None:
    found = catalog(migProfiles={"GB200-186GB": {"1g.24gb": SLICE}}).mig_models()["GB200-186GB"]

    assert list(found.profiles) == [*mig_models()["GB200-186GB"].profiles, "1g.24gb"]
    assert found.source.endswith("1g.24gb: the stack file's own catalog")


def test_a_renamed_profile_keeps_the_number_that_nvidia_smi_knows_it_by() -> None:
    found = catalog(migProfiles={"GB200-186GB": {"1g.24gb": SLICE}}).mig_models()["GB200-186GB"]

    assert found.profiles["1g.24gb"].smi_id == found.profiles["1g.23gb"].smi_id == 19


def test_a_new_gpu_has_the_slices_of_its_profiles() -> None:
    found = catalog(migProfiles={"B400": B400}).mig_models()["B400"]

    assert (found.compute_slices, found.memory_slices, found.memory_gb) == (4, 4, 160)
    assert found.profiles["1g.40gb+me"].exclusive_group == "me"
    assert len(all_layouts(found, ["1g.40gb", "4g.160gb"])) == 5


def test_a_pool_uses_a_gpu_that_the_stack_brings() -> None:
    gpu = {
        "model": "B400",
        "count": 8,
        "memoryMiB": 163840,
        "computeCapability": "11.0",
        "mig": True,
    }
    new = {"vcpus": 96, "memoryMiB": 1048576, "arch": "amd64", "maxPods": 100, "gpu": gpu}
    fragment = {
        "catalog": {
            "instanceTypes": {"p9.24xlarge": new},
            "migProfiles": {"B400": B400},
            "migLayouts": {"quarters": {"1g.40gb": 4}},
        },
        "pools": {
            "gpu": {
                "instanceTypes": ["p9.24xlarge"],
                "sharing": {"mode": "mig", "layout": "quarters"},
            }
        },
    }
    report = checked(stack_file_text(merge_values(base(), fragment)))

    assert report.ok, [str(each) for each in report.findings]


def test_an_own_layout_that_does_not_fit_is_told_where_it_is_used() -> None:
    fragment = {
        "catalog": {"migLayouts": {"mine": {"3g.20gb": 3}}},
        "pools": {
            "gpu": {
                "instanceTypes": ["p4d.24xlarge"],
                "sharing": {"mode": "mig", "layout": "mine"},
            }
        },
    }

    [(path, message)] = findings(fragment, "GPU222")

    assert path == "pools.gpu.sharing.layout"
    assert message.startswith("mine: 3g.20gb takes memory slices 0-3 or 4-7;")


@pytest.mark.parametrize(
    ("changes", "at", "message"),
    [
        ({"memoryGB": 23}, ".memoryGB", "23 does not agree with the name, which says 24."),
        ({"computeSlices": 2}, ".computeSlices", "2 does not agree with the name, which says 1."),
        ({"memorySlices": 0}, ".memorySlices", "0 is not more than 0."),
        ({"placements": []}, ".placements", "There is no placement."),
        ({"placements": [0, 0]}, ".placements", "A placement stands twice."),
        ({"maxCount": 8}, ".maxCount", "8 is not between 1 and the 7 placements."),
        ({"maxCount": 0}, ".maxCount", "0 is not between 1 and the 7 placements."),
        (
            {"placements": [0, 8], "maxCount": 1},
            ".placements[1]",
            "Memory slices 8 to 8 are not all there; the B200-180GB has 8.",
        ),
    ],
    ids=str,
)
def test_an_impossible_profile_is_refused(changes: dict[str, Any], at: str, message: str) -> None:
    assert wrong_profile(**changes) == [(at, message)]


@pytest.mark.parametrize(
    "name", ["small", "1g24gb", "0g.24gb", "1g.24gb+", "1g.24gb.me", "1G.24GB"]
)
def test_a_profile_has_the_name_that_nvidia_smi_gives_it(name: str) -> None:
    found = wrong(migProfiles={"B200-180GB": {name: SLICE}})

    assert [message for _, message in found] == [f'"{name}" is not the name of a MIG profile.']


def test_a_profile_is_no_larger_than_its_gpu() -> None:
    found = wrong_profile("8g.24gb", computeSlices=8)

    assert found == [(".computeSlices", "The B200-180GB has 7 compute slices.")]


def test_a_gpu_without_profiles_is_refused() -> None:
    assert wrong(migProfiles={"B400": {}}) == [
        ("catalog.migProfiles.B400", "B400 has no profile here.")
    ]


@pytest.mark.parametrize(
    ("name", "devices", "at", "message"),
    [
        (
            "all-disabled",
            {"1g.5gb": 1},
            "",
            "all-disabled has a meaning of its own for NVIDIA's tools.",
        ),
        (
            "two words",
            {"1g.5gb": 1},
            "",
            '"two words" cannot be the value of a label, which names the layout on a node.',
        ),
        ("mine", {}, "", "No device is named."),
        ("mine", {"tiny": 1}, ".tiny", '"tiny" is not the name of a MIG profile.'),
        (
            "mine",
            {"1g.5gb": 0},
            '["1g.5gb"]',
            "0 is not a number of devices; a GPU has 1 or more of a profile.",
        ),
    ],
)
def test_an_impossible_layout_is_refused(
    name: str, devices: dict[str, int], at: str, message: str
) -> None:
    [(path, said)] = wrong(migLayouts={name: devices})

    assert path.endswith(at)
    assert said == message


def test_a_key_that_a_profile_does_not_have_is_refused() -> None:
    fragment = {"catalog": {"migProfiles": {"B400": {"1g.40gb": {**SLICE, "starts": [0]}}}}}
    [(path, message)] = findings(fragment, "GPU003")

    assert path == 'catalog.migProfiles.B400["1g.40gb"].starts'
    assert message == "starts is not a key of this block."


THREE = {
    "computeSlices": 3,
    "memorySlices": 4,
    "memoryGB": 144,
    "maxCount": 2,
    "placements": [4, 0],
}
NEW_TYPE: dict[str, Any] = {
    "vcpus": 192,
    "memoryMiB": 2097152,
    "arch": "amd64",
    "gpu": {"model": "R100", "count": 8, "memoryMiB": 294912, "computeCapability": "12.0"},
}


def test_a_new_gpu_has_room_for_the_most_instances_of_each_profile() -> None:
    """The profile of the whole GPU need not be listed, and placements stand in any order."""
    found = catalog(migProfiles={"R100": {"3g.144gb": THREE}}).mig_models()["R100"]

    assert (found.compute_slices, found.memory_slices, found.memory_gb) == (6, 8, 288)
    assert place(found, {"3g.144gb": 2}) is not None


@pytest.mark.parametrize(
    ("model", "has"), [("R100", True), ("H100", True), ("A30-24GB", True), ("L4", False)]
)
def test_a_new_type_has_mig_as_its_gpu_has(model: str, has: bool) -> None:
    added = {**NEW_TYPE, "gpu": {**NEW_TYPE["gpu"], "model": model}}
    found = catalog(
        instanceTypes={"p9.48xlarge": added}, migProfiles={"R100": {"3g.144gb": THREE}}
    ).find("p9.48xlarge")

    assert found is not None
    assert found.gpu is not None
    assert found.gpu.mig_capable is has
