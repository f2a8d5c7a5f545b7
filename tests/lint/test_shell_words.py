"""Shell text and values of `--set` at their edges: what touches, and what never ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.lint.shell.flags import sorted_words
from eks_gpushare.manifests.placeholders import GAP
from eks_gpushare.manifests.shell.set_values import json_setting, literal_setting, put, settings
from eks_gpushare.manifests.shell.words import commands

if TYPE_CHECKING:
    from eks_gpushare.manifests.shell.command import Command


def read(text: str) -> list[Command]:
    return [each for each in commands(text, {}) if each.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a \\\nb \\\r\nc", [["a", "b", "c"]]),
        ("a&&b;c|d||e&f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a <file b", [["a", "file", "b"]]),
        ("a <<<b c", [["a", "b", "c"]]),
        ("a <\nb", [["a"], ["b"]]),
        ("a <<<\nb", [["a"], ["b"]]),
        ("a '' b 'c'", [["a", "", "b", "c"]]),
        ("a `` b `c` d", [["a", GAP, "b", GAP, "d"]]),
        ("a `b", [["a", GAP]]),
        ("a $1x $@y", [["a", f"{GAP}x", f"{GAP}y"]]),
        ('a "never closed', [["a", "never closed"]]),
        ("a \\", [["a", ""]]),
    ],
)
def test_words_that_touch(text: str, expected: list[list[str]]) -> None:
    assert [[word.text for word in each.words] for each in read(text)] == expected


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("a > file", "file"),
        ("a >> file", "file"),
        ("a 2> file", ""),
        ("a > $FILE", ""),
        ("a >&2", ""),
    ],
)
def test_where_output_goes(text: str, writes: str) -> None:
    assert [each.writes for each in read(text)] == [writes]


def test_an_empty_first_line_is_a_line() -> None:
    (command,) = read("\na")

    assert command.words[0].position == (2, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat <<EOF\nx\n", "x\n"),
        ("cat <<EOF\nx", "x\n"),
        ("cat <<EOF\n\tx\n \ty\nEOF\n", "\tx\n \ty\n"),
        ("cat <<-EOF\n\tx\n \ty\n\tEOF\n", "x\n \ty\n"),
        ("cat <<EOF\r\nx\r\nEOF\r\n", "x\n"),
    ],
)
def test_here_documents(text: str, expected: str) -> None:
    (command,) = read(text)

    assert command.heredoc is not None
    assert command.heredoc.text == expected


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a[0].b=x,a[0].c=y", {"a": [{"b": "x", "c": "y"}]}),
        ("a[0]=x,a[0].b=y", {"a": [{"b": "y"}]}),
        ("a[1]=x", {"a": [None, "x"]}),
        ("a.b=1,a[0]=2", {"a": {"b": 1}}),
        ("a[0]=1,a.b=2", {"a": [1]}),
        (",a=1", {"a": 1}),
        ("==2", {}),
        (r"a=b\,,c=1", {"a": "b,", "c": 1}),
        (r"a\.=1", {"a.": 1}),
        ("a[0=1", {}),
        ("a[0]b[1=1", {}),
        ("a[0]b=1", {"a": [{"b": 1}]}),
        ("a={x}", {"a": ["x"]}),
        ("a={x", {"a": "{x"}),
        ("a=x}", {"a": "x}"}),
        ("a=123456789012345678", {"a": 123456789012345678}),
        ("a=1234567890123456789", {"a": "1234567890123456789"}),
    ],
)
def test_values_of_set_at_their_edges(text: str, values: dict[str, Any]) -> None:
    made: dict[str, Any] = {}
    for each in settings(text):
        put(made, each.path, each.value)

    assert made == values


@pytest.mark.parametrize(
    ("index", "path"),
    [("1000", ("a", 1000)), ("9999", ("a", 1000)), ("10000", None)],
)
def test_lists_have_so_many_elements(index: str, path: tuple[str | int, ...] | None) -> None:
    assert [each.path for each in settings(f"a[{index}]=x")] == ([path] if path else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a.b={"c": [1]}', [(("a", "b"), {"c": [1]})]),
        ("a=no json", [(("a",), UNKNOWN)]),
        (f'a="{GAP}"', [(("a",), UNKNOWN)]),
        (f"{GAP}=1", []),
        ("a", []),
    ],
)
def test_values_of_set_json(text: str, expected: list[Any]) -> None:
    assert json_setting(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b=1,c=2", [(("a", "b"), "1,c=2")]),
        (f"a={GAP}", [(("a",), UNKNOWN)]),
        (f"{GAP}=1", []),
        ("a", []),
    ],
)
def test_values_of_set_literal(text: str, expected: list[Any]) -> None:
    """https://helm.sh/docs/helm/helm_install/: all behind the first = is the value."""
    assert literal_setting(text) == expected


@pytest.mark.parametrize(
    ("text", "plain", "flags"),
    [
        ("a -nx b", ["b"], [("namespace", "x")]),
        ("a -n x b", ["b"], [("namespace", "x")]),
        ("a -n=x b", ["b"], [("namespace", "x")]),
        ("a b --last", ["b"], [("last", "--last")]),
        ("a - -- b", ["-", "--", "b"], []),
    ],
)
def test_flags(text: str, plain: list[str], flags: list[tuple[str, str]]) -> None:
    (command,) = read(text)
    line = sorted_words(command.words[1:], frozenset(), {"n": "namespace"})

    assert [each.text for each in line.plain] == plain
    assert [(name, word.text) for name, word in line.flags] == flags


@pytest.mark.parametrize(
    ("asked", "folder"),
    [
        ('"$(dirname "$0")"', "."),
        ("$(dirname -- $0)", "."),
        ('"$(dirname "${BASH_SOURCE[0]}")"', "."),
        ('$(dirname "$(readlink -f "$0")")', "."),
        ("$(dirname $(realpath $0))", "."),
        ('$(cd "$(dirname "$0")" && pwd)', "."),
        ('$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")"; pwd -P)', "."),
        ('"$( cd -- "$( dirname -- "${BASH_SOURCE[0]}" )" &> /dev/null && pwd )"', "."),
        ('$(cd "$(dirname "$BASH_SOURCE")" >/dev/null 2>&1 && pwd)', "."),
        ('$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)', "./.."),
        ('$(cd "$(dirname "$0")/charts" && pwd)', "./charts"),
        ("`dirname $0`", "."),
        ("$(cd `dirname $0`; pwd)", "."),
        ('"$(cd "$(dirname "$0")" && pwd)/.."', "./.."),
        ('"$(cd "$(dirname "$0")" && pwd)"\nD=$(dirname "$D")', "./.."),
        ('$(dirname $0)\nD="$(cd "${D}/../charts/" >/dev/null && pwd -P)"', "./../charts"),
        ('$(dirname $0)\nD=$(realpath "$D/..")', "./.."),
        ("$(dirname $0)\nD=$(readlink -f $D)", "."),
        ("/etc\nD=$(dirname $D)", None),
        ("$(dirname $0)\nD=$(cd $D && pwd | tr a b)", None),
        ("$(dirname $0)\nD=$(cd $D)", None),
        ('$(dirname "$1")', None),
        ('$(dirname "$FILE")', None),
        ('$(dirname "$0" | tr a b)', None),
        ('$(cd "$(dirname "$0")/$NAME" && pwd)', None),
        ('$(cd "$(dirname "$0")" && git rev-parse --show-toplevel)', None),
    ],
)
def test_the_folder_that_a_script_lies_in(asked: str, folder: str | None) -> None:
    (*_, command) = commands(f"D={asked}\nhelm -f $D/values.yaml", {})

    path = command.words[-1].value
    assert path == (UNKNOWN if folder is None else f"{folder}/values.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "v=aaaaaaaaaa\n" + "v=$v$v$v$v$v$v$v$v\n" * 30 + "helm install $v b/c\n",
        "helm x;" + "if a;" * 8_000,
        "helm x\n" + "x>f\n" * 4_000 + "x>>f\n" * 4_000,
        "helm x\nfunction " + "a " * 20_000,
        "helm x\nf() {\n  b\n}\ncase x in\n" + "a) f ;;\n" * 4_000 + "esac\n",
        "".join(f"cat >f{n} <<E\nE\n" for n in range(1_500)) + "x y z\n" * 5_000,
        "helm x\n" + "".join(f"f{n}() {{\n  f{n - 1}\n}}\n" for n in range(1, 1_500)),
    ],
    ids=range(7),
)
def test_texts_that_are_made_to_take_long_are_read(text: str) -> None:
    """Of these each took minutes, or all memory, or too many calls."""
    read = ShellReader().read("up.sh", text)

    assert isinstance(read.items, list)
