"""Attempts to pass the admission of tenants by what makes pods, with the real controllers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
import tenant_scene as scene
from tenant_scene import SHARE, main, pod, said

from eks_gpushare.sharing.labels import POOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

Call = Any
Made = dict[str, Any]
CREATED = 201
ALL = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
EVERYTHING = [{"operator": "Exists"}]
ATTEMPTS: dict[str, tuple[Callable[[Made], object], str | None, str]] = {
    "every GPU by a variable": (main(env=ALL), SHARE, "NVIDIA_VISIBLE_DEVICES"),
    "another's shares": (said(), "nvidia.com/gpu", "may not request nvidia.com/gpu"),
    "GPU nodes without a request": (said(tolerations=EVERYTHING), None, "no toleration of"),
}
"""What is changed of a pod, what it asks for, and a part of what it is refused with."""
MAKERS = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "ReplicationController": "v1",
}


@pytest.fixture(scope="module")
def own(call: Call) -> Iterator[str]:
    """The namespace of the tenant a with the policies, and a node that DaemonSets can reach."""
    space = scene.tenant_namespace(call, "makers-a", "a")
    made = [each for each in scene.objects((1, 35)) if is_new(call, each)]
    labels = {POOL_LABEL: "notebooks"}
    call("POST", "/api/v1/nodes", {"metadata": {"name": "makers-node", "labels": labels}})
    yield space
    call("DELETE", "/api/v1/nodes/makers-node")
    for each in made:
        call("DELETE", f"{scene.path_of(each)}/{each['metadata']['name']}")


def is_new(call: Call, given: Made) -> bool:
    """Make an object, if the tests beside these have not."""
    return bool(call("POST", scene.path_of(given), given)["_code"] == CREATED)


@pytest.fixture
def held(own: str, call: Call, eventually: Callable[..., bool]) -> str:
    wrong = pod(said(nodeName="gpu-0"))
    assert eventually(lambda: call("POST", f"{own}/pods?dryRun=All", wrong)["_code"] == 422)
    return own


def template(given: Made, called: str) -> Made:
    return {"metadata": {"labels": {"app": called}}, "spec": given["spec"]}


def maker(kind: str, called: str, given: Made) -> Made:
    """A workload of a kind whose pods are the given one."""
    made = template(given, called)
    selector: Any = {"matchLabels": {"app": called}}
    if kind in {"Job", "CronJob"}:
        made["spec"]["restartPolicy"] = "Never"
        spec: Made = {"template": made, "backoffLimit": 0}
        if kind == "CronJob":
            spec = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
    else:
        selector = selector["matchLabels"] if kind == "ReplicationController" else selector
        spec = {"selector": selector, "template": made}
        if kind == "StatefulSet":
            spec["serviceName"] = called
    metadata = {"name": called}
    return {"apiVersion": MAKERS[kind], "kind": kind, "metadata": metadata, "spec": spec}


def collection(space: str, kind: str) -> str:
    root = "" if MAKERS[kind] == "v1" else f"/apis/{MAKERS[kind]}"
    path = space if not root else f"{root}{space.removeprefix('/api/v1')}"
    return f"{path}/{kind.lower()}s"


def messages(call: Call, space: str, called: str) -> list[str]:
    """What was said of pods that could not be made for a workload, or for what it made."""
    events = call("GET", f"{space}/events?fieldSelector=reason%3DFailedCreate")["items"]
    return [e["message"] for e in events if e["involvedObject"]["name"].startswith(called)]


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "CronJob"])
def test_no_pod_that_something_makes_passes(
    kind: str, attempt: str, held: str, call: Call, eventually: Callable[..., bool]
) -> None:
    change, gpu, says = ATTEMPTS[attempt]
    called = f"{kind}-{list(ATTEMPTS).index(attempt)}".lower()
    given = pod(change, gpu=gpu)
    answer = call("POST", collection(held, kind), maker(kind, called, given))
    assert answer["_code"] == CREATED, answer

    assert eventually(lambda: any(says in each for each in messages(call, held, called)))
    there = call("GET", f"{held}/pods?labelSelector=app%3D{called}")["items"]
    assert there == []


def test_no_pod_of_a_cron_job_passes(
    held: str, call: Call, eventually: Callable[..., bool]
) -> None:
    """Of the Job that it makes when its minute comes; here as `kubectl create job --from` does."""
    change, gpu, says = ATTEMPTS["every GPU by a variable"]
    cron = maker("CronJob", "nightly", pod(change, gpu=gpu))
    made = call("POST", collection(held, "CronJob"), cron)
    assert made["_code"] == CREATED, made
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True}
    job = {
        "metadata": {
            "name": "nightly-1",
            "ownerReferences": [{**owner, "uid": made["metadata"]["uid"]}],
        },
        "spec": made["spec"]["jobTemplate"]["spec"],
    }
    assert call("POST", collection(held, "Job"), job)["_code"] == CREATED

    assert eventually(lambda: any(says in each for each in messages(call, held, "nightly-1")))


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "runners.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "runners", "kind": "Runner", "singular": "runner"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_no_pod_from_the_template_of_a_custom_resource_passes(
    attempt: str, held: str, call: Call, eventually: Callable[..., bool]
) -> None:
    """The API server knows nothing of such templates; the pod that a controller makes it judges."""
    change, gpu, says = ATTEMPTS[attempt]
    call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    runners = f"/apis/example.com/v1{held.removeprefix('/api/v1')}/runners"
    runner = {
        "apiVersion": "example.com/v1",
        "kind": "Runner",
        "metadata": {"generateName": "r-"},
        "spec": {"template": template(pod(change, gpu=gpu), "runner")},
    }
    made: Made = {}

    def is_made() -> bool:
        with suppress(ValueError):  # no JSON is answered until the kind is served
            made.update(call("POST", runners, runner))
        return made.get("_code") == CREATED

    assert eventually(is_made)
    owner = {key: made[key] for key in ("apiVersion", "kind")}
    owner |= {key: made["metadata"][key] for key in ("name", "uid")}
    asked = {
        "metadata": {"generateName": "r-", "ownerReferences": [owner]},
        "spec": made["spec"]["template"]["spec"],
    }
    answer = call("POST", f"{held}/pods", asked)

    assert answer["_code"] == 422
    assert says in answer["message"]


def test_what_a_tenant_may_runs_whatever_makes_it(
    held: str, call: Call, eventually: Callable[..., bool]
) -> None:
    """Else the others would prove nothing."""
    answer = call("POST", collection(held, "Deployment"), maker("Deployment", "fine", pod()))
    assert answer["_code"] == CREATED

    assert eventually(lambda: call("GET", f"{held}/pods?labelSelector=app%3Dfine")["items"])
