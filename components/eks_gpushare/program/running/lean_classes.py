"""Build the classes of a provider's SDK one by one, when they are asked for.

Most modules of a package hold nothing but class statements, those with its nested types up to
thousands, and what such a statement costs is evaluating the hints in it. `ClassesLoader` runs such
a module with a ``__build_class__`` that notes what it is asked to build. A class is built by its
own statement when its name is looked up, and with it those that it mentions: hints name them, and
who evaluates hints looks into the namespace of the module.

A module that star-imports such a one gets the names that it mentions, and any other when it is
asked for it. A module that does anything else with its classes is run as ever.
"""

from __future__ import annotations

import builtins
import re
import sys
import threading
from importlib.machinery import SourceFileLoader
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

_ALL = "__all__"
_NOTED = "__lean_noted__"
"""The classes of a module that are yet to be built, by name, in the order of their statements."""
_NAMES = "__lean_names__"
"""The module's ``__all__``."""
_LENDERS = "__lean_lenders__"
"""The modules of such classes that a module star-imports."""

_SDK = "pulumi"
_WORD = re.compile(r"[A-Za-z0-9_]+")
_BUILDING = threading.RLock()


def names_in(module: ModuleType) -> Sequence[str]:
    """What a star import of a module would give, if the module says it."""
    attributes = module.__dict__
    names: Sequence[str] = attributes.get(_NAMES) or attributes.get(_ALL, ())
    return names


class _Noted:
    """A class statement that was come by; nothing can be done with it but decorate it."""

    __slots__ = ("_bases", "_keywords", "_name", "code", "decorators")

    def __init__(self, body: FunctionType, name: str, *bases: Any, **keywords: Any) -> None:
        if any(isinstance(base, _Noted) for base in bases):
            raise TypeError(f"{name} is made of a class that is not built yet")
        self.code: CodeType = body.__code__
        self._name = name
        self._bases = bases
        self._keywords = keywords
        self.decorators: list[Callable[[Any], Any]] = []

    def build(self, namespace: dict[str, Any]) -> Any:
        # The function that the statement made would note the classes of its own body too.
        body = FunctionType(self.code, namespace, self._name)
        built = builtins.__build_class__(body, self._name, *self._bases, **self._keywords)
        for decorator in self.decorators:
            built = decorator(built)
        return built


class _Decorators:
    """Stands for the SDK, or a function of it, while class statements are noted."""

    def __init__(self, real: Any) -> None:
        self.real = real

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        return _Decorators(found) if isinstance(found, FunctionType) else found

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if args and isinstance(args[0], _Noted):
            args[0].decorators.append(self.real)
            return args[0]
        return _Decorators(self.real(*args, **keywords))


def _import(name: str, *args: Any, **keywords: Any) -> Any:
    found = builtins.__import__(name, *args, **keywords)
    return _Decorators(found) if found.__name__ == _SDK else found


class ClassesLoader(SourceFileLoader):
    """Makes a module that holds nothing but classes a `_Classes`."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module, and leave its classes for later where it has nothing else."""
        code = self.get_code(module.__name__)
        namespace, before = module.__dict__, dict(module.__dict__)
        if code is None or not _holds_classes_only(code) or not _noted_all(code, namespace):
            namespace.clear()
            namespace.update(before)
            super().exec_module(module)
            return
        module.__class__ = _Classes


def _holds_classes_only(code: CodeType) -> bool:
    bodies = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return _ALL in code.co_names and not any(body.co_flags & CO_OPTIMIZED for body in bodies)


def _noted_all(code: CodeType, namespace: dict[str, Any]) -> bool:
    """Run a module in its namespace and note its classes; False if it asks anything of them."""
    noting = {"__build_class__": _Noted, "__import__": _import}
    namespace["__builtins__"] = {**vars(builtins), **noting}
    namespace[_LENDERS] = []
    try:
        exec(code, namespace)  # noqa: S102  (as the import system does)
        names = tuple(namespace.pop(_ALL))
    except Exception:  # noqa: BLE001  (what is a mistake in it is one without us, and told then)
        return False
    namespace["__builtins__"] = vars(builtins)
    for name, value in namespace.items():
        if isinstance(value, _Decorators):
            namespace[name] = value.real
    noted = {name: item for name, item in namespace.items() if isinstance(item, _Noted)}
    for name in noted:
        del namespace[name]
    namespace[_NOTED] = noted
    namespace[_NAMES] = names
    return True


class _Borrower(ModuleType):
    """A module that has star-imported what it mentions of modules of classes."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            for lender in self.__dict__[_LENDERS]:
                if name in lender.__dict__[_NAMES]:
                    self.__dict__[name] = value = getattr(lender, name)
                    return value
        elif name == _ALL:  # of a package that has none: a star import takes its namespace
            self._borrow_all()
        text = f"module {self.__name__!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=self)

    def __dir__(self) -> list[str]:
        self._borrow_all()
        return list(self.__dict__)

    def _borrow_all(self) -> None:
        for lender in self.__dict__[_LENDERS]:
            for name in lender.__dict__[_NAMES]:
                self.__dict__.setdefault(name, getattr(lender, name))


class _Classes(_Borrower):
    """A module that builds its classes when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        attributes = self.__dict__
        if name in attributes[_NOTED]:
            self._build(name)
            return attributes[name]
        if name == _ALL:
            return _lent(self, sys._getframe(1))  # noqa: SLF001  (who star-imports it)
        return super().__getattr__(name)

    def __dir__(self) -> list[str]:
        for name in tuple(self.__dict__[_NOTED]):
            getattr(self, name)
        return [*super().__dir__(), _ALL]

    def _build(self, name: str) -> None:
        """Build a class and those that it mentions, in the order of their statements."""
        namespace = self.__dict__
        with _BUILDING:
            noted: dict[str, _Noted] = namespace[_NOTED]
            if name not in noted:  # another thread was here
                return
            wanted, found = {name}, [name]
            while found:
                words = _words(noted[found.pop()].code)
                new = (words & noted.keys()) - wanted
                wanted |= new
                found += new
                for lender in namespace[_LENDERS]:
                    for word in words.intersection(lender.__dict__[_NAMES]) - namespace.keys():
                        namespace[word] = getattr(lender, word)
            for each in [wanted_name for wanted_name in noted if wanted_name in wanted]:
                namespace[each] = noted[each].build(namespace)
                del noted[each]


def _lent(lender: ModuleType, frame: FrameType) -> Sequence[str]:
    """What a star import gives: to a module of the same SDK, the names that it mentions."""
    names: Sequence[str] = lender.__dict__[_NAMES]
    namespace = frame.f_globals
    borrower = sys.modules.get(namespace.get("__name__", ""))
    if borrower is None or vars(borrower) is not namespace or not _of_one_sdk(borrower, lender):
        return names
    if _LENDERS not in namespace and type(borrower) is ModuleType:
        namespace[_LENDERS] = []
        borrower.__class__ = _Borrower
    elif _LENDERS not in namespace:
        return names
    namespace[_LENDERS].append(lender)
    # Classes that are noted take what they mention when they are built.
    mentioned = _words(frame.f_code) if type(borrower) is _Borrower else ()
    return [name for name in names if name in mentioned]


def _of_one_sdk(one: ModuleType, other: ModuleType) -> bool:
    return one.__name__.partition(".")[0] == other.__name__.partition(".")[0]


def _words(code: CodeType) -> set[str]:
    """The names in a piece of code, and the words in its texts of one line, as hints are."""
    words: set[str] = set()
    constants: list[Any] = [code]
    for constant in constants:  # which grows
        kind = type(constant)
        if kind is CodeType:
            words.update(constant.co_names)
            constants += constant.co_consts
        elif kind is tuple:
            constants += constant
        elif kind is str and "\n" not in constant:
            words.update((constant,) if constant.isidentifier() else _WORD.findall(constant))
    return words
