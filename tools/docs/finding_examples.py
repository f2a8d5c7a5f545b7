"""The examples of findings: what is wrong, and how it is right.

`examples/findings/GPUnnn.yaml` has four keys: `path`, where the finding is; `also`, codes of other
errors that cannot be kept apart from it; `wrong` and `right`. Those two are either the text of a
whole stack file or a fragment that is merged over `base.yaml`, in which `null` removes a key. A
finding about an edit has `before` too, the fragment that both are edits of. A note that no file
silences says so under `stays`.

In a stack file `null` is a value, and mostly a wrong one. So an example that removes a key is shown
as the whole stack files that come out.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.config.project import ENVIRONMENT_KEY
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.program.edits.refused import check_edit
from eks_gpushare.stack_file.check import StackReport, check_stack_file
from eks_gpushare.stack_file.file import stack_file_of
from eks_gpushare.stack_file.yaml import read

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "findings"
TODAY = date(2026, 11, 21)
"""The day on which examples are checked, since the support of versions ends on a day."""
REGION = "us-west-2"
SIDES = ("before", "wrong", "right")


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Side:
    """One half of an example."""

    text: str
    """As it stands in the file of the example: a fragment, or a whole stack file."""
    whole: bool
    """Whether it is a whole stack file."""
    stack_file: str
    """The stack file that it makes."""
    before: Side | None = None
    """What is up when the edit is made; None where it is about no edit."""

    @cached_property
    def report(self) -> StackReport:
        """What is found in that stack file, asked once: who reads an example may ask nothing."""
        report = checked(self.stack_file)
        old, new = self.before and self.before.report.environment, report.environment
        if old and new:
            edited = check_edit(old, new, (_region(self.before), _region(self.stack_file)))
            report = report._replace(findings=(*report.findings, *edited))
        return report


@dataclass(frozen=True, slots=True)
class Example:
    """One finding, wrong and right."""

    code: str
    path: str
    also: frozenset[str]
    wrong: Side
    right: Side
    before: Side | None = None
    """What is up when the edit is made; None where the finding is about a file alone."""
    stays: str = ""
    """Why the right side has the finding too. Default: it has not."""


def codes() -> list[str]:
    """Codes that have an example."""
    return sorted(file.stem for file in FOLDER.glob("GPU*.yaml"))


@cache
def example(code: str) -> Example:
    """The example of a code."""
    text = (FOLDER / f"{code}.yaml").read_text(encoding="utf-8")
    data = _read(text)
    whole = any(removes(data[side]) for side in SIDES if side in data)

    def side(name: str, before: Side | None = None) -> Side:
        given = data[name]
        if whole and not isinstance(given, str):
            given = shown(merge_values(base(), given))
        return _side(given, _block(text, name), before)

    before = side("before") if "before" in data else None
    return Example(
        code,
        data["path"],
        frozenset(data.get("also", ())),
        side("wrong", before),
        side("right", before),
        before,
        data.get("stays", ""),
    )


def removes(fragment: Any) -> bool:
    """Whether a fragment takes a key away, which no reader of a page could repeat."""
    if isinstance(fragment, dict):
        return any(removes(value) for value in fragment.values())
    if isinstance(fragment, list):
        return any(removes(value) for value in fragment)
    return fragment is None


def findings(
    fragment: dict[str, Any], code: str, *, region: str = REGION, today: date = TODAY
) -> list[tuple[str, str]]:
    """Path and message of the findings of a kind, in the base with a fragment merged over it."""
    return [(f.path, f.message) for f in _of_kind(fragment, code, region, today)]


def fixes(fragment: dict[str, Any], code: str, today: date = TODAY) -> list[str]:
    """What the findings of a kind say is to be done, in the base with a fragment merged over it."""
    return [f.fix for f in _of_kind(fragment, code, today=today)]


def _of_kind(
    fragment: dict[str, Any], code: str, region: str = REGION, today: date = TODAY
) -> list[Finding]:
    found = checked(stack_file_text(merge_values(base(), fragment), region), today).findings
    stopped = [each.message for each in found if each.code == CHECK_FAILED.id]
    if stopped and code != CHECK_FAILED.id:
        raise AssertionError(stopped)
    return [each for each in found if each.code == code]


def stack_file_text(environment: dict[str, Any], region: str = REGION) -> str:
    """A stack file with the given environment."""
    config = {"aws:region": region, ENVIRONMENT_KEY: environment}
    return str(yaml.dump({"config": config}, Dumper=_DUMPER, sort_keys=False, allow_unicode=True))


class _Readable(yaml.SafeDumper):
    """YAML as people write it: what holds no further block in braces, long texts as blocks."""

    def choose_scalar_style(self) -> str:
        """Double quotes where quotes are needed, as in all stack files here."""
        style: str = super().choose_scalar_style()
        return '"' if style == "'" else style


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style)


_Readable.add_representer(str, _text)


def shown(environment: dict[str, Any], region: str = REGION) -> str:
    """A stack file with the given environment, for a page."""
    config = {"aws:region": region, ENVIRONMENT_KEY: environment}
    return str(
        yaml.dump(
            {"config": config},
            Dumper=_Readable,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=None,
            width=100,
        )
    )


def checked(text: str, today: date = TODAY) -> StackReport:
    """What is found in a stack file on a day, by default that of the examples."""
    return check_stack_file(
        stack_file_of(text, "Pulumi.example.yaml"), today=today, program=lambda: FOLDER
    )


def base() -> dict[str, Any]:
    """The environment that the fragments change."""
    return deepcopy(_base())


@cache
def _base() -> dict[str, Any]:
    data: dict[str, Any] = _read((FOLDER / "base.yaml").read_text(encoding="utf-8"))
    return data


def _side(given: Any, block: str, before: Side | None = None) -> Side:
    whole = isinstance(given, str)
    text = given if whole else stack_file_text(merge_values(base(), given))
    return Side(given if whole else block, whole, text, before)


def _region(side: Side | str | None) -> str | None:
    """The region of a stack file; a fragment is merged over the base, which is in `REGION`."""
    if isinstance(side, Side):
        return _region(side.text) if side.whole else REGION
    config = yaml.load(side, Loader=_LOADER).get("config", {}) if side else {}  # noqa: S506
    return config.get("aws:region")


def _block(text: str, key: str) -> str:
    """What stands below a key of an example, less its indentation."""
    lines = text.split(f"\n{key}:", 1)[1].split("\n")[1:]
    below = []
    for line in lines:
        if line and not line.startswith(" "):
            break
        below.append(line[2:])
    return "\n".join(below).rstrip("\n") + "\n"


def _read(text: str) -> Any:
    document = read(text, "example")
    if document.problems:
        raise ValueError(document.problems[0].message)
    return document.value
