"""The documentation of the rules, written from the rules themselves.

`python tools/docs/make_pages.py` writes it: an index and a page for each theme, on which each rule
has an anchor of its name, at which its violations point.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eks_gpushare.facts.index import names_of
from eks_gpushare.findings.pages import subject_of
from gpushare_policies.presets import presets
from gpushare_policies.registry import THEMES
from gpushare_policies.rule import AnyRule, ResourcePolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_HEAD = """\
# Rules of the policy pack

By theme, as [the pack](../policies.md) runs them, each with its level in the
[presets](../policies.md#presets); without one it is that of `recommended`.
"""


def _level(rule: AnyRule) -> str:
    return "advisory" if rule.enforcement_level is None else rule.enforcement_level.value


def _severity(rule: AnyRule) -> str:
    return "" if rule.severity is None else rule.severity.value


def _references(rule: AnyRule) -> str:
    named: list[str] = []
    if (framework := rule.framework) is not None:
        parts = (framework.name, framework.version, framework.reference)
        named.append(" ".join(part for part in parts if part))
    named.extend(rule.tags or ())
    return ", ".join(named)


def _theme(name: str) -> str:
    return {"mig": "MIG", "supply_chain": "Supply chain"}.get(name, name.capitalize())


def _table(theme: str, rules: tuple[AnyRule, ...]) -> Iterator[str]:
    of_presets = presets()
    yield f"| rule | what | {' | '.join(of_presets)} | severity |"
    yield "|---|---|---|---|---|---|"
    for rule in rules:
        link = f"[{rule.name}]({_file(theme)}#{rule.name})"
        levels = " | ".join(preset[rule.name] for preset in of_presets.values())
        yield f"| {link} | {rule.description} | {levels} | {_severity(rule)} |"
    yield ""


def _file(theme: str) -> str:
    return f"{theme.replace('_', '-')}.md"


def _section(rule: AnyRule) -> str:
    scope = "Looks at" if isinstance(rule, ResourcePolicy) else "Looks at the whole stack, of it at"
    lines = [
        f"## {rule.name}",
        "",
        rule.description,
        "",
        f"* {_level(rule).capitalize()}, severity {_severity(rule)}.{_said_elsewhere(rule)}",
        f"* {scope} {', '.join(f'`{token}`' for token in rule.applies_to)}.",
    ]
    if references := _references(rule):
        lines.append(f"* References: {references}.")
    if isinstance(rule, ResourcePolicy) and rule.repairs:
        repaired = ", ".join(f"`{token}`" for token in rule.repairs)
        lines.append(f"* At the level `remediate` it repairs {repaired}.")
    if rule.unseen:
        lines.append(f"* Does not see: {rule.unseen}")
    lines += ["", "**To comply:**", "", rule.remediation_steps or "", ""]
    lines += ["**Configuring it:**", "", *_settings(rule)]
    return "\n".join(lines)


def _said_elsewhere(rule: AnyRule) -> str:
    """The codes under which `check`, `lint` and the lab say the same."""
    codes = sorted(names_of(rule.name) - {rule.name})
    return f" Said elsewhere as {', '.join(map(_linked, codes))}." if codes else ""


def _linked(name: str) -> str:
    subject = subject_of(name) if name.startswith("GPU") else None
    return f"[{name}](../findings/{subject.slug}.md#{name.lower()})" if subject else f"`{name}`"


def _settings(rule: AnyRule) -> Iterator[str]:
    shown = {setting.name: setting.json_schema()["default"] for setting in rule.settings}
    level = _level(rule)
    yield "```json"
    yield json.dumps({rule.name: {"enforcementLevel": level, **shown}}, indent=2)
    yield "```"
    yield ""
    for setting in rule.settings:
        kind = setting.json_schema()["type"]
        default = json.dumps(setting.json_schema()["default"])
        yield f"* `{setting.name}` ({kind}, default `{default}`): {setting.description}"
    yield "* `exemptions`: [resources that may break it](../policies.md#exemptions) until a day."
    yield ""


def pages() -> Mapping[str, str]:
    """All pages, by their paths below `docs`."""
    index = [_HEAD]
    made: dict[str, str] = {}
    for theme, rules in THEMES.items():
        index += [f"## {_theme(theme)}", "", *_table(theme, rules)]
        sections = [f"# Policies: {_theme(theme)}\n", *map(_section, rules)]
        made[f"policies/{_file(theme)}"] = "\n".join(sections)
    index += ["```{toctree}", ":hidden:", "", *(_file(theme) for theme in THEMES), "```", ""]
    return {"policies/index.md": "\n".join(index), **made}
