"""YAML as it comes out of pages that were copied as text."""

from __future__ import annotations

import re
from typing import Final

from eks_gpushare.manifests.placeholders import indent_of

_ARROWS: Final = re.compile(r"^([ \t]*)[\u25b6\u25b8\u25ba\u25bc\u25be][ \t]", re.MULTILINE)
"""By which a page folds a part."""
_TEXT_FOLLOWS: Final = re.compile(r"^(?P<indent> *)[A-Za-z0-9_.\"'/-]+:[ \t]+[|>][-+]?[ \t]*$")


def as_meant(text: str) -> str:
    """A text without the page's arrows, and with the indentation that a text within it lost.

    Its lines stay where they are.
    """
    lines = _ARROWS.sub(r"\1", text).split("\n")
    at = 0
    while at < len(lines):
        follows = _TEXT_FOLLOWS.match(lines[at])
        at += 1
        if follows is None or at == len(lines):
            continue
        width = len(follows["indent"])
        begin = lines[at]
        if not begin.lstrip().startswith("{") or indent_of(begin) > width:
            continue
        depth = 0
        while at < len(lines):
            depth += lines[at].count("{") - lines[at].count("}")
            lines[at] = f"{' ' * (width + 2)}{lines[at]}"
            at += 1
            if depth <= 0:
                break
    return "\n".join(lines)
