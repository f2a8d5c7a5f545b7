"""The process that Pulumi's engine starts for programs in other languages."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import sys
from contextvars import ContextVar
from typing import Any

import grpc  # type: ignore[import-untyped]  # no stubs
from grpc import aio
from pulumi.provider.server import ProviderServicer
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2, provider_pb2_grpc

from eks_gpushare.one_declaration import RUN
from eks_gpushare.plugin.inputs import settled
from eks_gpushare.plugin.provider import ComponentsProvider
from eks_gpushare.plugin.schema import HANDED_OVER, component

# As the SDK and the engine have them: pulumi/runtime/_grpc_settings.py of 3.272.0, 2026-11-22.
_MESSAGE_BYTES = 400 * 1024 * 1024
_WAITING_SECONDS = 30 * 60
"""How long a call may wait for the calls before it; gRPC would give up after 30 s."""

_OPTIONS = (
    ("grpc.max_receive_message_length", _MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MESSAGE_BYTES),
    ("grpc.server_max_unrequested_time_in_server", _WAITING_SECONDS),
)

_CONNECTING_SECONDS = 5
_WHILE_IT_LASTS = (("grpc.client_idle_timeout_ms", 2**31 - 1),)
"""gRPC would end a connection that nobody uses after half an hour, and clusters take time."""

_TYPE: ContextVar[str] = ContextVar("eks_gpushare_type", default="")
"""The component that is being made."""


def serve() -> None:
    """Serve the components until the engine ends the process, or is gone itself."""
    if len(sys.argv) < 2:  # noqa: PLR2004  (the program and the address)
        sys.exit(
            "Pulumi's engine starts this, and gives its address; `pulumi package add` adds it."
        )
    gc.set_threshold(100_000)  # imports and what is made stay: looking at them again finds nothing
    asyncio.run(_serve(sys.argv[1], sys.argv[1:]))


async def _serve(engine: str, words: list[str]) -> None:
    server = aio.server(options=_OPTIONS)
    told = engine_pb2_grpc.EngineStub(grpc.insecure_channel(engine, options=_OPTIONS))
    # The SDK takes an address or what it would make of one, for each component anew.
    quiet: Any = _Quiet(told)
    servicer = _Servicer(ComponentsProvider(), words, engine_address=quiet)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    watched = _listens(engine)  # not where somebody starts it to debug it
    print(port, flush=True)  # noqa: T201  (how the engine learns it)
    with contextlib.suppress(asyncio.CancelledError):  # the engine's interrupt
        await (_gone(engine) if watched else server.wait_for_termination())
    # Not by returning: calls to the engine may still wait for answers in threads.
    os._exit(0)


class _Run:
    """One run of a program, which has a monitor of its own, and lasts as long as that answers.

    Its address does not tell runs apart: the port of one that is over is given to another.
    """

    def __init__(self, monitor: str) -> None:
        self._channel = aio.insecure_channel(monitor, options=_WHILE_IT_LASTS)

    async def begin(self) -> None:
        """Connect to the monitor. Where it does not answer, the SDK says so at its first call."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._channel.channel_ready(), _CONNECTING_SECONDS)

    def lasts(self) -> bool:
        """Whether the connection of its beginning is still there."""
        return self._channel.get_state() is grpc.ChannelConnectivity.READY

    async def end(self) -> None:
        """Let go of the connection."""
        await self._channel.close()


class _Servicer(ProviderServicer):
    """The SDK's, which tells components of one run from those of another."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._runs: dict[str, _Run] = {}
        self._beginning = asyncio.Lock()

    async def _construct(
        self, request: provider_pb2.ConstructRequest, context: object
    ) -> provider_pb2.ConstructResponse:
        async with self._beginning:  # components of a program may be asked for at once
            RUN.set(await self._run(request.monitorEndpoint))
        _TYPE.set(request.type)
        return await super()._construct(request, context)

    async def _run(self, monitor: str) -> _Run:
        known = self._runs.get(monitor)
        if known is not None and known.lasts():
            return known
        self._runs[monitor] = run = _Run(monitor)
        await run.begin()
        if known is not None:
            await known.end()
        return run

    @staticmethod
    async def _construct_inputs(inputs: Any, input_dependencies: Any) -> dict[str, Any]:
        found = await ProviderServicer._construct_inputs(inputs, input_dependencies)  # noqa: SLF001  (overridden)
        described = component(_TYPE.get()) or {"inputProperties": {}}
        return {
            key: await settled(
                item, described["inputProperties"].get(key, {}), told=key in HANDED_OVER
            )
            for key, item in found.items()
        }


class _Quiet:
    """The engine, which is spared the SDK's notes on each of its calls: forty of a pool.

    They cost more than all else, since each waits for an answer, and only `--debug` shows them.
    """

    def __init__(self, engine: engine_pb2_grpc.EngineStub) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def Log(self, request: engine_pb2.LogRequest) -> Any:  # noqa: N802  (gRPC's name)
        """Tell it all but notes."""
        return None if request.severity == engine_pb2.DEBUG else self._engine.Log(request)


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
