"""Launch templates of a Terraform plan, and which of them a node group uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import decoded
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.launch_templates import OF_OTHERS, LaunchTemplate
from eks_gpushare.lint.plain import items, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KIND: Final = "aws_launch_template"

_INDEX: Final = re.compile(r"\[[^\[\]]*\]")
_MOST_MODULES: Final = 30


class Templates:
    """The launch templates of a plan.

    Args:
        plan: The plan, whose `configuration` tells what refers to what.
    """

    def __init__(self, plan: Any) -> None:
        self._by_address: dict[str, tuple[Any, LaunchTemplate]] = {}
        self._references = dict(_references(at(plan, "configuration", "root_module"), ""))

    def add(self, address: str, given: Any) -> LaunchTemplate:
        """Take one."""
        found = LaunchTemplate(
            text(at(given, "image_id")),
            text(at(given, "instance_type")),
            decoded(at(given, "user_data")),
        )
        self._by_address[address] = (given, found)
        return found

    def used_by(self, address: str, blocks: Any) -> LaunchTemplate | None:
        """The one that a node group uses; None where it uses none.

        Args:
            address: The node group's address.
            blocks: Its `launch_template`.
        """
        if blocks is UNKNOWN:
            return OF_OTHERS
        block = at(blocks, 0) if isinstance(blocks, list) else blocks
        if not block:
            return None
        for key, of_template in (("id", "id"), ("name", "name")):
            named = at(block, key)
            if isinstance(named, str) and named:
                for given, found in self._by_address.values():
                    if at(given, of_template) == named:
                        return found
        return self._referred(address) or OF_OTHERS

    def _referred(self, address: str) -> LaunchTemplate | None:
        """By the expression of the block, or the only one of the same module."""
        module = _module(address)
        near = {
            each: found for each, (_, found) in self._by_address.items() if _module(each) == module
        }
        for reference in self._references.get(_INDEX.sub("", address), ()):
            kind, dot, name = reference.partition(".")
            if kind == KIND and dot:
                wanted = f"{KIND}.{_INDEX.sub('', name).partition('.')[0]}"
                meant = [
                    found for each, found in near.items() if _INDEX.sub("", _local(each)) == wanted
                ]
                if len(meant) == 1:
                    return meant[0]
        return next(iter(near.values())) if len(near) == 1 else None


def _references(module: Any, above: str, depth: int = 0) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What the launch templates of node groups refer to, by their address without indexes."""
    for each in items(at(module, "resources")):
        expressions: Mapping[str, Any] = mapping(at(each, "expressions"))
        blocks = expressions.get("launch_template")
        found = [
            str(reference)
            for block in (items(blocks) or [blocks])
            for key in ("id", "name", "launch_template_id")
            for reference in items(at(block, key, "references"))
        ]
        if found:
            yield f"{above}{at(each, 'address')}", tuple(found)
    if depth < _MOST_MODULES:
        for name, call in mapping(at(module, "module_calls")).items():
            yield from _references(at(call, "module"), f"{above}module.{name}.", depth + 1)


def _module(address: str) -> str:
    """The path of the module that a resource is in, indexes among it."""
    return address[: len(address) - len(_local(address))]


def _local(address: str) -> str:
    """The resource's address in its own module: type, name and index."""
    bare = _INDEX.sub(lambda found: "_" * len(found[0]), address)
    parts = bare.split(".")
    start = 0
    while parts[:1] == ["module"]:
        start += len(".".join(parts[:2])) + 1
        parts = parts[2:]
    return address[start:]
