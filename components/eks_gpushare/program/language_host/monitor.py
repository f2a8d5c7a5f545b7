"""The recording monitor for programs in other processes."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

import grpc  # type: ignore[import-untyped]  # no stubs
from pulumi.runtime.proto import resource_pb2

from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.language_host.components import is_ours
from eks_gpushare.program.language_host.processes import ProcessError
from eks_gpushare.program.running.monitor import Monitor
from eks_gpushare.program.values import (
    Properties,
    decode_properties,
    dependencies,
    encode_properties,
    is_unknown,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pulumi.runtime.proto import source_pb2

    from eks_gpushare.program.fakes.fakes import Fakes
    from eks_gpushare.program.language_host.components import Components
    from eks_gpushare.program.recording import Recording, Resource

_OVER = "resource monitor shut down"
"""What the engine answers when it has given up (source_eval.go); SDKs then end without a word."""
_OTHERS_SECONDS = 10
"""How long a refusal waits for those of components that are being made at the same time."""
_FOREIGN = {"node_modules", "sdks", "vendor", ".venv", "site-packages"}
"""Folders within a program's that hold the code of others; `sdks` has what Pulumi generates."""
_Request: TypeAlias = resource_pb2.RegisterResourceRequest


@dataclass(frozen=True, slots=True)
class Failure:
    """A registration that was refused."""

    urn: str
    type: str
    """Name of the kind of error."""
    text: str
    source: str


class HostedMonitor(Monitor):
    """Records what a program in another process registers, and what the plugin makes for it.

    The first refusal ends the run, as in the engine: the program is told that there is no monitor
    any more, and what was refused is in `failures`.
    """

    def __init__(
        self,
        recording: Recording,
        fakes: Fakes,
        config: Mapping[str, str],
        *,
        program: Path,
        components: Callable[[], Components],
    ) -> None:
        """Record into `recording`.

        Args:
            recording: Of the run.
            fakes: Answer for providers.
            config: The stack's.
            program: Folder of the program, whose lines are the user's.
            components: Give the plugin.
        """
        super().__init__(recording, fakes, config)
        self.failures: list[Failure] = []
        self._program, self._components = program, components
        self._asked: defaultdict[tuple[str, str, str], deque[_Request]] = defaultdict(deque)
        """What the program asked the plugin for, by parent, type and name."""
        self._traces: dict[str, source_pb2.StackTrace] = {}
        """The program's lines behind what the plugin registers, by URN."""
        self._assuming = threading.Lock()
        self._making = 0
        """Components that the plugin is about to make."""
        self._made = threading.Condition()

    def assume(self, sentence: str) -> None:
        """Note in the recording, once, something that was made up."""
        with self._assuming:
            super().assume(sentence)

    def RegisterResource(
        self, request: resource_pb2.RegisterResourceRequest, context: Any = None
    ) -> resource_pb2.RegisterResourceResponse:
        """Record a registration and answer it; a component of ours is made by the plugin."""

        def answer() -> resource_pb2.RegisterResourceResponse:
            if request.remote and is_ours(request.type):
                return self._constructed(request)
            return super(HostedMonitor, self).RegisterResource(request)

        response = self._registered(answer, request, context)
        _only_what_is_understood(response, request)
        return response

    def ReadResource(
        self, request: resource_pb2.ReadResourceRequest, context: Any = None
    ) -> resource_pb2.ReadResourceResponse:
        """Record a resource that exists already and is only read."""
        self._keep_own_frames(request)
        try:
            return super().ReadResource(request)
        except Exception as error:
            self._failed(error, request)
            if context is None:
                raise
            context.abort(grpc.StatusCode.UNAVAILABLE, _OVER)
            raise

    def Invoke(
        self, request: resource_pb2.ResourceInvokeRequest, context: Any = None
    ) -> resource_pb2.ResourceInvokeResponse:
        """Answer a function call, such as a data source; a program may get over its failure."""
        self._keep_own_frames(request)
        try:
            return super().Invoke(request)
        except PlanError as error:
            self.failure_lines[str(error)] = error.source
            if context is None:
                raise
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
            raise

    def _registered(
        self,
        answer: Callable[[], resource_pb2.RegisterResourceResponse],
        request: _Request,
        context: Any,
    ) -> resource_pb2.RegisterResourceResponse:
        """What a registration is answered; its failure ends the run."""
        try:
            return answer()
        except Exception as error:
            self._failed(error, request)
            if request.remote:  # what was sent at once is refused at once
                with self._made:
                    self._made.wait_for(lambda: not self._making, _OTHERS_SECONDS)
            if context is None:
                raise
            context.abort(grpc.StatusCode.UNAVAILABLE, _OVER)
            raise

    def _failed(self, error: Exception, request: Any) -> None:
        urn = self._urn(request.parent, request.type, request.name)
        source = getattr(error, "source", "") or self._line(request)
        if isinstance(error, grpc.RpcError):
            if self.failures and error.code() is not grpc.StatusCode.INVALID_ARGUMENT:
                return  # the plugin, whose own registration was refused before
            refused = error.code() is grpc.StatusCode.INVALID_ARGUMENT
            text = str(error.details() or error.code())
            kind = "InputPropertiesError" if refused else "PluginError"
        else:
            text = str(error) or type(error).__name__
            kind = "PlanError" if isinstance(error, PlanError | ProcessError) else "RunError"
        self.failures.append(Failure(urn, kind, text, source))

    # How a component is made.

    def _constructed(
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        """Have a component made: what is recorded is what the plugin registers.

        pulumi/pulumi, pkg/resource/deploy/source_eval.go, at v3.260.0, read 2026-11-22.
        """
        self._keep_own_frames(request)
        asked = resource_pb2.RegisterResourceRequest()
        asked.CopyFrom(request)
        self._asked[request.parent, request.type, request.name].append(asked)
        self._inherit(request)
        request = self.transforms.apply(request, self._parents)
        self._hand_down_providers(request)
        with self._made:
            self._making += 1
        try:
            made = self._components().made(request)
        finally:
            with self._made:
                self._making -= 1
                self._made.notify_all()
        state = decode_properties(made.state)
        response = resource_pb2.RegisterResourceResponse(
            urn=made.urn, object=encode_properties(state)
        )
        for name in {*state, *made.stateDependencies}:
            urns = {*made.stateDependencies[name].urns, *dependencies(state.get(name))}
            response.propertyDependencies[name].urns.extend(sorted(urns))
        return response

    def _hand_down_providers(self, request: resource_pb2.RegisterResourceRequest) -> None:
        parent = self._by_urn.get(request.parent)
        if parent is not None and not parent.custom:
            for package, urn in parent.providers.items():
                if package not in request.providers:
                    request.providers[package] = f"{urn}::id"

    def _register(
        self, request: resource_pb2.RegisterResourceRequest, *, assumed: bool = False
    ) -> Resource:
        self._keep_own_frames(request)
        waiting = self._asked.get((request.parent, request.type, request.name))
        asked = waiting.popleft() if waiting else None
        if asked is not None:
            request.transforms.extend(asked.transforms)
            request.stackTrace.CopyFrom(asked.stackTrace)
        elif not request.stackTrace.frames and request.parent in self._traces:
            request.stackTrace.CopyFrom(self._traces[request.parent])
        resource = super()._register(request, assumed=assumed)
        if asked is not None or request.parent in self._traces:
            self._traces[resource.urn] = request.stackTrace
        return resource

    # The user's lines.

    def _keep_own_frames(self, request: Any) -> None:
        """Leave out the frames of packages, of the runtime, and of the plugin."""
        frames = [frame for frame in request.stackTrace.frames if self._is_own(frame.pc.uri)]
        del request.stackTrace.frames[:]
        request.stackTrace.frames.extend(frames)
        if not frames and self._is_own(request.sourcePosition.uri):
            request.stackTrace.frames.add().pc.CopyFrom(request.sourcePosition)

    def _is_own(self, uri: str) -> bool:
        path = Path(unquote(uri.removeprefix("file://")))
        if not uri or not path.is_relative_to(self._program):
            return False
        return not _FOREIGN & set(path.relative_to(self._program).parts)

    def _line(self, request: Any) -> str:
        frames = request.stackTrace.frames
        if not frames:
            return ""
        position = frames[0].pc
        return f"{unquote(position.uri.removeprefix('file://'))}:{position.line}"


def _only_what_is_understood(
    response: resource_pb2.RegisterResourceResponse, request: resource_pb2.RegisterResourceRequest
) -> None:
    """Leave out what an SDK says that it would not understand, as the engine does."""
    if request.acceptSecrets and request.supportsPartialValues:
        return
    outputs: Properties = decode_properties(response.object)
    if not request.supportsPartialValues:
        outputs = {key: value for key, value in outputs.items() if not is_unknown(value)}
    if not request.acceptSecrets:
        outputs = {key: plain(value) for key, value in outputs.items()}
    response.object.CopyFrom(encode_properties(outputs))
