"""Programs in other languages that ran with the last release run with this one."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from schema_changes import allows_breaking, breaking_changes, main

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
RELEASED = Path(__file__).with_name("released.schema.json")
"""Of the last release: a release copies the schema of the plugin here."""
CURRENT = ROOT / "components" / "eks_gpushare" / "plugin" / "schema.json"

Schema = dict[str, Any]
POOL, SHARING, MODE = (
    f"eks-gpushare:index:{each}" for each in ("GpuPool", "Sharing", "SharingMode")
)


def read(file: Path) -> Schema:
    found: Schema = json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.fixture
def schema() -> Schema:
    return read(RELEASED)


TAKEN = {
    f"{component}.served: It was list of ServedPool, and is list of Any. Breaks every language."
    for component in ("DevicePlugin", "GpuOperator", "SharedWorkload")
} | {
    f"{place}: It was required, and may be left out now. Breaks Go."
    for place in ("Keda.prometheus", "KedaBlock.prometheus", "Wake.query")
}
"""Nothing gave a program what to hand over here, so that each wrote `pools`, which stays as it is.
By the time, and by a queue, nothing asks a Prometheus. The release that has them empties this."""


def test_this_version_breaks_no_program_of_the_last_release_unless_it_says_so() -> None:
    before, after = read(RELEASED), read(CURRENT)
    broken = "\n".join(sorted({*map(str, breaking_changes(before, after))} - TAKEN))

    assert not broken or allows_breaking(before["version"], after["version"]), broken
    assert {*map(str, breaking_changes(before, after))} >= TAKEN, "the release has them"


def inputs(schema: Schema) -> Schema:
    found: Schema = schema["resources"][POOL]["inputProperties"]
    return found


def outputs(schema: Schema) -> Schema:
    found: Schema = schema["resources"][POOL]["properties"]
    return found


def rename(schema: Schema) -> None:
    inputs(schema)["rootVolumeGigabytes"] = inputs(schema).pop("rootVolumeGiB")


BREAKING: dict[str, tuple[Callable[[Schema], object], str]] = {
    "component removed": (lambda s: s["resources"].pop(POOL), "GpuPool: The component is gone."),
    "type removed": (lambda s: s["types"].pop(SHARING), "Sharing: The type is gone."),
    "input removed": (lambda s: inputs(s).pop("efa"), "GpuPool.efa: The input is gone."),
    "input renamed": (rename, "GpuPool.rootVolumeGiB: The input is gone. Renamed to rootVolumeG"),
    "nested input removed": (
        lambda s: s["types"][SHARING]["properties"].pop("rename"),
        "Sharing.rename: The input is gone.",
    ),
    "output removed": (
        lambda s: outputs(s).pop("request"),
        "GpuPool.request (output): The output is gone.",
    ),
    "input retyped": (
        lambda s: inputs(s)["rootVolumeGiB"].update(type="string"),
        "GpuPool.rootVolumeGiB: It was integer, and is string.",
    ),
    "items retyped": (
        lambda s: inputs(s)["instanceTypes"]["items"].update(type="integer"),
        "GpuPool.instanceTypes: It was list of string, and is list of integer.",
    ),
    "output retyped": (
        lambda s: outputs(s)["request"].update(additionalProperties={"type": "string"}),
        "GpuPool.request (output): It was map of integer, and is map of string.",
    ),
    "output at times": (
        lambda s: s["resources"][POOL].update(required=[]),
        "(output): It was always there.",
    ),
    "newly required": (
        lambda s: s["resources"][POOL]["requiredInputs"].append("version"),
        "GpuPool.version: It is required now.",
    ),
    "new and required": (
        lambda s: (
            s["types"][SHARING]["properties"].update(owner={"type": "string", "plain": True}),
            s["types"][SHARING].setdefault("required", []).append("owner"),
        ),
        "Sharing.owner: It is required now.",
    ),
    "value removed": (lambda s: s["types"][MODE]["enum"].pop(), 'The value "mig" is gone.'),
    "value renamed": (
        lambda s: s["types"][MODE]["enum"][0].update(name="Alone"),
        'SharingMode: The name of "exclusive" was Exclusive.',
    ),
    "plain now": (
        lambda s: inputs(s)["clusterName"].update(plain=True),
        "GpuPool.clusterName: It might be an output, and has to be plain now.",
    ),
    "items plain now": (
        lambda s: inputs(s)["subnetIds"]["items"].update(plain=True),
        "GpuPool.subnetIds[]: It might be an output, and has to be plain now.",
    ),
    "no longer plain": (
        lambda s: inputs(s)["pool"].pop("plain"),
        "GpuPool.pool: It was plain, and may be an output now. Breaks Go.",
    ),
    "no longer required": (
        lambda s: s["resources"][POOL]["requiredInputs"].remove("pool"),
        "GpuPool.pool: It was required, and may be left out now. Breaks Go.",
    ),
    "package renamed": (lambda s: s.update(name="gpushare"), "eks-gpushare became gpushare"),
    "scope renamed": (lambda s: s.update(namespace="other"), "eks-gpushare became other"),
}


@pytest.mark.parametrize("case", BREAKING)
def test_what_breaks_callers_is_found(schema: Schema, case: str) -> None:
    edit, says = BREAKING[case]
    after = copy.deepcopy(schema)
    edit(after)

    assert any(says in str(each) for each in breaking_changes(schema, after))


HARMLESS: dict[str, Callable[[Schema], object]] = {
    "nothing": lambda _: None,
    "description": lambda s: inputs(s)["efa"].update(description="Other words."),
    "deprecated": lambda s: inputs(s)["efa"].update(deprecationMessage="Use other."),
    "secret": lambda s: inputs(s)["clusterName"].update(secret=True),
    "version": lambda s: s.update(version="0.1.1"),
    "new input": lambda s: inputs(s).update(owner={"type": "string"}),
    "new output": lambda s: outputs(s).update(owner={"type": "string"}),
    "new value": lambda s: s["types"][MODE]["enum"].append({"name": "Vgpu", "value": "vgpu"}),
    "new component": lambda s: s["resources"].update({"eks-gpushare:index:Other": {}}),
    "order": lambda s: s.update(resources=dict(reversed(s["resources"].items()))),
    "output no longer required of an input": lambda s: s["resources"][POOL][
        "requiredInputs"
    ].remove("clusterName"),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_what_breaks_nobody_passes(schema: Schema, case: str) -> None:
    after = copy.deepcopy(schema)
    HARMLESS[case](after)

    assert breaking_changes(schema, after) == []


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("0.1.0", "0.1.0", False),
        ("0.1.0", "0.1.1", False),
        ("0.1.0", "0.2.0", True),
        ("0.9.0", "1.0.0", True),
        ("1.0.0", "1.1.0", False),
        ("1.9.3", "2.0.0", True),
        ("0.2.0", "0.1.0", False),
    ],
)
def test_a_version_that_says_so(before: str, after: str, *, allowed: bool) -> None:
    assert allows_breaking(before, after) is allowed


def test_the_command_prints_what_breaks_and_fails_unless_the_version_says_so(
    schema: Schema, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"{name}.json" for name in ("before", "after")]
    after = copy.deepcopy(schema)
    inputs(after).pop("efa")
    for file, content in zip(files, (schema, after), strict=True):
        file.write_text(json.dumps(content), encoding="utf-8")

    assert main(*map(str, files)) == 1
    assert capsys.readouterr().out == ("GpuPool.efa: The input is gone. Breaks every language.\n")
    after["version"] = "0.2.0"
    files[1].write_text(json.dumps(after), encoding="utf-8")
    assert main(*map(str, files)) == 0
