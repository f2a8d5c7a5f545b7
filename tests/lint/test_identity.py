"""What a finding is known by, wherever its line has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.findings.finding import Finding, Position
from eks_gpushare.lint.identity import identity
from eks_gpushare.manifests.document import Document

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath

POD = {"kind": "Pod", "metadata": {"name": "a"}}
MADE = {"kind": "Job", "metadata": {"generateName": "train-", "namespace": "ml"}}
NUMBERED = {"containers": [{"name": 3}, {"name": ""}, {"name": "cuda"}]}
LINES = ("kind: x", "kubectl  label node n1 team=vision")


@pytest.mark.parametrize(
    ("value", "above", "at", "path", "known_by"),
    [
        (POD, (), ("spec", "nodeName"), "spec.nodeName", "Pod a spec.nodeName"),
        (POD, ("items", 1), ("items", 1, "spec"), "items[1].spec", "Pod a spec"),
        (POD, (), (), "", "Pod a"),
        (POD, (), (), "line 2", "Pod a kubectl label node n1 team=vision"),
        (MADE, (), ("spec",), "spec", "Job ml/train- spec"),
        ({}, (), ("spec",), "spec", "spec"),
        ({}, (), (), "", "kubectl label node n1 team=vision"),
        (NUMBERED, (), ("containers", 0), "", "containers[0]"),
        (NUMBERED, (), ("containers", 1), "", "containers[1]"),
        (NUMBERED, (), ("containers", 2), "", "containers[cuda]"),
    ],
)
def test_a_finding_is_known_by_its_object_and_place_or_else_by_its_line(
    value: Any, above: FieldPath, at: FieldPath, path: str, known_by: str
) -> None:
    place = Position(2, 1)
    document = Document("a.yaml", value, lambda _: place, at=above)
    finding = Finding("GPU1114", "error", path, "Wrong.", "Mend it.", "", at)

    assert identity(finding, place, document, LINES) == known_by
