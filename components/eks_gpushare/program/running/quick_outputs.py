"""The outputs of a resource, made with one future each.

Most calls of the event loop in a run are those by which the SDK puts an output together: from four
futures, awaited one after the other by a task. All four are given at once.
"""

from __future__ import annotations

import asyncio
import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi import output as outputs
from pulumi.runtime import rpc
from pulumi.runtime.settings import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TRANSFER = "transfer_properties"
_TRACK = "_track"
_KNOWN_PARTS = ("resources", "value", "is_known", "is_secret")
"""What the SDK keeps of an output, by the names of what it makes it from."""


@contextmanager
def quick_outputs() -> Iterator[None]:
    """Have the SDK resolve a resource's output by one future; another SDK keeps its ways."""
    transfer: Any = getattr(rpc, _TRANSFER, None)
    track: Any = getattr(pulumi.Output, _TRACK, None)
    made_from: Any = getattr(outputs, "_OutputData", None)
    if transfer is None or track is None or not _is_as_known(made_from):
        yield
        return

    def transferred(res: Any, props: Any, custom: Any) -> dict[str, Any]:
        loop = asyncio.get_event_loop()
        resolvers = {}
        for name in props:
            if name == "urn" or (name == "id" and custom):
                continue
            future = loop.create_future()
            resolvers[name] = _resolver(res, future, made_from, loop.call_soon)
            made: Any = object.__new__(pulumi.Output)
            made._data = future  # noqa: SLF001  (as the SDK's own `_from_data`)
            made._track()  # noqa: SLF001  (the same)
            vars(res)[name] = made
        return resolvers

    setattr(rpc, _TRANSFER, transferred)
    setattr(pulumi.Output, _TRACK, _tracked)
    try:
        yield
    finally:
        setattr(rpc, _TRANSFER, transfer)
        setattr(pulumi.Output, _TRACK, track)


def _is_as_known(made_from: Any) -> bool:
    return made_from is not None and tuple(inspect.signature(made_from).parameters) == _KNOWN_PARTS


def _resolver(
    res: Any, future: asyncio.Future[Any], made_from: Any, soon: Callable[..., object]
) -> Callable[..., None]:
    """What the SDK calls once an output's value is there, or will not come.

    Whoever waits for it hears of it a round of the event loop later than at once, as from the SDK's
    task: which of two resources is registered first hangs on it.
    """

    def resolve(
        value: Any, known: Any, secret: Any, deps: set[Any] | None, failed: Exception | None
    ) -> None:
        if failed is not None:
            soon(future.set_exception, failed)
        else:
            soon(future.set_result, made_from({*(deps or ()), res}, value, known, secret))

    return resolve


def _tracked(self: Any) -> None:
    """Have the run wait for an output, and report it if it fails: the SDK's, without its lock."""
    SETTINGS.outputs.add(self._data)
    self._data.add_done_callback(_ended)


def _ended(future: asyncio.Future[Any]) -> None:
    if not future.cancelled() and future.exception() is None:
        SETTINGS.outputs.discard(future)
