"""Devices that are named by a variable, where no list of containers has it.

Values of charts and objects of other people's kinds give containers their variables under keys of
their own: `extraEnv`, `env`, `envVars`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.workloads.pods import ASK_FOR_IT, named_outside
from eks_gpushare.manifests.rules.kubernetes import DEVICES_BY_HAND
from gpushare_policies.reading.charts import CHART_TOKENS
from gpushare_policies.reading.delivered import delivers_charts, values_of_pods
from gpushare_policies.reading.objects import is_theirs, objects_of, pod_templates
from gpushare_policies.words import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pulumi_policy import PolicyResource

    from eks_gpushare.findings.finding import FieldPath

_OF_CDI = "cdi.k8s.io/"
_OF_NODES = ("nvidia.com", "karpenter.k8s.aws")
"""Groups of what runs on nodes itself, and needs to see all of their devices."""


def devices_named(resources: Sequence[PolicyResource]) -> Iterator[Problem]:
    """What names devices by the variable, of all resources."""
    for resource in resources:
        token = resource.resource_type
        if not token.startswith("kubernetes:"):
            continue
        kind = token.rpartition(":")[2]
        source = Source(f"the {kind} {name_of(resource.urn)}", resource)
        named = [found for value in _values(resource) for found in named_outside(value)]
        for place, what in (*named, *_annotations(resource)):
            told = f"{at_start(source.name)} {what}."
            yield Problem(DEVICES_BY_HAND, source, place, told, ASK_FOR_IT)


def _annotations(resource: PolicyResource) -> Iterator[tuple[FieldPath, str]]:
    """Those of pods by which container runtimes that go by CDI give them devices.

    https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md (2026-11-28)
    """
    for obj in objects_of(resource.resource_type, resource.props):
        for template in pod_templates(obj):
            for key, _ in pairs(at(template.metadata, "annotations")):
                if _OF_CDI in key:
                    yield (
                        (*template.path, "metadata", "annotations", key),
                        f"names devices by {key}",
                    )


def _values(resource: PolicyResource) -> Iterator[Any]:
    token, props = resource.resource_type, resource.props
    if token in CHART_TOKENS or delivers_charts(token):
        yield from values_of_pods(resource)
    else:
        for found in objects_of(token, props):
            if is_theirs(found.kind) and found.kind.group not in _OF_NODES:
                yield found.body
