"""Documentation: Markdown, and plain text with commands and YAML between its sentences."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import ConfigMap, NodeSet
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.lint.copied import as_meant
from eks_gpushare.lint.rules.compose import GPU, INTEGRATIONS
from eks_gpushare.lint.rules.shell import NO_YAML
from eks_gpushare.lint.shell.reading import TOOLS, read_commands, read_of, too_large
from eks_gpushare.manifests.charts import within_values
from eks_gpushare.manifests.shell.said import Said, placed_document
from eks_gpushare.manifests.snippets import read_snippet
from eks_gpushare.sharing.labels import CONFIG_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Release
    from eks_gpushare.manifests.document import Document, Read

_FENCE: Final = re.compile(r"(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)")
_SHELL: Final = frozenset(
    ("bash", "sh", "shell", "console", "zsh", "terminal", "shell-session", "shellscript")
)
_DATA: Final = frozenset(("yaml", "yml", "json", "jsonc"))
_TERRAFORM: Final = frozenset(("hcl", "terraform", "tf"))
_TOOL: Final = re.compile(
    rf"[ \t]*(?:[$%#][ \t]+)?(?:sudo[ \t]+)?(?:{'|'.join(TOOLS)}|cat(?=[ \t]+(?:<<|>)))(?:[ \t]|$)"
)
_COMMAND: Final = re.compile(rf"(?:\$ )?(?:sudo )?(?:{'|'.join(TOOLS)}) +[a-z-]+(?!\S*:(?: |$))")
"""A command, and no key of YAML, at the begin of a block that says it is YAML."""
_KEY: Final = re.compile(r"[A-Za-z0-9_.\"'/-]+:(?:[ \t]|$)")
_DELIMITER: Final = re.compile(r"[A-Za-z0-9_.-]+")
"""What ends a here-document."""
_PLAN: Final = re.compile(r"[ \t]*multiTenantGpu:[ \t]*$")
_PLAN_KEY: Final = re.compile(
    r"[ \t]*(?P<key>instanceType|timeSlicingReplicas|migProfile):[ \t]*(?P<value>[^\s#]+)"
)
_PART: Final = re.compile(r"(?:[ \t]|-[ \t]|---|#|[A-Za-z0-9_.\"'/-]+:(?:[ \t]|$)|[\]}])")


TERRAFORM: Final = "terraform"


class Block(NamedTuple):
    """A part of the text of one kind."""

    kind: str
    """`data`, `shell`, `prose`, or `TERRAFORM`, which `lint.terraform_roots` reads."""
    text: str
    line: int
    """From 1."""
    column: int = 1
    told: bool = False
    """Whether the text says what kind it is."""


class MarkdownReader:
    """Reads what the commands and the YAML of documentation say; its sentences are for people."""

    name = "documentation"

    def matches(self, file: str, text: str) -> bool:  # noqa: ARG002  (the name tells)
        """Whether it is named like one."""
        return is_guide(file)

    def read(self, file: str, text: str) -> Read:
        """What it says."""
        if (large := too_large(file, text)) is not None:
            return large
        said = Said(file)
        prose = ""
        for block in blocks(text):
            if block.kind == "prose":
                prose += f"{block.text}\n"
                _take_plans(block, said)
            elif block.kind == "shell":
                read_commands(block.text, said, block.line, block.column)
            elif block.kind == "data":
                _take_data(block, said)
        said.releases = _last_of_each_chart(said)
        said.items += _told_keys(said, prose)
        said.inner += [document for values in said.values for document in within_values(values)]
        return read_of(said, text)


def _take_data(block: Block, said: Said) -> None:
    read = read_snippet(block.text, said.file, block.line, block.column)
    if read.problems and (meant := as_meant(block.text)) != block.text:
        better = read_snippet(meant, said.file, block.line, block.column)
        read = read if better.problems else better._replace(problems=read.problems)
    said.inner += read.documents
    said.items += filter(None, map(_part_of_map, read.documents))
    begins = block.text.lstrip().startswith(("apiVersion:", "kind:", '{"apiVersion"'))
    shortened = re.search(r"^[ \t]*(\.\.\.|…|\[\.\.\.\])", block.text, re.MULTILINE)
    for problem in read.problems[:1]:
        if begins and not shortened and problem.kind != "duplicate":
            source = said.source("the block", Position(problem.line, problem.column), {})
            message = f"This is no YAML: {problem.message}."
            said.judgements.append(
                Problem(NO_YAML, source, (), message, "Write it as it has to be applied.")
            )


def _part_of_map(document: Document) -> ConfigMap | None:
    """Configurations under `data`, of a ConfigMap that a guide has shown before."""
    value = document.value
    if not isinstance(value, dict) or set(value) != {"data"}:
        return None
    texts = value["data"]
    if not any("sharing:" in str(text) for _, text in pairs(texts)):
        return None
    source = Source("the part of a ConfigMap", document)
    return ConfigMap(source=source, name=UNKNOWN, namespace=UNKNOWN, data=texts)


def _told_keys(said: Said, prose: str) -> list[ConfigMap]:
    """Keys of a ConfigMap that a guide labels nodes with and tells of without writing them out.

    It names them in a sentence, or shows a configuration that stands below no key.
    """
    written = [*said.inner, *(each for read in said.within.values() for each in read)]
    loose = any(_is_loose(document.value) for document in written)
    labels = [
        text(item.labels.get(CONFIG_LABEL))
        for item in said.items
        if isinstance(item, NodeSet) and item.labels is not UNKNOWN
    ]
    told = [key for key in labels if isinstance(key, str) and (loose or f"`{key}`" in prose)]
    return [
        ConfigMap(
            source=Source(f"the key {key} of a ConfigMap", document),
            name=text(at(document.value, "metadata", "name")),
            namespace=UNKNOWN,
            data={key: UNKNOWN},
        )
        for document in written
        if at(document.value, "kind") == "ConfigMap"
        and any("sharing:" in str(each) for _, each in pairs(at(document.value, "data")))
        for key in filter(None, told)
        if key not in dict(pairs(at(document.value, "data")))
    ]


def _is_loose(value: Any) -> bool:
    """Whether it is a configuration of the device plugin by itself."""
    return isinstance(value, dict) and "sharing" in value and "apiVersion" not in value


def _take_plans(block: Block, said: Said) -> None:
    """Blocks of a service plan whose indentation was lost, as in a page copied as text."""
    lines = block.text.splitlines()
    for first, line in enumerate(lines):
        if not _PLAN.match(line):
            continue
        gpu: dict[str, Any] = {}
        places: dict[FieldPath, Position] = {}
        for number, inner in enumerate(lines[first + 1 :], block.line + first + 1):
            found = _PLAN_KEY.match(inner)
            if found is None:
                break
            value = found["value"].strip("'\"")
            gpu[found["key"]] = int(value) if value.isascii() and value.isdecimal() else value
            places[INTEGRATIONS, GPU, found["key"]] = Position(number, found.start("key") + 1)
        if gpu:
            start = Position(block.line + first, 1)
            plan = {INTEGRATIONS: {GPU: gpu}}
            said.inner.append(placed_document(said.file, plan, start, places))


def _last_of_each_chart(said: Said) -> dict[Any, Release]:
    """Of several ways that documentation shows to install a chart, the last."""
    last: dict[Any, Release] = {}
    for release in said.releases.values():
        last[release.chart] = release
    return {(release.name, release.namespace): release for release in last.values()}


def blocks(text: str) -> Iterator[Block]:
    """The parts of a text, in its order."""
    lines = text.splitlines()
    ends: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        word = line.strip()
        if _DELIMITER.fullmatch(word):
            ends.setdefault(word, []).append(number)
    prose: list[str] = []
    at = begin = 0
    while at < len(lines):
        block = _fenced(lines, at) or _unfenced(lines, at, ends)
        if block is None:
            prose.append(lines[at])
            at += 1
            continue
        if prose:
            yield Block("prose", "\n".join(prose), begin + 1)
            prose = []
        found, at = block
        begin = at
        if found is not None:
            yield found
    if prose:
        yield Block("prose", "\n".join(prose), begin + 1)


def _fenced(lines: list[str], at: int) -> tuple[Block | None, int] | None:
    """The fenced block that begins at a line, and the line behind it."""
    fence = _FENCE.match(lines[at])
    if fence is None:
        return None
    end = at + 1
    closing = re.compile(rf"[ \t>]*{fence['mark']}+[ \t]*$")
    while end < len(lines) and not closing.match(lines[end]):
        end += 1
    inner = lines[at + 1 : end]
    language = re.sub(r"[\s,{:].*", "", fence["info"].strip().lower())
    filled = [line for line in inner if line.strip()]
    cut = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    text = "\n".join([*(line[cut:] for line in inner), ""])
    kind = _kind(language, filled)
    if kind is None:
        return None, end + 1
    return Block(kind, text, at + 2, cut + 1, bool(language)), end + 1


def _kind(language: str, lines: list[str]) -> str | None:
    if language in _DATA:
        told = next((line for line in lines if not line.startswith("#")), "")
        return "shell" if _COMMAND.match(told) else "data"  # whatever a guide calls it
    if language in _SHELL:
        return "shell"
    if language in _TERRAFORM:
        return TERRAFORM
    if language and language not in {"text", "txt", "plaintext"}:
        return None
    if any(_TOOL.match(line) for line in lines):
        return "shell"
    first = next((line for line in lines if not line.startswith(("#", "---"))), "")
    return "data" if _KEY.match(first) or first.startswith("{") else None


def _unfenced(
    lines: list[str], at: int, ends: Mapping[str, Sequence[int]]
) -> tuple[Block, int] | None:
    """Commands or YAML that stand between sentences as they are."""
    line = lines[at]
    if _TOOL.match(line):
        end = _end_of_command(lines, at, ends)
        return Block("shell", "\n".join([*lines[at:end], ""]), at + 1), end
    if line.startswith(("apiVersion:", "kind:")) and _KEY.match(line):
        end = at + 1
        while end < len(lines) and (_PART.match(lines[end]) or _goes_on(lines, end)):
            end += 1
        return Block("data", "\n".join([*lines[at:end], ""]), at + 1), end
    return None


def _goes_on(lines: list[str], at: int) -> bool:
    """Whether YAML goes on behind a blank line."""
    if lines[at].strip() or at + 1 == len(lines):
        return False
    return lines[at + 1].startswith((" ", "---"))


def _end_of_command(lines: list[str], at: int, ends: Mapping[str, Sequence[int]]) -> int:
    """The line behind a command: past continuations and here-documents."""
    rest = range(at, len(lines))
    last = next((n for n in rest if not lines[n].rstrip().endswith("\\")), len(lines))
    end = last + 1
    waits = re.search(rf"<<-?[ \t]*['\"\\]?({_DELIMITER.pattern})", "\n".join(lines[at:end]))
    if waits is None:
        return end
    stops = ends.get(waits[1], ())
    at_or_behind = bisect_left(stops, end)
    return end if at_or_behind == len(stops) else stops[at_or_behind] + 1
