"""Language hosts: the programs of Pulumi's that run a program of one language."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc  # type: ignore[import-untyped]  # no stubs
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from eks_gpushare.program.language_host.installed import newest
from eks_gpushare.program.language_host.processes import Heard, ServingProcess
from eks_gpushare.program.language_host.serving import connected
from eks_gpushare.program.protobuf import empty_pb2, struct_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from eks_gpushare.stack_file.project import Project

_ANSWER_SECONDS = 60
_GIVE_UP_SECONDS = 5
_PAUSE_SECONDS = 0.2


class HostError(Exception):
    """A language host that is missing, or does not do what it should; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program ended."""

    error: str = ""
    """What the host says went wrong; empty if nothing, or if the program has said it."""
    bail: bool = False
    """Whether the program failed and has said why."""

    @property
    def failed(self) -> bool:
        """Whether the program did not run to its end."""
        return self.bail or bool(self.error)


def find_host(language: str, environment: Mapping[str, str]) -> Path:
    """The language host of a runtime: on PATH, beside `pulumi`, or among Pulumi's plugins.

    Raises:
        HostError: If there is none.
    """
    if found := newest("language", language, environment):
        return found
    raise HostError(
        f"The program's runtime is {language}, and pulumi-language-{language}, which runs such "
        "programs, is not on PATH. It comes with the Pulumi CLI: install that "
        "(https://www.pulumi.com/docs/install/), or add the folder that holds it to PATH."
    )


class LanguageHost:
    """A running language host."""

    def __init__(self, process: ServingProcess, stub: Any) -> None:
        """Of a process that serves, and a client of it."""
        self._process, self._stub = process, stub

    def run(
        self, request: language_pb2.RunRequest, waiting: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Run a program to its end.

        Args:
            request: What to run, and as what.
            waiting: Called a few times a second meanwhile.

        Raises:
            HostError: If the host ends, or cannot run programs.
        """
        call = self._stub.Run.future(request)
        try:
            answer = _result(call, waiting)
        except grpc.RpcError as error:
            return self._not_run(error)
        finally:
            if not call.done():
                self._give_up(call)
        return Outcome(answer.error, answer.bail)

    def _not_run(self, error: Any) -> Outcome:
        code, details = error.code(), str(error.details() or "")
        if code is grpc.StatusCode.UNAVAILABLE:
            self._process.settle()
            text = f"{self._process.name} ended while the program ran"
            raise HostError("\n".join((text, *list(self._process.said)[-10:]))) from None
        if code is grpc.StatusCode.UNIMPLEMENTED:
            raise HostError(
                f"{self._process.name} cannot run programs ({details}): it is too old, or of "
                "another kind. Update the Pulumi CLI, which it comes with."
            ) from None
        return Outcome(details or code.name)

    def _give_up(self, call: Any) -> None:
        """Let the host end the program by itself: it may have files to remove."""
        try:
            self._stub.Cancel(empty_pb2.Empty(), timeout=_GIVE_UP_SECONDS)
            call.result(timeout=_GIVE_UP_SECONDS)
        except (grpc.RpcError, grpc.FutureTimeoutError, grpc.FutureCancelledError):
            call.cancel()

    def handshake(self, engine: str, project: Project, host: Path) -> None:
        """Tell the host who asks, as the engine does; older hosts know it from their arguments."""
        request = language_pb2.LanguageHandshakeRequest(
            engine_address=engine,
            root_directory=str(host.parent),
            program_directory=str(project.program),
        )
        try:
            self._stub.Handshake(request, timeout=_ANSWER_SECONDS)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                why = f"{self._process.name} has not answered in {_ANSWER_SECONDS} s"
                raise HostError(why) from None
            raise HostError(f"{self._process.name}: {error.details()}") from None


def _result(call: Any, waiting: Callable[[], None]) -> Any:
    while True:
        try:
            return call.result(timeout=_PAUSE_SECONDS)
        except grpc.FutureTimeoutError:
            waiting()


@contextmanager
def language_host(
    project: Project,
    engine: str,
    environment: Mapping[str, str],
    heard: Heard | None = None,
) -> Iterator[LanguageHost]:
    """A running host for a project's language.

    Args:
        project: The program.
        engine: Address of the engine.
        environment: Variables of the host, which the program gets too.
        heard: Told each line that the host or the program prints.

    Raises:
        HostError: If there is none.
        ProcessError: If it does not start.
    """
    path = find_host(project.language, environment)
    process = ServingProcess(
        path.name,
        [str(path), engine],
        directory=project.directory,
        environment=environment,
        heard=heard,
    )
    try:
        with connected(process.port()) as channel:
            stub = language_pb2_grpc.LanguageRuntimeStub(channel)
            host = LanguageHost(process, stub)
            host.handshake(engine, project, path)
            yield host
    finally:
        process.end()


def run_request(
    project: Project,
    *,
    stack: str,
    organization: str,
    config: Mapping[str, str],
    secret_keys: tuple[str, ...],
    preview: bool,
    monitor: str,
    loader: str = "",
) -> language_pb2.RunRequest:
    """What the engine asks a host for (pulumi/pulumi, sdk/go/common/resource/plugin)."""
    options = struct_pb2.Struct()
    options.update(project.options)
    info = language_pb2.ProgramInfo(
        root_directory=str(project.directory),
        program_directory=str(project.program),
        entry_point=project.entry_point,
        options=options,
    )
    return language_pb2.RunRequest(
        project=project.name,
        stack=stack,
        organization=organization,
        pwd=str(project.program),
        program=project.entry_point,
        config=dict(config),
        configSecretKeys=secret_keys,
        dryRun=preview,
        parallel=os.cpu_count() or 1,
        monitor_address=monitor,
        info=info,
        loader_target=loader,
    )
