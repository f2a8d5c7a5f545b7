"""Loops of Ansible's tasks over what stands in the same play.

Source: https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_loops.html (November 2026).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document

LOOPS: Final = ("loop", "with_items", "with_dict")
_MOST: Final = 100
_OF_A_VARIABLE: Final = re.compile(
    r"\{\{\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*(?P<pairs>\|\s*dict2items\s*)?\}\}"
)
_ITEM: Final = re.compile(r"\{\{\s*item((?:\.[A-Za-z_][A-Za-z0-9_]*)*)\s*\}\}")


def items_of(document: Document, loop: FieldPath, variables: Mapping[str, Any]) -> list[Any] | None:
    """What a loop is over; None where that is not known.

    Args:
        document: The document.
        loop: Where the loop stands in it.
        variables: Those of the play, by their names.
    """
    given = at(document.value, *loop)
    named = _OF_A_VARIABLE.fullmatch((document.raw(loop) or "").strip())
    is_dict = loop[-1] == "with_dict"
    if given is UNKNOWN and named is not None:
        given = variables.get(named["name"])
        is_dict = is_dict or named["pairs"] is not None
    if is_dict:
        found = [{"key": key, "value": value} for key, value in pairs(given)]
    else:
        found = items(given)
    return None if not found or len(found) > _MOST or has_unknown(found) else found


def for_item(document: Document, place: FieldPath, value: Any, item: Any) -> Any:
    """A value as it is for one thing that a loop is over.

    Args:
        document: The document.
        place: Where the value stands in it.
        value: The value.
        item: The thing.
    """
    if isinstance(value, dict):
        return {key: for_item(document, (*place, key), each, item) for key, each in value.items()}
    if isinstance(value, list):
        return [for_item(document, (*place, n), each, item) for n, each in enumerate(value)]
    written = document.raw(place) if value is UNKNOWN else None
    if written is None:
        return value
    made = _ITEM.sub(lambda found: _told(item, found[1]), written)
    return UNKNOWN if "{{" in made else made


def _told(item: Any, path: str) -> str:
    """What a template writes of it; itself where nothing is known of that."""
    found = at(item, *path.split(".")[1:]) if path else item
    return "{{" if isinstance(found, dict | list) or found is None else str(text(found))
