"""`pulumi up` of what a stack has in Kubernetes, against a lab."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.live import die_with_parent
from eks_gpushare_lab import rules
from eks_gpushare_lab.engine.events import Events
from eks_gpushare_lab.engine.guard import TIME_IS_OVER
from eks_gpushare_lab.engine.workspace import STACK, workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.stack_file.project import Project
    from eks_gpushare_lab.engine.tools import Tools
    from eks_gpushare_lab.engine.workspace import Workspace

LIMIT_SECONDS = 180.0
"""How long one `pulumi up` may take. With a chart on disk it takes ten seconds."""

_GUARD = Path(__file__).with_name("guard.py")
_INIT_SECONDS = 60.0
_TICK_SECONDS = 0.05
_SHOWN_LINES = 12
_CHART = ("chart", "helm", "repository")
_UNREACHABLE = ("could not download", "cannot be reached", "no such host", "dial tcp", "not found")


@dataclass(slots=True)
class Engine:
    """Installs one stack by the real engine."""

    tools: Tools
    """What runs it."""
    project: Project
    """Whose program runs."""
    text: str
    """The stack file, in existing-cluster mode."""
    above: Path
    """A private folder in which it works."""
    findings: list[Finding] = field(default_factory=list)
    """What went wrong."""
    changes: dict[str, str] = field(default_factory=dict)
    """What happened to each resource."""
    seconds: float = 0.0
    """How long the update took."""

    def up(self, show: Callable[[], object], tell: Callable[[str], object]) -> bool:
        """Update the stack and return whether that went well.

        Args:
            show: called many times a second meanwhile.
            tell: called with what it does, in a few words each.
        """
        begun = time.monotonic()
        tell("pulumi up: on an existing cluster, which is the lab")
        with workspace(self.above, self.project, self.text, self.tools) as made:
            init = ["stack", "init", STACK]
            logged = ["--event-log", str(made.events)]
            up = ["up", "--yes", "--skip-preview", "--stack", STACK, *logged]
            done = self._call(made, init, _INIT_SECONDS, show, tell) and self._call(
                made, up, LIMIT_SECONDS, show, tell
            )
        self.seconds = time.monotonic() - begun
        return done

    def as_json(self) -> dict[str, Any]:
        """What it did, as `lab run --json` prints it."""
        return {
            "pulumi": self.tools.pulumi_version,
            "kubernetesProvider": self.tools.provider_version,
            "seconds": round(self.seconds, 1),
            "changes": dict(Counter(self.changes.values())),
            "resources": dict(self.changes),
        }

    def _call(
        self,
        made: Workspace,
        arguments: Sequence[str],
        limit: float,
        show: Callable[[], object],
        tell: Callable[[str], object],
    ) -> bool:
        events = Events(made.events)
        command = [*arguments, "--non-interactive", "--color", "never"]
        with self._guarded(made, command, limit) as process:
            while process.poll() is None:
                _report(events, tell)
                show()
                time.sleep(_TICK_SECONDS)
        _report(events, tell)
        self.changes |= events.changes
        if process.returncode:
            text = made.output.read_text(encoding="utf-8", errors="replace")
            self.findings += _why(arguments[0], process.returncode, limit, events, text)
        return process.returncode == 0

    @contextmanager
    def _guarded(
        self, made: Workspace, command: Sequence[str], limit: float
    ) -> Iterator[subprocess.Popen[bytes]]:
        with made.output.open("wb") as output:
            guard = [sys.executable, "-I", "-S", str(_GUARD), die_with_parent.__file__]
            process = subprocess.Popen(  # noqa: S603  (the user's own `pulumi`)
                [*guard, str(limit), str(self.tools.pulumi), *command],
                cwd=made.directory,
                env=made.environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Out of reach of a Ctrl-C in the terminal: the guard stops everything in order.
                start_new_session=True,
            )
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()  # by which the guard knows that it is to stop
            process.wait()


def _report(events: Events, tell: Callable[[str], object]) -> None:
    for step in events.news():
        tell(f"pulumi up: {step.operation} {step.resource}{': done' if step.done else ''}")


def _why(verb: str, code: int, limit: float, events: Events, text: str) -> list[Finding]:
    """What `pulumi` said before it failed."""
    if code == TIME_IS_OVER:
        message = f"pulumi {verb} did not end within {limit:.0f} s and was stopped."
        begun = ", ".join(sorted(events.changes)) or "nothing"
        fix = "See what waits: a release waits until all pods of its chart are ready."
        return [rules.ENGINE_FAILED.finding(("engine",), f"{message} Done were {begun}.", fix)]
    errors = [error for error in dict.fromkeys(events.errors) if error[1] != "update failed"]
    if not errors:
        last = " ".join(line.strip() for line in text.splitlines()[-_SHOWN_LINES:])
        errors = [("", last or f"pulumi {verb} failed with exit code {code}")]
    return [
        rules.ENGINE_FAILED.finding(("engine", resource) if resource else ("engine",), said, fix)
        for resource, said in errors
        for fix in [_fix(said)]
    ]


def _fix(said: str) -> str:
    lower = said.lower()
    if any(word in lower for word in _CHART) and any(word in lower for word in _UNREACHABLE):
        return (
            "Let this machine reach the chart's repository, or give a mirror or a chart on disk: "
            "repository or path, under charts in the stack file."
        )
    return "Fix what the message names; `pulumi up` would say the same of the stack itself."
