"""What applications of Argo CD and Flux change of the objects in the folders that they name.

Both hand it on to Kustomize: https://fluxcd.io/flux/components/kustomize/kustomizations/#patches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

_OF_FLUX: Final = ("patches", "patchesStrategicMerge", "patchesJson6902", "images", "components")
_OF_ARGO: Final = ("patches", "images", "components", "replicas")
ANYTHING: Final = {"": UNKNOWN}
"""Changes of which not all is known."""


def of_flux(spec: Any) -> dict[str, Any]:
    """Fields of a kustomization that a Kustomization of Flux has over what it builds."""
    return _fields(spec, _OF_FLUX)


def of_argo(source: Any) -> dict[str, Any]:
    """Those that a source of an Application of Argo CD has."""
    of_plugin = at(source, "plugin") is not None
    return ANYTHING if of_plugin else _fields(at(source, "kustomize"), _OF_ARGO)


def _fields(given: Any, names: Iterable[str]) -> dict[str, Any]:
    found = {name: value for name in names if (value := at(given, name))}
    return ANYTHING if has_unknown(found) or "{{" in str(found) else found


def in_common(one: Any, other: Any) -> Any:
    """What two ways of an object have in common; what they have not is not known."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = dict.fromkeys((*one, *other))
        return {key: in_common(one.get(key), other.get(key)) for key in keys}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [in_common(a, b) for a, b in zip(one, other, strict=True)]
    return one if one == other else UNKNOWN
