"""ConfigMaps that kustomizations make of files, of lines of variables and of literals.

And files of configurations, by which references to their names are corrected.

Source: https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/configmapgenerator/
(November 2026).
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.kustomize_charts import with_files
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from eks_gpushare.manifests.document import Document

    # The text of a file that a kustomization names; None where it is not given.
    Content = Callable[[str], str | None]


def configured_by(built: Iterable[tuple[Any, Content]]) -> list[Any]:
    """What kustomizations have in their files of configurations; names of what is not given.

    By a `nameReference` references are corrected in more fields than Kustomize itself knows of.

    Args:
        built: All that are built together, each with the texts of files that it names.
    """
    found: list[Any] = []
    for value, content in built:
        for named in items(at(value, "configurations")):
            text_of = content(named) if isinstance(named, str) else None
            documents = [] if text_of is None else read_texts(text_of, str(named)).documents
            found += [each.value for each in documents] or [named]
    return found


def generated_from(value: Any) -> Iterator[str]:
    """Files whose content generators take."""
    for key in ("configMapGenerator", "secretGenerator"):
        for generator in items(at(value, key)):
            for named in (*items(at(generator, "files")), *items(at(generator, "envs"))):
                if isinstance(named, str):
                    yield named.rpartition("=")[2]


def with_contents(document: Document, content: Content) -> Document:
    """A kustomization whose generators have the texts of files that are given."""
    charts = items(at(document.value, "helmCharts"))
    inflated = [with_files(chart, content) for chart in charts]
    if inflated != charts:
        document = replace(
            document, value={**document.value, "helmCharts": inflated}, editable=False
        )
    made = [_with_files(each, content) for each in items(at(document.value, "configMapGenerator"))]
    if not made:
        return document
    return replace(document, value={**document.value, "configMapGenerator": made}, editable=False)


def _with_files(generator: Any, content: Content) -> Any:
    files = [one for one in items(at(generator, "files")) if isinstance(one, str)]
    literals, left = list(items(at(generator, "literals"))), []
    for named in files:
        key, equals, path = named.partition("=")
        text_of = content(path if equals else key)
        name = key if equals else posixpath.basename(key)
        if text_of is None:
            left.append(named)
        else:
            literals.append(f"{name}={text_of}")
    return {**generator, "files": left, "literals": literals} if files else generator


def inherited(entries: Any, others: Iterable[tuple[bool, Document, Content]]) -> list[Any]:
    """Generators as they are once an overlay's, with `behavior`, have gone over those of its base.

    Args:
        entries: Those of a kustomization, with the texts of files.
        others: Kustomizations that it is built with, and whether each builds on it.
    """
    above: list[Any] = []
    below: list[Any] = []
    for is_above, document, content in others:
        given = with_contents(document, content).value
        (above if is_above else below).extend(items(at(given, "configMapGenerator")))
    taken = {at(each, "name") for each in above if at(each, "behavior") in ("merge", "replace")}
    bases = [each for each in below if isinstance(each, dict)]
    made: list[Any] = []
    for each in items(entries):
        if at(each, "name") in taken or not isinstance(each, dict):
            made.append(None)
            continue
        of_base = [one for one in bases if at(one, "name") == each.get("name")]
        if each.get("behavior") == "merge" and of_base:
            own = [one for one in items(each.get("literals")) if isinstance(one, str)]
            keys = {one.partition("=")[0] for one in own}
            given = [one for base in of_base for one in items(at(base, "literals"))]
            kept = [one for one in given if str(one).partition("=")[0] not in keys]
            left = [one for base in of_base for one in items(at(base, "files"))]
            files = [*items(each.get("files")), *left]
            each = {**each, "literals": [*kept, *own], "files": files}  # noqa: PLW2901
        made.append(each)
    return made


def generated(value: Any, content: Content) -> Iterator[dict[str, Any]]:
    """The ConfigMaps that a kustomization makes, by the names that it gives them.

    Args:
        value: The kustomization.
        content: The texts of files that it names.
    """
    for generator in items(at(value, "configMapGenerator")):
        whole = _with_files(generator, content)
        literals = [one for one in items(at(whole, "literals")) if isinstance(one, str)]
        named = [one for one in (*items(at(whole, "envs")), at(whole, "env")) if one]
        lines = [content(one) if isinstance(one, str) else None for one in named]
        parts = [one.partition("=") for one in literals]
        parts += [one.partition("=") for text in lines for one in _variables(text or "")]
        is_all = not items(at(whole, "files")) and None not in lines
        space = at(whole, "namespace") or at(value, "namespace")
        metadata = {"name": at(whole, "name"), **({"namespace": space} if space else {})}
        data = {key: text.strip("\"'") if "\n" not in text else text for key, _, text in parts}
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": data if is_all else UNKNOWN,
        }


def _variables(text: str) -> Iterator[str]:
    """Lines that set one; one without a value is that of the environment."""
    for line in text.splitlines():
        if "=" in line and not line.lstrip().startswith("#"):
            yield line.strip()
