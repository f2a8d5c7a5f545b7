"""Clusters and Auto Scaling groups of Terraform's plans."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from foreign_reading import problems

from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.problem import NotSeen
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.empty_groups import from_zero
from eks_gpushare.lint.readers.terraform import TerraformReader
from eks_gpushare.lint.terraform_configuration import TerraformConfiguration
from eks_gpushare.lint.terraform_groups import TAG, with_tags
from eks_gpushare.lint.terraform_templates import Templates
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding

ALL = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
CONFIG = {
    "endpoint_public_access": True,
    "endpoint_private_access": True,
    "public_access_cidrs": ["203.0.113.0/24"],
}
ENCRYPTION = {"provider": [{"key_arn": "arn:aws:kms:..."}], "resources": ["secrets"]}
CLUSTER: dict[str, Any] = {
    "name": "gpu",
    "vpc_config": [CONFIG],
    "encryption_config": [ENCRYPTION],
    "enabled_cluster_log_types": ALL,
}


def plan(
    *resources: tuple[str, dict[str, Any]],
    unknown: Any = None,
    expressions: dict[str, Any] | None = None,
) -> str:
    """A plan of resources by address; what is not known of the first, and how some are written."""
    planned = [
        {
            "address": address,
            "mode": "managed",
            "type": address.partition(".")[0],
            "name": address.partition(".")[2],
            "values": values,
        }
        for address, values in resources
    ]
    change = {"address": resources[0][0], "change": {"after_unknown": unknown or {}}}
    written = [
        {"address": address, "expressions": each} for address, each in (expressions or {}).items()
    ]
    return json.dumps(
        {
            "format_version": "1.2",
            "planned_values": {"root_module": {"resources": planned}},
            "resource_changes": [change],
            "configuration": {"root_module": {"resources": written}},
        }
    )


def found_in(text: str) -> list[Finding]:
    (report,) = lint_files([GivenFile("plan.json", text)])
    return list(report.findings)


def codes(text: str) -> list[str]:
    return [each.code for each in found_in(text)]


def of_cluster(**changes: Any) -> str:
    return plan(("aws_eks_cluster.gpu", {**CLUSTER, **changes}))


def vpc(**changes: Any) -> dict[str, Any]:
    made = {**CONFIG, **changes}
    return {"vpc_config": [{key: each for key, each in made.items() if each is not None}]}


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("GPU1087", vpc(public_access_cidrs=["0.0.0.0/0"])),
        ("GPU1087", vpc(public_access_cidrs=["10.0.0.0/8", "0.0.0.0/1", "128.0.0.0/1"])),
        ("GPU1087", vpc(public_access_cidrs=["::/0"])),
        ("GPU1087", vpc(public_access_cidrs=[])),
        ("GPU1087", vpc(public_access_cidrs=None)),
        ("GPU1087", vpc(public_access_cidrs=None, endpoint_public_access=None)),
        ("GPU1088", {"encryption_config": []}),
        ("GPU1088", {"encryption_config": None}),
        ("GPU1088", {"encryption_config": [{**ENCRYPTION, "resources": []}]}),
        ("GPU1088", {"encryption_config": [{"provider": [{}], "resources": ["secrets"]}]}),
        ("GPU1089", {"enabled_cluster_log_types": None}),
        ("GPU1089", {"enabled_cluster_log_types": []}),
        ("GPU1089", {"enabled_cluster_log_types": ["api", "audit"]}),
        ("GPU1090", vpc(endpoint_private_access=False)),
        ("GPU1090", vpc(endpoint_private_access=None)),
    ],
)
def test_one_thing_of_a_cluster_is_wrong(code: str, changes: dict[str, Any]) -> None:
    assert codes(of_cluster(**changes)) == [code]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        vpc(endpoint_public_access=False, public_access_cidrs=None),
        vpc(endpoint_public_access=False, public_access_cidrs=["0.0.0.0/0"]),
        {"enabled_cluster_log_types": [*reversed(ALL)]},
    ],
)
def test_right_clusters_pass(changes: dict[str, Any]) -> None:
    assert codes(of_cluster(**changes)) == []


def test_nodes_come_through_an_endpoint_that_is_open_to_all() -> None:
    found = found_in(of_cluster(**vpc(endpoint_private_access=False, public_access_cidrs=None)))

    assert [(each.code, each.severity) for each in found] == [
        ("GPU1087", "error"),
        ("GPU1090", "info"),
    ]


UNTOLD = {"vpc_config": [{"public_access_cidrs": True}]}


def test_networks_that_nobody_writes_are_all() -> None:
    """The provider computes them, so that a plan has them as known after apply."""
    values = {**CLUSTER, **vpc(public_access_cidrs=None)}
    address = "aws_eks_cluster.gpu"
    written = {address: {"vpc_config": [{"subnet_ids": {"references": ["var.subnets"]}}]}}

    assert codes(plan((address, values), unknown=UNTOLD, expressions=written)) == ["GPU1087"]


@pytest.mark.parametrize(
    "block",
    [
        {"vpc_config": [{"public_access_cidrs": {"references": ["aws_eip.nat"]}}]},
        {},  # a dynamic block is not written out
        None,
    ],
)
def test_networks_that_will_be_known_later_are_not_judged(block: dict[str, Any] | None) -> None:
    values = {**CLUSTER, **vpc(public_access_cidrs=None)}
    address = "aws_eks_cluster.gpu"
    written = {} if block is None else {address: block}
    text = plan((address, values), unknown=UNTOLD, expressions=written)
    (document,) = read_texts(text, "plan.json").documents

    (said,) = TerraformReader().read(document).judgements
    assert isinstance(said, NotSeen)
    assert said.what == "who may use the public endpoint of aws_eks_cluster.gpu"
    (report,) = lint_files([GivenFile("plan.json", text)])
    assert [each.severity for each in report.findings] == ["info"]


ADDRESS = "aws_eks_cluster.gpu"


@pytest.mark.parametrize(
    ("written", "given", "kept"),
    [
        ([{}], [{"a": UNKNOWN, "b": 1}], [{"b": 1}]),
        ([{}, 5], [{"a": UNKNOWN}, 5], [{}]),
        ([5, {}], [5, {"a": UNKNOWN}], None),
        ([{}], [5, {"a": UNKNOWN}], None),
        ([{"a": {}}], [{"a": UNKNOWN}], None),
        ([{}], [{"a": 1}], None),
        ([{}], [{"b": 1}], None),
        ([{}], UNKNOWN, None),
        ([{}], [], None),
        ([], [{"a": UNKNOWN}], None),
        (None, [{"a": UNKNOWN}], None),
    ],
)
def test_what_aws_fills_in_is_taken_away_where_nobody_wrote_it(
    written: Any, given: Any, kept: Any
) -> None:
    resource = {"address": ADDRESS, "expressions": {"block": written}}
    tree = {"configuration": {"root_module": {"resources": [resource]}}}
    values = {"block": given, "name": "gpu"}

    found = TerraformConfiguration(tree).without_computed(f"{ADDRESS}[0]", values, "block", "a")
    assert found == (values if kept is None else {**values, "block": kept})


def test_a_key_that_the_plan_makes_is_one() -> None:
    values = {**CLUSTER, "encryption_config": [{"provider": [{}], "resources": ["secrets"]}]}
    unknown = {"encryption_config": [{"provider": [{"key_arn": True}]}]}

    assert codes(plan(("aws_eks_cluster.gpu", values), unknown=unknown)) == []


@pytest.mark.parametrize("unknown", [[True], [{"resources": True}]])
def test_what_a_key_is_for_may_not_be_known(unknown: Any) -> None:
    values = {**CLUSTER, "encryption_config": [{"provider": [{}], "resources": []}]}
    given = plan(("aws_eks_cluster.gpu", values), unknown={"encryption_config": unknown})

    found = found_in(given)
    assert [(each.code, each.severity) for each in found] == [("GPU1088", "info")]


@pytest.mark.parametrize(
    ("cidrs", "key"), [([], "endpoint_public_access"), (["::/0"], "public_access_cidrs")]
)
def test_an_open_endpoint_is_shown_where_it_is_written(cidrs: list[str], key: str) -> None:
    (found,) = found_in(of_cluster(**vpc(public_access_cidrs=cidrs)))

    assert found.path.endswith(f"vpc_config[0].{key}")


# --- Auto Scaling groups --------------------------------------------------------------------------

RESOURCE = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"
USER_DATA = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec: {kubelet: {flags: ["--register-with-taints=nvidia.com/gpu=true:NoSchedule"]}}
"""
TEMPLATE = {
    "name": "gpu",
    "image_id": "ami-0123456789abcdef0",
    "instance_type": "g6.xlarge",
    "user_data": base64.b64encode(USER_DATA.encode()).decode(),
}


def tag(key: str, value: Any, *, propagate: bool = True) -> dict[str, Any]:
    return {"key": key, "value": value, "propagate_at_launch": propagate}


OWNED = tag("kubernetes.io/cluster/gpu", "owned")
GROUP: dict[str, Any] = {
    "name": "gpu",
    "min_size": 0,
    "max_size": 4,
    "launch_template": [{"name": "gpu", "version": "1"}],
    "tag": [OWNED, tag(RESOURCE, "4", propagate=False)],
}


def nodes_of(*resources: tuple[str, dict[str, Any]], **more: Any) -> list[NodeSet]:
    reading = read_files([GivenFile("plan.json", plan(*resources, **more))])
    reading.judge(())
    return [each for each in reading.items if isinstance(each, NodeSet)]


def of_group(**changes: Any) -> list[NodeSet]:
    group = ("aws_autoscaling_group.gpu", {**GROUP, **changes})
    return nodes_of(group, ("aws_launch_template.gpu", TEMPLATE))


def test_a_group_with_its_template() -> None:
    (found,) = of_group()

    assert (found.name, found.provisioner, found.instance_types) == (
        "gpu",
        "selfManaged",
        ("g6.xlarge",),
    )
    assert (found.least, found.most, found.promised) == (0, 4, {"nvidia.com/gpu": "4"})
    assert found.ami == "ami-0123456789abcdef0"
    assert found.user_data == USER_DATA


def test_tags_as_a_list_of_older_providers() -> None:
    (found,) = of_group(tag=None, tags=[OWNED, tag(RESOURCE, 8)])

    assert found.promised == {"nvidia.com/gpu": "8"}


def test_types_of_a_mixed_policy() -> None:
    block = {
        "launch_template_specification": [{"launch_template_name": "gpu"}],
        "override": [{"instance_type": "g6.2xlarge"}, {"instance_type": "g5.2xlarge"}],
    }
    (found,) = of_group(launch_template=[], mixed_instances_policy=[{"launch_template": [block]}])

    assert found.instance_types == ("g6.2xlarge", "g5.2xlarge")
    assert found.user_data == USER_DATA


@pytest.mark.parametrize(
    ("override", "unknown", "types"),
    [
        ([{"instance_type": "g5.xlarge"}, {"instance_type": ""}], None, ("g5.xlarge",)),
        ([{"instance_type": ""}], None, ("g6.xlarge",)),
        ([{"instance_type": "g5.xlarge"}, {}], [{}, {"instance_type": True}], UNKNOWN),
        (None, True, UNKNOWN),
        ([{"instance_type": "", "instance_requirements": [{"accelerator_count": [{"min": 1}]}]}],
         None, UNKNOWN),
        ([{"instance_type": "g5.xlarge", "instance_requirements": []}], None, ("g5.xlarge",)),
    ],
)  # fmt: skip
def test_overrides_that_are_not_known_or_say_no_type(
    override: Any, unknown: Any, types: Any
) -> None:
    named = {"launch_template_specification": [{"launch_template_name": "gpu"}]}
    policy = [{"launch_template": [{**named, "override": override}]}]
    group = {**GROUP, "launch_template": [], "mixed_instances_policy": policy}
    told = {} if unknown is None else {"override": unknown}
    (found,) = nodes_of(
        ("aws_autoscaling_group.gpu", group),
        ("aws_launch_template.gpu", TEMPLATE),
        unknown={"mixed_instances_policy": [{"launch_template": [told]}]},
    )

    assert found.instance_types == types


def test_a_launch_configuration() -> None:
    group = {**GROUP, "launch_template": [], "launch_configuration": "old"}
    older = {"name": "old", "instance_type": "g5.xlarge", "user_data": USER_DATA}
    (found,) = nodes_of(
        ("aws_autoscaling_group.gpu", group), ("aws_launch_configuration.old", older)
    )

    assert (found.instance_types, found.user_data) == (("g5.xlarge",), USER_DATA)


def test_a_template_and_tags_that_are_referred_to() -> None:
    address = "aws_autoscaling_group.gpu"
    group = {**GROUP, "launch_template": [{"version": "1"}], "tag": [OWNED]}
    other = ("aws_launch_template.other", {"name": "other", "instance_type": "m5.large"})
    told = "aws_autoscaling_group_tag.gpu"
    written = {
        address: {"launch_template": [{"id": {"references": ["aws_launch_template.gpu.id"]}}]},
        told: {"autoscaling_group_name": {"references": [f"{address}.name", address]}},
    }
    (found,) = nodes_of(
        (address, group),
        ("aws_launch_template.gpu", TEMPLATE),
        other,
        (told, {"tag": [tag(RESOURCE, "6")]}),
        unknown={"launch_template": [{"id": True}]},
        expressions=written,
    )

    assert (found.instance_types, found.promised) == (("g6.xlarge",), {"nvidia.com/gpu": "6"})


def test_tags_on_the_group_that_eks_makes() -> None:
    pool = {"node_group_name": "gpu", "instance_types": ["g5.xlarge"]}
    made = {**pool, "resources": [{"autoscaling_groups": [{"name": "eks-gpu-1"}]}]}
    address, told = "aws_eks_node_group.gpu", "aws_autoscaling_group_tag.gpu"
    named = {"autoscaling_group_name": "eks-gpu-1", "tag": [tag(RESOURCE, "4")]}
    references = [f"{address}.resources[0].autoscaling_groups[0].name", f"{address}.resources"]
    written = {told: {"autoscaling_group_name": {"references": references}}}

    (known,) = nodes_of((address, made), (told, named))
    (referred,) = nodes_of(
        (address, pool), (told, {"tag": [tag(RESOURCE, "4")]}), expressions=written
    )

    assert known.promised == referred.promised == {"nvidia.com/gpu": "4"}


def test_which_of_several_groups_a_tag_is_for_is_not_told() -> None:
    pool = {"node_group_name": "gpu", "instance_types": ["g5.xlarge"]}
    told = 'aws_autoscaling_group_tag.gpu["a"]'
    written = {
        "aws_autoscaling_group_tag.gpu": {
            "autoscaling_group_name": {"references": ["aws_eks_node_group.gpu"]}
        }
    }
    found = nodes_of(
        ('aws_eks_node_group.gpu["a"]', pool),
        ('aws_eks_node_group.gpu["b"]', pool),
        (told, {"tag": [tag(RESOURCE, "4")]}),
        expressions=written,
    )

    assert [each.promised for each in found] == [{"nvidia.com/gpu": UNKNOWN}] * 2


def test_a_key_may_follow_a_dot() -> None:
    pools = [
        NodeSet(
            source=Source(f'module.pools["{key}"].aws_eks_node_group.this'),
            name=key,
            provisioner="managed",
        )
        for key in "ab"
    ]
    told = (Source("aws_autoscaling_group_tag.gpu"), TAG, {"tag": [tag(RESOURCE, "4")]})
    refers = {"autoscaling_group_name": {"references": ["module.pools.a.name"]}}
    resources = [{"address": told[0].name, "expressions": refers}]
    written = TerraformConfiguration({"configuration": {"root_module": {"resources": resources}}})
    found = list(with_tags(pools, [told], written))

    assert [getattr(each, "promised", None) for each in found] == [{"nvidia.com/gpu": "4"}, {}]


@pytest.mark.parametrize("reference", ["aws_eks_node_group", "helm_release.nvdp.name"])
def test_a_tag_of_another_thing_is_none_of_a_group(reference: str) -> None:
    pool = {"node_group_name": "gpu", "instance_types": ["g5.xlarge"]}
    told = "aws_autoscaling_group_tag.gpu"
    written = {told: {"autoscaling_group_name": {"references": [reference]}}}
    (found,) = nodes_of(
        ("aws_eks_node_group.gpu", pool),
        ("helm_release.nvdp", {"name": "nvdp", "chart": "nvidia-device-plugin"}),
        (told, {"tag": [tag(RESOURCE, "4")]}),
        expressions=written,
    )

    assert found.promised == {}


@pytest.mark.parametrize(
    ("flags", "given"),
    [
        ("--node-labels=team=ml", "labels"),
        ("--register-with-taints=nvidia.com/gpu=true:NoSchedule", "taints"),
        ("--node-labels=a=b --register-with-taints=c=d:NoSchedule", "labels and taints"),
    ],
)
def test_what_an_autoscaler_is_not_told_of(flags: str, given: str) -> None:
    data = f"#!/bin/bash\n/etc/eks/bootstrap.sh gpu --kubelet-extra-args '{flags}'\n"
    template = {**TEMPLATE, "user_data": base64.b64encode(data.encode()).decode()}
    group = ("aws_autoscaling_group.gpu", {**GROUP, "tag": [OWNED]})
    reading = read_files(
        [GivenFile("plan.json", plan(group, ("aws_launch_template.gpu", template)))]
    )
    reading.judge(())

    found = [each for report in reading.reports() for each in report.findings]
    (message,) = [each.message for each in found if each.code == "GPU1073"]
    assert f"tells an autoscaler of the {given} that" in message


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [
        ({"min_size": 5}, ["min_size"]),
        ({"desired_capacity": 5}, ["desired_capacity"]),
        ({"desired_capacity": 4}, []),
        ({"desired_capacity": None}, []),
    ],
)
def test_sizes_that_auto_scaling_refuses(sizes: dict[str, Any], wrong: list[str]) -> None:
    group = ("aws_autoscaling_group.gpu", {**GROUP, **sizes})
    reading = read_files(
        [GivenFile("plan.json", plan(group, ("aws_launch_template.gpu", TEMPLATE)))]
    )
    reading.judge(())

    found = [each for report in reading.reports() for each in report.findings]
    assert [each.path.rpartition(".")[2] for each in found if each.code == "GPU1071"] == wrong


def test_other_groups_of_instances_are_no_nodes() -> None:
    """Whose tags name no cluster, and whose user data joins none."""
    web = {**TEMPLATE, "user_data": base64.b64encode(b"#!/bin/bash\nyum install nginx\n").decode()}
    for tags in ([tag("Name", "web")], None):
        group = ("aws_autoscaling_group.gpu", {**GROUP, "tag": tags})
        assert nodes_of(group, ("aws_launch_template.gpu", web)) == []
        assert nodes_of(group) == []
    (found,) = of_group(tag=None)
    assert found.user_data == USER_DATA


ANY = [{"operator": "Exists"}]


def judged(*resources: tuple[str, dict[str, Any]]) -> list[str]:
    chart = {
        "name": "nvdp",
        "chart": "nvidia-device-plugin",
        "namespace": "gpu",
        "values": [
            json.dumps(
                {
                    "gfd": {"enabled": True},
                    "tolerations": ANY,
                    "nfd": {"worker": {"tolerations": ANY}},
                }
            )
        ],
    }
    reading = read_files([GivenFile("plan.json", plan(*resources, ("helm_release.nvdp", chart)))])
    reading.judge(EDGES)
    found = [each for report in reading.reports() for each in report.findings]
    return [each.code for each in found if each.severity == "error"]


def test_a_tag_that_promises_what_no_node_has() -> None:
    template = ("aws_launch_template.gpu", TEMPLATE)
    right = {**GROUP, "tag": [OWNED, tag(RESOURCE, "1")]}

    assert judged(("aws_autoscaling_group.gpu", GROUP), template) == ["GPU1140"]
    assert judged(("aws_autoscaling_group.gpu", right), template) == []


def test_an_empty_group_of_which_nothing_is_told() -> None:
    template = ("aws_launch_template.gpu", TEMPLATE)
    taint = tag("k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu", "true:NoSchedule")
    address = "aws_autoscaling_group.gpu"

    assert "GPU1073" in codes(plan((address, {**GROUP, "tag": [OWNED]}), template))
    for right in (
        {**GROUP, "tag": [OWNED, taint]},
        {**GROUP, "tag": [OWNED], "min_size": 1},
        {**GROUP, "tag": [OWNED], "launch_template": []},
    ):
        assert "GPU1073" not in codes(plan((address, right), template))


LABELLED = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec: {kubelet: {flags: ["--node-labels=team=ml"]}}
"""
BOTH = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec: {kubelet: {flags: ["--node-labels=team=ml", "--register-with-taints=a=b:NoSchedule"]}}
"""
NEITHER = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec: {kubelet: {flags: ["--v=2"]}}
"""
LABEL_TAGS = "tags `k8s.io/cluster-autoscaler/node-template/label/...`"
TAINT_TAGS = "tags `k8s.io/cluster-autoscaler/node-template/taint/...`"


@pytest.mark.parametrize(
    ("user_data", "of", "fix"),
    [
        (LABELLED, "labels", LABEL_TAGS),
        (USER_DATA, "taints", TAINT_TAGS),
        (BOTH, "labels and taints", f"{LABEL_TAGS} and {TAINT_TAGS}"),
        (NEITHER, None, None),
        (UNKNOWN, None, None),
    ],
)
def test_what_an_autoscaler_is_to_be_told(user_data: Any, of: str | None, fix: str | None) -> None:
    source = Source("aws_autoscaling_group.gpu")
    nodes = NodeSet(
        source=source, name="gpu", provisioner="selfManaged", least=0, user_data=user_data
    )

    judged = [*from_zero(nodes, [(OWNED["key"], OWNED["value"])])]
    told = [(each.message, each.fix) for each in problems([Read(judgements=judged)])]
    message = (
        f"aws_autoscaling_group.gpu may be empty, and nothing tells an autoscaler of the {of} "
        "that its user data gives the nodes."
    )
    assert told == ([] if of is None else [(message, f"Add {fix}, one for each.")])


def test_tags_of_what_are_no_nodes_are_nothing() -> None:
    release = Release(source=Source("aws_eks_node_group.gpu"), name="a", namespace="", chart="b")
    told = (Source("aws_autoscaling_group_tag.gpu"), TAG, {"tag": [tag(RESOURCE, "4")]})
    refers = {"autoscaling_group_name": {"references": ["aws_eks_node_group.gpu"]}}
    resources = [{"address": told[0].name, "expressions": refers}]
    written = TerraformConfiguration({"configuration": {"root_module": {"resources": resources}}})

    assert list(with_tags([release], [told], written)) == [release]


@pytest.mark.parametrize("reference", ["var.group", "local.gpu", "each.value", "data.aws_a.b.id"])
def test_what_cannot_be_followed_may_be_any_group(reference: str) -> None:
    """The configuration in a plan has no locals, and a variable may be given the group's name."""
    told = "aws_autoscaling_group_tag.gpu"
    written = {told: {"autoscaling_group_name": {"references": [reference]}}}
    group = ("aws_eks_node_group.gpu", {"node_group_name": "gpu"})
    named = {
        "node_group_name": "named",
        "resources": [{"autoscaling_groups": [{"name": "eks-named-1"}]}],
    }
    other = ("aws_eks_node_group.named", named)
    tags = {"autoscaling_group_name": UNKNOWN, "tag": [tag(RESOURCE, "4")]}
    found = nodes_of(group, other, (told, {"tag": tags["tag"]}), expressions=written)
    literal = nodes_of(
        group, other, (told, {**tags, "autoscaling_group_name": "eks-named-2"}), expressions=written
    )

    assert [each.promised for each in found] == [{"nvidia.com/gpu": UNKNOWN}] * 2
    assert [each.promised for each in literal] == [{"nvidia.com/gpu": UNKNOWN}, {}]


def test_a_reference_with_the_key_of_a_group_is_for_that_group() -> None:
    pool = {"node_group_name": "gpu", "instance_types": ["g5.xlarge"]}
    told = "aws_autoscaling_group_tag.gpu"
    written = {
        told: {"autoscaling_group_name": {"references": ['aws_eks_node_group.gpu["b"].resources']}}
    }
    found = nodes_of(
        ('aws_eks_node_group.gpu["a"]', pool),
        ('aws_eks_node_group.gpu["b"]', pool),
        (told, {"tag": [tag(RESOURCE, "4")]}),
        expressions=written,
    )

    assert [each.promised for each in found] == [{}, {"nvidia.com/gpu": "4"}]


OLDER = "aws_launch_configuration"


@pytest.mark.parametrize(
    ("older", "name", "references", "types"),
    [
        ({"a": "a", "b": "b"}, "b", [], ("type-b",)),
        ({"a": "a"}, "c", [], UNKNOWN),
        ({"a": "a"}, "c", [f"{OLDER}.b.name"], UNKNOWN),
        ({"a": None, "b": None}, UNKNOWN, [f"{OLDER}.b.name", f"{OLDER}.b"], ("type-b",)),
        ({"a": None, "b[0]": None}, UNKNOWN, [f"{OLDER}.b[0].name"], ("type-b[0]",)),
        ({"b[0]": None, "b[1]": None}, UNKNOWN, [f"{OLDER}.b"], UNKNOWN),
        ({"a": None}, UNKNOWN, ["var.name"], UNKNOWN),
        ({"a": "a"}, UNKNOWN, [], UNKNOWN),
        ({"a": "a"}, "", [f"{OLDER}.a"], ()),
        ({"a": "a"}, None, [], ()),
    ],
)
@pytest.mark.parametrize("module", ["", "module.m."])
def test_the_launch_configuration_that_is_meant(
    older: dict[str, Any], name: Any, references: list[str], types: Any, module: str
) -> None:
    resource = {
        "address": "aws_autoscaling_group.gpu",
        "expressions": {"launch_configuration": {"references": references}},
    }
    root: Any = {"resources": [resource]}
    root = {"module_calls": {"m": {"module": root}}} if module else root
    templates = Templates(TerraformConfiguration({"configuration": {"root_module": root}}))
    templates.add_older(f"module.other.{OLDER}.b", {"name": None, "instance_type": "other"})
    for key, named in older.items():
        given = {"name": named, "instance_type": f"type-{key}"}
        templates.add_older(f"{module}{OLDER}.{key}", given)

    found = templates.older_of(f"{module}aws_autoscaling_group.gpu", name)
    assert (found.instance_type if found else ()) == (types if types in (UNKNOWN, ()) else types[0])
