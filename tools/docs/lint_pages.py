"""What there is to say of each finding of `lint`, from the files of its example.

`examples/lint/GPUnnnn` has files that are wrong and the same files as they are right: `bad.yaml`
and `good.yaml`, or of another ending, or folders `bad` and `good` where one is not enough. What is
held against a stack has its file beside them: `against.yaml`, or `against-bad.yaml` and
`against-good.yaml`.
"""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.facts.index import names_of
from eks_gpushare.findings.pages import subject_of
from eks_gpushare.findings.sets import KUBERNETES, set_of
from eks_gpushare.findings.text import print_findings
from eks_gpushare.lint.all_rules import lint_rules
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.manifests.files import given_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.lint.report import FileReport

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "lint"
SIDES = ("bad", "good")
_WIDTH = 100
_LANGUAGES = {"yml": "yaml", "md": "markdown", "sh": "shell", "txt": "text", "tf": "text"}
_SEVERITIES = {
    "error": "error: it will not work, or is unsafe, for certain",
    "warning": "warning: it works otherwise than it says",
    "info": "info: worth knowing, or not to be decided from the files alone",
}


def codes() -> list[str]:
    """Codes that have an example."""
    return sorted(folder.name for folder in FOLDER.glob("GPU*") if folder.is_dir())


def files_of(code: str, side: str) -> list[Path]:
    """The files of one side of an example, in order."""
    folder = FOLDER / code
    if (folder / side).is_dir():
        return sorted(each for each in (folder / side).rglob("*") if each.is_file())
    return sorted(folder.glob(f"{side}.*"))


def stack_of(code: str, side: str) -> Path | None:
    """The stack that one side of an example is held against; None for most."""
    names = (f"against-{side}.yaml", "against.yaml")
    return next((each for name in names if (each := FOLDER / code / name).is_file()), None)


@cache
def linted(code: str, side: str) -> tuple[FileReport, ...]:
    """What is found in one side of an example, its files together."""
    path = stack_of(code, side)
    stack = read_stack(path) if path is not None else None
    return lint_files(given_files(str(each) for each in files_of(code, side)), stack)


def sections() -> Iterator[tuple[str, str]]:
    """What there is to say of each finding, by its code."""
    with_example = set(codes())
    for rule in lint_rules():
        yield rule.id, _section(rule, has_example=rule.id in with_example)


_OF_ANY_OBJECT = (
    "Of the set `kubernetes`: told of objects about GPUs, and of all others where "
    "[the set is on](../adopt-lint.md#what-the-configuration-has)."
)


def head(rule: Rule, severities: Mapping[str, str]) -> list[str]:
    """How a finding's explanation begins: its code, which is its anchor, and all of its names."""
    others = sorted(names_of(rule.id) - {rule.id})
    named = [f"Said elsewhere as {', '.join(map(_linked, others))}."] if others else []
    return [
        f"## {rule.id}",
        f"**{rule.title}**",
        f"Severity: {severities[rule.severity]}.",
        *([_OF_ANY_OBJECT] if set_of(rule.id) == KUBERNETES else []),
        *named,
        rule.why,
    ]


def _linked(name: str) -> str:
    if subject := subject_of(name) if name.startswith("GPU") else None:
        return f"[{name}]({subject.slug}.md#{name.lower()})"
    return f"`{name}`"


def _section(rule: Rule, *, has_example: bool) -> str:
    parts = [
        *head(rule, _SEVERITIES),
    ]
    if has_example:
        parts += [
            "**Wrong:**",
            *_shown(rule.id, "bad"),
            "**What `lint` prints:**",
            f"```text\n{_printed(rule.id)}```",
            "**Right:**",
            *_shown(rule.id, "good"),
        ]
    parts.append(f"Source: <{rule.source}>")
    return "\n\n".join(parts) + "\n"


def _shown(code: str, side: str) -> Iterator[str]:
    stack = stack_of(code, side)
    files = [*files_of(code, side), *([stack] if stack is not None else [])]
    for each in files:
        ending = each.suffix.removeprefix(".")
        if len(files) > 1:
            yield f"`{each.name}`:"
        fence = "````" if ending == "md" else "```"
        text = each.read_text(encoding="utf-8")
        yield f"{fence}{_LANGUAGES.get(ending, ending or 'text')}\n{text.rstrip()}\n{fence}"


def _printed(code: str) -> str:
    out = io.StringIO()
    for report in linted(code, "bad"):
        if report.found:
            out.write(f"{Path(report.file).name}:\n")
            shown = [(each.position, _within(each.finding, code)) for each in report.found]
            print_findings(shown, out, width=_WIDTH)
    return out.getvalue()


def _within(found: Finding, code: str) -> Finding:
    """A finding as told in the example's own folder, before its lines are broken."""
    above = str(FOLDER / code) + "/"
    message, fix = found.message.replace(above, ""), found.fix.replace(above, "")
    return replace(found, message=message, fix=fix)
