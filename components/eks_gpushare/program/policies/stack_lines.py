"""Which line of a stack file a resource comes from.

Where a stack file declares everything, its program is one line, and what somebody wrote is in the
file: below `pools`, `workloads`, or one of the blocks that there is one of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.project import ENVIRONMENT_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.recording import Recording, Resource
    from eks_gpushare.stack_file.check import StackReport

_OURS = "eks-gpushare:index:"
_ENVIRONMENT = f"{_OURS}GpuSharingEnvironment"
_BLOCKS: Mapping[str, str] = {
    "Network": "network",
    "EksCluster": "cluster",
    "SystemNodes": "system",
    "DevicePlugin": "gpuStack",
    "GpuOperator": "gpuStack",
    "EfaDevicePlugin": "gpuStack",
    "Karpenter": "karpenter",
    "ClusterAutoscaler": "clusterAutoscaler",
    "Keda": "keda",
    "ShareVerifier": "verifier",
    "GpuMetrics": "observability",
    "Tenants": "tenants",
}
"""Components by their names to the block of the environment that they are made from."""
_NAMED: Mapping[str, tuple[str, str]] = {
    "GpuPool": ("pools", ""),
    "KarpenterPool": ("pools", ""),
    "SharedWorkload": ("workloads", "workload-"),
}
"""The same of those that a block has several of, and what their names have before the key."""


def stack_lines(recording: Recording, report: StackReport) -> dict[str, int]:
    """The lines of a stack file that declares an environment, by the URNs of what it makes.

    Of a program that makes its environment otherwise, and of resources outside of one, there is
    none.
    """
    if report.stack_file is None or report.environment is None:
        return {}
    document = report.stack_file.document
    lines: dict[str, int] = {}
    for urn, path in stack_paths(recording).items():
        line = document.line_of(("config", ENVIRONMENT_KEY, *path))
        if line is not None:
            lines[urn] = line
    return lines


def stack_paths(recording: Recording) -> dict[str, tuple[str, ...]]:
    """The pools and blocks of an environment that resources come from, by URN, as paths in it."""
    environments = recording.of_type(_ENVIRONMENT)
    if len(environments) != 1:
        return {}
    (environment,) = environments
    chains = {
        resource.urn: _up_to(resource, environment, recording) for resource in recording.resources
    }
    return {urn: _path(chain, environment) for urn, chain in chains.items() if chain is not None}


def _up_to(
    resource: Resource, environment: Resource, recording: Recording
) -> list[Resource] | None:
    """A resource and what it is part of, below the environment; None if it is no part of that."""
    chain: list[Resource] = []
    each: Resource | None = resource
    while each is not None and each is not environment:
        chain.append(each)
        each = recording.by_urn.get(each.parent)
    return None if each is None else chain


def _path(chain: list[Resource], environment: Resource) -> tuple[str, ...]:
    if not chain:
        return ()
    part = chain[-1]
    kind = part.type.removeprefix(_OURS)
    if kind in _NAMED:
        block, before = _NAMED[kind]
        return block, part.name.removeprefix(f"{environment.name}-{before}")
    return (_BLOCKS[kind],) if kind in _BLOCKS else ()
