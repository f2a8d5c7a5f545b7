"""Karpenter's own controller on a control plane of its own, for the tests of a module."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from karpenter_scene import Scene

from eks_gpushare.program.preview import locate, preview
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.cloud.settings import CloudSettings
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.controllers.running import running
from eks_gpushare_lab.install.desired_cluster import desired_cluster
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eks_gpushare_lab.binaries.build import Programs

STACK = """
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster: {{name: karpenter-lab, version: "1.35", deletionProtection: false}}
    network: {{cidr: 10.0.0.0/16, zones: [us-west-2a, us-west-2b], natGateways: single}}
    system: {{instanceTypes: [m5.2xlarge], nodes: {{min: 2, desired: 2, max: 4}}}}
    pools:
{pools}
"""


@pytest.fixture(scope="module")
def scene(
    programs: Programs,
    lab_home: Path,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    """The stack of the module's POOLS_OF_STACK on a control plane of the module's own."""
    assert programs.paths
    assert lab_home.is_dir()
    pools: str = request.module.POOLS_OF_STACK
    settings: CloudSettings = getattr(request.module, "SETTINGS", CloudSettings(start=0.3))
    file = tmp_path_factory.mktemp("stack") / "Pulumi.karpenter.yaml"
    file.write_text(STACK.format(pools=pools.rstrip()), encoding="utf-8")
    root = request.config.rootpath
    previewed = preview(*locate(str(file), str(root)), known=True)
    assert previewed.recording is not None, previewed.findings
    assert previewed.ok, previewed.recording.error or previewed.findings
    desired = desired_cluster(previewed.recording)
    with ExitStack() as stack:
        lab = stack.enter_context(ControlPlane()).lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        controllers = stack.enter_context(
            running(lab, client, previewed.recording, desired, settings=settings)
        )
        session = stack.enter_context(Session(client))
        session.install(desired)
        assert not session.findings
        controllers.await_pools(client)
        yield Scene(client, session, controllers)
