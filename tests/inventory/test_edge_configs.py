"""The device plugin's configurations, from the ConfigMap to the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    GPU,
    PRESENT,
    chart,
    codes,
    config_map,
    nodes,
    operator,
    plugin,
    pods,
    problems,
)

from eks_gpushare.inventory.edges import configs
from eks_gpushare.inventory.problem import Edit
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

LABEL = "nvidia.com/device-plugin.config"
SLICES = (
    "version: v1\nsharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
)
TWO = {"a": SLICES, "b": SLICES}
POOL = nodes(labels=PRESENT)


def labelled(value: Any) -> Item:
    return nodes(labels={**PRESENT, LABEL: value})


def named(**config: Any) -> Item:
    return plugin({"config": {"name": "sharing", **config}})


def operators(**config: Any) -> Item:
    return operator({"devicePlugin": {"config": config}})


def mounting(name: str) -> Item:
    volumes = [{"name": "config", "configMap": {"name": name}}]
    container = {"name": "main", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}
    return pods(kind="DaemonSet", spec={"containers": [container], "volumes": volumes})


BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "no YAML": ("GPU1125", (POOL, named(), config_map("sharing", {"a": "version: [v1"}))),
    "no YAML in the values": ("GPU1125", (POOL, plugin({"config": {"map": {"a": "a: {"}}}))),
    "a chart before configurations": (
        "GPU1126",
        (
            POOL,
            plugin({"config": {"name": "sharing"}}, version="0.11.0"),
            config_map("sharing", {"a": SLICES}),
        ),
    ),
    "a chart before MPS": (
        "GPU1126",
        (
            nodes(labels={**PRESENT, "nvidia.com/mps.capable": "true"}),
            plugin({"config": {"name": "sharing"}}, version="v0.14.5"),
            config_map("sharing", {"a": SLICES.replace("timeSlicing", "mps")}),
        ),
    ),
    "an operator before configurations": (
        "GPU1126",
        (
            POOL,
            operator(
                {"devicePlugin": {"config": {"name": "sharing", "default": "a"}}}, version="v1.10.1"
            ),
            config_map("sharing", {"a": SLICES}),
        ),
    ),
    "no ConfigMap": ("GPU1120", (POOL, named())),
    "another name": ("GPU1120", (POOL, named(), config_map("shares", {"a": "version: v1"}))),
    "another namespace": (
        "GPU1120",
        (POOL, named(), config_map("sharing", {"a": "version: v1"}, "default")),
    ),
    "none for the operator": ("GPU1120", (POOL, operators(name="sharing", default="a"))),
    "never named": ("GPU1121", (POOL, plugin(), config_map("sharing", {"a": SLICES}))),
    "never named to the operator": (
        "GPU1121",
        (POOL, operator(), config_map("sharing", {"a": SLICES})),
    ),
    "named in the other chart's words": (
        "GPU1121",
        (POOL, operator({"config": {"name": "sharing"}}), config_map("sharing", {"a": SLICES})),
    ),
    "a label for no key": ("GPU1122", (labelled("c"), named(), config_map("sharing", TWO))),
    "a label in another case": ("GPU1122", (labelled("A"), named(), config_map("sharing", TWO))),
    "a label for no key of the values": (
        "GPU1122",
        (labelled("c"), plugin({"config": {"map": TWO}})),
    ),
    "a default for no key": (
        "GPU1122",
        (POOL, named(default="c"), config_map("sharing", TWO)),
    ),
    "the operator's default for no key": (
        "GPU1122",
        (POOL, operators(name="sharing", default="any"), config_map("sharing", TWO)),
    ),
    "two keys, no default, no label": ("GPU1123", (POOL, named(), config_map("sharing", TWO))),
    "one key is not enough for the operator": (
        "GPU1123",
        (POOL, operators(name="sharing"), config_map("sharing", {"a": SLICES})),
    ),
    "nor one called default": (
        "GPU1123",
        (POOL, operators(name="sharing"), config_map("sharing", {"default": SLICES})),
    ),
    "one pool of two has no label": (
        "GPU1123",
        (labelled("a"), nodes(name="b", labels=PRESENT), named(), config_map("sharing", TWO)),
    ),
    "a label that nothing looks at": ("GPU1124", (labelled("a"), plugin())),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "the first chart with configurations": (
        POOL,
        plugin({"config": {"name": "sharing"}}, version="0.12.0"),
        config_map("sharing", {"a": SLICES}),
    ),
    "an old chart without them": (POOL, plugin(version="0.9.0")),
    "a range of versions": (
        POOL,
        plugin({"config": {"name": "sharing"}}, version=">=0.9.0"),
        config_map("sharing", {"a": SLICES}),
    ),
    "one key": (POOL, named(), config_map("sharing", {"a": SLICES})),
    "a key called default": (POOL, named(), config_map("sharing", {**TWO, "default": SLICES})),
    "a default": (POOL, named(default="a"), config_map("sharing", TWO)),
    "a label": (labelled("a"), named(), config_map("sharing", TWO)),
    "a label and a default": (labelled("b"), named(default="a"), config_map("sharing", TWO)),
    "in the values": (labelled("a"), plugin({"config": {"map": TWO, "default": "b"}})),
    "the operator's default": (
        POOL,
        operators(name="sharing", default="a"),
        config_map("sharing", TWO),
    ),
    "the operator makes it": (
        POOL,
        operators(create=True, name="sharing", data=TWO, default="b"),
    ),
    "the operator and a label": (
        labelled("a"),
        operators(name="sharing"),
        config_map("sharing", TWO),
    ),
    "none at all": (POOL, plugin()),
    "an empty fallback": (
        POOL,
        named(fallbackStrategies=["empty"]),
        config_map("sharing", TWO),
    ),
    "mounted by hand": (POOL, mounting("sharing"), config_map("sharing", {"a": SLICES})),
    "a ConfigMap about something else": (POOL, plugin(), config_map("x", {"sharing": "replicas"})),
    "a label on nodes without a GPU": (
        POOL,
        nodes("m5.large", name="b", labels={LABEL: "c"}),
        named(),
        config_map("sharing", {"a": SLICES}),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_link_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_a_closed_chain_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_of_files_the_map_may_stand_in_another() -> None:
    (found,) = problems(POOL, named(), complete=False)
    assert (found.rule, found.severity) == (configs.MAP_MISSING, "info")
    assert codes(config_map("sharing", {"a": SLICES}), complete=False) == []


def test_the_operator_goes_on_without() -> None:
    items = (POOL, operators(name="sharing"), config_map("sharing", {"a": SLICES}))
    (found,) = problems(*items)

    assert found.severity == "warning"
    assert found.edits == (Edit("set", ("devicePlugin", "config", "default"), "a"),)


def test_what_is_not_known_is_said() -> None:
    assert {"?GPU1120", "?GPU1122"} <= set(codes(POOL, named(name=UNKNOWN)))
    assert "?GPU1122" in codes(POOL, named(), config_map("sharing", UNKNOWN))
    assert "?GPU1110" in codes(POOL, named(), config_map("sharing", {"a": UNKNOWN}), pods({GPU: 1}))
    of_no_name = set(codes(POOL, named(), config_map(UNKNOWN, {"a": SLICES})))
    assert {"?GPU1121", "?GPU1122"} <= of_no_name


def test_another_chart_is_none_of_it() -> None:
    assert codes(chart("karpenter", {"config": {"name": "x"}})) == []


def test_what_pods_ask_for_follows_from_the_label() -> None:
    renamed = SLICES.replace("    resources", "    renameByDefault: true\n    resources")
    maps = config_map("sharing", {"a": SLICES, "b": renamed})

    assert codes(labelled("b"), named(), maps, pods({GPU: 1})) == ["GPU1110"]
    assert codes(labelled("a"), named(), maps, pods({GPU: 1})) == []
    assert codes(labelled("b"), named(), maps, pods({f"{GPU}.shared": 1})) == []
