"""Commands that Terraform runs itself, by `provisioner "local-exec"` of a resource."""

from __future__ import annotations

import re

import pytest
from linted import every, said

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

GROUP = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "ml"
  ami_type       = "AL2023_x86_64_NVIDIA"
  instance_types = ["g5.xlarge"]
  scaling_config {
    min_size = 1
    max_size = 2
  }
}
"""
INSTALLS = """\
resource "null_resource" "gpus" {
  OPTION
  provisioner "local-exec" {
    command = <<-EOT
      aws eks update-kubeconfig --name ${aws_eks_node_group.gpu.cluster_name}
      helm upgrade --install gpu-operator nvidia/gpu-operator -n gpus --version v25.10.0 \\
        --set driver.enabled=false,toolkit.enabled=TOOLKIT
      kubectl apply -f - <<EOF
      apiVersion: v1
      kind: Pod
      metadata: {name: a}
      spec:
        containers:
        - name: a
          resources: {limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}
      EOF
    EOT
    MORE
  }
}
"""


def module(toolkit: str = "true", more: str = "", option: str = "") -> str:
    made = INSTALLS.replace("TOOLKIT", toolkit).replace("MORE", more).replace("OPTION", option)
    return f"{GROUP}{made}"


def test_what_they_install_and_apply_is_judged_with_the_nodes_of_the_root() -> None:
    (report,) = lint_files([GivenFile("main.tf", module())])

    lines = {each.finding.code: each.position and each.position.line for each in report.found}
    assert lines == {"GPU1180": 16, "GPU1114": 24}
    assert said({"main.tf": module(toolkit="false")}) == ["GPU1114"]


@pytest.mark.parametrize(
    "more",
    [
        "",
        'interpreter = ["/bin/bash", "-c"]',
        'interpreter = ["sh", "-c"]',
        'interpreter = ["/usr/bin/env", "bash", "-c"]',
    ],
)
def test_a_shell_runs_them(more: str) -> None:
    assert said({"main.tf": module(more=more)}) == ["GPU1180", "GPU1114"]


@pytest.mark.parametrize(
    ("more", "option"),
    [
        ("when = destroy", ""),
        ('when = "destroy"', ""),
        ('interpreter = ["python3", "-c"]', ""),
        ("interpreter = var.shell", ""),
        ('interpreter = ["/usr/bin/env", "python3"]', ""),
        ("", "count = 0"),
    ],
)
def test_what_is_run_by_others_at_another_time_or_not_at_all(more: str, option: str) -> None:
    assert said({"main.tf": module(more=more, option=option)}) == []


def test_those_of_a_machine_that_is_made_are_its_own() -> None:
    text = module().replace('"local-exec"', '"remote-exec"').replace("command = ", "script = ")

    assert said({"main.tf": text}) == []


@pytest.mark.parametrize("kind", ["terraform_data", "aws_instance", "google_compute_instance"])
def test_any_resource_may_have_some(kind: str) -> None:
    text = module().replace('resource "null_resource"', f'resource "{kind}"')

    assert said({"main.tf": text}) == ["GPU1180", "GPU1114"]


def test_one_line_of_a_module_that_two_roots_call() -> None:
    """Each root has its own, so that neither has it twice."""
    plugin = "helm install nvdp nvdp/nvidia-device-plugin -n nvdp --version 0.17.4"
    command = f'provisioner "local-exec" {{\n    command = "{plugin}"\n  }}\n'
    files = {
        "modules/plugin/main.tf": f'resource "null_resource" "a" {{\n  {command}}}\n',
        **{
            f"{root}/main.tf": f'{GROUP}module "a" {{\n  source = "../modules/plugin"\n}}\n'
            for root in ("dev", "prod")
        },
    }
    assert said(files) == []
    files["prod/main.tf"] += module(toolkit="false").removeprefix(GROUP)
    assert said(files) == ["GPU1185", "GPU1114"]


def test_a_condition_that_is_not_known() -> None:
    """Of two that are each on such a condition there need not be both."""
    plugin = "helm install nvdp nvdp/nvidia-device-plugin -n nvdp --version 0.17.4"
    other = (
        'variable "a" {}\nresource "null_resource" "p" {\n  count = var.a ? 1 : 0\n'
        f'  provisioner "local-exec" {{\n    command = "{plugin}"\n  }}\n}}\n'
    )
    on = module(toolkit="false", option="count = var.b ? 1 : 0") + 'variable "b" {}\n'

    assert said({"main.tf": on + other}) == ["GPU1114"]
    sure = re.sub(r"var.[ab] \? 1 : 0", "1", on + other)
    assert said({"main.tf": sure}) == ["GPU1114", "GPU1185"]


def test_labels_that_it_puts_on_nodes_are_a_note() -> None:
    """A cluster by kubespray has its nodes labelled so, whenever it is brought up to date."""
    label = "kubectl label node a nvidia.com/gpu.present=true"
    text = (
        f'resource "null_resource" "a" {{\n  provisioner "local-exec" {{\n    command = "{label}"'
    )
    found = every([("main.tf", text + "\n  }\n}\n")])

    assert [(each.code, each.severity) for each in found] == [("GPU1062", "info")]
    assert said({"label.sh": label}) == ["GPU1062"]


def test_what_else_is_wrong_with_a_command_is_as_grave_as_in_a_script() -> None:
    taint = "kubectl taint node a nvidia.com/gpu=true"
    text = (
        f'resource "null_resource" "a" {{\n  provisioner "local-exec" {{\n    command = "{taint}"'
    )

    assert said({"main.tf": text + "\n  }\n}\n"}) == said({"taint.sh": taint}) == ["GPU1063"]


PLUGIN = "helm install nvdp nvdp/nvidia-device-plugin -n nvdp --version 0.17.4"


def both(plugin: str = PLUGIN, more: str = "", nodes: str = GROUP) -> list[str]:
    """What is said of the operator by one command, and the plugin by another."""
    operator = module(toolkit="false").removeprefix(GROUP)
    text = f'provisioner "local-exec" {{\n    command = "{plugin}"\n    {more}\n  }}'
    other = f'resource "null_resource" "p" {{\n  {text}\n}}\n'
    return [code for code in said({"main.tf": f"{nodes}{operator}{other}"}) if code != "GPU1114"]


def test_commands_that_choose_a_cluster_may_be_for_another() -> None:
    clusters = "".join(f'resource "aws_eks_cluster" "{name}" {{}}\n' for name in ("a", "b"))

    assert both() == ["GPU1185"]
    assert "GPU1185" in both(nodes=f'{GROUP}resource "aws_eks_cluster" "a" {{}}\n')
    assert both(f"{PLUGIN} --kube-context west") == []
    assert both(f"{PLUGIN} --kubeconfig west.yaml") == []
    assert both(more='environment = { KUBECONFIG = "west.yaml" }') == []
    assert both(more='environment = { AWS_PROFILE = "ml" }') == ["GPU1185"]
    assert "GPU1185" not in both(nodes=f"{GROUP}{clusters}")
    assert both(f"{PLUGIN} --dry-run") == []


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ('"set -e\\nkubectl taint node a nvidia.com/gpu=true"', (3, 5)),
        ('"kubectl taint node ${count.index} nvidia.com/gpu=true"', (3, 50)),
        ("<<-EOT\n      set -e\n      kubectl taint node a nvidia.com/gpu=true\n    EOT", (5, 28)),
        ("<<EOT\nkubectl taint node a nvidia.com/gpu=true\nEOT", (4, 22)),
    ],
)
def test_a_finding_stands_where_the_words_are_written(command: str, place: tuple[int, int]) -> None:
    text = (
        f'resource "null_resource" "a" {{\n  provisioner "local-exec" {{\n    command = {command}'
    )
    (report,) = lint_files([GivenFile("main.tf", f"{text}\n  }}\n}}\n")])
    (found,) = report.found

    assert found.finding.code == "GPU1063"
    assert found.position == place
