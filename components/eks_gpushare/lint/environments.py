"""Whether folders that nothing joins are those of several environments, laid out side by side.

`terraform/prod` makes the cluster that `overlays/prod` is applied to, and `karpenter/` beside
`overlays/staging` and `overlays/prod` is for both of them where each has namespaces of its own: so
does who has one cluster. Each environment is judged with what is of none, if all of them are laid
out as the parts of one cluster (`lint.one_cluster`). Their names are those of environments and of
overlays, and those that roots of Terraform have in common with kustomizations.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from eks_gpushare.lint.one_cluster import (
    BUILT,
    ENVIRONMENTS,
    HOLD_ENVIRONMENTS,
    NODES,
    SPACE,
    becomes,
    is_of_cluster,
    is_one_cluster,
    kept,
    whole_of,
)
from eks_gpushare.manifests.folders import folders_above

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.lint.one_cluster import Once

_MOST: Final = 12
"""Environments of a repository; of more folders each is something else."""


def environments(once: Once) -> frozenset[str]:
    """Folders that are those of several environments; none where that is not certain.

    An environment may have several. All of them have its name.

    Args:
        once: What a cluster has once, with the normal paths of the files that have it.
    """
    files = frozenset[str]().union(*once.values())
    folders = frozenset((*_called(files), *_in_common(once)))
    names = names_of_all(folders)
    if not 1 < len(names) <= _MOST or any(len(names_of(file, folders)) > 1 for file in files):
        return frozenset()
    own = [_kept(once, folders, [{name}]) for name in names]
    has_one_for_all = _has_cluster(_kept(once, folders, [set()])) and _have_spaces(own)
    made = _makes(once)
    if not (has_one_for_all or all(_has_cluster(each) or _makes_one(each, made) for each in own)):
        return frozenset()
    parts = (_without_names(_kept(once, folders, [{name}, set()]), folders) for name in names)
    return folders if all(map(is_one_cluster, parts)) else frozenset()


def names_of_all(folders: Iterable[str]) -> list[str]:
    """The names of the environments that have some folders."""
    return sorted({posixpath.basename(folder) for folder in folders})


def names_of(file: str, folders: frozenset[str]) -> set[str]:
    """The environments in whose folders a file lies."""
    above = folders_above(posixpath.dirname(file))
    return {posixpath.basename(folder) for folder in above if folder in folders}


def _called(files: Iterable[str]) -> Iterator[str]:
    """Folders of environments by their names, or by that of what holds them, below all others."""
    folders = {posixpath.dirname(file) for file in files}
    whole = whole_of(folders)
    for folder in folders:
        for each in folders_above(folder):
            above, name = posixpath.split(each)
            holds = posixpath.basename(above).lower() in HOLD_ENVIRONMENTS
            if len(each) > len(whole) and (holds or name.lower() in ENVIRONMENTS):
                yield each


def _in_common(once: Once) -> Iterator[str]:
    """Those whose names all kustomizations of one have in common with roots of Terraform."""
    builds = {file for (kind, _), files in once.items() if kind == BUILT for file in files}
    roots: dict[str, set[str]] = {}
    overlays: dict[str, set[str]] = {}
    for build in builds:
        above, name = posixpath.split(posixpath.dirname(build))
        found = roots if posixpath.basename(build) == "main.tf" else overlays
        found.setdefault(above, set()).add(name)
    for above, names in overlays.items():
        for other, own in roots.items():
            if len(names) > 1 and names <= own:
                yield from (
                    posixpath.join(where, name) for where in (above, other) for name in names
                )


def _kept(once: Once, folders: frozenset[str], wanted: Sequence[set[str]]) -> Once:
    """What lies in the folders of some environments."""
    return kept(once, lambda file: names_of(file, folders) in wanted)


def _without_names(once: Once, folders: frozenset[str]) -> Once:
    """The same with files as they would lie if there were no other environment."""
    return {key: frozenset(_moved(file, folders) for file in of) for key, of in once.items()}


def _moved(file: str, folders: frozenset[str]) -> str:
    for folder in folders_above(posixpath.dirname(file)):
        if folder in folders:
            above = posixpath.dirname(folder)
            if posixpath.basename(above).lower() in HOLD_ENVIRONMENTS:
                above = posixpath.dirname(above)
            return posixpath.join(above, file.removeprefix(f"{folder}/"))
    return file


def _has_cluster(once: Once) -> bool:
    return any(is_of_cluster(kind) for kind, _ in once)


def _makes(once: Once) -> frozenset[tuple[str, str]]:
    """What roots build of files that make nodes, such as those of a module that several call."""
    nodes = frozenset[str]().union(*(files for (kind, _), files in once.items() if kind == NODES))
    return frozenset((BUILT, becomes(file)) for file in nodes)


def _makes_one(own: Once, made: frozenset[tuple[str, str]]) -> bool:
    """Whether a root of an environment makes its nodes by a module that lies elsewhere."""
    return any(posixpath.basename(file) == "main.tf" for key in made for file in own.get(key, ()))


def _have_spaces(own: Iterable[Once]) -> bool:
    """Whether all environments have pods, in namespaces that no two of them have."""
    spaces = [{name for kind, name in each if kind == SPACE} for each in own]
    every = set().union(*spaces)
    return all(spaces) and "?" not in every and len(every) == sum(map(len, spaces))
