"""Servers of the engine's side, and clients of those who serve the other side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import grpc  # type: ignore[import-untyped]  # no stubs
from pulumi.runtime.proto import engine_pb2_grpc, resource_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pulumi.runtime.proto.engine_pb2_grpc import EngineServicer
    from pulumi.runtime.proto.resource_pb2_grpc import ResourceMonitorServicer

_MOST_BYTES = 400 * 1024 * 1024
"""Of one message, as in the engine (pulumi/pulumi, sdk/go/common/util/rpcutil)."""
_OPTIONS = (
    ("grpc.max_receive_message_length", _MOST_BYTES),
    ("grpc.max_send_message_length", _MOST_BYTES),
    # A port that another process listens on too would get half of the calls.
    ("grpc.so_reuseport", 0),
)
_THREADS = 64
"""Calls that are answered at a time. A component that is being made holds one of them."""

LOOPBACK = "127.0.0.1"


@contextmanager
def served(
    monitor: ResourceMonitorServicer,
    engine: EngineServicer,
    more: Callable[[Any], None] = lambda _server: None,
) -> Iterator[str]:
    """Serve a monitor and an engine on a port of this machine alone, and give its address.

    Args:
        monitor: Takes registrations.
        engine: Takes messages.
        more: Adds further services to the server.
    """
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=_OPTIONS)
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(monitor, server)
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    more(server)
    address = f"{LOOPBACK}:{server.add_insecure_port(f'{LOOPBACK}:0')}"
    server.start()
    try:
        yield address
    finally:
        server.stop(None).wait()


@contextmanager
def connected(port: int) -> Iterator[Any]:
    """A channel to what serves on a port of this machine."""
    with grpc.insecure_channel(f"{LOOPBACK}:{port}", options=_OPTIONS) as channel:
        yield channel
