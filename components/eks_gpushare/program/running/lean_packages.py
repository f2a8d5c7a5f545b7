"""Load one class of a provider's SDK without the hundreds beside it.

``pulumi_aws.ec2`` and its like are packages whose ``__init__.py`` does nothing but star-import all
the modules in them, 182 in this case, when the first name is asked for. While `lean_packages` is
active, such a package finds the module that a name comes from and imports that alone. A name that
it cannot place, a star import and ``dir()`` have the package loaded whole, as ever; a package whose
``__init__.py`` says anything else is left alone. What a name gives is the same object either way.

Of each nested type the SDKs have a class and a `TypedDict` for type checkers, as ``ContainerArgs``
and ``ContainerArgsDict``. Making the latter's hints takes as long as everything else in such a
module, and the SDK looks at none of them (`_is_plumbing_arg` in pulumi/_types.py), so it is without
keys until somebody asks its package for it.

Worth it: the classes of one stack take two thirds of the CPU and three quarters of the memory.
"""

from __future__ import annotations

import builtins
import importlib
import re
import sys
from contextlib import contextmanager
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec

_PACKAGES = ("pulumi_aws.", "pulumi_kubernetes.")
_STAR_IMPORT = re.compile(r"from \.([A-Za-z0-9_]+) import \*")
_HARMLESS = re.compile(
    r"#.*|import builtins as _builtins|import typing|from \.+ import _utilities"
    r"|from \. import outputs|"
)
_NESTED, _TYPED_DICT = "_inputs", "ArgsDict"
_EMPTY: CodeType = next(
    each
    for each in compile("class _: pass", __file__, "exec").co_consts
    if isinstance(each, CodeType)
)
"""The body of a class without anything in it."""
_LEAVES = "__lean_leaves__"
_LOADER = "__lean_loader__"

# Modules that hold many classes of a package, and so are asked last.
_SHARED = ("_enums", "_inputs")
# `get_ami_output` and `GetAmiResult` are in get_ami, `VpcArgs` is in vpc.
_SUFFIXES = ("", "args", "initargs", "output", "result")


@contextmanager
def lean_packages() -> Iterator[None]:
    """Have provider packages that are first imported meanwhile load what is asked of them only."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    """Hands the provider packages to `_Loader`; everything else is found as usual."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(_PACKAGES):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return spec
        if spec.submodule_search_locations:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        elif name.endswith(f".{_NESTED}"):
            spec.loader = _NestedLoader(spec.loader.name, spec.loader.path)
        return spec


class _NestedLoader(SourceFileLoader):
    """Makes the module of a package's nested types with `TypedDict`s that have no keys yet."""

    left_out: Mapping[str, CodeType] = MappingProxyType({})
    """What the bodies of their classes do, by name."""

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        if code is None:
            return None
        bodies = [each for each in code.co_consts if isinstance(each, CodeType)]
        left_out = {each.co_name: each for each in bodies if each.co_name.endswith(_TYPED_DICT)}
        self.left_out = left_out
        parts = (
            _EMPTY.replace(co_name=each.co_name, co_qualname=each.co_qualname)
            if isinstance(each, CodeType) and each.co_name in left_out
            else each
            for each in code.co_consts
        )
        return code.replace(co_consts=tuple(parts))

    def complete(self, module: ModuleType) -> None:
        """Give the `TypedDict`s of its module their keys."""
        names, self.left_out = self.left_out, {}
        for name, body in names.items():
            made = FunctionType(body, module.__dict__, name)
            base = module.__dict__["TypedDict"]
            module.__dict__[name] = builtins.__build_class__(made, name, base)


class _Loader(SourceFileLoader):
    """Makes a module a `_LeanPackage` if it does nothing but import what is beside it."""

    def exec_module(self, module: ModuleType) -> None:
        leaves = _star_imports(Path(self.path).read_text(encoding="utf-8").splitlines())
        if leaves is None:
            super().exec_module(module)
            return
        module.__dict__[_LEAVES] = {_key(leaf): leaf for leaf in leaves}
        module.__dict__[_LOADER] = self
        module.__class__ = _LeanPackage

    def load_whole(self, module: ModuleType) -> None:
        super().exec_module(module)


class _LeanPackage(ModuleType):
    """A package that imports its modules one by one, when a name of theirs is asked for."""

    def __getattr__(self, name: str) -> Any:
        attributes = self.__dict__
        if name not in attributes and not (name == "outputs" or name.startswith("__")):
            self._load_leaf_of(name)
        if name == "outputs":
            return importlib.import_module(f"{self.__name__}.outputs")
        if name not in attributes:
            self._load_whole()
        try:
            return attributes[name]
        except KeyError:
            text = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds a module's name in its package. Where a class has that name too,
        # as in pulumi_kubernetes, the package's star import would have bound the class.
        super().__setattr__(name, value)
        if isinstance(value, ModuleType) and name in getattr(value, "__all__", ()):
            self._bind(value)

    def __dir__(self) -> Iterable[str]:
        self._load_whole()
        return dir(self)

    def _load_leaf_of(self, name: str) -> None:
        leaves: dict[str, str] = self.__dict__[_LEAVES]
        key = _key(name).removeprefix("awaitable")
        candidates = [leaves.get(key.removesuffix(suffix)) for suffix in _SUFFIXES]
        for leaf in (*filter(None, candidates), *_SHARED):
            if leaf in leaves.values():
                module = importlib.import_module(f"{self.__name__}.{leaf}")
                if name in getattr(module, "__all__", ()):
                    if name in _left_out(module):
                        _complete(module)
                    self._bind(module)
                    return

    def _bind(self, leaf: ModuleType) -> None:
        left_out = _left_out(leaf)
        for name in leaf.__all__:
            if name not in left_out:
                self.__dict__[name] = leaf.__dict__[name]

    def _load_whole(self) -> None:
        loader: _Loader = self.__dict__.pop(_LOADER)
        leaves: dict[str, str] = self.__dict__.pop(_LEAVES)
        has_nested = _NESTED in leaves.values()
        nested = importlib.import_module(f"{self.__name__}.{_NESTED}") if has_nested else None
        module: ModuleType = self
        module.__class__ = ModuleType
        if nested is not None:
            _complete(nested)
        loader.load_whole(module)


def _left_out(module: ModuleType) -> Mapping[str, CodeType]:
    return getattr(module.__loader__, "left_out", {})


def _complete(module: ModuleType) -> None:
    if isinstance(module.__loader__, _NestedLoader):
        module.__loader__.complete(module)


def _star_imports(lines: Iterable[str]) -> list[str] | None:
    """The modules that a package star-imports, None if it does anything else."""
    leaves = []
    for line in lines:
        star = _STAR_IMPORT.fullmatch(line)
        if star:
            leaves.append(star[1])
        elif not _HARMLESS.fullmatch(line):
            return None
    return leaves


def _key(name: str) -> str:
    return name.replace("_", "").lower()
