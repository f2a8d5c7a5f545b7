"""`eks-gpushare preview --before` on programs of any kind, and what it says to users of pools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from tests.conftest import Ran, Run

ROOT = Path(__file__).parents[2]

RAW = """import pulumi
import pulumi_aws as aws

config = pulumi.Config("mine")
protected = config.get_bool("protected")
if not config.get_bool("gone"):
    cluster = aws.eks.Cluster("mine", name="mine", version=config.require("version"),
        role_arn="arn:aws:iam::111122223333:role/a", deletion_protection=protected,
        vpc_config={"subnet_ids": ["subnet-0aaaaaaaaaaaaaaaa"]})
    aws.eks.NodeGroup("nodes", cluster_name=cluster.name, version=config.get("nodes"),
        node_role_arn="arn:aws:iam::111122223333:role/a", subnet_ids=["subnet-0aaaaaaaaaaaaaaaa"],
        scaling_config={"min_size": 1, "desired_size": 2, "max_size": 3})
"""


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            {"version": "1.33"},
            {"version": "1.35"},
            "mine: EKS refuses it: from 1.33 to 1.35 the control plane would skip 1.34 (version).",
        ),
        (
            {"version": "1.35"},
            {"version": "1.33"},
            "mine: EKS refuses it: the control plane is at 1.35, and 1.33 is earlier (version).",
        ),
        (
            {"version": "1.34", "nodes": "1.31"},
            {"version": "1.35", "nodes": "1.31"},
            (
                "nodes: EKS refuses to upgrade the control plane to 1.35 with nodes at 1.31: nodes "
                "may be three minor versions behind it; upgrade nodes first (version)."
            ),
        ),
        (
            {"version": "1.34", "nodes": "1.34"},
            {"version": "1.34", "nodes": "1.35"},
            (
                "nodes: EKS refuses it: nodes at 1.35 are ahead of their control plane, which is "
                "at 1.34 (version)."
            ),
        ),
        (
            {"version": "1.34", "protected": "true"},
            {"version": "1.34", "gone": "true"},
            (
                "mine: it is protected from deletion, so EKS refuses to delete it: turn protection "
                "off in an update of its own first."
            ),
        ),
    ],
)
def test_what_eks_refuses_of_any_program(
    run: Run, tmp_path: Path, before: dict[str, str], after: dict[str, str], says: str
) -> None:
    ran = of_program(run, tmp_path, before, after)

    assert ran.code == 1
    assert [edit["message"] for edit in ran.json["edits"]] == [says]
    assert {edit["effect"] for edit in ran.json["edits"]} == {"refused"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"version": "1.34"}, {"version": "1.35"}),
        ({"version": "1.33", "nodes": "1.31"}, {"version": "1.34", "nodes": "1.31"}),
        ({"version": "1.34", "nodes": "1.31"}, {"version": "1.35", "nodes": "1.35"}),
        ({"version": "1.34"}, {"version": "1.34", "gone": "true"}),
    ],
)
def test_what_eks_takes_of_any_program(
    run: Run, tmp_path: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    ran = of_program(run, tmp_path, before, after)

    assert ran.code == 0, ran.out
    assert "refused" not in {edit["effect"] for edit in ran.json["edits"]}


def of_program(run: Run, folder: Path, before: dict[str, str], after: dict[str, str]) -> Ran:
    (folder / "Pulumi.yaml").write_text("name: mine\nruntime: python\n")
    (folder / "__main__.py").write_text(RAW)
    files: list[Path] = []
    for name, given in (("before", before), ("after", after)):
        config = {"aws:region": "us-west-2", **{f"mine:{k}": v for k, v in given.items()}}
        files.append(folder / f"Pulumi.{name}.yaml")
        files[-1].write_text(yaml.safe_dump({"config": config}))
    return run("preview", str(files[1]), "--before", str(files[0]), "--json", cwd=folder)


def test_what_users_meet_is_told_with_both_bills(run: Run, tmp_path: Path) -> None:
    before = ROOT / "stacks" / "Pulumi.multi-tenant.yaml"
    after = tmp_path / "Pulumi.after.yaml"
    text = before.read_text().replace("replicas: 8, rename: true", "replicas: 4")
    after.write_text(text.replace("      whole:", "      single:"))
    words = ("preview", str(after), "--program", str(ROOT), "--before", str(before))

    document, out = run(*words, "--json").json, run(*words, "--quiet").out

    changes = {each["pool"]: each for each in document["poolChanges"]}
    assert {name: each["change"] for name, each in changes.items()} == {
        "notebooks": "changed",
        "whole": "removed",
        "single": "added",
    }
    assert changes["notebooks"]["request"] == {
        "before": {"nvidia.com/gpu.shared": 1},
        "after": {"nvidia.com/gpu": 1},
    }
    assert document["costBefore"]["usdPerHour"] == document["cost"]["usdPerHour"]
    told = " ".join(out.split())
    assert "notebooks changes: 1.32 $/hour at desired, as before" in told
    assert "change the limit nvidia.com/gpu.shared: 1 to nvidia.com/gpu: 1." in told
    assert "the stack at the desired size 25.48 25.48 - -" in told
    assert {(line["item"], line["name"]) for line in document["costChange"]["items"]} == {
        ("gpuNodes", "gpushare-single"),
        ("gpuNodes", "gpushare-whole"),
    }


@pytest.mark.parametrize(
    "words",
    [
        ("--before", "stacks/Pulumi.dev.yaml"),
        ("--pods", "gpu=3"),
        ("--manifests", "objects"),
    ],
)
def test_what_says_nothing_of_a_pod_is_refused_beside_it(run: Run, words: tuple[str, str]) -> None:
    ran = run("preview", "time-slicing", "--pod", "gpu", *words)

    said = f"eks-gpushare: --pod prints a pod alone: leave {words[0]} away\n"
    assert (ran.code, ran.out, ran.err) == (2, "", said)


def test_a_smaller_contract_ends_no_pod_and_a_tenant_that_goes_takes_its_namespace(
    run: Run, tmp_path: Path
) -> None:
    text = (ROOT / "stacks" / "Pulumi.tenants.yaml").read_text(encoding="utf-8")
    files: list[Path] = []
    for shares in (8, 6):
        declared = yaml.safe_load(text.replace("{shares: 8}", f"{{shares: {shares}}}"))
        tenants = declared["config"]["eks-gpushare:environment"]["tenants"]
        tenants["research"] |= {"queue": False}
        del tenants["research"]["pools"]["slices"]["maximum"]
        if files:
            del tenants["vision"]
        files.append(tmp_path / f"Pulumi.{shares}.yaml")
        files[-1].write_text(yaml.safe_dump(declared), encoding="utf-8")
    before, after = files

    ran = run("preview", str(after), "--program", str(ROOT), "--before", str(before), "--json")

    said = {edit["name"]: edit["message"] for edit in ran.json["edits"]}
    assert (
        "research may have 6 of requests.nvidia.com/gpu.shared in place of 8"
        in (said["gpushare-tenants-research-quota"])
    )
    assert "everything in it" in said["gpushare-tenants-vision-namespace"]
    assert "gpushare-kueue" in said
