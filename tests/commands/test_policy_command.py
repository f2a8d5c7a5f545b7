"""`eks-gpushare policy`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]


def test_time_slicing_has_one_advisory_about_its_ten_replicas(run: Run) -> None:
    ran = run("policy", "time-slicing", "--json")

    violations = ran.json["violations"]
    assert ran.code == 0
    assert [(v["policy"], v["level"]) for v in violations] == [
        ("time-slicing-replicas", "advisory")
    ]


@pytest.mark.parametrize("stack", ["time-slicing", "gpu-operator", "mps", "mig-balanced"])
def test_what_a_chart_is_told_is_judged_with_its_config_map(run: Run, stack: str) -> None:
    assert "not judged" not in run("policy", stack).out


def test_a_mandatory_violation_is_exit_code_one(run: Run, tmp_path: Path) -> None:
    """The same finding, made mandatory by the settings that the engine takes too."""
    config = tmp_path / "levels.json"
    config.write_text(json.dumps({"time-slicing-replicas": "mandatory"}))

    ran = run("policy", "time-slicing", "--config", str(config))

    assert ran.code == 1
    assert ran.out.startswith("time-slicing: refused, 1 mandatory and 0 advisory violations\n")


def test_a_threshold_can_be_set(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "levels.json"
    config.write_text(json.dumps({"time-slicing-replicas": {"maximumReplicas": 10}}))

    ran = run("policy", "time-slicing", "--json", "--config", str(config))

    assert ran.json["violations"] == []


def test_settings_of_a_policy_that_does_not_exist_are_refused(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "levels.json"
    config.write_text(json.dumps({"time-slicing-replica": "mandatory"}))

    ran = run("policy", "time-slicing", "--config", str(config))

    assert ran.code == 2
    assert "time-slicing-replica" in ran.err


def test_settings_that_are_no_json_are_refused(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "levels.json"
    config.write_text("{")

    ran = run("policy", "time-slicing", "--config", str(config))

    assert ran.code == 2
    assert ran.err.startswith(f"eks-gpushare: {config} cannot be used: ")


def test_a_directory_without_a_pack_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    ran = run("policy", "time-slicing", "--pack", str(tmp_path))

    assert (ran.code, ran.err) == (
        2,
        f"eks-gpushare: {tmp_path} holds no policy pack: there is no __main__.py in it.\n",
    )


@pytest.mark.parametrize(("name", "what"), [("none", "is not there"), ("a.py", "is no directory")])
def test_a_pack_that_is_not_there_is_wrong_usage(
    run: Run, tmp_path: Path, name: str, what: str
) -> None:
    (tmp_path / "a.py").write_text("")
    ran = run("policy", "time-slicing", "--pack", str(tmp_path / name))

    assert (ran.code, ran.err) == (
        2,
        (
            f"eks-gpushare: The policy pack {tmp_path / name} {what}. Name the directory of a pack "
            "with --pack.\n"
        ),
    )


def test_a_pack_that_fails_to_load_says_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text("import no_such_module\n")

    ran = run("policy", "time-slicing", "--pack", str(tmp_path))

    assert ran.code == 2
    assert ran.err == (
        f"eks-gpushare: The policy pack in {tmp_path} cannot be loaded. ModuleNotFoundError: "
        "No module named 'no_such_module'\n"
    )


def test_somebody_elses_pack_is_run_as_well(run: Run, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(
        "from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy\n"
        "def no_nat(args, report):\n"
        "    if args.resource_type == 'aws:ec2/natGateway:NatGateway':\n"
        "        report('a NAT gateway costs money')\n"
        "PolicyPack('thrift', enforcement_level=EnforcementLevel.MANDATORY, policies=[\n"
        "    ResourceValidationPolicy('no-nat', 'No NAT gateways.', validate=no_nat)])\n"
    )

    ran = run("policy", "time-slicing", "--pack", str(tmp_path), "--json")

    assert ran.code == 1
    assert [(v["pack"], v["policy"], v["message"]) for v in ran.json["violations"]] == [
        ("thrift", "no-nat", "a NAT gateway costs money")
    ]


def test_a_stack_with_errors_is_not_judged(run: Run, tmp_path: Path, time_slicing: str) -> None:
    file = tmp_path / "Pulumi.wrong.yaml"
    file.write_text(time_slicing.replace("replicas: 10", "replicas: 1"))

    ran = run("policy", str(file), "--program", str(ROOT))

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("wrong: the stack cannot be planned, so no policy was run\n")
    assert "GPU201" in ran.err


FOREIGN = """\
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

image = aws.ec2.get_ami(most_recent=True, owners=["amazon"])
version = aws.ssm.get_parameter(name="/aws/service/eks/release_version")
subnets = aws.ec2.get_subnets(filters=[{"name": "vpc-id", "values": [aws.ec2.get_vpc(id="v").id]}])
address = aws.ec2.get_elastic_ip(public_ip="198.51.100.1")
provider = kubernetes.Provider("cluster", kubeconfig="{}")
options = {"opts": __import__("pulumi").ResourceOptions(provider=provider)}
kubernetes.yaml.v2.ConfigFile("objects", file="objects.yaml", **options)
kubernetes.helm.v4.Chart("chart", chart="nginx", **options)
aws.eks.NodeGroup(
    "nodes",
    cluster_name="theirs",
    node_role_arn=aws.iam.get_role(name="nodes").arn,
    subnet_ids=subnets.ids,
    scaling_config={"min_size": 0, "desired_size": 1, "max_size": 1},
    release_version=version.value,
    tags={"image": image.id, "address": address.id},
)
"""


def foreign(tmp_path: Path) -> str:
    (tmp_path / "__main__.py").write_text(FOREIGN, encoding="utf-8")
    (tmp_path / "Pulumi.yaml").write_text("{name: theirs, runtime: python}\n", encoding="utf-8")
    objects = "{apiVersion: v1, kind: Namespace, metadata: {name: team}}\n"
    (tmp_path / "objects.yaml").write_text(objects, encoding="utf-8")
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config: {aws:region: us-west-2}\n", encoding="utf-8")
    return str(file)


def test_a_program_of_another_project_is_looked_at(run: Run, tmp_path: Path) -> None:
    answers = tmp_path / "answers.yaml"
    answers.write_text("functions: {aws:ec2/getElasticIp:getElasticIp: {id: eipalloc-1}}\n")
    pack = ("--pack", str(ROOT / "policies"), "--answers", str(answers))
    ran = run("policy", foreign(tmp_path), "--json", *pack)

    assert ran.code == 1
    assert "chart" in {v["urn"].rpartition("::")[2] for v in ran.json["violations"]}


def test_an_answer_that_is_missing_is_asked_for(run: Run, tmp_path: Path) -> None:
    ran = run("policy", foreign(tmp_path), "--pack", str(ROOT / "policies"))

    assert ran.code == 1
    assert "name that with --answers FILE:\n\nfunctions:\n" in ran.err
    assert "  - args:\n      publicIp: 198.51.100.1\n    result:\n" in ran.err
    assert "\n      associationId: '...'\n" in ran.err


def test_what_is_asked_for_can_be_given_as_it_is_printed(run: Run, tmp_path: Path) -> None:
    file, pack = foreign(tmp_path), ("--pack", str(ROOT / "policies"))
    asked = run("policy", file, *pack).err
    answers = tmp_path / "answers.yaml"
    answers.write_text("functions:\n" + asked.split("functions:\n")[1].partition("\n\n")[0])

    assert run("policy", file, "--answers", str(answers), *pack).out.startswith("dev: refused, ")


def test_answers_that_cannot_be_used_are_wrong_usage(run: Run, tmp_path: Path) -> None:
    ran = run("policy", foreign(tmp_path), "--answers", str(tmp_path / "none.yaml"))

    assert ran.code == 2
    assert ran.err.startswith(f"eks-gpushare: {tmp_path / 'none.yaml'} cannot be read")


@pytest.mark.parametrize("width", [60, 72])
def test_what_is_printed_is_as_wide_as_columns_says(
    run: Run, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("policy", "time-slicing", "multi-tenant").out.splitlines()
    long = [each for each in lines if len(each) > width and " " in each.strip()]

    assert any("advisory time-slicing-replicas" in each for each in lines)
    assert [each for each in long if "violations" not in each] == []


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("time-slicing",), "STACK"),
        (("--state", "state.json", "--pack", "policies"), "--state, --pack"),
    ],
)
def test_a_pack_that_is_written_judges_nothing(
    run: Run, tmp_path: Path, words: tuple[str, ...], shown: str
) -> None:
    ran = run("policy", *words, "--write-pack", str(tmp_path / "pack"))

    assert ran.code == 2
    assert ran.err == f"eks-gpushare: --write-pack judges nothing: leave {shown} away\n"
    assert not (tmp_path / "pack").exists()


def test_rules_are_listed_with_the_levels_of_a_preset(run: Run) -> None:
    found = run("policy", "--list", "--json", "--preset", "baseline").json["policies"]

    levels = {rule["policy"]: rule["level"] for rule in found}
    assert len(levels) > 90
    assert levels["roles-bounded"] == "mandatory"
    assert levels["api-authentication"] == "advisory"


def test_a_rule_that_is_named_is_told_whole(run: Run) -> None:
    ran = run("policy", "--list", "node-repair-on")

    assert ran.out.startswith("node-repair-on, advisory, severity low\n  EKS must repair GPU nodes")
    assert "To comply: Set `pools.<pool>.nodeRepair: true`" in ran.out


def test_a_rule_that_is_not_there_is_told_with_what_is_near(run: Run) -> None:
    ran = run("policy", "--list", "role-bounded")

    assert ran.code == 2
    assert ran.err == ("eks-gpushare: there is no rule role-bounded; did you mean roles-bounded?\n")


def test_a_list_judges_nothing(run: Run) -> None:
    ran = run("policy", "--state", "state.json", "--list")

    assert ran.code == 2
    assert ran.err == "eks-gpushare: --list judges nothing: leave STACK and --state away\n"
