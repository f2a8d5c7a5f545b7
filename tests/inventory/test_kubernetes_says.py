"""Quantities, durations and where pods may be, held against what Kubernetes' own code said of them.

`tests/golden/kubernetes/main.go` asks it and says how.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eks_gpushare.documents.duration import seconds
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.matching import is_tolerated
from eks_gpushare.inventory.scheduling import landing
from eks_gpushare.live.placement import mismatches, untolerated

ANSWERS = Path(__file__).parents[1] / "golden" / "kubernetes" / "answers.json"
GIVEN: dict[str, Any] = json.loads(ANSWERS.read_text(encoding="utf-8"))
LEAST = 90
"""Of each kind so many are taken at least, and so many refused."""


BARE = re.compile(r"[+-]?\.?([eE][+-]?[0-9]*|[a-zA-Z]*)")
"""Without a number before the unit, which Go takes for 0 against its own grammar."""


def test_quantities_are_those_of_kubernetes() -> None:
    given = {text: of for text, of in GIVEN["quantities"].items() if not BARE.fullmatch(text)}
    said = {text: None if of is None else Fraction(of) for text, of in given.items()}

    assert {text: quantity(text) for text in said} == said
    assert LEAST <= sum(of is not None for of in said.values()) <= len(said) - LEAST


def test_durations_are_those_of_go() -> None:
    said = GIVEN["durations"]
    ours = {text: None if (of := seconds(text)) is None else of * 10**9 for text in said}

    assert ours == said
    assert LEAST <= sum(each is not None for each in said.values()) <= len(said) - LEAST


def spec_of(case: dict[str, Any]) -> dict[str, Any]:
    spec = {"tolerations": case["tolerations"], "nodeSelector": case["nodeSelector"]}
    if case["terms"] is not None:
        required = {"nodeSelectorTerms": case["terms"]}
        of_nodes = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        spec["affinity"] = {"nodeAffinity": of_nodes}
    return spec


def taints_of(case: dict[str, Any]) -> list[NodeTaint]:
    given = case["taints"] or ()
    return [NodeTaint(each["key"], each.get("value", ""), each["effect"]) for each in given]


def test_taints_are_tolerated_as_the_scheduler_has_it() -> None:
    ours = [
        [
            n
            for n, taint in enumerate(taints_of(case))
            if not is_tolerated(taint, case["tolerations"])
        ]
        for case in GIVEN["pods"]
    ]

    assert ours == [case["untolerated"] for case in GIVEN["pods"]]
    assert LEAST < sum(map(bool, ours)) < len(ours) - LEAST


def test_labels_are_matched_as_the_scheduler_has_it() -> None:
    matched = 0
    for case in GIVEN["pods"]:
        found = landing(spec_of(case), (), case["labels"].get)
        assert found.lands is bool(case["matches"]), case
        matched += bool(case["matches"])

    assert LEAST < matched < len(GIVEN["pods"]) - LEAST


def test_the_lab_explains_what_the_scheduler_decides() -> None:
    for case in GIVEN["pods"]:
        node = {
            "metadata": {"name": "n", "labels": case["labels"]},
            "spec": {"taints": case["taints"]},
        }
        keeping = [
            str(taint)
            for number, taint in enumerate(taints_of(case))
            if number in case["untolerated"] and taint.effect != "PreferNoSchedule"
        ]

        assert untolerated(spec_of(case), node) == keeping
        assert (not mismatches(spec_of(case), node)) is case["matches"], case


@pytest.mark.parametrize(
    ("operator", "allowed"),
    [("Gt", "3"), ("Gte", "23"), ("Lt", "1"), ("Lte", "12"), ("NotIn", "13"), ("DoesNotExist", "")],
)
def test_karpenters_own_operators(operator: str, allowed: str) -> None:
    expression = {"key": "a", "operator": operator, "values": ["2"]}
    spec = spec_of(
        {"tolerations": [], "nodeSelector": {}, "terms": [{"matchExpressions": [expression]}]}
    )

    for value in "123":
        assert landing(spec, (), {"a": value}.get).lands is (value in allowed)
