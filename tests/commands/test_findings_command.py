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
    assert found.keys() == {
        *("code", "severity", "rule", "why", "reportedBy", "saidBy", "source", "also")
    }
    assert found["also"] == []
    assert (found["reportedBy"], found["saidBy"]) == ("check, preview", "check, preview")


def test_all_names_of_a_fact_are_told_by_any_of_them(run: Run) -> None:
    ran = run("findings", "gpu280", "MPS-one-user")
    fact = (
        "  Pods that share GPUs by MPS run as one user.\n"
        "  The MPS control daemon serves one user ID at a time: clients of another wait until all "
        "of the\n  first are done, which servers never are. NVIDIA's plugin does not start it for "
        "several.\n"
        "  https://manpages.ubuntu.com/manpages/jammy/man1/nvidia-cuda-mps-control.1.html\n"
    )
    of_lab = (
        "  also GPU953, error, reported by lab run: The lab has seen pods wait for their turn for "
        "ever.\n"
    )

    assert ran.code == 0
    assert ran.out.startswith(
        f"GPU280, info, reported by check, preview\n{fact}"
        "  info here: A stack file has no pods: it is said beforehand.\n"
        f"  also GPU1170, warning, reported by lint\n{of_lab}"
        "  also mps-one-user, warning, reported by policy\n"
        f"\nmps-one-user, warning, reported by policy\n{fact}"
        "  also GPU280, info, reported by check, preview: A stack file has no pods: it is said "
        f"beforehand.\n  also GPU1170, warning, reported by lint\n{of_lab}"
    )
    assert (
        "\n\nmps-one-user, warning, reported by policy\n  Pods that share GPUs by MPS leave"
        in ran.out
    )


def test_json_has_the_names_too(run: Run) -> None:
    (found,) = run("findings", "--json", "public-endpoint-not-open").json["findings"]

    assert (found["code"], found["reportedBy"]) == ("public-endpoint-not-open", "policy")
    assert [(each["name"], each["severity"], each["reportedBy"]) for each in found["also"]] == [
        ("GPU608", "error", "check, preview"),
        ("GPU1087", "error", "lint"),
    ]


def test_a_misspelt_policy_is_told_what_it_is_near(run: Run) -> None:
    ran = run("findings", "public-endpoint-not-opn", "GPU9999")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "eks-gpushare: there is no finding public-endpoint-not-opn, GPU9999; did you mean "
        "public-endpoint-not-open? `eks-gpushare findings` lists all\n"
    )
