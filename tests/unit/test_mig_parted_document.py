from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from eks_gpushare.catalog import Catalog, gpu_instance_types, mig_models, why_no_mig
from eks_gpushare.config.pools import Pool
from eks_gpushare.documents.mig_parted import MigPartedItem, mig_parted_document, mig_parted_text
from eks_gpushare.sharing.mig_manager import mig_parted_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.catalog import MigModel

GOLDEN = Path(__file__).parents[1] / "golden" / "mig-parted"
OFF = {"devices": "all", "mig-enabled": False}

LAYOUTS = {
    "uniform": ("p4d.24xlarge", "all-1g.5gb"),
    "balanced": ("p4d.24xlarge", "all-balanced"),
    "media": ("p4d.24xlarge", "all-1g.5gb.me"),
    "same-name": ("p4d.24xlarge", "all-1g.10gb"),
    "same-name-elsewhere": ("p5.48xlarge", "all-1g.10gb"),
    "own": ("p5en.48xlarge", {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1}),
    "by-gpu": (
        "p4d.24xlarge",
        [{"gpus": [0, 1], "devices": {"1g.5gb": 7}}, {"gpus": [4, 5], "devices": {"3g.20gb": 2}}],
    ),
    "workstation": ("g7e.48xlarge", {"1g.24gb+gfx": 4}),
}


def document() -> str:
    pools = {
        name: Pool.model_validate(
            {
                "instanceTypes": [instance_type],
                "sharing": {"mode": "mig", "layout": layout, "apply": "migManager"},
            }
        )
        for name, (instance_type, layout) in LAYOUTS.items()
    }
    return mig_parted_data(pools, Catalog())["config.yaml"]


def test_a_document_of_many_layouts(golden: Callable[[str, str], None]) -> None:
    golden("mig-parted/config.yaml", document())


def test_mig_parted_itself_takes_every_configuration_of_that_document() -> None:
    """Verdicts of the real program, which needs cgo: recorded for exactly this document.

    For each name: `nvidia-mig-parted assert --valid-config -f config.yaml -c NAME`. A document that
    changes wants new ones.
    """
    recorded = json.loads((GOLDEN / "verdicts.json").read_text(encoding="utf-8"))

    assert recorded["sha256"] == hashlib.sha256(document().encode()).hexdigest()
    assert recorded["verdicts"] == dict.fromkeys(
        yaml.safe_load(document())["mig-configs"], "Selected MIG configuration is valid"
    )


# PCI device ids by the name that the driver shows, of the boards in EC2's types with MIG:
# NVIDIA/open-gpu-kernel-modules 610.43.03, README.md, Compatible GPUs. 595.45.04 has neither 2C3A
# nor 2909.
NVIDIA_LISTS = {
    "A100-SXM4-40GB": ("p4d.24xlarge", {"0x20B0"}),
    "A100-SXM4-80GB": ("p4de.24xlarge", {"0x20B2"}),
    "H100 80GB HBM3": ("p5.48xlarge", {"0x2330"}),
    "H200": ("p5en.48xlarge", {"0x2335"}),
    "B200": ("p6-b200.48xlarge", {"0x2901", "0x2909"}),
    "B300 SXM6 AC": ("p6-b300.48xlarge", {"0x3182"}),
    "RTX PRO 6000 Blackwell Server Edition": ("g7e.48xlarge", {"0x2BB5"}),
    "RTX PRO 4500 Blackwell Server Edition": ("g7.48xlarge", {"0x2C3A"}),
}


def model_of(instance_type: str) -> MigModel:
    gpu = gpu_instance_types()[instance_type].gpu
    found = Catalog().mig_model(gpu) if gpu else None
    assert found is not None
    return found


@pytest.mark.parametrize("board", NVIDIA_LISTS)
def test_a_filter_lets_every_board_through_that_ec2_may_have(board: str) -> None:
    """mig-parted takes a filter that matches no GPU for done, and leaves the GPUs whole."""
    instance_type, ids = NVIDIA_LISTS[board]
    profile = next(iter(model_of(instance_type).profiles))
    sharing = {"mode": "mig", "layout": {profile: 1}, "apply": "migManager"}
    pool = Pool.model_validate({"instanceTypes": [instance_type], "sharing": sharing})
    made = yaml.safe_load(mig_parted_data({"gpu": pool}, Catalog())["config.yaml"])
    named = [items for name, items in made["mig-configs"].items() if name != "all-disabled"]

    assert [{f"{each}10DE" for each in ids} <= set(i["device-filter"]) for i in named[0]] == [True]
    assert len(named) == 1


def test_every_board_with_mig_is_in_that_list() -> None:
    types = [t for t in gpu_instance_types().values() if t.gpu and why_no_mig(t) is None]

    assert {model_of(t.name).name for t in types} == {
        model_of(instance_type).name for instance_type, _ in NVIDIA_LISTS.values()
    }


def test_no_board_is_two_models() -> None:
    ids = [each for model in mig_models().values() for each in model.device_ids]

    assert len(ids) == len(set(ids))


def test_mig_off_is_always_there() -> None:
    assert mig_parted_document({}) == {"version": "v1", "mig-configs": {"all-disabled": [OFF]}}


def test_an_item_for_all_gpus_of_a_board() -> None:
    item = MigPartedItem({"3g.20gb": 1, "1g.5gb": 2}, device_ids=("0x20b0", "0x20F1"))

    assert mig_parted_document({"x": [item]})["mig-configs"]["x"] == [
        {
            "device-filter": ["0x20B010DE", "0x20F110DE"],
            "devices": "all",
            "mig-enabled": True,
            "mig-devices": {"1g.5gb": 2, "3g.20gb": 1},
        }
    ]


def test_gpus_that_stay_whole_have_no_devices() -> None:
    items = [MigPartedItem({"1g.5gb": 7}, (0, 1)), MigPartedItem({}, (2, 3))]

    assert mig_parted_document({"x": items})["mig-configs"]["x"] == [
        {"devices": [0, 1], "mig-enabled": True, "mig-devices": {"1g.5gb": 7}},
        {"devices": [2, 3], "mig-enabled": False},
    ]


def test_the_order_of_configurations_and_profiles_changes_nothing() -> None:
    one = mig_parted_text(
        {"a": [MigPartedItem({"1g.5gb": 2, "2g.10gb": 1})], "b": [MigPartedItem({})]}
    )
    other = mig_parted_text(
        {"b": [MigPartedItem({})], "a": [MigPartedItem({"2g.10gb": 1, "1g.5gb": 2})]}
    )

    assert one == other


@pytest.mark.parametrize("device_id", ["A100", "0x20B010DE", "20B0", "0x20G0", ""])
def test_an_id_that_would_match_no_gpu_is_refused(device_id: str) -> None:
    with pytest.raises(ValueError, match="is not a PCI device id such as 0x20B0"):
        mig_parted_document({"x": [MigPartedItem({"1g.5gb": 7}, device_ids=(device_id,))]})


def test_a_configuration_without_items_is_refused() -> None:
    with pytest.raises(ValueError, match="x has no items, which mig-parted refuses"):
        mig_parted_document({"x": []})
