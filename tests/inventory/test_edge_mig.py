"""MIG layouts of nodes: names, GPUs, who applies them, and the plugin's strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from inventory_of import (
    GPU,
    PRESENT,
    chart,
    codes,
    config_map,
    daemon_set,
    nodes,
    operator,
    plugin,
    pods,
    problems,
    said,
)

from eks_gpushare.inventory.edges import configs, mig
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

LABEL = "nvidia.com/mig.config"
A100 = "p4d.24xlarge"
MIXED = {"mig": {"strategy": "mixed"}}


def cut(name: str, *types: str, **more: Any) -> Item:
    return nodes(*(types or (A100,)), labels={LABEL: name, **more.pop("labels", {})}, **more)


def booted(layout: str, *types: str) -> Item:
    return nodes(
        *(types or (A100,)), labels=PRESENT, user_data=f'cat <<EOF\nMIG_LAYOUT="{layout}"\nEOF\n'
    )


def own(**configs: Any) -> tuple[Item, Item]:
    """An operator with layouts of one's own."""
    document = yaml.safe_dump({"version": "v1", "mig-configs": configs})
    values = {**MIXED, "migManager": {"config": {"name": "layouts"}}}
    return operator(values), config_map("layouts", {"config.yaml": document})


def item(devices: Any, of: dict[str, int], **more: Any) -> dict[str, Any]:
    return {"devices": devices, "mig-enabled": bool(of), "mig-devices": of, **more}


HALF = [item([0, 1, 2, 3], {}), item([4, 5, 6, 7], {"3g.20gb": 2})]
SINGLE = plugin({"migStrategy": "single"})
OF_PLUGIN = plugin({"migStrategy": "mixed"})

BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "a boot beside a MIG manager": ("GPU1135", (booted("0=9:0,9:4 *=19:0"), operator(MIXED))),
    "a boot beside one with a default": (
        "GPU1135",
        (
            booted("0=9:0,9:4 *=19:0"),
            operator({**MIXED, "migManager": {"config": {"default": "all-disabled"}}}),
        ),
    ),
    "layouts that are no YAML": (
        "GPU1125",
        (cut("half"), *own(half=HALF)[:-1], config_map("layouts", {"config.yaml": "a: ["})),
    ),
    "T4": ("GPU1130", (cut("all-1g.5gb", "g4dn.xlarge"), operator(MIXED))),
    "A10G": ("GPU1130", (cut("all-balanced", "g5.xlarge"), operator(MIXED))),
    "a profile of the board with 80 GB": (
        "GPU1130",
        (cut("all-3g.40gb"), operator(MIXED)),
    ),
    "a profile of the board with 40 GB": (
        "GPU1130",
        (cut("all-1g.5gb", "p4de.24xlarge"), operator(MIXED)),
    ),
    "one type of two": (
        "GPU1130",
        (cut("all-1g.5gb", A100, "p5.48xlarge"), operator(MIXED)),
    ),
    "a layout that does not fit": (
        "GPU1130",
        (cut("big", A100), *own(big=[item("all", {"3g.20gb": 3})])),
    ),
    "a profile that is none": (
        "GPU1130",
        (cut("odd", A100), *own(odd=[item("all", {"4g.40gb": 1})])),
    ),
    "a boot for another board": ("GPU1130", (booted("*=1g.10gb:0,3g.40gb:4"), OF_PLUGIN)),
    "a boot on a GPU without MIG": ("GPU1130", (booted("*=1g.5gb:0", "g5.xlarge"), OF_PLUGIN)),
    "a label that somebody sets by hand": (
        "GPU1130",
        (
            nodes("g4dn.xlarge", labels=PRESENT),
            nodes(
                name="by-hand",
                provisioner="byHand",
                instance_types=(),
                labels={LABEL: "all-1g.5gb"},
            ),
            operator(MIXED),
        ),
    ),
    "no layout of that name": ("GPU1131", (cut("halves"), *own(half=HALF))),
    "a name in another case": ("GPU1131", (cut("Half"), *own(half=HALF))),
    "the plugin's chart alone": (
        "GPU1132",
        (cut("all-1g.5gb", labels=PRESENT), OF_PLUGIN),
    ),
    "MIG manager is off": (
        "GPU1132",
        (cut("all-1g.5gb"), operator({**MIXED, "migManager": {"enabled": False}})),
    ),
    "several profiles under single": ("GPU1133", (cut("all-balanced"), operator())),
    "whole GPUs beside devices under single": (
        "GPU1133",
        (cut("half"), operator({"migManager": {"config": {"name": "layouts"}}}), own(half=HALF)[1]),
    ),
    "a boot of several under single": (
        "GPU1133",
        (booted("*=9:0,14:4"), SINGLE),
    ),
    "a boot and no strategy": ("GPU1134", (booted("*=9:0,9:4"), plugin())),
    "the ConfigMap of layouts is missing": ("GPU1120", (nodes(), own(half=HALF)[0])),
    "the ConfigMap has another key": (
        "GPU1122",
        (nodes(), own()[0], config_map("layouts", {"config.yml": "mig-configs: {}"})),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "a boot beside a MIG manager without a default": (
        booted("0=9:0,9:4 *=19:0"),
        operator({**MIXED, "migManager": {"config": {"default": ""}}}),
    ),
    "a boot beside one that is off": (
        booted("0=9:0,9:4 *=19:0"),
        operator({**MIXED, "migManager": {"enabled": False}}),
    ),
    "a named layout": (cut("all-1g.5gb"), operator(MIXED)),
    "balanced under mixed": (cut("all-balanced"), operator(MIXED)),
    "one profile under single": (cut("all-2g.10gb"), operator()),
    "switched off": (cut("all-disabled", "g5.xlarge"), operator()),
    "its own list": (cut("half"), *own(half=HALF)),
    "a filter for the board": (
        cut("all"),
        *own(
            all=[
                item("all", {"1g.5gb": 7}, **{"device-filter": ["0x20B010DE"]}),
                item("all", {"1g.10gb": 7}, **{"device-filter": ["0x20B210DE", "0x233010DE"]}),
            ]
        ),
    ),
    "the other board's half of the same list": (
        cut("all", "p4de.24xlarge"),
        *own(
            all=[
                item("all", {"1g.5gb": 7}, **{"device-filter": "0x20B010DE"}),
                item("all", {"1g.10gb": 7}, **{"device-filter": "0x20B210DE"}),
            ]
        ),
    ),
    "a boot under mixed": (booted("0=9:0,9:4 *=19:0"), OF_PLUGIN),
    "no MIG, and single": (nodes(A100), operator()),
    "no MIG, and mixed": (nodes(A100, labels=PRESENT), OF_PLUGIN),
    "the strategy of the document": (
        cut("all-balanced"),
        operator(
            {
                "mig": {"strategy": ""},
                "devicePlugin": {"config": {"name": "plugin", "default": "a"}},
            }
        ),
        config_map("plugin", {"a": "version: v1\nflags: {migStrategy: mixed}\n"}),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_layout_that_does_not_come_about_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_a_layout_that_does_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


@pytest.mark.parametrize(
    ("items", "resources"),
    [
        ((cut("all-1g.5gb"), operator(MIXED)), {"nvidia.com/mig-1g.5gb": 56}),
        (
            (cut("all-balanced"), operator(MIXED)),
            {"nvidia.com/mig-1g.5gb": 16, "nvidia.com/mig-2g.10gb": 8, "nvidia.com/mig-3g.20gb": 8},
        ),
        ((cut("all-2g.10gb"), operator()), {GPU: 24}),
        ((cut("half"), *own(half=HALF)), {GPU: 4, "nvidia.com/mig-3g.20gb": 8}),
        ((booted("0=9:0,9:4 *=19:0"), OF_PLUGIN), {
            "nvidia.com/mig-3g.20gb": 2, "nvidia.com/mig-1g.5gb": 7}),
    ],
)  # fmt: skip
def test_pods_may_ask_for_as_many_as_there_are(
    items: tuple[Item, ...], resources: dict[str, int]
) -> None:
    for name, count in resources.items():
        assert codes(*items, pods({name: count})) == []
        assert codes(*items, pods({name: count + 1})) == ["GPU1115"]
    assert codes(*items, pods({"nvidia.com/mig-7g.40gb": 1})) == ["GPU1110"]


def test_the_profile_that_is_meant_is_named() -> None:
    (found,) = problems(cut("all-3g.40gb"), operator(MIXED))

    assert found.path == ("labels", LABEL)
    assert found.message.startswith(
        "The node group gpu is to have the MIG layout all-3g.40gb on p4d"
    )
    assert "all-3g.20gb" in f"{found.message} {found.fix}"


def test_of_files_mig_manager_may_be_elsewhere() -> None:
    items = (cut("all-1g.5gb", labels=PRESENT), OF_PLUGIN)
    (found,) = problems(*items, complete=False)

    assert (found.rule, found.severity) == (mig.NOBODY_APPLIES, "info")


def test_what_is_not_known_is_said_where_it_counts() -> None:
    release, layouts = own(half=HALF)
    unread = config_map("layouts", UNKNOWN)

    assert codes(cut("halves"), release, unread) == []
    assert codes(cut("halves"), release, layouts) == ["GPU1131"]
    assert codes(nodes(A100, user_data=UNKNOWN, labels=PRESENT), SINGLE) == ["?GPU1130"]
    assert codes(nodes(A100, user_data=UNKNOWN, labels=PRESENT), plugin()) == []


GUEST = nodes(name="by-hand", provisioner="byHand", instance_types=(), labels={LABEL: "all-1g.5gb"})
MANAGER = daemon_set("nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.12.1")


@pytest.mark.parametrize(
    ("items", "count"),
    [
        ((nodes("g4dn.xlarge", labels=PRESENT), GUEST), 1),
        ((nodes("g4dn.xlarge", labels=UNKNOWN), GUEST), 1),
        # Nodes of which nobody knows what they can have may be the ones.
        ((nodes("g4dn.xlarge", labels=PRESENT), nodes("g9.xlarge", name="b"), GUEST), 0),
        ((nodes("g4dn.xlarge", labels=PRESENT), nodes(A100, name="b"), GUEST), 0),
        ((GUEST,), 0),
        # A node as it is, with its type, is judged by itself and once.
        ((nodes("g4dn.xlarge", provisioner="byHand", labels={LABEL: "all-1g.5gb"}),), 1),
        ((nodes("g4dn.xlarge", labels=PRESENT), nodes(
            name="b", instance_types=(), labels={LABEL: "all-1g.5gb"})), 0),
        ((nodes("g4dn.xlarge", labels=PRESENT), nodes(
            name="b", provisioner="byHand", instance_types=(), labels={LABEL: UNKNOWN})), 0),
        ((nodes("g4dn.xlarge", labels=PRESENT), nodes(
            name="b", provisioner="byHand", instance_types=(), labels={"a": "b"})), 0),
    ],
)  # fmt: skip
def test_a_layout_by_hand_is_held_against_all_nodes(items: tuple[Item, ...], count: int) -> None:
    found = said(mig.layouts, *items, operator(MIXED))

    assert [code for code, _ in found] == ["GPU1130"] * count


def test_each_declaration_is_told_of_once_and_of_its_first_problem() -> None:
    both = nodes("g5.xlarge", "g5.2xlarge", labels={LABEL: "all-1g.5gb"})
    devices = [item([0], {"1g.20gb": 1}), item([1], {"5g.5gb": 1})]

    assert len(problems(both, operator(MIXED))) == 2  # a message for each type
    assert len(problems(cut("odd"), *own(odd=devices))) == 1
    assert len(problems(booted("*=9:0,14:4", A100, A100), SINGLE)) == 1


def test_what_there_is_instead_is_listed() -> None:
    (none,) = problems(cut("halves"), *own())
    (two,) = problems(cut("halves"), *own(half=HALF, other=HALF))
    (keys,) = problems(nodes(), own()[0], config_map("layouts", {"a": "", "b": ""}))
    (no_key,) = problems(nodes(), own()[0], config_map("layouts", {}))

    assert none.message.endswith("=halves; MIG manager's ConfigMap has none.")
    assert two.message.endswith("=halves; MIG manager's ConfigMap has half, other.")
    assert keys.message == "The ConfigMap layouts has the keys a, b; MIG manager reads one."
    assert no_key.message == "The ConfigMap layouts has the keys none; MIG manager reads one."


@pytest.mark.parametrize(
    ("items", "complete", "found"),
    [
        ((cut("all-1g.5gb"),), True, ["GPU1132"]),
        ((cut("all-1g.5gb"),), False, []),
        ((cut("all-1g.5gb"), chart("dcgm-exporter")), False, []),
        ((cut("all-1g.5gb"), OF_PLUGIN), False, ["GPU1132"]),
        ((cut("all-1g.5gb"), OF_PLUGIN, MANAGER), True, []),
        ((cut("all-1g.5gb"), operator()), True, []),
        ((cut("all-disabled"), OF_PLUGIN), True, []),
        ((nodes(labels={LABEL: UNKNOWN}), OF_PLUGIN), True, []),
        ((nodes(labels=UNKNOWN), OF_PLUGIN), True, []),
        ((nodes(), own(half=HALF)[0], config_map(UNKNOWN, {})), True, []),
        ((nodes(), own(half=HALF)[0], config_map("layouts", UNKNOWN)), True, []),
        ((nodes(), operator(UNKNOWN)), True, []),
        ((nodes(), operator({"migManager": UNKNOWN})), True, ["?GPU1120"]),
        ((nodes(), operator({"migManager": {"config": {"name": UNKNOWN}}})), True, ["?GPU1120"]),
        ((nodes(), operator({"migManager": {"config": {"name": "a", "data": {}}}})), True, [
            "GPU1120"]),
        ((nodes(), operator({"migManager": {"config": {"name": "a", "data": {"b": ""}}}})), True,
            []),
    ],
)  # fmt: skip
def test_somebody_applies_the_label(
    items: tuple[Item, ...],
    complete: bool,
    found: list[str],
) -> None:
    assert [code for code, _ in said(mig.managers, *items, complete=complete)] == found


def _by_default(default: Any, **config: Any) -> Item:
    return operator({"migManager": {"config": {"default": default, **config}}})


@pytest.mark.parametrize(
    ("items", "listed"),
    [
        ((_by_default("x"),), "those that it makes of the GPUs"),
        ((_by_default("all_disabled"),), "those that it makes of the GPUs"),
        ((_by_default("halves", name="layouts"), own(half=HALF)[1]), "half"),
        ((_by_default("all-1g.5gb", name="layouts"), own(half=HALF, a=HALF)[1]), "a, half"),
        ((_by_default("half", name="layouts"), own()[1]), "none"),
    ],
)
def test_the_default_names_a_layout(items: tuple[Item, ...], listed: str) -> None:
    (found,) = problems(nodes(), *items, of=[mig.NO_LAYOUT])

    assert found.message.endswith(f"; its layouts are {listed}.")
    assert found.path[-3:] == ("migManager", "config", "default")
    assert 'set `migManager.config.default: ""`' in found.fix


@pytest.mark.parametrize(
    "items",
    [
        (_by_default("all-disabled"),),
        (_by_default("all-enabled"),),
        (_by_default("all-balanced"),),
        (_by_default("all-1g.5gb"),),
        (_by_default(""),),
        (_by_default(None),),
        (_by_default(UNKNOWN),),
        (_by_default("half", name="layouts"), own(half=HALF)[1]),
        (_by_default("all-disabled", name="layouts"), own(half=HALF)[1]),
        (_by_default("half", name="layouts"), config_map("layouts", UNKNOWN)),
        (_by_default("half", name=UNKNOWN),),
        (operator({"migManager": {"enabled": False, "config": {"default": "x"}}}),),
    ],
)
def test_a_default_that_is_there_or_not_to_be_seen(items: tuple[Item, ...]) -> None:
    assert problems(nodes(), *items, of=[mig.NO_LAYOUT]) == []


def test_of_values_alone_the_default_may_be_somebody_s_own() -> None:
    found = problems(nodes(), _by_default("half"), complete=False, of=[mig.NO_LAYOUT])

    assert found == []


def test_the_layouts_are_in_the_namespace_of_mig_manager() -> None:
    release, layouts = own(half=HALF)
    data = {"config.yaml": yaml.safe_dump({"mig-configs": {"half": HALF}})}
    elsewhere = config_map("layouts", data, namespace="default")

    (found,) = problems(nodes(), release, elsewhere)

    assert found.rule is configs.MAP_MISSING
    assert found.message == (
        "The Release gpu-operator is in the namespace kube-system, and the ConfigMap layouts of "
        "MIG manager in default. A pod reads ConfigMaps of its own namespace only."
    )
    assert found.fix == "Make the ConfigMap in the namespace kube-system."
    assert problems(nodes(), release, elsewhere, layouts) == []
    assert problems(nodes(), release, config_map("layouts", data, namespace=UNKNOWN)) == []


def test_the_operator_makes_one_map_itself() -> None:
    config = {"name": "default-mig-parted-config", "default": "all-disabled"}

    assert codes(nodes(), operator({"migManager": {"config": config}})) == []


@pytest.mark.parametrize(
    ("config", "default"),
    [({}, "all-disabled"), ({"default": "all-1g.5gb"}, "all-1g.5gb")],
)
def test_the_default_that_undoes_a_layout_is_named(config: Any, default: str) -> None:
    values = {**MIXED, "migManager": {"config": config}}
    (found,) = problems(booted("0=9:0,9:4 *=19:0"), operator(values))

    assert f" has the default {default} for nodes without the label" in found.message


def test_a_default_that_is_not_known_may_undo_it() -> None:
    values = {**MIXED, "migManager": {"config": {"default": UNKNOWN}}}
    two = (booted("0=9:0,9:4 *=19:0"), booted("*=19:0"))

    assert said(mig.undone, *two, operator(values)) == [
        ("?GPU1135", "MIG manager's default of the Release gpu-operator")
    ]
    away = nodes(A100, labels={"nvidia.com/gpu.deploy.operands": "false"}, user_data=(
        'MIG_LAYOUT="*=19:0"'))  # fmt: skip
    assert said(mig.undone, away, operator(MIXED)) == []
    assert said(mig.undone, booted(""), operator(MIXED)) == []
    many = booted("*=19:0", A100, "p4de.24xlarge")
    assert len(said(mig.undone, many, operator(MIXED))) == 1


def test_what_is_not_uniform_is_counted() -> None:
    half = operator({"migManager": {"config": {"name": "layouts"}}})
    (with_whole,) = problems(cut("half"), half, own(half=HALF)[1])
    (without,) = problems(cut("all-balanced"), operator())

    assert "several kinds (8 of 3g.20gb, and 4 whole GPUs), and" in with_whole.message
    assert "several kinds (8 of 3g.20gb, 8 of 2g.10gb, 16 of 1g.5gb), and" in without.message


def test_the_nodes_that_a_label_by_hand_may_be_for_are_named() -> None:
    pool = nodes("g4dn.xlarge", "g5.xlarge", labels=PRESENT)
    (found,) = problems(pool, GUEST, operator(MIXED))

    assert "the nodes with GPUs are g4dn.xlarge, g5.xlarge. The T4" in found.message
