"""Modules of the registry that most clusters are made with, and twins of plans."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.inventory.items import NodeSet, NodeTaint, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import parts, registered
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.hcl.folders import Folders, ModuleFiles
from eks_gpushare.lint.hcl.modules import Instance
from eks_gpushare.lint.hcl.registry_modules import made_by
from eks_gpushare.lint.hcl.syntax import parse
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.lint.hcl.blocks import MadeResource


def items_of(text: str) -> list[Item]:
    return read_files([GivenFile("nowhere/main.tf", text)]).items


def nodes_of(text: str) -> NodeSet:
    (nodes,) = (each for each in items_of(text) if isinstance(each, NodeSet))
    return nodes


def found(text: str) -> list[tuple[str, int]]:
    return [
        (placed.finding.code, placed.position.line if placed.position else 0)
        for report in lint_files([GivenFile("nowhere/main.tf", text)])
        for placed in report.found
        if placed.finding.severity != "info"
    ]


EKS = """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "%s"

  eks_managed_node_groups = {
    gpu = {
%s
    }
  }
}
"""
SPELLINGS = (
    "terraform-aws-modules/eks/aws",
    "git::https://github.com/terraform-aws-modules/terraform-aws-eks.git?ref=v20.1.0",
    "github.com/terraform-aws-modules/terraform-aws-eks",
)


def eks(*lines: str, version: str = "~> 20.0") -> str:
    return EKS % (version, "\n".join(f"      {line}" for line in lines))


@pytest.mark.parametrize("source", SPELLINGS)
def test_a_managed_group_of_the_module(source: str) -> None:
    text = eks(
        'instance_types = ["g5.xlarge"]',
        'ami_type = "AL2023_x86_64_NVIDIA"',
        'labels = { team = "ml" }',
        'taints = { gpu = { key = "nvidia.com/gpu", value = "true", effect = "NO_SCHEDULE" } }',
        "min_size = 0",
        'capacity_type = "SPOT"',
    ).replace("terraform-aws-modules/eks/aws", source)
    nodes = nodes_of(text)

    assert nodes.name == "gpu"
    assert nodes.instance_types == ("g5.xlarge",)
    assert nodes.ami == "AL2023_x86_64_NVIDIA"
    assert nodes.labels == {"team": "ml"}
    assert nodes.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
    assert (nodes.least, nodes.most) == (0, 3)
    assert nodes.bought_as == ("spot",)


def test_what_a_group_leaves_out_is_that_of_all_groups() -> None:
    text = eks('name = "own"').replace(
        "  eks_managed_node_groups",
        '  eks_managed_node_group_defaults = {\n    instance_types = ["g5.xlarge"]\n'
        '    ami_type = "AL2023_x86_64_NVIDIA"\n  }\n  eks_managed_node_groups',
    )
    nodes = nodes_of(text)

    assert (nodes.name, nodes.ami) == ("own", "AL2023_x86_64_NVIDIA")
    assert nodes.instance_types == ("g5.xlarge",)


@pytest.mark.parametrize(
    ("version", "ami"),
    [("~> 21.0", "AL2023_x86_64_STANDARD"), ("21.3.1", "AL2023_x86_64_STANDARD"), ("~> 20.8", "")],
)
def test_the_image_that_a_group_has_by_itself(version: str, ami: str) -> None:
    assert nodes_of(eks('instance_types = ["g5.xlarge"]', version=version)).ami == ami


def test_an_image_of_ones_own_goes_over_the_type() -> None:
    nodes = nodes_of(eks('ami_id = "ami-1"', 'ami_type = "AL2023_x86_64_NVIDIA"'))

    assert nodes.ami == "ami-1"


@pytest.mark.parametrize(
    ("lines", "user_data"),
    [
        ((), ""),
        (('pre_bootstrap_user_data = "x"',), UNKNOWN),
        (
            (
                "cloudinit_pre_nodeadm = [{",
                '  content_type = "application/node.eks.aws"',
                '  content = "kind: NodeConfig"',
                "}]",
            ),
            "kind: NodeConfig",
        ),
    ],
)
def test_what_a_node_boots_with(lines: Iterable[str], user_data: Any) -> None:
    assert nodes_of(eks(*lines)).user_data == user_data


@pytest.mark.parametrize("groups", ["var.groups", "{ for name in var.names : name => {} }"])
def test_groups_that_are_not_known_are_none(groups: str) -> None:
    inputs = f"  eks_managed_node_groups = {groups}"
    text = ADDONS % ("terraform-aws-modules/eks/aws", inputs)

    assert [each for each in items_of(text) if isinstance(each, NodeSet)] == []


def test_what_is_wrong_with_a_group_stands_at_its_line() -> None:
    old = eks('instance_types = ["g5.xlarge"]', 'ami_type = "AL2_x86_64_GPU"')

    assert ("GPU1072", 8) in found(old)
    assert "GPU1072" not in dict(found(old.replace("AL2_x86_64_GPU", "AL2023_x86_64_NVIDIA")))
    wrong = eks('taints = { a = { key = "k", effect = "NoSchedule" } }')
    assert ("GPU1081", 7) in found(wrong)


def test_a_self_managed_group_of_the_module() -> None:
    text = eks(
        'instance_type = "g5.xlarge"',
        'ami_id = "ami-1"',
        "bootstrap_extra_args = \"--kubelet-extra-args '--node-labels=team=ml'\"",
    ).replace("eks_managed", "self_managed")
    nodes = nodes_of(text)

    assert nodes.provisioner == "selfManaged"
    assert (nodes.instance_types, nodes.ami) == (("g5.xlarge",), "ami-1")
    assert "--node-labels=team=ml" in str(nodes.user_data)


SETTINGS = '"[settings.kubernetes.node-labels]\\nteam = \\"ml\\"\\n"'


@pytest.mark.parametrize("kind", ["eks_managed", "self_managed"])
@pytest.mark.parametrize(
    ("ami", "extra", "labels"),
    [
        # The template of AL2023 does not read them.
        ("AL2023_x86_64_NVIDIA", "\"--kubelet-extra-args '--node-labels=team=ml'\"", {}),
        ("BOTTLEROCKET_x86_64_NVIDIA", SETTINGS, {"team": "ml"}),
    ],
)
def test_what_a_template_reads_of_extra_arguments(
    kind: str, ami: str, extra: str, labels: dict[str, str]
) -> None:
    types = 'instance_types = ["g5.xlarge"]', 'instance_type = "g5.xlarge"'
    text = eks(
        types[kind == "self_managed"],
        f'ami_type = "{ami}"',
        f"bootstrap_extra_args = {extra}",
        'pre_bootstrap_user_data = ""',
        version="~> 21.0",
    ).replace("eks_managed", kind)

    assert registered(nodes_of(text).user_data).labels == labels


@pytest.mark.parametrize(
    ("line", "count"),
    [("create_autoscaling_group = false", 0), ("create_launch_template = false", 1)],
)
def test_parts_of_a_self_managed_group_may_be_left_out(line: str, count: int) -> None:
    text = eks('instance_type = "g5.xlarge"', line).replace("eks_managed", "self_managed")
    found = [each for each in items_of(text) if isinstance(each, NodeSet)]

    assert len(found) == count
    assert all(each.instance_types is UNKNOWN for each in found)


GROUP_OF_A_FILE = """\
variable "name" {}

locals {
  tags = {
    "kubernetes.io/cluster/${var.name}" = "owned"
  }
}

resource "aws_launch_template" "gpu" {
  instance_type = "g5.xlarge"
}

resource "aws_autoscaling_group" "gpu" {
  min_size = 0
  max_size = 4

  launch_template {
    id = aws_launch_template.gpu.id
  }

  dynamic "tag" {
    for_each = merge({ Team = "ml" }, local.tags)

    content {
      key   = tag.key
      value = tag.value
    }
  }
}
"""


def test_instances_are_nodes_of_a_cluster_whose_name_is_not_known() -> None:
    nodes = nodes_of(GROUP_OF_A_FILE)

    assert nodes.provisioner == "selfManaged"
    assert nodes.instance_types == ("g5.xlarge",)
    assert items_of(GROUP_OF_A_FILE.replace("kubernetes.io/cluster", "example.com")) == []


def test_a_group_by_the_module_of_groups() -> None:
    source = "terraform-aws-modules/eks/aws//modules/eks-managed-node-group"
    text = ADDONS % (source, '  name = "gpu"\n  instance_types = ["g5.xlarge"]')

    assert nodes_of(text).name == "gpu"


def test_a_group_of_the_fourth_blueprints() -> None:
    inputs = """\
  managed_node_groups = {
    gpu = {
      node_group_name = "own"
      instance_types  = ["g5.xlarge"]
      ami_type        = "AL2_x86_64_GPU"
      k8s_labels      = { team = "ml" }
      k8s_taints      = [{ key = "nvidia.com/gpu", value = "true", effect = "NO_SCHEDULE" }]
      max_size        = 5
    }
  }"""
    text = ADDONS % ("github.com/aws-ia/terraform-aws-eks-blueprints?ref=v4.32.1", inputs)
    nodes = nodes_of(text)

    assert (nodes.name, nodes.labels, nodes.most) == ("own", {"team": "ml"}, 5)
    assert nodes.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
    assert ("GPU1072", 7) in found(text)


ADDONS = """\
module "addons" {
  source = "%s"
%s
}
"""


@pytest.mark.parametrize(
    ("source", "inputs", "line"),
    [
        (
            "aws-ia/eks-data-addons/aws",
            (
                "  enable_nvidia_gpu_operator = true\n  nvidia_gpu_operator_helm_config = {\n"
                "    values = [<<-EOT\n      mig:\n        strategy: %s\n    EOT\n    ]\n  }"
            ),
            7,
        ),
        (
            "aws-ia/eks-blueprints-addons/aws",
            (
                '  helm_releases = {\n    gpu-operator = {\n      chart = "gpu-operator"\n'
                '      values = [yamlencode({ mig = { strategy = "%s" } })]\n    }\n  }'
            ),
            6,
        ),
        (
            "aws-ia/eks-blueprints-addon/aws",
            '  chart = "gpu-operator"\n  set = [{ name = "mig.strategy", value = "%s" }]',
            4,
        ),
    ],
)
def test_charts_of_modules_of_addons(source: str, inputs: str, line: int) -> None:
    wrong, right = (ADDONS % (source, inputs % word) for word in ("singel", "single"))

    assert found(wrong) == [("GPU1036", line)]
    assert found(right) == []


@pytest.mark.parametrize(("switch", "count"), [("true", 1), ("var.on", 1), ("false", 0)])
def test_an_addon_is_there_unless_it_is_switched_off(switch: str, count: int) -> None:
    text = ADDONS % ("aws-ia/eks-data-addons/aws", f"  enable_nvidia_device_plugin = {switch}")
    releases = [each for each in items_of(text) if isinstance(each, Release)]

    assert [each.chart for each in releases] == ["nvidia-device-plugin"] * count


GPU_GROUP = """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 20.0"
  cluster_version = "1.33"
  eks_managed_node_groups = {
    shared = {
      ami_type       = "AL2023_x86_64_NVIDIA"
      instance_types = ["g6.2xlarge"]
    }
  }
}
"""


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ("", False),
        ('{ version = "0.17.1" }', False),
        ('{ version = "0.17.1", values = ["failOnInitError: false"] }', False),
        ('{ version = "0.17.1", values = ["nfd: {enabled: false}"] }', True),
        ('{ values = ["nfd: {enabled: false}"] }', False),
        ('{ version = "0.17.1", values = var.values }', False),
    ],
)
def test_the_module_of_data_addons_brings_discovery_with_the_plugin(
    inputs: str, told: bool
) -> None:
    """Its own values have `nfd.enabled`, and its early chart runs on every node."""
    given = f"  nvidia_device_plugin_helm_config = {inputs}\n" if inputs else ""
    switch = f"  enable_nvidia_device_plugin = true\n{given}"
    text = GPU_GROUP + ADDONS % ("aws-ia/eks-data-addons/aws", switch)

    assert ("GPU1101" in {code for code, _ in found(text)}) is told


POOLS = """\
  enable_karpenter_resources = SWITCH
  karpenter_resources_helm_config = {
    gpu = {
      CHART
      values = [<<-EOT
        name: gpu
        clusterName: ${module.eks.cluster_name}
        nodePool:
          ENABLED
          labels:
            - type: karpenter
          taints:
            - {key: nvidia.com/gpu, value: "true", effect: NoSchedule}
          disruption: {consolidationPolicy: WhenEmpty}
          requirements:
            - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g5]}
      EOT
      ]
    }
  }
"""


def pools(text: str) -> list[NodeSet]:
    whole = ADDONS % ("aws-ia/eks-data-addons/aws", text)
    return [each for each in items_of(whole) if isinstance(each, NodeSet)]


@pytest.mark.parametrize(
    ("switch", "chart", "enabled", "count"),
    [
        ("true", "", "", 1),
        ("var.pools", "", "", 1),
        ("false", "", "", 0),
        ("true", "", "enabled: false", 0),
        ("true", 'chart = "other"', "", 0),
    ],
)
def test_the_module_of_data_addons_makes_pools_of_values(
    switch: str, chart: str, enabled: str, count: int
) -> None:
    text = POOLS.replace("SWITCH", switch).replace("CHART", chart).replace("ENABLED", enabled)
    found = pools(text)

    assert len(found) == count
    for each in found:
        assert each.labels == {"NodePool": "gpu", "NodeGroupType": "gpu", "type": "karpenter"}
        assert each.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
        spec = at(value_of(each), "spec")
        assert at(spec, "disruption", "consolidationPolicy") == "WhenEmpty"
        assert at(spec, "disruption", "consolidateAfter") is UNKNOWN
        assert at(spec, "limits") == {"cpu": UNKNOWN}


def test_without_values_there_is_no_pool() -> None:
    assert not pools("  enable_karpenter_resources = true")


@pytest.mark.parametrize("given", ["var.pools", "{ gpu = { values = var.values } }"])
def test_pools_of_values_that_are_not_known_may_be_any(given: str) -> None:
    switch = f"  enable_karpenter_resources = true\n  karpenter_resources_helm_config = {given}"
    (pool,) = pools(switch)

    assert pool.labels is UNKNOWN
    assert pool.taints is UNKNOWN
    assert not found(ADDONS % ("aws-ia/eks-data-addons/aws", switch))


GPU = 'instance_types = ["g5.xlarge"]'
LINES = {
    '.module.eks_managed_node_group["gpu"].aws_launch_template.this[0]': 6,
    '.module.eks_managed_node_group["gpu"].aws_eks_node_group.this[0]': 6,
}


def made_by_call(text: str) -> dict[str, MadeResource]:
    """The resources of the one call of a text, by their addresses below that of the call."""
    module = ModuleFiles("")
    module.add("main.tf", parse("main.tf", text).body)
    instance = Instance(module, Folders(lambda _: None, lambda _: None, lambda _: None), "", {})
    (call,) = instance.made()
    return {each.address.removeprefix(call.address): each for each in made_by(call)}


def values_of(text: str, kind: str) -> Any:
    (found,) = (each.values for each in made_by_call(text).values() if each.kind == kind)
    return found


def test_what_a_call_makes_stands_where_it_is_written() -> None:
    made = made_by_call(eks(GPU))
    assert {address: each.place.line for address, each in made.items()} == LINES
    by_expression = 'zipmap(["gpu"], [{}])'
    inputs = f"  eks_managed_node_groups = {by_expression}\n  cluster_addons = {by_expression}"
    made = made_by_call(ADDONS % ("terraform-aws-modules/eks/aws", inputs))
    assert list(made) == [*LINES, '.aws_eks_addon.this["gpu"]']
    assert {each.place.line for each in made.values()} == {1}


@pytest.mark.parametrize("source", ["terraform-aws-modules/eks", "aws-ia/eks-blueprints-addons"])
def test_an_addon_of_eks_is_one_of_a_map(source: str) -> None:
    name = "cluster_addons" if "modules" in source else "eks_addons"
    told = "configuration_values = jsonencode({ a = 1 })"
    text = ADDONS % (f"{source}/aws", f"  {name} = {{\n    agent = {{\n      {told}\n    }}\n  }}")
    ((address, made),) = made_by_call(text).items()

    assert (address, made.kind) == ('.aws_eks_addon.this["agent"]', "aws_eks_addon")
    assert made.values == {"addon_name": "agent", "configuration_values": '{"a":1}'}
    assert made.place.line == 4
    by_expression = ADDONS % (f"{source}/aws", f'  {name} = zipmap(["a"], [{{}}])')
    assert [each.place.line for each in made_by_call(by_expression).values()] == [1]


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ((), ["aws_launch_template", "aws_eks_node_group"]),
        (("create = true",), ["aws_launch_template", "aws_eks_node_group"]),
        (("create = false",), []),
        (("create_launch_template = false",), ["aws_eks_node_group"]),
        (("use_custom_launch_template = false", "disk_size = 50"), ["aws_eks_node_group"]),
        (("use_custom_launch_template = var.it",), ["aws_eks_node_group"]),
    ],
)
def test_a_managed_group_has_a_template_of_its_own(lines: Iterable[str], kinds: list[str]) -> None:
    """https://github.com/terraform-aws-modules/terraform-aws-eks/blob/v21.19.0/modules/eks-managed-node-group/main.tf."""
    made = list(made_by_call(eks(GPU, *lines)).values())

    assert [each.kind for each in made] == kinds
    if made:
        assert made[-1].values.get("disk_size") == (50 if "disk_size = 50" in lines else None)
        shown = "use_custom_launch_template = false" not in lines
        assert ("launch_template" in made[-1].values) == shown


@pytest.mark.parametrize(
    ("taints", "made"),
    [
        ('{ a = { key = "k" } }', [{"key": "k"}]),
        ('[{ key = "k" }]', [{"key": "k"}]),
        ("var.it", UNKNOWN),
        ("{ for n in var.it : n => {} }", UNKNOWN),
        ("null", None),
    ],
)
def test_blocks_of_a_group_are_a_map_or_a_list(taints: str, made: Any) -> None:
    assert values_of(eks(f"taints = {taints}"), "aws_eks_node_group").get("taint") == made
    disks = values_of(eks(f"block_device_mappings = {taints}"), "aws_launch_template")
    assert disks.get("block_device_mappings") == made


def test_blocks_stand_where_they_are_written() -> None:
    template = values_of(
        eks("block_device_mappings = {", "a = {", 'device_name = "/dev/xvda"', "}", "}"),
        "aws_launch_template",
    )
    (place,) = template["block_device_mappings"].places

    assert place.line == 8


@pytest.mark.parametrize(
    ("version", "hops"), [("~> 20.0", 2), ("21.0.0", 1), ("~> 22.0", 1), ("", UNKNOWN)]
)
def test_how_far_the_metadata_service_reaches_by_itself(version: str, hops: Any) -> None:
    """https://github.com/terraform-aws-modules/terraform-aws-eks/blob/master/docs/UPGRADE-21.0.md."""
    (options,) = values_of(eks(GPU, version=version), "aws_launch_template")["metadata_options"]
    assert options["http_put_response_hop_limit"] == hops
    given = eks(GPU, 'metadata_options = { http_tokens = "optional" }', version=version)
    (options,) = values_of(given, "aws_launch_template")["metadata_options"]
    assert options == {"http_tokens": "optional"}


CONFIG = '{ content_type = "application/node.eks.aws", content = "kind: NodeConfig" }'
SHELL = '{ content_type = "text/x-shellscript", content = "a" }'
BARE = "#!/bin/bash\n/etc/eks/bootstrap.sh cluster \n"


@pytest.mark.parametrize(
    ("line", "managed", "own"),
    [
        ("enable_bootstrap_user_data = false", "", BARE),
        ("enable_bootstrap_user_data = true", UNKNOWN, UNKNOWN),
        ("cloudinit_pre_nodeadm = []", "", BARE),
        (f"cloudinit_pre_nodeadm = [{CONFIG}]", "kind: NodeConfig", "kind: NodeConfig"),
        (f"cloudinit_pre_nodeadm = [{SHELL}]", UNKNOWN, UNKNOWN),
        (f"cloudinit_pre_nodeadm = [{CONFIG}, {SHELL}]", UNKNOWN, UNKNOWN),
        (f'cloudinit_pre_nodeadm = [{CONFIG}]\n      bootstrap_extra_args = "a"', UNKNOWN, UNKNOWN),
        ("cloudinit_pre_nodeadm = var.it", UNKNOWN, UNKNOWN),
        ('bootstrap_extra_args = "a"', UNKNOWN, BARE.replace(" \n", " a\n")),
        ("bootstrap_extra_args = var.it", UNKNOWN, UNKNOWN),
        ('ami_type = "BOTTLEROCKET_x86_64_NVIDIA"', "", ""),
        ('ami_type = "AL2_x86_64_GPU"', "", BARE),
    ],
)
def test_how_nodes_of_each_kind_of_group_boot(line: str, managed: Any, own: Any) -> None:
    text = eks(line)

    assert values_of(text, "aws_launch_template")["user_data"] == managed
    other = text.replace("eks_managed", "self_managed")
    assert values_of(other, "aws_launch_template")["user_data"] == own


def self_managed(*lines: str, version: str = "~> 20.0") -> str:
    return eks(*lines, version=version).replace("eks_managed", "self_managed")


@pytest.mark.parametrize(
    ("lines", "version", "image"),
    [
        (('ami_id = "ami-1"', 'ami_type = "a"'), "20", "ami-1"),
        (('ami_id = ""', 'ami_type = "a"'), "20", "a"),
        ((), "20", UNKNOWN),
        ((), "21", "AL2023_x86_64_STANDARD"),
    ],
)
def test_the_image_of_a_self_managed_group(lines: Iterable[str], version: str, image: Any) -> None:
    text = self_managed(*lines, version=version)

    assert values_of(text, "aws_launch_template")["image_id"] == image


def test_the_sizes_of_a_self_managed_group_are_those_of_its_scaling_group() -> None:
    """The module calls the desired size as its managed groups do; the resource does not."""
    sizes = ("min_size", "max_size", "desired_capacity", "desired_size")
    given = values_of(self_managed("min_size = 2", "desired_size = 4"), "aws_autoscaling_group")
    plain = values_of(self_managed(), "aws_autoscaling_group")

    assert [given.get(name) for name in sizes] == [2, 3, 4, None]
    assert [plain.get(name) for name in sizes] == [1, 3, 1, None]


OVERRIDE = 'override = [{ instance_type = "g5.xlarge" }]'


@pytest.mark.parametrize(
    ("lines", "override"),
    [
        ((), None),
        ((f"mixed_instances_policy = {{ {OVERRIDE} }}",), None),
        (
            ("use_mixed_instances_policy = false", f"mixed_instances_policy = {{ {OVERRIDE} }}"),
            None,
        ),
        (
            ("use_mixed_instances_policy = true", f"mixed_instances_policy = {{ {OVERRIDE} }}"),
            [{"instance_type": "g5.xlarge"}],
        ),
        (
            (
                "use_mixed_instances_policy = true",
                f"mixed_instances_policy = {{ launch_template = {{ {OVERRIDE} }} }}",
            ),
            [{"instance_type": "g5.xlarge"}],
        ),
        (("use_mixed_instances_policy = true", "mixed_instances_policy = var.it"), UNKNOWN),
    ],
)
def test_a_self_managed_group_has_a_policy_where_it_is_switched_on(
    lines: Iterable[str], override: Any
) -> None:
    group = values_of(self_managed(*lines), "aws_autoscaling_group")

    if override is None:
        assert (group["launch_template"], "mixed_instances_policy" in group) == (
            [{"id": UNKNOWN}],
            False,
        )
    else:
        ((policy,),) = (each["launch_template"] for each in group["mixed_instances_policy"])
        assert policy["override"] == override


def test_a_self_managed_group_that_is_switched_off_is_none() -> None:
    assert made_by_call(self_managed("create = false")) == {}
    assert len(made_by_call(self_managed("create = true"))) == 2


def test_the_fourth_blueprints_make_groups_where_they_are_written() -> None:
    source = "github.com/aws-ia/terraform-aws-eks-blueprints?ref=v4.32.1"
    written = ADDONS % (source, "  managed_node_groups = {\n    gpu = {}\n  }")
    made = ADDONS % (source, '  managed_node_groups = zipmap(["gpu"], [{}])')

    assert [each.place.line for each in made_by_call(written).values()] == [4]
    assert [each.place.line for each in made_by_call(made).values()] == [1]


@pytest.mark.parametrize(
    ("inputs", "versions"),
    [
        ('chart_version = "1"', ["1"]),
        ('version = "2"', ["2"]),
        ('version = "2"\n    chart_version = "1"', ["1"]),
        ("name = 1", [None]),
    ],
)
def test_the_version_of_a_chart_has_two_names(inputs: str, versions: list[str | None]) -> None:
    text = ADDONS % (
        "aws-ia/eks-data-addons/aws",
        (
            "  enable_nvidia_gpu_operator = true\n"
            f"  nvidia_gpu_operator_helm_config = {{\n    {inputs}\n  }}"
        ),
    )

    assert [each.values.get("version") for each in made_by_call(text).values()] == versions
    assert [each.place.line for each in made_by_call(text).values()] == [4]


@pytest.mark.parametrize(
    ("inputs", "count"),
    [
        ("", 1),
        ("create = true", 1),
        ("create = false", 0),
        ("create_release = true", 1),
        ("create_release = false", 0),
    ],
)
def test_one_addon_may_be_switched_off(inputs: str, count: int) -> None:
    text = ADDONS % ("aws-ia/eks-blueprints-addon/aws", f"  {inputs}")

    assert len(made_by_call(text)) == count


def test_an_addon_stands_where_it_is_switched_on() -> None:
    """One of a module that is not there is not there, whatever its switch is."""
    switch = "  enable_nvidia_device_plugin = var.it"
    text = ADDONS % ("aws-ia/eks-data-addons/aws", switch)
    assert [(each.place.line, each.present) for each in made_by_call(text).values()] == [(3, True)]
    off = ADDONS % ("aws-ia/eks-data-addons/aws", f"  count = 0\n{switch}")
    assert [each.present for each in made_by_call(off).values()] == [False]
    null = ADDONS % ("aws-ia/eks-data-addons/aws", "  enable_nvidia_device_plugin = null")
    assert made_by_call(null) == {}


TWINS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a managed group": (
        "aws_eks_node_group",
        (
            'node_group_name = "gpu"\n instance_types = ["g5.xlarge"]\n'
            ' ami_type = "AL2023_x86_64_NVIDIA"\n'
            ' labels = { a = "b" }\n'
            ' taint {\n key = "k"\n value = "v"\n effect = "NO_EXECUTE"\n }\n'
            " scaling_config {\n min_size = 0\n desired_size = 1\n max_size = 3\n }\n"
        ),
        {
            "node_group_name": "gpu",
            "instance_types": ["g5.xlarge"],
            "ami_type": "AL2023_x86_64_NVIDIA",
            "labels": {"a": "b"},
            "taint": [{"key": "k", "value": "v", "effect": "NO_EXECUTE"}],
            "scaling_config": [{"min_size": 0, "desired_size": 1, "max_size": 3}],
        },
    ),
    "an Auto Scaling group": (
        "aws_autoscaling_group",
        (
            'name = "gpu"\n min_size = 1\n max_size = 2\n tag {\n key = "kubernetes.io/cluster/a"\n'
            ' value = "owned"\n propagate_at_launch = true\n }\n'
        ),
        {
            "name": "gpu",
            "min_size": 1,
            "max_size": 2,
            "tag": [
                {"key": "kubernetes.io/cluster/a", "value": "owned", "propagate_at_launch": True}
            ],
        },
    ),
    "a chart": (
        "helm_release",
        (
            'name = "a"\n chart = "gpu-operator"\n namespace = "ops"\n version = "v26.3.0"\n'
            ' values = [yamlencode({ mig = { strategy = "mixed" } })]\n'
            ' set {\n name = "driver.enabled"\n value = "false"\n }\n'
        ),
        {
            "name": "a",
            "chart": "gpu-operator",
            "namespace": "ops",
            "version": "v26.3.0",
            "values": ["mig:\n  strategy: mixed\n"],
            "set": [{"name": "driver.enabled", "value": "false"}],
        },
    ),
    "labels": (
        "kubernetes_labels",
        'kind = "Node"\n metadata {\n name = "n"\n }\n labels = { a = "b" }\n',
        {"kind": "Node", "metadata": [{"name": "n"}], "labels": {"a": "b"}},
    ),
    "an object": (
        "kubernetes_pod_v1",
        (
            'metadata {\n name = "p"\n namespace = "ml"\n }\n spec {\n container {\n name = "c"\n'
            ' resources {\n limits = { "nvidia.com/gpu" = "1" }\n }\n }\n'
            ' toleration {\n key = "k"\n operator = "Exists"\n }\n }\n'
        ),
        {
            "metadata": [{"name": "p", "namespace": "ml"}],
            "spec": [
                {
                    "container": [
                        {"name": "c", "resources": [{"limits": {"nvidia.com/gpu": "1"}}]}
                    ],
                    "toleration": [{"key": "k", "operator": "Exists"}],
                }
            ],
        },
    ),
    "a configuration": (
        "kubernetes_config_map_v1",
        (
            'metadata {\n name = "c"\n namespace = "ops"\n }\n data = {\n any = <<-EOT\n'
            "  version: v1\n  EOT\n }\n"
        ),
        {"metadata": [{"name": "c", "namespace": "ops"}], "data": {"any": "version: v1\n"}},
    ),
    "a manifest": (
        "kubernetes_manifest",
        'manifest = {\n apiVersion = "v1"\n kind = "Namespace"\n metadata = { name = "n" }\n }\n',
        {"manifest": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}},
    ),
}


def plan(kind: str, values: Mapping[str, Any]) -> str:
    resource = {"address": f"{kind}.it", "mode": "managed", "type": kind, "name": "it"}
    root = {"resources": [{**resource, "values": values}]}
    return json.dumps({"format_version": "1.2", "planned_values": {"root_module": root}}, indent=1)


@pytest.mark.parametrize("what", TWINS)
def test_a_plan_and_the_configuration_that_it_is_of_say_the_same(what: str) -> None:
    kind, body, values = TWINS[what]
    of_plan = read_files([GivenFile("nowhere/plan.json", plan(kind, values))]).items
    of_hcl = items_of(f'resource "{kind}" "it" {{\n {body}}}\n')

    assert of_plan
    assert [_without_places(each) for each in of_hcl] == [_without_places(e) for e in of_plan]


def _without_places(item: Item) -> Any:
    """An item but for where it stands."""
    fields = {name: getattr(item, name) for name in item.__dataclass_fields__}
    return type(item).__name__, {
        name: _without_places(value) if name == "launch" and value is not None else value
        for name, value in fields.items()
        if name not in {"source", "paths"}
    }


TAGGED = """\
module "eks" {
  source = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"
  eks_managed_node_groups = {
    system = { instance_types = ["m7i.large"] }
    gpu    = { instance_types = ["g5.xlarge"] }
  }
}
variable "tags" { type = map(string) }
locals {
  group = module.eks.eks_managed_node_groups["gpu"].node_group_autoscaling_group_names[0]
  again = local.group
  names = module.eks.eks_managed_node_groups_autoscaling_group_names
  tags  = { "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu.shared" = "4" }
}
resource "aws_autoscaling_group_tag" "gpu" {
  for_each               = TAGS
  autoscaling_group_name = GROUP
  tag {
    key                 = each.key
    value               = each.value
    propagate_at_launch = false
  }
}
"""
SHARED = {"nvidia.com/gpu.shared": "4"}
UNSURE = {"nvidia.com/gpu.shared": UNKNOWN}


@pytest.mark.parametrize(
    ("group", "tags", "system", "gpu"),
    [
        ("local.again", "local.tags", {}, SHARED),
        ("module.eks.eks_managed_node_groups.gpu.node_group_id", "local.tags", {}, SHARED),
        ('module.eks.eks_managed_node_groups["none"].name', "local.tags", UNSURE, UNSURE),
        ("local.names[1]", "local.tags", UNSURE, UNSURE),
        ("local.none", "local.tags", UNSURE, UNSURE),
        ("module.other.name", "local.tags", {}, {}),
        ("local.group", "var.tags", {}, UNKNOWN),
        ("local.names[0]", "var.tags", UNKNOWN, UNKNOWN),
    ],
)
def test_tags_that_stand_by_themselves_are_for_groups_of_a_module(
    group: str, tags: str, system: Any, gpu: Any
) -> None:
    text = TAGGED.replace("GROUP", group).replace("TAGS", tags)
    read = {each.name: each.promised for each in items_of(text) if isinstance(each, NodeSet)}

    assert read == {"system": system, "gpu": gpu}


def test_tags_for_each_name_of_a_module_are_for_its_groups() -> None:
    text = TAGGED.replace("GROUP", "each.value").replace("TAGS", "local.names")
    text = text.replace("each.key", '"k8s.io/cluster-autoscaler/node-template/resources/a.com/b"')
    read = {each.name: each.promised for each in items_of(text) if isinstance(each, NodeSet)}

    assert read == {"system": {"a.com/b": UNKNOWN}, "gpu": {"a.com/b": UNKNOWN}}


NVIDIA = 'ami_type = "AL2023_x86_64_NVIDIA"'
SCRIPT = '{ content_type = "text/x-shellscript", content = file("${path.module}/a.sh") }'
PLAIN = '{ content = "#cloud-config" }'
ENABLED = "enable_bootstrap_user_data = true"


def boots(*lines: str, kind: str = "eks_managed") -> Any:
    """The parts of user data, each with its kind; UNKNOWN of what is not known."""
    files = [
        GivenFile("nowhere/main.tf", eks(*lines, version="21.0").replace("eks_managed", kind)),
        GivenFile("nowhere/a.sh", "nvidia-smi -c EXCLUSIVE_PROCESS\n"),
    ]
    (nodes,) = (each for each in read_files(files).items if isinstance(each, NodeSet))
    return UNKNOWN if nodes.user_data is UNKNOWN else [each.kind for each in parts(nodes.user_data)]


@pytest.mark.parametrize(
    ("lines", "managed", "own"),
    [
        ((f"cloudinit_pre_nodeadm = [{SCRIPT}]",), ["shell"], ["shell", "nodeConfig"]),
        (
            (f"cloudinit_pre_nodeadm = [{CONFIG}, {SCRIPT}, {PLAIN}]",),
            ["nodeConfig", "shell", "cloudConfig"],
            ["nodeConfig", "shell", "cloudConfig", "nodeConfig"],
        ),
        # Those after nodeadm's are for groups that the module has join.
        ((f"cloudinit_post_nodeadm = [{SCRIPT}]",), [], ["nodeConfig", "shell"]),
        (
            (ENABLED, f"cloudinit_post_nodeadm = [{SCRIPT}]"),
            ["nodeConfig", "shell"],
            ["nodeConfig", "shell"],
        ),
        ((f"cloudinit_pre_nodeadm = [{PLAIN}, var.it]",), UNKNOWN, UNKNOWN),
        (("cloudinit_pre_nodeadm = [{ content = var.it }]",), UNKNOWN, UNKNOWN),
        (('cloudinit_pre_nodeadm = [{ content = "", content_type = var.it }]',), *[UNKNOWN] * 2),
        (("cloudinit_post_nodeadm = var.it",), [], UNKNOWN),
        (
            ("enable_bootstrap_user_data = var.it", f"cloudinit_pre_nodeadm = [{PLAIN}]"),
            UNKNOWN,
            ["cloudConfig", "nodeConfig"],
        ),
        (
            ('user_data_template_path = "a.tpl"', f"cloudinit_pre_nodeadm = [{PLAIN}]"),
            *[UNKNOWN] * 2,
        ),
    ],
)
def test_parts_of_user_data_are_read_each_by_itself(
    lines: Iterable[str], managed: Any, own: Any
) -> None:
    """As `tests/user-data/rendered/al2023` of the module has them."""
    assert boots(NVIDIA, *lines) == managed
    assert boots(NVIDIA, *lines, kind="self_managed") == own


def test_parts_stand_where_they_are_given() -> None:
    wrong = """{ content_type = "application/node.eks.aws", content = <<-EOT
      apiVersion: node.eks.aws/v1
      kind: NodeConfig
    EOT
    }"""
    lines = [
        line
        for more in ("", f", {PLAIN}")
        for code, line in found(eks(NVIDIA, f"cloudinit_pre_nodeadm = [{wrong}{more}]"))
        if code == "GPU1086"
    ]

    assert lines == [9, 8]  # of the one its own, of several that of the list


@pytest.mark.parametrize(
    ("lines", "managed", "own"),
    [
        (("pre", "post"), "#!/bin/bash\nA", "#!/bin/bash\nA\n/etc/eks/bootstrap.sh cluster \nB"),
        (
            (ENABLED, "pre", "post"),
            "#!/bin/bash\nA\n/etc/eks/bootstrap.sh cluster \nB",
            "#!/bin/bash\nA\n/etc/eks/bootstrap.sh cluster \nB",
        ),
        (("pre_bootstrap_user_data = var.it",), UNKNOWN, UNKNOWN),
        (("pre", "post_bootstrap_user_data = var.it"), "#!/bin/bash\nA", UNKNOWN),
        (("enable_bootstrap_user_data = var.it", "pre"), UNKNOWN, f"#!/bin/bash\nA\n{BARE[12:]}"),
    ],
)
def test_scripts_around_the_one_that_joins(lines: Iterable[str], managed: Any, own: Any) -> None:
    given = {"pre": 'pre_bootstrap_user_data = "A"', "post": 'post_bootstrap_user_data = "B"'}
    text = eks('ami_type = "AL2_x86_64_GPU"', *(given.get(line, line) for line in lines))

    assert values_of(text, "aws_launch_template")["user_data"] == managed
    other = text.replace("eks_managed", "self_managed")
    assert values_of(other, "aws_launch_template")["user_data"] == own


SCALER = """\
resource "helm_release" "scaler" {
  name       = "cluster-autoscaler"
  namespace  = "kube-system"
  repository = "https://kubernetes.github.io/autoscaler"
  chart      = "cluster-autoscaler"
}
"""
ACCELERATOR = "k8s.amazonaws.com/accelerator"


@pytest.mark.parametrize(
    ("tag", "told"),
    [
        (f"k8s.io/cluster-autoscaler/node-template/label/{ACCELERATOR}", False),
        ("k8s.io/cluster-autoscaler/node-template/label/other", True),
        (f"about-{ACCELERATOR}", True),
    ],
)
def test_a_tag_by_itself_tells_of_the_label_that_gpus_are_waited_for_by(
    tag: str, told: bool
) -> None:
    text = TAGGED.replace("GROUP", "local.group").replace("TAGS", f'{{ "{tag}" = "nvidia-a10g" }}')

    assert ("GPU1263" in {code for code, _ in found(text + SCALER)}) is told
