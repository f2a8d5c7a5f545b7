"""What is said of configurations of the device plugin, word for word."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_reading import merged, problems, read_with

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.readers.device_plugin import DevicePluginConfigReader

PLUGIN = DevicePluginConfigReader()

Said = list[tuple[tuple[str | int, ...], str]]
"""Places, and what is said there."""


def fixes(value: dict[str, Any]) -> Said:
    """Where something is to be done, and what."""
    return [(each.path, each.fix) for each in problems(read_with(PLUGIN, value))]


def messages(value: dict[str, Any]) -> Said:
    return [(each.path, each.message) for each in problems(read_with(PLUGIN, value))]


SHARED: dict[str, Any] = {
    "version": "v1",
    "sharing": {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}},
}
SLICED = ("sharing", "timeSlicing")
FIRST = (*SLICED, "resources", 0)


def shared(**changes: Any) -> dict[str, Any]:
    return merged(SHARED) | changes


def sharing(**changes: Any) -> dict[str, Any]:
    """With keys beside the resources."""
    block = {**SHARED["sharing"]["timeSlicing"], **changes}
    return {"version": "v1", "sharing": {"timeSlicing": block}}


def one(**changes: Any) -> dict[str, Any]:
    """With keys of the only resource; `...` takes one away."""
    item = {**SHARED["sharing"]["timeSlicing"]["resources"][0], **changes}
    return sharing(resources=[{key: each for key, each in item.items() if each is not ...}])


def by_mps(count: int) -> dict[str, Any]:
    return {
        "version": "v1",
        "sharing": {"mps": {"resources": [{"name": "gpu", "replicas": count}]}},
    }


@pytest.mark.parametrize(
    "value",
    [
        SHARED,
        shared(version=UNKNOWN),
        shared(flags=UNKNOWN),
        shared(flags={"migStrategy": UNKNOWN, "failOnInitError": None, "gdsEnabled": UNKNOWN}),
        shared(flags={"plugin": {"deviceListStrategy": ["envvar", UNKNOWN]}}),
        sharing(resources=UNKNOWN),
        sharing(resources=[UNKNOWN]),
        one(name=UNKNOWN),
        one(replicas=UNKNOWN),
        one(rename=UNKNOWN, devices=UNKNOWN),
        by_mps(48),
    ],
)
def test_of_a_right_configuration_of_the_plugin_nothing_is_said(value: dict[str, Any]) -> None:
    assert fixes(value) == []


TAKES = "Remove it; it takes version, flags, resources, sharing, imex."


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            shared(timeSlicing={"resources": []}),
            [(("timeSlicing",), "Move it to sharing.")],
        ),
        (shared(migStrategy="none"), [(("migStrategy",), "Move it to flags.")]),
        (
            shared(flags={"resources": []}),
            [(("flags", "resources"), "Move it to the top or sharing.timeSlicing or sharing.mps.")],
        ),
        (shared(Comment="x"), [(("Comment",), TAKES)]),
        (shared(flagz={}), [(("flagz",), "Did you mean flags?")]),
        (shared(replicas=4), [(("replicas",), TAKES)]),
        (
            shared(imex={"replicas": 4}),
            [(("imex", "replicas"), "Remove it; it takes channelIDs, required.")],
        ),
        (
            sharing(replicas=4),
            [((*SLICED, "replicas"), "Move it into an item of sharing.timeSlicing.resources.")],
        ),
        (
            {"version": "v1", "sharing": {"replicas": 4, **SHARED["sharing"]}},
            [
                (
                    ("sharing", "replicas"),
                    "Move it into an item of sharing.timeSlicing.resources.",
                )
            ],
        ),
        (
            sharing(renamebydefault=True),
            [((*SLICED, "renamebydefault"), "Write it renameByDefault.")],
        ),
        (
            sharing(renameByDefalt=True),
            [((*SLICED, "renameByDefalt"), "Did you mean renameByDefault?")],
        ),
        (
            one(renameByDefault=True),
            [((*FIRST, "renameByDefault"), "Move it to sharing.timeSlicing, beside resources.")],
        ),
        (
            one(count=4),
            [((*FIRST, "count"), "Remove it; an item takes name, rename, devices, replicas.")],
        ),
        (one(replica=4), [((*FIRST, "replica"), "Did you mean replicas?")]),
        (one(name=..., nam="gpu"), [((*FIRST, "nam"), "Did you mean name?")]),
        (
            one(name="nvidia.com/tpu"),
            [
                (
                    (*FIRST, "name"),
                    "Write nvidia.com/gpu, or nvidia.com/mig-PROFILE with migStrategy: mixed.",
                )
            ],
        ),
        (
            shared(flags={"migStrategy": "mix"}),
            [(("flags", "migStrategy"), "Write one of none, single, mixed.")],
        ),
        (
            shared(flags={"migStrategy": "mixd"}),
            [(("flags", "migStrategy"), "Did you mean mixed?")],
        ),
    ],
)
def test_what_is_to_be_done_of_a_configuration_of_the_plugin(
    value: dict[str, Any], said: Said
) -> None:
    assert fixes(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            shared(Comment="x"),
            [(("Comment",), "The plugin reads no key Comment at the top, so it has no effect.")],
        ),
        (
            shared(flags={"x": 1}),
            [(("flags", "x"), "The plugin reads no key x at flags, so it has no effect.")],
        ),
        (one(name=...), [(FIRST, "It names no resource.")]),
        (one(name=""), [((*FIRST, "name"), "It names no resource.")]),
        (one(name=5), [((*FIRST, "name"), "name is 5.")]),
        (
            sharing(resources=[]),
            [((*SLICED, "resources"), "sharing.timeSlicing names no resource.")],
        ),
        (
            {"version": "v1", "sharing": {"timeSlicing": {}}},
            [(SLICED, "sharing.timeSlicing names no resource.")],
        ),
        (
            shared(flags={"migStrategy": ["none"]}),
            [
                (
                    ("flags", "migStrategy"),
                    "flags.migStrategy is a list, and may be none, single, mixed.",
                )
            ],
        ),
        (
            shared(flags={"plugin": {"deviceListStrategy": True}}),
            [
                (
                    ("flags", "plugin", "deviceListStrategy"),
                    (
                        "flags.plugin.deviceListStrategy is true, and may be envvar, "
                        "volume-mounts, cdi-annotations, cdi-cri."
                    ),
                )
            ],
        ),
        (
            {"version": "v1", "sharing": SHARED["sharing"] | by_mps(4)["sharing"]},
            [(SLICED, "It has both timeSlicing and mps; the plugin takes mps.")],
        ),
    ],
)
def test_what_is_said_of_a_configuration_of_the_plugin(value: dict[str, Any], said: Said) -> None:
    assert messages(value) == said


def test_of_a_name_that_is_there_twice_one_counts() -> None:
    twice = [{"name": each, "replicas": 4} for each in ("nvidia.com/gpu", "gpu")]
    (problem,) = problems(read_with(PLUGIN, sharing(resources=twice)))

    assert problem.severity == "warning"
    assert problem.path == (*SLICED, "resources", 1)


@pytest.mark.parametrize(("name", "edits"), [("gpus", 1), ("nvidia.com/GPU", 1), ("tpu", 0)])
def test_a_name_that_means_the_gpu(name: str, edits: int) -> None:
    (problem,) = problems(read_with(PLUGIN, one(name=name)))

    assert len(problem.edits) == edits


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"timeSlicing": {"resources": []}}, True),
        ({"mps": {"resources": []}, "migStrategy": "none"}, True),
        ({"timeSlicing": {"resources": []}, "title": "x"}, False),
        ({"timeSlicing": {"resources": 4}}, False),
        ({"timeSlicing": {"every": 4}}, False),
        ({"timeSlicing": ["resources"]}, False),
        ({"flags": {"migStrategy": "none"}}, True),
        ({"flags": {"debug": True}}, False),
        ({"flags": ["migStrategy"]}, False),
        ({"sharing": {"mps": {}}, "title": "x"}, True),
        ({"sharing": {"time_slicing": {}}}, True),
        ({"sharing": {"with": "friends"}}, False),
        ({"sharing": ["mps"]}, False),
        ({"sharing": {"mps": {}}, "kind": "x"}, False),
        ({"sharing": {"mps": {}}, "apiVersion": "x"}, False),
        (
            dict.fromkeys(
                ("version", "flags", "resources", "sharing", "imex", "mps", "renamebydefault")
            )
            | dict.fromkeys(("failrequestsgreaterthanone", "migstrategy"))
            | {"timeSlicing": {"resources": []}},
            True,
        ),
    ],
)
def test_what_is_a_configuration_of_the_plugin(value: dict[str, Any], is_one: bool) -> None:
    assert PLUGIN.matches(Document("a.yaml", value, lambda _: Position(1, 1))) is is_one


@pytest.mark.parametrize(("version", "edits"), [(1, 1), ("1", 1), (2, 0), ("v2", 0)])
def test_versions_that_mean_the_one_there_is(version: Any, edits: int) -> None:
    (problem,) = problems(read_with(PLUGIN, SHARED | {"version": version}))

    assert len(problem.edits) == edits
