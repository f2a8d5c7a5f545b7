"""The programs that `lab run --engine` needs: `pulumi`, and the plugin of the kubernetes provider.

Nothing is downloaded: whoever has both has them in the versions that they use.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from eks_gpushare_lab.errors import NoEngineError

PROVIDER = "kubernetes"
"""The one provider that a stack needs in Kubernetes."""

_PLUGIN = f"pulumi-resource-{PROVIDER}"
_SECONDS = 60
_VERSION = re.compile(r"v?([0-9]+\.[0-9]+\.[0-9]+\S*)")


@dataclass(frozen=True, slots=True)
class Tools:
    """What installs a stack."""

    pulumi: Path
    """The command."""
    pulumi_version: str
    """Its version, such as 3.260.0."""
    provider_version: str
    """Version of the plugin, or of its SDK where the plugin stands on PATH."""
    plugins: Path | None
    """Folder of installed plugins, if there is one."""


def find() -> Tools:
    """The programs, as they are on this machine.

    Raises:
        NoEngineError: If one is missing; the text says how to get it.
    """
    pulumi = shutil.which("pulumi")
    if pulumi is None:
        message = "--engine runs `pulumi up`, and there is no `pulumi` on PATH"
        raise NoEngineError(f"{message}; how to get it: https://www.pulumi.com/docs/install/")
    wanted = version(f"pulumi-{PROVIDER}")
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    if shutil.which(_PLUGIN) is None and wanted not in _installed(pulumi):
        message = f"--engine needs the plugin of the {PROVIDER} provider, {wanted}"
        raise NoEngineError(f"{message}: pulumi plugin install resource {PROVIDER} {wanted}")
    plugins = home / "plugins"
    return Tools(
        Path(pulumi).absolute(),
        _asked(pulumi),
        wanted,
        plugins if plugins.is_dir() else None,
    )


def _asked(pulumi: str) -> str:
    found = _VERSION.match(_answer(pulumi, "version").strip())
    if found is None:
        raise NoEngineError(f"{pulumi} does not say which version it is; is it Pulumi's?")
    return found[1]


def _installed(pulumi: str) -> set[str]:
    """Versions of the provider's plugin that are installed."""
    try:
        listed = json.loads(_answer(pulumi, "plugin", "ls", "--json"))
    except ValueError:
        return set()
    return {
        str(tool.get("version"))
        for tool in listed or ()
        if tool.get("name") == PROVIDER and tool.get("kind") == "resource"
    }


def _answer(pulumi: str, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603  (the `pulumi` that will be run anyway)
            [pulumi, *arguments],
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoEngineError(f"{pulumi} does not run: {error}") from error
    return done.stdout
