"""Attempts to pass the admission of tenants, on a real API server."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import tenant_scene as scene
from tenant_scene import MIG, SHARE, affinity, beside, main, pod, said, to_pool

from eks_gpushare.sharing.labels import POOL_LABEL
from eks_gpushare.sharing.tenant_admission import PARAMETERS_NAMESPACE
from eks_gpushare.sharing.tenant_objects import NETWORK, PLATFORM
from eks_gpushare_lab.control_plane.control_plane import ControlPlane

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

Call = Any
Made = dict[str, Any]
ALL = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
EVERYTHING = [{"operator": "Exists"}]
OF_GPUS = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
FILE = [{"name": "x", "emptyDir": {}}]


@pytest.fixture(scope="module")
def own(call: Call) -> str:
    """The namespace of the tenant a, with the policies on, once they are in force."""
    space = scene.tenant_namespace(call, "team-a", "a")
    scene.tenant_namespace(call, "team-b", "b")
    scene.tenant_namespace(call, "team-c", "c")
    scene.tenant_namespace(call, "of-nobody", None)
    scene.make(call, scene.objects((1, 35)))
    return space


@pytest.fixture
def held(own: str, call: Call, eventually: Callable[..., bool]) -> str:
    wrong = pod(said(nodeName="gpu-0"))
    assert eventually(lambda: call("POST", f"{own}/pods?dryRun=All", wrong)["_code"] == 422)
    return own


def mounted(path: str) -> Callable[[Made], object]:
    mount = main(volumeMounts=[{"name": "x", "mountPath": path}])
    return lambda made: (said(volumes=FILE)(made), mount(made))


def annotated(**annotations: str) -> Callable[[Made], object]:
    keys = {key.replace("__", "/"): value for key, value in annotations.items()}
    return lambda made: made["metadata"].update(annotations=keys)


def of_host(path: str) -> Callable[[Made], object]:
    return said(volumes=[{"name": "x", "hostPath": {"path": path}}])


def without_selector(made: Made) -> None:
    del made["spec"]["nodeSelector"]


def env_from(prefix: str) -> dict[str, Any]:
    return {"envFrom": [{"prefix": prefix, "configMapRef": {"name": "x", "optional": True}}]}


EXPRESSION = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
ATTEMPTS: dict[str, tuple[Made, str]] = {
    "a resource of another tenant": (
        pod(gpu="nvidia.com/gpu"),
        f"tenant a: may not request nvidia.com/gpu; request one of {SHARE}, {MIG}",
    ),
    "one in an init container": (
        pod(beside("initContainers", resources={"limits": {"nvidia.com/gpu": 1}})),
        "may not request nvidia.com/gpu;",
    ),
    "one of a device class": (
        pod(gpu="deviceclass.resource.kubernetes.io/gpu.nvidia.com"),
        "may not request deviceclass.resource.kubernetes.io/gpu.nvidia.com;",
    ),
    "one beside its own": (
        pod(main(resources={"limits": {SHARE: 1, "nvidia.com/mig-7g.40gb": 1}})),
        "may not request nvidia.com/mig-7g.40gb;",
    ),
    "no pool": (pod(without_selector), "set eks-gpushare/pool to notebooks or training"),
    "an empty selector": (pod(said(nodeSelector={POOL_LABEL: ""})), "has to select one of its"),
    "another's pool": (
        pod(said(nodeSelector={POOL_LABEL: "vision"})),
        "tenant a: may not use the pool vision; in nodeSelector set",
    ),
    "another's pool without a GPU": (
        pod(said(nodeSelector={POOL_LABEL: "vision"}), gpu=None),
        "may not use the pool vision;",
    ),
    "its own share, in its other pool": (
        pod(said(nodeSelector={POOL_LABEL: "training"})),
        "the pool training has not what is requested: nvidia.com/gpu.shared=notebooks; in",
    ),
    "shares of both its pools": (
        pod(main(resources={"limits": {SHARE: 1, MIG: 1}})),
        "the pool notebooks has not what is requested: nvidia.com/mig-1g.5gb=training;",
    ),
    "preferred affinity": (
        pod(
            without_selector,
            said(
                affinity={
                    "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 1, "preference": to_pool("notebooks")}
                        ]
                    }
                }
            ),
        ),
        "has to select one of its pools",
    ),
    "one term of affinity elsewhere": (
        pod(without_selector, said(affinity=affinity(to_pool("notebooks"), EXPRESSION))),
        "each term has to name such pools alone",
    ),
    "affinity to another's pool too": (
        pod(without_selector, said(affinity=affinity(to_pool("notebooks", "vision")))),
        "has to select one of its pools",
    ),
    "affinity to all but one pool": (
        pod(without_selector, said(affinity=affinity(to_pool("training", operator="NotIn")))),
        "has to select one of its pools",
    ),
    "affinity to any pool": (
        pod(without_selector, said(affinity=affinity(to_pool(operator="Exists")))),
        "has to select one of its pools",
    ),
    "nodeName": (pod(said(nodeName="gpu-0")), "nodeName passes the scheduler by"),
    "nodeName without a GPU": (
        pod(said(nodeName="gpu-0"), gpu=None),
        "nodeName passes the scheduler by",
    ),
    "everything tolerated": (
        pod(said(tolerations=EVERYTHING), gpu=None),
        "without a GPU request no toleration of everything",
    ),
    "every taint of an effect tolerated": (
        pod(said(tolerations=[{"operator": "Exists", "effect": "NoSchedule"}]), gpu=None),
        "without a GPU request no toleration",
    ),
    "GPUs tolerated": (pod(said(tolerations=OF_GPUS), gpu=None), "take the toleration away"),
    "a value of the taint tolerated": (
        pod(said(tolerations=[{"key": "nvidia.com/gpu", "value": "true"}]), gpu=None),
        "without a GPU request no toleration",
    ),
    "a pool's own taint tolerated": (
        pod(said(tolerations=[{"key": "team", "operator": "Exists"}]), gpu=None),
        "without a GPU request no toleration",
    ),
    "a request of 0": (
        pod(main(resources={"limits": {SHARE: 0}}), said(tolerations=OF_GPUS)),
        "without a GPU request no toleration",
    ),
    "a request of 0 of a name that is tolerated by itself": (
        pod(main(resources={"limits": {"nvidia.com/gpu": 0}})),
        "may not request nvidia.com/gpu;",
    ),
    "the variable": (pod(main(env=[ALL])), "are not allowed in env of main;"),
    "the variable without a request": (pod(main(env=[ALL]), gpu=None), "in env of main"),
    "the variable in an init container": (
        pod(beside("initContainers", env=[ALL])),
        "in env of beside",
    ),
    "the variable of a sidecar": (
        pod(beside("initContainers", env=[ALL], restartPolicy="Always")),
        "in env of beside",
    ),
    "the variable twice": (pod(main(env=[{**ALL, "value": "void"}, ALL])), "in env of main"),
    "the variable by reference": (
        pod(
            main(
                env=[{"name": "X", "value": "all"}, {"name": ALL["name"], "value": "$(X)"}],
            )
        ),
        "in env of main",
    ),
    "the variable from an annotation": (
        pod(
            annotated(x="all"),
            main(
                env=[
                    {
                        "name": ALL["name"],
                        "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['x']"}},
                    }
                ]
            ),
        ),
        "in env of main",
    ),
    "an MPS server of another": (
        pod(main(env=[{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/mps/nvidia.com/gpu/pipe"}])),
        "in env of main",
    ),
    "the fabric between GPUs": (
        pod(main(env=[{"name": "NVIDIA_NVSWITCH", "value": "enabled"}])),
        "in env of main",
    ),
    "a device by a plugin of NRI": (
        pod(annotated(**{"devices.nri.io__pod": "x"})),
        "annotations of cdi.k8s.io, and of plugins of NRI",
    ),
    "IMEX channels": (
        pod(main(env=[{"name": "NVIDIA_IMEX_CHANNELS", "value": "0"}])),
        "in env of main",
    ),
    "half of the name as a prefix": (pod(main(**env_from("NVIDIA_"))), "envFrom.prefix of main"),
    "all of it as a prefix of nothing": (
        pod(beside("initContainers", **env_from("CUDA_MPS_PIPE"))),
        "envFrom.prefix of beside",
    ),
    "a CDI annotation": (
        pod(annotated(cdi__k8s_io="x", **{"cdi.k8s.io__x": "nvidia.com/gpu=all"})),
        "annotations of cdi.k8s.io, and of plugins",
    ),
    "one of NVIDIA's prefix": (
        pod(annotated(**{"nvidia.cdi.k8s.io__x": "nvidia.com/gpu=all"}), gpu=None),
        "annotations of cdi.k8s.io, and of plugins",
    ),
    "a mount of a device": (
        pod(mounted("/var/run/nvidia-container-devices/all")),
        "below /var/run/nvidia-container-devices, as in main",
    ),
    "a mount of one by a detour": (
        pod(mounted("/var//lib/.//../run/nvidia-container-devices/")),
        "below /var/run/nvidia-container-devices",
    ),
    "a file of the host": (pod(of_host("/dev/null")), "hostPath is not allowed; use"),
    "a device of the host without a GPU": (
        pod(of_host("/dev/nvidia0"), gpu=None),
        "hostPath is not allowed",
    ),
    "privileged": (
        pod(main(securityContext={"privileged": True}), gpu=None),
        "neither privileged nor the capability SYS_ADMIN is allowed, as in main",
    ),
    "the capability": (
        pod(beside("initContainers", securityContext={"capabilities": {"add": ["SYS_ADMIN"]}})),
        "as in beside",
    ),
    "all capabilities": (
        pod(main(securityContext={"capabilities": {"add": ["all"]}})),
        "neither privileged nor the capability",
    ),
    "a claim": (
        pod(said(resourceClaims=[{"name": "x", "resourceClaimTemplateName": "x"}]), gpu=None),
        "resourceClaims are not allowed; request one of",
    ),
}
"""What a tenant might try, and what it is told."""

TO_THE_API_SERVER: dict[str, tuple[Made, str]] = {
    "a request without a limit": (
        pod(main(resources={"requests": {"nvidia.com/gpu": "1"}}), gpu=None),
        "Limit must be set for non overcommitable resources",
    ),
    "a GPU of the pod": (pod(said(resources={"limits": {"nvidia.com/gpu": "1"}})), "resources"),
    "a debugging container at once": (
        pod(beside("ephemeralContainers", env=[ALL])),
        "ephemeralContainers",
    ),
}
"""What the policies leave to the API server itself."""


@pytest.mark.parametrize("attempt", [*ATTEMPTS, *TO_THE_API_SERVER])
def test_no_pod_of_a_tenant_passes(attempt: str, held: str, call: Call) -> None:
    wrong, why = {**ATTEMPTS, **TO_THE_API_SERVER}[attempt]
    answer = call("POST", f"{held}/pods", wrong)

    assert answer["_code"] in {403, 422}, answer
    assert why in answer["message"]


TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
PASSES: dict[str, Made] = {
    "a share": pod(),
    "a share with its toleration": pod(said(tolerations=TOLERATED)),
    "everything tolerated with a share": pod(said(tolerations=EVERYTHING)),
    "a MIG device of its other pool": pod(said(nodeSelector={POOL_LABEL: "training"}), gpu=MIG),
    "a share by affinity": pod(
        without_selector, said(affinity=affinity(to_pool("notebooks"), to_pool("training")))
    ),
    "a share of an init container": pod(
        main(resources={}), beside("initContainers", resources={"limits": {SHARE: 1}})
    ),
    "a sidecar that says it needs no GPU": pod(
        beside("initContainers", env=[{**ALL, "value": "void"}], restartPolicy="Always")
    ),
    "no GPU": pod(gpu=None),
    "no GPU, and another taint tolerated": pod(
        said(tolerations=[{"key": "spot", "operator": "Exists"}]), gpu=None
    ),
    "other variables": pod(
        main(env=[{"name": "CUDA_VISIBLE_DEVICES", "value": "0"}], **env_from("MY_"))
    ),
    "a file of its own": pod(mounted("/var/run/devices")),
    "no pool yet, held by a gate": pod(without_selector, said(schedulingGates=[{"name": "x/y"}])),
}


@pytest.mark.parametrize("case", PASSES)
def test_what_a_tenant_may_passes(case: str, held: str, call: Call) -> None:
    assert call("POST", f"{held}/pods", PASSES[case])["_code"] == 201


def test_pods_of_other_namespaces_are_not_judged(held: str, call: Call) -> None:
    assert held
    for name in ("default", "of-nobody", "kube-system"):
        path = f"/api/v1/namespaces/{name}/pods?dryRun=All"
        for wrong, _ in ATTEMPTS.values():
            answer = call("POST", path, wrong)
            assert answer["_code"] == 201 or "Admission" not in answer["message"], answer


def test_the_other_tenant_has_other_rights(held: str, call: Call) -> None:
    assert held
    path = "/api/v1/namespaces/team-b/pods"
    its = pod(said(nodeSelector={POOL_LABEL: "vision"}), gpu="nvidia.com/gpu")
    claim = said(resourceClaims=[{"name": "x", "resourceClaimTemplateName": "x"}])

    assert call("POST", path, its)["_code"] == 201
    assert call("POST", path, pod(claim, gpu=None))["_code"] == 201
    assert "tenant b: may not request" in call("POST", path, pod())["message"]


UPDATES: dict[str, tuple[Made, str]] = {
    "everything tolerated": (
        {"spec": {"tolerations": EVERYTHING}},
        "without a GPU request no toleration",
    ),
    "a CDI annotation": (
        {"metadata": {"annotations": {"cdi.k8s.io/x": "nvidia.com/gpu=0"}}},
        "annotations of cdi.k8s.io",
    ),
}


@pytest.mark.parametrize("attempt", UPDATES)
def test_no_update_passes(attempt: str, held: str, call: Call) -> None:
    name = call("POST", f"{held}/pods", pod(gpu=None))["metadata"]["name"]
    given, why = UPDATES[attempt]
    if tolerations := given.get("spec", {}).get("tolerations"):  # those that are there must stay
        before = call("GET", f"{held}/pods/{name}")["spec"]["tolerations"]
        given = {"spec": {"tolerations": [*before, *tolerations]}}
    answer = call("PATCH", f"{held}/pods/{name}", given)

    assert answer["_code"] == 422
    assert why in answer["message"]


def test_a_gate_is_taken_away_only_with_a_pool(held: str, call: Call) -> None:
    waiting = call("POST", f"{held}/pods", PASSES["no pool yet, held by a gate"])
    path = f"{held}/pods/{waiting['metadata']['name']}"
    free: Made = {"spec": {"schedulingGates": None}}
    refused = call("PATCH", path, free)
    free["spec"]["nodeSelector"] = {POOL_LABEL: "vision"}
    another = call("PATCH", path, free)
    free["spec"]["nodeSelector"] = {POOL_LABEL: "notebooks"}

    assert "has to select one of its pools" in refused["message"]
    assert "may not use the pool vision" in another["message"]
    assert call("PATCH", path, free)["_code"] == 200


DEBUG: dict[str, Made] = {
    "the variable": {"env": [ALL]},
    "another's MPS": {"env": [{"name": "CUDA_MPS_LOG_DIRECTORY", "value": "/x"}]},
    "half of the name": env_from("NVIDIA_VISIBLE_"),
    "privileged": {"securityContext": {"privileged": True}},
    "the capability": {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}},
}


@pytest.mark.parametrize("gpu", [SHARE, None])
def test_no_debugging_container_passes(gpu: str | None, held: str, call: Call) -> None:
    name = call("POST", f"{held}/pods", pod(gpu=gpu))["metadata"]["name"]
    path = f"{held}/pods/{name}/ephemeralcontainers"

    def debugged(**container: Any) -> Made:
        one = {"name": "debug", "image": "app", **container}
        answer: Made = call("PATCH", path, {"spec": {"ephemeralContainers": [one]}})
        return answer

    for container in DEBUG.values():
        answer = debugged(**container)
        assert answer["_code"] == 422, answer
        assert "tenant a: " in answer["message"]
        assert "debug" in answer["message"]
    assert debugged()["_code"] == 200


def test_a_pod_from_before_can_still_end(
    held: str, call: Call, eventually: Callable[..., bool]
) -> None:
    """Its finalizer is taken away by an update, and it breaks what holds now."""
    path = scene.tenant_namespace(call, "later-a", None)
    old = pod(main(env=[ALL]), lambda made: made["metadata"].update(finalizers=["x.example/y"]))
    name = call("POST", f"{path}/pods", old)["metadata"]["name"]
    call("PATCH", path, {"metadata": {"labels": {"eks-gpushare.io/tenant": "a"}}})

    turns = count()

    def is_told() -> bool:
        """The API server judges by its copy of the namespace, which learns of labels later."""
        given = {"annotations": {"a": f"{next(turns)}"}}  # what changes nothing always passes
        tried = call("PATCH", f"{path}/pods/{name}", {"metadata": given})
        return "in env of main" in tried.get("message", "")

    assert eventually(is_told)
    gone = call("PATCH", f"{path}/pods/{name}", {"metadata": {"finalizers": None}})
    assert gone["_code"] == 200
    assert held


@pytest.mark.parametrize("kind", ["configmaps", "secrets"])
def test_names_that_env_from_would_make_are_kept_out(kind: str, held: str, call: Call) -> None:
    named: dict[str, Any] = {}
    for key, field in ((ALL["name"], "data"), ("CUDA_MPS_PIPE_DIRECTORY", "stringData")):
        given = {"data" if kind == "configmaps" else field: {key: "YWxs"}}
        named = {"metadata": {"generateName": "x-"}, **given}
        answer = call("POST", f"{held}/{kind}", named)
        assert answer["_code"] == 422, answer
        assert f"would make {key} of" in answer["message"]
    harmless = {"metadata": {"generateName": "x-"}, "data": {"NVIDIA_DRIVER_CAPABILITIES": "YWxs"}}
    assert call("POST", f"{held}/{kind}", harmless)["_code"] == 201
    elsewhere = {"metadata": {"generateName": "x-"}, "data": {ALL["name"]: "YWxs"}}
    assert call("POST", f"/api/v1/namespaces/default/{kind}", elsewhere)["_code"] == 201


CLASS = "gpu.nvidia.com"


@pytest.mark.parametrize("kind", ["resourceclaims", "resourceclaimtemplates"])
def test_claims_name_allowed_classes_alone(kind: str, held: str, call: Call) -> None:
    def claimed(space: str, request: Made) -> Made:
        spec: Made = {"devices": {"requests": [{"name": "x", **request}]}}
        body = {"metadata": {"generateName": "x-"}, "spec": spec}
        if kind == "resourceclaimtemplates":
            body["spec"] = {"spec": spec}
        answer: Made = call("POST", f"/apis/resource.k8s.io/v1/namespaces/{space}/{kind}", body)
        return answer

    first = {"firstAvailable": [{"name": "y", "deviceClassName": "mig.nvidia.com"}]}
    exactly = {"exactly": {"deviceClassName": CLASS}}
    for space, request, says in (
        ("team-a", exactly, f"may be none, without adminAccess, and not {CLASS}"),
        ("team-a", first, "and not x"),
        ("team-b", first, f"may be {CLASS}, without adminAccess, and not x"),
    ):
        assert says in claimed(space, request)["message"]
    assert claimed("team-b", exactly)["_code"] == 201
    assert claimed("of-nobody", exactly)["_code"] == 201
    assert held


def test_nothing_of_the_policies_is_doubtful(held: str, call: Call, eventually: Any) -> None:
    assert held
    for policy in scene.objects((1, 35)):
        if policy["kind"] != "ValidatingAdmissionPolicy":
            continue
        path = f"{scene.path_of(policy)}/{policy['metadata']['name']}"
        assert eventually(lambda path=path: "typeChecking" in call("GET", path).get("status", {}))
        assert call("GET", path)["status"]["typeChecking"] == {}


def test_a_tenant_without_parameters_makes_no_pods(held: str, call: Call) -> None:
    """As after someone has taken its ConfigMap away."""
    assert held
    path = f"/api/v1/namespaces/{PARAMETERS_NAMESPACE}/configmaps"
    kept = call("GET", f"{path}/b")
    call("DELETE", f"{path}/b")
    try:
        own = {"metadata": {"name": "b"}, "data": {**kept["data"], "resources": SHARE}}
        call("POST", "/api/v1/namespaces/team-b/configmaps", own)
        answer = call("POST", "/api/v1/namespaces/team-b/pods?dryRun=All", pod())
        assert answer["_code"] in {403, 422}, answer
    finally:
        call("POST", path, {"metadata": {"name": "b"}, "data": kept["data"]})


@pytest.mark.at_length
def test_later_servers_place_pods_by_themselves(
    call: Call, eventually: Callable[..., bool]
) -> None:
    """By the v1beta1 of 1.35, behind its gate; 1.36 has the same as v1."""
    on = [
        "--feature-gates=MutatingAdmissionPolicy=true",
        "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
    ]
    with ControlPlane(flags={"kube-apiserver": on}) as control_plane:
        call = type(call)(control_plane.lab)
        space = scene.tenant_namespace(call, "team-a", "a")
        objects = scene.objects((1, 36))
        for made in objects:
            if made["kind"].startswith("Mutating"):
                made["apiVersion"] = "admissionregistration.k8s.io/v1beta1"
        scene.make(call, objects)
        asks = pod(without_selector)
        path = f"{space}/pods?dryRun=All"
        assert eventually(lambda: "nodeSelector" in call("POST", path, asks).get("spec", {}))
        found = call("POST", path, asks)["spec"]
        other = call("POST", path, pod(said(nodeSelector={"zone": "a"}), gpu=MIG))["spec"]
        chosen = call("POST", path, pod(said(nodeSelector={POOL_LABEL: "vision"})))
        none = call("POST", path, pod(gpu=None))["spec"]
        late = pod(said(tolerations=EVERYTHING), gpu=None)

        assert found["nodeSelector"] == {POOL_LABEL: "notebooks"}
        tolerated = {(t.get("key"), t["operator"], t.get("effect")) for t in found["tolerations"]}
        assert ("team", "Exists", "NoSchedule") in tolerated
        assert ("nvidia.com/gpu", "Exists", "NoSchedule") in tolerated
        assert other["nodeSelector"] == {"zone": "a", POOL_LABEL: "training"}
        assert "may not use the pool vision" in chosen["message"]
        assert "nodeSelector" not in none
        assert {t["key"].partition("/")[0] for t in none["tolerations"]} == {"node.kubernetes.io"}
        assert "no toleration of everything" in call("POST", path, late)["message"]


GATED = said(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
OTHER_GATE = said(schedulingGates=[{"name": "example.com/other"}])


def owned(api_version: str, kind: str) -> Callable[[Made], object]:
    reference = {"apiVersion": api_version, "kind": kind, "name": "x", "uid": "u"}
    references = [{**reference, "controller": True}]
    return lambda made: made["metadata"].update(ownerReferences=references)


@pytest.mark.parametrize(
    ("made", "passes"),
    [
        pytest.param(pod(GATED), True, id="held by the queue"),
        pytest.param(pod(GATED, owned("apps/v1", "ReplicaSet")), True, id="of a ReplicaSet"),
        pytest.param(pod(gpu=None), True, id="without a GPU"),
        pytest.param(pod(), False, id="held by nobody"),
        pytest.param(pod(OTHER_GATE), False, id="held by another"),
        pytest.param(pod(owned("batch/v1", "Job")), False, id="said to be a Job's"),
        pytest.param(pod(owned("apps/v1", "Deployment")), False, id="said to be a Deployment's"),
    ],
)
def test_no_pod_of_a_queue_passes_it_by(made: Made, held: str, call: Call, *, passes: bool) -> None:
    """Kueue takes what says that it is part of a Job or Deployment for admitted with that."""
    assert held
    answer = call("POST", "/api/v1/namespaces/team-c/pods?dryRun=All", made)

    assert (answer["_code"] == 201) is passes, answer
    if not passes:
        assert "the pod passes its queue by" in answer["message"]


@pytest.mark.parametrize(
    ("group", "kind", "more", "reason"),
    [
        ("batch/v1", "Job", {}, "SuccessfulCreate"),
        ("apps/v1", "ReplicaSet", {"selector": {"matchLabels": {"a": "b"}}}, "FailedCreate"),
    ],
)
def test_controllers_make_pods_of_what_the_queue_admits_whole(
    group: str,
    kind: str,
    more: Made,
    reason: str,
    held: str,
    call: Call,
    eventually: Callable[..., bool],
) -> None:
    """Of a Job Kueue admits the Job; pods of others have its gate, or there are none."""
    assert held
    spec = {**pod()["spec"], **({"restartPolicy": "Never"} if kind == "Job" else {})}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    given = {"metadata": {"generateName": "whole-"}, "spec": {**more, "template": template}}
    path = f"/apis/{group}/namespaces/team-c/{kind.lower()}s"
    name = call("POST", path, given)["metadata"]["name"]

    def told() -> bool:
        found = call("GET", "/api/v1/namespaces/team-c/events")["items"]
        about = [each for each in found if each["involvedObject"]["name"] == name]
        return any(each["reason"] == reason for each in about)

    assert eventually(told)
    call("DELETE", f"{path}/{name}?propagationPolicy=Background")


@pytest.fixture(scope="module")
def team(
    own: str, control_plane: ControlPlane, call: Call, eventually: Callable[..., bool]
) -> Call:
    """An admin of the namespace of the tenant c, as a stack makes them."""
    assert own
    rbac = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "admins"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "team-c-admin"}],
    }
    call("POST", f"/apis/{rbac}/v1/namespaces/team-c/rolebindings", binding)
    admin = type(call)(control_plane.lab, "team-c-admin")
    # What is bound is allowed once the API server's own watch has it.
    assert eventually(lambda: admin("POST", f"{PODS}?dryRun=All", pod())["_code"] != 403)
    assert eventually(lambda: admin("POST", f"{JOBS}?dryRun=All", job())["_code"] != 403)
    return admin


PODS, JOBS = "/api/v1/namespaces/team-c/pods", "/apis/batch/v1/namespaces/team-c/jobs"


def job(**spec: Any) -> Made:
    template = {"spec": {**pod()["spec"], "restartPolicy": "Never"}}
    return {"metadata": {"generateName": "job-"}, "spec": {**spec, "template": template}}


def test_a_team_leaves_the_gate_of_its_queue_where_it_is(held: str, call: Call, team: Call) -> None:
    """Of a pod without its gate Kueue knows once it runs, and ends it in its time of grace."""
    assert held
    made = team("POST", PODS, pod(GATED))
    assert made["_code"] == 201, made
    path = f"{PODS}/{made['metadata']['name']}"
    answer = team("PATCH", path, {"spec": {"schedulingGates": []}})

    assert "leave the gate kueue.x-k8s.io/admission to Kueue" in answer["message"]
    assert team("PATCH", path, {"metadata": {"labels": {"a": "b"}}})["_code"] == 200
    # Who may admit workloads takes it away, as Kueue does.
    assert call("PATCH", path, {"spec": {"schedulingGates": []}})["_code"] == 200
    call("DELETE", f"{path}?gracePeriodSeconds=0")


OF_QUEUED = {"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": "u", "controller": True}
OF_CRON = {**OF_QUEUED, "kind": "CronJob"}


@pytest.mark.parametrize(
    ("owner", "passes"),
    [
        (OF_QUEUED, False),
        ({**OF_QUEUED, "apiVersion": "v1", "kind": "Pod"}, False),
        ({**OF_QUEUED, "apiVersion": "apps/v1", "kind": "Deployment"}, False),
        ({**OF_QUEUED, "apiVersion": "ray.io/v1", "kind": "RayJob"}, False),
        ({**OF_QUEUED, "controller": False}, True),
        (OF_CRON, True),
    ],
)
def test_a_job_is_no_part_of_what_the_queue_has_admitted(
    owner: Made, held: str, team: Call, *, passes: bool
) -> None:
    """Kueue starts it with its owner, uncounted, though that asks for no GPU."""
    assert held
    made = job(suspend=True)
    made["metadata"]["ownerReferences"] = [owner]
    answer = team("POST", f"{JOBS}?dryRun=All", made)

    assert (answer["_code"] == 201) is passes, answer
    if not passes:
        assert f"a part of {owner['kind']} x passes the queue by" in answer["message"]


def test_a_team_starts_no_job_that_waits(held: str, call: Call, team: Call) -> None:
    assert held
    made = team("POST", JOBS, job(suspend=True))
    path = f"{JOBS}/{made['metadata']['name']}"
    owned_late = team("PATCH", path, {"metadata": {"ownerReferences": [OF_QUEUED]}})
    started = team("PATCH", path, {"spec": {"suspend": False}})

    assert "passes the queue by" in owned_late["message"]
    assert "it waits in its queue; leave it to Kueue to start it" in started["message"]
    assert call("PATCH", f"{path}?dryRun=All", {"spec": {"suspend": False}})["_code"] == 200
    assert team("DELETE", f"{path}?propagationPolicy=Background")["_code"] == 200


def test_pods_of_a_job_stay_its_own(held: str, team: Call, eventually: Callable[..., bool]) -> None:
    """A Job makes another for a pod that it does not know any more, and both would run."""
    assert held
    made = team("POST", JOBS, job())
    name = made["metadata"]["name"]
    path, selected = f"{JOBS}/{name}", f"{PODS}?labelSelector=job-name%3D{name}"
    assert eventually(lambda: bool(team("GET", selected)["items"]))
    [of_job] = team("GET", selected)["items"]
    itself = f"{PODS}/{of_job['metadata']['name']}"
    says = "leave them to controllers"
    label = {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": None}}}

    assert says in team("PATCH", itself, label)["message"]
    assert says in team("PATCH", itself, {"metadata": {"ownerReferences": None}})["message"]
    hashed = {"metadata": {"annotations": {"kueue.x-k8s.io/role-hash": "x"}}}
    assert says in team("PATCH", itself, hashed)["message"]
    assert "parallelism 1; make" in team("PATCH", path, {"spec": {"parallelism": 2}})["message"]
    orphaned = team("PATCH", path, {"metadata": {"finalizers": ["orphan"]}})
    assert "without --cascade=orphan" in orphaned["message"]
    left = team("DELETE", f"{path}?propagationPolicy=Orphan")
    assert "without --cascade=orphan" in left["message"]
    assert team("PATCH", itself, {"metadata": {"labels": {"a": "b"}}})["_code"] == 200
    assert team("DELETE", f"{path}?propagationPolicy=Background")["_code"] == 200


def test_what_is_lent_comes_back_in_ten_minutes(held: str, call: Call) -> None:
    long = pod(GATED, said(terminationGracePeriodSeconds=601))

    assert "set it to 600" in call("POST", f"{PODS}?dryRun=All", long)["message"]
    assert call("POST", f"{held}/pods?dryRun=All", long)["_code"] == 201


NETWORKS = "/apis/networking.k8s.io/v1/namespaces/team-c/networkpolicies"


def network(name: str, *egress: Made, ingress: bool = False) -> Made:
    rules: Made = {"ingress": [{}]} if ingress else {"egress": [*egress]}
    types = ["Ingress" if ingress else "Egress"]
    return {"metadata": {"name": name}, "spec": {"podSelector": {}, "policyTypes": types, **rules}}


def to(cidr: str, *but: str) -> Made:
    return {"to": [{"ipBlock": {"cidr": cidr, **({"except": [*but]} if but else {})}}]}


METADATA = "169.254.169.254/32"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (network("open", {}), "metadata of nodes"),
        (network("open", to("0.0.0.0/0")), "metadata of nodes"),
        (network("open", to("169.254.0.0/16", "169.254.170.23/32")), "metadata of nodes"),
        (network("open", {"ports": [{"port": 80}]}), "metadata of nodes"),
        (network("open", {"ports": [{"port": 1, "endPort": 443}]}), "metadata of nodes"),
        (network("open", {"ports": [{"protocol": "TCP"}]}), "metadata of nodes"),
        (network("tenant", ingress=True), "let further ones in by another one"),
        (network("open", ingress=True), None),
        (network("open", to("0.0.0.0/0", METADATA)), None),
        (network("open", to("::/0")), None),
        (network("open", to("169.254.170.23/32")), None),
        (network("open", {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 443}]}), None),
        (network("open", {"ports": [{"port": "http"}]}), None),
        (network("open", {"to": [{"namespaceSelector": {}}]}), None),
    ],
)
def test_a_team_lets_others_in_and_nobody_out_to_the_node(
    made: Made, says: str | None, held: str, team: Call
) -> None:
    assert held
    answer = team("POST", f"{NETWORKS}?dryRun=All", made)

    assert (answer["_code"] == 201) is (says is None), answer
    assert says is None or says in answer["message"]


def test_the_platforms_own_networks_stay(held: str, call: Call, team: Call) -> None:
    assert held
    assert call("POST", NETWORKS, network(NETWORK, {}))["_code"] == 201
    path = f"{NETWORKS}/{NETWORK}"
    opened = team("PATCH", path, {"spec": {"ingress": [{}], "policyTypes": ["Ingress"]}})

    assert "is its platform's" in opened["message"]
    assert "is its platform's" in team("DELETE", path)["message"]
    assert call("DELETE", path)["_code"] == 200
    for named in (NETWORK, PLATFORM):
        assert "is its platform's" in team("POST", NETWORKS, network(named))["message"]
