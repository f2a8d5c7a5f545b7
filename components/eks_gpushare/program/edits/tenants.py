"""What an edit does to tenants: a quota that gets smaller under pods that run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.program.edits.compared import by_urn, inputs
from eks_gpushare.program.edits.kinds import Consequence, edit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource

_QUOTA = "kubernetes:core/v1:ResourceQuota"
_LESS = (
    "{namespace} may have {now} of {name} in place of {was}: pods that run stay, and no new one is "
    "taken until enough of them have ended"
)


def of_quotas(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Quotas that allow less than before; Kubernetes evicts nobody for that."""
    olds = by_urn(before, _QUOTA)
    for urn, new in by_urn(after, _QUOTA).items():
        was, now = _hard(olds.get(urn)), _hard(new)
        for name, amount in now.items():
            old, given = quantity(str(was.get(name, "0"))), quantity(str(amount))
            if old is None or given is None or given >= old:
                continue
            says = _LESS.format(namespace=_space(new), now=amount, name=name, was=was[name])
            yield edit(new.name, "update", (f"spec.hard.{name}",), says)


def _hard(resource: Resource | None) -> Mapping[str, object]:
    spec = inputs(resource).get("spec") if resource else None
    hard = spec.get("hard") if isinstance(spec, dict) else None
    return hard if isinstance(hard, dict) else {}


def _space(resource: Resource) -> object:
    metadata = inputs(resource).get("metadata")
    return metadata.get("namespace") if isinstance(metadata, dict) else ""
