"""From plain data to an environment: strict, with every fault at its own place."""

from __future__ import annotations

import copy
from typing import Any, get_args, get_origin

import pytest
from pydantic import Tag

from eks_gpushare.config.models import known_keys, models
from eks_gpushare.rules import check_environment
from eks_gpushare.validation.parse import Parsed, parse
from eks_gpushare.validation.shape import TAGS

BASE: dict[str, Any] = {
    "cluster": {"name": "demo", "version": "1.35"},
    "pools": {"gpu": {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "exclusive"}}},
}


def environment(at: str, value: object) -> dict[str, Any]:
    """The base with a value at a dotted place, blocks made on the way."""
    result = copy.deepcopy(BASE)
    node = result
    *blocks, key = at.split(".")
    for block in blocks:
        node = node.setdefault(block, {})
    node[key] = value
    return result


def faults(raw: object) -> list[str]:
    return [str(found).removeprefix("error ") for found in parse(raw).findings]


def with_value(at: str, value: object) -> list[str]:
    return faults(environment(at, value))


def sharing(**keys: object) -> list[str]:
    return with_value("pools.gpu.sharing", keys)


def test_the_base_is_right() -> None:
    assert faults(BASE) == []


def test_a_whole_float_is_a_whole_number() -> None:
    assert sharing(mode="timeSlicing", replicas=4.0) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (4.5, "4.5 is a number; a whole number is expected. Give a whole number."),
        (True, "true is a boolean; a whole number is expected. Give a whole number."),
        ("4", '"4" is text; a whole number is expected. Write 4, without quotes.'),
        ("-4", '"-4" is text; a whole number is expected. Write -4, without quotes.'),
        ("four", '"four" is text; a whole number is expected. Give a whole number.'),
        ([4], "[4] is a list; a whole number is expected. Give a whole number."),
        ({}, "{} is a mapping; a whole number is expected. Give a whole number."),
        (
            None,
            "Nothing is given; a whole number is expected. Give a whole number, or remove the key.",
        ),
    ],
)
def test_what_is_no_whole_number_is_refused(given: object, message: str) -> None:
    assert sharing(mode="timeSlicing", replicas=given) == [
        f"GPU005 pools.gpu.sharing.replicas: {message}"
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("true", '"true" is text; true or false is expected. Write true or false, without quotes.'),
        ("yes", '"yes" is text; true or false is expected. Write true or false; yes is text here.'),
        ("Off", '"Off" is text; true or false is expected. Write true or false; Off is text here.'),
        ("enabled", '"enabled" is text; true or false is expected. Write true or false.'),
        (1, "1 is a number; true or false is expected. Give true or false."),
    ],
)
def test_what_is_neither_true_nor_false_is_refused(given: object, message: str) -> None:
    assert with_value("pools.gpu.efa", given) == [f"GPU005 pools.gpu.efa: {message}"]


@pytest.mark.parametrize(("given", "quoted"), [(True, '"true"'), (12, '"12"'), (1.5, '"1.5"')])
def test_text_that_yaml_reads_as_something_else_is_to_be_quoted(given: object, quoted: str) -> None:
    [fault] = with_value("tags.team", given)

    assert fault.endswith(f"text is expected. Quote it: {quoted}.")


def test_a_taint_value_of_true_is_to_be_quoted() -> None:
    taint = {"key": "nvidia.com/gpu", "value": True, "effect": "NoSchedule"}

    assert with_value("pools.gpu.taints", [taint]) == [
        'GPU005 pools.gpu.taints[0].value: true is a boolean; text is expected. Quote it: "true".'
    ]


def test_text_in_place_of_a_list_is_to_be_put_into_brackets() -> None:
    assert with_value("pools.gpu.instanceTypes", "g5.xlarge") == [
        (
            'GPU005 pools.gpu.instanceTypes: "g5.xlarge" is text; a list is expected. Write '
            "[g5.xlarge]."
        )
    ]


def test_a_list_in_quotes_is_not_put_into_brackets_again() -> None:
    assert with_value("pools.gpu.instanceTypes", "[g5.xlarge]") == [
        (
            'GPU005 pools.gpu.instanceTypes: "[g5.xlarge]" is text; a list is expected. Write '
            "[g5.xlarge], without quotes."
        )
    ]


def test_a_version_that_is_a_number_is_to_be_quoted() -> None:
    assert with_value("cluster.version", 1.3) == [
        (
            "GPU007 cluster.version: This is the number 1.3; a version is text. Put quotes around "
            "the version as you mean it: without them, version: 1.30 is 1.3."
        )
    ]


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("chart", "chart is not a key of this block. Did you mean charts?"),
        ("cluster.nmae", "nmae is not a key of this block. Did you mean name?"),
        (
            "cluster.endpoint.publicCidr",
            ("publicCidr is not a key of this block. Did you mean publicCidrs?"),
        ),
        ("network.natGateway", "natGateway is not a key of this block. Did you mean natGateways?"),
        (
            "pools.gpu.instance_types",
            ("instance_types is not a key of this block. Did you mean instanceTypes?"),
        ),
        (
            "pools.gpu.nodes.size",
            ("size is not a key of this block. Remove it; the keys here are min, desired, max."),
        ),
        (
            "pools.gpu.sharing.replicas",
            ("replicas is not a key of this block. Remove it; the keys here are mode."),
        ),
        (
            "charts.devicePlugin.url",
            (
                "url is not a key of this block. Remove it; the keys here are "
                "version, repository, path, values, "
                "timeoutSeconds."
            ),
        ),
        ("gpuStack.manger", "manger is not a key of this block. Did you mean manager?"),
    ],
)
def test_an_unknown_key_is_refused_at_every_depth(at: str, message: str) -> None:
    assert with_value(at, {"x": 1})[0] == f"GPU003 {at}: {message}"


def test_python_names_are_not_those_of_the_file() -> None:
    assert with_value("pools.gpu.ami_family", "al2023") == [
        (
            "GPU003 pools.gpu.ami_family: ami_family is not a key of this block. Did you mean "
            "amiFamily?"
        )
    ]


@pytest.mark.parametrize("given", ["time-slicing", "timeslicing", "TIME_SLICING", "timeSlicng"])
def test_a_mode_written_otherwise_is_recognised(given: str) -> None:
    assert sharing(mode=given, replicas=2) == [
        (
            f'GPU006 pools.gpu.sharing.mode: "{given}" is not one of exclusive, timeSlicing, mps, '
            "mig. Write timeSlicing."
        )
    ]


def test_sharing_without_a_mode_lists_the_modes() -> None:
    assert sharing(replicas=2) == [
        (
            "GPU004 pools.gpu.sharing.mode: mode is required here. Add mode: one of exclusive, "
            "timeSlicing, mps, mig."
        )
    ]


def test_a_mode_that_is_a_number_is_refused() -> None:
    assert sharing(mode=1) == [
        'GPU005 pools.gpu.sharing.mode: 1 is a number; text is expected. Quote it: "1".'
    ]


def test_a_hop_limit_of_three_is_refused() -> None:
    assert with_value("pools.gpu.metadataHopLimit", 3) == [
        "GPU006 pools.gpu.metadataHopLimit: 3 is not one of 1, 2. Use one of them."
    ]


def test_a_hop_limit_of_true_is_refused() -> None:
    assert with_value("pools.gpu.metadataHopLimit", value=True) == [
        (
            "GPU005 pools.gpu.metadataHopLimit: true is a boolean; a whole number is expected. "
            "Give a whole number."
        )
    ]


def test_what_is_required_is_missed() -> None:
    assert faults({}) == [
        "GPU004 cluster: cluster is required here. Add cluster.",
        "GPU004 pools: pools is required here. Add pools.",
    ]


@pytest.mark.parametrize("raw", [None, [], "x", 3, True])
def test_what_is_no_mapping_is_refused(raw: object) -> None:
    assert faults(raw) == ["GPU005 The environment is not a mapping. Give cluster and pools."]


def test_new_and_existing_cluster_are_one_fault() -> None:
    assert with_value("cluster.existing", {"name": "other"}) == [
        (
            "GPU011 cluster.existing: existing stands beside name, version, as if a cluster were "
            "to be made. Keep existing alone to use a cluster that is there, or remove it to make "
            "one."
        )
    ]


def test_new_and_existing_network_are_one_fault() -> None:
    raw = environment("network", {"cidr": "10.0.0.0/16", "vpcId": "vpc-1", "privateSubnetIds": []})

    assert faults(raw) == [
        (
            "GPU011 network.cidr: cidr would be for a network to be made, privateSubnetIds, vpcId "
            "for one that is there. Keep one or the other."
        )
    ]


WRONG: list[tuple[str, object]] = [
    ("cluster", 1),
    ("cluster", {"existing": 1}),
    ("cluster", {"existing": {"name": 1}}),
    ("cluster", {"existing": {"kubeconfig": 1}}),
    ("cluster.version", 1),
    ("network", 1),
    ("network", {"zones": "a"}),
    ("network", {"zones": [1]}),
    ("network", {"vpcId": 1}),
    ("pools", 1),
    ("pools.gpu", 1),
    ("pools.gpu.sharing", 1),
    ("pools.gpu.sharing", {"mode": "x"}),
    ("pools.gpu.sharing", {"mode": "mps"}),
    ("pools.gpu.sharing", {"mode": "mig"}),
    ("pools.gpu.sharing", {"mode": "mig", "layout": 1}),
    ("pools.gpu.sharing", {"mode": "mig", "layout": {"1g.5gb": "7"}}),
    ("pools.gpu.sharing", {"mode": "mig", "layout": [{"gpus": [0], "devices": 1}]}),
    ("pools.gpu.taints", [{"key": 1}]),
]


@pytest.mark.parametrize(("at", "value"), WRONG)
def test_no_tag_of_a_union_stands_in_a_path(at: str, value: object) -> None:
    found = parse(environment(at, value)).findings

    assert found
    assert not [f.path for f in found if "<" in f.path]


@pytest.mark.parametrize(("at", "value"), WRONG)
def test_a_wrong_part_does_not_hide_another(at: str, value: object) -> None:
    raw = environment(at, value)
    raw["tags"] = {"aws:x": "y"}
    parsed = parse(raw)

    assert parsed.environment is not None
    assert "GPU310" in codes_of_rules(parsed)


def codes_of_rules(parsed: Parsed) -> set[str]:
    assert parsed.environment is not None
    found = check_environment(
        parsed.environment, region="us-west-2", partly_read=bool(parsed.findings)
    )
    return {each.code for each in found}


@pytest.mark.parametrize(("at", "value"), WRONG)
def test_nothing_is_said_about_what_could_not_be_read(at: str, value: object) -> None:
    raw = environment(at, value)
    if at == "pools.gpu.sharing":  # what these have is MIG in part
        raw["pools"]["gpu"]["instanceTypes"] = ["p4d.24xlarge"]

    assert codes_of_rules(parse(raw)) == set()


@pytest.mark.parametrize(
    ("at", "value", "raw"),
    [
        ("pools.gpu.capacityType", "resreved", {"reservation": {"id": "cr-1"}}),
        (
            "pools.gpu.amiFamily",
            "custm",
            {"customAmi": {"id": "ami-01234567", "family": "al2023", "driverIncluded": True}},
        ),
        ("pools.gpu.provisioner", "karpentr", {"instanceTypes": ["g5.xlarge", "g5.12xlarge"]}),
        ("network", {"vpcId": 1}, {"subnetIds": ["subnet-07c1f29d6e4b8a35d"]}),
        ("network", {"zones": "a"}, {"zones": ["us-west-2d"]}),
    ],
)
def test_no_rule_judges_by_a_default_that_nobody_asked_for(
    at: str, value: object, raw: dict[str, Any]
) -> None:
    given = environment(at, value)
    given["pools"]["gpu"] |= raw

    assert codes_of_rules(parse(given)) == set()


def test_a_wrong_instance_type_leaves_the_rest_of_its_pool_to_the_rules() -> None:
    raw = environment(
        "pools.gpu",
        {
            "instanceTypes": "g5.xlarge",
            "labels": {"a b": ""},
            "sharing": {"mode": "timeSlicing", "replicas": 1},
        },
    )

    assert codes_of_rules(parse(raw)) == {"GPU201", "GPU302"}


def test_a_wrong_version_leaves_the_rest_of_the_cluster_to_the_rules() -> None:
    raw = environment("cluster", {"name": "a b", "version": 1.3, "endpoint": {"public": True}})

    assert codes_of_rules(parse(raw)) == {"GPU308", "GPU608"}


def test_what_was_given_is_not_changed() -> None:
    raw = environment("cluster.existing", {"name": 4.0})
    before = copy.deepcopy(raw)
    parse(raw)

    assert raw == before


def test_an_environment_does_not_change_any_more() -> None:
    found = parse(BASE).environment

    assert found is not None
    with pytest.raises(ValueError, match="frozen"):
        found.tags = {}  # type: ignore[misc]


def test_keys_of_every_block_are_known() -> None:
    assert {"cluster", "replicas", "memoryMiB", "rootVolumeGiB", "natGateways"} <= known_keys()


def tags_of(annotation: object) -> set[str]:
    found = {each.tag for each in get_args(annotation) if isinstance(each, Tag)}
    for inner in get_args(annotation):
        if get_origin(inner) is not None:
            found |= tags_of(inner)
    return found


def test_every_tag_of_a_union_is_left_out_of_paths() -> None:
    fields = [info for model in models() for info in model.model_fields.values()]

    assert set().union(*(tags_of(info.annotation) for info in fields)) == TAGS


@pytest.mark.parametrize("key", [1, None, True])
@pytest.mark.parametrize("block", ["cluster", "network", "pools.gpu", "pools.gpu.nodes"])
def test_a_key_that_is_no_text_is_a_finding(block: str, key: object) -> None:
    pool = {"instanceTypes": ["g5.xlarge"], "nodes": {}, "sharing": {"mode": "exclusive"}}
    given: dict[Any, Any] = {
        "cluster": {"name": "demo", "version": "1.35"},
        "network": {},
        "pools": {"gpu": pool},
    }
    inner = given
    for part in block.split("."):
        inner = inner[part]
    inner[key] = 1

    assert [f.severity for f in parse(given).findings] == ["error"]
