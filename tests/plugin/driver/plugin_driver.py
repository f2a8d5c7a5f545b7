"""The plugin as a process, with the engine's side of it played by the recording monitor."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc  # type: ignore[import-untyped]  # no stubs
from pulumi.runtime.proto import (
    engine_pb2_grpc,
    errors_pb2,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
    status_pb2,
)

from eks_gpushare.program.fakes.fakes import default_fakes
from eks_gpushare.program.protobuf import empty_pb2
from eks_gpushare.program.recording import Recording
from eks_gpushare.program.running.engine import EngineServicer
from eks_gpushare.program.running.monitor import Monitor
from eks_gpushare.program.values import encode_properties, to_data

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[3]
PROJECT, STACK = "program", "test"


@dataclass(frozen=True)
class Refusal:
    """What the engine is told of inputs that are wrong."""

    code: grpc.StatusCode
    message: str
    errors: dict[str, str]
    """Reason by property path."""


class Deployment:
    """The engine's side: what is registered with it is recorded."""

    def __init__(self, port: int = 0) -> None:
        self.recording = Recording(PROJECT, STACK, preview=True)
        monitor = Monitor(self.recording, default_fakes(), {"aws:region": "us-west-2"})
        self._server = grpc.server(ThreadPoolExecutor(16))
        resource_pb2_grpc.add_ResourceMonitorServicer_to_server(monitor, self._server)
        engine_pb2_grpc.add_EngineServicer_to_server(EngineServicer(self.recording), self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        self.address = f"127.0.0.1:{self.port}"
        self._server.start()

    @cached_property
    def connected(self) -> dict[str, str]:
        """The program's Kubernetes provider, as components are given it."""
        with grpc.insecure_channel(self.address) as channel:
            made = resource_pb2_grpc.ResourceMonitorStub(channel).RegisterResource(
                resource_pb2.RegisterResourceRequest(
                    type="pulumi:providers:kubernetes", name="cluster", custom=True
                )
            )
        return {"kubernetes": f"{made.urn}::{made.id or 'id'}"}

    def close(self) -> None:
        self._server.stop(None).wait()


class Plugin:
    """A running plugin."""

    def __init__(self, engine: str = "") -> None:
        self._engine = Deployment()
        self.process = subprocess.Popen(
            [sys.executable, ROOT / "plugin", engine or self._engine.address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        port = self.process.stdout.readline()
        if not port.strip():
            _, said = self.process.communicate()
            raise AssertionError(said.decode())
        self._channel = grpc.insecure_channel(f"127.0.0.1:{int(port)}")
        self.stub = provider_pb2_grpc.ResourceProviderStub(self._channel)

    def schema(self) -> str:
        return str(self.stub.GetSchema(provider_pb2.GetSchemaRequest()).schema)

    def version(self) -> str:
        return str(self.stub.GetPluginInfo(empty_pb2.Empty()).version)

    def construct(
        self,
        at: Deployment,
        kind: str,
        name: str,
        inputs: Mapping[str, Any],
        providers: Mapping[str, str] | None = None,
    ) -> provider_pb2.ConstructResponse:
        answer: provider_pb2.ConstructResponse = self.stub.Construct(
            provider_pb2.ConstructRequest(
                project=PROJECT,
                stack=STACK,
                dryRun=True,
                parallel=1,
                monitorEndpoint=at.address,
                type=f"eks-gpushare:index:{kind}",
                name=name,
                config={"aws:region": "us-west-2"},
                inputs=encode_properties(to_data(inputs)),
                providers=providers or {},
            )
        )
        return answer

    def refused(
        self,
        at: Deployment,
        kind: str,
        inputs: Mapping[str, Any],
        providers: Mapping[str, str] | None = None,
    ) -> Refusal:
        try:
            self.construct(at, kind, "refused", inputs, providers)
        except grpc.RpcError as error:
            return _refusal(error)
        raise AssertionError(f"{kind} takes {inputs}")

    def engine_gone(self) -> int:
        """Close what it takes for the engine, say nothing to it, and wait until it ends."""
        self._engine.close()
        return self.process.wait(60)

    def close(self) -> int:
        self._channel.close()
        self.process.terminate()
        code = self.process.wait(10)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self._engine.close()
        return code


_LINE = re.compile(r"^  ([^:]+): (.*) \[(GPU[0-9]+)\]$", re.MULTILINE)


def _refusal(error: Any) -> Refusal:
    message = error.details() or ""
    details = dict(error.trailing_metadata() or ())["grpc-status-details-bin"]
    (held,) = status_pb2.Status.FromString(details).details
    beside = errors_pb2.InputPropertiesError()
    assert held.Unpack(beside), "the engine takes it for an error of the plugin"
    assert not beside.errors, "the engine would print the list twice"
    return Refusal(error.code(), message, {each[1]: each[2] for each in _LINE.finditer(message)})
