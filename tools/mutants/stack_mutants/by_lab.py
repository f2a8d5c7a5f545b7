"""Whether the lab notices a broken stack: on a real control plane, with a pod on each pool."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eks_gpushare_lab.client import ApiError, Client
from eks_gpushare_lab.cloud.settings import CloudSettings
from eks_gpushare_lab.controllers.running import running
from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.install import manifests
from eks_gpushare_lab.install.desired_cluster import desired_cluster
from eks_gpushare_lab.reporting.report import report_of
from eks_gpushare_lab.run import control_plane
from eks_gpushare_lab.session import STEADY_SECONDS, Session
from stack_mutants.by_lint import WORKLOADS, file_of
from stack_mutants.recordings import ROOT, recorded, with_resources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.recording import Recording
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.control_plane.state import Lab
    from stack_mutants.mutant import Mutant

KINDS = ("NodeGroup", "LaunchTemplate", "ConfigMap", "Release", "Deployment", "Namespace")
"""Types that the lab makes something of."""
_PATIENCE = 20
"""Seconds that pods may take to go."""


class Trials:
    """Mutants on one control plane."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._whole: dict[str, frozenset[str]] = {}

    def caught_by(self, mutant: Mutant) -> tuple[str, ...]:
        """Codes of the findings that are there of it and not of the stack."""
        whole = recorded(mutant.stack, preview=False)
        if mutant.stack not in self._whole:
            self._whole[mutant.stack] = self._codes(whole, whole)
        broken = mutant.recording(preview=False)
        if broken is None:
            return ()
        return tuple(sorted(self._codes(whole, broken[0]) - self._whole[mutant.stack]))

    def _codes(self, whole: Recording, recording: Recording) -> frozenset[str]:
        applied = [each for each in recording.resources if each.name.startswith(WORKLOADS)]
        stack = [each for each in recording.resources if each not in applied]
        program = with_resources(recording, stack)
        given, unreadable = manifests.read([file_of(whole, each) for each in applied])
        if unreadable:
            return frozenset({"refused"})
        desired = desired_cluster(program, ROOT)
        lab = self._lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        objects = [each.object for each in given]
        try:
            with (
                running(
                    lab, client, program, desired, applied=objects, settings=CloudSettings()
                ) as controllers,
                Session(client, lab) as session,
            ):
                session.install(controllers.desired)
                controllers.await_pools(client)
                session.settle(STEADY_SECONDS)
                session.apply(given)
                session.settle(STEADY_SECONDS)
                report = report_of(session, {}, list(controllers.findings()), {})
                _remove(client, objects)
        except (ApiError, LabError):
            return frozenset({"refused"})
        codes = {each.code for each in report.findings if each.severity == "error"}
        return frozenset(codes | {f"{each.workload.name} waits" for each in report.short})


def _remove(client: Client, objects: list[Object]) -> None:
    """Take workloads away, and wait until their pods are gone: the next ones are to be placed."""
    for each in objects:
        client.delete(client.path_of(each))
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and client.list("/api/v1/namespaces/default/pods")[0]:
        time.sleep(0.1)


@contextmanager
def trials() -> Iterator[Trials]:
    """On the lab that is up, or one for these."""
    with control_plane() as lab:
        yield Trials(lab)
