"""`verify` of a cluster that runs: what is laid is as declared, and a fault is named alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.live.test_faults import codes, following, worse

from eks_gpushare.config.verifier import Verifier
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.connection import ApiResponse
from eks_gpushare.live.listing import read_cluster
from eks_gpushare.live.verdict import verdict_of
from eks_gpushare.sharing import verifier as planned
from eks_gpushare_lab.client import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare.live.objects import ClusterObjects

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Client = Any

ROOT = Path(__file__).parents[3]
STACKS = sorted(file.name.split(".")[1] for file in (ROOT / "stacks").glob("Pulumi.*.yaml"))
WITHOUT_KARPENTER = {"serve": ["GPU1300", "GPU1300"]}
"""Stacks whose nodes Karpenter adds, which does not run here: they are missed, and nothing else."""
EACH_TIME = ("multi-tenant",)


class LabServer:
    """The lab's API server, asked as `verify` asks any."""

    whence = "the lab"

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = "application/json"
    ) -> ApiResponse:
        try:
            answer = self._client.request("GET", path, query=query, accept=accept)
        except ApiError as error:
            return ApiResponse(error.status, error.message)
        return ApiResponse(200, answer.object)


@pytest.fixture
def seen(walk: Walk, client: Client) -> Callable[[], ClusterObjects]:
    """What is there once the lab has come to rest, an hour after it was made."""

    def read() -> ClusterObjects:
        assert walk.session.settle()
        objects = read_cluster(LabServer(client))
        return replace(objects, at=objects.at + timedelta(hours=1))

    return read


NODE = "/api/v1/nodes/gpu-0"
PLUGIN = "/apis/apps/v1/namespaces/nvidia-device-plugin/daemonsets/nvidia-device-plugin"
CONFIG_LABEL = "nvidia.com/device-plugin.config"


def pods(name: str, count: int, resource: str = "nvidia.com/gpu", **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    container = {
        "name": "main",
        "image": "registry.example.com/main:1",
        "resources": {"limits": {resource: 1}},
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": count, "selector": {"matchLabels": labels}, "template": template},
    }


def tainted(client: Client, *more: dict[str, str]) -> None:
    own = [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]
    client.patch(NODE, {"spec": {"taints": [*own, *more]}})


def labelled(client: Client, **labels: str | None) -> None:
    client.patch(NODE, {"metadata": {"labels": labels}})


def of_plugin(client: Client, **spec: Any) -> None:
    client.patch(PLUGIN, {"spec": {"template": {"spec": spec}}})


@dataclass(frozen=True)
class Broken:
    """Something that somebody does to a cluster, and how it is undone."""

    name: str
    do: Callable[[Client], object]
    undo: Callable[[Client], object]
    code: str
    """Of the one cause that is told of it."""
    follows: set[str] = field(default_factory=set)
    """Codes that stand below it, at least."""
    always: bool = False
    """Whether it is tried for every change."""


def made(name: str, given: dict[str, Any], code: str, follows: set[str], **how: Any) -> Broken:
    def undo(client: Client) -> None:
        client.delete(client.path_of(given))

    return Broken(name, lambda client: client.apply(given), undo, code, follows, **how)


TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "gpus", "namespace": "default"},
    "spec": {"hard": {"requests.nvidia.com/gpu": "2"}},
}
FAULTS = (
    Broken(
        "a taint",
        lambda client: tainted(client, TAINT),
        tainted,
        "GPU1306",
        {"GPU1100", "GPU1103"},
        always=True,
    ),
    Broken(
        "a taint that evicts",
        lambda client: tainted(client, {**TAINT, "effect": "NoExecute"}),
        tainted,
        "GPU1306",
        {"GPU1100", "GPU1310", "GPU1320"},
    ),
    Broken(
        "no taint",
        lambda client: client.patch(NODE, {"spec": {"taints": None}}),
        tainted,
        "GPU1306",
    ),
    Broken(
        "another configuration",
        lambda client: labelled(client, **{CONFIG_LABEL: "other"}),
        lambda client: labelled(client, **{CONFIG_LABEL: "gpu"}),
        "GPU1305",
        {"GPU1310", "GPU1320"},
        always=True,
    ),
    Broken(
        "no configuration",
        lambda client: labelled(client, **{CONFIG_LABEL: None}),
        lambda client: labelled(client, **{CONFIG_LABEL: "gpu"}),
        "GPU1305",
        {"GPU1310", "GPU1320"},
    ),
    Broken(
        "no pool",
        lambda client: labelled(client, **{"eks-gpushare/pool": None}),
        lambda client: labelled(client, **{"eks-gpushare/pool": "gpu"}),
        "GPU1305",
    ),
    Broken(
        "cordoned",
        lambda client: client.patch(NODE, {"spec": {"unschedulable": True}}),
        lambda client: client.patch(NODE, {"spec": {"unschedulable": None}}),
        "GPU1303",
    ),
    Broken(
        "a plugin without tolerations",
        lambda client: of_plugin(client, tolerations=None),
        lambda client: of_plugin(client, tolerations=[{"operator": "Exists"}]),
        "GPU1100",  # the pod that is there stays: the taint is of new ones
    ),
    Broken(
        "a plugin for other nodes",
        lambda client: of_plugin(client, nodeSelector={"no": "where"}),
        lambda client: of_plugin(client, nodeSelector=None),
        "GPU1102",
        {"GPU1310", "GPU1320"},
    ),
    made("too many pods", pods("many", 41), "GPU1341", set()),
    made(
        "pods for a share that nobody has",
        pods("odd", 2, "nvidia.com/mig-9g.1gb"),
        "GPU1110",
        {"GPU1340"},
        always=True,
    ),
    made(
        "pods for nodes that nobody has",
        pods("away", 2, nodeSelector={"no": "where"}),
        "GPU1112",
        {"GPU1340"},
    ),
)


@pytest.mark.parametrize(
    "stack",
    [
        stack if stack in EACH_TIME else pytest.param(stack, marks=pytest.mark.at_length)
        for stack in STACKS
    ],
)
def test_what_is_laid_is_as_declared(
    walk: Walk, seen: Callable[[], ClusterObjects], stack: str
) -> None:
    walk.install(stack)
    objects = seen()
    declared = read_stack(ROOT / "stacks" / f"Pulumi.{stack}.yaml")

    assert codes(verdict_of(objects, declared)) == WITHOUT_KARPENTER.get(stack, [])
    if stack not in WITHOUT_KARPENTER:
        assert worse(verdict_of(objects)) == []


@pytest.mark.parametrize(
    "broken",
    [
        broken if broken.always else pytest.param(broken, marks=pytest.mark.at_length)
        for broken in FAULTS
    ],
    ids=lambda broken: broken.name,
)
def test_a_fault_is_named_alone_and_gone_when_it_is_undone(
    walk: Walk, client: Client, seen: Callable[[], ClusterObjects], broken: Broken
) -> None:
    walk.install("time-slicing")
    declared = read_stack(ROOT / "stacks" / "Pulumi.time-slicing.yaml")
    seen()
    broken.do(client)
    walk.session.touch()
    found = verdict_of(seen(), declared)
    broken.undo(client)
    walk.session.touch()

    assert codes(found) == [broken.code], worse(found)
    assert following(found) >= broken.follows
    assert worse(verdict_of(seen(), declared)) == []


def test_the_api_server_takes_its_cron_job_and_pod_security_its_pod(
    walk: Walk, client: Client
) -> None:
    text = (ROOT / "examples" / "verify" / "cronjob.yaml").read_text(encoding="utf-8")
    given = {each["kind"]: each for each in yaml.safe_load_all(text)}
    for each in given.values():
        client.apply(each)
    spec = given["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    path = "/api/v1/namespaces/gpushare-verify/pods"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried"}, "spec": spec}
    rooted = {**spec, "securityContext": {}}
    assert walk is not None

    answer = client.request("POST", path, query={"dryRun": "All"}, body=pod)
    assert answer.warnings == ()
    with pytest.raises(ApiError, match="violates PodSecurity"):
        client.request("POST", path, query={"dryRun": "All"}, body={**pod, "spec": rooted})


@pytest.mark.parametrize("seconds", [300, 60])
def test_the_api_server_takes_what_the_component_makes(
    walk: Walk, client: Client, seconds: int
) -> None:
    """Documents of the planner itself, with which the component's registrations agree."""
    image = "registry.example.com/verify:0.1.0"
    block = Verifier.model_validate({"image": image, "intervalSeconds": seconds})
    made = planned.cron_job if planned.is_cron_job(block) else planned.deployment
    spec = made(block, planned.OBJECT_NAME, "stack")
    kind, api = ("CronJob", "batch/v1") if planned.is_cron_job(block) else ("Deployment", "apps/v1")
    space = f"verifying-{seconds}"
    around = {"name": planned.OBJECT_NAME, "namespace": space, "labels": dict(planned.LABELS)}
    named = {"name": space, "labels": dict(planned.NAMESPACE_LABELS)}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": named}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": around, "spec": planned.service()}
    assert walk is not None

    client.apply(namespace)
    client.apply({"apiVersion": api, "kind": kind, "metadata": around, "spec": spec})
    client.apply(service)

    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": around}
    client.request("POST", f"/api/v1/namespaces/{space}/serviceaccounts", body=account)
    template = spec.get("jobTemplate", {"spec": spec})["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried"}}
    path = f"/api/v1/namespaces/{space}/pods"
    answer = client.request(
        "POST", path, query={"dryRun": "All"}, body={**pod, "spec": template["spec"]}
    )
    assert answer.warnings == ()
