"""A language host for programs that are a file `program.py`, run by the SDK's own language server.

It is started as Pulumi's hosts are: with the engine's address, and printing its port.
"""

from __future__ import annotations

import runpy
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]  # no stubs
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2, language_pb2_grpc


class Host(LanguageServer):
    """Runs a program's file in this process."""

    def __init__(self) -> None:
        super().__init__(lambda: None)

    def Handshake(self, request: Any, _context: Any) -> Any:
        assert request.engine_address == sys.argv[1]
        return language_pb2.LanguageHandshakeResponse()

    def Run(self, request: Any, context: Any) -> Any:
        program = str(Path(request.info.program_directory) / "program.py")

        def run() -> None:
            runpy.run_path(program)

        self.program = run
        request.args.append(sys.argv[1])
        return super().Run(request, context)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(4))
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(Host(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()
