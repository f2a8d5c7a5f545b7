"""What of a kustomization is not followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source

if TYPE_CHECKING:
    from eks_gpushare.manifests.kustomize import Unapplied

NOT_BUILT: Final = Rule(
    "GPU1014",
    "info",
    "A kustomization is given with all that it builds on, which its patches go with.",
    "Objects are judged without what is not applied, so something may be missed or seem wrong. "
    "Where an operation names a place that an object does not have, Kustomize builds nothing.",
    "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/",
)


def unapplied(found: Unapplied) -> Problem:
    """What to say of a part that could not be followed."""
    said = f"It is judged without this: {found.why}."
    fix = "Give the files with it, or what it makes: kustomize build FOLDER | eks-gpushare lint -"
    if found.ends:
        said = f"Kustomize builds nothing of it: {found.why}."
        fix = "Name a place that is there, or take the patch out."
    source = Source("the kustomization", found.document)
    return Problem(NOT_BUILT, source, found.place, said, fix, "warning" if found.ends else None)
