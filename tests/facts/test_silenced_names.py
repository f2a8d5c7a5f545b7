"""Whoever silences one name of a fact silences it everywhere, and is told so by all its names."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi_kubernetes as k8s
import pytest

from eks_gpushare.cli import main
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.program.policies.analyzer import judge
from eks_gpushare.program.policies.config import PolicyConfigError
from eks_gpushare.program.policies.stack_silences import stack_silences
from eks_gpushare.program.preview import locate, preview
from eks_gpushare.program.run import run_program
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of
from eks_gpushare.stack_file.silencing import silenced
from gpushare_policies import POLICIES
from gpushare_policies.exemptions import LEDGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eks_gpushare.program.policies.violations import Judged
    from eks_gpushare.stack_file.silencing import SilencedReport

pytestmark = pytest.mark.sdk_internals

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 22)
FAR = "until 9000-01-31 because it is known"

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: gpu}}
spec:{comment}
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}}
      requirements:
        - {{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}}
"""
STACK = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster:
      name: demo
      version: "1.35"
      endpoint: {public: true, publicCidrs: [203.0.113.0/24]}
      admins: [arn:aws:iam::111122223333:role/Platform]
      deletionProtection: false
    network:
      zones: [us-west-2a, us-west-2b]
    pools:
      one:
        instanceTypes: [g6.12xlarge]
        sharing: {mode: timeSlicing, replicas: 10}
      other:
        instanceTypes: [g6.12xlarge]
        sharing: {mode: timeSlicing, replicas: 2}
"""
ONE = "replicas: 10}"


def checked(text: str) -> SilencedReport:
    return silenced(check_stack_file(stack_file_of(text, "Pulumi.dev.yaml"), today=TODAY), TODAY)


def ignoring(names: str, at: str = ONE, text: str = STACK) -> str:
    return text.replace(at, f"{at}  # eks-gpushare: ignore {names} {FAR}")


def policed(text: str, folder: Path, **config: Any) -> Judged:
    file = folder / "Pulumi.dev.yaml"
    file.write_text(text, encoding="utf-8")
    shown = preview(*locate(str(file), str(ROOT)))
    assert shown.recording is not None
    silences = stack_silences(shown.recording, shown.report)
    return judge(POLICIES, shown.recording, config=config, silences=silences)


def broken(judged: Judged, policy: str) -> list[str]:
    return [v.urn.rpartition("::")[2] for v in judged.violations if v.policy == policy]


def told(judged: Judged) -> list[str]:
    return [v.message for v in judged.violations if v.policy == "exemptions-in-force"]


@pytest.mark.parametrize("name", ["GPU746", "GPU1078", "node-pool-limits"])
def test_a_file_is_silenced_by_any_name(name: str) -> None:
    def linted(comment: str) -> list[tuple[list[str], list[str]]]:
        given = POOL.format(comment=comment)
        reading = read_files([GivenFile("pool.yaml", given)])
        reading.judge((*EDGES, *CHECKS))
        return [
            (
                [each.code for each in report.findings],
                [each.placed.finding.code for each in report.silenced],
            )
            for report in reading.reports(TODAY)
        ]

    ((plain, _),) = linted("")
    ((left, away),) = linted(f"  # eks-gpushare: ignore {name} {FAR}")

    assert "GPU1078" in plain
    assert (left, away) == ([each for each in plain if each != "GPU1078"], ["GPU1078"])


@pytest.mark.parametrize("name", ["GPU208", "time-slicing-replicas"])
def test_a_stack_file_is_silenced_by_any_name(name: str) -> None:
    found = checked(ignoring(name))

    assert [each.finding.code for each in found.away] == ["GPU208"]
    (told,) = found.as_json()["silenced"]
    assert told["names"] == ["GPU208", "time-slicing-replicas"]


def test_a_name_of_another_fact_silences_nothing() -> None:
    found = checked(ignoring("public-endpoint-not-open"))

    assert found.away == ()
    assert "GPU208" in [each.code for each in found.report.findings]
    assert "GPU1013" in [each.code for each in found.report.findings]


@pytest.mark.parametrize("name", ["GPU202", "GPU1173", "mps-runs"])
def test_an_error_stays_whatever_the_name(name: str) -> None:
    text = STACK.replace("mode: timeSlicing, replicas: 10}", "mode: mps, replicas: 100}")
    found = checked(ignoring(name, "replicas: 100}", text))
    (said,) = [each for each in found.report.findings if each.code == "GPU1011"]

    assert not found.report.ok
    assert said.message == (
        "The comment does not let GPU202 (also GPU1173, mps-runs) be: it is an error, for which "
        "the program refuses the stack."
    )


def test_what_is_silenced_is_printed_with_all_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(ignoring("time-slicing-replicas"), encoding="utf-8")
    told = (
        "  silenced GPU208 (also time-slicing-replicas) at line 15 until 9000-01-31: it is known\n"
    )

    assert main(["check", str(file)]) == 0
    assert told in capsys.readouterr().out
    assert main(["check", "--quiet", str(file)]) == 0
    assert told not in capsys.readouterr().out
    file = tmp_path / "pool.yaml"
    comment = f"  # eks-gpushare: ignore node-pool-limits {FAR}"
    file.write_text(POOL.format(comment=comment), encoding="utf-8")
    assert main(["lint", str(file)]) == 0
    assert (
        "  silenced GPU1078 (also GPU746, node-pool-limits) at line 4 " in capsys.readouterr().out
    )
    assert main(["lint", "--json", str(file)]) == 0
    (report,) = json.loads(capsys.readouterr().out)["files"]
    assert [each["names"] for each in report["silenced"]] == [
        ["GPU1078", "GPU746", "node-pool-limits"]
    ]


@pytest.mark.parametrize("name", ["GPU208", "time-slicing-replicas"])
def test_a_policy_lets_be_what_a_comment_of_the_stack_file_does(name: str, tmp_path: Path) -> None:
    policy = "time-slicing-replicas"
    plain, found = policed(STACK, tmp_path), policed(ignoring(name), tmp_path)

    assert broken(plain, policy)
    assert broken(found, policy) == []
    (said,) = told(found)
    assert said.startswith(f"{policy} (also GPU208) is let be at gpushare-device-plugin-config ")
    assert f"by the comment at {tmp_path / 'Pulumi.dev.yaml'}:15: it is known." in said
    assert [each.names for each in found.exempted] == [("GPU208", policy)]


def test_a_comment_is_about_its_pool_only(tmp_path: Path) -> None:
    both = STACK.replace("replicas: 2}", "replicas: 9}")
    wanted = broken(policed(both, tmp_path), "time-slicing-replicas")

    assert wanted
    assert broken(policed(ignoring("GPU208", text=both), tmp_path), "time-slicing-replicas")
    every = ignoring("GPU208", "replicas: 9}", ignoring("GPU208", text=both))
    assert broken(policed(every, tmp_path), "time-slicing-replicas") == []


@pytest.mark.parametrize(
    ("line", "left"),
    [("cluster:", []), ("name: demo", []), ("network:", 1), ("one:", 1), ("config:", 1)],
)
def test_a_policy_that_check_does_not_know_is_let_be_in_its_block(
    line: str, left: Any, tmp_path: Path
) -> None:
    policy = "deletion-protection"
    text = ignoring(policy, line)
    always = {policy: {"stacks": ["dev"]}}
    found = policed(text, tmp_path, **always)

    assert len(broken(policed(STACK, tmp_path, **always), policy)) == 1
    assert len(broken(found, policy)) == (left or 0)
    # `check` does not know what a policy finds, so it is the pack that says what is for nothing.
    assert "GPU1013" not in [each.code for each in checked(text).report.findings]
    idle = [each for each in told(found) if "is for nothing" in each]
    assert len(idle) == (1 if left and line != "config:" else 0)


ON_GPUS = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}


def two_mistakes() -> None:
    k8s.apiextensions.CustomResource(
        "pool",
        api_version="karpenter.sh/v1",
        kind="NodePool",
        metadata={"name": "gpu"},
        spec={
            "limits": {"gpus": "4"},
            "template": {
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.k8s.aws",
                        "kind": "EC2NodeClass",
                        "name": "gpu",
                    },
                    "taints": [{"key": "a", "effect": "NoSchedule"}],
                    "startupTaints": [{"key": "a", "effect": "NoSchedule"}],
                    "requirements": [ON_GPUS],
                }
            },
        },
    )


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What is let be here is nothing to the tests after it."""
    yield
    LEDGER.clear()


def untainted() -> None:
    k8s.apiextensions.CustomResource(
        "pool",
        api_version="karpenter.sh/v1",
        kind="NodePool",
        metadata={"name": "gpu"},
        spec={"template": {"spec": {"requirements": [ON_GPUS]}}},
    )


def of_pool(config: Mapping[str, Any], program: Callable[[], None] = two_mistakes) -> Judged:
    recording = run_program(program, project="demo", stack="dev", config={})
    return judge(POLICIES, recording, config=config)


EXEMPTION = {"resource": "pool", "reason": "It is known.", "until": "9000-01-31"}
POLICY = "karpenter-objects-valid"


def test_a_code_in_the_configuration_lets_its_own_fact_be() -> None:
    everything = of_pool({})
    limits = of_pool({"GPU1057": {"exemptions": [EXEMPTION]}})
    taints = of_pool({POLICY: {"exemptions": [EXEMPTION | {"finding": "GPU752"}]}})
    whole = of_pool({POLICY: {"exemptions": [EXEMPTION]}})

    messages = {v.message for v in everything.violations if v.policy == POLICY}
    assert len(messages) == 2
    (of_limit,) = [each.message for each in limits.exempted]
    (of_taint,) = [each.message for each in taints.exempted]
    assert {of_limit, of_taint} == messages
    assert [each.names for each in limits.exempted] == [("GPU1057", "GPU744", POLICY)]
    assert [broken(each, POLICY) for each in (limits, taints, whole)] == [["pool"], ["pool"], []]


def test_a_policy_lets_be_what_another_says_of_its_fact() -> None:
    plain = of_pool({}, untainted)
    found = of_pool({"gpu-nodes-tainted": {"exemptions": [EXEMPTION]}}, untainted)
    narrow = of_pool(
        {"gpu-nodes-tainted": {"exemptions": [EXEMPTION | {"finding": "GPU306"}]}}, untainted
    )
    other = of_pool({"volumes-encrypted": {"exemptions": [EXEMPTION]}}, untainted)

    policy = "gpu-node-pools-tainted"
    assert [broken(each, policy) for each in (plain, found, narrow, other)] == [
        ["pool"],
        [],
        [],
        ["pool"],
    ]
    assert [policy in each.names for each in found.exempted] == [True]
    assert not [said for said in told(found) if "is for nothing" in said]
    assert len([said for said in told(other) if "is for nothing" in said]) == 1


def test_a_code_that_nothing_needs_is_told_by_that_code() -> None:
    found = of_pool({"GPU1050": {"exemptions": [EXEMPTION]}})

    (said,) = told(found)
    assert said == (
        "The exemption of GPU1050 at pool is for nothing: no resource of that name violates the "
        "rule. Remove it from the configuration."
    )


@pytest.mark.parametrize("given", ["disabled", {"enforcementLevel": "advisory"}, {"stacks": []}])
def test_levels_and_settings_are_of_policies(given: Any) -> None:
    with pytest.raises(PolicyConfigError) as refused:
        of_pool({"GPU1057": given})

    assert str(refused.value) == (
        "GPU1057: a code takes a list of exemptions only; levels and settings are of "
        "karpenter-objects-valid"
    )


def test_a_code_that_no_policy_says_is_refused() -> None:
    with pytest.raises(PolicyConfigError, match="GPU435: no policy has this name"):
        of_pool({"GPU435": {"exemptions": [EXEMPTION]}})
