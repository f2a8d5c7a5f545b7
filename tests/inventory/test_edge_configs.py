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
    said,
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


def test_a_pool_without_a_label_beside_one_that_has_it_may_be_meant() -> None:
    pools = (labelled("a"), nodes(name="b", labels=PRESENT))
    one = config_map("sharing", {"a": SLICES})
    (of_operator,) = problems(*pools, operators(name="sharing"), one)
    (of_plugin,) = problems(*pools, named(), config_map("sharing", TWO))

    assert (of_operator.severity, of_operator.edits) == ("info", ())
    assert (of_plugin.severity, of_plugin.edits) == (None, ())


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


MPS = SLICES.replace("timeSlicing", "mps")
CHARTS = "The Release nvidia-device-plugin"


@pytest.mark.parametrize(
    ("items", "message", "fix"),
    [
        (
            (named(), config_map("shares", {"a": "version: v1"})),
            f"{CHARTS} names the ConfigMap sharing, which is not here.",
            "Make it in the namespace kube-system before the chart, or correct `config.name`.",
        ),
        (
            (plugin({"config": {"name": "sharing"}}, namespace=UNKNOWN),),
            f"{CHARTS} names the ConfigMap sharing, which is not here.",
            "Make it in the namespace of the release before the chart, or correct `config.name`.",
        ),
        (
            (
                named(),
                config_map("shares", {"a": "version: v1"}, "other"),
                config_map("sharing", {"a": "version: v1"}, "default"),
            ),
            (
                f"{CHARTS} is in the namespace kube-system, and the ConfigMap sharing in default. "
                "A pod reads ConfigMaps of its own namespace only."
            ),
            "Make the ConfigMap in the namespace kube-system.",
        ),
        (
            (named(default="a"), config_map("sharing", {})),
            f"The default of {CHARTS.replace('The', 'the')} is a, and its configurations are none.",
            "Name one of those, or add the key to the ConfigMap.",
        ),
        (
            (named(default="c"), config_map("sharing", TWO)),
            f"The default of {CHARTS.replace('The', 'the')} is c, and its configurations are a, b.",
            "Name one of those, or add the key to the ConfigMap.",
        ),
    ],
)
def test_messages_say_what_there_is(items: tuple[Item, ...], message: str, fix: str) -> None:
    (found,) = problems(POOL, *items)

    assert (found.message, found.fix) == (message, fix)


@pytest.mark.parametrize(
    ("items", "said_so"),
    [
        ((named(), config_map("sharing", {"a": "version: v1\nx: [v1"})), "ConfigMap sharing"),
        ((plugin({"config": {"map": {"a": "b: c\na: {"}}}),), "Release nvidia-device-plugin"),
    ],
)
def test_what_is_no_yaml_is_said_with_its_line(items: tuple[Item, ...], said_so: str) -> None:
    (found,) = problems(POOL, *items, of=[configs.NO_YAML])

    assert found.message.startswith(f"The configuration a of the {said_so} is no YAML: ")
    assert " is no YAML: line 2: did not find expected " in found.message


@pytest.mark.parametrize(
    ("items", "path"),
    [
        ((named(), config_map("sharing", {"a": "["})), ("data", "a")),
        ((plugin({"config": {"map": {"a": "["}}}),), ("config", "map")),
        ((operators(data={"a": "["}, default="a"),), ("devicePlugin", "config", "data")),
    ],
)
def test_the_place_of_what_is_no_yaml(items: tuple[Item, ...], path: tuple[str, ...]) -> None:
    (found,) = problems(POOL, *items, of=[configs.NO_YAML])

    assert found.path == path


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        # Another plugin may have configurations, and the label may be for it.
        (
            (labelled("a"), plugin(), plugin(UNKNOWN, name="b")),
            [("?GPU1120", "the values of the Release b")],
        ),
        ((labelled("a"), named(), config_map("sharing", UNKNOWN)), []),
        ((labelled(UNKNOWN), named(), config_map("sharing", TWO)), []),
        ((labelled(UNKNOWN), plugin()), []),
        ((nodes(labels=UNKNOWN), named(), config_map("sharing", TWO)), []),
        # A node as it is may get its label when somebody takes it up.
        (
            (
                nodes(labels=PRESENT, provisioner="byHand"),
                named(),
                config_map("sharing", TWO),
            ),
            [],
        ),
        (
            (
                nodes(labels={**PRESENT, LABEL: "c"}, provisioner="autoMode"),
                named(default="a"),
                config_map("sharing", TWO),
            ),
            [],
        ),
    ],
)
def test_where_a_link_may_be_closed_nothing_is_wrong(
    items: tuple[Item, ...], expected: list[tuple[str, str]]
) -> None:
    assert said(configs.closure, *items) == expected


UNUSED = "holds a configuration of the device plugin, and"


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((config_map("sharing", {"a": SLICES}),), [f"The ConfigMap sharing {UNUSED} nothing here"]),
        (
            (plugin(), config_map("sharing", {"a": MPS})),
            [f"The ConfigMap sharing {UNUSED} the Release nvidia-device-plugin names none."],
        ),
        (
            (named(), config_map("sharing", {"a": MPS}), config_map("b", {"a": MPS})),
            [f"The ConfigMap b {UNUSED} the Release nvidia-device-plugin names sharing."],
        ),
        (
            (named(name=UNKNOWN), config_map("sharing", {"a": MPS})),
            ["whether anything names the ConfigMap sharing"],
        ),
        (
            (named(), config_map(UNKNOWN, {"a": MPS})),
            ["the name of the ConfigMap Unknown.UNKNOWN"],
        ),
        (
            (plugin(), config_map("sharing", {"a": MPS}), pods(volumes=UNKNOWN)),
            ["whether anything names the ConfigMap sharing"],
        ),
        # Other charts read other documents, and documents of others are not about shares.
        (
            (chart("other"), config_map("sharing", {"a": SLICES.replace("replicas", "count")})),
            [],
        ),
        ((config_map("sharing", {"a": SLICES.replace("sharing", "shared")}),), []),
        ((config_map("sharing", {"a": SLICES.replace("timeSlicing", "slices")}),), []),
        ((config_map("sharing", {"a": {"sharing": {"mps": {"replicas": 2}}}}),), []),
    ],
)
def test_a_map_that_nothing_reads_is_told_by_what_names_none(
    items: tuple[Item, ...], expected: list[str]
) -> None:
    found = [message for _, message in said(configs.unused_maps, *items)]

    assert len(found) == len(expected)
    assert all(each.startswith(start) for each, start in zip(found, expected, strict=True))


def test_a_map_in_a_projected_volume_is_read() -> None:
    volumes = [{"projected": {"sources": [{"configMap": {"name": "sharing"}}]}}]

    assert said(configs.unused_maps, config_map("sharing", {"a": MPS}), pods(volumes=volumes)) == []


def test_of_files_a_map_is_unused_beside_a_chart_only() -> None:
    found = config_map("sharing", {"a": MPS})

    assert said(configs.unused_maps, found, complete=False) == []
    assert [code for code, _ in said(configs.unused_maps, found, plugin(), complete=False)] == [
        "GPU1121"
    ]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a: b", None),
        ("a: b\n---\n[", None),  # the plugin reads the first document
        ("", None),
        ("a: [b", "line 1: did not find expected ',' or ']'"),
        ("a: 2026-13-45", None),  # no day of any month, and so a text
        ("%YAML 1.2\n---\na: b", "found incompatible YAML document"),
        ("[" * 5000, "line 1: did not find expected node content"),
    ],
)
def test_what_a_parser_says(text: str, wrong: str | None) -> None:
    assert configs.not_yaml(text) == wrong


@pytest.mark.parametrize(
    ("version", "document", "count"),
    [
        ("0.12.0-rc.5", SLICES, 0),
        ("0.12.0-rc.4", SLICES, 1),
        ("0.15.0", MPS, 0),
        ("0.14.5", MPS, 1),
        ("0.14.5", SLICES, 0),
        ("0.14.5", "sharing: [mps]", 0),  # no configuration at all, which is said elsewhere
        (UNKNOWN, MPS, 0),
        ("latest", MPS, 0),
    ],
)
def test_versions_that_can_do_what_they_are_told(version: Any, document: str, count: int) -> None:
    release = plugin({"config": {"name": "sharing"}}, version=version)
    found = said(configs.configurations, POOL, release, config_map("sharing", {"a": document}))

    assert [code for code, _ in found] == ["GPU1126"] * count


@pytest.mark.parametrize(
    ("release", "path", "severity", "then"),
    [
        (named(), ("config",), None, "the plugin's pod crashes."),
        (
            operators(name="sharing"),
            ("devicePlugin", "config"),
            "warning",
            "GPUs are not shared.",
        ),
    ],
)
def test_what_comes_of_nodes_without_a_key(
    release: Item, path: tuple[str, ...], severity: str | None, then: str
) -> None:
    (found,) = problems(POOL, release, config_map("sharing", TWO))

    assert (found.path, found.severity, found.edits) == (path, severity, ())
    assert found.message.endswith(then)
