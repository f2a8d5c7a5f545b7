"""The stand-in of `eks.Cluster` registers what the component of pulumi-eks registers.

EKS_GPUSHARE_TEST_PULUMI_EKS names the executable `pulumi-resource-eks` of a release of pulumi-eks,
or what starts one built from its sources. Without it these tests skip. AWS stays the echo provider.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.engine.conftest import Edit, Engine, StackFile

CALLER = "arn:aws:iam::111122223333:role/Assumed"
CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "roles and admins": {
        "cluster.admins": [CALLER, "arn:aws:iam::111122223333:role/Platform"],
        "iam": {"path": "/team/", "permissionsBoundary": "arn:aws:iam::111122223333:policy/B"},
    },
    "add-ons": {
        "cluster.addons": {
            "ebsCsi": True,
            "prefixDelegation": True,
            "byName": {
                "kube-proxy": {"values": {"mode": "ipvs"}},
                "vpc-cni": {"values": {"env": {"WARM_ENI_TARGET": "2"}, "init": {"image": {}}}},
            },
        },
    },
}


@pytest.fixture(scope="module")
def real_engine(engine_with: Callable[..., Engine]) -> Engine:
    """An engine with the plugin of pulumi-eks."""
    plugin = os.environ.get("EKS_GPUSHARE_TEST_PULUMI_EKS")
    if not plugin:
        pytest.skip("EKS_GPUSHARE_TEST_PULUMI_EKS names no plugin; the top of this file says more")
    return engine_with("aws", "kubernetes", eks=plugin)


def made_by(engine: Engine, name: str, config: StackFile) -> dict[str, dict[str, Any]]:
    """What a stack has in its state, by URN."""
    project = engine.project("eks-gpushare")
    project.init(name, config)
    project.up(name)
    resources = project.state(name)["deployment"]["resources"]
    kept = ("parent", "protect", "custom")
    return {
        each["urn"]: {
            "inputs": {k: _by_id(v) for k, v in (each.get("inputs") or {}).items()},
            **{key: each.get(key) for key in kept},
        }
        for each in resources
        if "$eks:index:Cluster$" in each["urn"] and not each["type"].startswith("pulumi:")
    }


def _by_id(value: Any) -> Any:
    """The component gives some resources whole, of which AWS's provider is told the IDs."""
    whole = isinstance(value, dict) and "packageVersion" in value
    return value["id"] if whole else value


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_the_component_and_its_stand_in_make_the_same(
    real_engine: Engine,
    engine_with: Callable[..., Engine],
    time_slicing: StackFile,
    edited: Edit,
    changes: dict[str, Any],
    request: pytest.FixtureRequest,
) -> None:
    # The component waits five minutes for a public endpoint, which nobody answers at here.
    config = edited(time_slicing, "cluster.endpoint", {"private": True})
    for path, value in changes.items():
        config = edited(config, path, value)
    stack = "-".join(request.node.callspec.id.split())

    real = made_by(real_engine, stack, config)
    fake = made_by(engine_with("aws", "eks", "kubernetes"), stack, config)

    assert fake.keys() == real.keys()
    assert {urn: fake[urn] for urn in fake if fake[urn] != real[urn]} == {
        urn: real[urn] for urn in fake if fake[urn] != real[urn]
    }
