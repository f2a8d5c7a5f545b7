"""The MIG figures of the catalog against what was published, and which GPU has which."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eks_gpushare.catalog import (
    Catalog,
    Gpu,
    MigModel,
    gpu_instance_types,
    mig_model,
    mig_models,
    named_layouts,
    why_no_mig,
)
from eks_gpushare.sharing.mig.geometry import fits

GOLDEN = Path(__file__).parents[1] / "golden" / "mig"
PUBLISHED: dict[str, Any] = json.loads((GOLDEN / "published.json").read_text(encoding="utf-8"))
MIG_PARTED: dict[str, Any] = json.loads(
    (GOLDEN / "mig-parted-layouts.json").read_text(encoding="utf-8")
)["layouts"]
MODELS = mig_models()

MODEL_OF_TYPE = {
    "p4d.24xlarge": "A100-40GB",
    "p4de.24xlarge": "A100-80GB",
    "p5.4xlarge": "H100-80GB",
    "p5.48xlarge": "H100-80GB",
    "p5e.48xlarge": "H200-141GB",
    "p5en.48xlarge": "H200-141GB",
    "p6-b200.48xlarge": "B200-180GB",
    "p6-b300.48xlarge": "B300-269GB",
    "p6e-gb200.36xlarge": "GB200-186GB",
}
WORKSTATION = {"g7": "RTX-PRO-4500-Blackwell-32GB", "g7e": "RTX-PRO-6000-Blackwell-96GB"}


def fraction(text: str, slices: int) -> Fraction:
    return Fraction(slices) if text == "Full" else Fraction(text) * slices


@pytest.mark.parametrize("name", PUBLISHED["guide"])
def test_profiles_are_those_of_nvidias_guide(name: str) -> None:
    model, rows = MODELS[name], PUBLISHED["guide"][name]

    assert list(model.profiles) == list(rows)
    for profile in model.profiles.values():
        memory, compute, most, *engines = rows[profile.name]
        assert profile.memory_slices == fraction(memory, model.memory_slices)
        assert profile.compute_slices == fraction(compute, model.compute_slices)
        assert profile.max_count == most
        wanted = {engine: count for engine, count in engines[0].items() if count} if engines else {}
        assert profile.engines == wanted


@pytest.mark.parametrize("name", PUBLISHED["eks"])
def test_counts_are_those_of_the_eks_user_guide(name: str) -> None:
    found = {profile.name: profile.max_count for profile in MODELS[name].profiles.values()}

    assert {each: found[each] for each in PUBLISHED["eks"][name]} == PUBLISHED["eks"][name]


@pytest.mark.parametrize(
    ("name", "board"), [("A100-40GB", "a100"), ("A100-80GB", "a100"), ("A30-24GB", "a30")]
)
def test_placements_are_those_of_nvidias_library(name: str, board: str) -> None:
    found = {}
    for profile in MODELS[name].profiles.values():
        double = profile.compute_slices == 1 and profile.memory_slices == 2
        kind = f"{profile.compute_slices}g" + (" double" if double else "")
        suffix = "+me" if profile.attributes else ""
        found[kind + suffix] = [[start, profile.memory_slices] for start in profile.starts]

    assert found == PUBLISHED["nvml"][board]


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_seven_slice_gpus_have_one_geometry(model: MigModel) -> None:
    a100 = MODELS["A100-40GB"]
    if model.compute_slices != a100.compute_slices:
        return

    def shape(each: MigModel) -> list[tuple[object, ...]]:
        return [
            (p.compute_slices, p.memory_slices, p.max_count, p.starts, p.attributes, p.smi_id)
            for p in each.profiles.values()
        ]

    assert shape(model) == shape(a100)


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_a_model_says_where_its_figures_come_from_and_how_sure_they_are(model: MigModel) -> None:
    assert model.source
    assert model.confidence == "verified" or model.notes


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_the_name_of_a_product_is_no_part_of_anothers(model: MigModel) -> None:
    others = {other.product for other in MODELS.values() if other is not model}

    assert model.product
    assert not [other for other in others if model.product in other]


def mig_parted_counts(model: MigModel) -> dict[str, dict[str, int]]:
    """mig-parted's own layouts of a model: the entries that its device filters leave it."""
    ids = {f"{device}10DE" for device in model.device_ids}
    found = {}
    for name, entries in MIG_PARTED.items():
        for entry in entries:
            devices, filters = entry["devices"], entry["filter"]
            if filters is not None and not ids & set(filters):
                continue
            if name != "all-enabled" and set(devices or ()) <= set(model.profiles):
                found[name] = devices or {}
    return found


def too_many(model: MigModel, devices: dict[str, int]) -> bool:
    return any(count > model.profiles[name].max_count for name, count in devices.items())


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_named_layouts_are_those_of_mig_parted(model: MigModel) -> None:
    ours = named_layouts(model)
    for name, devices in mig_parted_counts(model).items():
        if too_many(model, devices):  # no filter keeps it from this board: ours follows the board
            assert name in ours
            assert fits(model, ours[name])
        else:
            assert ours[name] == devices, name


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_every_named_layout_fits(model: MigModel) -> None:
    for name, devices in named_layouts(model).items():
        assert fits(model, devices), name


def test_mig_parted_has_layouts_that_do_not_fit_the_smaller_rtx_pro() -> None:
    model = MODELS["RTX-PRO-5000-Blackwell-48GB"]
    wrong = {name for name, devices in mig_parted_counts(model).items() if too_many(model, devices)}

    assert sorted(wrong) == [
        "all-1g.24gb",
        "all-1g.24gb-me",
        "all-1g.24gb.gfx",
        "all-2g.48gb",
        "all-2g.48gb.gfx",
    ]


def test_a_plus_in_a_profile_is_a_dot_in_the_name_of_its_layout() -> None:
    layouts = named_layouts(MODELS["RTX-PRO-6000-Blackwell-96GB"])

    assert layouts["all-1g.24gb.me.all"] == {"1g.24gb+me.all": 1}
    assert layouts["all-1g.24gb-me"] == {"1g.24gb-me": 4}


def test_a_gpu_of_two_slices_has_no_balanced_layout() -> None:
    assert "all-balanced" not in named_layouts(MODELS["RTX-PRO-4500-Blackwell-32GB"])


def test_a_count_follows_the_board_and_not_the_profiles_name() -> None:
    assert named_layouts(MODELS["A100-40GB"])["all-1g.10gb"] == {"1g.10gb": 4}
    assert named_layouts(MODELS["A100-80GB"])["all-1g.10gb"] == {"1g.10gb": 7}


@pytest.mark.parametrize("name", gpu_instance_types())
def test_an_instance_type_has_the_model_of_its_gpu(name: str) -> None:
    instance = gpu_instance_types()[name]
    assert instance.gpu is not None
    found = mig_model(instance.gpu)
    wanted = MODEL_OF_TYPE.get(name, WORKSTATION.get(instance.family))

    assert (found and found.name) == wanted


def test_boards_of_one_name_are_told_apart_by_memory() -> None:
    def h100(gib: float) -> str | None:
        gpu = Gpu("H100", round(gib * 1024), "hopper", (9, 0), mig_capable=True)
        model = mig_model(gpu)
        return model.name if model else None

    assert [h100(80), h100(93.6), h100(95.6)] == ["H100-80GB", "H100-94GB", "H100-96GB"]
    assert h100(120) is None


def test_a_model_is_found_by_its_own_name() -> None:
    gpu = Gpu("GB300-278GB", None, "blackwell", (10, 3), mig_capable=True)

    assert mig_model(gpu) is MODELS["GB300-278GB"]


def test_a_gpu_without_mig_has_no_model() -> None:
    assert mig_model(Gpu("A100", 40960, "ampere", (8, 0), mig_capable=False)) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("t3.large", "t3.large has no NVIDIA GPU."),
        ("g5.xlarge", "The A10G in g5.xlarge has no MIG."),
        (
            "p6e-gb200.36xlarge",
            (
                "MIG is not available on p6e-gb200.36xlarge: the EKS AMI loads the driver in "
                "coherent memory mode, which excludes it."
            ),
        ),
        ("p4d.24xlarge", None),
    ],
)
def test_why_a_type_has_no_mig(name: str, why: str | None) -> None:
    instance = Catalog().find(name)
    assert instance is not None

    assert why_no_mig(instance) == why
