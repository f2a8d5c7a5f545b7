"""Folders that applications of Argo CD and Flux name, from the top of their repository."""

from __future__ import annotations

import posixpath
import re
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.manifests.folders import is_pattern
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

_ARGO: Final = "argoproj.io/"
_FLUX: Final = "kustomize.toolkit.fluxcd.io/"
_NAMING: Final = re.compile(
    r"""kind["']?\s*:\s*["']?(?:Application|ApplicationSet|Kustomization)\b"""
)
"""Of most files with annotations of Argo CD nothing more is read than this."""
_PARAMETER: Final = re.compile(r"\{\{-?\s*\.?([A-Za-z][A-Za-z0-9_.-]*)\s*-?\}\}")
_TEMPLATE: Final = ("spec", "template", "spec")
_MOST: Final = 1_000
"""Applications of one set, beyond which it is not asked what they name."""


def folders_named(documents: Iterable[Document]) -> Iterator[str]:
    """Them, and patterns for several (`manifests.folders`).

    Args:
        documents: Those of a file.
    """
    for document in documents:
        group, kind = str(at(document.value, "apiVersion")), at(document.value, "kind")
        spec = at(document.value, "spec")
        named: Iterable[Any] = ()
        if group.startswith(_FLUX) and kind == "Kustomization":
            named = [at(spec, "path")]
        elif group.startswith(_ARGO) and kind == "Application":
            named = [at(source, "path") for _, source in sources_of(spec)]
        elif group.startswith(_ARGO) and kind == "ApplicationSet":
            named = _of_set(document)
        for name in named:
            if isinstance(name, str) and posixpath.normpath(name.lstrip("/") or ".") != ".":
                yield posixpath.normpath(name.lstrip("/"))


def folders_of_applications(file: GivenFile) -> Iterator[str]:
    """Those that applications of Argo CD and kustomizations of Flux in a file name."""
    if (_ARGO in file.text or _FLUX in file.text) and _NAMING.search(file.text):
        yield from folders_named(read_texts(file.text, file.name).documents)


def sources_of(spec: Any) -> Iterator[tuple[FieldPath, Any]]:
    """What an application is made of, by the place in its specification."""
    yield ("source",), at(spec, "source")
    for index, source in enumerate(items(at(spec, "sources"))):
        yield ("sources", index), source


def _of_set(document: Document) -> Iterator[str]:
    """Those of all applications that an ApplicationSet makes, where they go to one cluster.

    Of parameters that stand elsewhere, in files or of clusters, it is not known what they name. And
    of folders of which each is for a namespace that is called after it, objects would be mixed that
    leave it to Argo CD.
    """
    spec = at(document.value, "spec")
    made = [each for one in items(at(spec, "generators")) for each in _parameters(one)]
    where = [document.raw((*_TEMPLATE, "destination", key)) for key in ("server", "name")]
    if len({tuple(_filled(each, values) for each in where) for values in made}) != 1:
        return
    space = document.raw((*_TEMPLATE, "destination", "namespace"))
    if any(is_pattern(_filled(space, values) or "") for values in made):
        return
    sources = [place for place, _ in sources_of(at(document.value, *_TEMPLATE))]
    paths = [document.raw((*_TEMPLATE, *place, "path")) for place in sources]
    found: dict[bool, list[str]] = {True: [], False: []}
    for values in made:
        for folder in (_filled(path, values) or "" for path in paths):
            if "{{" not in folder and folder.strip("*?/"):
                found[values.get("exclude") != "True"].append(folder)
    yield from found[True]
    yield from (f"!{folder}" for folder in found[False] if folder not in found[True])


def _parameters(generator: Any) -> list[dict[str, str]]:
    """Values by the names that the template calls them by, for each application."""
    if inner := items(at(generator, "matrix", "generators")):
        several = [_parameters(each) for each in inner]
        if any(not each or len(each) > _MOST for each in several):
            return []
        joined = (_merged(each) for each in product(*several))
        return [each for each, _ in zip(joined, range(_MOST), strict=False)]
    if elements := items(at(generator, "list", "elements")):
        return [dict(_flat(each)) for each in elements]
    return [_of_folder(each) for each in items(at(generator, "git", "directories"))]


def _merged(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {name: value for each in parts for name, value in each.items()}


def _flat(value: Any, above: str = "") -> Iterator[tuple[str, str]]:
    for key, inner in pairs(value):
        if isinstance(inner, str):
            yield f"{above}{key}", inner
        else:
            yield from _flat(inner, f"{above}{key}.")


def _of_folder(directory: Any) -> dict[str, str]:
    path = at(directory, "path")
    if not isinstance(path, str):
        return {}
    last = posixpath.basename(posixpath.normpath(path))
    names = {"path": path, "path.path": path, "path.basename": last}
    return {**names, "path.basenameNormalized": last, "exclude": str(at(directory, "exclude"))}


def _filled(text: Any, values: Mapping[str, str]) -> str | None:
    if not isinstance(text, str):
        return None
    return _PARAMETER.sub(lambda found: values.get(found[1], found[0]), text)
