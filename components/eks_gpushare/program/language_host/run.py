"""Run a program of another language than Python, and record what it registers."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pulumi.runtime.proto import provider_pb2

from eks_gpushare.program.fakes.fakes import Fakes, default_fakes
from eks_gpushare.program.language_host.components import Components
from eks_gpushare.program.language_host.failures import error_of
from eks_gpushare.program.language_host.host import (
    HostError,
    Outcome,
    language_host,
    run_request,
)
from eks_gpushare.program.language_host.monitor import HostedMonitor
from eks_gpushare.program.language_host.order import settle
from eks_gpushare.program.language_host.processes import ProcessError
from eks_gpushare.program.language_host.progress import RunProgress
from eks_gpushare.program.language_host.schemas import Schemas, told
from eks_gpushare.program.language_host.serving import served
from eks_gpushare.program.recording import ProgramError, Recording, package_config
from eks_gpushare.program.run import ORGANIZATION
from eks_gpushare.program.running.engine import EngineServicer
from eks_gpushare.program.running.isolation import is_hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.stack_file.project import Project

_PARALLEL = 16


def run_hosted(
    project: Project,
    *,
    stack: str,
    config: Mapping[str, str],
    secret_keys: tuple[str, ...] = (),
    preview: bool = True,
    fakes: Fakes | None = None,
) -> Recording:
    """Run a project's program as one stack, by its language host, and return what it registered.

    The host and all that it starts end with the run. A failing program does not raise:
    `Recording.error` says why, and how to mend it where something is missing. What the program
    prints goes to standard error.

    Args:
        project: The program.
        stack: Name of the stack.
        config: Full keys and text, objects as JSON, as the engine hands them over.
        secret_keys: Those whose values are secret.
        preview: Keep what only an update tells unknown. Else `fakes` make it up.
        fakes: Answer for providers. Default: those of this package.

    Raises:
        KeyboardInterrupt: Passes, when nothing runs any more.
    """
    own = package_config(project.name, config, secret_keys)
    recording = Recording(project.name, stack, preview, package_config=own)
    with ExitStack() as open_until_end:
        progress = RunProgress(f"running the {project.language} program")
        open_until_end.callback(progress.clear)
        run = _Run(project, recording, dict(config), tuple(secret_keys), fakes, progress)
        try:
            outcome = run.to_its_end(open_until_end)
        except (HostError, ProcessError) as error:
            recording.error = ProgramError("RunError", str(error))
        else:
            recording.error = error_of(outcome, run.monitor, project, run.printed)
            if recording.error is not None and run.schemas.missing:
                recording.error = ProgramError("RunError", told(run.schemas.missing))
            progress.clear()
            if recording.error is None:
                run.show_rest()
    settle(recording)
    return recording


class _Run:
    """The parts of one run."""

    def __init__(
        self,
        project: Project,
        recording: Recording,
        config: dict[str, str],
        secret_keys: tuple[str, ...],
        fakes: Fakes | None,
        progress: RunProgress,
    ) -> None:
        self._project, self._recording = project, recording
        self._config, self._secret_keys = config, secret_keys
        self._environment = environment()
        self._progress = progress
        self.printed: list[str] = []
        self.schemas = Schemas(self._environment, project.directory)
        self.monitor = HostedMonitor(
            recording,
            fakes or default_fakes(),
            config,
            program=project.directory,
            components=lambda: self._components,
        )
        self._components: Components

    def to_its_end(self, opened: ExitStack) -> Outcome:
        """Run the program, with what closes registered in `opened`."""
        engine = EngineServicer(self._recording)
        address = opened.enter_context(served(self.monitor, engine, self.schemas.add_to))
        self.schemas.address = address
        # The plugin has a server of its own: components that wait for it must not be in its way.
        of_plugin = opened.enter_context(served(self.monitor, engine))
        self._components = Components(
            directory=self._project.directory,
            environment=plugin_environment(self._environment),
            run=provider_pb2.ConstructRequest(
                project=self._project.name,
                stack=self._recording.stack,
                organization=ORGANIZATION,
                config=self._config,
                configSecretKeys=self._secret_keys,
                dryRun=self._recording.preview,
                parallel=_PARALLEL,
                monitorEndpoint=of_plugin,
            ),
            heard=self._heard,
        )
        opened.callback(self._components.close)
        request = run_request(
            self._project,
            stack=self._recording.stack,
            organization=ORGANIZATION,
            config=self._config,
            secret_keys=self._secret_keys,
            preview=self._recording.preview,
            monitor=address,
            loader=address,
        )
        with language_host(self._project, address, self._environment, self._heard) as host:
            return host.run(request, self._waiting)

    def _waiting(self) -> None:
        self._progress.tell(len(self._recording.resources))

    def _heard(self, line: str, on_error: bool) -> None:  # noqa: FBT001  (of a process)
        """Show what is printed; of what may be why it fails, decide in the end."""
        if on_error:
            self.printed.append(line)
            return
        self._progress.clear()
        sys.stderr.write(f"{line}\n")

    def show_rest(self) -> None:
        """Show what was printed on standard error."""
        sys.stderr.writelines(f"{line}\n" for line in self.printed)


def environment() -> dict[str, str]:
    """Our variables without those that would change what is registered, as for Python programs."""
    return {name: value for name, value in os.environ.items() if not is_hidden(name)}


def plugin_environment(given: Mapping[str, str]) -> dict[str, str]:
    """The same for the plugin, which has to find this package from the program's folder."""
    folders = [folder for folder in given.get("PYTHONPATH", "").split(os.pathsep) if folder]
    places = [str(Path(folder).absolute()) for folder in folders]
    own = Path(str(find_spec("eks_gpushare").origin)).parents[1]  # type: ignore[union-attr]
    if not {"site-packages", "dist-packages"} & set(own.parts):
        places.insert(0, str(own))
    return {**given, "PYTHONPATH": os.pathsep.join(dict.fromkeys(places))}
