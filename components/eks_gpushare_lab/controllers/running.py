"""The controllers of a stack, for as long as it is on the lab."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eks_gpushare_lab import rules
from eks_gpushare_lab.controllers.shorter_times import VARIABLE, faster

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.program.recording import Recording
    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.cloud.emulation import Cloud
    from eks_gpushare_lab.cloud.settings import CloudSettings
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.controllers.cluster_autoscaler import ClusterAutoscalerProcess
    from eks_gpushare_lab.controllers.karpenter import KarpenterProcess
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster, NodePool
    from eks_gpushare_lab.install.release import DeclaredRelease

KARPENTER = "karpenter"
"""Name of the chart whose program is Karpenter's."""
CLUSTER_AUTOSCALER = "cluster-autoscaler"
"""Name of the chart whose program is Cluster Autoscaler's."""
PROGRAMS = (KARPENTER, CLUSTER_AUTOSCALER)
"""Charts whose programs run for real."""

_POOL_SECONDS = 30.0
_FIX = "Fix in the pool what the message names: its user data, kubelet settings or labels."


@dataclass(frozen=True, slots=True)
class Running:
    """What runs beside the control plane."""

    desired: DesiredCluster
    """What is left to install: nodes of Auto Scaling groups come by themselves."""
    cloud: Cloud | None = None
    """What the controllers take for AWS; None if the stack has none."""
    karpenter: KarpenterProcess | None = None
    """Karpenter, if the stack has it."""
    autoscaler: ClusterAutoscalerProcess | None = None
    """Cluster Autoscaler, if the stack has it and managed node groups for it."""

    def await_pools(self, client: Client) -> None:
        """Wait until what is installed can make nodes, as an update of the stack would.

        What cannot is not waited for long: the run will show it.

        Raises:
            LabError: If a controller has ended.
        """
        if self.karpenter is None:
            return
        from eks_gpushare_lab.controllers import karpenter

        deadline = time.monotonic() + _POOL_SECONDS
        while not karpenter.knows_pools(client) and time.monotonic() < deadline:
            self.check()
            time.sleep(0.05)

    def see_nodes(self) -> Iterator[Finding]:
        """Have Cluster Autoscaler see the nodes that have come since its start, and tell of it.

        Until it has asked AWS, it takes them for such as are yet to come, with room. On EKS it has
        asked by then: a node takes longer to join than here. Call this where nothing moves.
        """
        if self.autoscaler is None or self.cloud is None or faster() == 1:
            return
        since = self.autoscaler.started
        if any((machine["joined"] or 0) > since for machine in self.cloud.machines()):
            self.autoscaler.start_anew()
            message = (
                "When nothing moved, Cluster Autoscaler was started anew, for it asks AWS for its "
                "nodes at its start and then once a minute."
            )
            fix = f"Nothing; {VARIABLE}=1 leaves it running."
            yield rules.EMPTY_SOONER.finding(("releases", CLUSTER_AUTOSCALER), message, fix)

    def findings(self) -> Iterator[Finding]:
        """What AWS alone knows: machines that were launched and are no nodes."""
        machines = self.cloud.machines() if self.cloud is not None else []
        stopped = Counter(
            (machine["pool"], machine["said"]) for machine in machines if machine["said"]
        )
        for (pool, said), count in sorted(stopped.items()):
            many = f"{count} instances that were launched for it never join"
            who = "An instance that was launched for it never joins" if count == 1 else many
            message = f"{who}: {said.removesuffix('.')}. Karpenter ends it after 15 minutes."
            yield rules.NOT_JOINED.finding(("pools", pool), message, _FIX)

    def check(self) -> None:
        """See that all of it still runs.

        Raises:
            LabError: If something has ended.
        """
        for process in (self.karpenter, self.autoscaler):
            if process is not None:
                process.check()


@contextmanager
def running(
    lab: Lab,
    client: Client,
    recording: Recording,
    desired: DesiredCluster,
    *,
    applied: Sequence[Object] = (),
    settings: CloudSettings | None = None,
) -> Iterator[Running]:
    """Have the controllers that a stack installs; nothing is started for one that has none.

    What they know as AWS is gone at the end, so its nodes go at the beginning of the next run.

    Args:
        lab: the control plane.
        client: its API server.
        recording: of the stack's program.
        desired: what a cluster would have of it.
        applied: objects that are applied besides.
        settings: how AWS behaves.

    Raises:
        LabError: If one of them cannot be built or started.
    """
    from eks_gpushare_lab.controllers import leftovers

    leftovers.remove(client)
    release = release_of(desired.releases, KARPENTER)
    scaling, groups = scaled_groups(desired)
    if release is None and scaling is None:
        yield Running(desired)
        return
    # Here, so that no other run pays for the import of an SDK.
    from eks_gpushare_lab.cloud.declared import account_of
    from eks_gpushare_lab.cloud.emulation import Cloud
    from eks_gpushare_lab.controllers import cluster_autoscaler, karpenter

    told = (release.values.get("settings") or {}) if release is not None else {}
    named = next((group.cluster for group in groups), lab.directory.name)
    account = account_of(
        recording,
        [*desired.objects, *applied],
        cluster=str(told.get("clusterName") or named),
        queue=str(told.get("interruptionQueue") or ""),
        endpoint=lab.url,
    )
    with ExitStack() as started:
        cloud = Cloud(lab, replace(account, node_groups=groups), settings)
        cloud.begin()  # it takes seconds, as the definitions do
        started.callback(cloud.stop)
        if release is not None:
            karpenter.define(client)
        cloud.await_ready()
        program = autoscaler = None
        if release is not None:
            program = started.enter_context(karpenter.KarpenterProcess(lab, cloud, release))
        if scaling is not None:
            made = cluster_autoscaler.ClusterAutoscalerProcess(lab, cloud, scaling)
            autoscaler = started.enter_context(made)
        others = tuple(pool for pool in desired.pools if pool not in groups)
        yield Running(replace(desired, pools=others), cloud, program, autoscaler)


def scaled_groups(desired: DesiredCluster) -> tuple[DeclaredRelease | None, tuple[NodePool, ...]]:
    """The release of Cluster Autoscaler and the managed node groups, which it looks at all.

    Without either there is nothing for it to do.
    """
    release = release_of(desired.releases, CLUSTER_AUTOSCALER)
    groups = tuple(pool for pool in desired.pools if pool.group)
    return (release, groups) if release is not None and groups else (None, ())


def release_of(releases: Iterable[DeclaredRelease], chart: str) -> DeclaredRelease | None:
    """The release of a chart, or None."""
    return next((release for release in releases if release.chart == chart), None)
