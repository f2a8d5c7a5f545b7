"""What is said of a file as such, and of a judgement at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.problem import NotSeen
from eks_gpushare.lint.report import Placed
from eks_gpushare.lint.rules.files import NOT_READ, UNREADABLE
from eks_gpushare.manifests.files import ENDINGS

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.stack_file.yaml_problems import YamlProblem

_YAML: Final = (".yaml", ".yml", ".json", ".tmpl", ".gotmpl")
_FIXES: Final = {
    "size": "give a smaller file, or parts of it",
    "depth": "give a file with fewer levels",
    "alias": "define the anchor above its use, in the same document",
    "documents": "begin each document with ---",
}
"""What to do where the parser does not tell."""
NO_KIND = "It is of no kind that is read"
GIVE = "Leave it out, or see docs/lint.md for what is read."


def finding(judgement: Judgement, at: tuple[str | int, ...]) -> Finding:
    """A judgement as a finding.

    Args:
        judgement: What is wrong, or cannot be decided.
        at: Its place in the file.
    """
    if isinstance(judgement, NotSeen):
        what = judgement.what.rstrip(".")
        message = (
            f"It cannot be decided, since something is not known: {what}. {judgement.rule.title}"
        )
        return judgement.rule.finding(at, message, "Give files with the final values.", "info")
    rule = judgement.rule
    return rule.finding(at, judgement.message, judgement.fix, judgement.severity)


def unparsed(problem: YamlProblem) -> Placed:
    """What keeps a file from being read, at its place."""
    message = sentence(problem.message)
    fix = problem.fix or _FIXES.get(problem.kind, "correct it, or leave the file out")
    found = UNREADABLE.finding(problem.path, message, sentence(fix))
    return Placed(found, Position(problem.line, problem.column))


def unreadable(why: str) -> Finding:
    """A file that cannot be read at all."""
    return UNREADABLE.finding((), f"It cannot be read: {why}.", "Give a file that can be read.")


def not_read(why: str) -> Finding:
    """A file that is passed over."""
    return NOT_READ.finding((), f"It is not read: {why}.", GIVE)


def sentence(text: str) -> str:
    """A text with a capital letter and a full stop; empty of an empty one."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def is_template(text: str, line: int) -> bool:
    """Whether what cannot be read is a template: of an engine, or of `envsubst`."""
    lines = text.splitlines()
    return "{{" in text or "${" in "".join(lines[line - 1 : line])


def is_yaml(name: str) -> bool:
    """Whether a file is one of YAML or JSON by its name."""
    return name.lower().endswith(_YAML)


def looks_like_yaml(name: str, text: str) -> bool:
    """Whether a file of no known ending begins as a manifest does."""
    if name.lower().endswith(ENDINGS):
        return False
    return text.lstrip().startswith(("apiVersion:", "---", "{")) or "\napiVersion:" in text


def beyond(files: int, most: int) -> Finding:
    """What is said once of all files that are not read.

    Args:
        files: How many these are.
        most: Keys and values that files have together, at most.
    """
    more = f" and {files - 1:,} other{'s' if files > 2 else ''}" if files > 1 else ""  # noqa: PLR2004
    message = (
        f"This file{more} cannot be read: files that may belong together are held in memory "
        f"together, and have {most:,} keys and values at most."
    )
    fix = "Leave generated files out by exclude in .gpushare-lint.yaml, or give fewer at once."
    return UNREADABLE.finding((), message, fix)
