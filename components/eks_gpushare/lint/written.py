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
from eks_gpushare.manifests.shell.said import placed_document

if TYPE_CHECKING:
    from collections.abc import Iterator

_LABEL: Final = re.compile(
    r"(?P<selected>(?:(?<![A-Za-z0-9_-])-l|--selector)[ =]?[\"']?)?"
    rf"(?<![A-Za-z0-9_./-])(?P<key>{'|'.join(map(re.escape, (MIG_CONFIG_LABEL, *PLUGIN_LABELS)))})"
    r"(?P<joined>\\?[\"']?[ \t]*[=:][ \t]*)\\?[\"']?(?P<value>[^\s\"'`,;)}\\]*)"
)
_POINTED: Final = {key.replace("/", "~1"): key for key in (MIG_CONFIG_LABEL, *PLUGIN_LABELS)}
"""As JSON pointers of patches have them, whose values stand elsewhere."""
_SELECTING: Final = re.compile(r"elector|matchLabels|matchExpressions")
_GCLOUD: Final = re.compile(r"\bgcloud\b[^\n]*?\bcontainer\s+(?:node-pools|clusters)\s+create")
_TAGS: Final = re.compile(r"\bdefault_tags\b\"?\s*[{:=]")
_LITERAL: Final = re.compile(r"\btags\"?\s*[=:]\s*\{")
_COMPUTED: Final = re.compile(r"\(|\bfor\b|\$\{[^}]*\}\"?\s*[=:]")


def written_in(file: str, text: str) -> Iterator[Pointer]:
    """What stands for it, each at the beginning of the file."""
    source = Source("the text", placed_document(file, None, Position(1, 1), {}))
    for found in _LABEL.finditer(text):
        if not found["selected"] and not _is_selected(text, found.start()):
            spec = {"label": found["key"], "value": found["value"]}
            yield Pointer(source=source, kind=WRITTEN_LABEL, name=UNKNOWN, spec=spec)
    for pointed, key in _POINTED.items():
        if pointed in text:
            spec = {"label": key, "value": UNKNOWN}
            yield Pointer(source=source, kind=WRITTEN_LABEL, name=UNKNOWN, spec=spec)
    if "gcloud" in text and _GCLOUD.search(text.replace("\\\n", " ")):
        yield Pointer(source=source, kind=MADE_BY_GCLOUD, name=UNKNOWN)
    for found in _TAGS.finditer(text):
        yield Pointer(
            source=source, kind=DEFAULT_TAGS, name=UNKNOWN, spec=_tags(text[found.start() :])
        )


def _is_selected(text: str, start: int) -> bool:
    """Whether it is what pods select nodes by: on its line, or below a key that says so."""
    before, _, line = text[:start].rpartition("\n")
    column = len(line) - len(line.lstrip())
    if _SELECTING.search(line):
        return True
    above = (each for each in reversed(before.splitlines()) if each.strip())
    outer = next((each for each in above if len(each) - len(each.lstrip()) < column), "")
    return _SELECTING.search(outer) is not None


def _tags(text: str) -> Any:
    """The block's text, in which a key stands where it is one of the tags."""
    depth = 0
    for end, each in enumerate(text):
        depth += (each == "{") - (each == "}")
        if each == "}" and not depth:
            block = text[: end + 1]
            known = _LITERAL.search(block) and not _COMPUTED.search(block)
            return {"text": block} if known else UNKNOWN
    return UNKNOWN
