"""Terraform roots and kustomizations that are called after the same clusters or environments.

Where `terraform/blue` and `terraform/green` stand beside `k8s/blue` and `k8s/green`, each of the
first makes the cluster that the other of its name is for. Of one name alone that may be chance, and
names of parts of a cluster, such as `karpenter`, tell of none.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from eks_gpushare.lint.one_cluster import is_a_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_FEWEST: Final = 2
"""Names that two folders share before it is no chance."""


def stages(roots: Iterable[str], built: Iterable[str]) -> Iterator[Mapping[str, str]]:
    """Folders of roots with the folder of the same stage, for each two folders that hold these.

    Args:
        roots: Folders of Terraform.
        built: Folders of kustomizations.
    """
    of_roots, of_built = _by_holder(roots), _by_holder(built)
    for one, names in of_roots.items():
        for other, others in of_built.items():
            both = names.keys() & others.keys()
            if one != other and len(both) >= _FEWEST:
                yield {names[name]: others[name] for name in sorted(both)}


def of_one_way(found: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Those of `stages` by which each folder is of one stage alone."""
    pairs = [pair for each in found for pair in each.items()]
    firsts, seconds = [root for root, _ in pairs], [built for _, built in pairs]
    return {
        root: built
        for root, built in pairs
        if firsts.count(root) == 1 and seconds.count(built) == 1
    }


def _by_holder(folders: Iterable[str]) -> dict[str, dict[str, str]]:
    """Folders by that which holds them and by their names, but for parts of a cluster."""
    found: dict[str, dict[str, str]] = {}
    for folder in folders:
        holder, name = posixpath.split(folder)
        if name and not is_a_part((name,)):
            found.setdefault(holder, {})[name] = folder
    return found
