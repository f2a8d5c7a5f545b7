"""A page for each subject of findings, with an anchor for each code, and their index."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import finding_examples
import lint_pages
from lint_pages import head

from eks_gpushare.findings.pages import SUBJECTS, subject_of
from eks_gpushare.findings.text import print_findings
from eks_gpushare.lint.all_rules import lint_rules
from eks_gpushare.rules import all_rules, checks_of, defect_rules, edit_rules
from eks_gpushare.rules.registry import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from finding_examples import Example, Side

    from eks_gpushare.findings.rule import Rule

_WIDTH = 100
_INTRODUCTION = """\
What `eks-gpushare check`, `preview` and `lint` say, by subject. Codes are stable: what one means
does not change, and none is used twice. An *error* of `check` refuses the stack, a *warning* lets
the file through and says so, an *info* is worth knowing. `eks-gpushare findings CODE` explains one
in the terminal. What `lab run` finds is with [the lab](../lab.md#findings-of-the-lab).

What is said in several places has a code in each, and one title, reason and severity: all of its
names stand with it, and [silencing one](../lint.md#let-a-finding-be) silences the others.\
"""
_COMPONENTS = {
    Scope.CLUSTER: ("EksCluster",),
    Scope.NETWORK: ("Network",),
    Scope.SYSTEM_NODES: ("SystemNodes",),
    Scope.POOL: ("GpuPool", "KarpenterPool"),
    Scope.KARPENTER: ("Karpenter",),
    Scope.CHARTS: ("DevicePlugin", "GpuOperator"),
    Scope.TAGS: ("EksCluster", "Network", "SystemNodes", "GpuPool", "Karpenter", "KarpenterPool"),
}
"""The components that run a scope's checks where they stand alone."""
_PRINTED_BY = {False: "check", True: "preview --before"}
_SEVERITIES = {
    "error": "error: the stack is refused",
    "warning": "warning: `check` lets the file through and says so",
    "info": "info: worth knowing",
}


def pages() -> Iterator[tuple[str, str]]:
    """File name and text of every page."""
    told = dict(sections())
    for subject in SUBJECTS:
        codes = [code for code in sorted(told) if subject_of(code) == subject]
        if codes:
            yield (
                f"{subject.slug}.md",
                "\n".join([f"# {subject.title}\n", *(told[code] for code in codes)]),
            )
    yield "index.md", _index(told)


def sections() -> Iterator[tuple[str, str]]:
    """What there is to say of each finding, by its code."""
    for rule in all_rules():
        yield rule.id, _page(rule, finding_examples.example(rule.id))
    for rule in defect_rules():
        yield rule.id, _page_of_a_defect(rule)
    yield from lint_pages.sections()


def _page_of_a_defect(rule: Rule) -> str:
    said = (
        "No stack file should have this finding, so there is no example of it. It says which check "
        "stopped and why. Other checks have run, and other files of the same call were checked. "
        "Please report it, with the finding and the part of the file that it names."
    )
    parts = [*head(rule, _SEVERITIES), said]
    return "\n\n".join(parts) + "\n"


def _page(rule: Rule, example: Example) -> str:
    parts = [
        *head(rule, _SEVERITIES),
        *(["**Before:**", _yaml(example.before, refused=False)] if example.before else []),
        "**Wrong:**",
        _yaml(example.wrong, refused=not finding_examples.checked(example.wrong.text).ok),
        f"**What `{_PRINTED_BY[rule in edit_rules()]}` prints:**",
        f"```text\n{printed(example)}```",
        "**Right:**",
        *([example.stays] if example.stays else []),
        _yaml(example.right, refused=False),
        *_who(rule),
        f"Source: <{rule.source}>",
    ]
    if not example.wrong.whole:
        place = parts.index("**Wrong:**") + 1
        parts.insert(place, "In an environment that is right otherwise:")
    return "\n\n".join(parts) + "\n"


def _who(rule: Rule) -> list[str]:
    """Where the rule is checked; nothing of those that hold wherever a value is read."""
    if rule in edit_rules():
        return ["About two files: the one that is up, and its edit."]
    scopes = {each.scope for each in checks_of() if rule in each.rules}
    components = [name for scope, names in _COMPONENTS.items() if scope in scopes for name in names]
    if not scopes:
        return []
    if not components:
        return ["Checked in stack files and by `GpuSharingEnvironment`."]
    if rule.not_alone:
        said = f"No component alone has it: {rule.not_alone[0].lower()}{rule.not_alone[1:]}"
        return [f"Checked in stack files and by `GpuSharingEnvironment`. {said}"]
    listed = ", ".join(f"`{name}`" for name in components)
    return [f"Checked in stack files, by `GpuSharingEnvironment`, and alone by {listed}."]


def printed(example: Example) -> str:
    """The finding of an example as the command prints it; lines only of a file that is shown."""
    report = example.wrong.report
    found = [f for f in report.findings if f.code == example.code and f.path == example.path]
    out = io.StringIO()
    whole = example.wrong.whole
    lines = [(report.line_of(f) if whole else None, f) for f in found]
    print_findings(lines, out, width=_WIDTH)
    return out.getvalue()


def _yaml(side: Side, *, refused: bool) -> str:
    language = "text" if "\t" in side.text else "yaml"
    note = "<!-- refused -->\n" if refused and side.whole else ""
    return f"{note}```{language}\n{side.text}```"


def _index(told: Mapping[str, str]) -> str:
    parts = ["# Findings", _INTRODUCTION]
    rules = {rule.id: rule for rule in (*all_rules(), *defect_rules(), *lint_rules())}
    for subject in SUBJECTS:
        rows = [
            f"| [{code}]({subject.slug}.md#{code.lower()}) | {rules[code].severity} "
            f"| {rules[code].title} |"
            for code in sorted(told)
            if subject_of(code) == subject
        ]
        if rows:
            head = ["| code | severity | rule |", "|---|---|---|"]
            parts += [f"## {subject.title}", "\n".join([*head, *rows])]
    parts.append("```{toctree}\n:hidden:\n:glob:\n\n*\n```")
    return "\n\n".join(parts) + "\n"
