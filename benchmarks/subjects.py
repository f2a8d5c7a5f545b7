"""What is measured. Each function gives the figures of one subject."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from measure import Cost, cpu, exponent, interleaved, ratio, run
from report import Figure
from sdk_imports import import_statements
from stack_files import write_stack_file

HERE = Path(__file__).parent
STACK = "time-slicing"

_TIMES_OF_IMPORTS = 2.5
_TIMES_OF_SDK = 1.2
_PEAK_MB = 200
_MS_PER_RESOURCE = 6
_LAYOUTS_SECONDS = 20
"""A million checks of MIG layouts in that time are 50,000 a second."""
_LINEAR = 1.2
"""Linear, and what noise and the caches of a processor add to it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How to measure."""

    root: Path
    """Directory of the Pulumi program."""
    scratch: Path
    """Directory for generated files."""
    rounds: int
    """How often each command is counted."""
    sizes: tuple[int, int, int]
    """Numbers of pools to see growth by."""

    def command(self, *words: str) -> list[str]:
        """Our command with these words."""
        return [sys.executable, "-m", "eks_gpushare", *words]

    def preview(self, pools: int, *more: str) -> list[str]:
        """`preview` of a generated stack file."""
        file = write_stack_file(self.scratch, pools)
        return self.command("preview", str(file), "--program", str(self.root), *more)

    def script(self, name: str, *words: str) -> list[str]:
        """A script of this directory that prints times as JSON."""
        return [sys.executable, str(HERE / name), *words]


def check(setting: Setting) -> list[Figure]:
    """`check` beside the two imports it cannot do without."""
    subject, pools = "check", 50
    sizes = (setting.sizes[0], setting.sizes[-1])
    files = {size: write_stack_file(setting.scratch, size) for size in (pools, *sizes)}
    commands = {
        "imports": [sys.executable, "-c", "import pydantic, yaml"],
        **{str(n): setting.command("check", str(file)) for n, file in files.items()},
    }
    costs = interleaved(commands, cwd=setting.root, rounds=setting.rounds)
    ours, theirs = cpu(costs[str(pools)]), cpu(costs["imports"])
    times = ratio(costs[str(pools)], costs["imports"])
    few, many = (cpu(costs[str(size)]) for size in sizes)
    each = 1000 * (many - few) / (sizes[1] - sizes[0])
    return [
        Figure(subject, '`python -c "import pydantic, yaml"`', theirs, "s"),
        Figure(subject, f"`check` of a file with {pools} pools", ours, "s"),
        Figure(subject, "the second in times of the first", times, "times", _TIMES_OF_IMPORTS),
        Figure(subject, f"`check` of a file with {sizes[1]:,} pools", many, "s"),
        Figure(subject, "each further pool", each, "ms"),
    ]


def preview(setting: Setting) -> list[Figure]:
    """`preview` beside importing the SDK classes that it registers, the ordinary way."""
    subject = "preview"
    shown = run(setting.command("preview", STACK, "--json"), cwd=setting.root)
    imports = import_statements(json.loads(shown.output)["resources"])
    commands = {
        "imports": [sys.executable, "-c", imports],
        "preview": setting.command("preview", STACK),
    }
    costs = interleaved(commands, cwd=setting.root, rounds=setting.rounds)
    ours, theirs = cpu(costs["preview"]), cpu(costs["imports"])
    times = ratio(costs["preview"], costs["imports"])
    return [
        Figure(subject, "importing the SDK classes of the stack", theirs, "s"),
        Figure(subject, f"`preview {STACK}`", ours, "s"),
        Figure(subject, "the second in times of the first", times, "times", _TIMES_OF_SDK),
        Figure(subject, "peak memory of the imports", _peak(costs["imports"]), "MB"),
        Figure(subject, "peak memory of the preview", _peak(costs["preview"]), "MB", _PEAK_MB),
    ]


def _peak(costs: list[Cost]) -> float:
    return max(cost.peak for cost in costs)


def pools(setting: Setting) -> list[Figure]:
    """What a further resource costs."""
    subject, many = "many pools", 100
    counts = {
        size: len(
            json.loads(run(setting.preview(size, "--json"), cwd=setting.root).output)["resources"]
        )
        for size in (1, many)
    }
    commands = {str(size): setting.preview(size) for size in counts}
    costs = interleaved(commands, cwd=setting.root, rounds=setting.rounds)
    one, hundred = cpu(costs["1"]), cpu(costs[str(many)])
    each = 1000 * (hundred - one) / (counts[many] - counts[1])
    return [
        Figure(subject, f"`preview` of 1 pool, {counts[1]} resources", one, "s"),
        Figure(subject, f"`preview` of {many} pools, {counts[many]:,} resources", hundred, "s"),
        Figure(subject, "each further resource", each, "ms", _MS_PER_RESOURCE),
        Figure(subject, f"peak memory with {many} pools", _peak(costs[str(many)]), "MB"),
    ]


def growth(setting: Setting) -> list[Figure]:
    """How the time of each step grows with the number of pools."""
    times: dict[int, list[dict[str, float]]] = {size: [] for size in setting.sizes}
    for number in range(setting.rounds):
        for size in setting.sizes:
            if size == setting.sizes[-1] and number % 2:  # these take most of the time
                continue
            file = str(write_stack_file(setting.scratch, size))
            command = setting.script("step_times.py", str(setting.root), file)
            times[size].append(json.loads(run(command, cwd=setting.root).output))
    return [figure for step in times[setting.sizes[0]][0] for figure in _growth(step, times)]


def _growth(step: str, times: dict[int, list[dict[str, float]]]) -> list[Figure]:
    typical = {size: median(each[step] for each in found) for size, found in times.items()}
    *_, middle, large = typical.items()
    listed = "; ".join(f"{size:,}: {1000 * seconds:,.1f} ms" for size, seconds in typical.items())
    return [Figure("growth", f"{step} ({listed})", exponent(middle, large), "exponent", _LINEAR)]


def stages(setting: Setting) -> list[Figure]:
    """Where the time of a preview goes."""
    found: list[dict[str, float]] = []
    for number in range(setting.rounds + 1):
        cost = run(setting.script("stage_times.py", STACK), cwd=setting.root)
        times: dict[str, Any] = json.loads(cost.output)
        times["ending the process"] = cost.cpu - sum(times.values())
        if number:
            found.append(times)
    return [
        Figure("where the time goes", stage, 1000 * median(each[stage] for each in found), "ms")
        for stage in found[0]
    ]


def mig(setting: Setting) -> list[Figure]:
    """How fast MIG layouts are checked."""
    found = []
    for _ in range(setting.rounds):
        cost = run(setting.script("mig_checks.py"), cwd=setting.root)
        found.append(json.loads(cost.output))
    text = f"{found[0]['checks']:,} random layouts checked, {found[0]['fitting']:,} of them fit"
    seconds = median(each["seconds"] for each in found)
    return [Figure("MIG layouts", text, seconds, "s", _LAYOUTS_SECONDS)]
