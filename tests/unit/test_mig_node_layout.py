"""What the layout of a stack file means for the GPUs of a node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter

from eks_gpushare.catalog import Catalog, mig_models
from eks_gpushare.config.sharing import Layout
from eks_gpushare.sharing.mig.layout import (
    LayoutError,
    LayoutProblem,
    NodeLayout,
    format_layout,
    node_layout,
)

if TYPE_CHECKING:
    from eks_gpushare.catalog import InstanceType

CATALOG = Catalog()
A100_NAMES = (
    "all-1g.5gb, all-1g.5gb.me, all-1g.10gb, all-2g.10gb, all-3g.20gb, all-4g.20gb, all-7g.40gb, "
    "all-balanced"
)


def instance(name: str) -> InstanceType:
    found = CATALOG.find(name)
    assert found is not None
    return found


def layout(
    given: Any,
    name: str = "p4d.24xlarge",
    catalog: Catalog = CATALOG,
) -> NodeLayout:
    parsed = TypeAdapter(Layout).validate_python(given)
    return node_layout(parsed, instance(name), catalog)


def problems(given: Any, name: str = "p4d.24xlarge") -> list[LayoutProblem]:
    with pytest.raises(LayoutError) as raised:
        layout(given, name)
    return raised.value.problems


def test_a_named_layout_is_on_every_gpu() -> None:
    found = layout("all-balanced")

    assert found.instances == {"3g.20gb": 8, "2g.10gb": 8, "1g.5gb": 16}
    assert found.whole == 0
    assert found.uniform is None
    assert len(found.gpus) == 8


def test_a_layout_of_one_profile_is_uniform() -> None:
    found = layout({"1g.5gb": 7})

    assert found.uniform == "1g.5gb"
    assert found.instances == {"1g.5gb": 56}


def test_gpus_that_are_not_listed_stay_whole() -> None:
    found = layout(
        [{"gpus": [0, 1], "devices": {"1g.5gb": 7}}, {"gpus": [7], "devices": {"3g.20gb": 2}}]
    )

    assert found.instances == {"3g.20gb": 2, "1g.5gb": 14}
    assert found.whole == 5
    assert [bool(gpu.devices) for gpu in found.gpus] == [True, True, *[False] * 5, True]
    assert found.gpus[2].placements == ()


def test_one_profile_beside_whole_gpus_is_not_uniform() -> None:
    assert layout([{"gpus": [0], "devices": {"1g.5gb": 7}}]).uniform is None


def test_the_hash_is_that_of_what_is_made() -> None:
    assert layout("all-1g.5gb").layout_hash == layout({"1g.5gb": 7}).layout_hash
    assert layout("all-1g.5gb").layout_hash != layout("all-balanced").layout_hash
    assert layout("all-1g.10gb").layout_hash != layout("all-1g.10gb", "p5.48xlarge").layout_hash


def test_the_hash_stays_the_same_from_release_to_release() -> None:
    # A change rolls every node of every MIG pool.
    assert layout("all-balanced").layout_hash == "a22d795aef"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            "all-1g.18gb",
            LayoutProblem(
                (),
                "name",
                f'"all-1g.18gb" is not a layout of the A100-40GB; there are {A100_NAMES}.',
                "Did you mean all-1g.5gb? Name one of them, or give the devices per GPU.",
            ),
        ),
        (
            "all-balansed",
            LayoutProblem(
                (),
                "name",
                f'"all-balansed" is not a layout of the A100-40GB; there are {A100_NAMES}.',
                "Did you mean all-balanced? Name one of them, or give the devices per GPU.",
            ),
        ),
        (
            "tiny",
            LayoutProblem(
                (),
                "name",
                f'"tiny" is not a layout of the A100-40GB; there are {A100_NAMES}.',
                "Name one of them, or give the devices per GPU.",
            ),
        ),
        (
            "all-disabled",
            LayoutProblem(
                (),
                "empty",
                "all-disabled leaves every GPU whole, so there would be no MIG.",
                "Use mode: exclusive for whole GPUs.",
            ),
        ),
        (
            "all-enabled",
            LayoutProblem(
                (),
                "empty",
                "all-enabled switches MIG on and makes no device, so a node would have no GPU.",
                "Name the devices, or use mode: exclusive.",
            ),
        ),
        (
            {},
            LayoutProblem(
                (),
                "empty",
                "No device is named.",
                "Name profiles and how many of each, such as {1g.5gb: 2}.",
            ),
        ),
        (
            [],
            LayoutProblem(
                (),
                "empty",
                "The list is empty, so every GPU would stay whole.",
                "List {gpus, devices}, or use mode: exclusive.",
            ),
        ),
        (
            {"1g.5gb": 0},
            LayoutProblem(
                ("1g.5gb",),
                "count",
                "0 is not a number of devices; a GPU has 1 or more of a profile.",
                "Give 1 or more, or remove 1g.5gb.",
            ),
        ),
        (
            {"1g.5gb+me": 2},
            LayoutProblem(
                (),
                "group",
                "The A100-40GB has one OFA media engine, and it goes to one instance, so at most 1 "
                "1g.5gb+me fits; 2 are asked for.",
                "The nearest that fit: {1g.5gb: 1, 1g.5gb+me: 1}; {1g.5gb: 2}; "
                "{1g.10gb: 1, 1g.5gb+me: 1}.",
            ),
        ),
        (
            {"3g.20gb": 3},
            LayoutProblem(
                (),
                "fit",
                "3g.20gb takes memory slices 0-3 or 4-7; both are taken by the first two, so the "
                "third 3g.20gb has no place.",
                "The nearest that fit: {3g.20gb: 1, 2g.10gb: 2}; {3g.20gb: 2}; "
                "{3g.20gb: 1, 2g.10gb: 1, 1g.10gb: 1}.",
            ),
        ),
    ],
    ids=str,
)
def test_one_thing_is_wrong(given: Any, problem: LayoutProblem) -> None:
    assert problems(given) == [problem]


def test_a_profile_of_another_board_names_the_one_meant() -> None:
    [found] = problems({"1g.5gb": 7}, "p5.48xlarge")

    assert (found.at, found.kind, found.fix) == (("1g.5gb",), "profile", "Write 1g.10gb.")


def test_everything_wrong_with_a_list_is_said_at_once() -> None:
    given = [
        {"gpus": [0, 8, 0, -1], "devices": {"1g.5gb": 7}},
        {"gpus": [0], "devices": {}},
        {"gpus": [], "devices": {"3g.20gb": 3, "1g.5gb": -2}},
    ]

    assert [(found.at, found.kind, found.message) for found in problems(given)] == [
        ((0, "gpus", 1), "gpu", "p4d.24xlarge has no GPU 8; it has GPUs 0 to 7."),
        ((0, "gpus", 2), "twice", "GPU 0 stands in this list twice; a GPU has one layout."),
        ((0, "gpus", 3), "gpu", "p4d.24xlarge has no GPU -1; it has GPUs 0 to 7."),
        ((1, "gpus", 0), "twice", "GPU 0 stands in entry 0 too; a GPU has one layout."),
        ((1, "devices"), "empty", "No device is named for these GPUs."),
        ((2, "gpus"), "empty", "No GPU is named."),
        (
            (2, "devices", "1g.5gb"),
            "count",
            "-2 is not a number of devices; a GPU has 1 or more of a profile.",
        ),
    ]


def test_a_type_with_one_gpu_has_gpu_0() -> None:
    [found] = problems([{"gpus": [1], "devices": {"1g.10gb": 7}}], "p5.4xlarge")

    assert found.message == "p5.4xlarge has no GPU 1; it has GPU 0."
    assert found.fix == "Use 0."


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("t3.large", "noMig", "t3.large has no NVIDIA GPU."),
        ("g5.xlarge", "noMig", "The A10G in g5.xlarge has no MIG."),
        (
            "p6e-gb200.36xlarge",
            "noMig",
            (
                "MIG is not available on p6e-gb200.36xlarge: the EKS AMI loads the driver in "
                "coherent memory mode, which excludes it."
            ),
        ),
    ],
)
def test_a_type_without_mig_has_no_layout(name: str, kind: str, message: str) -> None:
    [found] = problems("all-balanced", name)

    assert (found.kind, found.message) == (kind, message)


def test_a_gpu_whose_profiles_nobody_knows_has_no_layout() -> None:
    p4d = instance("p4d.24xlarge")
    assert p4d.gpu is not None
    unknown = replace(p4d, gpu=replace(p4d.gpu, model="A800X"))
    with pytest.raises(LayoutError) as raised:
        node_layout("all-balanced", unknown, CATALOG)

    assert str(raised.value) == (
        "The MIG profiles of the A800X of 40960 MiB in p4d.24xlarge are not known. Add them under "
        "catalog.migProfiles, under the name A800X."
    )


def test_a_layout_of_the_stacks_own_is_used_by_name() -> None:
    own = Catalog(own_layouts={"research": {"3g.20gb": 1, "1g.5gb": 4}})

    assert layout("research", catalog=own).instances == {"3g.20gb": 8, "1g.5gb": 32}


def test_a_layout_of_the_stacks_own_that_does_not_fit_is_named_in_the_message() -> None:
    own = Catalog(own_layouts={"research": {"3g.20gb": 3}})
    with pytest.raises(LayoutError, match=r"^research: 3g\.20gb takes memory slices") as raised:
        layout("research", catalog=own)

    assert raised.value.problems[0].at == ()


def test_a_model_of_the_stacks_own_replaces_the_packages() -> None:
    a100 = mig_models()["A100-40GB"]
    changed = replace(a100, profiles={"1g.5gb": replace(a100.profiles["1g.5gb"], max_count=3)})
    own = Catalog(own_mig_models={a100.name: changed})

    assert layout("all-1g.5gb", catalog=own).instances == {"1g.5gb": 24}


def test_devices_are_written_as_in_a_stack_file() -> None:
    assert format_layout({"3g.20gb": 1, "1g.5gb": 2}) == "{3g.20gb: 1, 1g.5gb: 2}"
