"""ServiceAccounts in templates of charts of one's own, as commands install them.

Without helm a template is not known but for what it takes from values alone. Of these the chart's
own hold, unless a command or another file says otherwise.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import ROLE_ANNOTATION, SERVICE_ACCOUNT, Pointer, Release
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.shell.said import placed_document
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.manifests.files import GivenFile

_KIND: Final = re.compile(r"^kind:\s*ServiceAccount\s*$", re.MULTILINE)
_TAKEN: Final = r"[\"']?\{\{-?\s*\.Values\.([A-Za-z0-9_.]+)\s*(?:\|\s*quote\s*)?-?\}\}[\"']?[ \t]*$"
_NAME: Final = re.compile(rf"^  name:[ \t]*{_TAKEN}", re.MULTILINE)
_ARN: Final = re.compile(rf"^    {re.escape(ROLE_ANNOTATION)}:[ \t]*{_TAKEN}", re.MULTILINE)
_SPACE: Final = re.compile(r"^  namespace:", re.MULTILINE)
_TEMPLATES: Final = "templates"
_YAML: Final = (".yaml", ".yml")


class _Template(NamedTuple):
    file: str
    line: int
    name: tuple[str, ...]
    arn: tuple[str, ...]


def accounts_of_charts(files: Sequence[GivenFile], found: Iterable[Item]) -> Iterator[Pointer]:
    """Those of charts that one command, or several of one namespace, installs from their folders.

    Args:
        files: The files of the call.
        found: All items.
    """
    given = {posixpath.normpath(file.name): file.text for file in files if not file.problem}
    templates = [each for name, text in given.items() if (each := _template(name, text))]
    if not templates:
        return
    # Of a folder no version is said.
    installs = [each for each in found if isinstance(each, Release) and not _has_version(each)]
    for template in templates:
        chart = posixpath.dirname(posixpath.dirname(template.file))
        own = [each for each in installs if each.chart == posixpath.basename(chart)]
        spaces = {each.namespace for each in own}
        values = _values(given.get(posixpath.join(chart, "values.yaml"), ""))
        name, arn = at(values, *template.name), at(values, *template.arn)
        if len(spaces) != 1 or UNKNOWN in spaces or not isinstance(name, str):
            continue
        paths = (template.name, template.arn)
        said = (each.over if each.values is UNKNOWN else each.values for each in own)
        if any(at(each, *path) is not None for each in said for path in paths):
            continue
        if any(_says(each, text, paths) for each, text in given.items() if not _is_in(each, chart)):
            continue
        document = placed_document(template.file, None, Position(template.line, 1), {})
        yield Pointer(
            source=Source(f"the ServiceAccount {name}", document),
            kind=SERVICE_ACCOUNT,
            name=name,
            namespace=spaces.pop(),
            spec={"metadata": {"annotations": {ROLE_ANNOTATION: arn}}},
        )


def _template(name: str, text: str) -> _Template | None:
    """What a template with one account takes from values; None of any other."""
    folder = posixpath.basename(posixpath.dirname(name))
    if folder != _TEMPLATES or ROLE_ANNOTATION not in text or len(_KIND.findall(text)) != 1:
        return None
    called, arn = _NAME.search(text), _ARN.search(text)
    if called is None or arn is None or _SPACE.search(text) or "\n---" in text.strip():
        return None
    line = text[: arn.start()].count("\n") + 1
    return _Template(name, line, tuple(called[1].split(".")), tuple(arn[1].split(".")))


def _has_version(release: Release) -> bool:
    return release.version not in ("", UNKNOWN)


def _is_in(file: str, chart: str) -> bool:
    return file.startswith(f"{chart}/")


def _values(text: str) -> Any:
    documents = read_texts(text, "").documents
    return documents[0].value if len(documents) == 1 else None


def _says(name: str, text: str, paths: Iterable[tuple[str, ...]]) -> bool:
    """Whether another file may give the chart other values."""
    return name.endswith(_YAML) and any(
        at(document.value, *path) is not None
        for document in read_texts(text, name).documents
        for path in paths
    )
