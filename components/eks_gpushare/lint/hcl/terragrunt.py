"""Units of Terragrunt: a module that is called with inputs, from a folder of its own.

Source: https://terragrunt.gruntwork.io/docs/reference/config-blocks-and-attributes/ (`terraform`,
`inputs`, `include`) and https://developer.hashicorp.com/terraform/language/modules/sources, of
which Terragrunt takes those of a registry as tfr://; November 2026.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.lint.hcl.blocks import literal
from eks_gpushare.lint.hcl.folders import ModuleFiles
from eks_gpushare.lint.hcl.syntax import Body, Expression, HclBlock
from eks_gpushare.manifests.folders import ends_with

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

CALL: Final = "unit of Terragrunt"
"""What the call is named, which is no name of a module."""
_SOURCE: Final = re.compile(r'"(?P<from>(?:\$\{[^{}"]*\})*)(?P<path>[^"$]*)"')
_REGISTRY: Final = re.compile(r"tfr://[^/]*/(?P<source>[^?]+)(?:\?version=(?P<version>.+))?")
_PARENT: Final = re.compile(r'find_in_parent_folders\(\s*(?:"([^"]+)")?\s*\)')
_BESIDE: Final = re.compile(r'"(?:\$\{get_terragrunt_dir\(\)\}/)?(\.[^"$]*)"')
_INPUTS: Final = re.compile(r"^[ \t]*inputs\s*=", re.MULTILINE)


def unit(
    name: str, body: Body, folders: Collection[str], read: Callable[[str], str | None]
) -> ModuleFiles | None:
    """A unit as a module that calls its own; None of one whose module or inputs are not known.

    Args:
        name: Its file.
        body: What stands in that.
        folders: Folders of modules.
        read: Gives the text of a file by its path; None where it is not there.
    """
    folder = posixpath.dirname(name)
    given = body.attributes.get("inputs")
    block = next((each for each in body.blocks if each.type == "terraform"), None)
    source = None if block is None else _source(block, folder, folders)
    if block is None or source is None or not _says_all(body, name, read):
        return None
    inputs = Body()
    if given is not None and not _fill(inputs, given):
        return None
    for key, value in source.items():
        inputs.attributes[key] = Expression(block.place, given=value)
        inputs.keys[key] = block.place
    found = ModuleFiles(folder)
    call = HclBlock("module", (CALL,), inputs, block.place)
    found.add(name, Body(blocks=[*(each for each in body.blocks if each.type == "locals"), call]))
    return found


def _source(block: HclBlock, folder: str, folders: Collection[str]) -> dict[str, str] | None:
    """What a call of the module says: of a folder that is here, or of a registry."""
    whole = literal(block, "source")
    if isinstance(whole, str) and (found := _REGISTRY.fullmatch(whole)):
        return found.groupdict("")
    if isinstance(whole, str) and whole.startswith("git::"):
        return {"source": whole}
    told = block.body.attributes.get("source")
    if told is None or told.source is None or told.node is None:
        return None
    named = _SOURCE.fullmatch(told.source.text(told.node))
    if named is None:
        return None
    path = posixpath.normpath(named["path"].replace("//", "/"))
    if not named["from"]:
        meant = [posixpath.normpath(posixpath.join(folder, path))] if path.startswith(".") else []
    else:  # from the top of the repository, or from a folder that a function finds
        tail = re.sub(r"^(?:/?\.\.)*/?", "", path)
        meant = [each for each in folders if ends_with(each, tail)]
    if len(meant) != 1 or meant[0] not in folders:
        return None
    return {"source": f"./{posixpath.relpath(meant[0] or '.', folder or '.')}"}


def _fill(inputs: Body, given: Expression) -> bool:
    """Take the inputs in; whether they are all written out."""
    node, source = given.node, given.source
    while node is not None and node.type != "object" and node.named_child_count == 1:
        node = node.named_children[0]
    if node is None or source is None or node.type != "object":
        return False
    for element in node.named_children:
        parts = [each for each in element.children if each.type == "expression"]
        if len(parts) == 2:  # noqa: PLR2004  (key and value)
            key = source.text(parts[0]).strip('"')
            inputs.attributes[key] = Expression(source.place(parts[1]), source, parts[1])
            inputs.keys[key] = source.place(element)
    return True


def _says_all(body: Body, name: str, read: Callable[[str], str | None]) -> bool:
    """Whether what a unit includes is seen, and gives no inputs."""
    for block in body.blocks:
        if block.type != "include":
            continue
        told = block.body.attributes.get("path")
        if told is None or told.source is None or told.node is None:
            return False
        text = told.source.text(told.node)
        included = next(filter(None, map(read, _paths(text, name))), None)
        if included is None or _INPUTS.search(included):
            return False
    return True


def _paths(text: str, name: str) -> Iterator[str]:
    """Where a file that is included may lie: above by the unit's own name, unless one is told."""
    folder = posixpath.dirname(name)
    if found := _BESIDE.fullmatch(text):
        yield posixpath.normpath(posixpath.join(folder, found[1]))
    elif found := _PARENT.fullmatch(text):
        above = folder
        while above:
            above = posixpath.dirname(above)
            yield posixpath.join(above, found[1] or posixpath.basename(name))
