"""What users reported is found, in the half that rules are written after and in the other."""

from __future__ import annotations

import lint_reports
import pytest
from lint_reports import HALVES

from eks_gpushare.findings.defects import CHECK_FAILED

LEAST = 150
MISSED = {
    "https://github.com/awsdocs/amazon-eks-user-guide/pull/617": (
        "Terraform is read by its plans."
    ),
    "https://github.com/vllm-project/production-stack/issues/61": (
        "Other clusters make the runtime class by themselves, and no nodes say that it is EKS."
    ),
    "https://github.com/NVIDIA/nvkind/issues/4": (
        "Nodes of Kubernetes 1.35 and later label themselves, and no file has the version."
    ),
}
"""Reports of the half for development that are not found, and why."""
RECALL = {"development": 0.9, "held_out": 0.8}
ALARMS = {"development": 0, "held_out": 1}
"""The one is true: a report's own remedy labels nodes by hand, which is gone with the node."""


LINKS = [report.link for report in lint_reports.reports("development")]


@pytest.mark.parametrize("number", range(len(LINKS)), ids=LINKS.__getitem__)
def test_what_was_reported_is_found_and_the_mended_files_are_clean(number: int) -> None:
    outcome = lint_reports.outcome("development", number)

    assert outcome.alarms == ()
    if outcome.report.link not in MISSED:
        assert outcome.told


@pytest.mark.parametrize("half", HALVES)
def test_enough_of_each_half_is_found_and_nothing_else_is_said(half: str) -> None:
    """Of the half that is held out no single report is looked at, here neither."""
    outcomes = lint_reports.outcomes(half)

    assert sum(bool(outcome.told) for outcome in outcomes) >= RECALL[half] * len(outcomes)
    assert sum(len(outcome.alarms) for outcome in outcomes) == ALARMS[half]
    assert CHECK_FAILED.id not in {code for outcome in outcomes for code in outcome.told}


def test_a_link_decides_on_which_side_its_report_is() -> None:
    links = [report.link for half in HALVES for report in lint_reports.reports(half)]

    assert len(links) == len(set(links)) >= LEAST
    for half in HALVES:
        for report in lint_reports.reports(half):
            assert lint_reports.is_held_out(report.link) == (half == "held_out")
            assert report.link.startswith("https://")
            assert report.wrong != report.right


def test_a_report_that_is_not_found_is_told() -> None:
    """So that none of the above can pass by itself."""
    outcome = lint_reports.outcomes("development")[0]
    same = lint_reports.outcome_of(
        lint_reports.Report("https://example.com", "", outcome.report.right, outcome.report.right)
    )

    assert outcome.told
    assert same.told == frozenset()
