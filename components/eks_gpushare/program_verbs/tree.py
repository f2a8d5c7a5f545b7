"""The resources of a preview as a tree."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.recording import Recording, Resource

_STACK_TYPE = "pulumi:pulumi:Stack"


def print_tree(stack: str, recording: Recording) -> None:
    """Each resource below its parent; a line each for grep, where no columns are known."""
    console, tree = Console(highlight=False), _tree(stack, recording)
    if console.is_terminal or "COLUMNS" in os.environ or console.options.ascii_only:
        console.print(tree)
        return
    # rich measures and folds each label; that took a tenth of a preview's time to change nothing.
    for guides, label in _drawn(tree):
        console.file.write(f"{guides}{label}\n")


def _drawn(tree: Tree, below: str = "") -> Iterator[tuple[str, str]]:
    """Guides and text of each line, drawn as by rich."""
    if not below:
        yield "", str(tree.label)
    for child in tree.children:
        is_last = child is tree.children[-1]
        yield below + ("└── " if is_last else "├── "), str(child.label)
        if child.children:
            yield from _drawn(child, below + ("    " if is_last else "│   "))


def _tree(stack: str, recording: Recording) -> Tree:
    custom = sum(r.custom for r in recording.resources if r.type != _STACK_TYPE)
    root = Tree(Text(f"{stack}: {custom} resources", style="bold"))
    nodes: dict[str, Tree] = {}
    for resource in recording.resources:
        if resource.type == _STACK_TYPE:
            nodes[resource.urn] = root
        else:
            above = nodes.get(resource.parent, root)
            nodes[resource.urn] = above.add(_label(resource))
    return root


def _label(resource: Resource) -> Text:
    label = Text(resource.name, style="" if resource.custom else "bold")
    label.append(f"  {resource.type}", style="dim")
    for mark, shown in (("protected", resource.protect), ("assumed", resource.assumed)):
        if shown:
            label.append(f"  {mark}", style="yellow")
    return label
