"""What files of Ansible say of each other's tasks: what variables are, and which tasks may be left.

A role that a play names on a condition alone, or a file that tasks take in on one, may be done or
not: https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_conditionals.html#conditionals-with-roles
(November 2026).
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.values import at, items
from eks_gpushare.lint.ansible_variables import Variables, has_tasks, is_of_ansible
from eks_gpushare.lint.readers.ansible import MAY_BE, WITHIN, AnsibleReader
from eks_gpushare.manifests.folders import ends_with
from eks_gpushare.manifests.readers.values import mappings
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

_TAKES_IN: Final = ("import_role", "include_role", "import_tasks", "include_tasks", "include")
_OF_BUILTINS: Final = ("", "ansible.builtin.")
_MAY_TAKE: Final = re.compile(r"\b(?:roles|import_role|import_tasks|include[a-z_]*)[\"']?:")
_YAML: Final = (".yaml", ".yml")
_DEEPEST: Final = 12


class _Taken(NamedTuple):
    """A role, or a file of tasks, that something takes in."""

    name: str
    """The role's, or the end of the file's path."""
    is_role: bool
    is_sure: bool
    """Whether it is done whatever is so."""


class Playbooks:
    """The files of Ansible of a call.

    Args:
        files: All files.
    """

    def __init__(self, files: Iterable[GivenFile] = ()) -> None:
        files = list(files)
        own = [each for each in files if not is_guide(each.name)]
        if not any(map(has_tasks, own)):
            own = []
        folders = {posixpath.dirname(each.name) for each in own if is_of_ansible(each)}
        own = [each for each in own if posixpath.dirname(each.name) in folders]
        names = {each.name for each in own}
        others = (each for each in files if own and each.name not in names)
        self._variables = Variables(own, others)
        self.files = self._variables.files
        """Those with variables that tasks name, as they are called."""
        self._roles: dict[str, set[bool]] = {}
        self._tasks: list[tuple[str, _Taken]] = []
        """Files that are taken in, each with the role in which alone it lies."""
        for each in own:
            if each.name.lower().endswith(_YAML) and _MAY_TAKE.search(each.text):
                for document in read_texts(each.text, each.name).documents:
                    for taken in _taken(document.value, 0, sure=True):
                        if taken.is_role:
                            self._roles.setdefault(taken.name, set()).add(taken.is_sure)
                        else:
                            self._tasks.append((_role_of(each.name), taken))

    def given(self, document: Document) -> Document:
        """Tasks with what variables are, and by themselves where these may not be done."""
        if not AnsibleReader().matches(document):
            return document
        made = self._variables.filled(document)
        path, role = posixpath.normpath(document.file), _role_of(document.file)
        if self._roles.get(posixpath.basename(role)) == {False}:
            return replace(made, alone=f"{made.file}:{role}")
        meant = (taken for above, taken in self._tasks if above in ("", role))
        if {each.is_sure for each in meant if ends_with(path, each.name)} == {False}:
            return replace(made, alone=f"{made.file}:{path}")
        return made


def _role_of(file: str) -> str:
    """The folder of the role that a file is of; none of one that is of no role."""
    folders = posixpath.normpath(file).split("/")[:-1]
    above = folders.index("roles") + 1 if "roles" in folders else len(folders)
    return "/".join(folders[: above + 1]) if above < len(folders) else ""


def _taken(value: Any, depth: int, *, sure: bool) -> Iterator[_Taken]:
    """Roles, and files of tasks by the ends of their paths, that plays and tasks take in."""
    for _, each in mappings(value) if depth < _DEEPEST else ():
        is_sure = sure and not any(key in each for key in MAY_BE)
        for role in items(each.get("roles")):
            name = role if isinstance(role, str) else at(role, "role") or at(role, "name")
            may_be = isinstance(role, dict) and any(key in role for key in MAY_BE)
            if isinstance(name, str):
                yield _Taken(name.rpartition(".")[2], is_role=True, is_sure=is_sure and not may_be)
        for key in (f"{before}{one}" for before in _OF_BUILTINS for one in _TAKES_IN):
            told = each.get(key)
            named = told if isinstance(told, str) else at(told, "name") or at(told, "file")
            if isinstance(named, str):
                is_role = key.endswith("role")
                name = (
                    named.rpartition(".")[2]
                    if is_role
                    else posixpath.normpath(f"/{named}").lstrip("/")
                )
                yield _Taken(name, is_role, is_sure)
        for key in WITHIN:
            yield from _taken(each.get(key), depth + 1, sure=is_sure)
