"""Kueue, in a run that may have none.

It is light: Kueue is looked for only when something of its own is installed or applied.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import yaml

from eks_gpushare_lab import rules
from eks_gpushare_lab.binaries import build, cleaning, versions
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.controllers import kueue
from eks_gpushare_lab.controllers.processes import Processes
from eks_gpushare_lab.host.folders import make_private
from eks_gpushare_lab.host.ports import reserved
from eks_gpushare_lab.observing import queues

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.release import DeclaredRelease

_FOLDER = "queueing"
_VALUES = "values.yaml"


def other_version(release: DeclaredRelease, ours: str) -> Iterator[Finding]:
    """What is to be said where a stack installs another minor version than the lab has.

    Args:
        release: Kueue's, as the stack has it.
        ours: version of the lab's.
    """
    theirs, ours = (version.removeprefix("v") for version in (release.version, ours))
    if theirs and theirs.split(".")[:2] != ours.split(".")[:2]:
        message = f"The release installs Kueue {theirs}, and the lab runs {ours}."
        fix = "See what has changed between the two; what waits here and why is the lab's word."
        yield rules.OTHER_KUEUE.finding(("releases", release.name), message, fix)


class Queueing:
    """Has Kueue there as soon as something of its own is to be installed."""

    def __init__(self, client: Client, lab: Lab | None) -> None:
        """Start nothing.

        Args:
            client: the API server.
            lab: whose it is; None for somebody's, who starts no further programs.
        """
        self._client, self._lab = client, lab
        self._processes: Processes | None = None
        self.findings: list[Finding] = []
        """What is to be said of how it runs here."""

    def start_for(
        self, objects: Sequence[Object], releases: Sequence[DeclaredRelease] = ()
    ) -> None:
        """Have Kueue there if any object or release is its own.

        Raises:
            LabError: If it cannot be built or started.
        """
        if self._lab is None or self._processes or not kueue.wanted(objects, releases):
            return
        release = next((release for release in releases if release.chart == kueue.CHART), None)
        with cleaning.in_use():
            tools = (versions.kueue(), versions.kueue_manifests())
            built = build.programs(tools)
            if release is not None:
                self.findings = list(other_version(release, versions.kueue().version))
            self._run(self._lab, built, release)

    def _run(self, lab: Lab, built: build.Programs, release: DeclaredRelease | None) -> None:
        files = built.files[versions.kueue_manifests().name]
        values = next(file for file in files if file.name == _VALUES)
        documents = [
            document
            for file in files
            if file != values
            for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
            if document
        ]
        defaults = yaml.safe_load(values.read_text(encoding="utf-8"))
        setting = kueue.setting_of(release, defaults)
        folder = make_private(lab.directory / _FOLDER)
        processes = self._processes = Processes(folder, lab.logs)
        with reserved(3) as ports:
            for given in kueue.definitions(documents, setting, ports[-1]):
                self._client.apply(given)
            flags, environment = kueue.command(setting, lab.kubeconfig, folder, ports)
            processes.spawn(kueue.CHART, built.paths[kueue.CHART], flags, environment)
            url = f"http://127.0.0.1:{ports[0]}/readyz"

            def is_ready() -> bool:
                kueue.take_certificates(self._client, setting, folder)
                return kueue.answers(self._client, url)

            processes.wait("Kueue", is_ready)

    def await_queues(self) -> None:
        """Wait until it knows the queues there are, if it runs.

        Raises:
            LabError: If it has ended.
        """
        if self._processes is not None:
            self._processes.wait("queues", lambda: kueue.knows_queues(self._client))

    def is_behind(self, pods: Sequence[Object]) -> bool:
        """Whether it has something to do yet about workloads; never without it.

        Args:
            pods: all there are.
        """
        if self._processes is None:
            return False
        return queues.is_behind(pods, lambda kind: self._client.list(f"{queues.GROUP}/{kind}")[0])

    @property
    def pid(self) -> int | None:
        """Its process; None before it starts and after it has ended."""
        return self._processes.pid(kueue.CHART) if self._processes is not None else None

    def check(self) -> None:
        """See that it runs, if it was started.

        Raises:
            LabError: If it has ended.
        """
        if self._processes is not None:
            self._processes.check()

    def end(self) -> None:
        """End it, and leave what it did: its webhooks refuse what they select from here on."""
        if self._processes is not None:
            self._processes.stop()
            self._processes = None

    def stop(self) -> None:
        """End it, and take away what hangs without it."""
        if self._processes is not None:
            self.end()
            with suppress(ApiError, OSError):  # the lab may have gone before
                kueue.let_go(self._client)
