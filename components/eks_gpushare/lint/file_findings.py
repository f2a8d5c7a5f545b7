"""What is said of files that cannot be read, or that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.lint.report import Placed
from eks_gpushare.lint.rules.files import NOT_READ, TEMPLATE, UNREADABLE
from eks_gpushare.manifests.files import ENDINGS

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.lint.hcl.syntax import Fault
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


def problem_of(problem: YamlProblem) -> Placed:
    """A place that no parser of YAML can read."""
    message = sentence(problem.message)
    fix = problem.fix or _FIXES.get(problem.kind, "correct it, or leave the file out")
    found = UNREADABLE.finding(problem.path, message, sentence(fix))
    return Placed(found, Position(problem.line, problem.column))


def not_hcl(fault: Fault) -> Placed:
    """A place in HCL that is passed over."""
    what = f"It is not read: {fault.what}. The rest of the file is."
    found = NOT_READ.finding((), what, "Correct it; terraform validate says more.")
    return Placed(found, Position(fault.place.line, fault.place.column))


def not_rendered(why: str) -> Placed:
    """A chart whose templates are not rendered: by helm's words, or as there is no helm."""
    if why:
        what = f"The chart is not rendered: {why.rstrip('.')}."
        fix = "Render it as it is installed, and give what comes of it."
    else:
        what = "Charts are not rendered, since no helm is on PATH, so templates are not checked."
        fix = "Put helm on PATH, or give what it makes: helm template CHART | eks-gpushare lint -"
    return Placed(TEMPLATE.finding((), what, fix), None)


def unreadable(why: str) -> Finding:
    """A file that cannot be read."""
    return UNREADABLE.finding((), f"It cannot be read: {why}.", "Give a file that can be read.")


def not_read(why: str) -> Finding:
    """A file that is not read, where nothing is wrong with that."""
    return NOT_READ.finding((), f"It is not read: {why}.", GIVE)


def sentence(text: str) -> str:
    """A text as a sentence."""
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
