"""The real Pulumi engine on a copy of the project, with provider plugins that ask nobody anything.

Everything here needs a `pulumi` on PATH and is skipped without one.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.engine.plugin_engine import new_engine, plugin_on_path  # noqa: F401  (fixtures)
from tests.engine.real_cluster import (  # noqa: F401  (fixtures)
    api,
    chart,
    cluster,
    kubeconfig,
    kubeconfig_stack,
    node,
    real,
    shares,
)

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
LIMIT_SECONDS = 600
NO_ENGINE = "no `pulumi` on PATH; how to get it: https://www.pulumi.com/docs/install/"
NO_ENVIRONMENT = (
    "the engine runs programs in a virtual environment; so run pytest in one: make test"
)

NEW_FIRST = "replaced, the new one first"
OLD_FIRST = "replaced, the old one deleted first"

StackFile: TypeAlias = Mapping[str, Any]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = _missing()
    for item in items:
        if item.nodeid.startswith("tests/engine/"):
            item.add_marker(pytest.mark.engine)
            if missing:
                item.add_marker(pytest.mark.skip(reason=missing))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "stack_file" in metafunc.fixturenames:
        files = sorted((REPOSITORY / "stacks").glob("Pulumi.*.yaml"))
        metafunc.parametrize("stack_file", files, ids=[file.stem for file in files])


def _missing() -> str:
    if shutil.which("pulumi") is None:
        return NO_ENGINE
    return NO_ENVIRONMENT if sys.prefix == sys.base_prefix else ""


@dataclass(frozen=True)
class Result:
    """What one call of `pulumi` did and said."""

    code: int
    text: str
    """Standard output and error."""
    events: list[dict[str, Any]]
    """The engine's events, in their order."""

    @cached_property
    def steps(self) -> list[tuple[str, str]]:
        """Operation and resource (`Type name`), in the order in which they were begun."""
        return [
            (step["op"], _short(step["urn"]))
            for step in self._of("resourcePreEvent", "metadata")
            if not step["type"].startswith("pulumi:")
        ]

    @cached_property
    def changes(self) -> dict[str, str]:
        """What happens to resources that a provider manages, and to explicit providers, in a word.

        What stays the same is left out.
        """
        found: dict[str, str] = {}
        for step in self._of("resourcePreEvent", "metadata"):
            state = step["new"] or step["old"]
            default = "::default" in step["urn"]
            if state.get("custom") and not default and step["op"] not in {"same", "read"}:
                word = _WORDS.get(step["op"], step["op"])
                found.setdefault(_short(step["urn"]), word)
        return found

    @cached_property
    def types(self) -> set[str]:
        """Types of all resources, providers among them."""
        return {step["type"] for step in self._of("resourcePreEvent", "metadata")}

    @cached_property
    def outputs(self) -> dict[str, Any]:
        """Outputs of the stack; secrets are masked."""
        roots = [s for s in self._of("resOutputsEvent", "metadata") if s["type"] == _STACK]
        outputs: dict[str, Any] = roots[-1]["new"]["outputs"]
        return outputs

    @cached_property
    def errors(self) -> list[str]:
        """Texts of the errors that the engine and the program reported."""
        return [
            event["message"].strip()
            for event in self._of("diagnosticEvent")
            if event["severity"] == "error"
        ]

    @cached_property
    def violations(self) -> set[tuple[str, str, str, str]]:
        """What the policies said: policy, level, URN, message."""
        return {
            (v["policyName"], v["enforcementLevel"], v["resourceUrn"], v["message"].strip())
            for v in self._of("policyEvent")
        }

    def inputs(self, resource: str) -> dict[str, Any]:
        """New inputs of a resource."""
        found = [
            s for s in self._of("resourcePreEvent", "metadata") if _short(s["urn"]) == resource
        ]
        inputs: dict[str, Any] = found[0]["new"]["inputs"]
        return inputs

    def _of(self, kind: str, part: str | None = None) -> list[dict[str, Any]]:
        found = [event[kind] for event in self.events if kind in event]
        return [event[part] for event in found] if part else found


_STACK = "pulumi:pulumi:Stack"
_WORDS = {"create-replacement": NEW_FIRST, "delete-replaced": OLD_FIRST, "replace": NEW_FIRST}


def _short(urn: str) -> str:
    _, _, types, name = urn.split("::", 3)
    return f"{types.rpartition(':')[2]} {name}"


class Engine:
    """`pulumi` with a home, a state and plugins of its own, in a directory of its own."""

    def __init__(
        self, home: Path, echoed: tuple[str, ...], built: Mapping[str, str] | None = None
    ) -> None:
        self.home = home
        """Its folder; `plugins` in it is on PATH."""
        self._calls = 0
        plugins, state = home / "plugins", home / "state"
        plugins.mkdir(parents=True)
        state.mkdir()
        for package in echoed:
            _write_plugin(plugins / f"pulumi-resource-{package}", package)
        for package, executable in (built or {}).items():
            (plugins / f"pulumi-resource-{package}").symlink_to(executable)
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("PULUMI_", "AWS_", "PYTHON"))
        }
        self._environment = {
            **kept,
            "PATH": f"{plugins}{os.pathsep}{os.environ['PATH']}",
            "PULUMI_HOME": str(home / "pulumi"),
            "PULUMI_BACKEND_URL": state.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "tests",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_DEBUG_COMMANDS": "true",  # makes --event-log known
        }

    def project(self, name: str, program: str | None = None) -> Project:
        """A project: a program of the test's own, else a copy of this repository's."""
        directory = self.home / name
        if program is None and directory.exists():
            return Project(self, directory)
        if program is None:
            (directory / "stacks").mkdir(parents=True)
            for file in ("Pulumi.yaml", "__main__.py"):
                shutil.copy(REPOSITORY / file, directory)
        else:
            directory.mkdir()
            (directory / "__main__.py").write_text(program, encoding="utf-8")
            options = {"toolchain": "pip", "virtualenv": ".venv"}
            settings = {
                "name": name,
                "runtime": {"name": "python", "options": options},
                "stackConfigDir": "stacks",
            }
            (directory / "Pulumi.yaml").write_text(json.dumps(settings), encoding="utf-8")
        # The environment that runs these tests: none is built, and the sources are the same.
        (directory / ".venv").symlink_to(sys.prefix, target_is_directory=True)
        return Project(self, directory)

    def run(
        self,
        directory: Path,
        *args: str,
        fails: bool = False,
        limit_seconds: float = LIMIT_SECONDS,
        told: Mapping[str, str] | None = None,
    ) -> Result:
        """Call `pulumi`, `told` more by the environment; it has to fail, or not to, and to end."""
        self._calls += 1
        log = self.home / f"events-{self._calls}.json"
        logged = ["--event-log", str(log)] if args[0] in {"preview", "up", "destroy"} else []
        command = ["pulumi", *args, *logged, "--non-interactive", "--color", "never"]
        environment = {**self._environment, **(told or {})}
        code, text = _call(command, directory, environment, limit_seconds)
        shown = f"$ {' '.join(command)}\n{text}"
        assert (code != 0) is fails, f"{shown}\nexit code {code}"

        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return Result(code, text, [json.loads(line) for line in lines])

    def stop(self, directory: Path, *args: str, at: str, sent: signal.Signals) -> str:
        """Call `pulumi`, and send it a signal a moment after it has begun with a resource."""
        self._calls += 1
        log = self.home / f"events-{self._calls}.json"
        command = ["pulumi", *args, "--event-log", str(log), "--non-interactive"]
        with subprocess.Popen(
            command,
            cwd=directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            end = time.monotonic() + LIMIT_SECONDS
            while not _begun(log, at) and process.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(_AT_WORK_SECONDS)
            assert process.poll() is None, f"it ended by itself:\n{process.communicate()[0]}"
            process.send_signal(sent)
            if sent == signal.SIGKILL:
                _kill_session(process.pid)
            text, _ = process.communicate(timeout=LIMIT_SECONDS)
        return text

    @contextmanager
    def providers_kept(self) -> Iterator[None]:
        """Meanwhile one process of each echo provider serves all calls, instead of one for each.

        To start them takes most of the CPU of a preview. What they know of a cloud is forgotten
        with each call, so only one call at a time may be made.
        """
        with ExitStack() as running:
            ports = []
            for plugin in sorted((self.home / "plugins").glob("pulumi-resource-*")):
                command = [str(plugin)]
                process = running.enter_context(
                    subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                )
                running.callback(process.terminate)
                assert process.stdout is not None
                package = plugin.name.removeprefix("pulumi-resource-")
                ports.append(f"{package}:{process.stdout.readline().strip()}")
            self._environment["PULUMI_DEBUG_PROVIDERS"] = ",".join(ports)
            running.callback(self._environment.pop, "PULUMI_DEBUG_PROVIDERS")
            yield

    @contextmanager
    def at_work(self, directory: Path, *args: str) -> Iterator[subprocess.Popen[bytes]]:
        """Call `pulumi`, and meanwhile do something else; at the end nothing of it is left."""
        with subprocess.Popen(
            ["pulumi", *args, "--non-interactive"],  # noqa: S607  (wherever it is)
            cwd=directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                _kill_session(process.pid)


_AT_WORK_SECONDS = 3
"""How long a resource is worked on before a signal comes: its provider has changed something."""


def _begun(log: Path, resource: str) -> bool:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    events = [json.loads(line) for line in lines if line.endswith("}")]
    begun = [e["resourcePreEvent"]["metadata"]["urn"] for e in events if "resourcePreEvent" in e]
    return any(urn.endswith(f"::{resource}") for urn in begun)


@dataclass(frozen=True)
class Project:
    """A Pulumi project with its stacks."""

    engine: Engine
    directory: Path

    def write(self, stack: str, content: str | StackFile) -> None:
        """Write the file of a stack: text, or the configuration as data."""
        text = content if isinstance(content, str) else json.dumps({"config": content})
        path = self.stack_file(stack)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def stack_file(self, stack: str) -> Path:
        """Where the file of a stack is."""
        return self.directory / "stacks" / f"Pulumi.{stack}.yaml"

    def init(self, stack: str, content: str | StackFile) -> None:
        """Make a stack."""
        self.write(stack, content)
        self.engine.run(self.directory, "stack", "init", stack)

    def preview(
        self,
        stack: str,
        content: str | StackFile | None = None,
        *more: str,
        fails: bool = False,
        told: Mapping[str, str] | None = None,
    ) -> Result:
        """Preview a stack, with this as its file from now on if it is given."""
        if content is not None:
            self.write(stack, content)
        words = ("preview", "--stack", stack, *more)
        return self.engine.run(self.directory, *words, fails=fails, told=told)

    def up(
        self, stack: str, content: str | StackFile | None = None, *more: str, fails: bool = False
    ) -> Result:
        """Update a stack, with this as its file from now on if it is given."""
        if content is not None:
            self.write(stack, content)
        args = ("up", "--yes", "--skip-preview", "--stack", stack, *more)
        return self.engine.run(self.directory, *args, fails=fails)

    def stopped(self, stack: str, content: str | StackFile, at: str, sent: signal.Signals) -> str:
        """Begin an update, and send the engine a signal once it works on the resource `at`."""
        self.write(stack, content)
        args = ("up", "--yes", "--skip-preview", "--stack", stack)
        text = self.engine.stop(self.directory, *args, at=at, sent=sent)
        self.engine.run(self.directory, "cancel", "--yes", "--stack", stack)
        return text

    def urn(self, stack: str, name: str) -> str:
        """The URN of the resource of that logical name."""
        resources = self.state(stack)["deployment"]["resources"]
        (found,) = {r["urn"] for r in resources if r["urn"].endswith(f"::{name}")}
        return str(found)

    def remove(self, stack: str) -> None:
        """Remove a stack that has no resources any more."""
        self.engine.run(self.directory, "stack", "rm", "--yes", "--stack", stack)

    def destroy(self, stack: str, *, preview: bool = False, fails: bool = False) -> Result:
        """Destroy what a stack has, after a preview if one is asked for."""
        more = [] if preview else ["--skip-preview"]
        args = ("destroy", "--yes", "--stack", stack, *more)
        return self.engine.run(self.directory, *args, fails=fails)

    def state(self, stack: str) -> dict[str, Any]:
        """The stack's state, with secrets encrypted."""
        state: dict[str, Any] = json.loads(
            self.engine.run(self.directory, "stack", "export", "--stack", stack).text
        )
        return state

    def set_state(self, stack: str, state: Mapping[str, Any]) -> None:
        """Replace the stack's state."""
        file = self.directory / "state.json"
        file.write_text(json.dumps(state), encoding="utf-8")
        self.engine.run(self.directory, "stack", "import", "--stack", stack, "--file", str(file))


def _write_plugin(path: Path, package: str) -> None:
    command = [
        sys.executable,
        str(HERE / "echo_provider.py"),
        package,
        version(f"pulumi-{package}"),
    ]
    quoted = " ".join(f"'{part}'" for part in command)
    path.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def _call(
    command: list[str], directory: Path, environment: Mapping[str, str], limit_seconds: float
) -> tuple[int, str]:
    with subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            text, _ = process.communicate(timeout=limit_seconds)
        except BaseException as error:
            _kill_session(process.pid)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            text, _ = process.communicate()
            pytest.fail(f"no end after {limit_seconds} s: {' '.join(command)}\n{text}")
        return process.returncode, text


def _kill_session(leader: int) -> None:
    """Kill the engine and its plugins, each of which has a process group of its own."""
    for pid in session(leader):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def session(leader: int) -> dict[int, str]:
    """What an engine has started, and it itself: command lines by process."""
    columns = ["ps", "-A", "-ww", "-o", "pid=,sess=,stat=,args="]  # whole lines
    listed = subprocess.run(columns, capture_output=True, text=True, check=True)
    found = (line.split(None, 3) for line in listed.stdout.splitlines())
    return {
        int(pid): command
        for pid, at, state, command in found
        if int(at) == leader and not state.startswith("Z")
    }


@pytest.fixture(scope="session")
def engine_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Engine]:
    """`engine_with("aws", "eks")` is an engine with an echo provider for each of these packages.

    `engine_with("aws", eks=path)` has a real plugin besides.
    """
    return lambda *packages, **built: Engine(tmp_path_factory.mktemp("engine"), packages, built)


@pytest.fixture(scope="session")
def engine(engine_with: Callable[..., Engine]) -> Engine:
    """The engine with echo providers only."""
    return engine_with("aws", "eks", "kubernetes")


@pytest.fixture(scope="session")
def project(engine: Engine) -> Project:
    """This repository's program."""
    return engine.project("eks-gpushare")


@pytest.fixture(scope="session")
def time_slicing() -> StackFile:
    """The configuration in the stack file of that name."""
    from eks_gpushare.stack_file.yaml import read

    text = (REPOSITORY / "stacks/Pulumi.time-slicing.yaml").read_bytes()
    content: dict[str, Any] = read(text).value  # type: ignore[assignment]  # a mapping
    config: dict[str, Any] = content["config"]
    return config


Edit: TypeAlias = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def edited() -> Edit:
    """`edited(config, "pools.gpu.sharing.replicas", 4)` is the configuration with one edit."""

    def edit(config: StackFile, path: str, value: object) -> dict[str, Any]:
        result: dict[str, Any] = copy.deepcopy(dict(config))
        *above, last = path.split(".")
        at = result["eks-gpushare:environment"]
        for key in above:
            at = at[key]
        at[last] = value
        return result

    return edit
