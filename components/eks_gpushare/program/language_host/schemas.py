"""Schemas of packages, as the hosts of YAML programs ask for them.

That of this package is at hand. Others are asked of their plugins, where these are installed: on
PATH or among Pulumi's plugins.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import grpc  # type: ignore[import-untyped]  # no stubs
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc
from pulumi.runtime.proto.codegen import loader_pb2

from eks_gpushare.program.language_host.installed import newest
from eks_gpushare.program.language_host.processes import ProcessError, ServingProcess
from eks_gpushare.program.language_host.serving import connected

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_OURS = "eks-gpushare"
_ANSWER_SECONDS = 60


class Schemas:
    """Answers for the schemas of packages, each asked for once."""

    def __init__(self, environment: Mapping[str, str], directory: Path) -> None:
        """Serve schemas.

        Args:
            environment: Variables of plugins.
            directory: Where plugins stand.
        """
        self._environment, self._directory = environment, directory
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()
        self.missing: set[str] = set()
        """Packages whose plugins are not there, with the versions that are wanted."""
        self.address = ""
        """Of the engine, which plugins are told."""

    def add_to(self, server: Any) -> None:
        """Serve on a server too."""
        # The SDK's module of this service imports one that it does not have.
        method = grpc.unary_unary_rpc_method_handler(
            self.GetSchema,
            request_deserializer=loader_pb2.GetSchemaRequest.FromString,
            response_serializer=loader_pb2.GetSchemaResponse.SerializeToString,
        )
        handler = grpc.method_handlers_generic_handler("codegen.Loader", {"GetSchema": method})
        server.add_generic_rpc_handlers((handler,))

    def GetSchema(
        self, request: loader_pb2.GetSchemaRequest, context: Any
    ) -> loader_pb2.GetSchemaResponse:
        """The schema of a package."""
        with self._lock:
            text = self._known.get(request.package) or self._found(request.package)
            if text is None:
                wanted = " ".join(filter(None, (request.package, request.version)))
                self.missing.add(wanted)
                context.abort(grpc.StatusCode.NOT_FOUND, f"no plugin of {wanted} is installed")
                raise AssertionError
            self._known[request.package] = text
        return loader_pb2.GetSchemaResponse(schema=text.encode())

    def _found(self, package: str) -> str | None:
        if package == _OURS:
            return (files("eks_gpushare") / "plugin" / "schema.json").read_text(encoding="utf-8")
        plugin = newest("resource", package, self._environment)
        if plugin is None:
            return None
        process = ServingProcess(
            plugin.name,
            [str(plugin), self.address],
            directory=self._directory,
            environment=self._environment,
        )
        with suppress(ProcessError, grpc.RpcError):
            try:
                with connected(process.port()) as channel:
                    stub = provider_pb2_grpc.ResourceProviderStub(channel)
                    asked = provider_pb2.GetSchemaRequest()
                    return str(stub.GetSchema(asked, timeout=_ANSWER_SECONDS).schema)
            finally:
                process.end()
        return None


def told(missing: set[str]) -> str:
    """What is missing, and the commands that bring it."""
    packages = {package.partition(" ")[0] for package in missing}
    exact = [package for package in missing if " " in package or not _versioned(package, missing)]
    commands = (f"  pulumi plugin install resource {package}" for package in sorted(exact))
    names = ", ".join(sorted(packages))
    return "\n".join((f"The program needs the schemas of {names}, from their plugins:", *commands))


def _versioned(package: str, among: set[str]) -> bool:
    return any(missing.startswith(f"{package} ") for missing in among)
