"""What runs a program more quickly records the same as the SDK left alone."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

import pulumi
import pytest
from pulumi import _utils
from pulumi.runtime import resource, resource_cycle_breaker, rpc
from tests.conftest import sampled

from eks_gpushare.program import run
from eks_gpushare.program.preview import locate, record
from eks_gpushare.program.recording_data import recording_to_bytes
from eks_gpushare.program.running.quick_sdk import quick_sdk
from eks_gpushare.stack_file.check import check_file

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sdk_internals


class _Word(StrEnum):
    ONE = "one"


class _Number(IntEnum):
    TWO = 2


class _Text(str):
    __slots__ = ()


class _Thing(pulumi.CustomResource):
    def __init__(self, name: str, opts: Any = None, **properties: Any) -> None:
        super().__init__("test:index:Thing", name, properties, opts)


class _Group(pulumi.ComponentResource):
    def __init__(self, name: str, *, circle: bool = False) -> None:
        super().__init__("test:index:Group", name, {})
        self.first = _Thing("first", pulumi.ResourceOptions(parent=self), size=1)
        # Whoever depends on a component depends on all in it: here on itself.
        _Thing("second", pulumi.ResourceOptions(parent=self), of=self.urn if circle else self.first)
        self.register_outputs({"first": self.first.urn})


def values() -> None:
    """All kinds of values that a property may have."""
    group = _Group("group")

    async def later() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"a": [1, None, True, 0.5, ""]}

    plain = {"snake_key": {"b": False, "list": [_Word.ONE, _Number.TWO, _Text("t"), ()]}}
    thing = _Thing(
        "thing",
        pulumi.ResourceOptions(depends_on=[group]),
        plain=plain,
        later=later(),
        secret=pulumi.Output.secret({"c": ["s", 1]}),
        unknown=group.first.id,
        all=pulumi.Output.all(1, "x", group.first.urn, None),
        asset=pulumi.StringAsset("text"),
        archive=pulumi.AssetArchive({"f": pulumi.FileAsset("f")}),
        resource=group.first,
        big=2**40,
    )
    pulumi.export("out", thing.urn)
    pulumi.export("words", [_Word.ONE, {"n": _Number.TWO}])


def wrong() -> None:
    """A value that no property may have."""
    _Thing("thing", wrong={"inner": range(3)})


def circle() -> None:
    """A resource that waits for itself."""
    _Group("group", circle=True)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("program", "error"),
    [(values, ""), (wrong, "unexpected input of type range"), (circle, "circular dependency")],
)
def test_values_are_recorded_as_by_the_sdk_alone(
    program: Callable[[], None], error: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recorded() -> bytes:
        done = run.run_program(program, project="p", stack="s", config={}, preview=not known)
        if done.error is not None:
            done.error = replace(done.error, traceback="")  # it goes through our files, or not
        return recording_to_bytes(done)

    quick = recorded()
    monkeypatch.setattr(run, "quick_sdk", nullcontext)

    assert quick == recorded()
    assert error.encode() in quick
    assert (b'"error":null' in quick) is (not error)


@pytest.mark.parametrize("stack", sampled(["tenants", "serve"], 2))
def test_a_stack_is_recorded_as_by_the_sdk_alone(
    stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, file = locate(stack)
    report = check_file(file)
    quick = recording_to_bytes(record(project, report, stack))
    monkeypatch.setattr(run, "quick_sdk", nullcontext)

    assert quick == recording_to_bytes(record(project, report, stack))


def test_the_sdk_is_another_meanwhile_and_the_same_afterwards() -> None:
    def parts() -> list[Any]:
        cycles, settings = vars(resource_cycle_breaker), vars(_utils.ContextProperty)
        positions = [vars(resource)[n] for n in ("_get_source_position_for_frame", "traceback")]
        values = [rpc.serialize_property, rpc.contains_unknowns]
        outputs = [rpc.transfer_properties, vars(pulumi.Output)["_track"]]
        return [*positions, *values, *outputs, cycles["_reachable"], settings["__get__"]]

    before = parts()
    with quick_sdk():
        assert not [part for part in parts() if any(part is old for old in before)]
    assert parts() == before
