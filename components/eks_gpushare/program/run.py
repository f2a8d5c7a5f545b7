"""Run a Pulumi program in this process, on the SDK alone, and record what it registers.

The program's ``__main__.py`` is the one that ``pulumi up`` runs. What comes back is a plan of
registrations: no provider checks, completes or compares anything, and there is no state.
"""

from __future__ import annotations

import asyncio
import contextvars
import runpy
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from inspect import isawaitable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pulumi.errors import RunError
from pulumi.runtime import set_all_config
from pulumi.runtime.settings import SETTINGS, reset_options
from pulumi.runtime.stack import run_in_stack

from eks_gpushare.program.fakes.fakes import Fakes, default_fakes
from eks_gpushare.program.recording import ProgramError, Recording, package_config
from eks_gpushare.program.remedies import remedy_of
from eks_gpushare.program.running.endings import ProcessEndedError, kept_alive, own_signals
from eks_gpushare.program.running.engine import EngineServicer
from eks_gpushare.program.running.isolation import calm_collector, isolated, steady_order
from eks_gpushare.program.running.lean_packages import lean_packages
from eks_gpushare.program.running.monitor import Monitor
from eks_gpushare.program.running.quick_sdk import quick_sdk
from eks_gpushare.program.running.transforms import LocalCallbacks
from eks_gpushare.program.sources import line_of_error

Program = Callable[[], Any]
"""A program as a function: it registers resources and may be async. What it returns is ignored."""

ORGANIZATION = "organization"
"""What `pulumi.get_organization()` gives, as with a backend that has none."""

_ONE_AT_A_TIME = threading.Lock()
_RUNNING: contextvars.ContextVar[bool] = contextvars.ContextVar("eks_gpushare_run", default=False)


def run_program(
    program: Path | str | Program,
    *,
    project: str,
    stack: str,
    config: Mapping[str, str],
    secret_keys: Sequence[str] = (),
    preview: bool = True,
    parallel: int = 1,
    fakes: Fakes | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Recording:
    """Run `program` as one stack and return what it registered.

    `program` is the directory that holds ``__main__.py``, or a function. `config` holds full keys
    (``project:key``) and text, objects as JSON, as the engine hands it over; `secret_keys` are
    those of its keys whose values are secret. With `preview`, what only an update tells stays
    unknown; without, `fakes` make it up. `parallel` above 1 sends registrations from that many
    threads, and then their order may vary between runs. `environment` is what the program finds
    there besides.

    A failing program does not raise: `Recording.error` says why and at which line of the user's,
    and the recording holds what was registered until then. `FileNotFoundError` is raised if there
    is no program, `RuntimeError` for a run within a run; `KeyboardInterrupt` passes.

    Runs in one process do not see each other: settings, configuration, event loop, modules of the
    program's directory, ``sys.path``, ``sys.argv`` and the working directory are its own or put
    back, and the variables that would change what is registered (``AWS_REGION``, ``AWS_PROFILE``,
    ``KUBECONFIG`` and the like) are hidden from it. One run at a time is let in; others wait. Under
    a running event loop the run takes a thread of its own and the loop stands still meanwhile.
    """
    if _RUNNING.get():
        msg = "a program that is being run cannot run another one"
        raise RuntimeError(msg)
    recording = Recording(
        project, stack, preview, package_config=package_config(project, config, secret_keys)
    )
    monitor = Monitor(recording, fakes or default_fakes(), config)
    directory = None if callable(program) else _program_dir(program)

    def body() -> None:
        reset_options(
            project=project,
            stack=stack,
            organization=ORGANIZATION,
            root_directory=str(directory or Path.cwd()),
            preview=preview,
            parallel=parallel,
            # The SDK takes an object with the stub's methods as well as an address.
            monitor_address=monitor,  # type: ignore[arg-type]
            engine_address=EngineServicer(recording),  # type: ignore[arg-type]
        )
        set_all_config(dict(config), list(secret_keys))
        _run_to_end(_main(program), monitor, parallel)

    error = _guarded(body, directory, environment)
    if error is not None:
        recording.error = _program_error(error, monitor, directory)
    return recording


def _program_dir(program: Path | str | Program) -> Path:
    directory = Path(str(program)).resolve()
    if not (directory / "__main__.py").is_file():
        msg = f"{directory} holds no Pulumi program: there is no __main__.py in it"
        raise FileNotFoundError(msg)
    return directory


def _main(program: Path | str | Program) -> Program:
    if callable(program):
        return program
    directory = str(_program_dir(program))

    def run_directory() -> None:
        runpy.run_path(directory, run_name="__main__")

    return run_directory


def _guarded(
    body: Callable[[], None], directory: Path | None, environment: Mapping[str, str]
) -> BaseException | None:
    """Run `body` isolated, in a thread if an event loop is running; return what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        _RUNNING.set(True)
        with own_signals(), kept_alive() as tried:
            try:
                with (
                    isolated(directory, environment),
                    calm_collector(),
                    lean_packages(),
                    quick_sdk(),
                    steady_order(),
                ):
                    body()
            except BaseException as error:  # noqa: BLE001  (handed to the caller or raised there)
                raised.append(error)
            # First of all: whoever ends the process wants nothing else to be seen.
            raised[:0] = tried[:1]

    context = contextvars.copy_context()
    with _ONE_AT_A_TIME:
        if _loop_is_running():
            thread = threading.Thread(target=context.run, args=(run,), name="pulumi-program")
            thread.start()
            thread.join()
        else:
            context.run(run)
    error = raised[0] if raised else None
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, SystemExit) and not error.code:
        return None
    return error


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_to_end(main: Program, monitor: Monitor, parallel: int) -> None:
    loop = asyncio.new_event_loop()
    tasks = _tasks_of(loop)
    # What fails is reported once, by the run; not again when a forgotten task is collected.
    loop.set_exception_handler(lambda _loop, _context: None)
    executor = ThreadPoolExecutor(parallel) if parallel > 1 else _InlineExecutor()
    loop.set_default_executor(executor)

    async def whole() -> None:
        monitor.transforms.local = LocalCallbacks(monitor)
        SETTINGS.callbacks = monitor.transforms.local
        result = main()
        if isawaitable(result):
            await result
        await _settle()

    try:
        loop.run_until_complete(run_in_stack(whole))
        loop.run_until_complete(_finish_logging(tasks))
    finally:
        _cancel_rest(loop, tasks)
        executor.shutdown()
        loop.close()


class _InlineExecutor(ThreadPoolExecutor):
    """Runs calls at once, in the caller's thread.

    The SDK hands every registration to a thread because it would wait for the network. Ours is a
    function call, and handing it over costs more than the call. The event loop insists on this
    class; no thread is ever started.
    """

    def __init__(self) -> None:
        super().__init__(max_workers=1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001  (a future carries any error)
            future.set_exception(error)
        return future


async def _settle() -> None:
    """Wait until nothing is left to do, or until something fails.

    The SDK waits as well, but in a way that takes quadratic time in the number of outputs; after
    this it finds all of them done. Errors are left for it to report.
    """
    while True:
        tasks = [*SETTINGS.rpc_manager.rpcs, *SETTINGS.outputs]
        pending = [task for task in tasks if not task.done()]
        if not pending:
            return
        done, _ = await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
        if any(task.cancelled() or task.exception() for task in done):
            return


def _tasks_of(loop: asyncio.AbstractEventLoop) -> list[asyncio.Task[Any]]:
    """The tasks that a loop makes from now on.

    `asyncio.all_tasks` looks through those of all loops there have been, until they are collected:
    it took a fifth of the time of the hundredth run in a process. A set that forgets them as they
    end took longer than many of them do.
    """
    made: list[asyncio.Task[Any]] = []

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coroutine, loop=loop, **options)
        made.append(task)
        return task

    loop.set_task_factory(make)
    return made


async def _finish_logging(tasks: list[asyncio.Task[Any]]) -> None:
    """Let messages that name a resource arrive: the SDK sends them without waiting for them."""
    own = asyncio.current_task()
    rest = [task for task in tasks if task is not own and not task.done()]
    if rest:
        await asyncio.wait(rest, timeout=1)


def _cancel_rest(loop: asyncio.AbstractEventLoop, tasks: list[asyncio.Task[Any]]) -> None:
    rest = [task for task in tasks if not task.done()]
    for task in rest:
        task.cancel()
    if rest:
        with suppress(Exception):
            loop.run_until_complete(asyncio.wait(rest, timeout=1))
    loop.run_until_complete(loop.shutdown_asyncgens())


def _said(error: BaseException) -> str:
    """What an exception says of itself, if its class can tell."""
    try:
        return str(error) or type(error).__name__
    except Exception as broken:  # noqa: BLE001  (of any kind)
        return f"{type(error).__name__}, whose text cannot be told: {type(broken).__name__}"


def _shown(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001  (of any kind)
        return f"a {type(value).__name__}"


def _program_error(error: BaseException, monitor: Monitor, directory: Path | None) -> ProgramError:
    is_run_error = isinstance(error, RunError)
    text = _said(error)
    if isinstance(error, SystemExit) and not isinstance(error, ProcessEndedError):
        text = f"the program called sys.exit({_shown(error.code)})"
    source = line_of_error(error, directory) or monitor.failure_lines.get(text, "")
    trace = "" if is_run_error else "".join(traceback.format_exception(error))
    name = "RunError" if is_run_error else type(error).__name__
    if remedy := remedy_of(error, text, directory, monitor.recording.stack):
        text = f"{text.rstrip('.')}. {remedy}" if "\n" not in text else f"{text}\n{remedy}"
    return ProgramError(name, text, source, trace, error)
