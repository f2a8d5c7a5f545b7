"""A control plane with the real Cluster Autoscaler on it, and what it does about pods."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from eks_gpushare.program.preview import locate, preview
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.cloud.node_groups import scaling_group_of
from eks_gpushare_lab.cloud.settings import CloudSettings
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.controllers.running import CLUSTER_AUTOSCALER, release_of, running
from eks_gpushare_lab.install.desired_cluster import desired_cluster
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from eks_gpushare.program.recording import Recording
    from eks_gpushare_lab.binaries.build import Programs
    from eks_gpushare_lab.controllers.running import Running
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster, NodePool

ROOT = Path(__file__).parents[3]

STACK = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster:
      name: scaled
      version: "1.35"
      endpoint: {{public: true, publicCidrs: [203.0.113.0/24]}}
      admins: [arn:aws:iam::111122223333:role/Platform]
    network: {{zones: [us-west-2a, us-west-2b]}}
    clusterAutoscaler: {autoscaler}
{more}    pools:
"""
POOL = """\
      {name}:
        instanceTypes: {types}
        scaledBy: autoscaler
        nodes: {{min: 0, desired: 0, max: {most}}}
        amiVersion: 1.35.8-20260930
        sharing: {sharing}
{keys}"""
RESOURCES = "k8s.io/cluster-autoscaler/node-template/resources/"
ACCELERATOR = "k8s.amazonaws.com/accelerator"
NAMESPACE = "default"
ENOUGH_LOOPS = 4
"""Rounds of the autoscaler in which nothing happens, until it counts as done."""

Change = "Callable[[NodePool], NodePool]"


@dataclass(frozen=True)
class Pool:
    """A pool of the stack under test, and pods that want its shares."""

    sharing: str
    """As in a stack file."""
    resource: str
    """What its pods ask for."""
    pods: int
    """How many."""
    types: str = "[g5.xlarge]"
    """Instance types, as in a stack file."""
    most: int = 40
    """Most nodes."""
    change: Any = None
    """What is broken of the node group."""
    spec: Any = None
    """Further keys of the pods' spec."""
    keys: str = ""
    """Further keys of the pool, such as `warm: {shares: 1}`."""


def without_tags(group: NodePool) -> NodePool:
    """A node group whose stack told an autoscaler nothing."""
    return replace(unlabelled(group), tags={})


def unlabelled(group: NodePool) -> NodePool:
    """A node group without the label of GPUs."""
    labels = {key: value for key, value in group.labels.items() if key != ACCELERATOR}
    return replace(group, labels=labels)


def promising(resource: str, count: int) -> Callable[[NodePool], NodePool]:
    """A node group that promises what its nodes do not have."""

    def change(group: NodePool) -> NodePool:
        return replace(group, tags={**group.tags, RESOURCES + resource: str(count)})

    return change


def tainted(key: str) -> Callable[[NodePool], NodePool]:
    """A node group whose nodes join with one more taint, of which the stack does not know."""
    more = {"key": key, "value": "true", "effect": "NoSchedule"}
    return lambda group: replace(group, taints=(*group.taints, more))


def labelled(group: NodePool) -> NodePool:
    """A node group with the label of GPUs, whatever its nodes advertise."""
    return replace(group, labels={**group.labels, ACCELERATOR: "nvidia-a10g"})


class Scaled:
    """A stack on the lab whose pools the Cluster Autoscaler scales."""

    def __init__(self, session: Session, controllers: Running, pools: Mapping[str, Pool]) -> None:
        self.session, self.controllers, self.pools = session, controllers, pools
        assert controllers.cloud is not None
        assert controllers.autoscaler is not None
        self.cloud, self.autoscaler = controllers.cloud, controllers.autoscaler
        self._groups = {each.name: each.group for each in self.cloud.account.node_groups}

    def deploy(self, *names: str) -> None:
        """Have the pods of some pools, of which the autoscaler sees none before all wait.

        It would otherwise plan for some and, for up to a minute, think that their nodes are coming
        when they are there: it knows its instances as they were when it last asked.
        """
        with self.paused():
            self.start(*names)
            wanted = sum(self.pools[name].pods for name in names)
            self.await_that(lambda: self.waiting(names) == wanted, f"{wanted} pods wait")

    def edit(self, pools: Mapping[str, Pool], folder: Path) -> None:
        """As an update to edited pools would: tags of their groups, and a pod that Helm replaces.

        Nodes that are launched later are as before: what the autoscaler believes is asked here.
        """
        assert self.cloud.url
        before, after = (desired_cluster(recorded(each, folder)) for each in (self.pools, pools))
        eks = boto3.client(
            "eks",
            region_name="us-west-2",
            endpoint_url=self.cloud.url,
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106  (of the emulation)
        )
        for group in after.pools:
            if group.name in pools:
                names = {"clusterName": group.cluster, "nodegroupName": group.group}
                arn = eks.describe_nodegroup(**names)["nodegroup"]["nodegroupArn"]
                eks.tag_resource(resourceArn=arn, tags=dict(group.tags))
        releases = [release_of(each.releases, CLUSTER_AUTOSCALER) for each in (before, after)]
        if releases[0] != releases[1]:
            self.autoscaler.start_anew()
        self.pools = pools

    def start(self, *names: str) -> None:
        """Have the pods of some pools, some of which may find room at once."""
        for name in names:
            self.session.client.apply(deployment(name, self.pools[name]))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The autoscaler does nothing meanwhile."""
        assert self.autoscaler.pid is not None
        os.kill(self.autoscaler.pid, signal.SIGSTOP)
        yield
        os.kill(self.autoscaler.pid, signal.SIGCONT)

    def waiting(self, names: Collection[str]) -> int:
        """Pods of some pools that the scheduler has no node for."""
        return sum(
            is_unschedulable(pod)
            for pod in self.session.watches.pods.all()
            if pod["metadata"].get("labels", {}).get("app") in names
        )

    def scale(self, name: str, replicas: int) -> None:
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}/scale"
        self.session.client.patch(path, {"spec": {"replicas": replicas}})

    def machines(self, pool: str) -> list[dict[str, Any]]:
        """Instances that were launched for a pool and have not ended."""
        return [each for each in self.launched(pool) if each["ended"] is None]

    def launched(self, pool: str) -> list[dict[str, Any]]:
        """Every instance that was launched for a pool."""
        return [each for each in self.cloud.machines() if each["pool"] == self._groups[pool]]

    def placeholders(self, pool: str, kept: str) -> int:
        """Running pods that keep shares or nodes of a pool free."""
        pods = self.session.watches.pods.all()
        called = ("eks-gpushare-warm-room", f"{pool}-{kept}")
        mine = [
            pod
            for pod in pods
            if (
                pod["metadata"]["namespace"],
                pod["metadata"].get("labels", {}).get("app.kubernetes.io/name"),
            )
            == called
        ]
        return sum(pod["status"].get("phase") == "Running" for pod in mine)

    def running(self, pool: str) -> int:
        pods = self.session.watches.pods.all()
        mine = [pod for pod in pods if pod["metadata"].get("labels", {}).get("app") == pool]
        return sum(pod["status"].get("phase") == "Running" for pod in mine)

    def state(self) -> dict[str, tuple[int, int]]:
        """Machines that were launched so far, and running pods, by pool."""
        launched = [each["pool"] for each in self.cloud.machines()]
        return {
            name: (launched.count(self._groups[name]), self.running(name)) for name in self.pools
        }

    def loops(self) -> int:
        """Rounds of the autoscaler so far."""
        return len(re.findall("Starting main loop", self.said()))

    def plans(self, pool: str) -> list[tuple[int, int]]:
        """Each time that it added nodes to a pool: how many there were, and how many it wanted."""
        (group,) = (
            scaling_group_of(each) for each in self.cloud.account.node_groups if each.name == pool
        )
        found = re.findall(rf"{re.escape(group)} ([0-9]+)->([0-9]+) \(max", self.said())
        return [(int(before), int(after)) for before, after in found]

    def asked_for_groups(self) -> int:
        """How often it has asked AWS what has become of its groups."""
        return self.said().count("Refreshed ASG list")

    def said(self) -> str:
        return self.autoscaler.log.read_text(encoding="utf-8", errors="replace")

    def await_rest(self, seconds: float = 120) -> dict[str, tuple[int, int]]:
        """Wait until some rounds of the autoscaler have changed nothing."""
        deadline = time.monotonic() + seconds
        before, since = self.state(), self.loops()
        while self.loops() < since + ENOUGH_LOOPS:
            self.controllers.check()
            assert time.monotonic() < deadline, f"it does not come to rest: {before}"
            time.sleep(0.2)
            now = self.state()
            if now != before:
                before, since = now, self.loops()
        return before

    def await_that(self, holds: Callable[[], bool], what: str, seconds: float = 180) -> None:
        """Wait until something comes true."""
        deadline = time.monotonic() + seconds
        while not holds():
            self.controllers.check()
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}; {self.state()}"
            time.sleep(0.2)


def is_unschedulable(pod: Mapping[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(each.get("reason") == "Unschedulable" for each in conditions)


def deployment(name: str, pool: Pool) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": "public.ecr.aws/docker/library/busybox:1.37",
        "resources": {"limits": {pool.resource: "1"}},
    }
    spec = {
        "nodeSelector": {"eks-gpushare/pool": name},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        **(pool.spec or {}),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": pool.pods,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
    }


def broken(desired: DesiredCluster, pools: Mapping[str, Pool]) -> DesiredCluster:
    """The cluster with what is broken of its node groups."""

    def changed(group: NodePool) -> NodePool:
        change = pools[group.name].change if group.name in pools else None
        return group if change is None else change(group)

    groups = tuple(map(changed, desired.pools))
    promised = {
        group.name: {
            key.removeprefix(RESOURCES): int(value)
            for key, value in group.tags.items()
            if key.startswith(RESOURCES) and re.fullmatch("[0-9]+", value)
        }
        for group in groups
    }
    declared = {
        name: replace(each, promised=promised[name]) for name, each in desired.gpu_pools.items()
    }
    return replace(desired, pools=groups, gpu_pools=declared)


def _indented(lines: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in lines.splitlines())


def recorded(
    pools: Mapping[str, Pool], folder: Path, autoscaler: str = "{}", more: str = ""
) -> Recording:
    """What a stack of such pools registers."""
    text = STACK.format(autoscaler=autoscaler, more=_indented(more, 4)) + "".join(
        POOL.format(
            name=name,
            types=pool.types,
            sharing=pool.sharing,
            most=pool.most,
            keys=_indented(pool.keys, 8),
        )
        for name, pool in pools.items()
    )
    file = folder / "Pulumi.scaled.yaml"
    file.write_text(text, encoding="utf-8")
    previewed = preview(*locate(str(file), str(ROOT)), known=True)
    assert previewed.recording is not None, previewed.findings
    assert previewed.ok, previewed.recording.error or previewed.findings
    return previewed.recording


@contextmanager
def scaled(
    pools: Mapping[str, Pool],
    folder: Path,
    settings: CloudSettings | None = None,
    autoscaler: str = "{}",
    first: Sequence[dict[str, Any]] = (),
    more: str = "",
) -> Iterator[Scaled]:
    """A control plane of its own with a stack of such pools, and no pods yet but the `first`.

    Args:
        pools: by name.
        folder: where the stack file is written.
        settings: how AWS behaves. Default: nodes join at once.
        autoscaler: what the stack says of Cluster Autoscaler.
        first: objects that are there before the stack.
        more: further lines of the environment.
    """
    recording = recorded(pools, folder, autoscaler, more)
    desired = broken(desired_cluster(recording), pools)
    with ExitStack() as started:
        # The scheduler waits up to ten seconds until it tries a pod again.
        lab = started.enter_context(ControlPlane(scheduler={"podMaxBackoffSeconds": 1})).lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        for each in first:
            client.create(each)
        given = settings or CloudSettings(start=0)
        controllers = started.enter_context(
            running(lab, client, recording, desired, settings=given)
        )
        session = started.enter_context(Session(client))
        session.install(controllers.desired)
        assert [each.message for each in session.findings] == []
        yield Scaled(session, controllers, pools)


@pytest.fixture(scope="session")
def scaled_lab(programs: Programs, lab_home: Path) -> Callable[..., AbstractContextManager[Scaled]]:
    assert programs.paths
    assert lab_home.is_dir()
    return scaled


@pytest.fixture(scope="session")
def pool() -> type[Pool]:
    return Pool


@pytest.fixture(scope="session")
def breaks() -> dict[str, Any]:
    """Ways to break a node group."""
    return {
        "without_tags": without_tags,
        "promising": promising,
        "labelled": labelled,
        "unlabelled": unlabelled,
        "tainted": tainted,
    }
