"""`eks-gpushare tenants`: what a platform team hands to a team."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
STACK = ROOT / "stacks" / "Pulumi.tenants.yaml"


def without_queue(folder: Path) -> str:
    declared = yaml.safe_load(STACK.read_text(encoding="utf-8"))
    for tenant in declared["config"]["eks-gpushare:environment"]["tenants"].values():
        tenant["queue"] = False
        tenant["pools"]["slices"].pop("maximum", None)
    file = folder / "Pulumi.quota.yaml"
    file.write_text(yaml.safe_dump(declared), encoding="utf-8")
    return str(file)


def test_the_page_of_a_team_has_a_pod_for_each_kind_of_share(run: Run) -> None:
    out = run("tenants", "tenants", "vision").out

    _, *parts = out.partition("What is refused")[0].split("---\n")
    asked = [yaml.safe_load(part)["spec"]["containers"][0]["resources"]["limits"] for part in parts]
    assert asked == [
        {"nvidia.com/mig-1g.5gb": 1},
        {"nvidia.com/mig-2g.10gb": 1},
        {"nvidia.com/mig-3g.20gb": 1},
    ]


def test_what_a_queue_lets_wait_a_quota_refuses(run: Run, tmp_path: Path) -> None:
    queued = run("tenants", "tenants", "research").out
    refused = run("tenants", without_queue(tmp_path), "research").out

    assert "What waits, and is not refused\n" in queued
    assert "kubectl describe localqueue default --namespace research\n" in queued
    assert "more shares than it is sure of" not in queued
    assert "What waits" not in refused
    assert "  more shares than it is sure of, counted with pods that wait\n" in refused
    assert "kubectl describe quota gpu-shares --namespace research\n" in refused


def test_json_is_what_the_preview_has(run: Run) -> None:
    found = run("tenants", "tenants", "--json").json

    assert found["tenants"] == run("preview", "tenants", "--json").json["tenants"]


def test_who_meets_whom_is_what_the_page_shows(run: Run) -> None:
    _, title, matrix = run("tenants", "tenants").out.partition("Who may meet whom on one GPU\n")
    page = (ROOT / "docs" / "tenants.md").read_text(encoding="utf-8")

    assert f"```text\n{title}{matrix}```" in page


def test_what_is_asked_for_and_not_there(run: Run) -> None:
    nobody = run("tenants", "tenants", "nobody")
    none = run("tenants", "multi-tenant")

    assert (nobody.code, none.code) == (2, 2)
    assert "has no tenant nobody; it has research, vision" in nobody.err
    assert "has no tenants: add the block" in none.err


def test_two_teams_in_ten_lines_are_right(run: Run, tmp_path: Path) -> None:
    """The first block of the page on tenants, in a stack that has its pool."""
    page = (ROOT / "docs" / "tenants.md").read_text(encoding="utf-8")
    block = page.partition("```yaml\n")[2].partition("```")[0]
    given = yaml.safe_load(STACK.read_text(encoding="utf-8"))
    given["config"]["eks-gpushare:environment"] |= yaml.safe_load(block)
    file = tmp_path / "Pulumi.two.yaml"
    file.write_text(yaml.safe_dump(given), encoding="utf-8")

    assert block.count("\n") == 10
    assert run("check", str(file)).code == 0
