"""The process that Pulumi's engine starts for programs in other languages."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys

import grpc  # type: ignore[import-untyped]  # no stubs
from grpc import aio
from pulumi.provider.server import ProviderServicer
from pulumi.runtime.proto import provider_pb2_grpc

from eks_gpushare.plugin.provider import ComponentsProvider

# As the SDK and the engine have them: pulumi/runtime/_grpc_settings.py of 3.272.0, 2026-11-22.
_MESSAGE_BYTES = 400 * 1024 * 1024
_WAITING_SECONDS = 30 * 60
"""How long a call may wait for the calls before it; gRPC would give up after 30 s."""

_OPTIONS = (
    ("grpc.max_receive_message_length", _MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MESSAGE_BYTES),
    ("grpc.server_max_unrequested_time_in_server", _WAITING_SECONDS),
)


def serve() -> None:
    """Serve the components until the engine ends the process, or is gone itself."""
    if len(sys.argv) < 2:  # noqa: PLR2004  (the program and the address)
        sys.exit(
            "Pulumi's engine starts this, and gives its address; `pulumi package add` adds it."
        )
    asyncio.run(_serve(sys.argv[1], sys.argv[1:]))


async def _serve(engine: str, words: list[str]) -> None:
    server = aio.server(options=_OPTIONS)
    servicer = ProviderServicer(ComponentsProvider(), words, engine_address=engine)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    watched = _listens(engine)  # not where somebody starts it to debug it
    print(port, flush=True)  # noqa: T201  (how the engine learns it)
    with contextlib.suppress(asyncio.CancelledError):  # the engine's interrupt
        await (_gone(engine) if watched else server.wait_for_termination())
    # Not by returning: calls to the engine may still wait for answers in threads.
    os._exit(0)


async def _gone(engine: str) -> None:
    """Wait until the engine is not there any more. One that is killed has told nobody."""
    async with aio.insecure_channel(engine) as channel:
        while True:
            state = channel.get_state(try_to_connect=True)
            if state is not grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                await channel.wait_for_state_change(state)
            elif _listens(engine):  # it is slow
                await asyncio.sleep(1)  # gRPC tells no change while it tries again
            else:
                return


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except (ConnectionRefusedError, ValueError):
        return False
    except OSError:
        return True
    return True
