"""What our own stacks put into a cluster has no finding: objects, and values of charts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from lint_corpus import found_in

ROOT = Path(__file__).parents[2]
REGISTRATIONS = sorted((ROOT / "tests/golden/registrations").glob("*.json"))


def manifests(path: Path) -> dict[str, str]:
    """The objects of a stack as files, and values of its charts, by the names of resources."""
    files: dict[str, str] = {}
    for each in json.loads(path.read_text()):
        kind, _, name = each["urn"].rpartition("$")[2].rpartition("::")
        given = each["inputs"]
        if "kubernetes:helm" in kind and given.get("values"):
            files[f"{name}-values.yaml"] = yaml.safe_dump(given["values"], sort_keys=False)
        elif kind.startswith("kubernetes:") and "kind" in given:
            files[f"{name}.yaml"] = yaml.safe_dump(given, sort_keys=False)
    return files


@pytest.mark.parametrize("path", REGISTRATIONS, ids=lambda path: path.stem)
def test_nothing_is_found_in_them(path: Path) -> None:
    files = manifests(path)
    assert len(files) >= 2
    assert found_in(files) == ()


def test_a_mistake_in_them_would_be_found() -> None:
    files = manifests(ROOT / "tests/golden/registrations/gpu-operator.json")
    values = next(name for name in files if name.endswith("-values.yaml"))
    wrong = {**files, values: files[values].replace("migManager:", "migManger:")}
    assert "GPU1034" in {each.code for each in found_in(wrong)}


def test_examples_of_pods_for_the_lab_are_right() -> None:
    """Each file alone: they are for stacks of many kinds."""
    paths = [
        path
        for folder in ("examples/lab", "examples/device-plugin", "examples/gpu-operator")
        for path in sorted((ROOT / folder).rglob("*.yaml"))
        if "misspelt" not in path.name
    ]
    assert len(paths) > 5
    for path in paths:
        found = found_in({path.name: path.read_text()})
        assert [each for each in found if each.code != "GPU1069"] == [], path
