"""Files that are given to `lab run --apply`: whatever is in them, and whatever they are."""

from __future__ import annotations

import codecs
import json
import os
from typing import TYPE_CHECKING

import pytest

from eks_gpushare_lab.install import manifests
from eks_gpushare_lab.install.manifest_files import MAX_BYTES

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]\n" for at in range(1, 12)
)
"""Nine to the twelfth values in a kilobyte."""

NO_YAML = "it is no YAML: line "
NOT_JSON = ", which JSON does not have"
TAG = "below line 1: a value is not what its tag or first characters say"
DEEP = "it is nested deeper than 100 levels"
NOTHING = "it holds no object"
BROKEN: dict[str, tuple[str | bytes, str]] = {
    "UTF-16 with a mark": (HEAD.encode("utf-16"), "it is UTF-16; save it as UTF-8"),
    "UTF-16 of a Windows shell": (codecs.BOM_UTF16_BE + HEAD.encode("utf-16-be"), "it is UTF-16"),
    "UTF-32": (HEAD.encode("utf-32"), "it is UTF-32"),
    "UTF-16 without a mark": (HEAD.encode("utf-16-le"), "line 1: it has a byte 0"),
    "Latin 1": ("a: x\nb: é\n".encode("latin-1"), "line 2: the byte 0xe9 is not UTF-8"),
    "a program": (b"\x7fELF\xff\x00\x01", "line 1: the byte 0xff is not UTF-8, nor is it text"),
    "a byte 0": (f"{HEAD}data: {{a: \0}}", "line 4: it has a byte 0"),
    "a control character": (f"{HEAD}data: {{a: \x07}}", "it is no YAML: unacceptable character"),
    "bytes": (f"{HEAD}data: {{a: !!binary /////w==}}", f"{NO_YAML}4, column 11: !!binary here"),
    "flow nested deep": ("[" * 100_000, DEEP),
    "mappings nested deep": (f"{HEAD}data: {'{a: ' * 5000}1{'}' * 5000}", DEEP),
    "blocks nested deep": ("\n".join(" " * at + "a:" for at in range(500)), DEEP),
    "JSON nested deep": ('{"a":' * 500 + "1" + "}" * 500, DEEP),
    "JSON nested too deep for its parser": ('{"a":' * 100_000, DEEP),
    "a bomb of aliases": (BOMB, "it comes to more than 200,000 values"),
    "an alias within itself": ("a: &a [*a]", "the alias *a stands within what it means"),
    "an alias of nothing": (f"{HEAD}data: *x", f"{NO_YAML}4, column 7: found undefined alias"),
    "a merge of a number": (f"{HEAD}data: {{<<: 3}}", f"{NO_YAML}4, column 12: expected a mapping"),
    "a key twice": (f"{HEAD}kind: Pod\n", f"{NO_YAML}4, column 1: the key 'kind' stands twice"),
    "a key twice below": (f"{HEAD}data: {{a: 1, a: 2}}", f"{NO_YAML}4, column 14: the key 'a'"),
    "a key twice in JSON": ('{"a": 1,\n"a": 2}', f"{NO_YAML}2, column 1: the key 'a'"),
    "a key that is a list": (
        f"{HEAD}data: {{[a, b]: c}}",
        f"{NO_YAML}4, column 8: a key is a list",
    ),
    "a key that is a set": ("? !!set {a}\n: b", f"{NO_YAML}1, column 3: a key is a list"),
    "nothing": ("", NOTHING),
    "blanks": ("  \n\t\n", NOTHING),
    "comments": ("# a\n\n# b\n", NOTHING),
    "separators": ("---\n# x\n---\n", NOTHING),
    "null": ("null", NOTHING),
    "a word": ("hello", "it is no mapping"),
    "a list": ("[1, 2]", "it is no mapping"),
    "no apiVersion": ("kind: Pod\nmetadata: {name: a}", "it has no apiVersion"),
    "no kind": ("apiVersion: v1\nmetadata: {name: a}", "it has no kind"),
    "no name": ("apiVersion: v1\nkind: Pod", "it has no metadata.name"),
    "metadata that is a list": ("{apiVersion: v1, kind: Pod, metadata: []}", "it has no metadata."),
    "all three": ("{}", "it has no apiVersion, kind, metadata.name"),
    "a name that is a number": (
        "{apiVersion: v1, kind: Pod, metadata: {name: 12}}",
        "metadata.name is 12, which is no text",
    ),
    "a kind that is a list": (
        "{apiVersion: v1, kind: [Pod], metadata: {name: a}}",
        "kind is ['Pod'], which is no text",
    ),
    "a tab": (f"{HEAD}data:\n\ta: b\n", f"{NO_YAML}5, column 1: found character that cannot start"),
    "two colons": ("a: b: c", f"{NO_YAML}1, column 5: mapping values are not allowed"),
    "an open bracket": ("a: [", f"{NO_YAML}"),
    "5,000 digits": (
        f"{HEAD}data: {{a: {'9' * 5000}}}",
        "below line 1: a value has too many digits",
    ),
    "no integer": (f"{HEAD}data: {{a: !!int foo}}", TAG),
    "no boolean": (f"{HEAD}data: {{a: !!bool maybe}}", TAG),
    "no time": (f"{HEAD}data: {{a: !!timestamp foo}}", TAG),
    "binary digits without any": (f"{HEAD}data: {{a: 0b_}}", TAG),
    "a time": (f"{HEAD}data: {{a: !!timestamp 2020-01-01}}", f"data.a is a date{NOT_JSON}"),
    "a set": (f"{HEAD}data: !!set {{a, b}}", f"data is a set{NOT_JSON}"),
    "pairs": (f"{HEAD}data: !!omap [a: 1]", f"data.0 is a tuple{NOT_JSON}"),
    "not a number": (f"{HEAD}data: {{a: .nan}}", f"data.a is nan{NOT_JSON}"),
    "infinity": (f"{HEAD}data: {{a: [-.inf]}}", f"data.a.0 is -inf{NOT_JSON}"),
    "not a number in JSON": ('{"kind": "Pod", "a": NaN}', f"it has the number NaN{NOT_JSON}"),
    "an object of Python's": (f"{HEAD}data: !!python/object:os.system {{}}", f"{NO_YAML}4, column"),
    "a tag of nobody's": (f"{HEAD}data: !secret x", f"{NO_YAML}4, column 7: could not determine"),
    "an item without a name": (
        f"apiVersion: v1\nkind: List\nitems: [{{{', '.join(HEAD.splitlines())}}}, {{kind: Pod}}]",
        ", item 2: it has no apiVersion, metadata.name",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_finding_that_says_where(name: str, tmp_path: Path) -> None:
    content, why = BROKEN[name]
    file = tmp_path / "m.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())

    given, (found,) = manifests.read([str(file)])
    assert len(given) == (name == "an item without a name")
    assert found.code == "GPU902"
    assert found.message.startswith(f"{file}{'' if why.startswith(', ') else ': '}{why}")


RIGHT = {
    "a mark of UTF-8": ("\ufeff" + HEAD, 1),
    "lines of Windows": (f"{HEAD}---\n{HEAD}".replace("\n", "\r\n"), 2),
    "a directive": (f"%YAML 1.1\n---\n{HEAD}", 1),
    "a comment above": (f"# made by hand\n---\n{HEAD}...\n---\n# nothing\n", 1),
    "an object beside its separator": (
        f"--- {{{', '.join(HEAD.splitlines())}}}\n--- # 2\n{HEAD}",
        2,
    ),
    "a separator within a text": (f"{HEAD}data:\n  a: |\n    x\n    ---\n    y\n", 1),
    "anchors": (f"{HEAD}x: &x {{a: 1}}\ndata: {{<<: *x, b: *x}}\n", 1),
    "text in !!binary": (f"{HEAD}data: {{a: !!binary aGVsbG8=}}", 1),
    "keys that are no text": (f"{HEAD}data: {{on: a, 1: b, ~: c, .5: d}}", 1),
    "a time as text": (f"{HEAD}data: {{a: 2026-11-22}}", 1),
    "a list": (f"apiVersion: v1\nkind: List\nitems: [{{{', '.join(HEAD.splitlines())}}}]", 1),
    "a list of pods": ("apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}]", 1),
    "an empty list": ("apiVersion: v1\nkind: List\nitems:", 0),
    "a kind that is called a list": (
        "{apiVersion: example.com/v1, kind: AllowList, metadata: {name: a}, items: {a: b}}",
        1,
    ),
    "a name yet to be made": (
        "{apiVersion: v1, kind: Pod, metadata: {generateName: a}}",
        1,
    ),
    "YAML in its flow style": ("{apiVersion: v1, kind: Pod, metadata: {name: a}}", 1),
    "JSON with tabs": (
        json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, indent="\t"),
        1,
    ),
    "JSON after JSON": ('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}\n' * 3, 3),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_file_is_read_whole_and_can_be_sent(name: str, tmp_path: Path) -> None:
    content, count = RIGHT[name]
    file = tmp_path / "m.yaml"
    file.write_text(content, encoding="utf-8")
    given, found = manifests.read([str(file)])

    assert found == []
    assert len(given) == count
    json.dumps([each.object for each in given], allow_nan=False)


def test_what_a_file_says_is_what_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    text = (
        f"{HEAD}x: &x {{a: 1}}\ndata: {{<<: *x, b: !!binary aGk=, on: y, 1: no, t: 2026-11-22}}\n"
    )
    file.write_text(text, encoding="utf-8")
    ((given,), _) = manifests.read([str(file)])

    assert given.object["data"] == {"a": 1, "b": "hi", "true": "y", "1": False, "t": "2026-11-22"}


def test_every_mistake_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    one, two, gone = tmp_path / "one.yaml", tmp_path / "two.yaml", tmp_path / "gone.yaml"
    one.write_text(f"{HEAD}---\na: [\n---\n{HEAD}---\nkind: Pod\n---\n{{}}\n", encoding="utf-8")
    two.write_text("# nothing\n", encoding="utf-8")
    given, found = manifests.read([str(gone), str(one), str(two)])

    assert [each.where for each in given] == [f"{one}, document 1", f"{one}, document 3"]
    assert [each.message for each in found] == [
        f"{gone} cannot be read: No such file or directory.",
        f"{one}, document 2: it is no YAML: line 6, column 1: did not find expected node content.",
        f"{one}, document 4: it has no apiVersion, metadata.name.",
        f"{one}, document 5: it has no apiVersion, kind, metadata.name.",
        f"{two}: it holds no object.",
    ]


def test_of_a_thousand_mistakes_fifty_are_told(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("---\nword\n" * 1000, encoding="utf-8")
    _, found = manifests.read([str(file)])

    assert len(found) == manifests.MOST_FINDINGS + 1
    assert found[-1].message == f"{file}: 950 more such mistakes follow."


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    with file.open("wb") as opened:
        opened.truncate(64 * MAX_BYTES)

    (found,) = manifests.read([str(file)])[1]
    assert found.message == f"{file}: it is larger than the 16 MiB that are read."


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("pipe", "it is a named pipe and no file"),
        ("folder", "it is a directory; name the files in it"),
        ("loop", "cannot be read: Too many levels of symbolic links"),
        ("dangling", "cannot be read: No such file or directory"),
        ("/dev/zero", "it is a device and no file"),
        ("/dev/null", "it is a device and no file"),
    ],
)
def test_what_is_no_file_is_not_waited_for(kind: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / kind.rpartition("/")[2]
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind in {"loop", "dangling"}:
        path.symlink_to(path if kind == "loop" else tmp_path / "gone")
    name = kind if kind.startswith("/") else str(path)

    (found,) = manifests.read([name])[1]
    assert why in found.message


def test_a_pipe_of_the_shell_is_read() -> None:
    """As of `--apply <(helm template ...)`, or of /dev/stdin."""
    there, here = os.pipe()
    os.write(here, HEAD.encode())
    os.close(here)
    try:
        given, found = manifests.read([f"/dev/fd/{there}"])
    finally:
        os.close(there)

    assert found == []
    assert given[0].object["kind"] == "ConfigMap"
