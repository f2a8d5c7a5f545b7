"""What the `namespace` of kustomizations makes of objects.

It renames objects of the kind Namespace too, `namespaceFieldSpecs` of
api/internal/konfig/builtinpluginconsts/namespace.go in kubernetes-sigs/kustomize, and of two with
one name Kustomize ends: "namespace transformation produces ID conflict".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_NAMESPACE: Final = re.compile(r"^kind:[ \t]*[\"']?Namespace[\"']?[ \t\r]*$", re.MULTILINE)
NOT_NAMESPACED: Final = frozenset(
    (
        *("Namespace", "Node", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"),
        *("PersistentVolume", "StorageClass", "PriorityClass", "RuntimeClass", "DeviceClass"),
        *("NodePool", "NodeClass", "EC2NodeClass", "NodeOverlay", "ClusterQueue", "ClusterPolicy"),
        *("ResourceFlavor", "ValidatingAdmissionPolicy", "Kustomization"),
    )
)
"""Kinds of objects that are in no namespace."""


def in_namespace(value: Any, space: Any) -> Any:
    """An object in a namespace, where one is named: its Namespace too is called so."""
    kind, metadata = at(value, "kind"), mapping(at(value, "metadata"))
    if not isinstance(space, str) or not space:
        return value
    if kind == "Namespace":
        return {**value, "metadata": {**metadata, "name": space}}
    is_global = str(kind) in NOT_NAMESPACED
    return value if is_global else {**value, "metadata": {**metadata, "namespace": space}}


def tops_that_build(
    tops: Iterable[str],
    contents: Mapping[str, frozenset[str]],
    value_of: Callable[[str], Any],
    text_of: Callable[[str], str],
) -> tuple[list[str], set[str]]:
    """The kustomizations that are built; of those that end what they are made of in their place.

    Args:
        tops: What no other builds on.
        contents: Each kustomization by its file, with the files that it is built of.
        value_of: Gives what a file is as a kustomization; None of others.
        text_of: Gives the text of a file.

    Returns:
        Those that are built, and those that end.
    """
    found: list[str] = []
    ended: set[str] = set()
    waiting = list(tops)
    seen = set(waiting)
    while waiting:
        top = waiting.pop(0)
        inner = [each for each in sorted(contents[top]) if value_of(each) is not None]
        if not any(_ends(value_of(each), map(text_of, contents[each])) for each in inner):
            found.append(top)
            continue
        ended.add(top)
        below = [each for each in inner if each not in seen]
        outermost = [e for e in below if not any(e in contents[o] for o in below if o != e)]
        seen.update(outermost)
        waiting += outermost
    return found, ended


def _ends(value: Any, texts: Iterable[str]) -> bool:
    """Whether a kustomization of some texts ends, since it has several Namespaces to rename."""
    return bool(at(value, "namespace")) and sum(len(_NAMESPACE.findall(text)) for text in texts) > 1
