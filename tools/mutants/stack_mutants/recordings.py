"""The registrations of the stacks, with a workload on each pool as the pool says to write it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.preview import record
from eks_gpushare.program.recording import Resource
from eks_gpushare.program.values import to_json
from eks_gpushare.stack_file.check import check_file
from eks_gpushare.stack_file.project import find_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.recording import Recording

ROOT = Path(__file__).parents[3]
_DEPLOYMENT = "kubernetes:apps/v1:Deployment"


def stack_file(stack: str) -> Path:
    """The file of a stack."""
    return ROOT / "stacks" / f"Pulumi.{stack}.yaml"


def stacks() -> list[str]:
    """Names of the stacks of this repository."""
    return sorted(path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml"))


@cache
def recorded(stack: str, *, preview: bool) -> Recording:
    """What a stack's program registers, and beside it a Deployment for each pool."""
    report = check_file(stack_file(stack))
    recording = record(find_project(ROOT), report, stack, known=not preview)
    if recording.error is not None:
        raise RuntimeError(f"{stack}: {recording.error}")
    return with_resources(recording, [*recording.resources, *_workloads(recording)])


def with_resources(recording: Recording, resources: list[Resource]) -> Recording:
    """The recording with other resources."""
    return replace(recording, resources=resources)


def _workloads(recording: Recording) -> Iterator[Resource]:
    provider = next(
        (each for each in recording.resources if each.name.endswith("-cluster-kubernetes")), None
    )
    for environment in recording.of_type("eks-gpushare:index:GpuSharingEnvironment"):
        for name, pool in to_json(environment.outputs.get("pools", {})).items():
            inputs = _deployment(f"of-{name}", pool)
            yield Resource(
                urn=f"{environment.urn.rsplit('::', 2)[0]}::{_DEPLOYMENT}::of-{name}",
                type=_DEPLOYMENT,
                name=f"of-{name}",
                inputs=inputs,
                outputs=inputs,
                id=f"default/of-{name}",
                provider=_used(recording) if provider else "",
            )


def _used(recording: Recording) -> str:
    """The provider as registrations name it."""
    return next((each.provider for each in recording.resources if "helm" in each.type), "")


def _deployment(name: str, pool: dict[str, Any]) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name}
    limits = {resource: str(count) for resource, count in pool["request"].items()}
    container = {"name": "main", "image": "busybox:1.37", "resources": {"limits": limits}}
    spec = {
        "nodeSelector": pool["nodeSelector"],
        "tolerations": pool["tolerations"],
        "containers": [container],
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
