"""A Pulumi project of its own for one run: project file, stack file, state, home.

All of it is in a folder of the lab that nobody else can enter and that goes when the run ends; with
the lab's own folder at the latest. Nothing of the user's Pulumi is touched: no login, no state, no
stack file. Their installed plugins are used where they are.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.stack_file.yaml import read
from eks_gpushare_lab.engine.tools import PROVIDER
from eks_gpushare_lab.host.folders import locked, write_private

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.stack_file.project import Project
    from eks_gpushare_lab.engine.tools import Tools

STACK = "lab"
"""Name of the stack."""

_PREFIX, _LOCK = "engine-", "engine.lock"
_PROJECT_FILE = "Pulumi.yaml"
_DROPPED = ("PULUMI_", "AWS_", "KUBE", "HELM_NAMESPACE", "HELM_KUBE")
_HIDDEN = (".venv", ".git", _PROJECT_FILE)


class Workspace:
    """A project in a folder, and the environment in which `pulumi` runs there."""

    def __init__(self, folder: Path, project: Project, text: str, tools: Tools) -> None:
        """Write everything down.

        Args:
            folder: an empty folder of its own.
            project: whose program runs.
            text: the stack file.
            tools: what runs it.
        """
        self.directory = folder / "project"
        """Working directory of `pulumi`."""
        self.events = folder / "events.json"
        """Where the engine logs its events."""
        self.output = folder / "output"
        """Where what it prints goes."""
        home, state, scratch = folder / "home", folder / "state", folder / "tmp"
        for path in (self.directory, home, state, scratch):
            path.mkdir(mode=0o700)
        _link(project, self.directory)
        python = _python(folder)
        settings = _settings(project, python)
        write_private(self.directory / _PROJECT_FILE, json.dumps(settings).encode())
        write_private(self.directory / f"Pulumi.{STACK}.yaml", text.encode())
        if tools.plugins is not None:
            (home / "plugins").symlink_to(tools.plugins, target_is_directory=True)
        self.environment = _environment(home, state, scratch)
        """Environment variables of `pulumi`."""


@contextmanager
def workspace(above: Path, project: Project, text: str, tools: Tools) -> Iterator[Workspace]:
    """A workspace for as long as the block runs.

    Args:
        above: an existing folder that nobody else can enter.
        project: whose program runs.
        text: the stack file.
        tools: what runs it.
    """
    with scratch_folder(above) as folder:
        yield Workspace(folder, project, text, tools)


@contextmanager
def scratch_folder(above: Path) -> Iterator[Path]:
    """A folder for as long as the block runs; those of runs that were killed go before.

    Args:
        above: an existing folder that nobody else can enter.
    """
    with ExitStack() as stack:
        with locked(above / _LOCK):
            for path in above.glob(f"{_PREFIX}*"):
                _sweep(path)
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=above))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.enter_context(locked(folder / _LOCK))
        yield folder


def _sweep(folder: Path) -> None:
    """Remove a folder unless the run that made it is alive."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)


def _settings(project: Project, python: Path) -> dict[str, Any]:
    given: Any = read((project.directory / _PROJECT_FILE).read_bytes()).value
    options = {"toolchain": "pip", "virtualenv": str(python)}
    settings = {"name": project.name, "runtime": {"name": "python", "options": options}}
    return {**settings, **({"config": given["config"]} if "config" in given else {})}


def _link(project: Project, directory: Path) -> None:
    """Let the program find its own files, but for what is written anew here."""
    for path in project.program.iterdir():
        configures = path.name.startswith("Pulumi.") and path.suffix in {".yaml", ".yml"}
        if path.name not in _HIDDEN and not configures:
            (directory / path.name).symlink_to(path.resolve(), target_is_directory=path.is_dir())


def _python(folder: Path) -> Path:
    """What passes for a virtual environment: this Python, with everything that it has.

    The engine asks pip which packages are installed, and starts the plugin of each provider among
    them, or downloads it: AWS's too, which nothing here uses. So pip names the one that is used.
    """
    made = folder / "python"
    (made / "bin").mkdir(parents=True)
    names = ("pulumi", f"pulumi-{PROVIDER}")
    listed = [
        {"name": name, "version": metadata.version(name), "location": _location(name)}
        for name in names
    ]
    packages = made / "packages.json"
    packages.write_text(json.dumps(listed), encoding="utf-8")
    script = (
        "#!/bin/sh\n"
        f'if [ "$1 $2" = "-m pip" ]; then exec cat {shlex.quote(str(packages))}; fi\n'
        f'exec {shlex.quote(sys.executable)} "$@"\n'
    )
    command = made / "bin" / "python"
    command.write_text(script, encoding="utf-8")
    command.chmod(0o700)
    return made


def _location(name: str) -> str:
    return str(metadata.distribution(name).locate_file(""))


def _environment(home: Path, state: Path, scratch: Path) -> dict[str, str]:
    """What `pulumi` sees of the user's environment: nothing that leads to AWS or to a cluster."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_DROPPED)}
    source = str(Path(__file__).parents[2])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(paths),
        # Providers write the kubeconfig there, an administrator's key in it, and may be killed.
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(scratch)),
        "PULUMI_HOME": str(home),
        "PULUMI_BACKEND_URL": state.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": STACK,  # a state that lives for seconds, among own files
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_DEBUG_COMMANDS": "true",  # makes --event-log known
        "PULUMI_PYTHON_CMD": sys.executable,
    }
