"""What files of Ansible say of each other's tasks: what variables are, and which tasks may be left.

A role that a play names on a condition alone, or a file that tasks take in on one, may be done or
not: https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_conditionals.html#conditionals-with-roles
(November 2026).
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.lint.ansible_variables import Variables, has_tasks, is_of_ansible
from eks_gpushare.lint.readers.ansible import MAY_BE, WITHIN, AnsibleReader
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
        self._taken: dict[str, set[bool]] = {}
        for each in own:
            if each.name.lower().endswith(_YAML) and _MAY_TAKE.search(each.text):
                for document in read_texts(each.text, each.name).documents:
                    for name, is_sure in _taken(document.value, 0, sure=True):
                        self._taken.setdefault(name, set()).add(is_sure)

    def given(self, document: Document) -> Document:
        """Tasks with what variables are, and by themselves where these may not be done."""
        if not AnsibleReader().matches(document):
            return document
        made = self._variables.filled(document)
        *folders, file = posixpath.normpath(document.file).split("/")
        above = folders[folders.index("roles") + 1 :][:1] if "roles" in folders else []
        unsure = (each for each in (*above, file) if self._taken.get(each) == {False})
        name = next(unsure, None)
        return made if name is None else replace(made, alone=f"{made.file}:{name}")


def _taken(value: Any, depth: int, *, sure: bool) -> Iterator[tuple[str, bool]]:
    """Roles, and files of tasks by their last names, that plays and tasks take in.

    Each with whether it is done whatever is so.
    """
    for _, each in mappings(value) if depth < _DEEPEST else ():
        is_sure = sure and not any(key in each for key in MAY_BE)
        for role in items(each.get("roles")):
            name = role if isinstance(role, str) else at(role, "role") or at(role, "name")
            may_be = isinstance(role, dict) and any(key in role for key in MAY_BE)
            yield str(text(name)).rpartition(".")[2], is_sure and not may_be
        for key in (f"{before}{one}" for before in _OF_BUILTINS for one in _TAKES_IN):
            told = each.get(key)
            named = told if isinstance(told, str) else at(told, "name") or at(told, "file")
            if isinstance(named, str):
                is_role = key.endswith("role")
                last = named.rpartition(".")[2] if is_role else posixpath.basename(named)
                yield last, is_sure
        for key in WITHIN:
            yield from _taken(each.get(key), depth + 1, sure=is_sure)
