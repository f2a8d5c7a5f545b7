"""Load one class of a provider's SDK without the hundreds beside it.

``pulumi_aws.ec2`` and its like are packages whose ``__init__.py`` does nothing but star-import all
the modules in them, 182 in this case, when the first name is asked for. While `lean_packages` is
active, such a package finds the module that a name comes from and imports that alone. A name that
it cannot place, a star import and ``dir()`` have the package loaded whole, as ever; a package whose
``__init__.py`` says anything else is left alone. What a name gives is the same object either way.

Where a module of such a package holds nothing but classes, up to thousands of which a stack needs
ten, they are built one by one too (`lean_classes`). And `import pulumi` brings along what runs the
engine, what ships functions to it, and gRPC's other interface: those are loaded when they are used.

Worth it: the classes of one stack take a third of the CPU that all of them take.
"""

from __future__ import annotations

import importlib
import re
import sys
from contextlib import contextmanager
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import LazyLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.running.lean_classes import ClassesLoader, names_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from importlib.machinery import ModuleSpec

_PACKAGES = ("pulumi_aws.", "pulumi_eks.", "pulumi_kubernetes.")
_STAR_IMPORT = re.compile(r"from \.([A-Za-z0-9_]+) import \*")
_HARMLESS = re.compile(
    r"#.*|import builtins as _builtins|import typing|from \.+ import _utilities"
    r"|from \. import outputs|"
)
_WHEN_USED = ("pulumi.automation", "pulumi.dynamic", "grpc.aio", "opentelemetry.propagate")
_LEAVES = "__lean_leaves__"
_LOADER = "__lean_loader__"

# Modules that hold many classes of a package, and so are asked last.
_SHARED = ("_enums", "_inputs")
# `get_ami_output` and `GetAmiResult` are in get_ami, `VpcArgs` is in vpc.
_SUFFIXES = ("", "args", "initargs", "output", "result")


@contextmanager
def lean_packages() -> Iterator[None]:
    """Have what is first imported of the SDKs meanwhile load what is asked of it only."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    """Hands the SDKs' modules to our loaders; everything else is found as usual."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(_PACKAGES) and name not in _WHEN_USED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return spec
        if name in _WHEN_USED:
            spec.loader = LazyLoader(spec.loader)
        elif spec.submodule_search_locations:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        else:
            spec.loader = ClassesLoader(spec.loader.name, spec.loader.path)
        return spec


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
            return getattr(self, name)
        return attributes[name]

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds a module's name in its package. Where a class has that name too,
        # as in pulumi_kubernetes, the package's star import would have bound the class.
        super().__setattr__(name, value)
        if isinstance(value, ModuleType) and name in names_in(value):
            self.__dict__[name] = getattr(value, name)

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
                if name in names_in(module):
                    self.__dict__[name] = getattr(module, name)
                    return

    def _load_whole(self) -> None:
        loader: _Loader = self.__dict__.pop(_LOADER)
        del self.__dict__[_LEAVES]
        module: ModuleType = self
        module.__class__ = ModuleType
        loader.load_whole(module)


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
