"""What stands in the place of a key of the device plugin's configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import PRESENT, chart, codes, config_map, nodes, operator, plugin, problems

from eks_gpushare.inventory.edges import config_keys
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

LABEL = "nvidia.com/device-plugin.config"
SLICES = (
    "version: v1\nsharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
)
SHARING = config_map("sharing", {"any": SLICES, "few": SLICES})


def labelled(value: Any) -> Item:
    return nodes(provisioner="byHand", labels={LABEL: value})


def operators(**config: Any) -> Item:
    return operator({"devicePlugin": {"config": config}})


def of_keys(*items: Item) -> list[str]:
    return [found.message for found in problems(*items) if found.rule is config_keys.KEY_MISSING]


@pytest.mark.parametrize(
    ("release", "place", "inner"),
    [
        (
            operators(default=SLICES),
            ("devicePlugin", "config", "default"),
            "devicePlugin.config.da",
        ),
        (plugin({"config": {"default": SLICES}}), ("config", "default"), "`config.map`"),
    ],
)
def test_a_whole_configuration_is_no_default(
    release: Item, place: tuple[str, ...], inner: str
) -> None:
    (found,) = (each for each in problems(release) if each.rule is config_keys.KEY_MISSING)

    assert found.path[-len(place) :] == place
    assert "is a whole configuration" in found.message
    assert inner in found.fix


@pytest.mark.parametrize(
    "release",
    [
        operators(default="any"),
        operators(default="any\n"),
        operators(default=UNKNOWN),
        operators(name="sharing", default="any"),
        operator(UNKNOWN),
        chart("dcgm-exporter", {"config": {"default": SLICES}}),
    ],
)
def test_a_key_is_one(release: Item) -> None:
    assert of_keys(release, SHARING) == []


def test_the_name_of_a_config_map_is_none_of_its_keys() -> None:
    every = problems(labelled("sharing"), SHARING)
    (found,) = (each for each in every if each.rule is config_keys.KEY_MISSING)

    assert found.message.endswith("is the name of a ConfigMap. Its configurations are any, few.")
    assert found.fix == f"Give the label one of those, such as {LABEL}=any."


@pytest.mark.parametrize(
    "items",
    [
        (labelled("any"), SHARING),
        (labelled("other"), SHARING),
        (labelled(UNKNOWN), SHARING, config_map(UNKNOWN, {"any": SLICES})),
        (labelled("sharing"), config_map("sharing", {"sharing": SLICES})),
        (labelled("sharing"), SHARING, config_map("more", {"sharing": SLICES})),
        (labelled("sharing"), config_map("sharing", {"any": "text"})),
        (nodes(provisioner="byHand", labels=UNKNOWN), SHARING),
    ],
)
def test_other_labels_are_not_judged_by_it(items: tuple[Item, ...]) -> None:
    assert of_keys(*items) == []


def test_what_a_release_has_is_told_once() -> None:
    release = plugin({"config": {"name": "sharing", "default": "any"}})
    group = nodes(labels={**PRESENT, LABEL: "sharing"})

    assert codes(group, SHARING, release).count("GPU1122") == 1
