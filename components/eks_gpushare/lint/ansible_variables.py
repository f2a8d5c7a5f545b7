"""Variables of Ansible to which one file alone gives a value, in the tasks that name them.

Which of several values holds depends on hosts, groups, and on what a run is told, from
https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_variables.html (November 2026): a
name that is given anything elsewhere too is not known.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items
from eks_gpushare.lint.readers.ansible import OF_A_CLUSTER
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

_OF_VARIABLES: Final = frozenset(("defaults", "vars", "group_vars", "host_vars"))
"""Folders of files whose keys are variables."""
_OF_ANSIBLE: Final = _OF_VARIABLES | {"tasks", "handlers", "playbooks", "roles", "inventory"}
_YAML: Final = (".yaml", ".yml")
_MODULE: Final = re.compile(r"\b(?:helm|k8s)[\"']?:")
_LISTED: Final = re.compile(r"^-[ \t]", re.MULTILINE)
_PLAY: Final = re.compile(r"^(?:-|[ ])[ \t]+hosts:", re.MULTILINE)
_NAMED: Final = re.compile(
    r"\{\{-?\s*([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_]*)*)\s*-?\}\}"
)
_WHOLE: Final = re.compile(rf"[\"']{_NAMED.pattern}[\"']")
_COMMENT: Final = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_KEY: Final = re.compile(r"(?<![A-Za-z0-9_.-])([A-Za-z_][A-Za-z0-9_]*)[\"']?[ \t]*(?::|=(?!=))")
_TOLD: Final = re.compile(
    r"(?<![A-Za-z0-9_.-])(?:register|loop_var|index_var|name):[ \t]*[\"']?"
    r"([A-Za-z_][A-Za-z0-9_]*)(?![A-Za-z0-9_-])"
)
"""Where a name is given a value: as a key or to a command; by a task, or asked of who runs it."""
_DEEPEST: Final = 6


def has_tasks(file: GivenFile) -> bool:
    """Whether some of a list in it may install charts or make objects."""
    is_read = file.name.lower().endswith(_YAML) and not is_guide(file.name)
    is_list = is_read and _LISTED.search(file.text) is not None
    return is_list and _MODULE.search(file.text) is not None


def is_of_ansible(file: GivenFile) -> bool:
    """Whether it may give variables values: by its folder, as a play, or by a run's arguments."""
    if file.name.lower().endswith(_YAML):
        folders = posixpath.dirname(file.name).split("/")
        is_play = _PLAY.search(file.text) is not None and _LISTED.search(file.text) is not None
        if is_play or not _OF_ANSIBLE.isdisjoint(folders):
            return True
    return "ansible-playbook" in file.text and not is_guide(file.name)


class Variables:
    """What variables are, as far as files of Ansible decide it.

    Args:
        files: The files, and those that lie beside them.
    """

    def __init__(self, files: Iterable[GivenFile]) -> None:
        files = list(files)
        self._given: dict[str, list[GivenFile]] = {}
        for each in files:
            text = _COMMENT.sub("", each.text)
            for found in (*_KEY.finditer(text), *_TOLD.finditer(text)):
                self._given.setdefault(found[1], []).append(each)
        self._documents: dict[str, list[Document]] = {}
        self._known: dict[str, tuple[Document, FieldPath] | None] = {}
        tasks = [each.text for each in files if has_tasks(each)]
        names = {found[1] for each in tasks for found in _WHOLE.finditer(each)}
        places = filter(None, map(self._place, sorted(names)))
        self.files = frozenset(document.file for document, _ in places)
        """Those in which some are that tasks name, as they are called."""

    def filled(self, document: Document) -> Document:
        """Tasks with what variables are in place of their names, where these are all of a value."""
        made = self._made(document, (), document.value, 0)
        if made is document.value:
            return document
        return replace(document, value=made, editable=False)

    def _made(self, document: Document, place: FieldPath, value: Any, depth: int) -> Any:
        made: dict[Any, Any] | list[Any]
        if value is UNKNOWN:
            return self._value((document.raw(place) or "").strip(), depth)
        if isinstance(value, dict):
            made = {
                key: each
                if key in OF_A_CLUSTER
                else self._made(document, (*place, key), each, depth)
                for key, each in value.items()
            }
            return made if any(made[key] is not each for key, each in value.items()) else value
        if isinstance(value, list):
            made = [self._made(document, (*place, n), each, depth) for n, each in enumerate(value)]
            same = all(new is old for new, old in zip(made, value, strict=True))
            return value if same else made
        return value

    def _value(self, written: str, depth: int) -> Any:
        """What a template writes that is a name alone; not known of any other."""
        named = _NAMED.fullmatch(written)
        found = self._place(named[1]) if named is not None and depth < _DEEPEST else None
        if named is None or found is None:
            return UNKNOWN
        document, place = found
        value = self._made(document, place, at(document.value, *place), depth + 1)
        for key in named[2].split(".")[1:]:
            value = value.get(key, UNKNOWN) if isinstance(value, dict) else UNKNOWN
        return UNKNOWN if value is None else value

    def _place(self, name: str) -> tuple[Document, FieldPath] | None:
        """Where the one value of a name stands."""
        if name not in self._known:
            given = self._given.get(name, [])
            places = list(self._places(given[0], name)) if len(given) == 1 else []
            self._known[name] = places[0] if len(places) == 1 else None
        return self._known[name]

    def _places(self, file: GivenFile, name: str) -> Iterator[tuple[Document, FieldPath]]:
        if not file.name.lower().endswith(_YAML):
            return
        if file.name not in self._documents:
            self._documents[file.name] = list(read_texts(file.text, file.name).documents)
        folders = posixpath.dirname(file.name).split("/")
        for document in self._documents[file.name]:
            if not _OF_VARIABLES.isdisjoint(folders) and at(document.value, name) is not None:
                yield document, (name,)
            for index, play in enumerate(items(document.value)):
                if at(play, "hosts") is not None and at(play, "vars", name) is not None:
                    yield document, (index, "vars", name)
