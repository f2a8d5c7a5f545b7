"""What the applications of an ApplicationSet of Argo CD are, by the parameters that it is told.

Source: https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Template/, November
2026.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document

    # What the files that a pattern means say, each as the parameters of an application.
    Read = Callable[[str], Iterable[dict[str, str]]]
    # The clusters that a generator's `clusters` chooses, likewise.
    Chosen = Callable[[Any], Iterable[dict[str, str]]]

_ARGO: Final = "argoproj.io/"
_PARAMETER: Final = re.compile(r"\{\{-?\s*\.?([A-Za-z][A-Za-z0-9_.-]*)\s*-?\}\}")
TEMPLATE: Final = ("spec", "template", "spec")
"""Where an ApplicationSet says of what its applications are."""
_VALUES: Final = ("values", "valuesObject", "parameters")
"""What of a chart's values is written in a template, in which it is not known what is filled."""
MOST: Final = 1_000
"""Applications of one set, beyond which it is not asked what they name."""


def is_set(value: Any) -> bool:
    """Whether an object is a set of applications of Argo CD."""
    return at(value, "kind") == "ApplicationSet" and str(at(value, "apiVersion")).startswith(_ARGO)


def sources_of(spec: Any) -> Iterator[tuple[FieldPath, Any]]:
    """What an application is made of, by the place in its specification."""
    yield ("source",), at(spec, "source")
    for index, source in enumerate(items(at(spec, "sources"))):
        yield ("sources", index), source


def applications_of(document: Document) -> Iterator[Document]:
    """A set once for each application that installs a chart by its parameters, with them filled in.

    None of a set that goes to clusters by parameters, and of a chart that all of them install.
    """
    spec = at(document.value, *TEMPLATE)
    charts = [document.raw((*TEMPLATE, *place, "chart")) or "" for place, _ in sources_of(spec)]
    where = [document.raw((*TEMPLATE, "destination", key)) or "" for key in ("name", "server")]
    if not any("{{" in each for each in charts) or any("{{" in each for each in where):
        return
    for generator in items(at(document.value, "spec", "generators")):
        for values in parameters(generator):
            template = _made(document, ("spec", "template"), values)
            own = {**document.value, "spec": {**document.value["spec"], "template": template}}
            yield replace(document, value=own, editable=False)


def name_of(made: Document, place: FieldPath) -> Any:
    """By which name Helm has what a source of an application of a set installs."""
    own = at(made.value, *TEMPLATE, *place, "helm", "releaseName")
    return own or at(made.value, "spec", "template", "metadata", "name")


def _made(document: Document, path: FieldPath, values: Mapping[str, str]) -> Any:
    """What a template becomes, as far as that is known."""
    value = at(document.value, *path)
    if isinstance(value, dict):
        made = {
            key: each if key in _VALUES else _made(document, (*path, key), values)
            for key, each in value.items()
        }
        return type(value)(made)
    if isinstance(value, list):
        return [_made(document, (*path, index), values) for index, _ in enumerate(value)]
    text = filled(document.raw(path), values) if value is UNKNOWN else None
    return value if text is None or "{{" in text else text


def parameters(
    generator: Any, read: Read | None = None, chosen: Chosen | None = None
) -> list[dict[str, str]]:
    """Values by the names that the template calls them by, for each application.

    Args:
        generator: What a set makes applications by.
        read: What files of a pattern say. Default: nothing, as where these are not known.
        chosen: The clusters that a generator chooses. Default: none, likewise.
    """
    if inner := items(at(generator, "matrix", "generators")):
        several = [parameters(each, read, chosen) for each in inner]
        if any(not each or len(each) > MOST for each in several):
            return []
        joined = (_merged(each) for each in product(*several))
        return [each for each, _ in zip(joined, range(MOST), strict=False)]
    if elements := items(at(generator, "list", "elements")):
        return [dict(flat(each)) for each in elements]
    if chosen is not None and (clusters := at(generator, "clusters")) is not None:
        # What stands beside them chooses among those that they choose.
        return [] if at(generator, "selector") else list(chosen(clusters))
    named = [at(each, "path") for each in items(at(generator, "git", "files"))]
    if read is not None and named:
        return [said for each in named if isinstance(each, str) for said in read(each)]
    return [_of_folder(each) for each in items(at(generator, "git", "directories"))]


def _merged(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {name: value for each in parts for name, value in each.items()}


def flat(value: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """Texts within a value by their names, with dots between those of what they are in."""
    for key, inner in pairs(value):
        if isinstance(inner, str):
            yield f"{above}{key}", inner
        else:
            yield from flat(inner, f"{above}{key}.")


def _of_folder(directory: Any) -> dict[str, str]:
    path = at(directory, "path")
    if not isinstance(path, str):
        return {}
    last = posixpath.basename(posixpath.normpath(path))
    names = {"path": path, "path.path": path, "path.basename": last}
    return {**names, "path.basenameNormalized": last, "exclude": str(at(directory, "exclude"))}


def filled(text: Any, values: Mapping[str, str]) -> str | None:
    """A text with the parameters that are known; None of what is no text."""
    if not isinstance(text, str):
        return None
    return _PARAMETER.sub(lambda found: values.get(found[1], found[0]), text)
