"""Pods with GPUs in namespaces whose pods go to Fargate, which has none.

Source: https://docs.aws.amazon.com/eks/latest/userguide/fargate.html and
https://docs.aws.amazon.com/eks/latest/userguide/fargate-profile.html (wildcards), November 2026.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.items import FARGATE, Pointer
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.problem import Judgement

NOT_ADVERTISED = rule_of("GPU1110")


@edge(NOT_ADVERTISED)
def fargate(inventory: Inventory) -> Iterator[Judgement]:
    """EKS's scheduler takes pods that a profile selects, whatever they ask for."""
    for cluster in inventory.clusters():
        profiles = [each for each in inventory.of(Pointer, cluster) if each.kind == FARGATE]
        for workload, requests in gpu_workloads(inventory, cluster):
            if workload.namespace is UNKNOWN or has_unknown(workload.labels):
                continue
            profile = next((each for each in profiles if _takes(each, workload)), None)
            if profile is not None and at(workload.spec, "schedulerName") in (None, ""):
                yield Problem(
                    NOT_ADVERTISED,
                    workload.source,
                    requests[0].place,
                    f"{at_start(workload.source.name)} asks for {requests[0].resource} in the "
                    f"namespace {workload.namespace}, whose pods {profile.source.name} takes, and "
                    "Fargate has no GPUs.",
                    "Put it into another namespace, or narrow the profile by labels.",
                )


def _takes(profile: Pointer, workload: Workload) -> bool:
    return any(_selects(each, workload) for each in items(at(profile.spec, "selectors")))


def _selects(selector: Any, workload: Workload) -> bool:
    if has_unknown(selector):
        return False
    own = dict(pairs(workload.labels))
    wanted = pairs(at(selector, "labels"))
    return fnmatchcase(str(workload.namespace), str(text(at(selector, "namespace")))) and all(
        key in own and fnmatchcase(str(text(own[key])), str(text(value))) for key, value in wanted
    )
