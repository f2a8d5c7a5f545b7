"""The geometry engine against a naive search that shares nothing with it but the figures."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import sampled

from eks_gpushare.catalog import mig_models
from eks_gpushare.sharing.mig.geometry import (
    Placement,
    addable,
    all_layouts,
    fits,
    is_maximal,
    large_first,
    place,
    unused,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog import MigModel, Profile

MODELS = mig_models()
A100 = MODELS["A100-40GB"]
BASE = ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")
SEVEN_SLICES = [model for model in MODELS.values() if model.compute_slices == 7]
EVERY_MODEL = pytest.mark.parametrize("name", MODELS)

Key = tuple[tuple[str, int], ...]


def key(devices: Mapping[str, int]) -> Key:
    return tuple(sorted((name, count) for name, count in devices.items() if count))


def covered(profile: Profile, start: int) -> set[int]:
    return set(range(start, start + profile.memory_slices))


def allowed(model: MigModel, chosen: list[Profile]) -> bool:
    """Everything that counts beside the places."""
    names = [profile.name for profile in chosen]
    groups = [profile.exclusive_group for profile in chosen if profile.exclusive_group]
    return (
        all(names.count(profile.name) <= profile.max_count for profile in chosen)
        and len(groups) == len(set(groups))
        and sum(profile.compute_slices for profile in chosen) <= model.compute_slices
        and all(
            sum(profile.engines.get(engine, 0) for profile in chosen) <= most
            for engine, most in model.engines.items()
        )
    )


def placement_sets(model: MigModel) -> Iterator[list[Profile]]:
    """Every way to lay instances on an empty GPU, as the profiles that lie there."""
    places = [(p, start) for p in model.profiles.values() for start in p.starts]

    def search(at: int, taken: set[int], chosen: list[Profile]) -> Iterator[list[Profile]]:
        if at == len(places):
            yield chosen
            return
        yield from search(at + 1, taken, chosen)
        profile, start = places[at]
        slices = covered(profile, start)
        if not slices & taken and allowed(model, [*chosen, profile]):
            yield from search(at + 1, taken | slices, [*chosen, profile])

    return search(0, set(), [])


@cache
def feasible(name: str) -> frozenset[Key]:
    """Every multiset that some placement set has."""
    model = MODELS[name]
    found = set()
    for chosen in placement_sets(model):
        names = [profile.name for profile in chosen]
        found.add(key({each: names.count(each) for each in names}))
    return frozenset(found)


@EVERY_MODEL
def test_the_engine_finds_what_brute_force_finds(name: str) -> None:
    engine = {key(devices) for devices in all_layouts(MODELS[name])}

    assert engine | {()} == feasible(name)


@EVERY_MODEL
def test_one_instance_more_fits_where_brute_force_says_so(name: str) -> None:
    model = MODELS[name]
    for layout in feasible(name):
        devices = dict(layout)
        for profile in model.profiles:
            more = {**devices, profile: devices.get(profile, 0) + 1}

            assert fits(model, more) == (key(more) in feasible(name)), more


@pytest.mark.parametrize(
    "name", sampled([name for name, model in MODELS.items() if len(model.profiles) < 8], 3)
)
def test_every_multiset_up_to_one_more_than_allowed_agrees(name: str) -> None:
    model = MODELS[name]
    counts = [range(profile.max_count + 2) for profile in model.profiles.values()]
    for chosen in product(*counts):
        devices = dict(zip(model.profiles, chosen, strict=True))

        assert fits(model, devices) == (key(devices) in feasible(name)), devices


@pytest.mark.parametrize("model", SEVEN_SLICES, ids=lambda model: model.name)
def test_a_seven_slice_gpu_has_37_base_layouts_of_which_12_are_maximal(model: MigModel) -> None:
    base = [
        name
        for name, profile in model.profiles.items()
        if not profile.attributes and (profile.compute_slices, profile.memory_slices) != (1, 2)
    ]
    layouts = all_layouts(model, base)

    assert len(layouts) == 37
    assert sum(is_maximal(model, devices, base) for devices in layouts) == 12


@pytest.mark.parametrize("model", SEVEN_SLICES, ids=lambda model: model.name)
def test_a_seven_slice_gpu_has_77_layouts_with_the_double_memory_profile(model: MigModel) -> None:
    plain = [name for name, profile in model.profiles.items() if not profile.attributes]

    assert len(all_layouts(model, plain)) == 77


@pytest.mark.parametrize("model", SEVEN_SLICES, ids=lambda model: model.name)
def test_on_seven_slices_sums_and_counts_decide_for_plain_profiles(model: MigModel) -> None:
    plain = [profile for profile in model.profiles.values() if not profile.attributes]
    for chosen in product(*(range(profile.max_count + 1) for profile in plain)):
        devices = {p.name: n for p, n in zip(plain, chosen, strict=True)}
        compute = sum(p.compute_slices * n for p, n in zip(plain, chosen, strict=True))
        memory = sum(p.memory_slices * n for p, n in zip(plain, chosen, strict=True))

        assert fits(model, devices) == (compute <= 7 and memory <= 8)


def test_an_a30_has_9_base_layouts() -> None:
    assert len(all_layouts(MODELS["A30-24GB"], ("1g.6gb", "2g.12gb", "4g.24gb"))) == 9


@pytest.mark.parametrize(
    "devices",
    [
        {"3g.20gb": 2, "1g.5gb": 1},
        {"1g.5gb": 8},
        {"1g.5gb+me": 2},
        {"3g.20gb": 3},
        {"4g.20gb": 2},
        {"4g.20gb": 1, "2g.10gb": 2},
        {"7g.40gb": 1, "1g.5gb": 1},
        {"1g.10gb": 4, "1g.5gb": 1},
        {"1g.10gb": -1},
        {"1g.18gb": 1},
    ],
    ids=str,
)
def test_what_an_a100_cannot_have_does_not_fit(devices: dict[str, int]) -> None:
    assert not fits(A100, devices)
    assert place(A100, devices) is None


def test_nothing_fits_anywhere() -> None:
    assert place(A100, {}) == ()
    assert place(A100, {"1g.5gb": 0, "9g.99gb": 0}) == ()


def test_an_instance_leaves_as_much_room_as_it_can() -> None:
    # Public output of `nvidia-smi mig -lgi` shows the same places: 4:4 of a first 3g, 6:1 of a
    # first 1g.
    assert place(A100, {"3g.20gb": 1}) == (Placement("3g.20gb", 4),)
    assert place(A100, {"1g.5gb": 1}) == (Placement("1g.5gb", 6),)


def test_large_instances_are_made_first() -> None:
    assert place(A100, {"1g.5gb": 1, "2g.10gb": 1, "3g.20gb": 1}) == (
        Placement("3g.20gb", 4),
        Placement("2g.10gb", 0),
        Placement("1g.5gb", 2),
    )


def test_places_do_not_depend_on_the_order_of_the_profiles() -> None:
    one = place(A100, {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1})
    other = place(A100, {"3g.20gb": 1, "1g.5gb": 2, "2g.10gb": 1})

    assert one == other


@EVERY_MODEL
def test_the_places_of_every_layout_are_right_one_after_another(name: str) -> None:
    model = MODELS[name]
    for devices in all_layouts(model):
        placements = place(model, devices)
        assert placements is not None
        taken: set[int] = set()
        made: dict[str, int] = {}
        sizes = []
        for placement in placements:
            profile = model.profiles[placement.profile]
            slices = covered(profile, placement.start)
            assert placement.start in profile.starts
            assert not slices & taken
            taken |= slices
            made[profile.name] = made.get(profile.name, 0) + 1
            sizes.append(profile.memory_slices)
            assert fits(model, made)

        assert made == devices
        assert sizes == sorted(sizes, reverse=True)


@st.composite
def sets(draw: st.DrawFn) -> tuple[MigModel, dict[str, int]]:
    model = draw(st.sampled_from(list(MODELS.values())))
    names = st.sampled_from(list(model.profiles))
    return model, draw(st.dictionaries(names, st.integers(0, 8), max_size=4))


@given(sets())
def test_a_part_of_what_fits_fits(drawn: tuple[MigModel, dict[str, int]]) -> None:
    model, devices = drawn
    if not fits(model, devices):
        return
    for name, count in devices.items():
        if count:
            assert fits(model, {**devices, name: count - 1})


@given(sets())
def test_instances_lie_on_places_of_their_own(drawn: tuple[MigModel, dict[str, int]]) -> None:
    model, devices = drawn
    runs = [
        covered(model.profiles[placement.profile], placement.start)
        for placement in place(model, devices) or ()
    ]

    assert sum(map(len, runs)) == len(set().union(*runs))


@given(sets())
def test_what_fits_and_takes_nothing_more_is_maximal(
    drawn: tuple[MigModel, dict[str, int]],
) -> None:
    model, devices = drawn

    assert is_maximal(model, devices) == (
        fits(model, devices) and not list(addable(model, devices))
    )


@pytest.mark.parametrize(
    ("devices", "compute", "memory", "gigabytes"),
    [
        ({"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}, 0, 0, 0),
        ({"1g.5gb": 7}, 0, 1, 5),
        ({"3g.20gb": 2}, 1, 0, 0),
        ({"1g.10gb": 4}, 3, 0, 0),
        ({}, 7, 8, 40),
    ],
    ids=str,
)
def test_what_a_layout_leaves_is_counted(
    devices: dict[str, int], compute: int, memory: int, gigabytes: int
) -> None:
    assert unused(A100, devices)[:3] == (compute, memory, gigabytes)


def test_what_would_still_fit_is_named() -> None:
    assert unused(A100, {"3g.20gb": 1, "2g.10gb": 1}).addable == (
        "1g.5gb",
        "1g.5gb+me",
        "1g.10gb",
        "2g.10gb",
    )
    assert unused(A100, {"1g.5gb": 7}).addable == ()


def test_large_profiles_come_first_and_those_without_instances_are_left_out() -> None:
    devices = large_first(A100, {"1g.5gb": 2, "4g.20gb": 0, "3g.20gb": 1})

    assert list(devices.items()) == [("3g.20gb", 1), ("1g.5gb", 2)]
