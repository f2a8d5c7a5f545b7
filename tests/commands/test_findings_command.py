"""`eks-gpushare findings`, which explains codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import rules_in
from eks_gpushare.rules import all_rules
from eks_gpushare_lab import rules as lab

if TYPE_CHECKING:
    from tests.conftest import Run


def test_a_code_stands_for_one_kind_in_checks_and_lab_together() -> None:
    every = [rule.id for rule in (*all_rules(), *rules_in(lab))]

    assert len(set(every)) == len(every)


def test_a_code_is_explained(run: Run) -> None:
    ran = run("findings", "GPU903")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "GPU903, warning, reported by lab run\n"
        "  The API server warns of nothing that is applied.\n"
        "  It accepts the object and expects trouble with it; kubectl shows such warnings once.\n"
        "  https://kubernetes.io/blog/2020/09/03/warnings/\n"
    )


def test_codes_are_explained_in_the_order_in_which_they_are_given(run: Run) -> None:
    ran = run("findings", "gpu903", "gpu201")
    heads = [line for line in ran.out.splitlines() if line.startswith("GPU")]

    assert ran.code == 0
    assert heads == [
        "GPU903, warning, reported by lab run",
        "GPU201, error, reported by check, preview",
    ]


def test_without_a_code_all_are_listed(run: Run) -> None:
    ran = run("findings")
    codes = [rule.id for rule in (*all_rules(), *rules_in(lab))]

    assert ran.code == 0
    assert [code for code in codes if f"  {code}  " not in ran.out] == []


def test_an_unknown_code_ends_with_2(run: Run) -> None:
    ran = run("findings", "GPU903", "GPU999")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "eks-gpushare: there is no finding GPU999; `eks-gpushare findings` lists all\n"
    )


def test_json_names_the_commands_that_report_it(run: Run) -> None:
    ran = run("findings", "--json", "GPU201")
    (found,) = ran.json["findings"]

    assert ran.code == 0
    assert found.keys() == {*("code", "severity", "rule", "why", "reportedBy", "saidBy", "source")}
    assert (found["reportedBy"], found["saidBy"]) == ("check, preview", "check, preview")
