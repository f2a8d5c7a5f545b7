"""Charts that a script installs in one arm of a choice or in another, of which one is taken."""

from __future__ import annotations

import pytest
from linted import said

from eks_gpushare.lint.shell.reading import read_commands
from eks_gpushare.manifests.shell.said import Said

OPERATOR = (
    "helm upgrade --install gpu-operator nvidia/gpu-operator -n gpu --version v25.10.0"
    " --set driver.enabled=false,toolkit.enabled=false"
)
PLUGIN = "helm upgrade --install nvdp nvdp/nvidia-device-plugin -n gpu --version 0.17.4"
EXPORTER = "helm install dcgm gpu-helm-charts/dcgm-exporter -n gpu"
OTHER = "helm install keda kedacore/keda -n keda"
NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: eu-west-1, version: "1.33"}
managedNodeGroups:
- name: gpu
  amiFamily: AmazonLinux2023
  instanceType: g6.xlarge
  labels: {nvidia.com/gpu.present: "true"}
"""
TWICE = ("GPU1185", "GPU1187")


def twice(text: str, **more: str) -> list[str]:
    """What is said of two plugins or engines, of a script beside nodes."""
    files = {"a.sh": text, "nodes.yaml": NODES, **more}
    return [code for code in said(files) if code in TWICE]


def numbers(text: str) -> list[list[int]]:
    """The arms within which a script installs each chart."""
    found = Said("a.sh")
    read_commands(text, found)
    arms = [each.source.arms for each in found.releases.values()]
    return [[number for choice, number in each if choice.line] for each in arms]


@pytest.mark.parametrize(
    "text",
    [
        f'case "$MODE" in\n  op|all)\n    {OPERATOR}\n    ;;\n  pl)\n    {PLUGIN} ;;\nesac',
        f'case "$MODE" in\n  op) {OPERATOR} ;;\n  pl)\n    {PLUGIN}\n    ;;\nesac',
        f"if a; then\n  {OPERATOR}\nelse\n  {PLUGIN}\nfi",
        f"if a; then\n  {OPERATOR}\nelif b; then\n  {PLUGIN}\nelse\n  exit 1\nfi",
        f"if a; then {OPERATOR}; else {PLUGIN}; fi; echo done",
        f"if a; then\n  if b; then\n    {OPERATOR}\n  fi\nelse\n  {PLUGIN}\nfi",
        f"install() {{ if a; then\n  {OPERATOR}\nelse\n  {PLUGIN}\nfi\n}}",
        f"if a; then for x in 1; do\n  {OPERATOR}\ndone; else\n  {PLUGIN}\nfi",
    ],
)
def test_of_two_ways_one_is_taken(text: str) -> None:
    assert twice(f"{text}\n") == []


@pytest.mark.parametrize(
    "text",
    [
        f"{OPERATOR}\n{PLUGIN}",
        f"if a; then\n  {OPERATOR}\n  {PLUGIN}\nelse\n  {OTHER}\nfi",
        f'case "$MODE" in\n  gpu)\n    {OPERATOR}\n    {PLUGIN} ;;\n  *) {OTHER} ;;\nesac',
        f"if a; then\n  {OPERATOR}\nfi\nif b; then\n  {PLUGIN}\nfi",
        f"if a; then\n  {OPERATOR}\nelse\n  exit\nfi\nif b; then\n  {PLUGIN}\nelse\n  {OTHER}\nfi",
        f"{OPERATOR}\nif a; then\n  {PLUGIN}\nelse\n  {OTHER}\nfi",
        f"if a; then\n  {OPERATOR}\n  if b; then\n    {PLUGIN}\n  else\n    {OTHER}\n  fi\nfi",
        f"if a; then\n  {OPERATOR}\n  {PLUGIN}\nelse\n  {OPERATOR}\nfi",
        f"if a; then\n  {OPERATOR}\n  for ((;;)); do break; done\n  {PLUGIN}\nfi",
        f'for s in "$@"; do case "$s" in op) {OPERATOR} ;; pl) {PLUGIN} ;; esac; done',
        f"fi\nesac\nelse\n{OPERATOR};;\n{PLUGIN}",
        f"if a; then\n  cat <<EOF\nelse\nfi\nEOF\n  {OPERATOR}\n  {PLUGIN}\nfi",
    ],
)
def test_what_is_no_other_way_is_there_too(text: str) -> None:
    assert "GPU1185" in twice(f"{text}\n")


def test_an_engine_goes_with_what_is_installed_anyway() -> None:
    text = f"{OPERATOR}\nif a; then\n  {PLUGIN}\nelse\n  {EXPORTER}\nfi\n"

    assert twice(text) == ["GPU1185", "GPU1187"]
    assert twice(f"if a; then\n  {OPERATOR}\nelse\n  {EXPORTER}\nfi\n") == []


def test_a_plugin_that_is_written_out_is_in_no_arm() -> None:
    written = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-device-plugin-daemonset, namespace: kube-system}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"}]
"""
    text = f"if a; then\n  {OPERATOR}\nelse\n  {OTHER}\nfi\n"

    assert twice(text, **{"plugin.yaml": written}) == ["GPU1185"]
    assert twice(f"{text}kubectl apply -f - <<EOF\n{written}EOF\n") == ["GPU1185"]


def test_two_scripts_have_choices_of_their_own() -> None:
    one, other = (f"if a; then\n  {each}\nELSE\n  {OTHER}\nfi\n" for each in (OPERATOR, PLUGIN))
    two = {
        "b.sh": other.replace("ELSE", "else").replace(
            f"  {PLUGIN}\nelse\n", f"  :\nelse\n  {PLUGIN}\n"
        )
    }

    assert twice(one.replace("ELSE", "else"), **two) == ["GPU1185"]


def test_which_arms_a_command_is_within() -> None:
    inner = f"case b in\n  c) {OPERATOR};;\n  d) {PLUGIN};;\n  esac"
    text = f"if a; then\n  {OTHER}\nelse\n  {inner}\nfi\n"

    assert numbers(text) == [[0], [1, 0], [1, 1]]
    assert numbers(f"{text}{OTHER}\n") == [[], [1, 0], [1, 1]]
    assert numbers(f"{text}{EXPORTER}\n")[3] == []
