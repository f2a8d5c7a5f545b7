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
_AT_TOP: Final = re.compile(r"^[\"']?([A-Za-z_][A-Za-z0-9_]*)[\"']?[ \t]*:", re.MULTILINE)
_OF_FILES: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?:-e|--extra-vars)[\s=,\"'\[\]]*[@$]|\b(?:vars_files|include_vars)[\"']?:"
)
"""What takes variables in from files, or from whatever a shell knows."""
_OF_LOOPS: Final = "item"
"""The variable of a loop that names none."""
_MOST: Final = 5_000
"""Most things that names stand for in a document; what goes beyond it is not known."""
_DEEPEST: Final = 60
"""Most levels of a document with what names in it stand for."""


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


def takes_files_in(file: GivenFile) -> bool:
    """Whether it says that variables are taken from files, which is so of a guide too."""
    return "ansible" in file.text and _OF_FILES.search(_COMMENT.sub("", file.text)) is not None


def names_in(file: GivenFile) -> Iterator[str]:
    """Names of variables that are all of values in tasks, or in what variables are."""
    if file.name.lower().endswith(_YAML) and (has_tasks(file) or is_of_ansible(file)):
        yield from (found[1] for found in _WHOLE.finditer(file.text))


def keys_of(file: GivenFile) -> Iterator[str]:
    """Keys at the top of a file that may be taken in, each of which would be a variable."""
    if file.name.lower().endswith(_YAML):
        yield from (found[1] for found in _AT_TOP.finditer(file.text))


class Variables:
    """What variables are, as far as files of Ansible decide it.

    Args:
        files: The files, and those that lie beside them.
        others: All others of the call, any of which may be taken in.
    """

    def __init__(self, files: Iterable[GivenFile], others: Iterable[GivenFile] = ()) -> None:
        files, others = list(files), list(others)
        self._given: dict[str, list[GivenFile]] = {}
        for each in files:
            text = _COMMENT.sub("", each.text)
            for found in (*_KEY.finditer(text), *_TOLD.finditer(text)):
                self._given.setdefault(found[1], []).append(each)
        for each in others:
            for key in keys_of(each):
                self._given.setdefault(key, []).append(each)
        if any(map(takes_files_in, (*files, *others))):
            self._given = {}
        self._documents: dict[str, list[Document]] = {}
        self._known: dict[str, tuple[Document, FieldPath] | None] = {}
        self._named: dict[str, tuple[str, ...]] = {}
        self._values: dict[str, Any] = {}
        self._left = _MOST
        tasks = [each.text for each in files if has_tasks(each)]
        names = {found[1] for each in tasks for found in _WHOLE.finditer(each)}
        places = filter(None, map(self._place, sorted(names)))
        self.files = frozenset(document.file for document, _ in places)
        """Those in which some are that tasks name, as they are called."""

    def filled(self, document: Document) -> Document:
        """Tasks with what variables are in place of their names, where these are all of a value."""
        for name in _names_in(document, (), document.value):
            self._look_at(name)
        self._left = _MOST
        made = self._made(document, (), document.value)
        if made is document.value:
            return document
        return replace(document, value=made, editable=False)

    def _made(self, document: Document, place: FieldPath, value: Any) -> Any:
        """A value with what names in it stand for, each of which has been looked at."""
        made: dict[Any, Any] | list[Any]
        if value is UNKNOWN:
            return self._value(document, place)
        if isinstance(value, dict):
            made = {
                key: each if key in OF_A_CLUSTER else self._made(document, (*place, key), each)
                for key, each in value.items()
            }
            return made if any(made[key] is not each for key, each in value.items()) else value
        if isinstance(value, list):
            made = [self._made(document, (*place, n), each) for n, each in enumerate(value)]
            same = all(new is old for new, old in zip(made, value, strict=True))
            return value if same else made
        return value

    def _value(self, document: Document, place: FieldPath) -> Any:
        """What a template writes that is a name alone; not known of any other."""
        named = _name_at(document, place)
        if named is None:
            return UNKNOWN
        value = self._values[named[1]]
        for key in named[2].split(".")[1:]:
            value = value.get(key, UNKNOWN) if isinstance(value, dict) else UNKNOWN
        if value is UNKNOWN or value is None:
            return UNKNOWN
        things, levels = _size(value, self._left)
        self._left = max(0, self._left - things)
        fits = self._left > 0 and len(place) + levels <= _DEEPEST
        return value if fits else UNKNOWN

    def _look_at(self, name: str) -> None:
        """Find what a name stands for, and before it what those that it is made of do.

        One that is made of itself, be it by others, stands for nothing that is known.
        """
        waiting = {name: None}
        while waiting:
            last = next(reversed(waiting))
            found = self._place(last)
            if last in self._values or found is None:
                self._values.setdefault(last, UNKNOWN)
                del waiting[last]
                continue
            document, place = found
            value = at(document.value, *place)
            if last not in self._named:
                self._named[last] = tuple(_names_in(document, place, value))
            further = next((each for each in self._named[last] if each not in self._values), None)
            if further is None:
                self._left = _MOST
                self._values[last] = self._made(document, place, value)
            elif further in waiting:
                path = list(waiting)
                self._values |= dict.fromkeys(path[path.index(further) :], UNKNOWN)
            else:
                waiting[further] = None

    def _place(self, name: str) -> tuple[Document, FieldPath] | None:
        """Where the one value of a name stands."""
        if name not in self._known:
            given = self._given.get(name, [])
            alone = len(given) == 1 and name != _OF_LOOPS
            places = list(self._places(given[0], name)) if alone else []
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


def _name_at(document: Document, place: FieldPath) -> re.Match[str] | None:
    """The name that is all of what is written somewhere."""
    return _NAMED.fullmatch((document.raw(place) or "").strip())


def _names_in(document: Document, place: FieldPath, value: Any) -> Iterator[str]:
    """Those that are all of values somewhere in one."""
    if value is UNKNOWN:
        if named := _name_at(document, place):
            yield named[1]
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in OF_A_CLUSTER:
                yield from _names_in(document, (*place, key), each)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _names_in(document, (*place, index), each)


def _size(value: Any, most: int) -> tuple[int, int]:
    """How many things a value is, which is not told beyond a number, and of how many levels."""
    things, levels = 0, 0
    level = [value]
    while level and things < most:
        things, levels = things + len(level), levels + 1
        inner = (list(each.values()) if isinstance(each, dict) else items(each) for each in level)
        level = [each for listed in inner for each in listed]
    return things, levels
