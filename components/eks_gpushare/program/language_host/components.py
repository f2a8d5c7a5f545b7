"""Our components for programs in other languages: made by the plugin, as the engine has it do."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from eks_gpushare.program.language_host.processes import Heard, ServingProcess
from eks_gpushare.program.language_host.serving import connected

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pulumi.runtime.proto import resource_pb2

_OURS = "eks-gpushare:index:"
_SERVE = "from eks_gpushare.plugin.host import serve; serve()"
_SAME = (
    "additionalSecretOutputs",
    "ignoreChanges",
    "replaceOnChanges",
    "replace_with",
    "aliases",
    "dependencies",
)
"""Fields that a registration and the request to make its component have alike: lists of them."""


def is_ours(token: str) -> bool:
    """Whether a type is one of this package's components."""
    return token.startswith(_OURS)


class Components:
    """The plugin, started when a program asks for the first component."""

    def __init__(
        self,
        *,
        directory: Path,
        environment: Mapping[str, str],
        run: provider_pb2.ConstructRequest,
        heard: Heard | None = None,
    ) -> None:
        """Make none yet.

        Args:
            directory: Where the plugin stands: in the program's folder, as under the engine.
            environment: Its variables.
            run: What is the same for all components: project, stack, configuration, the monitor.
            heard: Told each line that the plugin prints.
        """
        self._directory, self._environment, self._heard = directory, environment, heard
        self._run = run
        self._open = ExitStack()
        self._lock = threading.Lock()
        self._stub: Any = None

    def made(self, request: resource_pb2.RegisterResourceRequest) -> provider_pb2.ConstructResponse:
        """Have a component made, as it is registered.

        Raises:
            grpc.RpcError: If the component refuses its arguments, or fails.
            ProcessError: If the plugin does not start.
        """
        answer: provider_pb2.ConstructResponse = self._plugin().Construct(self._asked(request))
        return answer

    def close(self) -> None:
        """End the plugin."""
        with self._lock:
            self._open.close()

    def _plugin(self) -> Any:
        with self._lock:
            if self._stub is None:
                # No path of the program's folder: it may hold modules of the same names.
                command = (sys.executable, "-P", "-c", _SERVE, self._run.monitorEndpoint)
                process = ServingProcess(
                    "the plugin of eks-gpushare",
                    command,
                    directory=self._directory,
                    environment=self._environment,
                    heard=self._heard,
                )
                self._open.callback(process.end)
                channel = self._open.enter_context(connected(process.port()))
                self._stub = provider_pb2_grpc.ResourceProviderStub(channel)
            return self._stub

    def _asked(
        self, request: resource_pb2.RegisterResourceRequest
    ) -> provider_pb2.ConstructRequest:
        """Pulumi/pulumi, pkg/resource/deploy/source_eval.go, RegisterResource of a remote one."""
        asked = provider_pb2.ConstructRequest()
        asked.CopyFrom(self._run)
        asked.type, asked.name, asked.parent = request.type, request.name, request.parent
        asked.inputs.CopyFrom(request.object)
        for key, dependencies in request.propertyDependencies.items():
            asked.inputDependencies[key].urns.extend(dependencies.urns)
        for field in _SAME:
            getattr(asked, field).extend(getattr(request, field))
        asked.providers.update(request.providers)
        asked.deletedWith = request.deletedWith
        if request.HasField("customTimeouts"):
            given = request.customTimeouts
            asked.customTimeouts.create = given.create
            asked.customTimeouts.update = given.update
            asked.customTimeouts.delete = given.delete
        if request.HasField("protect"):
            asked.protect = request.protect
        if request.HasField("retainOnDelete"):
            asked.retainOnDelete = request.retainOnDelete
        if request.deleteBeforeReplaceDefined:
            asked.deleteBeforeReplace = request.deleteBeforeReplace
        if request.HasField("replacement_trigger"):
            asked.replacement_trigger.CopyFrom(request.replacement_trigger)
        asked.accepts_output_values = True
        return asked
