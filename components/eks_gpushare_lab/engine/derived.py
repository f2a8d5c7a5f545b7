"""What the engine is to install: the stack on an existing cluster, tried in this process first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.program.preview import preview
from eks_gpushare_lab import rules
from eks_gpushare_lab.engine.stack import on_existing_cluster
from eks_gpushare_lab.engine.workspace import scratch_folder
from eks_gpushare_lab.install.desired_cluster import NodePool, desired_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.program.preview import Preview
    from eks_gpushare.program.recording import Recording
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

_OURS = ("kubernetes:", "pulumi:")
_PLAIN_TYPE = "m6i.large"


def derived(
    previewed: Preview, desired: DesiredCluster, lab: Lab
) -> tuple[str, DesiredCluster, list[Finding]]:
    """A stack as the engine installs it on a lab.

    Args:
        previewed: the stack as it is.
        desired: what a cluster would have of it; the lab makes its nodes.
        lab: where to install it.

    Returns:
        Text of the stack file, what it comes to, and why it cannot be installed; nothing if it can.

    Raises:
        LabError: If the stack file declares no environment of ours.
    """
    project = previewed.project
    text = on_existing_cluster(Path(previewed.report.file), lab.kubeconfig, project.program)
    with scratch_folder(lab.directory) as folder:
        file = folder / f"Pulumi.{previewed.stack}.yaml"
        file.write_text(text, encoding="utf-8")
        tried = preview(project, file, known=True)
    recording = tried.recording
    if recording is None or not tried.ok:
        return text, desired, list(_why_not(tried))
    existing = replace(
        desired_cluster(recording, project.program), pools=_with_plain_nodes(desired.pools)
    )
    return text, existing, list(_not_kubernetes(recording))


def _why_not(tried: Preview) -> Iterator[Finding]:
    for finding in tried.findings:
        if finding.severity == "error":
            message = (
                f"On an existing cluster, on which --engine installs a stack: {finding.message}"
            )
            yield replace(finding, message=message, fix="Run it without --engine.")
    if tried.recording is not None and tried.recording.error is not None:
        message = f"On an existing cluster the program stops: {tried.recording.error}"
        fix = "Run it without --engine, or fix the program for cluster.existing."
        yield rules.PROGRAM_STOPPED.finding((), message, fix)


def _not_kubernetes(recording: Recording) -> Iterator[Finding]:
    for resource in recording.resources:
        if resource.custom and not resource.existing and not resource.type.startswith(_OURS):
            message = f"The program makes {resource.type} too, which is nothing in Kubernetes."
            fix = "Make it only where the cluster is new, or run without --engine."
            yield rules.NOT_KUBERNETES.finding(("resources", resource.name), message, fix)


def _with_plain_nodes(pools: Sequence[NodePool]) -> tuple[NodePool, ...]:
    """The nodes of the stack, and one without taints: Helm waits for a chart's Deployments too.

    An existing cluster has such nodes; a new one has its system nodes.
    """
    if all(pool.is_gpu_pool for pool in pools):
        return (*pools, NodePool("other", (_PLAIN_TYPE,), 1, {}, ()))
    return tuple(pools)
