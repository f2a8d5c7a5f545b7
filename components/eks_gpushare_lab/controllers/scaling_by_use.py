"""What it takes for workloads to scale by the use of their shares: Prometheus and KEDA, together.

Started when a stack or a manifest has an object of KEDA's, or a release of its chart; the lab of
any other stack knows nothing of it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare.live.pods import PodOwner
from eks_gpushare_lab import rules
from eks_gpushare_lab.binaries import build, cleaning, versions
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.controllers import keda, prometheus, web
from eks_gpushare_lab.controllers.processes import Processes
from eks_gpushare_lab.controllers.scaled_objects import (
    is_by_gpu,
    is_scaled_object,
    patience,
    target_of,
)
from eks_gpushare_lab.controllers.shorter_times import VARIABLE, compressed
from eks_gpushare_lab.host.folders import make_private
from eks_gpushare_lab.host.ports import reserved
from eks_gpushare_lab.observing.observer import workload_of
from eks_gpushare_lab.simulated_node.exporters import Exporters
from eks_gpushare_lab.simulated_node.pods import is_alive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.release import DeclaredRelease
    from eks_gpushare_lab.observing.watches import Watches
    from eks_gpushare_lab.simulated_node.config_file import Configuration

_FOLDER = "scaling"
_EXAMPLE_MINUTES = 2
_TARGET = "Deployment"  # what is watched has no kind where it is an item of a list


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
        self._watches = watches
        self._scaled: list[Object] = []
        self._of_version: list[Finding] = []
        self._steps: dict[PodOwner, list[tuple[float, int]]] = {}
        self._servers: list[web.Web] = []
        self._processes: Processes | None = None

    def start(self, release: DeclaredRelease | None = None) -> None:
        """Build what is missing, start everything, and return when KEDA answers.

        Args:
            release: of KEDA's chart, if the stack has one.

        Raises:
            LabError: If something could not be built or started.
        """
        tools = (versions.keda(), versions.keda_crds(), versions.prometheus())
        if release is not None:
            self._of_version = list(_other_version(release, versions.keda().version))
        with cleaning.in_use():
            built = build.programs(tools)
            self._run(built, release)

    def _run(self, built: build.Programs, release: DeclaredRelease | None) -> None:
        from eks_gpushare_lab.control_plane import certificates  # which takes a while to import

        for definition in keda.definitions(built.files[versions.keda_crds().name]):
            if self._client.get(self._client.path_of(definition)) is None:  # or Helm has made it
                self._client.apply(definition)
        self.exporters.start()
        self.exporters.listen(self._on_workload)
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
            setting = keda.KedaSetting(built.paths, self._lab.kubeconfig, proxy.address, authority)
            if release is not None:
                watched = str(release.values.get("watchNamespace") or "")
                setting = replace(setting, namespace=release.namespace, watched=watched)
            keda.start(processes, setting, ports)
            for service in keda.services(setting.namespace, ports[1], authority.certificate):
                self._client.apply(service)
            processes.wait("Prometheus", lambda: prometheus.is_ready(self.prometheus))
            processes.wait("KEDA", lambda: keda.is_available(self._client))

    def adapt(self, objects: Sequence[Object]) -> list[Object]:
        """Objects as the lab applies them."""
        made = [self._shorter(obj) for obj in objects]
        mine = list(filter(is_scaled_object, made))
        self._scaled += mine
        return made

    def _of_times(self) -> Iterator[Finding]:
        if self._faster == 1 or not self._scaled:
            return
        names = ", ".join(
            dict.fromkeys(scaled_object["metadata"]["name"] for scaled_object in self._scaled)
        )
        message = (
            f"All times of {names} are divided by {self._faster:g}, those in queries too: what "
            f"takes {_EXAMPLE_MINUTES} minutes on EKS takes "
            f"{_EXAMPLE_MINUTES * 60 / self._faster:g} seconds here."
        )
        fix = f"Nothing; {VARIABLE}=1 has them as they are."
        yield rules.FASTER_TIMES.finding(("objects", "ScaledObject"), message, fix)

    def _shorter(self, given: Object) -> Object:
        again = self._faster != 1 and is_scaled_object(given)
        return compressed(given, self._faster) if again else given

    def _on_workload(self, kind: str, given: Object) -> None:
        metadata, replicas = given["metadata"], (given.get("spec") or {}).get("replicas")
        if kind == "DELETED" or replicas is None:
            return
        workload = PodOwner(metadata["namespace"], given.get("kind", _TARGET), metadata["name"])
        steps = self._steps.setdefault(workload, [])
        if not steps or steps[-1][1] != replicas:
            steps.append((time.monotonic(), int(replicas)))

    def steps(self, workload: PodOwner) -> list[tuple[float, int]]:
        """Pods that a workload was given, each number with the seconds since the first."""
        steps = self._steps.get(workload, []) if workload in self.targets else []
        return [(at - steps[0][0], replicas) for at, replicas in steps]

    @property
    def targets(self) -> set[PodOwner]:
        """Workloads whose number of pods is KEDA's to say."""
        return set(map(target_of, self._scaled))

    @property
    def patience(self) -> float:
        """Seconds without a change after which there will be none."""
        return patience(self._scaled)

    def findings(self) -> list[Finding]:
        """What keeps workloads from scaling by their use, as it is now."""
        wrong = (*self._refused(), *self._unmeasured(), *self._unreadable())
        return [*self._of_version, *self._of_times(), *wrong]

    def _refused(self) -> Iterator[Finding]:
        fix = "Change what KEDA names."
        for scaled_object in self._scaled:
            metadata = scaled_object["metadata"]
            space, name = metadata.get("namespace") or "default", metadata["name"]
            words = keda.trouble(self._client, space, name)
            if words:
                message = f"KEDA does not scale {target_of(scaled_object)}: {words}"
                at = ("objects", f"ScaledObject {space}/{name}")
                yield rules.NOT_SCALED.finding(at, message, fix)

    def _unmeasured(self) -> Iterator[Finding]:
        targets = {
            target_of(scaled_object) for scaled_object in self._scaled if is_by_gpu(scaled_object)
        }
        told: set[tuple[PodOwner, str]] = set()
        for pod in filter(is_alive, self._watches.pods.all()):
            workload = workload_of(pod)
            why = self.exporters.blind(pod) if workload in targets else ""
            if why and (workload, why) not in told:
                told.add((workload, why))
                message = f"The use of GPUs by the pods of {workload} is not measured: {why}."
                fix = "Change that, or let it scale by another query: useQuery of the workload."
                at = ("workloads", str(workload))
                yield rules.USE_NOT_MEASURED.finding(at, message, fix)

    def _unreadable(self) -> Iterator[Finding]:
        for name, why in self.exporters.unreadable.items():
            at, fix = ("workloads", name), "Write it as the message says."
            yield rules.UNREADABLE_LOAD.finding(at, f"A load of {name} is not counted: {why}.", fix)

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
        for server in self._servers:
            server.stop()
        self.exporters.stop()
        self._processes, self._servers = None, []


def _other_version(release: DeclaredRelease, ours: str) -> Iterator[Finding]:
    """What is to be said where a stack installs another minor version than the lab has."""
    theirs, ours = (version.removeprefix("v") for version in (release.version, ours))
    if theirs and theirs.split(".")[:2] != ours.split(".")[:2]:
        message = f"The release installs KEDA {theirs}, and the lab runs {ours}."
        fix = (
            "See what has changed between the two; the fields of its kinds are those of the lab's."
        )
        yield rules.OTHER_KEDA.finding(("releases", release.name), message, fix)
