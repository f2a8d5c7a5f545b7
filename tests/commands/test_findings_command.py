"""`eks-gpushare findings`, which explains codes."""

from __future__ import annotations

import json

import pytest

from eks_gpushare.cli import main
from eks_gpushare.findings.rule import rules_in
from eks_gpushare.rules import all_rules
from eks_gpushare_lab import rules as lab

Output = pytest.CaptureFixture[str]


def test_a_code_stands_for_one_kind_in_checks_and_lab_together() -> None:
    every = [rule.id for rule in (*all_rules(), *rules_in(lab))]

    assert len(set(every)) == len(every)


def test_a_code_is_explained(capsys: Output) -> None:
    assert main(["findings", "GPU903"]) == 0
    assert capsys.readouterr().out == (
        "GPU903, warning, reported by lab run\n"
        "  The API server warns of nothing that is applied.\n"
        "  It accepts the object and expects trouble with it; kubectl shows such warnings once.\n"
        "  https://kubernetes.io/blog/2020/09/03/warnings/\n"
    )


def test_codes_are_explained_in_the_order_in_which_they_are_given(capsys: Output) -> None:
    assert main(["findings", "gpu903", "gpu201"]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("GPU")]

    assert heads == [
        "GPU903, warning, reported by lab run",
        "GPU201, error, reported by check, preview",
    ]


def test_without_a_code_all_are_listed(capsys: Output) -> None:
    assert main(["findings"]) == 0
    out = capsys.readouterr().out

    assert [rule.id for rule in (*all_rules(), *rules_in(lab)) if f"  {rule.id}  " not in out] == []


def test_an_unknown_code_ends_with_2(capsys: Output) -> None:
    assert main(["findings", "GPU903", "GPU999"]) == 2
    said = capsys.readouterr()

    assert said.out == ""
    assert said.err == (
        "eks-gpushare: there is no finding GPU999; `eks-gpushare findings` lists all\n"
    )


def test_json_names_the_commands_that_report_it(capsys: Output) -> None:
    assert main(["findings", "--json", "GPU201"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["findings"]

    assert found.keys() == {"code", "severity", "rule", "why", "reportedBy", "saidBy", "source"}
    assert found["reportedBy"] == found["saidBy"] == "check, preview"
