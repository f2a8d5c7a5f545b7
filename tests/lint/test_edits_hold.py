"""Random edits of random files: what other parsers read is what was there but for the edit.

A few in each run, 5,000 with EKS_GPUSHARE_TEST_EDITS=5000.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
from collections import Counter
from typing import Any

import pytest
import yaml

from eks_gpushare.inventory.problem import Edit
from eks_gpushare.lint.corrections import corrected
from eks_gpushare.manifests.texts import read_texts, texts_within

MOST = int(os.environ.get("EKS_GPUSHARE_TEST_EDITS", "400"))
KEYS = ("a", "b", "nvidia.com/gpu", "with blank", "c-d", "yes", "1", "e#f", "taints", "ü")
SCALARS: tuple[Any, ...] = (
    *(1, 0, -2, 1.5, True, False, None, "", "x", "true", "on", "1", "a: b", "# no", "// no"),
    *("it's", 'say "so"', "nvidia.com/gpu=true", "{{ x", "[", "é", "two words", "*", "&a", "1e3"),
)
COMMENT = re.compile(r"c0c\d+c0c")


class Writer:
    """Writes a value in one of several ways, with comments."""

    def __init__(self, chosen: random.Random) -> None:
        self.chosen = chosen
        self.comments = 0

    def comment(self, mark: str, *, often: float = 0.3) -> str:
        if self.chosen.random() > often:
            return ""
        self.comments += 1
        return f"{mark} c0c{self.comments}c0c"

    def above(self, indent: str, mark: str) -> list[str]:
        found = self.comment(mark, often=0.15)
        return [f"{indent}{found}"] if found else []

    def plain(self, value: Any) -> str:
        """A scalar or a flow value on one line, as YAML."""
        dumped = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
        text = str(dumped).removesuffix("\n...\n").removesuffix("\n")
        if isinstance(value, str) and self.chosen.random() < 0.3:
            return json.dumps(value, ensure_ascii=False)
        return text

    def block(self, value: Any, indent: int = 0) -> list[str]:
        """The lines of a value, as YAML."""
        blanks, lines = " " * indent, list[str]()
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in entries:
            lines += self.above(blanks, "#")
            if self.chosen.random() < 0.1:
                lines.append("")
            begin = f"{self.plain(key)}:" if isinstance(value, dict) else "-"
            behind = self.comment(" #")
            if not isinstance(each, dict | list) or not each or self.chosen.random() < 0.3:
                lines.append(f"{blanks}{begin} {self.plain(each)}{behind}")
                continue
            more = self.chosen.choice([2, 4]) if isinstance(value, dict) else 2
            more = 0 if isinstance(each, list) and self.chosen.random() < 0.3 else more
            more = more or (0 if isinstance(value, dict) else 2)
            inner = self.block(each, indent + more)
            joined = (
                isinstance(value, list) and inner[0].strip() and "#" not in inner[0][: indent + 3]
            )
            if joined and not behind:
                lines += [f"{blanks}- {inner[0].lstrip()}", *inner[1:]]
            else:
                lines += [f"{blanks}{begin}{behind}", *inner]
        return lines

    def yaml(self, value: Any) -> str:
        lines = [*self.above("", "#"), *self.block(value), *self.above("", "#")]
        return "\n".join(lines) + self.chosen.choice(["\n", "\n", "", "\n\n"])

    def json(self, value: Any, *, comments: bool, indent: int = 0) -> str:
        """A value on one line or on several."""
        if not isinstance(value, dict | list) or not value:
            return json.dumps(value, ensure_ascii=self.chosen.random() < 0.5)
        is_map = isinstance(value, dict)
        values = value.values() if isinstance(value, dict) else value
        entries = [f"{json.dumps(key)}: " for key in value] if is_map else ["" for _ in value]
        inner = [
            begin + self.json(each, comments=comments, indent=indent + 2)
            for begin, each in zip(entries, values, strict=True)
        ]
        opening, closing = "{}" if is_map else "[]"
        if self.chosen.random() < 0.3:
            between = self.comment(" /*", often=0.1 * comments)
            between += " */ " if between else ""
            return f"{opening}{between}{', '.join(inner)}{closing}"
        blanks = "\t" * (indent // 2 + 1) if self.chosen.random() < 0.2 else " " * (indent + 2)
        lines = [opening]
        for number, each in enumerate(inner):
            if comments:
                lines += self.above(blanks, "//")
            last = number == len(inner) - 1
            comma = "" if last and not (comments and self.chosen.random() < 0.3) else ","
            behind = self.comment(" //") if comments else ""
            lines.append(f"{blanks}{each}{comma}{behind}")
        return "\n".join([*lines, f"{' ' * indent}{closing}"])


def a_value(chosen: random.Random, depth: int = 0) -> Any:
    size = chosen.randint(1, 4)
    if depth < 3 and chosen.random() < 0.7 - depth * 0.15:
        keys = chosen.sample(KEYS, size)
        return {key: a_value(chosen, depth + 1) for key in keys}
    if 0 < depth < 4 and chosen.random() < 0.4:
        return [a_value(chosen, depth + 1) for _ in range(size)]
    return chosen.choice(SCALARS) if depth else {"only": chosen.choice(SCALARS)}


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    found: list[tuple[tuple[str | int, ...], Any]] = [(path, value)] if path else []
    listed = enumerate(value) if isinstance(value, list) else ()
    for key, each in value.items() if isinstance(value, dict) else listed:
        found += places(each, (*path, key))
    return found


def an_edit(chosen: random.Random, value: Any) -> Edit:
    path, found = chosen.choice(places(value))
    new = chosen.choice([*SCALARS[:-1], {"key": "x", "operator": "Exists"}, ["no", 1], {}])
    if isinstance(found, list) and chosen.random() < 0.7:
        return Edit("append", path, new)
    if isinstance(found, dict) and chosen.random() < 0.7:
        return Edit("set", (*path, "added", *chosen.choice([(), ("below",)])), new)
    if isinstance(path[-1], str) and chosen.random() < 0.4:
        return Edit("rename", path, chosen.choice(["other", "nvidia.com/other", "no"]))
    if isinstance(path[-1], str) and chosen.random() < 0.15:
        return Edit("remove", path)
    return Edit("set", path, new)


def done(value: Any, edit: Edit) -> Any:
    """The same edit of a plain value."""
    value = copy.deepcopy(value)
    *above, last = edit.path
    parent = value
    for step in above:
        parent = parent.setdefault(step, {}) if isinstance(parent, dict) else parent[step]
    if edit.kind == "append":
        parent[last].append(edit.value)
    elif edit.kind == "remove":
        del parent[last]
    elif edit.kind == "rename":
        parent[edit.value] = parent.pop(last)
    else:
        parent[last] = edit.value
    return value


def stripped(text: str) -> str:
    """JSON of JSON with comments, a character at a time."""
    kept, at, quoted = "", 0, False
    while at < len(text):
        if quoted and text[at] == "\\":
            kept += text[at : at + 2]
            at += 2
            continue
        if text[at] == '"':
            quoted = not quoted
        elif not quoted and text.startswith("//", at):
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
            continue
        elif not quoted and text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        elif not quoted and text[at] in "]}":
            kept = kept.rstrip().removesuffix(",")
        kept += text[at]
        at += 1
    return kept


READ: dict[str, Any] = {
    "yaml": yaml.safe_load,
    "crlf": yaml.safe_load,
    "json": json.loads,
    "jsonc": lambda text: json.loads(stripped(text)),
}


def written(chosen: random.Random, syntax: str, value: Any) -> str:
    writer = Writer(chosen)
    if syntax == "json":
        return writer.json(value, comments=False)
    if syntax == "jsonc":
        return f"{writer.comment('//', often=1)}\n{writer.json(value, comments=True)}\n"
    text = writer.yaml(value)
    return text.replace("\n", "\r\n") if syntax == "crlf" else text


@pytest.mark.parametrize("syntax", READ)
def test_an_edit_changes_what_it_is_about_and_keeps_every_comment(syntax: str) -> None:
    name = "a.json" if syntax.startswith("json") else "a.yaml"
    made: Counter[str] = Counter()
    for number in range(MOST // len(READ)):
        chosen = random.Random(f"{syntax} {number}")  # noqa: S311
        value = a_value(chosen)
        text = written(chosen, syntax, value)
        assert READ[syntax](text) == value, (number, text)
        (document,) = read_texts(text, name).documents
        assert document.text is not None
        edit = an_edit(chosen, value)
        after, count = corrected(text, name, [(document.text, [edit])])

        assert count == (after != text), (number, edit, text)
        made[f"{edit.kind} {bool(count)}"] += 1
        if count:
            expected = done(value, edit)
            read = READ[syntax](after)
            if edit.kind == "set" and read != expected:  # `on` was meant as it is written
                expected = done(value, Edit("set", edit.path, str_of(document, edit)))
            assert read == expected, (number, edit, text, after)
            assert COMMENT.findall(after) == COMMENT.findall(text), (number, edit, text, after)
            assert ("\r\n" in after) == (syntax == "crlf" and "\r\n" in text)
            assert after.count("\r") == (after.count("\n") if syntax == "crlf" else 0)
            assert after.endswith("\n") == text.endswith("\n")
    kept = sum(each for key, each in made.items() if key.endswith("True"))
    assert kept > 0.55 * made.total(), made


def str_of(document: Any, edit: Edit) -> Any:
    at = document.text.root
    for step in edit.path:
        at = at.children[step].node
    return at.raw


def test_an_edit_of_a_text_within_a_file_leaves_the_file_around_it() -> None:
    made = 0
    for number in range(MOST // 8):
        chosen = random.Random(f"within {number}")  # noqa: S311
        value, writer = a_value(chosen), Writer(chosen)
        inner = writer.yaml(value).rstrip("\n") + "\n"
        block = "".join(f"    {line}\n" if line else "\n" for line in inner.splitlines())
        text = f"kind: ConfigMap # x\ndata:\n  a.yaml: |\n{block}  b: 1 # last\n"
        if chosen.random() < 0.5:
            text = text.replace("\n", "\r\n")
        (outer,) = read_texts(text, "a.yaml").documents
        held = yaml.safe_load(text)["data"]["a.yaml"]
        within = texts_within(outer, ("data", "a.yaml"))
        if within is None or len(within.documents) != 1 or yaml.safe_load(held) != value:
            continue
        (document,) = within.documents
        assert document.text is not None
        edit = an_edit(chosen, value)
        after, count = corrected(text, "a.yaml", [(document.text, [edit])])
        if not count or edit.kind == "set":
            continue
        made += 1
        read = yaml.safe_load(after)
        assert yaml.safe_load(read["data"].pop("a.yaml")) == done(value, edit), (edit, text, after)
        assert read == {"kind": "ConfigMap", "data": {"b": 1}}
        assert COMMENT.findall(after) == COMMENT.findall(text)
    assert made > MOST // 60
