"""Values of a release that are the text of a file: `--set-file config.map.shared=config.yaml`.

As NVIDIA's README gives the device plugin its configurations,
https://github.com/NVIDIA/k8s-device-plugin#deploying-with-gpu-feature-discovery-for-automatic-node-labels
and the sections before it; November 2026.
"""

from __future__ import annotations

import copy
import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.shell.named_files import tail_of
from eks_gpushare.manifests.folders import Paths
from eks_gpushare.manifests.shell.set_values import put

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.manifests.files import GivenFile

_MOST: Final = 64 * 1024
"""Characters of a text: no configuration is as long, and each release reads it anew."""


def with_texts_of_files(found: Iterable[Item], files: Sequence[GivenFile]) -> list[Item]:
    """The items, each release with the texts of the files that its values are to have.

    A name is of whatever folder the script is in then: where several files may be meant, the text
    stays unknown.

    Args:
        found: All items.
        files: The files of the call.
    """
    texts = {posixpath.normpath(file.name): file.text for file in files}
    paths = Paths(texts)
    return [
        _read(item, texts, paths) if isinstance(item, Release) and item.of_files else item
        for item in found
    ]


def _read(release: Release, texts: dict[str, str], paths: Paths) -> Release:
    known = {
        place: texts[path]
        for place, name in release.of_files.items()
        if (path := _meant(name, paths))
        if len(texts[path]) <= _MOST
    }
    values, over = (_with(each, known) for each in (release.values, release.over))
    return replace(release, values=values, over=over) if known else release


def _with(values: Any, texts: dict[Any, str]) -> Any:
    """Values with texts at places that are there and not known."""
    made = copy.deepcopy(values)
    for place, text in texts.items():
        if isinstance(made, dict) and at(made, *place) is UNKNOWN:
            put(made, place, text)
    return made


def _meant(name: str, paths: Paths) -> str:
    """The path of the one file that a name means; empty if none or several.

    Where a script is when it names one is not known: it may have gone to some folder before.
    """
    several = paths.ending_with(tail_of(name))
    return several[0] if len(several) == 1 else ""
