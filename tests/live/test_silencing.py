"""Comments of a stack's file let findings of its cluster be, under every name of a fact."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest
from tests.live.test_faults import (
    GPU,
    HEALTHY,
    ROOT,
    gpu_node,
    objects_of,
    pod,
    running,
    taint,
    worse,
)

from eks_gpushare.cli import main
from eks_gpushare.findings.silenced import today
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.aws_side import AwsSide
from eks_gpushare.live.verdict import verdict_of
from eks_gpushare.stack_file.check import check_file
from eks_gpushare.stack_file.silencing import silenced

if TYPE_CHECKING:
    from pathlib import Path

    from tests.live.test_faults import Cluster

    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.verdict import ClusterVerdict

TEXT = (ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
UNTIL = "until 2026-12-24 because it is known"
POOL, ALL = "        sharing:", "    pools:"
"""Lines of a pool's block, and of the environment."""


def stack_with(folder: Path, names: str, above: str, until: str = UNTIL) -> Stack:
    assert TEXT.count(f"\n{above}") == 1
    said = f"# eks-gpushare: ignore {names} {until}"
    indent = above[: len(above) - len(above.lstrip())]
    file = folder / "Pulumi.known.yaml"
    file.write_text(TEXT.replace(f"\n{above}", f"\n{indent}{said}\n{above}"), encoding="utf-8")
    return read_stack(file)


def tainted() -> Cluster:
    cluster: Cluster = copy.deepcopy(HEALTHY)
    taint(cluster, "dedicated", "x")
    return cluster


def away(found: ClusterVerdict) -> list[str]:
    return [each.cause.fault.finding.code for each in found.silenced]


@pytest.mark.parametrize("above", [POOL, ALL])
@pytest.mark.parametrize("names", ["GPU1306", "GPU1199, GPU1306"])
def test_a_cause_goes_with_what_follows_from_it(tmp_path: Path, names: str, above: str) -> None:
    found = verdict_of(objects_of(tainted()), stack_with(tmp_path, names, above))

    assert worse(found) == []
    assert away(found) == ["GPU1306"]
    assert found.ok()
    (told,) = found.as_json()["silenced"]
    assert (told["until"], told["reason"]) == ("2026-12-24", "it is known")
    assert {"GPU1100"} <= {each["code"] for each in told["follows"]}


@pytest.mark.parametrize(
    ("names", "until"),
    [
        ("GPU1305", UNTIL),
        ("GPU1306", "until 2026-11-25 because it is known"),
        ("GPU1306", "until 2026-12-24"),
    ],
)
def test_another_one_and_what_is_over_or_lacks_a_reason_lets_nothing_be(
    tmp_path: Path, names: str, until: str
) -> None:
    found = verdict_of(objects_of(tainted()), stack_with(tmp_path, names, POOL, until))

    assert [code for code, _ in worse(found)] == ["GPU1306"]
    assert away(found) == []


def test_what_only_follows_stays_below_its_cause(tmp_path: Path) -> None:
    found = verdict_of(objects_of(tainted()), stack_with(tmp_path, "GPU1100", ALL))

    assert [code for code, _ in worse(found)] == ["GPU1306"]


@pytest.mark.parametrize("name", ["GPU801", "vcpus-within-quota"])
def test_a_fact_is_let_be_under_each_of_its_names(tmp_path: Path, name: str) -> None:
    aws = AwsSide(quotas={"L-DB2E81BA": 0})
    found = verdict_of(objects_of(HEALTHY), stack_with(tmp_path, name, ALL), aws=aws)

    assert (worse(found), away(found)) == ([], ["GPU801"])


@pytest.mark.parametrize(("above", "kept"), [(POOL, ["GPU1303"]), (ALL, [])])
def test_a_comment_of_a_pool_is_of_no_other(tmp_path: Path, above: str, kept: list[str]) -> None:
    cluster = copy.deepcopy(HEALTHY)
    other = copy.deepcopy(gpu_node(cluster))
    other["metadata"].update(name="other-0", uid="other-0")
    other["metadata"]["labels"] |= {
        "eks-gpushare/pool": "other",
        "nvidia.com/device-plugin.config": "x",
    }
    other["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = "others"
    cluster.append(other)
    for node in (gpu_node(cluster), other):
        node["spec"]["unschedulable"] = True
    found = verdict_of(objects_of(cluster), stack_with(tmp_path, "GPU1303", above))

    assert [code for code, _ in worse(found) if code == "GPU1303"] == kept
    assert "GPU1303" in away(found)


def test_pods_of_everybody_are_let_be_by_a_comment_of_the_whole(tmp_path: Path) -> None:
    cluster = copy.deepcopy(HEALTHY)
    cluster += [running("many", 40), pod("one-more")]

    for above, expected in ((ALL, ["GPU1341"]), (POOL, ["GPU1341"])):
        found = verdict_of(objects_of(cluster), stack_with(tmp_path, "GPU1341", above))
        assert away(found) == expected, GPU


def test_check_lets_comments_for_verify_be(tmp_path: Path) -> None:
    stack_with(tmp_path, "GPU1306", POOL)
    report = silenced(check_file(tmp_path / "Pulumi.known.yaml"), today()).report

    assert not {finding.code for finding in report.findings} & {"GPU1011", "GPU1012", "GPU1013"}


def test_the_command_says_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack_with(tmp_path, "GPU1345", POOL)
    file = str(tmp_path / "Pulumi.known.yaml")

    assert main(["verify", file, "--from", str(ROOT / "examples/verify/cluster.json")]) == 0
    out = capsys.readouterr().out
    assert "  silenced: 1 cause, which the file lets be: 1 GPU1345\n" in out
    assert "as declared" in out
