"""The resources of a preview as a tree."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Recording, Resource

_UNFOLDED = 1000
"""Columns of a tree that goes to no terminal: each resource is one line, for grep."""
_STACK_TYPE = "pulumi:pulumi:Stack"


def print_tree(stack: str, recording: Recording) -> None:
    """Each resource below its parent."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=_UNFOLDED)
    console.print(_tree(stack, recording))


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
