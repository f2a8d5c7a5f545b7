"""The plugin as a process, with the engine's side of it played by the recording monitor."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf import empty_pb2
from google.rpc import status_pb2
from pulumi.runtime.proto import (
    engine_pb2_grpc,
    errors_pb2,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2_grpc,
)

from eks_gpushare.program.engine import Engine
from eks_gpushare.program.fakes import default_fakes
from eks_gpushare.program.monitor import Monitor
from eks_gpushare.program.recording import Recording
from eks_gpushare.program.values import encode_properties

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


class Plugin:
    """A running plugin."""

    def __init__(self) -> None:
        self.recording = Recording(PROJECT, STACK, preview=True)
        self.monitor = Monitor(self.recording, default_fakes(), {"aws:region": "us-west-2"})
        self._server = grpc.server(ThreadPoolExecutor(16))
        resource_pb2_grpc.add_ResourceMonitorServicer_to_server(self.monitor, self._server)
        engine_pb2_grpc.add_EngineServicer_to_server(Engine(self.recording), self._server)
        self._address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()
        self.process = subprocess.Popen(
            [sys.executable, ROOT / "plugin", self._address],
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
        self, kind: str, name: str, inputs: Mapping[str, Any], *, preview: bool = True, **more: Any
    ) -> provider_pb2.ConstructResponse:
        return self.stub.Construct(
            provider_pb2.ConstructRequest(
                project=PROJECT,
                stack=STACK,
                dryRun=preview,
                parallel=1,
                monitorEndpoint=self._address,
                type=f"eks-gpushare:index:{kind}",
                name=name,
                config={"aws:region": "us-west-2"},
                inputs=encode_properties(inputs),
                **more,
            )
        )

    def refused(self, kind: str, inputs: Mapping[str, Any], **more: Any) -> Refusal:
        try:
            self.construct(kind, "refused", inputs, **more)
        except grpc.RpcError as error:
            return _refusal(error)
        raise AssertionError(f"{kind} takes {inputs}")

    def close(self) -> int:
        self._channel.close()
        self.process.terminate()
        code = self.process.wait(10)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self._server.stop(None)
        return code


def _refusal(error: Any) -> Refusal:
    errors: dict[str, str] = {}
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        status = status_pb2.Status.FromString(value)
        for detail in status.details:
            found = errors_pb2.InputPropertiesError()
            if detail.Unpack(found):
                errors |= {each.property_path: each.reason for each in found.errors}
    return Refusal(error.code(), error.details() or "", errors)
