"""The page of the deployer's policy: written by hand, but for two tables."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.program.permissions.iam_actions import ACTIONS
from eks_gpushare.program.permissions.policy import deploy_policy
from eks_gpushare.program.run import run_program
from eks_gpushare.program.stack_config import read_stack_config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.permissions.iam_grants import Grant
    from eks_gpushare.program.permissions.policy import DeployPolicy

ROOT = Path(__file__).parents[2]

_STACKS = "| stack | statements | characters | managed policies |\n|---|---|---|---|\n"
_TYPES = "| type | on | actions |\n|---|---|---|\n"


def page(text: str) -> str:
    """The page with its tables as the code has them.

    Args:
        text: the page as it is.
    """
    for head, rows in ((_STACKS, _stacks()), (_TYPES, tuple(_types()))):
        before, _, rest = text.partition(head)
        after = rest.partition("\n\n")
        below = "".join(after[1:]) if after[1] else "\n"
        text = before + head + "\n".join(rows) + below
    return text


@cache
def _stacks() -> tuple[str, ...]:
    files = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
    return tuple(_row(file.name.split(".")[1], file) for file in files)


def _row(name: str, file: Path) -> str:
    found = _policy(name, file)
    cells = (f"`{name}`", len(found.statements), f"{found.characters:,}", len(found.split()))
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _policy(name: str, file: Path) -> DeployPolicy:
    config = read_stack_config(file).values
    recording = run_program(ROOT, project="eks-gpushare", stack=name, config=config)
    if recording.error is not None:
        raise RuntimeError(f"{file.name}: {recording.error}")
    return deploy_policy(recording, region=config["aws:region"])


def _types() -> Iterator[str]:
    for token, grants in ACTIONS.items():
        for grant in grants:
            actions = ", ".join(f"`{action}`" for action in grant.actions)
            yield f"| `{token}` | {_on(grant)} | {actions} |"


def _on(grant: Grant) -> str:
    names = [_short(resource) for resource in grant.resources]
    if grant.shared:
        names.append("{}/{{{}}}` of any account".format(*grant.shared))
    text = ", ".join(f"`{name}`" for name in dict.fromkeys(names)).replace(
        "any account`", "any account"
    )
    tag = {"new": "tagged as the stack's by the call", "own": "tagged as the stack's"}
    if grant.named:
        text += f", {tag[grant.named.partition(' ')[0]]}"
    if grant.condition:
        _, key, value = grant.condition
        text += f", if `{key}` is `{_short(value)}`"
    if grant.bounded:
        text += ", only with the stack's boundary, where it has one"
    if grant.given:
        text += f"; with `{grant.given}`"
    return text


def _short(template: str) -> str:
    """An ARN without what is the same in all of them."""
    return template.split(":", 5)[5] if template.startswith("arn:") else template
