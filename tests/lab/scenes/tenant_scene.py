"""Two tenants on a real API server, their pods, and what lets policies through to them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.taints import DEFAULT_TAINT, Taint
from eks_gpushare.sharing.labels import POOL_LABEL
from eks_gpushare.sharing.tenant_admission import AdmittedPool, AdmittedTenant, admission_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Call = Any
OWN_TAINT = Taint(key="team", value="a", effect="NoSchedule")
SHARE, MIG = "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
TENANT_A = AdmittedTenant(
    "a",
    {
        "notebooks": AdmittedPool((SHARE,), (DEFAULT_TAINT, OWN_TAINT)),
        "training": AdmittedPool((MIG,), (DEFAULT_TAINT,)),
    },
)
TENANT_B = AdmittedTenant("b", {"vision": AdmittedPool(("nvidia.com/gpu",))}, ("gpu.nvidia.com",))
TENANT_C = AdmittedTenant("c", {"notebooks": AdmittedPool((SHARE,))}, queued=True)
TENANTS = (TENANT_A, TENANT_B, TENANT_C)
TENANT_LABEL = "eks-gpushare.io/tenant"
TAINT_KEYS = ("team", "eks-gpushare/startup")

PLURALS = {
    "Namespace": "namespaces",
    "ConfigMap": "configmaps",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
}


def objects(version: tuple[int, int]) -> list[dict[str, Any]]:
    """What holds the two tenants."""
    return admission_objects(TENANTS, TAINT_KEYS, version, TENANT_LABEL)


def path_of(made: dict[str, Any]) -> str:
    """The collection that an object is made in."""
    version = made["apiVersion"]
    root = f"/api/{version}" if version == "v1" else f"/apis/{version}"
    space = made["metadata"].get("namespace")
    return f"{root}/{f'namespaces/{space}/' if space else ''}{PLURALS[made['kind']]}"


def make(call: Call, objects: Iterable[dict[str, Any]]) -> None:
    for made in objects:
        answer = call("POST", path_of(made), made)
        assert answer["_code"] == 201, answer


def tenant_namespace(call: Call, name: str, tenant: str | None) -> str:
    labels = {} if tenant is None else {TENANT_LABEL: tenant}
    call("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    deadline = time.monotonic() + 20
    while call("GET", account)["_code"] != 200 and time.monotonic() < deadline:
        time.sleep(0.05)
    return f"/api/v1/namespaces/{name}"


def pod(*changes: Callable[[dict[str, Any]], object], gpu: str | None = SHARE) -> dict[str, Any]:
    """A pod of the tenant a that may pass: a share of its notebooks, or nothing without `gpu`."""
    container: dict[str, Any] = {"name": "main", "image": "app"}
    spec: dict[str, Any] = {"containers": [container]}
    if gpu is not None:
        container["resources"] = {"limits": {gpu: "1"}}
        spec["nodeSelector"] = {POOL_LABEL: "notebooks"}
    made = {"metadata": {"generateName": "pod-"}, "spec": spec}
    for change in changes:
        change(made)
    return made


def said(**spec: Any) -> Callable[[dict[str, Any]], object]:
    """Keys of the spec, which replace those that are there."""
    return lambda made: made["spec"].update(spec)


def main(**container: Any) -> Callable[[dict[str, Any]], object]:
    """Keys of its container."""
    return lambda made: made["spec"]["containers"][0].update(container)


def beside(kind: str, **container: Any) -> Callable[[dict[str, Any]], object]:
    """One more container."""
    one = {"name": "beside", "image": "app", **container}
    return lambda made: made["spec"].update({kind: [*made["spec"].get(kind, []), one]})


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    return {"nodeAffinity": required}


def to_pool(*pools: str, operator: str = "In") -> dict[str, Any]:
    expression: dict[str, Any] = {"key": POOL_LABEL, "operator": operator}
    if pools:
        expression["values"] = list(pools)
    return {"matchExpressions": [expression]}


def limits(**of: str) -> dict[str, Any]:
    return {"limits": {name.replace("__", "/"): count for name, count in of.items()}}
