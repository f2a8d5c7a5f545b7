"""An event loop that does less for each call: a run of a program makes thousands of them."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, TypeVarTuple

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

_Ts = TypeVarTuple("_Ts")
_SLOTS = {"_callback", "_args", "_cancelled", "_loop", "_source_traceback", "_repr", "_context"}
_DEBUG = "get_debug"


def new_loop() -> asyncio.AbstractEventLoop:
    """Make one, or the usual one where that is made otherwise, or is debugged."""
    usual = asyncio.new_event_loop()
    quick = _class_of(type(usual))
    if usual.get_debug() or quick is None:
        return usual
    usual.close()
    return quick()


def _class_of(usual: type) -> Callable[[], asyncio.AbstractEventLoop] | None:
    known = set(getattr(asyncio.Handle, "__slots__", ())) - {"__weakref__"} == _SLOTS
    return _QuickLoop if known and usual is asyncio.SelectorEventLoop else None


class _Handle(asyncio.Handle):
    """A call that is to be made soon, of a loop that is not debugged."""

    __slots__ = ()

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None


class _QuickLoop(asyncio.SelectorEventLoop):
    """The usual one, without questions whether it is debugged."""

    _ready: deque[asyncio.Handle]

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Have the callback called in the next round."""
        if self.is_closed():
            return super().call_soon(callback, *args, context=context)
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle


# Asked for each future and each task, by code that is compiled: and so is this answer, which is no.
setattr(_QuickLoop, _DEBUG, bool)
