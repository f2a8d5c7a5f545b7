"""What MIG manager, and the controller that waits for it, are told about pools."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.environment import CatalogAdditions
from eks_gpushare.config.pools import Pool
from eks_gpushare.sharing.mig_manager import (
    expected_nodes,
    mig_config_name,
    mig_labels,
    mig_manager_values,
    mig_parted_data,
    needs_reboot,
    startup_taints,
    uses_mig_manager,
)

CATALOG = Catalog()
OWN = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}


def pool(layout: Any, *types: str, **sharing: Any) -> Pool:
    return Pool.model_validate(
        {
            "instanceTypes": types or ("p4d.24xlarge",),
            "sharing": {"mode": "mig", "layout": layout, "apply": "migManager", **sharing},
        }
    )


def exclusive() -> Pool:
    return Pool.model_validate(
        {"instanceTypes": ["p4d.24xlarge"], "sharing": {"mode": "exclusive"}}
    )


def configs(**pools: Pool) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(mig_parted_data(pools, CATALOG)["config.yaml"])
    return {name: items for name, items in found["mig-configs"].items() if name != "all-disabled"}


def made(**pools: Pool) -> dict[str, list[Any]]:
    """Configurations without their filters."""
    return {
        name: [(item["devices"], item.get("mig-devices")) for item in items]
        for name, items in configs(**pools).items()
    }


def test_a_named_layout_keeps_its_name() -> None:
    assert mig_config_name(pool("all-1g.5gb.me"), CATALOG) == "all-1g.5gb.me"


def test_a_layout_of_ones_own_is_named_after_its_content() -> None:
    name = mig_config_name(pool(OWN), CATALOG)

    assert re.fullmatch(r"layout-[0-9a-f]{10}", name)
    assert mig_config_name(pool(dict(reversed(OWN.items()))), CATALOG) == name
    assert mig_config_name(pool({**OWN, "1g.5gb": 1}), CATALOG) != name


def test_the_name_of_a_layout_is_the_same_in_every_release() -> None:
    """A new name would relabel every node of the pool, and MIG manager would go over them."""
    by_gpu = [{"gpus": [0, 1], "devices": {"1g.5gb": 7}}]

    names = [mig_config_name(pool(layout), CATALOG) for layout in (OWN, by_gpu)]

    assert names == ["layout-0685444ded", "layout-e539f93aa6"]


def test_a_further_type_of_the_same_gpu_does_not_relabel_nodes() -> None:
    own = {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}

    both = mig_config_name(pool(own, "p5.4xlarge", "p5.48xlarge"), CATALOG)

    assert mig_config_name(pool(own, "p5.4xlarge"), CATALOG) == both


def test_the_label_names_a_configuration_whatever_other_pools_there_are() -> None:
    label = mig_labels(pool(OWN), CATALOG)["nvidia.com/mig.config"]

    for others in ({}, {"other": pool("all-1g.5gb")}, {"a": pool({"1g.5gb": 7}), "z": exclusive()}):
        assert label in configs(mine=pool(OWN), **others)


@pytest.mark.parametrize("other", [exclusive(), pool("all-1g.5gb", apply="boot")])
def test_other_pools_have_no_label_and_no_startup_taint(other: Pool) -> None:
    assert not uses_mig_manager({"other": other})
    assert mig_labels(other, CATALOG) == {}
    assert startup_taints(other) == ()


def test_nodes_join_with_the_startup_taint() -> None:
    (taint,) = startup_taints(pool("all-1g.5gb"))

    assert taint.model_dump() == {
        "key": "eks-gpushare/mig-layout",
        "value": "pending",
        "effect": "NoSchedule",
    }


def test_every_gpu_alike_is_one_item() -> None:
    assert made(a=pool("all-1g.5gb")) == {"all-1g.5gb": [("all", {"1g.5gb": 7})]}


def test_gpus_that_are_not_listed_are_switched_off_and_stay_whole() -> None:
    groups = [
        {"gpus": [0, 1], "devices": {"1g.5gb": 7}},
        {"gpus": [4, 5], "devices": {"3g.20gb": 2}},
    ]
    (items,) = made(a=pool(groups)).values()

    assert items == [([0, 1], {"1g.5gb": 7}), ([2, 3, 6, 7], None), ([4, 5], {"3g.20gb": 2})]


def test_equal_layouts_are_one_configuration() -> None:
    assert len(configs(a=pool(OWN), b=pool(OWN))) == 1
    assert len(next(iter(configs(a=pool(OWN), b=pool(OWN)).values()))) == 1


def test_one_name_on_two_boards_is_told_apart_by_their_ids() -> None:
    found = configs(a=pool("all-1g.10gb"), b=pool("all-1g.10gb", "p5.48xlarge"))["all-1g.10gb"]

    assert [("0x20B010DE" in item["device-filter"], item["mig-devices"]) for item in found] == [
        (True, {"1g.10gb": 4}),
        (False, {"1g.10gb": 7}),
    ]
    assert not set(found[0]["device-filter"]) & set(found[1]["device-filter"])


def test_without_mig_manager_the_chart_has_it_off() -> None:
    assert mig_manager_values({"a": exclusive()}, None, CATALOG) == {
        "migManager": {"enabled": False}
    }


def test_the_chart_is_told_the_config_map_and_no_default() -> None:
    """The chart's own default would label nodes that made their layout at boot, and undo it."""
    values = mig_manager_values({"a": pool("all-1g.10gb", "p5.48xlarge")}, "mig-x", CATALOG)

    assert values == {
        "migManager": {
            "enabled": True,
            "config": {"create": False, "name": "mig-x", "default": ""},
            "env": [],
        }
    }


def test_an_a100_that_mig_manager_cuts_needs_reboots() -> None:
    hopper = pool("all-1g.10gb", "p5.48xlarge")
    values = mig_manager_values({"a": hopper, "b": pool("all-1g.5gb")}, "mig-x", CATALOG)

    assert values["migManager"]["env"] == [{"name": "WITH_REBOOT", "value": "true"}]


def test_an_a100_that_is_cut_at_boot_is_none_of_mig_managers_business() -> None:
    hopper = pool("all-1g.10gb", "p5.48xlarge")
    boot = pool("all-1g.5gb", apply="boot")

    assert mig_manager_values({"a": hopper, "b": boot}, "x", CATALOG)["migManager"]["env"] == []


@pytest.mark.parametrize(
    ("instance_type", "reboots"),
    [("p4d.24xlarge", True), ("p5.48xlarge", False), ("p6-b200.48xlarge", False)],
)
def test_ampere_alone_switches_mig_by_a_reboot(instance_type: str, reboots: bool) -> None:
    found = CATALOG.find(instance_type)
    assert found
    assert found.gpu

    assert needs_reboot(found.gpu) is reboots


def test_the_controller_waits_for_what_the_plan_says() -> None:
    slices = pool("all-1g.5gb", timeSlicing={"replicas": 4, "rename": True})
    groups = [{"gpus": [0], "devices": {"3g.20gb": 2}}]

    found = expected_nodes({"b": slices, "a": pool(groups), "c": exclusive()}, CATALOG)

    assert {name: each["advertises"] for name, each in found.items()} == {
        "a": {"p4d.24xlarge": {"nvidia.com/gpu": 7, "nvidia.com/mig-3g.20gb": 2}},
        "b": {"p4d.24xlarge": {"nvidia.com/mig-1g.5gb.shared": 224}},
    }
    assert found["b"]["config"] == "all-1g.5gb"


def test_the_single_strategy_is_told_apart_from_whole_gpus_by_the_count() -> None:
    found = expected_nodes({"a": pool("all-1g.5gb", strategy="single")}, CATALOG)

    assert found["a"]["advertises"] == {"p4d.24xlarge": {"nvidia.com/gpu": 56}}


def test_a_type_that_nobody_knows_is_said() -> None:
    with pytest.raises(KeyError, match="p9"):
        mig_config_name(pool(OWN, "p9.huge"), CATALOG)


SLICES = {
    "computeSlices": 1,
    "memorySlices": 1,
    "memoryGB": 36,
    "maxCount": 7,
    "placements": [0, 1, 2, 3, 4, 5, 6],
}
OWN_GPU = CatalogAdditions.model_validate(
    {
        "instanceTypes": {
            "p9.48xlarge": {
                "vcpus": 192,
                "memoryMiB": 2097152,
                "arch": "amd64",
                "gpu": {
                    "model": "R100",
                    "count": 8,
                    "memoryMiB": 294912,
                    "computeCapability": "12.0",
                },
            }
        },
        "migProfiles": {"R100": {"1g.36gb": SLICES}},
        "migLayouts": {"few": {"1g.36gb": 2}},
    }
)


def test_a_board_without_known_ids_shares_no_configuration_with_others() -> None:
    """mig-parted would make its devices on every board of a node that follows the name."""
    catalog, _ = catalog_of(OWN_GPU, None)
    own = pool("few", "p9.48xlarge")

    name = mig_config_name(own, catalog)

    assert re.fullmatch("layout-[0-9a-f]{10}", name)
    data = mig_parted_data({"a": own}, catalog)["config.yaml"]
    assert yaml.safe_load(data)["mig-configs"][name] == [
        {"devices": "all", "mig-enabled": True, "mig-devices": {"1g.36gb": 2}}
    ]


def test_the_board_of_g7_is_known_by_its_id() -> None:
    found = configs(a=pool("all-1g.16gb", "g7.48xlarge"))["all-1g.16gb"]

    assert [item["device-filter"][0] for item in found] == ["0x2C3A10DE"]
