"""What nodes offer to pods: by which configuration of the plugin, cut by MIG, and shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import GPU, PRESENT, chart, config_map, daemon_set, nodes, operator, plugin, pods

from eks_gpushare.catalog import Gpu, InstanceType, gpu_instance_types
from eks_gpushare.documents.device_plugin import PluginConfig
from eks_gpushare.inventory.advertised import (
    Offer,
    Offers,
    is_gpu_resource,
    lacks_for_ever,
    offers,
)
from eks_gpushare.inventory.daemons import daemons, may_be_more, role_of
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.mig_states import UNKNOWN_GPUS, mig_configs, mig_managers, mig_state
from eks_gpushare.inventory.nodes import NodeKind, gpu_nodes
from eks_gpushare.inventory.plugin_configs import (
    Configs,
    config_for,
    configs_of,
    find_map,
    mig_strategy,
    written_config,
)
from eks_gpushare.inventory.requests import gpu_workloads, is_misspelt, requests_of
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item, Release, Workload

SHARED = f"{GPU}.shared"
CONFIG = "nvidia.com/device-plugin.config"
SMALL = "nvidia.com/mig-1g.5gb"
A100 = nodes("p4d.24xlarge", labels=PRESENT)


def inventory(*given: Item, complete: bool = True) -> Inventory:
    return Inventory(given, complete)


def offer(*given: Item) -> Offer:
    (found,) = offers(inventory(*given), "").every
    return found


def sliced(replicas: int = 4, **more: Any) -> dict[str, Any]:
    block = {"resources": [{"name": GPU, "replicas": replicas}], **more}
    return {"version": "v1", "sharing": {"timeSlicing": block}}


def with_map(**documents: Any) -> dict[str, Any]:
    return {"config": {"map": documents}}


def labelled(name: Any, **more: Any) -> Item:
    return nodes("p4d.24xlarge", labels={**PRESENT, "nvidia.com/mig.config": name}, **more)


PLANNED = {"g5.xlarge": {GPU: 4, "vpc.amazonaws.com/efa": 1}}
MIXED = {"mig": {"strategy": "mixed"}}
BY_MPS = {"sharing": {"mps": {"resources": [{"name": GPU, "replicas": 2}]}}}
BOOT = 'MIG_LAYOUT="{}"\n'.format


@pytest.mark.parametrize(
    ("given", "resources"),
    [
        ((nodes(labels=PRESENT), plugin()), {GPU: 1}),
        ((nodes("g99.xlarge", labels=PRESENT), plugin()), {GPU: None}),
        ((nodes("g99.xlarge", labels=PRESENT), plugin(with_map(a=sliced()))), {GPU: None}),
        ((nodes(labels=PRESENT), plugin(with_map(a=sliced()))), {GPU: 4}),
        (
            (nodes("g5.12xlarge", labels=PRESENT), plugin(with_map(a=sliced()))),
            {GPU: 16},
        ),
        (
            (nodes(labels=PRESENT), plugin(with_map(a=sliced(renameByDefault=True)))),
            {SHARED: 4},
        ),
        ((nodes(labels=PRESENT), plugin(), chart("gpu-operator")), None),
        ((nodes(labels=PRESENT),), None),
        ((nodes(labels=PRESENT), plugin(UNKNOWN)), None),
        ((nodes(labels=PRESENT, advertised=PLANNED),), {GPU: 4}),
        ((nodes(labels=PRESENT, advertised={}),), {}),
        ((nodes("g99.xlarge", labels=PRESENT, advertised=PLANNED), plugin()), {GPU: None}),
        ((nodes(provisioner="autoMode"),), {GPU: 1}),
        # The operator is not for nodes that refuse its operands, the plugin's chart is.
        (
            (
                nodes(labels={**PRESENT, "nvidia.com/gpu.deploy.operands": "false"}),
                plugin(),
                operator(),
            ),
            {GPU: 1},
        ),
        ((labelled("all-disabled"), operator(MIXED)), {GPU: 8}),
        ((labelled("all-1g.5gb"), operator(MIXED)), {SMALL: 56}),
        ((labelled("all-1g.5gb"), operator()), {GPU: 56}),
        ((labelled("all-1g.5gb"), operator({"mig": {"strategy": "none"}})), {GPU: 8}),
        ((labelled("all-balanced"), operator()), {}),
        ((labelled("all-enabled"), operator()), {}),
        ((labelled("all-9g.99gb"), operator()), {}),
        ((labelled(UNKNOWN), operator()), None),
        ((labelled(UNKNOWN), operator({"mig": {"strategy": "none"}})), {GPU: 8}),
        ((labelled("all-1g.5gb"), plugin({"migStrategy": "mixed", **with_map(a=BY_MPS)})), {}),
        ((labelled("all-1g.5gb"), plugin(with_map(a=BY_MPS))), {GPU: 16}),
        ((A100, plugin({"migStrategy": "mixed", **with_map(a=BY_MPS)})), {GPU: 16}),
        (
            (
                nodes("p4d.24xlarge", labels=PRESENT, user_data=BOOT("0=19,19")),
                plugin({"migStrategy": "mixed"}),
            ),
            {GPU: 7, SMALL: 2},
        ),
        (
            (
                nodes("p4d.24xlarge", labels=PRESENT, user_data=BOOT("0=19")),
                plugin({"migStrategy": "single"}),
            ),
            {},
        ),
    ],
)
def test_nodes_offer_resources(given: tuple[Item, ...], resources: Any) -> None:
    assert offer(*given).resources == resources


def test_what_an_offer_has() -> None:
    (kind,) = gpu_nodes(inventory(nodes()), "")
    some = Offer(kind, {GPU: 0, SHARED: None, SMALL: 2}, UNKNOWN_GPUS)
    none = Offer(kind, None, UNKNOWN_GPUS)

    assert [some.has(each) for each in (GPU, SHARED, SMALL, "x")] == [False, True, True, False]
    assert none.has(GPU) is None
    assert Offers((none, some, some)).names() == (SHARED, SMALL)


@pytest.mark.parametrize(
    ("config", "shared"),
    [
        (None, [False, True]),
        (PluginConfig(), [False, False]),
        (PluginConfig(replicas={GPU: 1}), [False, False]),
        (PluginConfig(replicas={GPU: 2}), [True, True]),
        (PluginConfig(replicas={SMALL: 2}), [False, False]),
    ],
)
def test_pods_take_turns_on_shares(config: PluginConfig | None, shared: list[bool]) -> None:
    (kind,) = gpu_nodes(inventory(nodes()), "")
    given = Offer(kind, {}, UNKNOWN_GPUS, config)

    assert [given.is_shared(each) for each in (GPU, SHARED)] == shared


def test_resources_of_gpus_by_name() -> None:
    found = (GPU, SHARED, SMALL, "nvidia.com/gpus", "cpu")

    assert [is_gpu_resource(each) for each in found] == [True, True, True, False, False]
    assert [is_misspelt(each) for each in found] == [False, False, False, True, False]
    assert not is_misspelt("example.com/gpus")
    assert is_misspelt("nvidia.com/upg")
    assert is_misspelt("nvidia.com/gpu.share")
    assert not is_misspelt("nvidia.com/hostdev")
    assert not is_misspelt("nvidia.com/gp")  # four fifths alike, and no more


DOCUMENTS = {"a": sliced(2), "default": sliced(3)}


@pytest.mark.parametrize(
    ("config", "label", "replicas"),
    [
        ({"map": DOCUMENTS}, None, 3),
        ({"map": DOCUMENTS}, "a", 2),
        ({"map": DOCUMENTS, "default": "a"}, None, 2),
        ({"map": DOCUMENTS, "default": "a"}, "default", 3),
        ({"map": {"a": sliced(2)}}, None, 2),
        ({"map": {"a": sliced(2), "b": sliced(3)}}, None, "stops"),
        ({"map": {"a": sliced(2), "b": sliced(3)}, "fallbackStrategies": ["empty"]}, None, 0),
        ({"map": {"a": sliced(2)}, "fallbackStrategies": ["named"]}, None, "stops"),
        ({"map": {"a": sliced(2)}, "fallbackStrategies": ["named", "empty"]}, None, 0),
        ({"map": DOCUMENTS, "fallbackStrategies": ["single", "empty"]}, None, 0),
        ({"map": {"a": sliced(2)}, "fallbackStrategies": ["single"]}, None, 2),
        ({"map": {"a": sliced(2)}, "fallbackStrategies": [UNKNOWN]}, None, "stops"),
        ({"map": DOCUMENTS}, "none", "stops"),
        ({"map": DOCUMENTS, "default": "none"}, None, "stops"),
        ({"map": DOCUMENTS, "default": UNKNOWN}, None, "stops"),
        ({"map": DOCUMENTS, "default": UNKNOWN}, "a", 2),
        ({"map": DOCUMENTS}, UNKNOWN, "stops"),
        ({"map": {"a": UNKNOWN}}, "a", "stops"),
        ({"map": {"a": "version: v1\nflags: ["}}, "a", "stops"),
        ({"map": UNKNOWN}, "a", "stops"),
        ({"map": UNKNOWN}, None, "stops"),
        ({}, None, 0),
        ({}, "a", 0),
        (UNKNOWN, None, "stops"),
        ({"name": "own"}, None, 5),
        ({"name": "own"}, "b", 6),
        ({"name": "other"}, None, "stops"),
        ({"name": UNKNOWN}, None, "stops"),
        ({"name": UNKNOWN}, "b", "stops"),
    ],
)
def test_a_node_gets_one_configuration(config: Any, label: Any, replicas: Any) -> None:
    labels = {} if label is None else {CONFIG: label}
    own = config_map("own", {"default": sliced(5), "b": sliced(6)})
    found = offer(nodes(labels={**PRESENT, **labels}), plugin({"config": config}), own).config

    assert ("stops" if found is None else found.replicas.get(GPU, 0)) == replicas


def test_the_operator_falls_back_on_nothing() -> None:
    by_name = {"devicePlugin": {"config": {"name": "own"}}}
    given = {
        "devicePlugin": {"config": {"data": {"a": sliced(2)}, "fallbackStrategies": ["single"]}}
    }
    own = config_map("own", {"default": sliced(5)})

    for values, labels, expected in (
        (given, {}, {}),
        (given, {CONFIG: "a"}, {GPU: 2}),
        (by_name, {}, {}),
        (by_name, {CONFIG: "default"}, {GPU: 5}),
    ):
        config = offer(nodes(labels={**PRESENT, **labels}), operator(values), own).config
        assert config is not None
        assert dict(config.replicas) == expected


def test_keys_without_documents() -> None:
    release = plugin()
    unknown = Configs(release, "own", UNKNOWN, "", ("empty",))
    strategies = Configs(release, "own", {"default": 1}, "", UNKNOWN)

    assert unknown.key_without_label() is UNKNOWN
    assert strategies.key_without_label() is UNKNOWN
    assert Configs(release, "own", UNKNOWN, "a").key_without_label() == "a"


def test_a_configuration_that_is_not_there_is_none_for_a_key() -> None:
    (kind,) = gpu_nodes(inventory(nodes(labels={CONFIG: "a"})), "")

    assert config_for(Configs(plugin(), "own", UNKNOWN, ""), kind) is None
    found = configs_of(inventory(), plugin({"config": {"name": "own"}}))
    assert found is not None
    assert (found.map_name, found.documents, found.is_there) == ("own", UNKNOWN, True)
    found = configs_of(inventory(), plugin())
    assert found is not None
    assert (found.map_name, found.documents, found.is_there) == ("", {}, False)


@pytest.mark.parametrize(
    ("config", "name", "documents"),
    [
        ({"map": UNKNOWN, "name": "own"}, "own", {"a": "b"}),  # the chart refuses both
        ({"map": UNKNOWN, "name": UNKNOWN}, "", UNKNOWN),
        ({"map": UNKNOWN, "name": ""}, "", UNKNOWN),
        ({"map": UNKNOWN}, "", UNKNOWN),
        ({"map": {"c": "d"}, "name": "own"}, "", {"c": "d"}),
        ({"map": {}, "name": "own"}, "own", {"a": "b"}),
    ],
)
def test_where_configurations_are_said(config: Any, name: str, documents: Any) -> None:
    release = plugin({"config": config}, namespace="gpu")
    found = configs_of(inventory(config_map("own", {"a": "b"}, "gpu")), release)

    assert found is not None
    assert (found.map_name, found.documents) == (name, documents)


def test_data_that_the_operator_is_given_go_before_a_name() -> None:
    release = operator({"devicePlugin": {"config": {"data": UNKNOWN, "name": "own"}}})
    found = configs_of(inventory(), release)

    assert found is not None
    assert (found.map_name, found.documents) == ("", UNKNOWN)


def test_a_map_has_the_keys_of_all_of_its_name() -> None:
    base, overlay = config_map("own", {"a": "1"}, "gpu"), config_map("own", {"b": "2"}, UNKNOWN)
    release = plugin(namespace="gpu")

    found = find_map(inventory(base, overlay), release, "own")
    assert found is not None
    assert (found.namespace, found.data) == ("gpu", {"a": "1", "b": "2"})
    hidden = find_map(inventory(base, config_map("own", UNKNOWN, UNKNOWN)), release, "own")
    assert hidden is not None
    assert (hidden.namespace, hidden.data) == ("gpu", UNKNOWN)


@pytest.mark.parametrize(
    ("resources", "asks"),
    [
        ({"limits": {GPU: 1}}, True),
        ({"limits": {GPU: UNKNOWN}}, True),
        ({"limits": {GPU: 0}}, False),
        ({"limits": {GPU: "0"}, "requests": {GPU: "0"}}, False),
        ({"requests": {GPU: "0"}}, False),
        ({"limits": {GPU: 0}, "requests": {GPU: 1}}, True),
        ({"limits": {GPU: 0}, "requests": {GPU: UNKNOWN}}, True),
    ],
)
def test_a_pod_that_asks_for_0_asks_for_none(resources: Any, asks: bool) -> None:
    spec = {"containers": [{"name": "m", "image": "m", "resources": resources}]}
    found = list(gpu_workloads(inventory(pods(spec=spec)), ""))

    assert bool(found) is asks


@pytest.mark.parametrize(
    ("of_map", "of_release", "found"),
    [
        ("kube-system", "kube-system", True),
        ("default", "kube-system", False),
        (UNKNOWN, "kube-system", True),
        ("kube-system", UNKNOWN, True),
    ],
)
def test_a_map_is_of_the_releases_namespace(of_map: Any, of_release: Any, found: bool) -> None:
    maps = (config_map("x", {}, of_map), config_map("own", {"a": "b"}, of_map))
    release = plugin(namespace=of_release)

    assert find_map(inventory(*maps), release, "own") == (maps[1] if found else None)
    assert find_map(inventory(*maps), release, UNKNOWN) is None
    assert find_map(inventory(*maps), release, "other") is None


@pytest.mark.parametrize(
    ("release", "strategy"),
    [
        (plugin(), ""),
        (plugin({"migStrategy": "mixed"}), "mixed"),
        (plugin({"migStrategy": UNKNOWN}), UNKNOWN),
        (operator(), "single"),
        (operator(MIXED), "mixed"),
        (operator({"migStrategy": "mixed"}), "single"),
        (operator({"mig": UNKNOWN}), UNKNOWN),
        (operator({"mig": {"strategy": None}}), ""),
    ],
)
def test_values_say_a_strategy(release: Release, strategy: Any) -> None:
    assert mig_strategy(release) == strategy


def test_values_go_over_a_document() -> None:
    document = {**sliced(), "flags": {"migStrategy": "single"}}
    lists = {"deviceListStrategy": "volume-mounts"}
    plain = offer(nodes(labels=PRESENT), plugin(with_map(a=document))).config
    over = offer(
        nodes(labels=PRESENT), plugin({**with_map(a=document), "migStrategy": "mixed", **lists})
    ).config

    assert plain is not None
    assert over is not None
    assert (plain.mig_strategy, plain.device_lists) == ("single", ())
    assert (over.mig_strategy, over.device_lists) == ("mixed", ("volume-mounts",))
    assert over.replicas == plain.replicas
    unknown = plugin({**with_map(a=document), "deviceListStrategy": UNKNOWN})
    assert offer(nodes(labels=PRESENT), unknown).config is None


IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
TEXT = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}"
MAPS = (
    config_map("other", {"c.yaml": "version: v2"}),
    config_map("own", {"c.yaml": TEXT, "k": TEXT}),
)
VOLUME = {"name": "v", "configMap": {"name": "own"}}


def written(*volumes: Any, mounts: Any = None, **container: Any) -> Workload:
    given = {"name": "main", "image": IMAGE, "volumeMounts": mounts or [], **container}
    return daemon_set(IMAGE, containers=[given], volumes=list(volumes))


MOUNT = {"name": "v", "mountPath": "/etc/own/"}
FILE = {"args": ["--config-file=/etc/own/c.yaml"]}


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (written(), ("none", 0)),
        (written(args=["--mig-strategy=mixed"]), ("mixed", 0)),
        (written(args=["--mig-strategy", "mixed"]), ("mixed", 0)),
        (written(args=["--mig-strategy"]), ("none", 0)),
        (written(args=["-mig-strategy=mixed", 5]), ("none", 0)),
        (written(args=["xxmig-strategy=mixed"]), ("none", 0)),
        (written(args=[UNKNOWN, "--mig-strategy=mixed"]), ("mixed", 0)),
        (written(command=["--mig-strategy=mixed"]), ("mixed", 0)),
        (written(env=[{"name": "MIG_STRATEGY", "value": "single"}]), ("single", 0)),
        (
            written(
                env=[{"name": "MIG_STRATEGY", "value": "single"}], args=["--mig-strategy=mixed"]
            ),
            ("mixed", 0),
        ),
        (written(env=[{"name": "MIG_STRATEGY", "value": UNKNOWN}]), None),
        (written(VOLUME, mounts=[MOUNT], **FILE), ("none", 3)),
        (written({"name": "x"}, VOLUME, mounts=[{"name": "x"}, MOUNT], **FILE), ("none", 3)),
        (written(VOLUME, mounts=[{**MOUNT, "mountPath": "/etc/own"}], **FILE), ("none", 3)),
        (written(VOLUME, mounts=[{**MOUNT, "mountPath": "/etc"}], **FILE), None),
        (written({**VOLUME, "name": "x"}, mounts=[MOUNT], **FILE), None),
        (
            written(
                VOLUME,
                mounts=[{"name": "v", "mountPath": "/etc/own/c.yaml", "subPath": "k"}],
                **FILE,
            ),
            ("none", 3),
        ),
        (
            written(
                {
                    "name": "v",
                    "configMap": {
                        "name": "own",
                        "items": [
                            {"key": "x", "path": "y"},
                            {"key": "k", "path": "c.yaml"},
                            {"key": "x", "path": "k"},
                        ],
                    },
                },
                mounts=[MOUNT],
                **FILE,
            ),
            ("none", 3),
        ),
        (written({"name": "v", "configMap": {"name": "none"}}, mounts=[MOUNT], **FILE), None),
        (written({"name": "v", "configMap": {"name": "other"}}, mounts=[MOUNT], **FILE), None),
        (daemon_set(IMAGE, containers=[]), None),
    ],
)
def test_a_plugin_written_out_goes_by_its_arguments(workload: Workload, expected: Any) -> None:
    found = written_config(inventory(*MAPS), workload, NodeKind(nodes("g6.xlarge"), None))

    assert (found and (found.mig_strategy, found.replicas.get(GPU, 0))) == expected


def state(*given: Item, complete: bool = True) -> Any:
    every = inventory(*given, complete=complete)
    (kind,) = (each for each in gpu_nodes(every, "") if not each.is_partial)
    found = mig_state(every, kind)
    return found.by, found.instances, found.whole, bool(found.problems), found.is_known_name


def parted(config: Any) -> Item:
    data = {"config.yaml": {"version": "v1", "mig-configs": {"own": config}}}
    return operator({"migManager": {"config": {"data": data}}})


ALL = {"devices": "all", "mig-enabled": True, "mig-devices": {"1g.5gb": 7}}
_PROFILES = "settings.kubelet-device-plugins.nvidia.mig.profile"
ROCKET = nodes("p4d.24xlarge", ami="BOTTLEROCKET_x86_64_NVIDIA")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((A100,), ("nobody", {}, 8, False, True)),
        ((nodes("g99.xlarge"),), ("nobody", {}, None, False, True)),
        ((nodes("p4d.24xlarge", labels=UNKNOWN),), ("nobody", None, None, False, True)),
        ((nodes("p4d.24xlarge", user_data=UNKNOWN),), ("nobody", None, None, False, True)),
        ((labelled(UNKNOWN),), ("nobody", None, None, False, True)),
        (
            (
                A100,
                nodes(
                    provisioner="byHand",
                    instance_types=(),
                    labels={"nvidia.com/mig.config": "all-1g.5gb"},
                ),
            ),
            ("nobody", None, None, False, True),
        ),
        (
            (nodes("p4d.24xlarge", user_data="nvidia-smi  mig -cgi 19"),),
            ("boot", {"1g.5gb": 8}, 0, False, True),
        ),
        (
            (nodes("p4d.24xlarge", user_data="nvidia-smi mig -cgi 19,99"),),
            ("boot", None, None, True, True),
        ),
        (
            (nodes("p4d.24xlarge", user_data="if x; then nvidia-smi mig -cgi 19; fi"),),
            ("boot", None, None, False, True),
        ),
        (
            (nodes("p4d.24xlarge", user_data="nvidia-smi -q"),),
            ("nobody", {}, 8, False, True),
        ),
        (
            (nodes("p4d.24xlarge", user_data=BOOT("*=19:0,19:1,14:2")),),
            ("boot", {"1g.5gb": 16, "2g.10gb": 8}, 0, False, True),
        ),
        (
            (nodes("p4d.24xlarge", user_data=BOOT("0= *=9,9")),),
            ("boot", {"3g.20gb": 14}, 1, False, True),
        ),
        ((nodes("p4d.24xlarge", user_data=BOOT("")),), ("boot", {}, 8, False, True)),
        (
            (nodes("g99.xlarge", user_data=BOOT("*=19")),),
            ("boot", None, None, False, True),
        ),
        (
            (nodes("p4d.24xlarge", user_data=BOOT("*=99")),),
            ("boot", None, None, True, True),
        ),
        ((labelled("all-disabled"),), ("label", {}, 8, False, True)),
        ((labelled("all-enabled"),), ("label", {}, 0, False, True)),
        ((labelled("all-1g.5gb"),), ("label", {"1g.5gb": 56}, 0, False, True)),
        ((labelled("own"),), ("label", None, None, True, True)),
        (
            (labelled("own"), operator({"migManager": {"config": {"name": "none"}}})),
            ("label", None, None, False, None),
        ),
        (
            (labelled("own"), operator({"migManager": {"config": UNKNOWN}})),
            ("label", None, None, False, None),
        ),
        ((labelled("none"), parted([ALL])), ("label", None, None, False, False)),
        ((labelled("own"), parted([ALL])), ("label", {"1g.5gb": 56}, 0, False, True)),
        ((labelled("own"), parted([])), ("label", {}, 8, False, True)),
        (
            (labelled("own"), parted([{**ALL, "mig-enabled": False}])),
            ("label", {}, 8, False, True),
        ),
        (
            (labelled("own"), parted([{**ALL, "devices": [0, 7, 8, -1, "1"]}])),
            ("label", {"1g.5gb": 14}, 6, False, True),
        ),
        (
            (
                labelled("own"),
                parted([ALL, {**ALL, "devices": [0], "mig-devices": {"7g.40gb": 1}}]),
            ),
            ("label", {"1g.5gb": 49, "7g.40gb": 1}, 0, False, True),
        ),
        (
            (labelled("own"), parted([{**ALL, "mig-devices": {"1g.5gb": 1, "2g.10gb": 0}}])),
            ("label", {"1g.5gb": 8}, 0, False, True),
        ),
        (
            (labelled("own"), parted([{**ALL, "mig-devices": {"1g.5gb": "1"}}])),
            ("label", {}, 8, False, True),
        ),
        (
            (labelled("own"), parted([{**ALL, "device-filter": ["0x20B010DE"]}])),
            ("label", {"1g.5gb": 56}, 0, False, True),
        ),
        (
            (labelled("own"), parted([{**ALL, "device-filter": "0x20b010de:0x1"}])),
            ("label", {"1g.5gb": 56}, 0, False, True),
        ),
        (
            (labelled("own"), parted([{**ALL, "device-filter": ["0x233010DE"]}])),
            ("label", {}, 8, False, True),
        ),
        ((ROCKET,), ("bottlerocket", {"7g.40gb": 8}, 0, False, True)),
        *(
            (
                (
                    nodes(
                        "p4d.24xlarge",
                        ami="BOTTLEROCKET_x86_64_NVIDIA",
                        user_data=f'[{_PROFILES}]\n"a100.40gb" = "{given}"',
                    ),
                ),
                ("bottlerocket", {profile: count * 8}, 0, False, True),
            )
            for given, profile, count in (
                ("3g.20gb", "3g.20gb", 2),
                ("7", "1g.5gb", 7),
                ("other", "7g.40gb", 1),
            )
        ),
        (
            (nodes(ami="BOTTLEROCKET_x86_64_NVIDIA"),),
            ("bottlerocket", {}, 1, False, True),
        ),
        (
            (nodes("g99.xlarge", ami="BOTTLEROCKET_x86_64_NVIDIA"),),
            ("bottlerocket", {}, None, False, True),
        ),
        (
            (nodes("p4d.24xlarge", ami="BOTTLEROCKET_x86_64_NVIDIA", user_data=UNKNOWN),),
            ("bottlerocket", None, None, False, True),
        ),
    ],
)
def test_what_gpus_are_cut_into(given: tuple[Item, ...], expected: Any) -> None:
    assert state(*given) == expected


def test_of_files_a_layout_may_be_in_a_map_that_is_not_here() -> None:
    assert state(labelled("own"), complete=False) == ("label", None, None, False, None)
    named = ("label", {"1g.5gb": 56}, 0, False, True)
    assert state(labelled("all-1g.5gb"), complete=False) == named


@pytest.mark.parametrize(
    ("values", "is_on"),
    [
        ({}, True),
        ({"migManager": {"enabled": True}}, True),
        ({"migManager": {"enabled": False}}, False),
        ({"migManager": {"enabled": "false"}}, True),
        ({"migManager": {"enabled": UNKNOWN}}, True),
        (UNKNOWN, True),
    ],
)
def test_mig_manager_is_on_by_default(values: Any, is_on: bool) -> None:
    assert bool(mig_managers(inventory(plugin(), operator(values)), "")) is is_on


LAYOUTS: dict[str, Any] = {"mig-configs": {"own": []}}


@pytest.mark.parametrize(
    ("config", "found"),
    [
        (None, None),
        ({"data": {"config.yaml": LAYOUTS}}, {"own": []}),
        ({"data": {"config.yaml": "mig-configs: {own: []}"}}, {"own": []}),
        ({"data": "mig-configs: {own: []}"}, {"own": []}),
        ({"data": "mig-configs: ["}, UNKNOWN),
        ({"data": "mig-configs: []"}, UNKNOWN),
        ({"data": UNKNOWN}, UNKNOWN),
        ({"name": "own"}, {"own": []}),
        ({"name": "other"}, UNKNOWN),
        ({"name": UNKNOWN}, UNKNOWN),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_layouts_are_in_values_or_a_map(config: Any, found: Any) -> None:
    maps = config_map("x", {}), config_map("own", {"config.yaml": LAYOUTS})
    release = operator({"migManager": {"config": config}})

    assert mig_configs(inventory(release, *maps), "") == found
    assert mig_configs(inventory(operator(UNKNOWN)), "") is UNKNOWN
    assert mig_configs(inventory(), "") is None


@pytest.mark.parametrize(
    ("container", "role"),
    [
        ({"image": "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}, "plugin"),
        ({"image": f"k8s-device-plugin@sha256:{'0' * 64}"}, "plugin"),
        ({"image": "app", "command": ["/usr/bin/nvidia-device-plugin"]}, "plugin"),
        ({"image": "app", "args": ["nfd-worker"]}, "nfd"),
        ({"image": "k8s-device-plugin", "command": ["mps-control-daemon"]}, "mps"),
        ({"image": "my-k8s-device-plugin"}, None),
        ({"image": "k8s-device-plugin/other"}, None),
        ({"image": UNKNOWN}, None),
    ],
)
def test_programs_say_what_a_pod_does(container: Any, role: str | None) -> None:
    assert role_of({"containers": [{"image": "busybox"}, container]}) == role


@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("DaemonSet", {"containers": UNKNOWN}, True),
        ("DaemonSet", {"containers": [{"image": "app"}, {"image": UNKNOWN}]}, True),
        ("DaemonSet", {"containers": [{"image": "app"}]}, False),
        ("DaemonSet", {"containers": [{"image": IMAGE}, {"image": UNKNOWN}]}, False),
        ("Deployment", {"containers": UNKNOWN}, False),
        ("DaemonSet", UNKNOWN, True),
    ],
)
def test_an_image_that_is_not_known_may_be_a_plugin(kind: str, spec: Any, more: bool) -> None:
    assert may_be_more(inventory(pods(kind=kind, spec=spec)), "") is more


@pytest.mark.parametrize(
    ("values", "is_on"),
    [
        ({}, False),
        ({"gfd": {"enabled": True}}, True),
        ({"gfd": {"enabled": "false"}}, True),
        ({"gfd": {"enabled": UNKNOWN}}, None),
        (UNKNOWN, None),
    ],
)
def test_a_chart_has_a_daemon_set_or_not(values: Any, is_on: bool | None) -> None:
    found = [
        each.is_on for each in daemons(inventory(plugin(values)), "") if each.role == "discovery"
    ]

    assert found == ([] if is_on is False else [is_on])


REQUIRED = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")


def nested(value: Any, *path: str) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


@pytest.mark.parametrize(
    ("values", "part", "expected"),
    [
        (nested(None, "affinity"), "affinity", {}),
        (nested(None, "affinity", *REQUIRED[:1]), "affinity", {}),
        (nested(None, "affinity", *REQUIRED[:2]), "affinity", {}),
        (nested(None, "affinity", *REQUIRED), "affinity", {}),
        (nested(UNKNOWN, "affinity"), "affinity", UNKNOWN),
        (nested(["x"], "affinity", *REQUIRED), "affinity", nested(["x"], *REQUIRED)),
        ({"nodeSelector": {"a": "b"}}, "nodeSelector", {"a": "b"}),
        ({"nodeSelector": UNKNOWN}, "nodeSelector", UNKNOWN),
        ({"nodeSelector": "x"}, "nodeSelector", {}),
        ({"tolerations": UNKNOWN}, "tolerations", UNKNOWN),
        ({"tolerations": None}, "tolerations", []),
        ({"tolerations": [1]}, "tolerations", [1]),
    ],
)
def test_values_go_over_what_a_chart_has(values: Any, part: str, expected: Any) -> None:
    (found,) = (each for each in daemons(inventory(plugin(values)), "") if each.role == "plugin")

    assert found.spec[part] == expected


def test_daemon_sets_written_out_run_programs() -> None:
    other = pods(spec={"containers": [{"image": IMAGE}]})
    found = daemons(inventory(daemon_set(IMAGE), daemon_set("app"), other), "")

    assert [(each.role, each.chart, each.of_operator) for each in found] == [
        ("plugin", None, False)
    ]
    assert found[0].place == ("spec", "template", "spec", "tolerations")


def test_the_operators_operands_are_told_from_its_nfd() -> None:
    found = daemons(inventory(operator(), plugin()), "")

    assert {(each.chart, each.role): each.of_operator for each in found} == {
        **dict.fromkeys((("gpu-operator", role) for role in _ROLES), True),
        ("gpu-operator", "nfd"): False,
        ("nvidia-device-plugin", "plugin"): False,
        ("nvidia-device-plugin", "mps"): False,
    }


_ROLES = ("plugin", "discovery", "mps", "migManager", "exporter")


@pytest.mark.parametrize(
    ("release", "kept"),
    [
        (plugin({}), True),
        (plugin({"tolerations": []}), False),
        (plugin({"tolerations": [1]}), False),
        (operator({}), True),
        (operator({"daemonsets": {"tolerations": []}}), True),
        (operator({"daemonsets": {"tolerations": [1]}}), False),
    ],
)
def test_a_list_takes_the_place_of_the_charts_own(release: Release, kept: bool) -> None:
    found = next(each for each in daemons(inventory(release), "") if each.role == "plugin")

    assert (
        {"key": GPU, "operator": "Exists", "effect": "NoSchedule"} in found.spec["tolerations"]
    ) is kept


def test_requests_say_what_is_not_known() -> None:
    resources = {"limits": {GPU: 1, "nvidia.com/gpus": 2, "cpu": 1}, "requests": {SHARED: 3}}
    found = requests_of(pods(spec={"containers": [{"name": "a", "resources": resources}]}))
    shown = [(each.resource, each.request, each.limit, each.amount) for each in found]
    first, *_ = requests_of(pods(spec={"containers": [{"resources": {"limits": {GPU: 1}}}]}))
    unknown = {"limits": {GPU: 1}, "requests": UNKNOWN}
    (hidden,) = requests_of(pods(spec={"containers": [{"resources": unknown}]}))

    assert shown == [(GPU, None, 1, 1), ("nvidia.com/gpus", None, 2, 2), (SHARED, 3, None, 3)]
    assert (first.container, first.place[-5:]) == (
        "0",
        ("containers", 0, "resources", "limits", GPU),
    )
    assert (hidden.request, hidden.limit) == (UNKNOWN, 1)


def test_who_makes_gpus_known_is_no_workload() -> None:
    limited = {"containers": [{"name": "a", "image": IMAGE, "resources": {"limits": {GPU: 1}}}]}
    given = (
        pods({GPU: 1}),
        pods({"cpu": 1}),
        pods(kind="DaemonSet", spec=limited),
        pods({GPU: 1}, kind="DaemonSet"),
        pods(spec=limited),
    )

    found = [each for each, _ in gpu_workloads(inventory(*given), "")]

    assert found == [given[0], given[3], given[4]]


NEW = InstanceType(
    "g9.xlarge", 4, 16384, "amd64", Gpu("L9", 49152, "rubin", (13, 0), mig_capable=True), 1
)


@pytest.mark.parametrize(
    ("found", "resource", "lacks"),
    [
        (gpu_instance_types()["p4d.24xlarge"], "nvidia.com/mig-1g.5gb", False),
        (gpu_instance_types()["p4d.24xlarge"], "nvidia.com/mig-1g.20gb", True),
        (gpu_instance_types()["g6.xlarge"], "nvidia.com/mig-1g.5gb", True),
        (gpu_instance_types()["g6.xlarge"], GPU, False),
        (None, "nvidia.com/mig-1g.5gb", False),
        (NEW, "nvidia.com/mig-1g.5gb", False),  # whose MIG devices nobody knows
    ],
)
def test_what_gpus_cannot_be_cut_into(
    found: InstanceType | None, resource: str, lacks: bool
) -> None:
    assert lacks_for_ever(NodeKind(nodes("g6.xlarge"), found), resource) is lacks
