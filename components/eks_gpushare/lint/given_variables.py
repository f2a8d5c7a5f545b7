"""What is wrong of a root module of Terraform with one of its files of variables.

What files of environments do not agree on is not known, and nothing is concluded from it. With each
of them the module is judged anew, beside whatever its scope has. What is found then is told of the
module's own resources alone, and only what will not work: pods and charts may be of other
environments, and what works otherwise than it says may be meant for one.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.problem import Problem, severity_of
from eks_gpushare.lint.dumps import without_what_controllers_made
from eks_gpushare.lint.judging import Scoped
from eks_gpushare.lint.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.registry import Edge
    from eks_gpushare.lint.references import Naming
    from eks_gpushare.lint.terraform_roots import Root


def judge_given(reading: Reading, edges: Sequence[Edge], everywhere: Naming) -> None:
    """Add what is wrong with single files of variables to what is found.

    Args:
        reading: What was read and judged.
        edges: What to look for.
        everywhere: What the files of the whole call have and name.
    """
    known = {
        (placed.finding.code, name, placed.position)
        for name, file in reading.files.items()
        for placed in file.found
        if placed.finding.severity != "info"
    }
    found: dict[Any, tuple[Problem, list[str]]] = {}
    for root in reading.terraform.given:
        for each in _wrong(reading, root, edges, everywhere):
            document = each.source.document
            name, position = document.where((*each.source.path, *each.path))
            key = each.rule.id, reading.file_named(name).name, position
            if key not in known:
                file = posixpath.relpath(root.variables, root.name)
                files = found.setdefault(key, (each, []))[1]
                files += () if file in files else (file,)
    for problem, files in found.values():
        told = f"{problem.message} So it is with {' and '.join(files)}."
        reading.place(replace(problem, message=told, edits=()))


def _wrong(
    reading: Reading, root: Root, edges: Sequence[Edge], everywhere: Naming
) -> Iterator[Problem]:
    """What is wrong of its resources, for certain."""
    made = Reading(everywhere=everywhere)
    made.add_root(root)
    others = [each for each in reading.items if not _is_of(each.source.document, root)]
    items = [each for each in (*others, *made.items) if not reading.is_part(each)]
    texts = {file.name: file.text for file in reading.files.values()}
    items = without_what_controllers_made(items)
    classes, nearby = [*reading.classes, *made.classes], reading.nearby()
    scoped = Scoped(items, classes, texts, edges, everywhere.changes, nearby=nearby)
    scopes = [each for each in reading.scopes() if each.all or root.name in each.builds]
    within = (one for each in scopes if not each.is_environment for one in scoped.judged(each))
    for judgement in (*made.judgements, *within):
        told: Judgement = everywhere.with_other_scopes(judgement)
        if not isinstance(judgement, Problem) or not isinstance(told, Problem):
            continue
        if _is_told(judgement if judgement.is_doubted else told, root):
            yield told
    reading.grave += tuple(scoped.grave)


def _is_told(problem: Problem, root: Root) -> bool:
    return severity_of(problem) == "error" and _is_of(problem.source.document, root)


def _is_of(document: object, root: Root) -> bool:
    return bool(getattr(document, "build", "") == root.name)
