"""Keep a program's run apart from the process that runs it, and from other runs in it."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pulumi import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

_HASH = "__hash__"

_HIDDEN = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "KUBECONFIG")
_HIDDEN_PREFIXES = ("PULUMI_CONFIG", "PULUMI_K8S_", "PULUMI_DEBUG_")


def is_hidden(variable: str) -> bool:
    """Whether a program does not see an environment variable, since it changes what is registered.

    What a stack is depends on its file, and not on who looks at it.
    """
    return variable in _HIDDEN or variable.startswith(_HIDDEN_PREFIXES)


@contextmanager
def isolated(
    directory: Path | None, given: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """Give a program its own environment, path, arguments, working directory and modules.

    `directory` is the program's, which it finds on ``sys.path`` and stands in, as under the
    engine; None leaves path and working directory alone. `given` is added to the environment, after
    what is hidden. Everything is put back afterwards.
    """
    environment = dict(os.environ)
    path, argv = list(sys.path), list(sys.argv)
    hooks, deepest = (sys.excepthook, sys.displayhook), sys.getrecursionlimit()
    before = Path.cwd()
    for name in environment:
        if is_hidden(name):
            del os.environ[name]
    os.environ.update(given)
    try:
        with _own_modules(directory), warnings.catch_warnings():
            # Whole packages of the SDK are loaded for one class; that others are deprecated in
            # them is nothing to act on, not even where warnings are errors.
            warnings.filterwarnings("ignore", category=DeprecationWarning, module="pulumi_")
            if directory is not None:
                sys.path.insert(0, str(directory))
                # A finder caches what a directory holds; files may be newer than its clock tells.
                sys.path_importer_cache.pop(str(directory), None)
                os.chdir(directory)
            yield
    finally:
        os.chdir(before)
        sys.path[:], sys.argv[:] = path, argv
        sys.excepthook, sys.displayhook = hooks
        sys.setrecursionlimit(deepest)
        _restore_environment(environment)


def _restore_environment(environment: dict[str, str]) -> None:
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    for name, value in environment.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


@contextmanager
def _own_modules(directory: Path | None) -> Iterator[None]:
    """Forget the modules that a program brings along, so that the next one gets its own.

    A loaded module of the same name that is neither installed nor the standard library's, as
    another program's, is set aside meanwhile.
    """
    if directory is None:
        yield
        return
    names = {_module_name(entry) for entry in directory.iterdir()} - {"", "__main__"}
    names -= sys.stdlib_module_names
    aside = _take({name for name in names if _is_loose(sys.modules.get(name))})
    try:
        yield
    finally:
        _take({name for name in names if _is_of(sys.modules.get(name), directory)})
        sys.modules.update(aside)


def _module_name(entry: Path) -> str:
    if entry.suffix == ".py":
        return entry.stem
    return entry.name if entry.name.isidentifier() and entry.is_dir() else ""


def _is_loose(module: ModuleType | None) -> bool:
    origin = _origin(module)
    return module is not None and not {"site-packages", "dist-packages"} & set(origin.parts)


def _is_of(module: ModuleType | None, directory: Path) -> bool:
    """Whether `module` is a file or package right in `directory`."""
    origin = _origin(module)
    return origin.parent == directory or (
        origin.parent.parent == directory and origin.name == "__init__.py"
    )


def _origin(module: ModuleType | None) -> Path:
    spec = getattr(module, "__spec__", None)
    if spec is None:
        return Path()
    places = list(spec.submodule_search_locations or ())
    # A package without __init__.py has no origin, only places.
    return Path(spec.origin or (f"{places[0]}/__init__.py" if places else ""))


def _take(names: set[str]) -> dict[str, ModuleType]:
    """Remove these modules and what is below them from ``sys.modules`` and return them."""
    taken = {
        name: module for name, module in sys.modules.items() if name.partition(".")[0] in names
    }
    for name in taken:
        del sys.modules[name]
    return taken


@contextmanager
def calm_collector() -> Iterator[None]:
    """Keep the garbage collector from walking a heap that only grows.

    Importing the SDK makes hundreds of thousands of objects, none of them garbage, and the default
    thresholds have the collector look through them again and again: a quarter of the time. What is
    there already is frozen, and collections are made rare, not forbidden.
    """
    thresholds = gc.get_threshold()
    # What somebody else has frozen could not be told from ours afterwards.
    frozen = gc.get_freeze_count()
    if not frozen:
        gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if not frozen:
            gc.unfreeze()


@contextmanager
def steady_order() -> Iterator[None]:
    """Have sets of resources keep the same order in every run.

    The SDK waits for the resources of such a set one after the other, and their order, by where
    objects lie in memory, decides which of two registrations is sent first.
    """
    numbers = count()

    def number(of: Resource) -> int:
        return int(vars(of).setdefault("_number_of_run", next(numbers)))

    original = Resource.__hash__
    setattr(Resource, _HASH, number)
    try:
        yield
    finally:
        setattr(Resource, _HASH, original)
