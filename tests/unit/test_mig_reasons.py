"""Why a layout does not fit, in words, and what is offered instead."""

from __future__ import annotations

import pytest

from eks_gpushare.catalog import MigModel, Profile, mig_models
from eks_gpushare.sharing.mig.geometry import (
    all_layouts,
    fits,
    meant_profile,
    nearest,
    place,
    why_not,
)

MODELS = mig_models()
A100 = MODELS["A100-40GB"]


@pytest.mark.parametrize(
    ("name", "devices", "why"),
    [
        (
            "A100-40GB",
            {"3g.20gb": 3},
            (
                "3g.20gb takes memory slices 0-3 or 4-7; both are taken by the first two, so the "
                "third 3g.20gb has no place."
            ),
        ),
        (
            "A100-40GB",
            {"3g.20gb": 2, "1g.5gb": 1},
            (
                "1g.5gb takes one of the memory slices 0 to 6; beside 3g.20gb (0-3) and 3g.20gb "
                "(4-7) there is no place left for 1g.5gb, nor in any other arrangement. Together "
                "they need 7 of 7 compute slices and 9 of 8 memory slices."
            ),
        ),
        (
            "A100-40GB",
            {"1g.5gb": 8},
            (
                "1g.5gb takes one of the memory slices 0 to 6; all are taken by the first seven, "
                "so the eighth 1g.5gb has no place."
            ),
        ),
        (
            "A100-40GB",
            {"4g.20gb": 2},
            "4g.20gb takes memory slices 0-3, which the first one has, so the second has no place.",
        ),
        (
            "A100-40GB",
            {"4g.20gb": 1, "2g.10gb": 2},
            (
                "2g.10gb takes memory slices 0-1, 2-3 or 4-5; beside 4g.20gb (0-3) and 2g.10gb "
                "(4-5) there is no place left for the second 2g.10gb, nor in any other "
                "arrangement. Together they need 8 of 7 compute slices and 8 of 8 memory slices."
            ),
        ),
        (
            "A100-40GB",
            {"1g.5gb+me": 2},
            (
                "The A100-40GB has one OFA media engine, and it goes to one instance, so at most 1 "
                "1g.5gb+me fits; 2 are asked for."
            ),
        ),
        (
            "A30-24GB",
            {"1g.6gb+me": 1, "2g.12gb+me": 1},
            (
                "The A30-24GB has one OFA media engine, and it goes to one instance, so 1g.6gb+me "
                "and 2g.12gb+me exclude each other."
            ),
        ),
        (
            "B200-180GB",
            {"1g.23gb+me": 3},
            (
                "One instance of the B200-180GB at most has the media engines, so at most 1 "
                "1g.23gb+me fits; 3 are asked for."
            ),
        ),
        (
            "RTX-PRO-6000-Blackwell-96GB",
            {"1g.24gb+me.all": 1, "1g.24gb": 1},
            (
                "1 x 1g.24gb and 1 x 1g.24gb+me.all need 5 NVDEC media engines; the "
                "RTX-PRO-6000-Blackwell-96GB has 4. Together they need 2 of 4 compute slices and 6 "
                "of 12 memory slices."
            ),
        ),
        (
            "H100-80GB",
            {"1g.5gb": 7},
            (
                "1g.5gb is not a profile of the H100-80GB; it is one of A100-40GB. Of the same "
                "compute it has 1g.10gb. All of them: 1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, "
                "3g.40gb, 4g.40gb, 7g.80gb."
            ),
        ),
        (
            "A30-24GB",
            {"3g.20gb": 1},
            (
                "3g.20gb is not a profile of the A30-24GB; it is one of A100-40GB. All of them: "
                "1g.6gb, 1g.6gb+me, 2g.12gb, 2g.12gb+me, 4g.24gb."
            ),
        ),
        ("A100-40GB", {"1g.5gb": -1}, "-1 instances of 1g.5gb cannot be made."),
        ("A100-40GB", {"1g.5gb": 7}, ""),
    ],
)
def test_why_it_does_not_fit(name: str, devices: dict[str, int], why: str) -> None:
    assert why_not(MODELS[name], devices) == why


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_there_is_a_reason_exactly_where_it_does_not_fit(model: MigModel) -> None:
    for devices in all_layouts(model):
        assert why_not(model, devices) == ""
        for name in model.profiles:
            more = {**devices, name: devices.get(name, 0) + 1}

            assert bool(why_not(model, more)) != fits(model, more), more


def test_a_profile_with_fewer_instances_than_places_says_its_limit() -> None:
    few = Profile("1g.10gb", 1, 1, 10, 2, (0, 1, 2, 3))
    model = MigModel("few", 4, 4, 40, {"1g.10gb": few})

    assert why_not(model, {"1g.10gb": 3}) == (
        "1g.10gb takes one of the memory slices 0 to 3, and the few has at most 2 of it; 3 are "
        "asked for."
    )


@pytest.mark.parametrize(
    ("board", "name", "meant"),
    [
        ("H100-80GB", "1g.5gb", "1g.10gb"),
        ("H100-80GB", "2g.10gb", "2g.20gb"),
        ("H100-80GB", "7g.40gb", "7g.80gb"),
        ("H100-80GB", "1g.5gb+me", "1g.10gb+me"),
        ("A100-40GB", "1g.20gb", "1g.10gb"),  # double memory on every board that has it
        ("H200-141GB", "1g.20gb", "1g.35gb"),
        ("H200-141GB", "1g.10gb", "1g.18gb"),  # single on most boards, double on one
        ("B200-180GB", "2g.40gb", "2g.45gb"),  # no board has it
        ("RTX-PRO-6000-Blackwell-96GB", "1g.24gb.me", "1g.24gb+me"),
        ("RTX-PRO-6000-Blackwell-96GB", "nvidia.com/mig-1g.24gb.me.all", "1g.24gb+me.all"),
        ("RTX-PRO-6000-Blackwell-96GB", "mig-2g.48gb.gfx", "2g.48gb+gfx"),
        ("A100-40GB", "1G.5GB", "1g.5gb"),
        ("A100-40GB", "1g5gb", "1g.5gb"),
        ("A100-40GB", "1g.5g", "1g.5gb"),
        ("A30-24GB", "3g.20gb", None),
        ("A100-40GB", "small", None),
    ],
)
def test_which_profile_was_meant(board: str, name: str, meant: str | None) -> None:
    assert meant_profile(MODELS[board], name) == meant


@pytest.mark.parametrize(
    ("name", "devices", "first"),
    [
        ("A100-40GB", {"3g.20gb": 2, "1g.5gb": 1}, {"3g.20gb": 2}),
        ("A100-40GB", {"1g.5gb": 8}, {"1g.5gb": 7}),
        ("A100-40GB", {"1g.5gb+me": 2}, {"1g.5gb": 1, "1g.5gb+me": 1}),
        ("A100-40GB", {"4g.20gb": 2}, {"4g.20gb": 1, "3g.20gb": 1}),
        ("A100-40GB", {"1g.5gb": 1000}, {"1g.5gb": 7}),
        ("H100-80GB", {"1g.5gb": 7}, {"1g.10gb": 7}),
        (
            "H100-80GB",
            {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1},
            {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2},
        ),
        # What AWS ships in ai-on-eks for p4de.
        (
            "A100-80GB",
            {"1g.10gb": 3, "2g.20gb": 1, "3g.40gb": 1},
            {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2},
        ),
    ],
)
def test_the_nearest_layout(name: str, devices: dict[str, int], first: dict[str, int]) -> None:
    assert nearest(MODELS[name], devices)[0] == first


def test_nothing_is_near_what_means_nothing() -> None:
    assert nearest(A100, {"small": 1}) == []
    assert nearest(A100, {"1g.5gb": -1}) == []


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_the_nearest_layouts_are_few_and_fit(model: MigModel) -> None:
    for name, profile in model.profiles.items():
        found = nearest(model, {name: profile.max_count + 1})

        assert 0 < len(found) <= 3
        assert all(place(model, each) for each in found)
