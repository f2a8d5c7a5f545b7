"""Faults that are put into laid stacks by their API: each is named alone, and gone once undone.

All of them: EKS_GPUSHARE_TEST_AT_LENGTH=1 pytest tests/lab/walkthroughs/<this file>. Each stack is
laid once. What is wrong with a node's status is tried after the simulated kubelets have stopped,
which would put it right.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import cluster_faults
import pytest
from kueue_kinds import kinds_of_kueue
from lab_server import LabServer
from tests.live.test_faults import codes, following, worse

from eks_gpushare.lint.stack_side import Stack, read_stack
from eks_gpushare.live.listing import read_cluster
from eks_gpushare.live.verdict import verdict_of
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from cluster_breaking import ClusterFault

    from eks_gpushare.live.verdict import ClusterVerdict
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
FAULTS = cluster_faults.every()
QUIET_SECONDS = 0.4


class LaidStack(NamedTuple):
    """A stack in a lab, and how it is judged."""

    client: Client
    declared: Stack
    session: Session | None
    """None where the simulated kubelets have stopped."""

    def verdict(self) -> ClusterVerdict:
        """What is said of it once it has come to rest, an hour after it was made."""
        if self.session is not None:
            self.session.touch()
            assert self.session.settle(QUIET_SECONDS)
        objects = read_cluster(LabServer(self.client), tenants=True)
        return verdict_of(replace(objects, at=objects.at + timedelta(hours=1)), self.declared)


@pytest.fixture(scope="module")
def laid(
    empty_lab: Lab,
    emptied: Callable[[Client], AbstractContextManager[None]],
    desired: Callable[[str], DesiredCluster],
    eventually: Callable[..., bool],
    request: pytest.FixtureRequest,
) -> Iterator[LaidStack]:
    stack, is_at_rest = request.param
    lab = empty_lab
    client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
    declared = read_stack(ROOT / "stacks" / f"Pulumi.{stack}.yaml")
    wanted = desired(stack)
    with emptied(client), kinds_of_kueue(client, wanted, eventually):
        with Session(client) as session:
            session.install(wanted)
            assert session.settle(QUIET_SECONDS)
            if not is_at_rest:
                yield LaidStack(client, declared, session)
        if is_at_rest:
            yield LaidStack(client, declared, None)
    client.close()


def of(fault: ClusterFault) -> Any:
    marks = () if fault.always else pytest.mark.at_length
    return pytest.param((fault.stack, fault.is_of_status), fault, id=str(fault), marks=marks)


@pytest.mark.parametrize(("laid", "fault"), [of(fault) for fault in FAULTS], indirect=["laid"])
def test_a_fault_is_named_alone_and_gone_when_it_is_undone(
    laid: LaidStack, fault: ClusterFault
) -> None:
    with fault.there(laid.client):
        found = laid.verdict()
    after = laid.verdict()

    assert codes(found) == [fault.code], worse(found)
    assert following(found) >= fault.follows
    cause = next(each for each in found.causes if each.fault.finding.code == fault.code)
    assert fault.about in f"{cause.fault.finding.path} {cause.fault.finding.message}"
    assert worse(after) == []


def test_there_are_faults_of_every_way_to_share() -> None:
    assert len(FAULTS) >= 60
    assert len({fault.code for fault in FAULTS}) >= 25
    assert len({str(fault) for fault in FAULTS}) == len(FAULTS)
    assert {fault.stack for fault in FAULTS} >= {
        *("time-slicing", "mps", "mig-balanced", "mig-time-slicing", "multi-tenant"),
        *("exclusive", "gpu-operator", "bottlerocket", "karpenter-time-slicing"),
    }
