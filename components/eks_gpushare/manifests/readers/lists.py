"""Lists of Kubernetes objects, as `kubectl get -o yaml` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
