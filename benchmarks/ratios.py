"""The ratios of CPU time and memory that are promised, and those that were measured last.

A ratio of two processes that ran in turn says the same on a busy machine and on an idle one, so the
nightly run fails where one is more than a tenth above what is kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from measure import interleaved, least_ratio, run
from report import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from subjects import Setting

KEPT = Path(__file__).with_name("ratios.json")
SUBJECT = "ratios"

_STACK = "time-slicing"
_GROWTH = 1.1
_SIZES = (1_000, 10_000)
_TIMES_OF_IMPORTS = 1.6
_TIMES_OF_PREVIEW = 1.5
_TIMES_OF_ONE_STACK = 4
_TIMES_OF_FEW_RESOURCES = 1.2

# What no check of a stack file can do without: the classes of pydantic that make a model.
_MODEL = "import pydantic, yaml\nclass Model(pydantic.BaseModel):\n    name: str"
# The least of it: pydantic imports what looks for its plugins even where they are turned off.
_NO_PLUGINS = """import sys, types
loader = sys.modules["pydantic.plugin._loader"] = types.ModuleType("loader")
loader.get_plugins = lambda: ()
"""


def ratios(setting: Setting) -> list[Figure]:
    """All of them that need nothing but this repository."""
    return [*_of_commands(setting), *_of_many_stacks(setting), *_of_many_resources(setting)]


def _of_commands(setting: Setting) -> list[Figure]:
    file = f"stacks/Pulumi.{_STACK}.yaml"
    commands = {
        "imports": [sys.executable, "-c", "import pydantic, yaml"],
        "model": [sys.executable, "-c", _MODEL],
        "least": [sys.executable, "-c", _NO_PLUGINS + _MODEL],
        "check": setting.command("check", file),
        "preview": setting.command("preview", file),
        "policy": setting.command("policy", file),
    }
    costs = interleaved(commands, cwd=setting.root, rounds=setting.rounds)

    def figure(ours: str, theirs: str, text: str, limit: float | None) -> Figure:
        return Figure(SUBJECT, text, least_ratio(costs[ours], costs[theirs]), "times", limit)

    imports, model = '`python -c "import pydantic, yaml"`', "these imports and one model of a field"
    return [
        figure("check", "imports", f"`check` of a file, in times of {imports}", _TIMES_OF_IMPORTS),
        figure("model", "imports", f"{model}, in times of the same", None),
        figure("least", "imports", f"{model}, without plugins, in times of the same", None),
        figure("check", "model", f"`check` of a file, in times of {model}", None),
        figure("policy", "preview", "`policy`, in times of its `preview`", _TIMES_OF_PREVIEW),
    ]


def _of_many_stacks(setting: Setting) -> list[Figure]:
    files = sorted(str(file) for file in (setting.root / "stacks").glob("Pulumi.*.yaml"))
    one = f"stacks/Pulumi.{_STACK}.yaml"
    found = []
    for verb in ("check", "preview", "policy"):
        commands = {"one": setting.command(verb, one), "all": setting.command(verb, *files)}
        costs = interleaved(commands, cwd=setting.root, rounds=setting.rounds)
        times = least_ratio(costs["all"], costs["one"])
        text = f"`{verb}` of all stacks, in times of one"
        found.append(Figure(SUBJECT, text, times, "times", _TIMES_OF_ONE_STACK))
    return found


def _of_many_resources(setting: Setting) -> list[Figure]:
    told: dict[int, list[dict[str, float]]] = {size: [] for size in _SIZES}
    for _ in range(2):
        for size in _SIZES:
            output = run(setting.script("pack_growth.py", str(size)), cwd=setting.root).output
            told[size].append(json.loads(output))
    few, many = (
        {each: min(one[each] for one in told[size]) for each in ("seconds", "bytes")}
        for size in _SIZES
    )
    return [
        Figure(
            SUBJECT,
            f"{what} of a resource in the pack at {_SIZES[1]:,}, in times of one at {_SIZES[0]:,}",
            many[each] / few[each],
            "times",
            _TIMES_OF_FEW_RESOURCES,
        )
        for each, what in (("seconds", "CPU"), ("bytes", "memory"))
    ]


def grown(figures: Sequence[Figure]) -> list[str]:
    """The ratios that have grown by more than a tenth since they were kept, in a sentence each.

    Those of this module have to be kept: under another name nothing would be held against them.
    """
    kept: dict[str, float] = json.loads(KEPT.read_text(encoding="utf-8"))
    named = _named(figures)
    unknown = [name for name in named if name not in kept and name.startswith(f"{SUBJECT}: ")]
    return [
        *(f"{name}: {named[name]:.2f}, and none is kept in {KEPT.name}" for name in unknown),
        *(
            f"{name}: {value:.2f}, and {kept[name]:.2f} is kept in {KEPT.name}"
            for name, value in named.items()
            if name in kept and value > _GROWTH * kept[name]
        ),
    ]


def keep(figures: Sequence[Figure]) -> None:
    """Write the ratios down, over those of the same names."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    kept |= {name: round(value, 3) for name, value in _named(figures).items()}
    KEPT.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def _named(figures: Sequence[Figure]) -> dict[str, float]:
    return {f"{each.subject}: {each.text}": each.value for each in figures if each.unit == "times"}
