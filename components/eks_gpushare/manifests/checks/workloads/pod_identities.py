"""Associations of EKS Pod Identity, against the accounts of pods with GPUs.

Source: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-association.html, November 2026: an
association is for one namespace and one ServiceAccount, which need not be there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import (
    POD_IDENTITY,
    ROLE_ANNOTATION,
    SERVICE_ACCOUNT,
    Namespace,
    Pointer,
    Release,
    Workload,
)
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import certain_namespace
from eks_gpushare.manifests.rules.two_numbers import NOT_TRUSTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe

_DEFAULT: Final = "default"
"""The account of pods that name none."""


@edge(NOT_TRUSTED)
def associations(inventory: Inventory) -> Iterator[Judgement]:
    """Those for an account of that name in a namespace of which nothing is here."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        made = [each for each in pointers if each.kind == POD_IDENTITY]
        known = {(each.namespace, each.name) for each in made}
        if not made or any(UNKNOWN in each for each in known):
            continue
        there = set(_namespaces(inventory, cluster))
        for workload, _ in gpu_workloads(inventory, cluster):
            account, space = at(workload.spec, "serviceAccountName"), certain_namespace(workload)
            ours = [each for each in made if each.name == account]
            if not ours or account == _DEFAULT or (space, account) in known:
                continue
            if UNKNOWN in there or any(each.namespace in there for each in ours):
                continue
            if not any(_has_role(each, account, space) for each in pointers):
                yield Problem(
                    NOT_TRUSTED,
                    ours[0].source,
                    ("namespace",),
                    f"{at_start(workload.source.name)} runs as {space}/{account}, and its role is "
                    f"that of {ours[0].namespace}/{account} by {ours[0].source.name}: EKS gives "
                    "its pods none.",
                    f"Write the namespace {space}, or an association for it too.",
                )


def _namespaces(inventory: Inventory, cluster: str) -> Iterator[Maybe[str]]:
    """Those in which something is."""
    for workload in inventory.of(Workload, cluster):
        yield certain_namespace(workload)
    for release in inventory.of(Release, cluster):
        yield release.namespace
    for space in inventory.of(Namespace, cluster):
        yield space.name
    for pointer in inventory.of(Pointer, cluster):
        if pointer.kind == SERVICE_ACCOUNT:
            yield certain_namespace(pointer)


def _has_role(pointer: Pointer, account: str, space: Maybe[str]) -> bool:
    """Whether it is the account itself, with a role by its annotation."""
    annotations = dict(pairs(at(pointer.spec, "metadata", "annotations")))
    is_it = pointer.kind == SERVICE_ACCOUNT and (pointer.name, pointer.namespace) == (
        account,
        space,
    )
    return is_it and ROLE_ANNOTATION in annotations
