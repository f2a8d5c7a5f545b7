"""What the SDK does for each registration and each output, done with less work and the same result.

Pulumi's own code is left as it is: it is given quicker parts while a program runs in this process.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from pulumi import _utils
from pulumi.runtime import resource, resource_cycle_breaker, rpc

from eks_gpushare.program.running.quick_outputs import quick_outputs
from eks_gpushare.program.sources import RUNNER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, ModuleType

_TRACEBACK = "traceback"
_POSITION = "_get_source_position_for_frame"
_PROPERTY = "ContextProperty"
_GET = "__get__"
_SERIALIZE = "serialize_property"
_CONTAINS_UNKNOWNS = "contains_unknowns"
_PLAIN = frozenset({str, int, float, bool, type(None)})
_REACHABLE = "_reachable"
_DEPENDENCIES = "_DEPENDENCIES_PROPERTY"


@contextmanager
def quick_sdk() -> Iterator[None]:
    """Have all of it done with less work; an SDK that does a part otherwise keeps that part."""
    with ExitStack() as parts:
        parts.enter_context(quick_outputs())
        for part in (_quick_positions, _quick_settings, _quick_cycles, _quick_values):
            parts.enter_context(part())
        yield


@contextmanager
def _quick_positions() -> Iterator[None]:
    """Have the SDK look at the stack quickly, and make the position of a frame once.

    For each registration it writes down every frame of the stack, dozens, of which all but a few
    are those of the one before: `traceback` asks the file system for each file again and reads the
    lines, and each path becomes a URI again. Together that is a sixth of a run.
    """
    original: Any = getattr(resource, _POSITION, None)
    tracing: Any = getattr(resource, _TRACEBACK, None)
    if original is None or tracing is None:  # an SDK that does it otherwise
        yield
        return
    made: dict[tuple[str, int | None], Any] = {}

    def position(frame: _Frame) -> Any:
        place = (frame.filename, frame.lineno)
        if place not in made:
            made[place] = original(frame)
        return made[place]

    setattr(resource, _POSITION, position)
    setattr(resource, _TRACEBACK, _QuickTraceback(tracing))
    try:
        yield
    finally:
        setattr(resource, _POSITION, original)
        setattr(resource, _TRACEBACK, tracing)


class _Frame(NamedTuple):
    """What the SDK asks of a frame of the stack."""

    name: str
    filename: str
    lineno: int | None


class _QuickTraceback:
    """`traceback`, but for `extract_stack` without the text of lines."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def extract_stack(self) -> list[_Frame]:
        """The frames from the runner's on, the outermost first: others are its caller's."""
        found = []
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  (as `traceback` itself)
        while frame is not None:
            code = frame.f_code
            found.append(_Frame(code.co_name, code.co_filename, frame.f_lineno))
            if code.co_filename == RUNNER:
                break
            frame = frame.f_back
        return found[::-1]


@contextmanager
def _quick_settings() -> Iterator[None]:
    """Have the SDK look up a setting of its run once where it looks twice.

    Each output asks ten times for what its context holds, and each time once more to see whether
    that is a dictionary.
    """
    kind: Any = getattr(_utils, _PROPERTY, None)
    original: Any = vars(kind).get(_GET) if kind is not None else None
    if original is None or not _is_as_known(kind):
        yield
        return

    def get(self: Any, of: Any, _kind: Any = None) -> Any:
        value = None if of is None else self._data.get(self._ContextProperty__default)
        return self if of is None or isinstance(value, dict) else value

    setattr(kind, _GET, get)
    try:
        yield
    finally:
        setattr(kind, _GET, original)


def _is_as_known(kind: Any) -> bool:
    """Whether a property of the SDK keeps its value where `_quick_settings` looks for it."""
    kept = object()
    try:
        made = kind(name="eks_gpushare", doc="", default=kept)
        return made._data.get(made._ContextProperty__default) is kept  # noqa: SLF001
    except (AttributeError, TypeError):  # an SDK that does it otherwise
        return False


@contextmanager
def _quick_cycles() -> Iterator[None]:
    """Have the SDK look for a circle among resources without a generator for each step.

    It looks from every resource that another one depends on through all that this one depends on.
    """
    original: Any = getattr(resource_cycle_breaker, _REACHABLE, None)
    known_by: Any = getattr(resource_cycle_breaker, _DEPENDENCIES, None)
    if original is None or not isinstance(known_by, str):
        yield
        return

    def reachable(from_resource: object, to_resource: object) -> bool:
        seen, waiting = {id(from_resource)}, [from_resource]
        while waiting:
            one = waiting.pop()
            if one is to_resource:
                return True
            for dependency in getattr(one, known_by, ()):
                if id(dependency) not in seen:
                    seen.add(id(dependency))
                    waiting.append(dependency)
        return False

    setattr(resource_cycle_breaker, _REACHABLE, reachable)
    try:
        yield
    finally:
        setattr(resource_cycle_breaker, _REACHABLE, original)


@contextmanager
def _quick_values() -> Iterator[None]:
    """Have the SDK take a text, a number, a truth value and nothing for what they are.

    Each leaf of a document goes through a dozen questions whether it is a resource, an output, an
    asset and more, and comes out as it went in. Classes made from these are asked as ever.
    """
    serialize: Any = getattr(rpc, _SERIALIZE, None)
    has_unknowns: Any = getattr(rpc, _CONTAINS_UNKNOWNS, None)
    if serialize is None or has_unknowns is None:
        yield
        return

    async def same(value: Any) -> Any:
        return value

    def serialize_property(value: Any, *places: Any, **options: Any) -> Any:
        if type(value) in _PLAIN and not (places[7:] or options.get("return_protobuf_value")):
            return same(value)
        return serialize(value, *places, **options)

    def contains_unknowns(value: Any) -> Any:
        return type(value) not in _PLAIN and has_unknowns(value)

    setattr(rpc, _SERIALIZE, serialize_property)
    setattr(rpc, _CONTAINS_UNKNOWNS, contains_unknowns)
    try:
        yield
    finally:
        setattr(rpc, _SERIALIZE, serialize)
        setattr(rpc, _CONTAINS_UNKNOWNS, has_unknowns)
