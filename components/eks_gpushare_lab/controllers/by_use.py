"""Workloads that scale by the use of their shares, in a run that may have none.

It is light: KEDA and Prometheus are looked for only when something of KEDA's is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare_lab.controllers import keda
from eks_gpushare_lab.controllers.scaled_objects import is_scaled_object
from eks_gpushare_lab.controllers.shorter_times import faster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.live.pods import PodOwner
    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.controllers.scaling_by_use import ScalingByUse
    from eks_gpushare_lab.install.release import DeclaredRelease
    from eks_gpushare_lab.observing.watches import Watches
    from eks_gpushare_lab.simulated_node.config_file import Configuration


class ByUse:
    """Has KEDA there as soon as something of its own is to be installed."""

    def __init__(
        self,
        client: Client,
        lab: Lab | None,
        watches: Watches,
        configuration: Callable[[str], Configuration | None],
    ) -> None:
        """Start nothing.

        Args:
            client: the API server.
            lab: whose it is; None for somebody's, who starts no further programs.
            watches: what is there.
            configuration: what the device plugin of a node runs with, None if none serves.
        """
        self._client, self._lab, self._watches = client, lab, watches
        self._configuration = configuration
        self.scaling: ScalingByUse | None = None
        """Prometheus and KEDA, once they run."""

    def take(
        self, objects: Sequence[Object], releases: Sequence[DeclaredRelease] = ()
    ) -> Sequence[Object]:
        """Objects as they are to be applied, with KEDA there if any of them is its own.

        Raises:
            LabError: If KEDA or Prometheus cannot be built or started.
        """
        if self._lab is None or not keda.wanted(objects, releases):
            return objects
        if self.scaling is None:
            from eks_gpushare_lab.controllers.scaling_by_use import ScalingByUse

            self.scaling = ScalingByUse(
                self._client, self._lab, self._watches, self._configuration, faster()
            )
            release = next((release for release in releases if release.chart == keda.CHART), None)
            self.scaling.start(release)
        return self.scaling.adapt(objects)

    def take_over(self, objects: Sequence[Object], releases: Sequence[DeclaredRelease]) -> None:
        """Do the same for objects that somebody else has applied, Helm KEDA's definitions too."""
        for obj in self.take(objects, releases):
            if is_scaled_object(obj) and self._client.get(self._client.path_of(obj)):
                self._client.apply(obj)

    @property
    def targets(self) -> set[PodOwner]:
        """Workloads whose number of pods is KEDA's to say."""
        return self.scaling.targets if self.scaling else set()

    @property
    def patience(self) -> float:
        """Seconds without a change after which there will be none; 0 without KEDA."""
        return self.scaling.patience if self.scaling else 0.0

    def is_quiet(self, quiet: float) -> bool:
        """Whether KEDA leaves everything as it is, if nothing has changed for some seconds.

        Raises:
            LabError: If one of its programs has ended.
        """
        if self.scaling is None:
            return True
        self.scaling.check()
        return min(quiet, self.scaling.exporters.settled()) >= self.scaling.patience

    def steps(self, workload: PodOwner) -> list[tuple[float, int]]:
        """Pods that KEDA gave a workload, each number with the seconds since the first."""
        return self.scaling.steps(workload) if self.scaling else []

    def findings(self) -> list[Finding]:
        """What keeps workloads from scaling by their use, as it is now."""
        return self.scaling.findings() if self.scaling else []

    def stop(self) -> None:
        """End what was started."""
        if self.scaling is not None:
            self.scaling.stop()
