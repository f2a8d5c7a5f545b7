"""A page for each finding of `lint`, from the files of its example.

`examples/lint/GPUnnnn` has files that are wrong and the same files as they are right: `bad.yaml`
and `good.yaml`, or of another ending, or folders `bad` and `good` where one is not enough. What is
held against a stack has its file beside them: `against.yaml`, or `against-bad.yaml` and
`against-good.yaml`.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.findings.text import print_findings
from eks_gpushare.lint.all_rules import lint_rules
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.files import given_files
from eks_gpushare.lint.stack_side import read_stack

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_GROUPS = {
    "100": "Files, and single objects of Kubernetes",
    "101": "Files, and single objects of Kubernetes",
    "102": "Configurations of the device plugin",
    "103": "MIG layouts and values of charts",
    "104": "MIG layouts and values of charts",
    **dict.fromkeys(
        ("105", "106", "107", "108", "109"), "Karpenter, eksctl, Terraform and other formats"
    ),
    "11": "What has to agree between files",
    "12": "Workloads against a stack",
}
_INTRODUCTION = """\
What `eks-gpushare lint` says about [files that others wrote](../lint.md). Rules about what has to
agree are those of the policy pack too, which sees them in a program's resources.\
"""


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


def linted(code: str, side: str) -> tuple[FileReport, ...]:
    """What is found in one side of an example, its files together."""
    path = stack_of(code, side)
    stack = read_stack(path) if path is not None else None
    return lint_files(given_files(str(each) for each in files_of(code, side)), stack)


def pages() -> Iterator[tuple[str, str]]:
    """File name and text of every page."""
    with_example = set(codes())
    for rule in lint_rules():
        yield f"{rule.id}.md", _page(rule, has_example=rule.id in with_example)


def index() -> list[str]:
    """The part of the index that lists them."""
    parts = ["## Files of others", _INTRODUCTION]
    rules = lint_rules()
    for title in dict.fromkeys(_GROUPS.values()):
        digits = tuple(f"GPU{each}" for each, group in _GROUPS.items() if group == title)
        rows = [
            f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {rule.title} |"
            for rule in rules
            if rule.id.startswith(digits)
        ]
        if rows:
            head = ["| code | severity | rule |", "|---|---|---|"]
            parts += [f"### {title}", "\n".join([*head, *rows])]
    return parts


def _page(rule: Rule, *, has_example: bool) -> str:
    parts = [
        f"# {rule.id}: {rule.title.removesuffix('.')}",
        f"Severity: {_SEVERITIES[rule.severity]}.",
        rule.why,
    ]
    if has_example:
        parts += [
            "## Wrong",
            *_shown(rule.id, "bad"),
            "## What `lint` prints",
            f"```text\n{_printed(rule.id)}```",
            "## Right",
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
