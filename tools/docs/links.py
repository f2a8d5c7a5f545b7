"""Links of the Markdown in this repository, and what they may point at within it."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_INLINE = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
_BARE = re.compile(r"<(https?://[^>\s]+)>")
_TAG = re.compile(r"<(?:a|img)\s[^>]*?(?:href|src)=[\"']([^\"']+)[\"']")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$", re.MULTILINE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

DEEPEST = 3
"""Headings down to this level are link targets in the built pages (`docs/conf.py`)."""


class Link(NamedTuple):
    """A link in a page."""

    page: Path
    line: int
    target: str

    @property
    def external(self) -> bool:
        """Whether it leads out of the repository."""
        return bool(_SCHEME.match(self.target))


def links(page: Path, text: str | None = None) -> Iterator[Link]:
    """The links of a page, but those that are shown as code.

    Args:
        page: The file.
        text: What it will have, of one that is yet to be written. Default: what it has.
    """
    text = _without_code(page.read_text(encoding="utf-8") if text is None else text)
    for pattern in (_INLINE, _REFERENCE, _BARE, _TAG):
        for found in pattern.finditer(text):
            yield Link(page, text.count("\n", 0, found.start(1)) + 1, found[1])


def broken(link: Link, made: Mapping[Path, str] = MappingProxyType({})) -> str | None:
    """Why a link within the repository leads nowhere; None if it leads somewhere.

    Args:
        link: The link.
        made: Text of files that are written before anybody follows it, by their paths.
    """
    path, _, anchor = link.target.partition("#")
    there = (link.page.parent / path).resolve() if path else link.page
    if there not in made and not there.exists():
        return "there is no such file"
    if anchor and (there.suffix != ".md" or anchor not in anchors(there, made.get(there))):
        return f"there is no such heading in {there.name}"
    return None


def anchors(page: Path, text: str | None = None) -> set[str]:
    """Anchors of the headings of a page, as GitHub and MyST make them."""
    found: set[str] = set()
    times: dict[str, int] = {}
    text = _FENCE.sub(_blank, page.read_text(encoding="utf-8") if text is None else text)
    for marks, heading in _HEADING.findall(text):
        anchor = slug(heading)
        again = times.get(anchor, 0)
        times[anchor] = again + 1
        if len(marks) <= DEEPEST:
            found.add(f"{anchor}-{again}" if again else anchor)
    return found


def slug(heading: str) -> str:
    """The anchor of a heading."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def _without_code(text: str) -> str:
    return _CODE.sub(_blank, _FENCE.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    """As many lines as there were, for line numbers."""
    return "\n" * found[0].count("\n")
