"""What it takes for workloads to scale by the use of their shares: Prometheus and KEDA, together.

Started when a stack or a manifest has an object of KEDA's, or a release of its chart; the lab of
any other stack knows nothing of it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare_lab import rules
from eks_gpushare_lab.binaries import build, cleaning, versions
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.controllers import keda, prometheus, web
from eks_gpushare_lab.controllers.processes import Processes
from eks_gpushare_lab.controllers.shorter_times import compressed, is_scaled_object
from eks_gpushare_lab.host.folders import make_private
from eks_gpushare_lab.host.ports import reserved
from eks_gpushare_lab.simulated_node.exporters import Exporters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.release import Release
    from eks_gpushare_lab.observing.watches import Watches
    from eks_gpushare_lab.simulated_node.config_file import Configuration

VARIABLE = "EKS_GPUSHARE_LAB_FASTER"
"""Environment variable: what times of ScaledObjects are divided by."""

_FOLDER = "scaling"
_EXAMPLE_MINUTES = 2


class ScalingByUse:
    """Prometheus, KEDA, and what they ask, from `start` to `stop`."""

    def __init__(
        self,
        client: Client,
        lab: Lab,
        watches: Watches,
        configuration: Callable[[str], Configuration | None],
        faster: float,
    ) -> None:
        """Start nothing yet.

        Args:
            client: the API server.
            lab: whose it is; logs go where its other logs are.
            watches: what is there.
            configuration: what the device plugin of a node runs with, None if none serves.
            faster: what times of ScaledObjects are divided by.
        """
        self._client = client
        self._faster = faster
        self._lab = lab
        self.exporters = Exporters(client, watches, configuration)
        """The exporters of the nodes."""
        self.prometheus = ""
        """Address of Prometheus; `""` before it is started."""
        self.proxy: web.ProxyAnswers | None = None
        """What stands in for the addresses that ScaledObjects name."""
        self._servers: list[web.Web] = []
        self._processes: Processes | None = None

    def start(self, release: Release | None = None) -> None:
        """Build what is missing, start everything, and return when KEDA answers.

        Args:
            release: of KEDA's chart, if the stack has one.

        Raises:
            LabError: If something could not be built or started.
        """
        tools = (versions.keda(), versions.keda_crds(), versions.prometheus())
        with cleaning.in_use():
            built = build.programs(tools)
            self._run(built, release)

    def _run(self, built: build.Programs, release: Release | None) -> None:
        from eks_gpushare_lab.control_plane import certificates  # which takes a while to import

        for each in keda.definitions(built.files[versions.keda_crds().name]):
            self._client.apply(each)
        self.exporters.start()
        folder = make_private(self._lab.directory / _FOLDER)
        processes = self._processes = Processes(folder, self._lab.logs)
        authority = certificates.ServiceAuthority()
        metrics = web.Web(web.MetricsAnswers(self.exporters))
        self._servers.append(metrics)
        with reserved(4) as (asked, *ports):
            self.prometheus = f"http://127.0.0.1:{asked}"
            self.proxy = web.ProxyAnswers(self.prometheus)
            proxy = web.Web(self.proxy, web.Hosts(authority, folder))
            self._servers.append(proxy)
            program = built.paths[prometheus.NAME]
            prometheus.start(processes, program, asked, metrics.address, self._faster)
            setting = keda.Setting(built.paths, self._lab.kubeconfig, proxy.address, authority)
            if release is not None:
                watched = str(release.values.get("watchNamespace") or "")
                setting = replace(setting, namespace=release.namespace, watched=watched)
            keda.start(processes, setting, ports)
            for each in keda.services(setting.namespace, ports[1], authority.certificate):
                self._client.apply(each)
            processes.wait("Prometheus", lambda: prometheus.is_ready(self.prometheus))
            processes.wait("KEDA", lambda: keda.is_available(self._client))

    def adapt(self, objects: Sequence[Object]) -> tuple[list[Object], list[Finding]]:
        """Objects as the lab applies them, and what to say about that."""
        if self._faster == 1:
            return list(objects), []
        mine = list(filter(is_scaled_object, objects))
        made = [compressed(e, self._faster) if is_scaled_object(e) else e for e in objects]
        if not mine:
            return made, []
        names = ", ".join(each["metadata"]["name"] for each in mine)
        message = (
            f"All times of {names} are divided by {self._faster:g}, those in queries too: what "
            f"takes {_EXAMPLE_MINUTES} minutes on EKS takes "
            f"{_EXAMPLE_MINUTES * 60 / self._faster:g} seconds here."
        )
        fix = f"Nothing; {VARIABLE}=1 has them as they are."
        return made, [rules.FASTER_TIMES.finding(("objects", "ScaledObject"), message, fix)]

    def check(self) -> None:
        """See that everything runs.

        Raises:
            LabError: If a program has ended.
        """
        if self._processes is not None:
            self._processes.check()

    def stop(self) -> None:
        """End everything. ScaledObjects stay, and can be deleted without KEDA."""
        if self._processes is not None:
            self._processes.stop()
            with suppress(ApiError, OSError):  # the lab may have gone before
                keda.let_go(self._client)
        for each in self._servers:
            each.stop()
        self.exporters.stop()
        self._processes, self._servers = None, []
