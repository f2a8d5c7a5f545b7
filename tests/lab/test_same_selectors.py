"""Workloads whose selectors are the same, and the real controllers, which go by owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

LABELS = {"app": "same"}
SPEC = {
    "selector": {"matchLabels": LABELS},
    "template": {
        "metadata": {"labels": LABELS},
        "spec": {"containers": [{"name": "a", "image": "example.com/a:1"}]},
    },
}


def test_each_of_two_with_one_selector_has_pods_of_its_own(
    call: Any, namespace: str, eventually: Callable[..., bool]
) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "of-same-selectors"}}
    assert call("POST", "/api/v1/nodes", node)["_code"] == 201
    path = f"/apis/apps/v1/namespaces/{namespace}"
    made = [(kind, f"{kind.lower()}-{n}") for kind in ("DaemonSet", "Deployment") for n in "ab"]
    for kind, name in made:
        spec = SPEC if kind == "DaemonSet" else {**SPEC, "replicas": 1}
        given = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        assert call("POST", f"{path}/{kind.lower()}s", given)["_code"] == 201

    def having_a_pod() -> set[str]:
        pods = call("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
        owners = [pod["metadata"]["ownerReferences"][0] for pod in pods]
        return {
            owner["name"].rpartition("-")[0] if owner["kind"] == "ReplicaSet" else owner["name"]
            for owner in owners
        }

    try:
        assert eventually(lambda: having_a_pod() == {name for _, name in made})
    finally:
        call("DELETE", "/api/v1/nodes/of-same-selectors")
