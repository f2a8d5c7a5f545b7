"""A page for each finding, and their index."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import finding_examples
import lint_pages

from eks_gpushare.findings.text import print_findings
from eks_gpushare.rules import all_rules, checks_of, defect_rules, edit_rules
from eks_gpushare.rules.registry import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from finding_examples import Example, Side

    from eks_gpushare.findings.rule import Rule

_WIDTH = 100
_INTRODUCTION = """\
What `eks-gpushare check` and `preview` say about a stack file. Codes are stable: what one means
does not change, and none is used twice. An *error* refuses the stack, a *warning* lets the file
through and says so, an *info* is worth knowing. `eks-gpushare findings CODE` explains one in the
terminal. Examples are whole stack files, or parts of one that is right otherwise.
What `lab run` finds is with [the lab](../lab.md#findings-of-the-lab).\
"""
_GROUPS = {
    "0": "The file",
    "1": "Instance types",
    "2": "Sharing",
    "3": "Names, labels, taints and tags",
    "4": "Nodes: how many, how bought, where",
    "5": "Machine images and disks",
    "6": "Cluster and network",
    "7": "Charts, and what can be built",
    "80": "Quotas and costs",
    "81": "Edits of a stack that is up",
    "82": "Workloads and their pools",
    "83": "Workloads: pods, images and what they follow",
    "84": "Warm room and KEDA",
    "85": "Workloads and the nodes that come for them",
}
"""Titles by what the number of a code begins with."""
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
    for rule in all_rules():
        yield f"{rule.id}.md", _page(rule, finding_examples.example(rule.id))
    for rule in defect_rules():
        yield f"{rule.id}.md", _page_of_a_defect(rule)
    yield from lint_pages.pages()
    yield "index.md", _index()


def _page_of_a_defect(rule: Rule) -> str:
    said = (
        "No stack file should have this finding, so there is no example of it. It says which check "
        "stopped and why. Other checks have run, and other files of the same call were checked. "
        "Please report it, with the finding and the part of the file that it names."
    )
    heading = f"# {rule.id}: {rule.title.removesuffix('.')}"
    parts = [heading, f"Severity: {_SEVERITIES[rule.severity]}.", rule.why, said]
    return "\n\n".join(parts) + "\n"


def _page(rule: Rule, example: Example) -> str:
    parts = [
        f"# {rule.id}: {rule.title.removesuffix('.')}",
        f"Severity: {_SEVERITIES[rule.severity]}.",
        rule.why,
        *(["## Before", _yaml(example.before, refused=False)] if example.before else []),
        "## Wrong",
        _yaml(example.wrong, refused=not finding_examples.checked(example.wrong.text).ok),
        f"## What `{_PRINTED_BY[rule in edit_rules()]}` prints",
        f"```text\n{printed(example)}```",
        "## Right",
        *([example.stays] if example.stays else []),
        _yaml(example.right, refused=False),
        *_who(rule),
        f"Source: <{rule.source}>",
    ]
    if not example.wrong.whole:
        parts.insert(
            4 if example.before is None else 6, "In an environment that is right otherwise:"
        )
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


def _index() -> str:
    parts = ["# Findings", _INTRODUCTION]
    for digits, title in _GROUPS.items():
        rows = [
            f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {rule.title} |"
            for rule in sorted((*all_rules(), *defect_rules()))
            if rule.id.startswith(f"GPU{digits}")
        ]
        parts += [f"## {title}", "\n".join(["| code | severity | rule |", "|---|---|---|", *rows])]
    parts += lint_pages.index()
    parts.append("```{toctree}\n:hidden:\n:glob:\n\nGPU*\n```")
    return "\n\n".join(parts) + "\n"
