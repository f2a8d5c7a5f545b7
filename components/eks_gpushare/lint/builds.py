"""What is found in several results of one file, and in several environments that have it."""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.problem import Problem, severity_of
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.lint.nearby import NOT_OF_A_CLUSTER
from eks_gpushare.lint.variants import key_of
from eks_gpushare.manifests.document import Document

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.lint.scopes import FileScope

ALONE: Final = "?"
"""In place of a kustomization, of what a template decides about."""
_SO: Final = " So it is in "


def in_all_builds(found: Sequence[tuple[FileScope, list[Judgement]]]) -> list[Judgement]:
    """What is found in scopes, less what only some results of kustomizations make odd.

    What of a base is an error in one overlay is one. That it works otherwise than it says, such as
    a ConfigMap that nothing uses, has to hold in all overlays that have it, but for what an overlay
    says itself, of this or of what this does not go with.
    """
    found = _in_all_environments(found)
    kept: list[Judgement] = []
    waiting: dict[Hashable, list[Judgement]] = {}
    for _, judgements in found:
        for problem in judgements:
            document = problem.source.document
            is_told = not isinstance(document, Document) or not document.build
            if is_told or severity_of(problem) == "error" or _is_of_build(problem):
                kept.append(problem)
                continue
            key: Hashable = (
                *key_of(problem)[:1],
                document.file,
                document.index,
                document.at,
                *key_of(problem)[2:],
            )
            waiting.setdefault(key, []).append(problem)
    for alike in waiting.values():
        used = [each for each in alike if _is_in_use(each.source.document.build)] or alike
        problem = used[0]
        file = posixpath.normpath(problem.source.document.file)
        if len(alike) >= sum(file in scope.files and bool(scope.builds) for scope, _ in found):
            kept.append(problem)
        elif _is_of_root(problem) or _is_made_so(problem):
            names = dict.fromkeys(each.source.document.build for each in used)
            kept.append(_told_of(problem, " and ".join(names)))
    return kept


def _is_made_so(judgement: Judgement) -> bool:
    """Whether what a finding is against is there by a kustomization alone, which so makes it."""
    if not isinstance(judgement, Problem) or judgement.against is None:
        return False
    source, path = judgement.against
    document = source.document
    if not isinstance(document, Document) or document.text is None or document.origin is not None:
        return False
    return bool(path) and document.raw((*source.path, *path)) is None


def _is_of_root(judgement: Judgement) -> bool:
    """Whether it is of what one root module of Terraform makes, each of which is of a cluster.

    How an example or a test calls a module says little of those who use it otherwise.
    """
    document = judgement.source.document
    is_of_terraform = isinstance(document, Document) and document.origin is not None
    return is_of_terraform and is_grave(judgement) and _is_in_use(document.build)


def _is_in_use(build: str) -> bool:
    return NOT_OF_A_CLUSTER.isdisjoint(build.lower().split("/"))


def _is_of_build(judgement: Judgement) -> bool:
    """Whether a kustomization itself changes what a finding is about."""
    document = judgement.source.document
    if not isinstance(judgement, Problem) or not isinstance(document, Document):
        return False
    if document.text is None or document.origin is not None:  # of Terraform
        return False
    path = (*judgement.source.path, *judgement.path)
    return bool(path) and any(
        document.raw((*path, *inner)) != value
        for inner, value in _leaves(at(document.value, *path))
    )


def _leaves(value: Any) -> Iterator[tuple[FieldPath, Any]]:
    """Texts within a value, with their places."""
    if isinstance(value, str):
        yield (), value
    inner = enumerate(value) if isinstance(value, list) else pairs(value)
    for key, each in inner:
        yield from (((key, *place), leaf) for place, leaf in _leaves(each))


def _in_all_environments(
    found: Sequence[tuple[FileScope, list[Judgement]]],
) -> list[tuple[FileScope, list[Judgement]]]:
    """The same, less what only some of the environments make wrong that have it.

    What is wrong of a file as only some of them build it is told with their names.
    """
    several = [(scope, each) for scope, each in found if scope.is_environment]
    counts: Counter[Hashable] = Counter()
    for _, judgements in several:
        counts.update({key for each in judgements for key in (about(each), _where(each))})
    kept: list[tuple[FileScope, list[Judgement]]] = []
    for scope, judgements in found:
        told: list[Judgement] = []
        for each in judgements:
            file, build = place_of(each.source.document)
            of_file = [one for one, _ in several if file in one.files]
            of_build = [one for one in of_file if not build or build in one.builds]
            if not scope.is_environment:
                told.append(each)
            elif counts[about(each)] >= len(of_build):
                is_all = counts[_where(each)] >= len(of_file)
                told.append(each if is_all else _told_of(each, scope.name))
        kept.append((scope, told))
    return kept


def about(judgement: Judgement) -> tuple[Any, ...]:
    """What is wrong and where, whatever is said of it."""
    return key_of(judgement)[:-1]


def _where(judgement: Judgement) -> tuple[Any, ...]:
    """The same, whatever builds it."""
    rule, _, *path = about(judgement)
    document = judgement.source.document
    if not isinstance(document, Document):
        return rule, *path
    return rule, posixpath.normpath(document.file), document.index, document.at, *path


def _told_of(judgement: Judgement, name: str) -> Judgement:
    if not isinstance(judgement, Problem) or _SO in judgement.message:
        return judgement
    return replace(judgement, message=f"{judgement.message}{_SO}{name}.")


def is_grave(judgement: Judgement) -> bool:
    """Whether it is an error or a warning."""
    return isinstance(judgement, Problem) and severity_of(judgement) != "info"


def place_of(document: object) -> tuple[str, str]:
    """The file that something stands in, and the kustomization that it is a result of.

    What a template decides about has a place of its own.
    """
    if not isinstance(document, Document):
        return "", ""  # of a stack
    if document.alone:
        return document.alone, ALONE
    return posixpath.normpath(document.file), document.build
