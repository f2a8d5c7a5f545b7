"""What a finding is known by in later calls, wherever its line has gone meanwhile.

That is its code, the object that it is about, and the place in it, with items of lists by their
names. Of what is no object, as in a script, it is the text of the line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.findings.finding import dotted
from eks_gpushare.inventory.values import at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.findings.finding import FieldPath, Finding, Position
    from eks_gpushare.manifests.document import Document

_LONGEST: Final = 120
"""Characters of a line that are kept."""
_VARIES: Final = re.compile(r'"[^"]*"|\S*[0-9]\S*')
"""What differs between findings of one cause: what was given, numbers, names with numbers."""


def identity(
    finding: Finding, position: Position | None, document: Document | None, lines: Sequence[str]
) -> str:
    """What a finding is known by within its file, its code left out.

    Args:
        finding: The finding.
        position: Where it stands.
        document: Its document.
        lines: Those of the file.
    """
    value = document.value if document is not None else None
    about = object_of(value)
    path = finding.at
    if document is not None and path[: len(document.at)] == document.at:
        path = path[len(document.at) :]
    by_line = finding.path.startswith("line ") or (not about and not path)
    if by_line and position is not None and position.line <= len(lines):
        line = " ".join(lines[position.line - 1].split())
        return f"{about} {line[:_LONGEST]}".strip()
    return f"{about} {_named(value, path)}".strip()


def object_of(value: Any) -> str:
    """An object by kind, namespace and name: `Deployment team-a/trainer`."""
    kind = at(value, "kind")
    if not isinstance(kind, str):
        return ""
    name = at(value, "metadata", "name")
    if not isinstance(name, str):
        generated = at(value, "metadata", "generateName")
        name = generated if isinstance(generated, str) else ""
    space = at(value, "metadata", "namespace")
    return f"{kind} {f'{space}/' if isinstance(space, str) else ''}{name}".rstrip()


def cause(finding: Finding, document: Document | None) -> str:
    """What findings of one cause have in common: code and message, less the object's own names."""
    message = finding.message
    if document is not None:
        name = at(document.value, "metadata", "name")
        if isinstance(name, str) and name:
            message = message.replace(name, "*")
    return f"{finding.code} {_VARIES.sub('*', message)}"


def _named(value: Any, path: FieldPath) -> str:
    """A path with items of lists by their names, as in `containers[cuda].resources`."""
    text = ""
    for key in path:
        inner = at(value, key)
        if isinstance(key, int):
            name = at(inner, "name")
            text += f"[{name if isinstance(name, str) and name else key}]"
        else:
            part = dotted((key,)).replace('["', "[").replace('"]', "]")
            text += f".{part}" if text and not part.startswith("[") else part
        value = inner
    return text
