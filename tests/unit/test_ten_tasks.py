"""Ten tasks of a first week: where the answer stands, and that it is one.

A reader once scored them from 0 to 3. What made a 0 was no place, a place that no page leads to, or
one without the line that does it: these are held here. How well it reads is for people to judge.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of

DOCS = Path(__file__).parents[2] / "docs"


class Task(NamedTuple):
    """What somebody wants."""

    page: str
    section: str
    answers: tuple[str, ...]
    """What is typed or written, in the order of the section."""


TASKS = {
    "a pod stays Pending on a live cluster": Task(
        "troubleshooting", "A pod stays Pending", ("kubectl describe pod", "Insufficient nvidia")
    ),
    "how many replicas": Task(
        "how-many-replicas", "2. Divide", ("eks-gpushare shares", "replicas")
    ),
    "what a share costs": Task(
        "cost", "GPUs and shares", ("eks-gpushare preview", "node / (GPUs x replicas)")
    ),
    "from eksctl": Task(
        "cookbook", "Move from eksctl", ("lint --to-stack", "existing:", "pulumi up")
    ),
    "a second pool": Task(
        "cookbook", "A second pool", ("pools:", "--before", "pulumi up")
    ),
    "two teams": Task("cookbook", "Two teams", ("check", "kind: ResourceQuota", "--against")),
    "who has used what": Task("cost", "Cost per team", ("eks-gpushare cost",)),
    "another AMI": Task("cookbook", "Upgrade an AMI", ("amiVersion", "--before", "pulumi up")),
    "MIG with time slicing on an H100": Task(
        "choose-a-mode", "", ("mode: mig", "timeSlicing: {replicas: 2}")
    ),
    "remove all": Task(
        "cookbook", "Remove all", ("deletionProtection: false", "pulumi destroy", "What stays")
    ),
}  # fmt: skip
OF_AN_H100 = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster: {name: demo, version: "1.35", admins: [arn:aws:iam::123456789012:role/Platform]}
    network: {zones: [us-west-2a, us-west-2b]}
    pools:
      gpu:
        instanceTypes: [p5.48xlarge]
        sharing: {mode: mig, layout: all-1g.10gb, timeSlicing: {replicas: 2}}
"""


def section(page: str, title: str) -> str:
    """The text of a page from a heading to the next one that is no deeper."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    if not title:
        return text
    _, found, rest = text.partition(f"\n## {title}\n")
    assert found, f"{page}.md has no section {title}"
    return re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_a_place_with_its_answer(task: str) -> None:
    page, title, answers = TASKS[task]
    text, at = section(page, title), 0
    for answer in answers:
        assert answer in text[at:], f"{task}: {page}.md, {title}, says nothing of {answer} there"
        at = text.index(answer, at)


@pytest.mark.parametrize("page", sorted({task.page for task in TASKS.values()}))
def test_its_page_is_one_step_from_the_first(page: str) -> None:
    tree = re.findall(
        r"```\{toctree\}.*?```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL
    )

    assert page in "\n".join(tree).splitlines()


def test_mig_with_time_slicing_on_an_h100_is_what_check_takes() -> None:
    report = check_stack_file(stack_file_of(OF_AN_H100, "Pulumi.demo.yaml"))

    assert [each for each in report.findings if each.severity == "error"] == []
