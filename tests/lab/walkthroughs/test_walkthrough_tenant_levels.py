"""What holds tenants, a level at a time: each keeps its promise without the others."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tenant_levels import configuration
from tests.lab.conftest import Client as AsSomebody
from tests.lab.walkthroughs.test_walkthrough_tenants import deployment, running

from eks_gpushare.lint.stack_side import stack_file_of
from eks_gpushare.live.pods import RUNNING, state_of
from eks_gpushare.program.preview import locate, preview
from eks_gpushare.sharing.labels import POOL_LABEL
from eks_gpushare_lab.client import ApiError, Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane
from eks_gpushare_lab.install.desired_cluster import desired_cluster
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

Programs = Any
Made = dict[str, Any]
SHARE, SMALL, LARGE = "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
ALL = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
PODS = "/api/v1/namespaces/{}/pods"
ROOT = Path(__file__).parents[3]
GPUS = "gpu.nvidia.com"


class Laid:
    """A level in force, and who tries it."""

    def __init__(self, session: Session, up: ControlPlane) -> None:
        self.session, self.client = session, session.client
        self.root = AsSomebody(up.lab)
        self.teams = {space: self._admin(up, space) for space in ("research", "vision")}

    def _admin(self, up: ControlPlane, space: str) -> AsSomebody:
        """Somebody of the group that a team's admins are of."""
        rights = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{space}/rolebindings"
        bound = self.root("GET", rights).get("items", [])
        groups = [subject["name"] for each in bound for subject in each["subjects"]]
        return AsSomebody(up.lab, "someone", next(iter(groups), None))

    def pod(self, space: str, resource: str | None, pool: str = "notebooks", **more: Any) -> Made:
        """What the API server says of a pod of a team's, which stays where it is taken."""
        container = {"name": "c", "image": "x", **more.pop("container", {})}
        spec = {"containers": [container], **more}
        if resource is not None:
            container.setdefault("resources", {"limits": {resource: 1}})
            spec |= {"nodeSelector": {POOL_LABEL: pool}}
            spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
        return self.teams[space](
            "POST", PODS.format(space), {"metadata": {"generateName": "p-"}, "spec": spec}
        )

    def has(self, path: str) -> bool:
        """Whether there is any object of a kind, or the kind at all."""
        try:
            return bool(self.client.list(path)[0])
        except ApiError:
            return False

    def running(self, space: str) -> Counter[str]:
        return Counter(
            name
            for pod in self.session.watches.pods.all()
            if pod["metadata"]["namespace"] == space and state_of(pod) == RUNNING
            for name in pod["spec"]["containers"][0].get("resources", {}).get("limits", {"": 1})
        )


@pytest.fixture
def laid(
    programs: Programs,
    lab_home: object,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Laid]:
    assert programs.paths
    assert lab_home
    file = tmp_path / f"Pulumi.{request.param}.yaml"
    config = configuration(request.param, stack_file_of("tenants"))
    file.write_text(json.dumps({"config": config}), encoding="utf-8")
    recording = preview(*locate(str(file), str(ROOT)), known=True).recording
    assert recording is not None
    recording = preview(*locate(str(file), str(ROOT)), known=True).recording
    assert recording is not None
    with ControlPlane() as up:
        lab = up.lab
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
        with Session(client, lab) as session:
            session.install(desired_cluster(recording))
            assert session.settle()
            yield Laid(session, up)


def only(level: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("laid", [level], indirect=True, ids=[level])


@only("quota")
def test_a_quota_alone_counts_and_refuses(laid: Laid, eventually: Callable[..., bool]) -> None:
    assert not laid.has(POLICIES)
    assert not laid.has(QUEUES)
    for _ in range(8):
        assert laid.pod("research", SHARE)["_code"] == 201
    assert eventually(lambda: laid.running("research") == {SHARE: 8})

    ninth, whole = laid.pod("research", SHARE), laid.pod("research", "nvidia.com/gpu")
    others = laid.pod("vision", SHARE)
    for refused in (ninth, whole, others):
        assert refused["_code"] == 403
        assert "exceeded quota: gpu-shares" in refused["message"]
    claim = {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": GPUS}}]}}
    claimed = laid.teams["research"](
        "POST",
        "/apis/resource.k8s.io/v1/namespaces/research/resourceclaims",
        {"metadata": {"name": "c"}, "spec": claim},
    )
    assert "exceeded quota: gpu-shares" in claimed["message"]
    first = laid.pod("research", None, priorityClassName="system-node-critical")
    assert "exceeded quota: system-priority" in first["message"]
    host = laid.pod("research", None, container={"securityContext": {"privileged": True}})
    assert 'violates PodSecurity "baseline' in host["message"]
    for path in ("resourcequotas/gpu-shares", "resourcequotas"):
        assert (
            laid.teams["research"]("DELETE", f"/api/v1/namespaces/research/{path}")["_code"] == 403
        )
    assert laid.has("/apis/networking.k8s.io/v1/namespaces/research/networkpolicies")
    # What the next level is for.
    assert laid.pod("research", None, container={"env": ALL})["_code"] == 201


@only("quota")
def test_two_shares_of_pods_that_take_turns_are_refused_by_the_node(
    laid: Laid, eventually: Callable[..., bool]
) -> None:
    """Which a LimitRange would do at the price of a share for each sidecar."""
    two = laid.pod("research", SHARE, container={"resources": {"limits": {SHARE: 2}}})
    path = f"{PODS.format('research')}/{two['metadata']['name']}"

    assert eventually(lambda: laid.root("GET", path)["status"].get("phase") == "Failed")
    assert laid.root("GET", path)["status"]["reason"] == "UnexpectedAdmissionError"


@only("admission")
def test_admission_alone_refuses_what_no_quota_counts(
    laid: Laid, eventually: Callable[..., bool]
) -> None:
    assert not laid.has(QUEUES)
    assert laid.pod("research", SHARE)["_code"] == 201
    assert laid.pod("research", LARGE, "slices")["_code"] == 201
    assert eventually(lambda: laid.running("research") == {SHARE: 1, LARGE: 1})

    everything = [{"operator": "Exists"}]
    for refused, why in (
        (laid.pod("research", None, container={"env": ALL}), "NVIDIA_VISIBLE_DEVICES"),
        (laid.pod("research", SHARE, "system"), "may not use the pool system"),
        (laid.pod("research", "nvidia.com/gpu"), "may not request nvidia.com/gpu"),
        (laid.pod("vision", SHARE), f"may not request {SHARE}"),
        (laid.pod("research", None, nodeName="gpu-0"), "nodeName"),
        (laid.pod("research", None, tolerations=everything), "toleration"),
    ):
        assert refused["_code"] in {403, 422}
        assert "ValidatingAdmissionPolicy 'eks-gpushare-tenants-" in refused["message"]
        assert why in refused["message"]


@only("node")
def test_nodes_alone_hand_out_what_is_asked_for(
    laid: Laid, eventually: Callable[..., bool]
) -> None:
    """By a way that they take: else pods would run and see no GPU."""
    assert not laid.has(POLICIES)
    assert not laid.has(QUEUES)
    assert not laid.has("/api/v1/namespaces/default/resourcequotas")
    given = [
        each["data"] for each in laid.session.watches.config_maps.all() if "slices" in each["data"]
    ]
    assert given
    for text in (each[pool] for each in given for pool in ("slices", "notebooks")):
        assert "deviceListStrategy: volume-mounts" in text
    asked = [
        deployment("default", SHARE, 8, "notebooks"),
        deployment("default", SMALL, 16),
        deployment("default", LARGE, 8),
    ]
    laid.session.apply([Manifest(f"asked {n}", each) for n, each in enumerate(asked)])

    wanted = {SHARE: 8, SMALL: 16, LARGE: 8}
    assert eventually(lambda: laid.running("default") == wanted, seconds=60)


@only("queue")
def test_a_queue_alone_lends_and_takes_back(laid: Laid, eventually: Callable[..., bool]) -> None:
    """Also of a pod that says nothing of pools: the flavor does."""
    assert not laid.has(POLICIES)

    def ask(space: str, resource: str, pods: int) -> None:
        asked = deployment(space, resource, pods)
        del asked["spec"]["template"]["spec"]["nodeSelector"]
        del asked["spec"]["template"]["spec"]["tolerations"]
        laid.session.apply([Manifest("asked", asked)])

    ask("research", LARGE, 8)
    # 120 GiB of 80 that are sure.
    assert eventually(lambda: laid.running("research") == {LARGE: 6}, seconds=60)
    ask("vision", LARGE, 8)
    assert eventually(
        lambda: (laid.running("research"), laid.running("vision")) == ({LARGE: 2}, {LARGE: 6}),
        seconds=120,
    )
    # Whole GPUs, which no queue counts, are refused by the quota; what is no team's is nobody's.
    assert "exceeded quota" in laid.pod("research", "nvidia.com/gpu")["message"]
    assert laid.pod("research", None, container={"env": ALL})["_code"] == 201
    assert running(laid.session)["vision/mig-3g-20gb"] == 6
