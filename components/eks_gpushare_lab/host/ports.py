"""Ports of this machine for programs that have to be told which one to listen at."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def reserved(count: int) -> Iterator[list[int]]:
    """Ports on 127.0.0.1 that nobody else is given until the block ends.

    Start the programs within it: Linux lets a socket listen where another with SO_REUSEADDR, as Go
    sets it too, is bound only.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", 0))
        yield [sock.getsockname()[1] for sock in sockets]
