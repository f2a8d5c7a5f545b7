"""Lists of Kubernetes objects, as `kubectl get -o yaml` prints them, and as values of charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.readers.values import mappings

if TYPE_CHECKING:
    from eks_gpushare.manifests.document import Document


class ListReader:
    """Gives the objects of a List to the other readers."""

    name = "Kubernetes"

    def matches(self, document: Document) -> bool:
        """A kind that ends in `List`, with items."""
        value = document.value
        if not isinstance(value, dict) or not isinstance(value.get("items"), list):
            return False
        kind = value.get("kind")
        return isinstance(kind, str) and kind.endswith("List") and "apiVersion" in value

    def read(self, document: Document) -> Read:
        """Each object; those of a DeploymentList do not repeat their kind."""
        value = document.value
        kind = value["kind"].removesuffix("List")
        inner = []
        for index, item in mappings(value["items"]):
            whole = dict(item)
            if kind:
                whole = {"apiVersion": value["apiVersion"], "kind": kind, **item}
            inner.append(document.inside(("items", index), whole))
        return Read(inner=inner)


_RAW: Final = "resources"


def is_raw(value: Any) -> bool:
    """Whether values are those of a chart that applies the objects in them as they are.

    `bedag/raw`, `incubator/raw` and `dysnix/raw` do: templates/resources.yaml of each.
    """
    listed = items(at(value, _RAW))
    is_object = at(value, "apiVersion") is not None
    texts = ((at(each, "apiVersion"), at(each, "kind")) for each in listed)
    return not is_object and bool(listed) and all(isinstance(e, str) for t in texts for e in t)


class RawValuesReader:
    """Gives the objects of such values to the other readers."""

    name = "Helm values"

    def matches(self, document: Document) -> bool:
        """Whether all of the list says what it is."""
        return is_raw(document.value)

    def read(self, document: Document) -> Read:
        """Each object."""
        listed = mappings(document.value[_RAW])
        return Read(inner=[document.inside((_RAW, index), each) for index, each in listed])
