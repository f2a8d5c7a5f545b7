"""Look-ups and charts of programs of other projects, and answers that their users give."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes
import pytest
import yaml

from eks_gpushare.program.fakes.answers import fakes_with
from eks_gpushare.program.run import run_program
from eks_gpushare.stack_file.project import ProjectError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eks_gpushare.program.fakes.fakes import Fakes
    from eks_gpushare.program.recording import Recording
    from eks_gpushare.program.run import Program

pytestmark = pytest.mark.sdk_internals


def record(program: Program, *, preview: bool = True, fakes: Fakes | None = None) -> Recording:
    recording = run_program(
        program,
        project="demo",
        stack="dev",
        config={"aws:region": "eu-west-1"},
        preview=preview,
        fakes=fakes,
    )
    assert recording.error is None, recording.error.traceback or str(recording.error)
    return recording


ASKED: dict[str, Callable[[], Any]] = {
    "vpc": lambda: aws.ec2.get_vpc(default=True).id,
    "its range": lambda: aws.ec2.get_vpc(id="vpc-1").cidr_block,
    "subnets": lambda: aws.ec2.get_subnets(filters=[{"name": "vpc-id", "values": ["v"]}]).ids[0],
    "subnet": lambda: aws.ec2.get_subnet(id="subnet-1").availability_zone,
    "security group": lambda: aws.ec2.get_security_group(name="web", vpc_id="vpc-1").id,
    "ami": lambda: aws.ec2.get_ami(most_recent=True, owners=["amazon"]).id,
    "architecture": lambda: aws.ec2.get_ami(most_recent=True, owners=["amazon"]).architecture,
    "parameter": lambda: aws.ssm.get_parameter(name="/aws/service/eks/x/image_id").value,
    "role": lambda: aws.iam.get_role(name="Admin").arn,
    "policy": lambda: aws.iam.get_policy(arn="arn:aws:iam::aws:policy/ReadOnlyAccess").name,
    "key": lambda: aws.kms.get_key(key_id="alias/eks").arn,
    "zone": lambda: aws.route53.get_zone(name="example.com.").name,
    "identity": lambda: aws.get_caller_identity().account_id,
    "partition": lambda: aws.get_partition().partition,
    "region": lambda: aws.get_region().region,
    "zones": lambda: aws.get_availability_zones().names[0],
}


@pytest.mark.parametrize("asked", ASKED)
def test_what_programs_usually_ask_is_answered_the_same_each_time(asked: str) -> None:
    def program() -> None:
        first, second = ASKED[asked](), ASKED[asked]()
        assert isinstance(first, str)
        assert first
        assert first == second

    record(program)


def test_what_is_made_up_is_said() -> None:
    recording = record(lambda: aws.ec2.get_ami(owners=["amazon"]).id)

    assert [text.split(" is taken ")[1] for text in recording.assumptions] == [
        "to be what a look-up of an AMI finds in eu-west-1."
    ]


def test_a_parameter_that_may_be_a_secret_stays_one() -> None:
    def program() -> None:
        pulumi.export("token", aws.ssm.get_parameter_output(name="token").value)

    assert str(record(program).outputs["token"]) == "[secret]"


# https://registry.terraform.io/providers/hashicorp/aws/latest/docs/data-sources/iam_policy_document
# shows both the arguments and what they become.
DOCUMENTED: dict[str, Any] = {
    "statements": [
        {
            "sid": "1",
            "actions": ["s3:ListAllMyBuckets", "s3:GetBucketLocation"],
            "resources": ["*"],
        },
        {
            "actions": ["s3:ListBucket"],
            "resources": ["arn:aws:s3:::example"],
            "conditions": [
                {
                    "test": "StringLike",
                    "variable": "s3:prefix",
                    "values": ["", "home/", "home/&{aws:username}/"],
                }
            ],
        },
    ]
}


def test_a_policy_document_is_computed() -> None:
    found: list[str] = []
    record(lambda: found.append(aws.iam.get_policy_document(**DOCUMENTED).json))

    assert json.loads(found[0]) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "1",
                "Effect": "Allow",
                "Action": ["s3:ListAllMyBuckets", "s3:GetBucketLocation"],
                "Resource": "*",
            },
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": "arn:aws:s3:::example",
                "Condition": {"StringLike": {"s3:prefix": ["home/&{aws:username}/", "home/", ""]}},
            },
        ],
    }


def test_policy_documents_are_joined_by_their_sids() -> None:
    def document(sid: str, action: str, **more: Any) -> str:
        given: Any = {"sid": sid, "actions": [action], "resources": ["*"]}
        return str(aws.iam.get_policy_document(statements=[given], **more).json)

    found: list[Any] = []

    def program() -> None:
        base = document("one", "s3:Get")
        over = document("two", "s3:List")
        joined = document(
            "two", "s3:Put", source_policy_documents=[base], override_policy_documents=[over]
        )
        found.extend((each["Sid"], each["Action"]) for each in json.loads(joined)["Statement"])

    record(program)

    assert found == [("one", "s3:Get"), ("two", "s3:List")]


def test_a_list_of_a_question_is_asked_without_what_is_not_known() -> None:
    """Programs give outputs to plain look-ups; the engine leaves unknown ones out of lists."""

    def program() -> None:
        bucket = aws.s3.Bucket("bucket")
        statement: Any = {"actions": ["s3:*"], "resources": ["arn:aws:s3:::other", bucket.arn]}
        found.append(aws.iam.get_policy_document(statements=[statement]).json)

    found: list[str] = []
    record(program)

    assert json.loads(found[0])["Statement"] == [
        {"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::other"}
    ]


def test_principals_of_a_policy_document() -> None:
    principals = [
        {"type": "Service", "identifiers": ["ec2.amazonaws.com"]},
        {"type": "AWS", "identifiers": ["111122223333", "444455556666"]},
    ]
    found: list[str] = []

    def program() -> None:
        given: Any = {"actions": ["sts:AssumeRole"], "principals": principals}
        found.append(aws.iam.get_policy_document(statements=[given]).json)

    record(program)

    assert json.loads(found[0])["Statement"][0]["Principal"] == {
        "Service": "ec2.amazonaws.com",
        "AWS": ["444455556666", "111122223333"],
    }


ADDRESS = "https://example.com/manifests.yaml"
CHARTS: dict[str, Callable[[], Any]] = {
    "helm.sh/v4:Chart": lambda: kubernetes.helm.v4.Chart("it", chart="nginx"),
    "yaml/v2:ConfigFile": lambda: kubernetes.yaml.v2.ConfigFile("it", file=ADDRESS),
    "yaml/v2:ConfigGroup": lambda: kubernetes.yaml.v2.ConfigGroup("it", files=[ADDRESS]),
    "kustomize/v2:Directory": lambda: kubernetes.kustomize.v2.Directory("it", directory="."),
}


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
@pytest.mark.parametrize("kind", CHARTS)
def test_what_the_plugin_renders_is_a_resource_whose_objects_are_unknown(
    kind: str, *, preview: bool
) -> None:
    recording = record(CHARTS[kind], preview=preview)

    assert [each.name for each in recording.of_type(f"kubernetes:{kind}")] == ["it"]
    assert recording.assumptions == [
        f"The objects of it ({kind}) are not known here: policies miss them."
    ]


OBJECTS = """\
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: ConfigMapList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: team}}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {token: hunter2}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
"""


def made_by(kind: str, file: Path) -> Callable[[], Any]:
    text = file.read_text(encoding="utf-8")
    v2 = kubernetes.yaml.v2
    return {
        "file": lambda: v2.ConfigFile("it", file=str(file)),
        "pattern": lambda: v2.ConfigGroup("it", files=[str(file.parent / "*.yaml")]),
        "text": lambda: v2.ConfigGroup("it", yaml=text),
        "data": lambda: v2.ConfigGroup(
            "it", objs=list(yaml.safe_load_all(text))[:1], yaml=_rest(text)
        ),
    }[kind]


def _rest(text: str) -> str:
    return text.partition("---")[2]


# The names are those that yaml/v2/yaml.go gives: prefix, namespace, name.
@pytest.mark.parametrize("kind", ["file", "pattern", "text", "data"])
def test_objects_of_version_2_are_known(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(OBJECTS, encoding="utf-8")
    recording = record(made_by(kind, file))

    assert sorted((each.type, each.name) for each in recording.resources if each.custom) == sorted(
        [
            ("kubernetes:core/v1:ConfigMap", "it:team/one"),
            ("kubernetes:core/v1:Namespace", "it:team"),
            ("kubernetes:core/v1:Secret", "it:default/token"),
            ("kubernetes:karpenter.sh/v1:NodePool", "it:gpu"),
        ]
    )
    assert recording.assumptions == []
    (secret,) = recording.of_type("kubernetes:core/v1:Secret")
    assert str(secret.inputs["stringData"]) == "[secret]"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda: kubernetes.yaml.v2.ConfigFile("it", file="none.yaml"), "none.yaml cannot be read"),
        (lambda: kubernetes.yaml.v2.ConfigGroup("it", files=["none*"]), "no file is found at"),
        (
            lambda: kubernetes.yaml.v2.ConfigGroup("it", yaml="a: ["),
            "the YAML of it cannot be read",
        ),
        (lambda: kubernetes.yaml.v2.ConfigGroup("it", yaml="- a"), "something else than objects"),
        (
            lambda: kubernetes.yaml.v2.ConfigGroup("it", yaml="kind: Pod"),
            "every object needs apiVersion, kind and metadata.name; one has none, Pod, none",
        ),
    ],
)
def test_objects_that_cannot_be_read_are_refused(program: Program, message: str) -> None:
    recording = run_program(program, project="demo", stack="dev", config={})

    assert recording.error is not None
    assert message in recording.error.text


def test_objects_of_a_config_file_of_version_1_are_known(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n---\n"
        "apiVersion: v1\nkind: ConfigMapList\nitems:\n"
        "- {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: team}}\n",
        encoding="utf-8",
    )
    recording = record(lambda: kubernetes.yaml.ConfigFile("it", str(file)))
    objects = [each for each in recording.resources if each.custom]

    assert {(each.type, each.inputs["metadata"]["name"]) for each in objects} == {
        ("kubernetes:core/v1:Namespace", "team"),
        ("kubernetes:core/v1:ConfigMap", "one"),
    }


def test_a_chart_of_version_3_is_not_rendered() -> None:
    options = kubernetes.helm.v3.ChartOpts(chart="nginx")
    recording = record(lambda: kubernetes.helm.v3.Chart("it", options))

    assert len(recording.assumptions) == 1
    assert recording.assumptions[0].endswith("is not known here: policies miss it.")


def answers(tmp_path: Path, text: str) -> Fakes:
    file = tmp_path / "answers.yaml"
    file.write_text(text, encoding="utf-8")
    return fakes_with(file)


def test_answers_of_a_file_go_over_the_usual_ones(tmp_path: Path) -> None:
    fakes = answers(
        tmp_path,
        """\
functions:
  aws:ec2/getVpc:getVpc: {id: vpc-mine, cidrBlock: 10.1.0.0/16}
  aws:ssm/getParameter:getParameter:
  - {args: {name: one}, result: {value: "1"}}
  - {result: {value: other}}
components:
  awsx:ec2:Vpc: {vpcId: vpc-theirs}
""",
    )

    class Vpc(pulumi.ComponentResource):
        vpc_id: pulumi.Output[str]

        def __init__(self) -> None:
            super().__init__("awsx:ec2:Vpc", "vpc", {"vpcId": None}, remote=True)

    def program() -> None:
        assert aws.ec2.get_vpc(default=True).id == "vpc-mine"
        assert aws.ssm.get_parameter(name="one").value == "1"
        assert aws.ssm.get_parameter(name="two").value == "other"
        assert aws.get_region().region == "eu-west-1"
        pulumi.export("vpc", Vpc().vpcId)  # type: ignore[attr-defined]  # an output of a plugin

    assert record(program, fakes=fakes).outputs == {"vpc": "vpc-theirs"}


MAPPING = "has to be a mapping of its outputs, such as `{id: ...}`, and is"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("functions: [", "answers.yaml:1: "),
        ("- functions", "1: the file has to be a mapping with the keys functions, components, "),
        ("function: {}", "1: 'function' is none of the keys functions, components, methods. Did "),
        ("# one\nx: {}", "2: 'x' is none of the keys functions, components, methods."),
        ("functions:\n  a: {}", "2: 'a' is no token. Tokens have three parts, such as `aws:ec2/"),
        ("functions:\n  1: {}", "2: '1' is no token."),
        ("functions:\n  a:b:c: d", f"2: what a:b:c answers {MAPPING} text."),
        ("functions:\n  a:b:c:", f"2: what a:b:c answers {MAPPING} empty."),
        ("functions:\n  a:b:c: 3", f"2: what a:b:c answers {MAPPING} 3."),
        ("functions:\n  a:b:c:\n  - args: {}", "3: an answer in the list of a:b:c has to be a "),
        ("functions:\n  a:b:c:\n  - {result: {}, x: 1}", "3: an answer in the list of a:b:c "),
        ("functions:\n  a:b:c:\n  - result: []", f"3: what a:b:c answers {MAPPING} a list."),
        ("functions:\n  a:b:c:\n  - result: {}\n    args: 1", "4: `args` of a:b:c has to be a "),
        ("components: []", "1: components has to be a mapping of tokens to what they answer"),
        ("components:\n  a:b:C: [{result: {}}]", f"2: what a:b:C answers {MAPPING} a list."),
        ("methods: 1", "1: methods has to be a mapping of tokens to what they answer, and is 1."),
    ],
)
def test_answers_that_are_none_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ProjectError) as refusal:
        answers(tmp_path, text)

    assert f"answers.yaml:{message.removeprefix('answers.yaml:')}" in str(refusal.value)


def test_arguments_that_no_answer_fits_are_asked_for(tmp_path: Path) -> None:
    fakes = answers(
        tmp_path,
        """\
functions:
  aws:ec2/getVpc:getVpc:
  - {args: {tags: {team: ml}}, result: {id: vpc-ml}}
""",
    )
    found: list[str] = []

    def program() -> None:
        found.append(aws.ec2.get_vpc(tags={"team": "ml", "stage": "dev"}).id)
        aws.ec2.get_vpc(tags={"team": "web"})

    recording = run_program(
        program, project="demo", stack="dev", config={"aws:region": "eu-west-1"}, fakes=fakes
    )

    assert found == ["vpc-ml"]
    assert recording.error is not None
    assert "none of the answers that --answers gives for 'aws:ec2/getVpc:getVpc' fits" in (
        recording.error.text
    )
    assert "  - args:\n      tags:\n        team: web\n    result:\n" in recording.error.text


def test_methods_are_answered(tmp_path: Path) -> None:
    fakes = answers(tmp_path, "methods: {eks:index:Cluster/getKubeconfig: {result: mine}}")

    def program() -> None:
        made = eks.Cluster("open", version="1.35", vpc_id="vpc-1", subnet_ids=["subnet-1"])
        pulumi.export("text", made.get_kubeconfig())

    assert record(program, fakes=fakes).outputs == {"text": "mine"}


def test_a_component_that_is_answered_is_said_not_to_be_looked_into(tmp_path: Path) -> None:
    fakes = answers(tmp_path, "components: {demo:index:Net: {vpcId: vpc-1}}")

    def program() -> None:
        pulumi.ComponentResource("demo:index:Net", "net", {"vpcId": None}, remote=True)

    assert record(program, fakes=fakes).assumptions == [
        (
            "What net (demo:index:Net) makes is not known here: policies miss it. Its outputs are "
            "those of the file of --answers."
        )
    ]


def test_answers_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="cannot be read"):
        fakes_with(tmp_path / "none.yaml")
