"""`verify` of a cluster that runs: what is laid is as declared, and a fault is named alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from lab_server import LabServer
from tests.live.test_faults import codes, worse

from eks_gpushare.config.verifier import Verifier
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.listing import read_cluster
from eks_gpushare.live.verdict import verdict_of
from eks_gpushare.sharing import verifier as planned
from eks_gpushare_lab.client import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

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


@pytest.fixture
def seen(walk: Walk, client: Client) -> Callable[[], ClusterObjects]:
    """What is there once the lab has come to rest, an hour after it was made."""

    def read() -> ClusterObjects:
        assert walk.session.settle()
        objects = read_cluster(LabServer(client), tenants=True)
        return replace(objects, at=objects.at + timedelta(hours=1))

    return read


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
