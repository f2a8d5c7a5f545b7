"""The event loop of a run does what the usual one does."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest

from eks_gpushare.program.running.quick_loop import new_loop

pytestmark = pytest.mark.sdk_internals

WHERE: ContextVar[str] = ContextVar("where", default="")


def test_calls_are_made_in_their_order_and_context_and_not_if_they_are_cancelled() -> None:
    loop, called = new_loop(), []
    WHERE.set("outside")
    loop.call_soon(lambda: called.append(("first", WHERE.get())))
    loop.call_soon(called.append, ("never", "")).cancel()
    loop.call_soon(called.append, ("last", ""))
    loop.call_soon(loop.stop)
    WHERE.set("later")
    loop.run_forever()
    loop.close()

    assert called == [("first", "outside"), ("last", "")]
    assert type(loop) is not asyncio.SelectorEventLoop


def test_a_call_that_fails_is_told_to_the_handler_of_the_loop() -> None:
    loop = new_loop()
    told: list[object] = []
    loop.set_exception_handler(lambda _loop, context: told.append(context["exception"]))
    error = ValueError("x")

    def fails() -> None:
        raise error

    loop.call_soon(fails)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()

    assert told == [error]


def test_a_closed_loop_takes_no_call() -> None:
    loop = new_loop()
    loop.close()

    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)


def test_a_loop_that_is_debugged_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.coroutines, "_is_debug_mode", lambda: True)
    loop = new_loop()

    assert loop.get_debug()
    loop.close()
