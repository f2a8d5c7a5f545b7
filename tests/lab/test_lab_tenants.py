"""What holds tenants to their contracts, on a real API server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.sharing.tenant_objects import guards, namespace
from eks_gpushare.sharing.tenants import contracts

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

# What conftest.py offers.
Call = Any

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.tenants.yaml"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "LimitRange": "/api/v1/namespaces/{}/limitranges",
}
CREATED, FORBIDDEN = 201, 403
ROOT_ONLY = "system-node-critical"


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod of containers that each ask for shares."""
    listed = [
        {"name": f"c{index}", "image": "x", "resources": {"limits": limits}}
        for index, limits in enumerate(containers)
    ]
    return {"metadata": {"generateName": "pod-"}, "spec": {"containers": listed, **spec}}


@pytest.fixture(scope="module")
def laid(call: Call) -> Iterator[Call]:
    """The namespaces of the stack's tenants, with what is in them."""
    from tests.lab.conftest import wait_until

    stack = read_stack(STACK)
    assert stack.environment is not None
    tenants = stack.environment.tenants or {}
    every = contracts(tenants, stack.plans)
    for name, tenant in tenants.items():
        (space,) = tenant.namespaces
        made = namespace(space, name, tenant)
        assert call("POST", PATHS["Namespace"], made)["_code"] == CREATED
        account = f"/api/v1/namespaces/{space}/serviceaccounts/default"
        assert wait_until(lambda account=account: call("GET", account)["_code"] == 200)  # type: ignore[misc]
        for guard in guards(space, name, tenant, every, stack.plans).values():
            answer = call("POST", PATHS[guard["kind"]].format(space), guard)
            assert answer["_code"] == CREATED, answer
    quota = PATHS["ResourceQuota"].format("research") + "/gpu-shares"
    assert wait_until(lambda: bool(call("GET", quota).get("status", {}).get("hard")))
    yield call
    for tenant in tenants.values():
        call("DELETE", f"{PATHS['Namespace']}/{tenant.namespaces[0]}")


def ask(laid: Call, space: str, document: dict[str, Any], *, dry: bool = True) -> dict[str, Any]:
    where = f"/api/v1/namespaces/{space}/pods{'?dryRun=All' if dry else ''}"
    answer: dict[str, Any] = laid("POST", where, document)
    return answer


@pytest.mark.parametrize(
    ("limits", "spec"),
    [
        ({"nvidia.com/gpu": "1"}, {}),
        ({"nvidia.com/gpu.shared": "9"}, {}),
        ({"nvidia.com/mig-3g.20gb": "3"}, {}),
        ({}, {"priorityClassName": ROOT_ONLY}),
        ({}, {"hostNetwork": True}),
        ({}, {"volumes": [{"name": "v", "hostPath": {"path": "/dev"}}]}),
    ],
)
def test_what_is_not_in_the_contract_is_refused(
    laid: Call, limits: dict[str, str], spec: dict[str, Any]
) -> None:
    answer = ask(laid, "research", pod(limits, **spec))

    assert answer["_code"] == FORBIDDEN
    assert any(
        word in answer["message"] for word in ("exceeded quota", "PodSecurity", "violates")
    ), answer["message"]


@pytest.mark.parametrize(
    "limits",
    [{}, {"cpu": "1"}, {"nvidia.com/gpu.shared": "1"}, {"nvidia.com/mig-3g.20gb": "2"}],
)
def test_what_is_in_it_is_taken(laid: Call, limits: dict[str, str]) -> None:
    assert ask(laid, "research", pod(limits))["_code"] == CREATED


def test_a_contract_is_full_at_its_last_share_and_nobody_else_s(laid: Call) -> None:
    share = pod({"nvidia.com/mig-2g.10gb": "1"})
    codes = [ask(laid, "research", share, dry=False)["_code"] for _ in range(3)]

    assert codes == [CREATED, CREATED, FORBIDDEN]
    assert ask(laid, "vision", share)["_code"] == CREATED


def test_no_limit_range_since_its_max_is_what_every_container_then_takes(
    laid: Call, namespace: str
) -> None:
    """Why there is none: a sidecar that names nothing would take a share."""
    item = {"type": "Container", "max": {"nvidia.com/gpu.shared": "1"}}
    made = {"metadata": {"name": "one"}, "spec": {"limits": [item]}}
    assert laid("POST", PATHS["LimitRange"].format(namespace), made)["_code"] == CREATED

    answer = ask(laid, namespace, pod({"cpu": "1"}))

    (container,) = answer["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu.shared"] == "1"
