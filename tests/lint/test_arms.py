"""Charts that a script installs in one arm of a choice or in another, of which one is taken."""

from __future__ import annotations

import pytest
from linted import said_of

from eks_gpushare.lint.shell.reading import read_commands
from eks_gpushare.manifests.shell.said import Said

OPERATOR = "helm upgrade --install gpu-operator nvidia/gpu-operator -n gpu --version v25.10.0"
PLUGIN = "helm upgrade --install nvdp nvdp/nvidia-device-plugin -n gpu --version 0.17.4"
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
CASE = f"""\
case "$MODE" in
  operator|default)
    {OPERATOR} \\
      --set driver.enabled=false,toolkit.enabled=false
    ;;
  plugin)
    {PLUGIN} ;;
  *) exit 1 ;;
esac
"""
IF = f"""\
if [ "$MODE" = operator ]; then
  {OPERATOR} --set driver.enabled=false,toolkit.enabled=false
ELSE
  {PLUGIN}
fi
"""


def conditions(text: str) -> list[str]:
    """On what each chart that a script installs is there, in the order of the text."""
    found = Said("a.sh")
    read_commands(text, found)
    return [each.source.condition for each in found.installed()]


@pytest.mark.parametrize(
    "text",
    [
        CASE,
        IF.replace("ELSE", "else"),
        IF.replace("ELSE", 'elif [ "$MODE" = plugin ]; then'),
        f"{IF.replace('ELSE', 'else')}echo done\n",
        f"if a; then {OPERATOR}; else {PLUGIN}; fi",
    ],
)
def test_one_of_two_ways_is_taken(text: str) -> None:
    one, other = conditions(text)

    assert "" not in (one, other)
    assert one != other
    assert "GPU1185" not in said_of(a__sh=text, nodes__yaml=NODES)


@pytest.mark.parametrize(
    "text",
    [
        IF.replace("ELSE\n", ""),
        f"if a; then\n  {OPERATOR} --set driver.enabled=false\nfi\nif b; then\n  {PLUGIN}\nfi\n",
        f"if a; then\n  :\nelse\n  {OPERATOR}\n  {PLUGIN}\nfi\n",
        f"{OPERATOR}\n{PLUGIN}\n",
        f"fi\nesac\nelse\n{OPERATOR};;\n{PLUGIN}\n",
    ],
)
def test_what_is_no_other_way_is_there_for_certain(text: str) -> None:
    assert conditions(text) == ["", ""]
    assert "GPU1185" in said_of(a__sh=text, nodes__yaml=NODES)


def test_two_in_one_way_are_there_at_once() -> None:
    kueue = "helm install kueue oci://registry.k8s.io/kueue/charts/kueue -n kueue"
    both = f"if a; then\n  {OPERATOR}\n  {PLUGIN}\nelse\n  {kueue}\nfi\n"
    one, same, other = conditions(both)

    assert one == same != other
    assert "GPU1185" in said_of(a__sh=both, nodes__yaml=NODES)


def test_a_way_within_a_way_is_none_of_the_outer_ones() -> None:
    inner = f"if a; then\n  if b; then\n    {OPERATOR}\n  else\n    {PLUGIN}\n  fi\nfi\n"
    one, other = conditions(inner)

    assert "" not in (one, other)
    assert one != other
    assert conditions(f"{inner}helm install a b/c\n")[2] == ""
