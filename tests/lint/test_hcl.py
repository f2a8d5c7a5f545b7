"""Terraform's language: what is read of it, where it says that something is wrong, and scopes."""

from __future__ import annotations

import json
import posixpath
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint import terraform_roots as roots_of_terraform
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.hcl.values import HclObject, OpenObject, either, is_open
from eks_gpushare.lint.terraform_roots import terraform_roots
from eks_gpushare.manifests.files import GivenFile, given_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GROUP = """\
resource "aws_eks_node_group" "gpu" {{
  node_group_name = "gpu"
  instance_types  = {types}
  ami_type        = {ami}
  scaling_config {{
    min_size     = 1
    desired_size = 1
    max_size     = 2
  }}
}}
"""
OLD, NEW = "AL2_x86_64_GPU", "AL2023_x86_64_NVIDIA"


def given(files: Mapping[str, str]) -> list[GivenFile]:
    """Files as the command gives them, in a folder that is not there."""
    return [GivenFile(f"nowhere/{name}", text) for name, text in files.items()]


def found(files: Mapping[str, str], *, severe: bool = True) -> list[tuple[str, str, int | None]]:
    """Code, file and line of what is wrong."""
    return [
        (
            placed.finding.code,
            report.file.removeprefix("nowhere/"),
            placed.position.line if placed.position else None,
        )
        for report in lint_files(given(files))
        for placed in report.found
        if not severe or placed.finding.severity != "info"
    ]


def nodes_of(files: Mapping[str, str]) -> list[NodeSet]:
    return [each for each in read_files(given(files)).items if isinstance(each, NodeSet)]


def releases_of(files: Mapping[str, str]) -> list[Release]:
    return [each for each in read_files(given(files)).items if isinstance(each, Release)]


def group(ami: str, types: str = '["g5.xlarge"]') -> str:
    return GROUP.format(ami=ami, types=types)


WAYS: dict[str, tuple[str, str]] = {
    "a literal": ("", '"{}"'),
    "a local": ('locals {{ ami = "{}" }}\n', "local.ami"),
    "a variable's default": ('variable "ami" {{\n  default = "{}"\n}}\n', "var.ami"),
    "a conditional": ("locals {{ gpu = true }}\n", 'local.gpu ? "{}" : "AL2023_x86_64_STANDARD"'),
    "a merged map": ("", 'merge({{ ami = "x" }}, {{ ami = "{}" }}).ami'),
    "a look-up": ("", 'lookup({{ a = "{}" }}, "a", "x")'),
    "a template": ('locals {{ whole = "{}" }}\n', '"${{local.whole}}"'),
    "a for": ("", '[for ami in ["{}"] : ami][0]'),
    "another resource": (
        'resource "aws_eks_node_group" "other" {{\n  ami_type = "{}"\n}}\n',
        "aws_eks_node_group.other.ami_type",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_constant_is_known_whichever_way_it_is_written(way: str) -> None:
    before, value = WAYS[way]
    texts = {name: before.format(name) + group(value.format(name)) for name in (OLD, NEW)}
    line = 4 + before.count("\n")
    wrong = found({"main.tf": texts[OLD]})

    assert ("GPU1072", "main.tf", line) in wrong
    assert "GPU1072" not in {code for code, _, _ in found({"main.tf": texts[NEW]})}


@pytest.mark.parametrize(
    ("value", "before"),
    [
        ("var.ami", 'variable "ami" {}\n'),
        ("var.ami", 'variable "ami" {\n  default = ""\n}\n'),
        ('"AL2_${var.rest}"', 'variable "rest" {}\n'),
        ("data.aws_ssm_parameter.ami.value", ""),
        ("module.elsewhere.ami", ""),
        ("uuid()", ""),
    ],
)
def test_what_is_not_constant_is_not_known(value: str, before: str) -> None:
    (nodes,) = nodes_of({"main.tf": before + group(value)})

    assert nodes.ami is UNKNOWN


@pytest.mark.parametrize("name", ["terraform.tfvars", "some.auto.tfvars"])
def test_a_file_of_variables_goes_over_a_default(name: str) -> None:
    variable = f'variable "ami" {{\n  default = "{NEW}"\n}}\n'
    files = {"main.tf": variable + group("var.ami")}

    assert nodes_of(files)[0].ami == NEW
    assert nodes_of({**files, name: f'ami = "{OLD}"\n'})[0].ami == OLD
    assert nodes_of({**files, f"{name}.json": json.dumps({"ami": OLD})})[0].ami == OLD


@pytest.mark.parametrize(
    ("others", "default", "known"),
    [
        ({"prod.tfvars": OLD}, NEW, UNKNOWN),
        ({"prod.tfvars": OLD}, OLD, OLD),
        ({"prod.tfvars": OLD}, None, OLD),
        ({"envs/prod.tfvars": OLD}, None, OLD),
        ({"envs/prod.tfvars": OLD, "envs/dev.tfvars": OLD}, None, OLD),
        ({"envs/prod.tfvars": OLD, "envs/dev.tfvars": NEW}, None, UNKNOWN),
        ({"envs/prod.tfvars": OLD, "envs/dev.tfvars": None}, None, UNKNOWN),
        ({"envs/prod.tfvars": OLD, "envs/dev.tfvars": None}, OLD, OLD),
        ({"envs/prod.tfvars": OLD, "terraform.tfvars": NEW}, None, UNKNOWN),
        ({"envs/prod.tfvars": OLD, "terraform.tfvars": OLD}, NEW, OLD),
        ({"other/main.tf": None, "other/prod.tfvars": OLD}, NEW, NEW),
        ({"../prod.tfvars": OLD}, NEW, NEW),
    ],
)
def test_what_files_of_variables_of_environments_do_not_agree_on_is_not_known(
    others: dict[str, str | None], default: str | None, known: Any
) -> None:
    given = "" if default is None else f'  default = "{default}"\n'
    files = {"root/main.tf": f'variable "ami" {{\n{given}}}\n' + group("var.ami")}
    for name, text in others.items():
        path = posixpath.normpath(f"root/{name}")
        files[path] = "# none\n" if text is None else f'ami = "{text}"\n'

    assert nodes_of(files)[0].ami == known


UNITED = """\
variable "mps" {
  type = number
}
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"
  name    = "a"
  eks_managed_node_groups = merge(
    { base = { instance_types = ["m7i.large"] } },
    var.mps == 0 ? OTHER : { shared = { instance_types = ["g6.xlarge"], labels = { a = "b" } } },
  )
}
"""
TYPES = 'instance_types = ["p5.48xlarge"]'


@pytest.mark.parametrize(
    ("other", "types"),
    [
        ("{}", {"base": ("m7i.large",), "shared": ("g6.xlarge",)}),
        (
            f"{{ whole = {{ {TYPES} }} }}",
            {"base": ("m7i.large",), "shared": ("g6.xlarge",), "whole": ("p5.48xlarge",)},
        ),
        (f"{{ shared = {{ {TYPES} }} }}", {"base": ("m7i.large",), "shared": UNKNOWN}),
    ],
)
def test_of_two_ways_to_have_groups_both_are_there(other: str, types: dict[str, Any]) -> None:
    """Which of them holds is of the environment; labels and taints are those of one of them."""
    found = nodes_of({"main.tf": UNITED.replace("OTHER", other)})
    named = {each.source.name.partition('"')[2].partition('"')[0]: each for each in found}

    assert {name: each.instance_types for name, each in named.items()} == types


@pytest.mark.parametrize("swapped", [True, False])
def test_of_two_ways_of_which_one_may_have_more_so_may_both(swapped: bool) -> None:
    ways = [OpenObject({"a": HclObject()}), HclObject()]

    assert is_open(either(*(ways[::-1] if swapped else ways)))
    assert not is_open(either(HclObject(), HclObject()))


def test_the_arn_of_a_role_is_equal_to_no_text() -> None:
    role = 'resource "aws_iam_role" "own" {\n  name = "own"\n}\n'
    text = group(f'aws_iam_role.own.arn == "a" ? "{OLD}" : "{NEW}"')

    assert nodes_of({"main.tf": role + text})[0].ami is UNKNOWN


def test_of_two_ways_to_have_labels_none_is_certain() -> None:
    text = UNITED.replace("OTHER", "{}").replace('{ a = "b" }', 'var.mps == 1 ? {} : { a = "b" }')
    found = nodes_of({"main.tf": text})

    assert [each.labels for each in found if "shared" in each.source.name] == [UNKNOWN]


@pytest.mark.parametrize("copies", ['toset(["a", "b"])', "{ a = 1, b = 2 }"])
def test_a_resource_is_there_once_for_each(copies: str) -> None:
    text = group(f'"{NEW}"').replace('= "gpu"', '= "gpu-${each.key}"')
    text = text.replace("{\n", f"{{\n  for_each = {copies}\n", 1)

    assert [each.name for each in nodes_of({"main.tf": text})] == ["gpu-a", "gpu-b"]


def test_of_an_unknown_number_one_is_looked_at() -> None:
    text = group(f'"{OLD}"').replace("{\n", "{\n  for_each = var.groups\n", 1)
    text = text.replace('= "gpu"', "= each.key")
    (nodes,) = nodes_of({"main.tf": text})

    assert nodes.name is UNKNOWN
    assert found({"main.tf": text})[0][:2] == ("GPU1072", "main.tf")


def test_what_is_switched_off_is_judged_by_itself_and_is_not_there() -> None:
    switch = 'variable "on" {\n  default = false\n}\n'
    text = switch + group(f'"{OLD}"').replace("{\n", "{\n  count = var.on ? 1 : 0\n", 1)

    assert nodes_of({"main.tf": text}) == []
    assert ("GPU1072", "main.tf", 8) in found({"main.tf": text}, severe=False)
    assert "GPU1072" not in {code for code, *_ in found({"main.tf": text})}


DYNAMIC = """\
resource "aws_eks_node_group" "gpu" {
  node_group_name = "gpu"
  instance_types  = ["g5.xlarge"]
  dynamic "taint" {
    for_each = %s
    content {
      key    = taint.value.key
      effect = taint.value.effect
    }
  }
}
"""


def test_a_group_of_instances_is_one_of_nodes_whatever_its_cluster_is_called() -> None:
    text = """\
resource "aws_autoscaling_group" "gpu" {
  name     = "gpu"
  min_size = 1
  max_size = 2
  tag {
    key   = "kubernetes.io/cluster/${var.cluster}"
    value = "owned"
  }
}
"""

    assert [nodes.provisioner for nodes in nodes_of({"main.tf": text})] == ["selfManaged"]
    assert nodes_of({"main.tf": text.replace("kubernetes.io/cluster/", "of/")}) == []


def test_a_dynamic_block_is_there_for_each_value() -> None:
    known = (
        DYNAMIC % '[{ key = "a", effect = "NO_SCHEDULE" }, { key = "b", effect = "NoSchedule" }]'
    )
    (nodes,) = nodes_of({"main.tf": known})

    assert nodes.taints is not UNKNOWN
    assert [str(each) for each in nodes.taints] == ["a:NoSchedule", "b:NoSchedule"]
    assert ("GPU1081", "main.tf", 8) in found({"main.tf": known})
    assert nodes_of({"main.tf": DYNAMIC % "var.taints"})[0].taints is UNKNOWN


RELEASE = """\
resource "helm_release" "operator" {
  name       = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  namespace  = "gpu-operator"
%s
}
"""
VALUES: dict[str, tuple[str, dict[str, str], str, int]] = {
    "yamlencode": (
        '  values = [yamlencode({\n    mig = {\n      strategy = "%s"\n    }\n  })]',
        {},
        "main.tf",
        8,
    ),
    "jsonencode": ('  values = [jsonencode({ mig = { strategy = "%s" } })]', {}, "main.tf", 6),
    "a heredoc": ("  values = [<<-EOT\n    mig:\n      strategy: %s\n  EOT\n  ]", {}, "main.tf", 8),
    "a heredoc of the old kind": (
        "  values = [<<EOT\nmig:\n  strategy: %s\nEOT\n  ]",
        {},
        "main.tf",
        8,
    ),
    "a heredoc with a local": (
        (
            "  values = [<<-EOT\n    driver:\n      version: ${var.version}\n    mig:\n"
            "      strategy: %s\n  EOT\n  ]"
        ),
        {},
        "main.tf",
        10,
    ),
    "a file": (
        '  values = [file("${path.module}/values/gpu.yaml")]',
        {"values/gpu.yaml": "# of the operator\nmig:\n  strategy: %s\n"},
        "values/gpu.yaml",
        3,
    ),
    "a file that is decoded": (
        '  values = [yamlencode(yamldecode(file("${path.module}/gpu.yaml")))]',
        {"gpu.yaml": "mig:\n  strategy: %s\n"},
        "gpu.yaml",
        2,
    ),
    "a template's file": (
        '  values = [templatefile("${path.module}/gpu.tpl", { version = "580" })]',
        {"gpu.tpl": 'driver:\n  version: "${version}"\nmig:\n  strategy: %s\n'},
        "gpu.tpl",
        4,
    ),
    "a set block": ('  set {\n    name  = "mig.strategy"\n    value = "%s"\n  }', {}, "main.tf", 7),
    "a set list": (
        '  set = [{\n    name  = "mig.strategy"\n    value = "%s"\n  }]',
        {},
        "main.tf",
        7,
    ),
    "a dynamic set": (
        (
            '  dynamic "set" {\n    for_each = { "mig.strategy" = "%s" }\n    content {\n'
            "      name  = set.key\n      value = set.value\n    }\n  }"
        ),
        {},
        "main.tf",
        9,
    ),
}


@pytest.mark.parametrize("way", VALUES)
def test_values_of_a_chart_are_known_and_found_where_they_stand(way: str) -> None:
    text, others, file, line = VALUES[way]

    def files(strategy: str) -> dict[str, str]:
        main = RELEASE % text.replace("%s", strategy)
        return {
            "main.tf": main,
            **{name: each.replace("%s", strategy) for name, each in others.items()},
        }

    assert found(files("singel")) == [("GPU1036", file, line)]
    assert found(files("single")) == []
    (release,) = releases_of(files("single"))
    assert isinstance(release.values, dict)
    assert release.values["mig"] == {"strategy": "single"}


@pytest.mark.parametrize(
    "values",
    [
        "var.values",
        "[var.values]",
        '[file("${path.module}/none.yaml")]',
        "[<<-EOT\n    %{ if var.a }\n    b: c\n    %{ endif }\n  EOT\n  ]",
    ],
)
def test_values_that_are_not_known(values: str) -> None:
    (release,) = releases_of({"main.tf": RELEASE % f"  values = {values}"})

    assert release.values is UNKNOWN


def test_a_chart_of_the_repository_is_none_of_nvidias() -> None:
    text = (RELEASE % "").replace(
        '= "gpu-operator"\n  namespace', '= "./charts/gpu-operator"\n  namespace'
    )
    (release,) = releases_of({"main.tf": text})

    assert release.chart == ""


CONFIG = """\
resource "helm_release" "plugin" {
  name       = "nvdp"
  chart      = "nvidia-device-plugin"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  values = [<<-EOT
    config:
      map:
        default: |-
          version: v1
          sharing:
            timeSlicing:
              resources:
                - name: nvidia.com/gpu
                  replicas: %s
  EOT
  ]
}
"""


def test_a_configuration_within_values_is_read() -> None:
    assert found({"main.tf": CONFIG % "1"}) == [("GPU1021", "main.tf", 14)]
    assert found({"main.tf": CONFIG % "4"}) == []


POD = """\
resource "kubernetes_deployment_v1" "app" {
  metadata {
    name = "app"
  }
  spec {
    template {
      spec {
        container {
          name  = "app"
          image = "app:1"
          resources {
            limits = {
              "nvidia.com/gpu" = %s
            }
            requests = {
              "nvidia.com/gpu" = 1
            }
          }
        }
      }
    }
  }
}
"""


def test_an_object_of_the_kubernetes_provider_is_found_at_its_line() -> None:
    assert found({"main.tf": POD % '"0.5"'}) == [("GPU1114", "main.tf", 13)]
    assert found({"main.tf": POD % "1"}) == []


POOL = """\
apiVersion: karpenter.sh/%s
kind: NodePool
metadata:
  name: ${name}
spec: {}
"""


@pytest.mark.parametrize(
    ("text", "others", "file", "line"),
    [
        (
            (
                'resource "kubectl_manifest" "pool" {\n  yaml_body = <<-EOT\n    apiVersion: '
                "karpenter.sh/%s\n    kind: NodePool\n    metadata:\n      name: a\n  EOT\n}\n"
            ),
            {},
            "main.tf",
            3,
        ),
        (
            (
                'resource "kubernetes_manifest" "pool" {\n  manifest = {\n    apiVersion = '
                '"karpenter.sh/%s"\n    kind = "NodePool"\n  }\n}\n'
            ),
            {},
            "main.tf",
            3,
        ),
        (
            (
                'resource "kubectl_manifest" "pool" {\n'
                '  for_each = fileset(path.module, "pools/*")\n'
                '  yaml_body = templatefile("${path.module}/${each.value}", { name = "a" })\n}\n'
            ),
            {"pools/a.yaml": POOL},
            "pools/a.yaml",
            1,
        ),
        (
            (
                'resource "kubernetes_manifest" "pool" {\n'
                '  manifest = yamldecode(file("${path.module}/pool.yaml"))\n}\n'
            ),
            {"pool.yaml": POOL.replace("${name}", "a")},
            "pool.yaml",
            1,
        ),
    ],
)
def test_a_manifest_is_read_where_it_stands(
    text: str, others: dict[str, str], file: str, line: int
) -> None:
    def files(version: str) -> dict[str, str]:
        filled = {name: each.replace("%s", version) for name, each in others.items()}
        return {"main.tf": text.replace("%s", version), **filled}

    assert ("GPU1050", file, line) in found(files("v1beta1"))
    assert "GPU1050" not in {code for code, _, _ in found(files("v1"))}


CALL = 'module "nodes" {\n  source = "./modules/nodes"\n  ami    = "%s"\n}\n'
NODES = 'variable "ami" {}\n' + group("var.ami")


def test_a_module_of_the_repository_is_what_it_is_called_with() -> None:
    files = {"main.tf": CALL % OLD, "modules/nodes/main.tf": NODES}

    assert found(files)[0] == ("GPU1072", "modules/nodes/main.tf", 5)
    assert found({**files, "main.tf": CALL % NEW}) == []
    (nodes,) = nodes_of(files)
    assert nodes.source.name == "module.nodes.aws_eks_node_group.gpu"


def test_a_module_is_read_once_for_each_root_that_calls_it() -> None:
    call = CALL.replace("./modules", "../modules")
    files = {
        "one/main.tf": call % OLD,
        "two/main.tf": call % NEW,
        "modules/nodes/main.tf": NODES,
    }

    assert [each.ami for each in nodes_of(files)] == [OLD, NEW]
    assert [code for code, _, _ in found(files)] == ["GPU1072"]
    assert {scope.name for scope in read_files(given(files)).scopes()} == {
        "the Terraform root nowhere/one",
        "the Terraform root nowhere/two",
    }


def test_an_output_of_a_module_is_known() -> None:
    files = {
        "main.tf": 'module "facts" {\n  source = "./facts"\n}\n' + group("module.facts.ami"),
        "facts/main.tf": f'output "ami" {{\n  value = "{OLD}"\n}}\n',
    }

    assert nodes_of(files)[0].ami == OLD


def test_a_root_module_is_one_scope_with_what_lies_beside_it() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {
            "nodeSelector": {"eks.amazonaws.com/nodegroup": "other"},
            "containers": [
                {"name": "c", "image": "c:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
            ],
        },
    }
    files = {
        "nodes.tf": group(f'"{NEW}"'),
        "charts.tf": RELEASE % '  values = [file("${path.module}/gpu.yaml")]',
        "gpu.yaml": "driver: {enabled: true}\n",
        "pod.json": json.dumps(pod),
        "elsewhere/pod.json": json.dumps(pod),
    }
    scopes = {scope.name: scope.files for scope in read_files(given(files)).scopes()}

    assert scopes["the Terraform root nowhere"] == {
        f"nowhere/{name}" for name in ("nodes.tf", "charts.tf", "gpu.yaml", "pod.json")
    }
    assert scopes["the folder nowhere/elsewhere"] == {"nowhere/elsewhere/pod.json"}
    assert ("GPU1180", "gpu.yaml", 1) in found(files)


def test_a_file_of_a_resource_that_is_switched_off_is_not_of_the_root() -> None:
    text = (RELEASE % '  values = [file("${path.module}/off/gpu.yaml")]').replace(
        "{\n", "{\n  count = 0\n", 1
    )
    files = {"main.tf": text, "off/gpu.yaml": "mig: {strategy: singel}\n"}
    scopes = {scope.name: scope.files for scope in read_files(given(files)).scopes()}

    assert scopes["the Terraform root nowhere"] == {"nowhere/main.tf"}


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        ('resource "a" "b" {\n  x = \n}\n', 2),
        ("locals {\n  a = [1, 2\n}\n", 2),
        ("locals {\n  a = 1 +\n}\n", 2),
    ],
)
def test_what_cannot_be_read_is_noted_at_its_place(broken: str, line: int) -> None:
    files = {"main.tf": broken + group(f'"{OLD}"'), "other.tf": RELEASE % ""}
    told = found(files, severe=False)

    assert any(code == "GPU1001" and abs((at or 0) - line) <= 1 for code, _, at in told)
    assert "GPU1072" in {code for code, _, _ in told}
    assert len(releases_of(files)) == 1


def test_opentofu_has_files_of_its_own() -> None:
    assert nodes_of({"main.tofu": group(f'"{OLD}"')})[0].ami == OLD
    both = {"main.tofu": group(f'"{OLD}"'), "main.tf": group(f'"{NEW}"')}
    assert [each.ami for each in nodes_of(both)] == [OLD]


def test_json_is_read_as_terraform_does() -> None:
    document = {
        "locals": {"ami": OLD},
        "resource": {
            "aws_eks_node_group": {
                "gpu": {
                    "node_group_name": "gpu",
                    "instance_types": ["g5.xlarge"],
                    "ami_type": "${local.ami}",
                    "scaling_config": {"min_size": 1, "max_size": 2},
                    "taint": [{"key": "a", "effect": "NO_SCHEDULE"}],
                }
            }
        },
    }
    files = {"main.tf.json": json.dumps(document, indent=2)}
    (nodes,) = nodes_of(files)

    assert (nodes.ami, nodes.least, nodes.most) == (OLD, 1, 2)
    assert nodes.taints is not UNKNOWN
    assert [str(each) for each in nodes.taints] == ["a:NoSchedule"]
    assert ("GPU1072", "main.tf.json", 12) in found(files)


def test_an_override_goes_over_what_it_names() -> None:
    files = {"main.tf": group(f'"{NEW}"'), "main_override.tf": group(f'"{OLD}"')}

    assert [each.ami for each in nodes_of(files)] == [OLD]


def test_one_file_is_judged_with_those_beside_it(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(group("local.ami"), encoding="utf-8")
    (tmp_path / "locals.tf").write_text(f'locals {{\n  ami = "{OLD}"\n}}\n', encoding="utf-8")
    alone = lint_files(given_files([str(tmp_path / "main.tf")]))
    whole = lint_files(given_files([str(tmp_path)]))

    def said(reports: Any) -> set[Any]:
        return {(each.file, placed.finding) for each in reports for placed in each.found}

    assert said(alone) == said(whole)
    assert {placed.finding.code for each in alone for placed in each.found} >= {"GPU1072"}


def test_files_without_hcl_do_not_load_its_parser(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n", encoding="utf-8")
    program = (
        "import sys\nfrom eks_gpushare.cli import main\n"
        "main(['lint', sys.argv[1]])\nprint('tree_sitter' in sys.modules)\n"
    )

    def loads(name: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / name)],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[-1]

    assert loads("pod.yaml") == "False"
    (tmp_path / "main.tf").write_text(group(f'"{NEW}"'), encoding="utf-8")
    assert loads("main.tf") == "True"


def test_modules_that_call_each_other_end() -> None:
    files = {
        "main.tf": 'module "a" {\n  source = "./a"\n}\n',
        "a/main.tf": 'module "b" {\n  source = "../a"\n}\n' + group(f'"{OLD}"'),
    }

    assert terraform_roots(given(files)).broken == []


def test_without_its_parser_it_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roots_of_terraform, "find_spec", lambda _: None)
    reports = lint_files([GivenFile("b.tf", "locals {}\n"), GivenFile("a.tf", "locals {\n")])

    told = {report.file: [found.message for found in report.findings] for report in reports}
    assert told["b.tf"] == []
    assert told["a.tf"] == [
        "Terraform's own files are not read, since their parser is not installed."
    ]
    assert all(report.readable for report in reports)
