"""The engine's side of a run that takes what the program logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from eks_gpushare.program.protobuf import empty_pb2
from eks_gpushare.program.recording import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.recording import Recording

_SEVERITIES: Mapping[int, str] = {
    engine_pb2.INFO: "info",
    engine_pb2.WARNING: "warning",
    engine_pb2.ERROR: "error",
}


class EngineServicer(engine_pb2_grpc.EngineServicer):
    """Takes what the program logs; debug messages are dropped."""

    def __init__(self, recording: Recording) -> None:
        """Log into `recording`."""
        self._recording = recording
        self._root = ""

    def Log(self, request: engine_pb2.LogRequest, _context: Any = None) -> empty_pb2.Empty:
        """Record a message."""
        severity = _SEVERITIES.get(request.severity)
        if severity is not None:
            self._recording.messages.append(Message(severity, request.message, request.urn))
        return empty_pb2.Empty()

    def GetRootResource(
        self, _request: engine_pb2.GetRootResourceRequest, _context: Any = None
    ) -> engine_pb2.GetRootResourceResponse:
        """The stack's URN."""
        return engine_pb2.GetRootResourceResponse(urn=self._root)

    def SetRootResource(
        self, request: engine_pb2.SetRootResourceRequest, _context: Any = None
    ) -> engine_pb2.SetRootResourceResponse:
        """Remember the stack's URN."""
        self._root = request.urn
        return engine_pb2.SetRootResourceResponse()

    def RequirePulumiVersion(
        self, _request: engine_pb2.RequirePulumiVersionRequest, _context: Any = None
    ) -> engine_pb2.RequirePulumiVersionResponse:
        """Accept any requirement: there is no CLI whose version could be wrong."""
        return engine_pb2.RequirePulumiVersionResponse()
