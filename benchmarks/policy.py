"""What running the policy pack takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from measure import cpu, interleaved, run
from report import Figure
from stack_files import write_stack_file

if TYPE_CHECKING:
    from subjects import Setting

STACK = "time-slicing"

_POOLS = 12
"""So many that a stack has more resources than are judged."""
_RESOURCES = 100
_JUDGED_MS = 50
_SECONDS = 1.2


def policy(setting: Setting) -> list[Figure]:
    """The whole command, and the pack alone."""
    subject = "policy"
    commands = {"policy": setting.command("policy", STACK)}
    whole = cpu(interleaved(commands, cwd=setting.root, rounds=setting.rounds)["policy"])
    file = str(write_stack_file(setting.scratch, _POOLS))
    words = (str(setting.root), file, str(_RESOURCES), str(4 * setting.rounds))
    told = json.loads(run(setting.script("policy_times.py", *words), cwd=setting.root).output)
    text = f"{told['resources']} resources against the {told['rules']} rules of the pack"
    return [
        Figure(subject, f"`policy {STACK}`, from start to verdict", whole, "s", _SECONDS),
        Figure(subject, text, 1000 * told["seconds"], "ms", _JUDGED_MS),
    ]
