"""What variables have after the choices of a script, held against bash, and where a script ends."""

from __future__ import annotations

import re
import subprocess
from itertools import count, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linted import said

from eks_gpushare.lint.shell.reading import read_commands
from eks_gpushare.manifests.placeholders import GAP
from eks_gpushare.manifests.shell import blocks
from eks_gpushare.manifests.shell.said import Said
from eks_gpushare.manifests.shell.words import commands

LABEL = "kubectl label node $N nvidia.com/mig.config=all-1g.10gb"


def printed(text: str) -> list[str]:
    """What its `echo` would print, each with its gaps."""
    return [each.words[1].text for each in commands(text, {}) if each.words[:1] and
            each.words[0].text == "echo"]  # fmt: skip


SHOW_ALL = 'echo AT "$X"\necho AT "$Y"\n'
CHOICES = {
    'X=a; if [ "$1" = y ]; then X=b; fi; echo "$X"': [GAP],
    'X=a; if [ "$1" = y ]; then X=a; fi; echo "$X"': ["a"],
    'if [ "$1" = y ]; then X=b; else X=c; fi; echo "$X"': [GAP],
    'if [ "$1" = y ]; then X=b; else X=b; fi; echo "$X"': ["b"],
    'X=a; if [ "$1" = y ]; then X=b; else echo "$X"; X=b; fi': ["a"],
    'X=a; case $1 in n) X=b; X=a ;; *) echo "$X" ;; esac': ["a"],
    'X=a; case $1 in y) export X=b;; n) X=c;; esac; echo "$X"': [GAP],
    'X=a; for i in 1 2; do case $1 in y) X=b ;; esac; done; echo "$X"': [GAP],
    'X=a; if [ "$1" = y ]; then if [ "$2" = y ]; then X=b; fi; fi; echo "$X"': [GAP],
    'X=a; if [ "$1" = y ]; then if [ "$2" = y ]; then X=b; fi; X=a; fi; echo "$X"': ["a"],
    'X=a; if [ "$1" = y ]; then Y=b; fi; echo "$X"': ["a"],
    'X=a; while [ "$1" = y ]; do X=b; break; done; echo "$X"': [GAP],
    'X=a; for i in 1 2; do Y=b; done; echo "$X"': ["a"],
    'X=a; if [ "$1" = y ]; then X=b; elif [ "$2" = y ]; then echo "$X"; fi': ["a"],
    'X=a; f() { if [ "$1" = y ]; then X=b; fi; }; f "$1"; echo "$X"': [GAP],
    'X=a; echo if else; if [ "$1" = y ]; then X=a; fi; echo "$X"': ["if", "a"],
    'X=a; if [ "$1" = y ]; then echo fi; X=b; else echo else; fi; echo "$X"': ["fi", "else", GAP],
    'X=a; ! if [ "$1" = y ]; then X=b; fi; echo "$X"': [GAP],
    'if [ "$1" = y ]; then X=a; fi; X=c; echo "$X"': ["c"],
    'X=a; if [ "$1" = y ]; then X=b; else X=b; fi; echo "$X"': ["b"],
    'X=a; if [ "$1" = y ]; then X=b; elif [ "$2" = y ]; then X=b; fi; echo "$X"': [GAP],
    'X=a; if [ "$1" = y ]; then X=b; elif [ "$2" = y ]; then :; else X=b; fi; echo "$X"': [GAP],
    'X=a; case $1 in y) X=b ;; *) X=b ;; esac; echo "$X"': ["b"],
    'X=a; case $1 in y) X=b ;; *) X=b; esac; echo "$X"': ["b"],
    'X=a; case $1 in y) X=b ;; *) : ;; esac; echo "$X"': [GAP],
    'X=a; if [ "$1" = y ]; then (true *); X=b; fi; echo "$X"': [GAP],
    'X=a; (true *); if [ "$1" = y ]; then X=b; fi; echo "$X"': [GAP],
    'X=a; while [ "$1" = y ]; do X=a; break; done; echo "$X"': ["a"],
}


@pytest.mark.parametrize(("text", "known"), CHOICES.items())
def test_what_is_known_is_what_every_run_prints(text: str, known: list[str]) -> None:
    runs = set()
    for words in product("yn", repeat=2):
        command = ["bash", "-c", text, "bash", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs |= {line.split()[0] for line in done.stdout.splitlines()}

    assert printed(text) == known
    assert set(known) - {GAP} <= runs
    assert (GAP in known) == (len(runs) > len(known))


def _numbered(bodies: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A choice or a loop of some bodies."""
    test = st.sampled_from(['[ "$1" = y ]', '[ "$2" = y ]', "true"])
    several = st.lists(st.tuples(test, bodies), min_size=1, max_size=3)
    last = st.one_of(st.just(""), bodies.map(lambda body: f"else\n{body}\n"))
    choice = st.builds(
        lambda arms, end: "el".join(f"if {a}; then\n{b}\n" for a, b in arms) + f"{end}fi",
        several,
        last,
    )
    case = st.builds(
        lambda word, one, two, end: (
            f"case ${word} in\n  {one[0]}) {one[1]} ;;\n  {two[0]}) {two[1]} {end}\nesac"
        ),
        st.sampled_from("12"),
        st.tuples(st.sampled_from(["y", "n|m"]), bodies),
        st.tuples(st.sampled_from(["n", "*", "y|z"]), bodies),
        st.sampled_from([";;", ""]),
    )
    return st.one_of(choice, case)


GIVEN = st.builds("{}={}".format, st.sampled_from("XY"), st.sampled_from("ab"))
LOOP = st.lists(GIVEN, min_size=1, max_size=2).map(
    lambda given: 'while [ "$2" = y ]; do\n' + "\n".join(given) + "\nbreak\ndone"
)
SHOWN = st.sampled_from(['echo AT "$X"', 'echo AT "$Y"'])
PROGRAMS = st.recursive(
    st.lists(st.one_of(GIVEN, SHOWN, LOOP), min_size=1, max_size=3).map("\n".join),
    lambda inner: st.lists(st.one_of(inner, _numbered(inner)), min_size=1, max_size=3).map(
        "\n".join
    ),
    max_leaves=8,
)


@given(PROGRAMS)
def test_what_is_known_of_any_program_is_so_in_every_run(program: str) -> None:
    places = count()
    text = re.sub("AT", lambda _: f"at{next(places)}", f"X=a\nY=b\n{program}\n{SHOW_ALL}")
    known = {each.words[1].text: each.words[2].text for each in commands(text, {})
             if each.words[0].text == "echo"}  # fmt: skip
    for words in product("yn", repeat=2):
        command = ["bash", "-c", text, "bash", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for place, value in map(str.split, done.stdout.splitlines()):
            assert known[place] in (GAP, value), text


def test_an_arm_knows_nothing_of_the_one_before() -> None:
    text = 'X=a; if c; then X=b; Y=b; echo "$X"; else echo "$X"; echo "$Y"; fi'

    assert printed(text) == ["b", "a", GAP]


def test_a_pattern_for_some_words_is_none_for_all() -> None:
    text = 'X=a; case $1 in y) X=b ;; n) X=b ;; esac; echo "$X"'

    assert printed(text) == [GAP]
    assert printed(text.replace("n)", "*)")) == ["b"]


def test_a_default_is_what_a_variable_has() -> None:
    assert printed('if [ -z "$X" ]; then\n  X=b\nfi\necho "$X"') == ["b"]


def test_an_option_is_not_the_value_of_those_who_do_not_give_it() -> None:
    """A script for MIG was told of the label that its `--disable` alone puts on nodes."""
    script = (
        "PROFILE=${1}\nwhile [ $# -gt 0 ]; do\n  case $1 in\n"
        "    --profile) PROFILE=$2; shift 2 ;;\n"
        "    --disable) PROFILE=all-disabled; shift ;;\n  esac\ndone\n"
        'for N in $(nodes); do\n  kubectl label node "$N" nvidia.com/mig.config="$PROFILE"\ndone\n'
    )
    assert "all-disabled" not in told(script)
    assert "all-disabled" in told(re.sub("PROFILE=[$][{]?[12][}]?", "PROFILE=all-disabled", script))


def told(script: str) -> str:
    found = Said("a.sh")
    read_commands(script, found)
    return repr(found.judgements)


@pytest.mark.parametrize(
    "text",
    [
        "exit 0\n{}",
        "set -e\nexit\n\n{}\n",
        "if a; then\nb\nfi\nexit 0 # not here\n{}",
        "f() {{ a; }}\nexit\n{}",
    ],
)
def test_below_its_end_a_script_says_nothing(text: str) -> None:
    assert said({"a.sh": f"#!/bin/bash\n{text.format(LABEL)}\n"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "if a; then\nexit 1\nfi\n{}",
        "usage() {{\nexit 1\n}}\n{}",
        "function usage {{\nexit 1\n}}\n{}",
        "a || {{\nexit 1\n}}\n{}",
        "a ||\nexit 1\n{}",
        "a && \\\nexit 1\n{}",
        "a || exit 1\n{}",
        "for x in a; do\nexit 1\ndone\n{}",
        "(\n  exit 1\n)\n{}",
        "a || (\nexit 1\n)\n{}",
        "usage() (\necho a\nexit 1\n)\n{}",
        "a || # why\nexit 1\n{}",
        "a ||\n\nexit 1\n{}",
        "a |\nexit 1\n{}",
        "exit 0 | cat\n{}",
        "exit 0 &\n{}",
        "cat <<E\nexit 0\nE\n{}",
        "echo a \\\nexit\n{}",
    ],
)
def test_of_what_may_run_it_does(text: str) -> None:
    assert said({"a.sh": f"#!/bin/bash\n{text.format(LABEL)}\n"}) == ["GPU1062"]


@pytest.mark.parametrize(
    ("begins", "count"),
    [
        ("#!/bin/bash", 0),
        ("#!/bin/bash\n# {{ own }} {{- required }}", 0),
        ("", 1),  # notes, or a guide: a pod's shell is left
        ("#!/bin/bash\n{% if a %}", 1),
        ("#!/bin/bash\n%{ if a ~}", 1),
        ("#!/bin/bash\n{{- if .Values.a }}", 1),
    ],
)
def test_only_a_script_ends(begins: str, count: int) -> None:
    found = Said("a.sh")
    read_commands(f"{begins}\nexit\nhelm install a nvidia/gpu-operator\n", found)
    assert len(found.releases) == count


def test_no_more_is_kept_than_a_text_is_long() -> None:
    """4,000 loops without an end, each with a variable, took four gigabytes."""
    text = "".join(f"for x in a; do V{number}=a\n" for number in range(300)) + "echo $V7\n"
    text += "done\n" * 300 + "V7=b\nif c; then V7=d; else V7=d; fi\necho $V7\nexit\n"

    *_, last = commands(text, {})
    assert printed(text) == ["a", "d"]
    assert last.ends


def test_of_too_many_open_ones_it_is_known_how_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "_MOST_OPEN", 1)
    first, *_, last = commands("if a; then\nif b; then\nc\nfi\nfi\nexit\n", {})
    inner = next(each for each in commands("if a; then\nif b; then\nc\nfi\nfi\n", {})
                 if each.words[0].text == "c")  # fmt: skip

    assert len(first.arms) == len(inner.arms) == 1
    assert last.ends
