"""Findings speak of Python where a program gave the wrong value."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from eks_gpushare.findings.finding import Finding
from eks_gpushare.inputs.python_words import in_python, python_names, python_text

WORDING = json.loads(
    (Path(__file__).parents[1] / "golden/findings.json").read_text(encoding="utf-8")
)
TEXTS = sorted(
    {found[part] for all_of in WORDING.values() for found in all_of for part in ("message", "fix")}
)


@pytest.mark.parametrize(
    ("yaml", "python"),
    [
        (
            "Set 2 or more, or mode: exclusive for a pod per GPU.",
            'Set 2 or more, or "mode": "exclusive" for a pod per GPU.',
        ),
        (
            "Add customAmi: {id: ami-..., family: al2023, driverIncluded: true}.",
            'Add "custom_ami": {"id": "ami-...", "family": "al2023", "driver_included": True}.',
        ),
        (
            "Set nodeRepair: false for this pool, or apply: boot, which reboots first.",
            'Set "node_repair": False for this pool, or "apply": "boot", which reboots first.',
        ),
        ("The nearest that fit: {3g.20gb: 2}.", 'The nearest that fit: {"3g.20gb": 2}.'),
        ("Write [subnet-1].", 'Write ["subnet-1"].'),
        ("Write true or false, without quotes.", "Write True or False, without quotes."),
        ("Remove bottlerocket.devicePlugin.", "Remove bottlerocket.device_plugin."),
        ("gpuStack.manager is devicePlugin.", "gpu_stack.manager is devicePlugin."),
        # What is no key or no value stays as it is.
        ("Use timeSlicing or mps.", "Use timeSlicing or mps."),
        ("Remove the key: the image makes it.", "Remove the key: the image makes it."),
        ("it follows from the pools: it is on.", "it follows from the pools: it is on."),
        ("Give served, such as [pool.served].", "Give served, such as [pool.served]."),
        ("without them, version: 1.30 is 1.3.", "without them, version: 1.30 is 1.3."),
        (
            "Give such pods tolerations: [{key: nvidia.com/gpu, operator: Exists}].",
            "Give such pods tolerations: [{key: nvidia.com/gpu, operator: Exists}].",
        ),
    ],
)
def test_yaml_becomes_python(yaml: str, python: str) -> None:
    assert python_text(yaml) == python


def test_no_key_of_the_stack_file_is_left_in_any_wording() -> None:
    keys = [key for key, name in python_names().items() if key != name]

    assert not [
        (key, text)
        for text in TEXTS
        for key in keys
        if f"{key}:" in text and f" {key}:" in python_text(text)
    ]


def test_what_becomes_a_mapping_is_one_of_python() -> None:
    for text in TEXTS:
        changed = python_text(text)
        begin = changed.find('{"')
        if changed != text and begin >= 0:
            ast.literal_eval(mapping_at(changed, begin).replace(": ...", ': "..."'))


def mapping_at(text: str, begin: int) -> str:
    """The mapping that begins at a place, with those within."""
    depth = 0
    for end, letter in enumerate(text[begin:], begin + 1):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if not depth:
            return text[begin:end]
    return text[begin:]


def test_a_path_is_that_of_the_arguments() -> None:
    at = ("pools", "instanceTypes", "labels", "rootVolumeGiB")
    found = Finding("GPU302", "error", "x", "m.", "f.", "s", at)

    assert in_python(found).path == "pools.instanceTypes.labels.rootVolumeGiB"


@pytest.mark.parametrize(
    ("at", "path"),
    [
        (("pools", "gpu", "customAmi", "driverIncluded"), "pools.gpu.custom_ami.driver_included"),
        (
            ("charts", "gpuOperator", "values", "devicePlugin", "enabled"),
            "charts.gpu_operator.values.devicePlugin.enabled",
        ),
        (("pools", "gpu", "instanceTypes", 0), "pools.gpu.instance_types[0]"),
    ],
)
def test_keys_of_others_stay(at: tuple[str | int, ...], path: str) -> None:
    assert in_python(Finding("GPU302", "error", "x", "m.", "f.", "s", at)).path == path
