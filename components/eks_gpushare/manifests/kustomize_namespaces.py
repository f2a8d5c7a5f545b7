"""Kustomizations that give several Namespaces one name, so that Kustomize makes nothing of them.

`namespace` renames objects of the kind Namespace too, `namespaceFieldSpecs` of
api/internal/konfig/builtinpluginconsts/namespace.go in kubernetes-sigs/kustomize, and of two with
one name Kustomize ends: "namespace transformation produces ID conflict".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.values import at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_NAMESPACE: Final = re.compile(r"^kind:[ \t]*[\"']?Namespace[\"']?[ \t\r]*$", re.MULTILINE)


def tops_that_build(
    tops: Iterable[str],
    contents: Mapping[str, frozenset[str]],
    value_of: Callable[[str], Any],
    text_of: Callable[[str], str],
) -> list[str]:
    """The kustomizations that are built; of those that end what they are made of in their place.

    Args:
        tops: What no other builds on.
        contents: Each kustomization by its file, with the files that it is built of.
        value_of: Gives what a file is as a kustomization; None of others.
        text_of: Gives the text of a file.
    """
    found: list[str] = []
    waiting = list(tops)
    seen = set(waiting)
    while waiting:
        top = waiting.pop(0)
        inner = [each for each in sorted(contents[top]) if value_of(each) is not None]
        if not any(_ends(value_of(each), map(text_of, contents[each])) for each in inner):
            found.append(top)
            continue
        below = [each for each in inner if each not in seen]
        outermost = [e for e in below if not any(e in contents[o] for o in below if o != e)]
        seen.update(outermost)
        waiting += outermost
    return found


def _ends(value: Any, texts: Iterable[str]) -> bool:
    """Whether a kustomization of some texts ends, since it has several Namespaces to rename."""
    return bool(at(value, "namespace")) and sum(len(_NAMESPACE.findall(text)) for text in texts) > 1
