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
    if found.ends:
        return Problem(
            NOT_BUILT,
            Source("the kustomization", found.document),
            found.place,
            f"Kustomize builds nothing of it: {found.why}.",
            "Name a place that is there, or take the patch out.",
            "warning",
        )
    return Problem(
        NOT_BUILT,
        Source("the kustomization", found.document),
        found.place,
        f"It is judged without this: {found.why}.",
        "Give the files with it, or what it makes: kustomize build FOLDER | eks-gpushare lint -",
    )
