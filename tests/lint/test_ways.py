"""What a script installs by one function or another, or only where an arm before did not end it."""

from __future__ import annotations

import pytest
from linted import said

from eks_gpushare.lint.shell.reading import read_commands
from eks_gpushare.manifests.shell.said import Said
from eks_gpushare.manifests.shell.words import commands

OPERATOR = "helm install gpu-operator nvidia/gpu-operator -n gpu --set driver.enabled=false"
PLUGIN = "helm install nvdp nvdp/nvidia-device-plugin -n gpu"
STATIC = (
    "kubectl apply -f https://raw.githubusercontent.com/NVIDIA/k8s-device-plugin/v0.16.2/"
    "deployments/static/nvidia-device-plugin.yml"
)
BOTH = f"op() {{\n  {OPERATOR}\n}}\npl() {{\n  {PLUGIN}\n}}\n"


def is_told(text: str) -> bool:
    """Whether two plugins are said to be there at once."""
    return "GPU1185" in said({"up.sh": f"{text}\n"})


@pytest.mark.parametrize(
    "called",
    [
        'case "$1" in\n  op) op ;;\n  pl) pl ;;\nesac',
        'if [ "$MODE" = op ]; then op; else pl; fi',
        'main() {\n  if a; then op; else pl; fi\n}\nmain "$@"',
        '"$@"',
        '"${1}l"',
        'echo "usage: $0 op|pl"; printf "%s" op; "$1"',
        "if a; then\n  op\n  exit 0\nfi\npl",
        "if a; then op; exit; fi; pl",
        "case $1 in\n  op|o) op ;;\n  again) op ;;\n  *) pl ;;\nesac",
        'do_op() { op; }\ndo_pl() { pl; }\n"do_$1"',
        "op_again() {\n  if a; then op; fi\n}\nif b; then op_again; else pl; fi",
        "if a; then retry 3 op; else retry 3 pl; fi",
    ],
)
def test_functions_of_which_one_is_called(called: str) -> None:
    assert not is_told(BOTH + called)
    assert not is_told(BOTH.replace(PLUGIN, STATIC) + called)
    assert not is_told(
        BOTH.replace("op()", "function op").replace("pl()", "function pl()") + called
    )
    assert not is_told(BOTH.replace("()", " ( )").replace(" {\n", "\n{\n") + called)


@pytest.mark.parametrize(
    "called",
    [
        "op\npl",
        "op && pl",
        'case "$1" in\n  all) op; pl ;;\n  op) op ;;\n  pl) pl ;;\nesac',
        "all() {\n  op\n  pl\n}\nall",
        'all() {\n  op\n  pl\n}\n"$1"',
        "if a; then op; fi\nif b; then pl; fi",
        "if a; then op; fi\npl",
        'for each in "$@"; do case $each in op) op;; pl) pl;; esac; done',
        "op() { pl; }\npl() { op; }\nop",
        "if a; then op; else pl; fi\nop\npl",
        "{ op; }\npl",
    ],
)
def test_functions_that_are_called_both(called: str) -> None:
    assert is_told(BOTH + called)
    assert is_told(BOTH.replace("op()", "function op").replace("pl()", "function pl()") + called)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("if a; then\n  OP\n  exit\nfi\nPL", False),
        ("if a; then\n  OP\n  return 1\nfi\nPL", False),
        ("if a; then OP; exit 0; fi; PL", False),
        ("if a; then\n  OP\n  exit\nelse\n  b\nfi\nPL", False),
        ("if a; then\n  b\nelse\n  OP\n  exit\nfi\nPL", False),
        ("case $1 in\n  a) OP; exit ;;\nesac\nPL", False),
        ("case $1 in\n  a) OP; exit ;;\n  *) b ;;\nesac\nPL", False),
        ("case $1 in\n  a)\n    OP\n    exit ;;\n  *)\n    b\nesac\nPL", False),
        ("f() {\n  if a; then\n    OP\n    return\n  fi\n  PL\n}\nf", False),
        ("if b; then\n  if a; then\n    OP\n    exit\n  fi\n  PL\nfi", False),
        ("(if a; then\n  OP\n  exit\nfi\nPL)", False),
        ("if a; then\n  OP\n  exit\nfi\nif b; then\n  c\nfi\nPL", False),
        ("if a; then\n  OP\n  exit\nfi\nfor x in y; do PL; done", False),
        ("if a; then\n  OP\n  exit\nfi\nif b; then\n  c\nelse\n  PL\nfi", False),
        ("if a; then\n  OP\nfi\nPL", True),
        ("if a; then\n  OP\nelse\n  exit\nfi\nPL", True),
        ("if a; then\n  exit\nfi\nOP\nPL", True),
        ("if a; then\n  OP\n  b && exit\nfi\nPL", True),
        ("if a; then\n  OP\n  b || exit 1\nfi\nPL", True),
        ("if a; then\n  OP\n  exit | b\nfi\nPL", True),
        ("if a; then\n  OP\n  exit &\nfi\nPL", True),
        ("if a; then\n  OP\n  echo exit\nfi\nPL", True),
        ("f() {\n  if a; then\n    OP\n    return\n  fi\n}\nf\nPL", True),
        ("(if a; then\n  OP\n  exit\nfi)\nPL", True),
        ("if b; then\n  if a; then\n    OP\n    exit\n  fi\nfi\nPL", True),
        ("if b; then\n  if a; then\n    OP\n    exit\n  fi\nelse\n  PL\nfi", False),
        ("for x in y; do\n  if a; then\n    OP\n    exit\n  fi\ndone\nPL", True),
        ("while a; do\n  if a; then\n    OP\n    return\n  fi\n  PL\ndone", True),
        ("case $1 in\n  a) b; exit ;;\n  c) OP ;;\nesac\nPL", True),
    ],
)
def test_what_ends_in_an_arm_is_not_there_with_what_is_behind(text: str, told: bool) -> None:
    assert is_told(text.replace("OP", OPERATOR).replace("PL", PLUGIN)) is told
    assert is_told(text.replace("PL", OPERATOR).replace("OP", PLUGIN)) is told


def test_a_function_that_is_not_called_is_no_arm_of_another_choice() -> None:
    functions = f"b() {{ c; }}\npl() {{ {PLUGIN}; }}\n"

    assert is_told(f"if a; then\n  {OPERATOR}\nfi\n{functions}")


def test_the_functions_of_two_parts_of_a_guide_are_not_one_choice() -> None:
    one, other = BOTH.split("pl()")
    guide = f"```bash\n{one}```\n\n```bash\nb() {{\n  :\n}}\npl(){other}```\n"
    found = Said("README.md")
    read_commands(one, found, 2)
    read_commands(f"b() {{\n  :\n}}\npl(){other}", found, 9)
    choices = {choice for each in found.releases.values() for choice, _ in each.source.arms}

    assert len(choices) == 2, guide


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("a() {\nb\n}\nc", ["a", ""]),
        ("a() { b; }; c", ["a", ""]),
        ("function a { b\n}\nc", ["a", ""]),
        ("function a() {\nb\n}\nc", ["a", ""]),
        ("a()\n{\nb\n{ c; }\nd\n}\ne", ["a", "a", "a", ""]),
        ("a() {\nb() {\nc\n}\nd\n}\ne", ["b", "a", ""]),
        ("{ a; }\n}\nb", ["", ""]),
        ("a b() {\nc\n}", ["", ""]),
        ("x=() {\na\n}", [""]),
    ],
)
def test_in_which_function_a_command_stands(text: str, functions: list[str]) -> None:
    found = [each for each in commands(text, {}) if each.words and each.words[0].text != "}"]

    assert [each.function for each in found] == functions


def test_long_chains_of_functions_are_gone_through_once() -> None:
    text = "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(400))

    assert is_told(f"{text}f400() {{ {OPERATOR}; {PLUGIN}; }}\nf0")
