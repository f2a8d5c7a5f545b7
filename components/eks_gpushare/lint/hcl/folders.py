"""Folders of files: what they say together, and how functions find further files from there."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from eks_gpushare.lint.hcl.syntax import Body, HclBlock

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.lint.hcl.syntax import Expression
    from eks_gpushare.lint.hcl.values import Place

_Key = TypeVar("_Key", str, tuple[str, str])
_OVERRIDE = re.compile(r"(?:^|.*[/_])override\.(?:tf|tofu)(?:\.json)?")


def is_override(file: str) -> bool:
    """Whether what a file says goes over what others of its folder say of the same."""
    return _OVERRIDE.fullmatch(file) is not None


@dataclass(slots=True)
class ModuleFiles:
    """What the files of a folder say together."""

    folder: str
    files: list[str] = field(default_factory=list)
    variables: dict[str, HclBlock] = field(default_factory=dict)
    locals: dict[str, tuple[Expression, Place]] = field(default_factory=dict)
    resources: dict[tuple[str, str], HclBlock] = field(default_factory=dict)
    data: dict[tuple[str, str], HclBlock] = field(default_factory=dict)
    calls: dict[str, HclBlock] = field(default_factory=dict)
    outputs: dict[str, HclBlock] = field(default_factory=dict)
    is_root: bool = False
    """Whether something in it says that it is applied by itself: a provider or a backend."""

    def add(self, file: str, body: Body) -> None:
        """Take a file in. What an override file says goes over what was taken in before."""
        self.files.append(file)
        merge = is_override(file)
        for block in body.blocks:
            name = block.labels[0] if block.labels else ""
            if block.type == "locals":
                for key, each in block.body.attributes.items():
                    self.locals[key] = each, block.body.keys[key]
            elif block.type in {"resource", "data"} and len(block.labels) > 1:
                of_kind = self.resources if block.type == "resource" else self.data
                _put(of_kind, (name, block.labels[1]), block, merge=merge)
            elif block.type in {"module", "variable", "output"} and name:
                of_type = {
                    "module": self.calls,
                    "variable": self.variables,
                    "output": self.outputs,
                }
                _put(of_type[block.type], name, block, merge=merge)
            elif block.type == "provider" or (
                block.type == "terraform"
                and any(inner.type in {"backend", "cloud"} for inner in block.body.blocks)
            ):
                self.is_root = True


def _put(into: dict[_Key, HclBlock], key: _Key, block: HclBlock, *, merge: bool) -> None:
    into[key] = _over(into[key], block) if merge and key in into else block


def _over(below: HclBlock, block: HclBlock) -> HclBlock:
    """A block with the arguments of another, whose blocks of a type replace all of that type."""
    replaced = {_makes(inner) for inner in block.body.blocks}
    kept = (inner for inner in below.body.blocks if _makes(inner) not in replaced)
    body = Body(
        below.body.attributes | block.body.attributes,
        below.body.keys | block.body.keys,
        [*kept, *block.body.blocks],
        is_whole=below.body.is_whole and block.body.is_whole,
    )
    return HclBlock(below.type, below.labels, body, below.place)


def _makes(block: HclBlock) -> str:
    """The type of the blocks that one stands for."""
    return block.labels[0] if block.type == "dynamic" and block.labels else block.type


class Folders:
    """The files that the call gave, by their folders, and those that lie beside them.

    Args:
        modules: What the files of folders say, by the folder.
        read: Gives the text of a file by its path; None where it is not there.
        below: Gives the files below a folder by their paths from there; None where not known.
    """

    def __init__(
        self,
        modules: Callable[[str], ModuleFiles | None],
        read: Callable[[str], str | None],
        below: Callable[[str], list[str] | None],
    ) -> None:
        self.module, self.read, self.below = modules, read, below
        self.used: set[str] = set()
        """Files that functions have read since it was emptied."""


class FilesFrom:
    """Files as functions name them.

    Args:
        folders: Where they are.
        root: The folder that paths go on from, in which Terraform runs.
    """

    def __init__(self, folders: Folders, root: str) -> None:
        self._folders, self._root = folders, root

    def read(self, path: str) -> tuple[str, str] | None:
        """The name and the text of a file; None if it is not there."""
        named = self._path(path)
        text = None if named is None else self._folders.read(named)
        if named is None or text is None:
            return None
        self._folders.used.add(named)
        return named, text

    def matching(self, folder: str, pattern: str) -> list[str] | None:
        """Files of a folder whose names match a pattern, from there."""
        named = self._path(folder)
        below = None if named is None else self._folders.below(named)
        if below is None:
            return None
        return [path for path in below if _matches(path, pattern)]

    def _path(self, path: str) -> str | None:
        if posixpath.isabs(path) and not posixpath.isabs(self._root):
            return None
        return posixpath.normpath(posixpath.join(self._root, path))


def _matches(path: str, pattern: str) -> bool:
    """As Terraform's `fileset`: `*` stays in a folder, `**` does not, braces are choices."""
    made = ""
    for part in re.split(r"(\*\*/|\*\*|\*|\?|\{[^}]*\})", pattern):
        if part in {"**/", "**", "*", "?"}:
            made += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}[part]
        elif part.startswith("{"):
            choices = part[1:-1].split(",")
            made += "(?:" + "|".join(fnmatch.translate(each)[4:-3] for each in choices) + ")"
        else:
            made += re.escape(part)
    return re.fullmatch(made, path) is not None
