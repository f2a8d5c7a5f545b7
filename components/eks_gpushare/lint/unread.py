"""What is said of files that cannot be read, are templates, or are of other tools."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.lint.report import Placed
from eks_gpushare.lint.rules.files import NOT_READ, TEMPLATE, TWICE, UNREADABLE
from eks_gpushare.manifests.files import ENDINGS
from eks_gpushare.manifests.json_text import is_json_file, is_log, is_measured
from eks_gpushare.manifests.placeholders import is_template
from eks_gpushare.manifests.texts import is_passed_over

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.lint.hcl.syntax import Fault
    from eks_gpushare.stack_file.yaml_problems import YamlProblem

_FIXES: Final = {
    "size": "give a smaller file, or parts of it",
    "depth": "give a file with fewer levels",
    "alias": "define the anchor above its use, in the same document",
    "documents": "begin each document with ---",
}
"""What to do where the parser does not tell."""
_MAY_BE_OURS: Final = re.compile(r"apiVersion|nvidia|gpu|planned_values|AWS::", re.IGNORECASE)
"""What a file of JSON is about that is worth a word where it cannot be read."""
_IS_JSON_OF_OURS: Final = re.compile(
    r"\"apiVersion\"\s*:\s*\"|\"planned_values\"|\"AWS::|\"AWSTemplateFormatVersion\""
)
"""What one of JSON has that is an object, a plan or a template."""
_IS_OURS: Final = re.compile(
    r"^ *(?:- )?[\"']?apiVersion[\"']?:|nvidia\.com/|\bmig-configs\b|\btimeSlicing\b|\bAWS::"
    r"|\bdevicePlugin\b|\bmigStrategy\b",
    re.MULTILINE,
)
"""What one of YAML is about then."""
_USER_DATA: Final = re.compile(r"\s*(?:MIME-Version|Content-Type):[ \t]", re.IGNORECASE)
_COMMAND: Final = re.compile(
    r"^(?:(?:kubectl|oc|helm|eksctl|curl)[ ]+[a-z-]|\"[ ]*\|[ ]*kubectl[ ])", re.MULTILINE
)
"""A line of a script, or of a note. One alone may have come into a manifest by mistake."""
_EXPRESSION: Final = re.compile(r"(?:~\.?)?[=^+<X]?\(.+\)(?:->[A-Za-z0-9_]+)?", re.DOTALL)
_GIVE: Final = "Leave it out, or see docs/lint.md for what is read."
_YAML: Final = (".yaml", ".yml", ".json", ".tmpl", ".gotmpl")
NO_KIND = "It is of no kind that is read"


NO_PARSER: Final = Placed(
    NOT_READ.finding(
        (),
        "Terraform's own files are not read, since their parser is not installed.",
        "pip install 'eks-gpushare-checks[terraform]', or give a plan: terraform show -json PLAN",
    ),
    None,
)
"""What is said once of a call."""


def told(problem: YamlProblem, text: str) -> Placed:
    """What is said of a problem of a text of YAML.

    Args:
        problem: The problem.
        text: The text, of which it depends whether it is a template.
    """
    place = Position(problem.line, problem.column)
    if problem.kind == "duplicate":
        message = f"{problem.message[:1].upper()}{problem.message[1:]}."
        return Placed(TWICE.finding(problem.path, message, sentence(problem.fix)), place)
    if _USER_DATA.match(text):
        return Placed(not_read("it is user data, which is read where nodes are given it"), None)
    if len(_COMMAND.findall(text)) > 1:
        return Placed(not_read("it is a list of commands, in a file that is called YAML"), None)
    if is_template(text, problem.line):
        message = "It is a template that is not rendered, so it is not checked."
        fix = "Give what it makes: helm template CHART | eks-gpushare lint -"
        if "{{" not in text:  # a plain file, with words that are masked or left to be filled in
            message = "What is to be filled in, or left out, makes it no YAML: it is not checked."
            fix = "Give it filled in, or put it in quotes."
        return Placed(TEMPLATE.finding((), message, fix), place)
    return cannot(problem)


def cannot(problem: YamlProblem) -> Placed:
    """That a text is none of YAML."""
    message = sentence(problem.message)
    fix = problem.fix or _FIXES.get(problem.kind, "correct it, or leave the file out")
    found = UNREADABLE.finding(problem.path, message, sentence(fix))
    return Placed(found, Position(problem.line, problem.column))


def unreadable(why: str) -> Finding:
    """That a file cannot be read, and why."""
    return UNREADABLE.finding((), f"It cannot be read: {why}.", "Give a file that can be read.")


def not_read(why: str) -> Finding:
    """That a file is passed over, and why."""
    return NOT_READ.finding((), sentence(why), _GIVE)


def sentence(text: str) -> str:
    """A text as a sentence."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def of_others(problem: YamlProblem) -> Placed:
    """That a file is of another tool."""
    what = f"{sentence(problem.message)} Nothing in it is of Kubernetes or GPUs."
    return Placed(NOT_READ.finding((), what, _GIVE), None)


def as_note(placed: Placed) -> Placed:
    """A finding of a file of no known kind, in which a key twice is for others to tell."""
    if placed.finding.code != TWICE.id:
        return placed
    return placed._replace(finding=replace(placed.finding, severity="info"))


def is_of_others(name: str, text: str, problem: YamlProblem, *, in_folder: bool) -> bool:
    """Whether a file that cannot be read is none that this is about, but of another tool.

    Args:
        name: Its name.
        text: Its text.
        problem: Why it cannot be read.
        in_folder: Whether nobody named it.
    """
    if is_json_file(name):
        if in_folder and problem.kind == "size" and _IS_JSON_OF_OURS.search(text) is None:
            return True  # an API's description has apiVersion among its properties
        if is_log(text) or (_IS_JSON_OF_OURS.search(text) is None and is_measured(text)):
            return True
        return not (_MAY_BE_OURS.search(text) or "{{" in text)
    if not in_folder or problem.kind in ("duplicate", "size") or is_template(text, problem.line):
        return False
    return _IS_OURS.search(text) is None


def told_of_character(
    bad: YamlProblem, name: str, text: str, *, in_folder: bool
) -> tuple[Placed, bool]:
    """What is said of a text with a character that YAML does not have; whether it is no mistake."""
    if is_passed_over(text, bad):
        why = f"it is not checked: line {bad.line} begins with a byte order mark, U+FEFF"
        return Placed(not_read(why), None), True
    is_none = is_of_others(name, text, bad, in_folder=in_folder)
    return of_others(bad) if is_none else cannot(bad), is_none


def is_assertion(value: object) -> bool:
    """Whether a document asks for something of an object, with expressions for keys.

    So do tests of Kyverno's Chainsaw, https://kyverno.github.io/chainsaw/latest/reference/jmespath/,
    and patterns of its policies; keys of Kubernetes have no parentheses.
    """
    if isinstance(value, dict):
        return any(
            (isinstance(key, str) and _EXPRESSION.fullmatch(key) is not None) or is_assertion(inner)
            for key, inner in value.items()
        )
    return isinstance(value, list) and any(map(is_assertion, value))


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


def is_yaml(name: str) -> bool:
    """Whether a file is one of YAML or JSON by its name."""
    return name.lower().endswith(_YAML) or posixpath.basename(name) == "Kustomization"


def looks_like_yaml(name: str, text: str) -> bool:
    """Whether a file of no known ending begins as a manifest does."""
    if name.lower().endswith(ENDINGS):
        return False
    return text.lstrip().startswith(("apiVersion:", "---", "{")) or "\napiVersion:" in text


def beyond(files: int, most: int, *, is_apart: bool) -> Placed:
    """What is said once of all files that are not read with those that they may belong to.

    Args:
        files: How many these are.
        most: Keys and values that files have together, at most.
        is_apart: Whether each of them is read by itself.
    """
    more = f" and {files - 1:,} other{'s' if files > 2 else ''}" if files > 1 else ""  # noqa: PLR2004
    what = "are judged each by itself" if more else "is judged by itself"
    what += ", so that nothing is told that follows from other files"
    message = (
        f"This file{more} {what if is_apart else 'cannot be read'}: files that may belong together "
        f"are held in memory together, and have {most:,} keys and values at most."
    )
    fix = "Leave generated files out by exclude in .gpushare-lint.yaml, or give fewer at once."
    found = UNREADABLE.finding((), message, fix)
    return Placed(replace(found, severity="info") if is_apart else found, None)
