"""Modules: folders of files, called from others or by themselves, and the values in them."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown
from eks_gpushare.lint.hcl.evaluating import MISTAKE, Within, value_of
from eks_gpushare.lint.hcl.values import (
    HclList,
    HclObject,
    OpenObject,
    Place,
    has_gaps,
    is_open,
    number,
    place_in,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eks_gpushare.lint.hcl.evaluating import Names
    from eks_gpushare.lint.hcl.syntax import Block, Body, Expression

_MOST_DEPTH: Final = 12
"""Most modules within modules."""
_MOST_COPIES: Final = 200
"""Most copies of a resource by `count` or `for_each`."""
_META: Final = frozenset(
    ("count", "for_each", "provider", "providers", "depends_on", "lifecycle", "source", "version")
)


@dataclass(slots=True)
class ModuleFiles:
    """What the files of a folder say together."""

    folder: str
    files: list[str] = field(default_factory=list)
    variables: dict[str, Block] = field(default_factory=dict)
    locals: dict[str, tuple[Expression, Place]] = field(default_factory=dict)
    resources: dict[tuple[str, str], Block] = field(default_factory=dict)
    calls: dict[str, Block] = field(default_factory=dict)
    outputs: dict[str, Block] = field(default_factory=dict)
    is_root: bool = False
    """Whether something in it says that it is applied by itself: a provider or a backend."""

    def add(self, file: str, body: Body) -> None:
        """Take a file in. Of an override file what it names goes over what stands elsewhere."""
        self.files.append(file)
        for block in body.blocks:
            name = block.labels[0] if block.labels else ""
            if block.type == "locals":
                for key, each in block.body.attributes.items():
                    self.locals[key] = each, block.body.keys[key]
            elif block.type == "resource" and len(block.labels) > 1:
                self.resources[name, block.labels[1]] = block
            elif block.type == "module" and name:
                self.calls[name] = block
            elif block.type == "variable" and name:
                self.variables[name] = block
            elif block.type == "output" and name:
                self.outputs[name] = block
            elif block.type == "provider" or (
                block.type == "terraform"
                and any(inner.type in {"backend", "cloud"} for inner in block.body.blocks)
            ):
                self.is_root = True


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


class _FilesFrom:
    """Files as functions name them, from the root module's folder or absolute by `path`."""

    def __init__(self, folders: Folders, root: str) -> None:
        self._folders, self._root = folders, root

    def read(self, path: str) -> tuple[str, str] | None:
        named = self._path(path)
        text = None if named is None else self._folders.read(named)
        if named is None or text is None:
            return None
        self._folders.used.add(named)
        return named, text

    def matching(self, folder: str, pattern: str) -> list[str] | None:
        named = self._path(folder)
        below = None if named is None else self._folders.below(named)
        if below is None:
            return None
        return [each for each in below if _matches(each, pattern)]

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


@dataclass(frozen=True, slots=True)
class Made:
    """A resource, or a call of a module that is not among the files, with its values."""

    address: str
    kind: str
    """Its type; of a call `module`."""
    values: HclObject
    place: Place
    references: Mapping[str, Any]
    """What its arguments refer to, as a plan tells it."""
    present: Any = True
    """Whether it is there: False where its count is 0, `UNKNOWN` where that is not known."""
    source: str = ""
    """Of a call: what it calls."""


class Instance:
    """A module with its variables bound.

    Args:
        files: What its files say.
        folders: Where further modules and files are.
        root: The folder that Terraform runs in.
        given: Values of its variables. Of others the default holds.
        prefix: What its addresses begin with.
        is_called: Whether another module calls it, so that defaults are what it gets.
    """

    def __init__(
        self,
        files: ModuleFiles,
        folders: Folders,
        root: str,
        given: Mapping[str, Any],
        prefix: str = "",
        *,
        is_called: bool = False,
        depth: int = 0,
    ) -> None:
        self.module, self._folders, self._root = files, folders, root
        self._given, self._prefix, self._depth = given, prefix, depth
        self._is_called = is_called
        self.files = _FilesFrom(folders, root)
        self._locals: dict[str, Any] = {}
        self._variables: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._children: dict[str, list[tuple[Any, Instance]] | None] = {}
        self._resource_values: dict[tuple[str, str], Any] = {}

    # --- names -------------------------------------------------------------------------------

    def named(self, name: str) -> Any:
        """What the first name of a reference stands for."""
        spaces: dict[str, Callable[[Any], Any]] = {
            "var": self._variable,
            "local": self._local,
            "module": self._call,
            "path": self._path,
        }
        if name in spaces:
            return _Named(spaces[name])
        if name in {"each", "count", "self", "data", "terraform", "ephemeral"}:
            return UNKNOWN
        return _Named(lambda key: self._resource(name, str(key)))

    def _variable(self, name: Any) -> Any:
        if name not in self._variables:
            self._variables[name] = UNKNOWN
            self._variables[name] = self._of_variable(str(name))
        return self._variables[name]

    def _of_variable(self, name: str) -> Any:
        block = self.module.variables.get(name)
        if name in self._given:
            value = self._given[name]
            nullable = block is None or _literal(block, "nullable") is not False
            if value is not None or nullable:
                return value if block is None else _with_type(value, block, self)
        default = None if block is None else block.body.attributes.get("default")
        if default is None or block is None:
            return UNKNOWN
        value = _with_type(value_of(default, self), block, self)
        # Of a module that others call an empty default is what it gets. Where Terraform runs, it
        # stands for what somebody is to give.
        return UNKNOWN if not self._is_called and value in (None, "", [], {}) else value

    def _local(self, name: Any) -> Any:
        if name not in self._locals:
            self._locals[name] = UNKNOWN  # of one that refers to itself
            found = self.module.locals.get(name)
            self._locals[name] = UNKNOWN if found is None else value_of(found[0], self)
        return self._locals[name]

    def _path(self, name: Any) -> Any:
        if name == "module":
            return _relative(self.module.folder, self._root)
        return "." if name in {"root", "cwd"} else UNKNOWN

    def _resource(self, kind: str, name: str) -> Any:
        """The written arguments of a resource; what AWS tells of it is not known."""
        key = kind, name
        if key not in self._resource_values:
            self._resource_values[key] = UNKNOWN
            block = self.module.resources.get(key)
            if block is not None:
                several = {"count", "for_each"} & block.body.attributes.keys()
                values = _Written(_values(block.body, self))
                self._resource_values[key] = _Indexed(values) if several else values
        return self._resource_values[key]

    def _call(self, name: Any) -> Any:
        children = self._instances(str(name))
        if not children:
            return UNKNOWN
        if children[0][0] is None:
            return _Named(children[0][1].output)
        made = {key: _Named(child.output) for key, child in children}
        return _Named(lambda key: made.get(key, UNKNOWN))

    def output(self, name: Any) -> Any:
        """The value of one of its outputs."""
        if name not in self._outputs:
            self._outputs[name] = UNKNOWN
            block = self.module.outputs.get(name)
            written_as = None if block is None else block.body.attributes.get("value")
            if written_as is not None:
                self._outputs[name] = value_of(written_as, self)
        return self._outputs[name]

    # --- resources ---------------------------------------------------------------------------

    def made(self) -> Iterator[Made]:
        """Its resources and those of the modules that it calls."""
        for (kind, name), block in self.module.resources.items():
            for key, names, present in self._copies(block):
                yield Made(
                    f"{self._prefix}{kind}.{name}{_index(key)}",
                    kind,
                    _values(block.body, names),
                    block.place,
                    references(block.body),
                    present,
                )
        for name, block in self.module.calls.items():
            children = self._instances(name)
            for key, names, present in self._copies(block) if children is None else ():
                source = _literal(block, "source")
                yield Made(
                    f"{self._prefix}module.{name}{_index(key)}",
                    "module",
                    _values(block.body, names),
                    block.place,
                    references(block.body),
                    present,
                    f"{source}@{_literal(block, 'version') or ''}",
                )
            for _, child in children or ():
                yield from child.made()

    def _instances(self, name: str) -> list[tuple[Any, Instance]] | None:
        """A called module once for each copy; None of one that is not among the files."""
        if name not in self._children:
            self._children[name] = []
            self._children[name] = self._called(name)
        return self._children[name]

    def _called(self, name: str) -> list[tuple[Any, Instance]] | None:
        block = self.module.calls.get(name)
        source = None if block is None else _literal(block, "source")
        if block is None or not isinstance(source, str) or not source.startswith((".", "/")):
            return None
        folder = posixpath.normpath(posixpath.join(self.module.folder, source))
        files = self._folders.module(folder)
        if files is None or self._depth >= _MOST_DEPTH:
            return None
        found: list[tuple[Any, Instance]] = []
        for key, names, present in self._copies(block):
            if present is False:
                continue
            found.append(
                (
                    key,
                    Instance(
                        files,
                        self._folders,
                        self._root,
                        _Bound(block.body, names),
                        f"{self._prefix}module.{name}{_index(key)}.",
                        is_called=True,
                        depth=self._depth + 1,
                    ),
                )
            )
        return found

    def _copies(self, block: Block) -> Iterator[tuple[Any, Names, Any]]:
        """The key of each copy, the names within it, and whether it is there."""
        attributes = block.body.attributes
        if "count" in attributes:
            count = value_of(attributes["count"], self)
            many = None if count is UNKNOWN else number(count)
            if many is None or many <= 0:
                present = UNKNOWN if many is None else False
                yield 0, Within(self, {"count": HclObject({"index": 0})}), present
                return
            for index in range(min(int(many), _MOST_COPIES)):
                yield index, Within(self, {"count": HclObject({"index": index})}), True
        elif "for_each" in attributes:
            yield from self._each(value_of(attributes["for_each"], self))
        else:
            yield None, self, True

    def _each(self, over: Any) -> Iterator[tuple[Any, Names, Any]]:
        listed: list[tuple[Any, Any]] = []
        if isinstance(over, dict):
            listed = list(over.items())
        elif isinstance(over, list) and not has_unknown(over):
            listed = [(each, each) for each in over]
        open_ = over is UNKNOWN or is_open(over) or (isinstance(over, list) and not listed and over)
        if not listed:
            each = HclObject({"key": UNKNOWN, "value": UNKNOWN})
            yield UNKNOWN, Within(self, {"each": each}), UNKNOWN if open_ else False
        for key, value in listed[:_MOST_COPIES]:
            yield key, Within(self, {"each": HclObject({"key": key, "value": value})}), True


class _Named:
    """A space whose names are looked up."""

    def __init__(self, look_up: Callable[[Any], Any]) -> None:
        self.get = look_up


class _Written:
    """What is written of a resource."""

    def __init__(self, values: HclObject) -> None:
        self._values = values

    def get(self, name: Any) -> Any:
        return self._values.get(name, UNKNOWN)


class _Indexed:
    """A resource of which there may be several."""

    def __init__(self, values: _Written) -> None:
        self._values = values

    def get(self, _: Any) -> Any:
        return self._values


class _Bound(dict[str, Any]):
    """The variables of a called module, evaluated when they are asked for."""

    def __init__(self, body: Body, names: Names) -> None:
        own = {key: each for key, each in body.attributes.items() if key not in _META}
        super().__init__(own)
        self._names = names

    def __getitem__(self, key: str) -> Any:
        return value_of(super().__getitem__(key), self._names)


def _literal(block: Block, name: str) -> Any:
    found = block.body.attributes.get(name)
    return None if found is None else value_of(found, NOTHING)


class _Nothing:
    """No names at all."""

    class _NoFiles:
        def read(self, _: str) -> None:
            return None

        def matching(self, _: str, __: str) -> None:
            return None

    files = _NoFiles()

    def named(self, _: str) -> Any:
        return UNKNOWN


NOTHING: Final[Any] = _Nothing()


def _values(body: Body, names: Names, above: Sequence[str] = ()) -> HclObject:
    """Arguments and blocks, each kind of block as a list, as plans have them."""
    made = HclObject() if body.is_whole else OpenObject()
    for key, each in body.attributes.items():
        if above or key not in _META:
            value = value_of(each, names)
            made.put(key, UNKNOWN if value is MISTAKE else value, body.keys[key])
    for block in body.blocks:
        if block.type == "dynamic" and block.labels:
            _dynamic(made, block, names, above)
        elif above or block.type not in _META:
            inner = _values(block.body, names, (*above, block.type))
            _add(made, block.type, inner, block.place)
    return made


def _add(made: HclObject, kind: str, inner: Any, place: Place) -> None:
    listed = made.get(kind)
    if not isinstance(listed, HclList):
        listed = HclList()
        made.put(kind, listed, place)
    listed.put(inner, place)


def _dynamic(made: HclObject, block: Block, names: Names, above: Sequence[str]) -> None:
    """A block for each of some values; one that is not known where they are not."""
    kind = block.labels[0]
    over = block.body.attributes.get("for_each")
    content = next((each for each in block.body.blocks if each.type == "content"), None)
    given = UNKNOWN if over is None else value_of(over, names)
    iterator = block.body.attributes.get("iterator")
    name = kind
    if iterator is not None and iterator.node is not None and iterator.source is not None:
        name = iterator.source.text(iterator.node)
    if content is None or is_open(given) or not isinstance(given, dict | list):
        _add(made, kind, UNKNOWN, block.place)
        return
    pairs = list(given.items()) if isinstance(given, dict) else list(enumerate(given))
    for key, value in pairs[:_MOST_COPIES]:
        shown = value if isinstance(given, list) and isinstance(value, str) else key
        own = {name: HclObject({"key": shown, "value": value})}
        inner = _values(content.body, Within(names, own), (*above, kind))
        # What it is made of tells where to change it, unless all stands in the block itself.
        _add(made, kind, inner, place_in(given, key) or content.place)
    if not pairs and kind not in made:
        made.put(kind, HclList(), block.place)


def references(body: Body) -> dict[str, Any]:
    """What each argument refers to, blocks as lists, as the configuration in a plan tells it."""
    made: dict[str, Any] = {
        key: {"references": list(_names_in(each))} for key, each in body.attributes.items()
    }
    for block in body.blocks:
        inner, kind = block.body, block.type
        if kind == "dynamic" and block.labels:
            kind = block.labels[0]
            inner = next((e.body for e in block.body.blocks if e.type == "content"), inner)
        made.setdefault(kind, [])
        if isinstance(made[kind], list):
            made[kind].append(references(inner))
    return made


_REFERENCE: Final = re.compile(
    r"[A-Za-z_][\w-]*(?:\[[^\[\]]*\])?(?:\.[A-Za-z_][\w-]*(?:\[[^\[\]]*\])?)+"
)


def _names_in(expression: Expression) -> Iterator[str]:
    if expression.node is not None and expression.source is not None:
        yield from _REFERENCE.findall(expression.source.text(expression.node))
    elif isinstance(expression.given, str):
        yield from _REFERENCE.findall(expression.given)


def _with_type(value: Any, block: Block, names: Names) -> Any:
    """A value with the defaults that the variable's type gives for what is left out."""
    kind = block.body.attributes.get("type")
    if kind is None or kind.node is None or kind.source is None:
        return value
    if "optional" not in kind.source.text(kind.node):
        return value
    from eks_gpushare.lint.hcl.types import with_defaults

    return with_defaults(value, kind, names)


def _index(key: Any) -> str:
    if key is None:
        return ""
    if key is UNKNOWN:
        return "[?]"
    return f"[{key}]" if isinstance(key, int) else f'["{written(key)}"]'


def _relative(folder: str, root: str) -> str:
    return posixpath.relpath(folder or ".", root or ".")


def is_known(value: Any) -> bool:
    """Whether all of a value is known."""
    return not has_unknown(value) and not has_gaps(value)
