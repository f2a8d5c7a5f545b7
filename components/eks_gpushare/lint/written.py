"""What a text says of nodes and networks wherever it stands, be it in no command that is read.

It is there so that checks are silent: labels in loops, functions and patches, clusters that a
command makes, and tags that a provider gives to everything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import PLUGIN_LABELS
from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import DEFAULT_TAGS, MADE_BY_GCLOUD, WRITTEN_LABEL, Pointer
from eks_gpushare.inventory.mig_states import MIG_CONFIG_LABEL
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.manifests.placeholders import indent_of
from eks_gpushare.manifests.shell.said import placed_document
from eks_gpushare.sharing.labels import OPERANDS_LABEL, PLUGIN_OPERAND_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYS: Final = (MIG_CONFIG_LABEL, *PLUGIN_LABELS, OPERANDS_LABEL, PLUGIN_OPERAND_LABEL)
_LABEL: Final = re.compile(
    r"(?P<selected>(?:(?<![A-Za-z0-9_-])-l|--selector)[ =]?[\"']?)?"
    rf"(?<![A-Za-z0-9_./-])(?P<key>{'|'.join(map(re.escape, _KEYS))})"
    r"(?P<joined>\\?[\"']?[ \t]*[=:][ \t]*)\\?[\"']?(?P<value>[^\s\"'`,;)}\\]*)"
)
_POINTED: Final = {key.replace("/", "~1"): key for key in _KEYS}
"""As JSON pointers of patches have them, whose values stand elsewhere."""
_SELECTING: Final = re.compile(r"elector|matchLabels|matchExpressions")
_GCLOUD: Final = re.compile(r"\bgcloud\b[^\n]*?\bcontainer\s+(?:node-pools|clusters)\s+create")
_TAGS: Final = re.compile(r"\bdefault_tags\b\"?\s*[{:=]")
_LITERAL: Final = re.compile(r"\btags\"?\s*[=:]\s*\{")
_BRACE: Final = re.compile(r"[{}]")
_COMPUTED: Final = re.compile(r"\(|\bfor\b|\$\{[^}]*\}\"?\s*[=:]")


def written_in(file: str, text: str) -> Iterator[Pointer]:
    """What stands for it, each at the beginning of the file."""
    source = Source("the text", placed_document(file, None, Position(1, 1), {}))
    # Most texts have none of it, which a search for plain words tells in a tenth of the time.
    for found in _labels(text) if any(key in text for key in _KEYS) else ():
        spec = {"label": found["key"], "value": found["value"]}
        yield Pointer(source=source, kind=WRITTEN_LABEL, name=UNKNOWN, spec=spec)
    for pointed, key in _POINTED.items() if "~1" in text else ():
        if pointed in text:
            spec = {"label": key, "value": UNKNOWN}
            yield Pointer(source=source, kind=WRITTEN_LABEL, name=UNKNOWN, spec=spec)
    if "gcloud" in text and _GCLOUD.search(text.replace("\\\n", " ")):
        yield Pointer(source=source, kind=MADE_BY_GCLOUD, name=UNKNOWN)
    for found in _TAGS.finditer(text) if "default_tags" in text else ():
        spec = _tags(text, found.start())
        yield Pointer(source=source, kind=DEFAULT_TAGS, name=UNKNOWN, spec=spec)


def _labels(text: str) -> Iterator[re.Match[str]]:
    """Those that are not what pods select nodes by: on their line, or below a key that says so."""
    if _LABEL.search(text) is None:
        return
    above: list[tuple[int, str]] = []  # the lines that each next is below
    for line in filter(str.strip, text.split("\n")):
        column = indent_of(line)
        while above and above[-1][0] >= column:
            above.pop()
        outer = above[-1][1] if above else ""
        for found in _LABEL.finditer(line):
            selecting = found["selected"] or _SELECTING.search(line[: found.start()])
            if not selecting and not _SELECTING.search(outer):
                yield found
        above.append((column, line))


def _tags(text: str, start: int) -> Any:
    """The text of the block that begins there, in which a key stands if it is one of the tags."""
    depth = 0
    for found in _BRACE.finditer(text, start):
        depth += 1 if found[0] == "{" else -1
        if found[0] == "}" and not depth:
            block = text[start : found.end()]
            known = _LITERAL.search(block) and not _COMPUTED.search(block)
            return {"text": block} if known else UNKNOWN
    return UNKNOWN
