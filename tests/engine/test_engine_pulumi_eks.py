"""The stand-in of `eks.Cluster` registers what the component of pulumi-eks registers.

EKS_GPUSHARE_TEST_PULUMI_EKS names the executable `pulumi-resource-eks` of a release of pulumi-eks,
or what starts one built from its sources. Without it these tests skip. AWS stays the echo provider.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.engine.conftest import Edit, Engine, Project, StackFile

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
    return made_in(engine.project("eks-gpushare"), name, config)


def made_in(project: Project, name: str, config: StackFile) -> dict[str, dict[str, Any]]:
    """What a stack of a project has in its state below components of pulumi-eks, by URN."""
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
        if _is_made_by_a_component(each["urn"]) and not each["type"].startswith("pulumi:")
    }


def _is_made_by_a_component(urn: str) -> bool:
    above = urn.split("::")[2].split("$")[:-1]
    return any(each.startswith("eks:index:") for each in above)


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


PROGRAMS = {
    "everything by default": """
from pulumi_eks import Cluster

Cluster("open", version="1.35")
""",
    "managed nodes": """
from pulumi_aws.iam import Role
from pulumi_eks import Cluster, ManagedNodeGroup

role = Role("nodes", assume_role_policy="{}")
cluster = Cluster(
    "open",
    version="1.35",
    skip_default_node_group=True,
    instance_roles=[role],
    vpc_id="vpc-1",
    public_subnet_ids=["subnet-1"],
    private_subnet_ids=["subnet-2"],
    tags={"team": "ml"},
    node_security_group_tags={"for": "nodes"},
    storage_classes="gp2",
)
ManagedNodeGroup(
    "gpu",
    cluster=cluster,
    node_role=role,
    instance_types=["g5.xlarge"],
    operating_system="AL2023",
    gpu=True,
    taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
    labels={"team": "ml"},
)
ManagedNodeGroup("image", cluster=cluster, node_role=role, ami_id="ami-1", disk_size=100)
ManagedNodeGroup("imds", cluster=cluster, node_role=role, enable_imd_sv2=True, disk_size=50)
""",
    "nodes of Auto Scaling": """
from pulumi_aws.iam import InstanceProfile, Role
from pulumi_eks import Cluster, NodeGroup, NodeGroupV2

role = Role("nodes", assume_role_policy="{}")
profile = InstanceProfile("nodes", role=role.name)
cluster = Cluster(
    "open",
    version="1.35",
    skip_default_node_group=True,
    authentication_mode="API_AND_CONFIG_MAP",
    vpc_id="vpc-1",
    subnet_ids=["subnet-1"],
    create_instance_role=True,
    access_entries={"people": {"principal_arn": "arn:aws:iam::111122223333:role/People"}},
)
NodeGroupV2(
    "gpu",
    cluster=cluster,
    instance_profile=profile,
    gpu=True,
    instance_type="g5.xlarge",
    node_root_volume_size=100,
    node_root_volume_encrypted=True,
    taints={"nvidia.com/gpu": {"value": "true", "effect": "NoSchedule"}},
    spot_price="1",
)
NodeGroupV2("al2", cluster=cluster.core, instance_profile=profile, operating_system="AL2")
NodeGroup("old", cluster=cluster, instance_profile=profile, instance_type="g5.xlarge", gpu=True)
""",
    "a role for nodes": """
from pulumi_aws.iam import Role
from pulumi_eks import Cluster

role = Role("nodes", assume_role_policy="{}")
Cluster("open", version="1.35", instance_role=role, instance_type="t3.large", desired_capacity=3)
""",
    "Auto Mode": """
from pulumi_eks import Cluster

Cluster("open", version="1.35", auto_mode={"enabled": True}, authentication_mode="API")
""",
    "Fargate": """
from pulumi_eks import Cluster

Cluster("open", version="1.35", fargate=True, vpc_id="vpc-1", subnet_ids=["subnet-1"])
""",
}
NOT_STOOD_IN_FOR = {"userData", "templateBody"}
"""What the plugin writes for nodes to read."""


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_of_others_make_the_same(
    real_engine: Engine,
    engine_with: Callable[..., Engine],
    program: str,
    request: pytest.FixtureRequest,
) -> None:
    name = "-".join(request.node.callspec.id.lower().split())
    config = {"aws:region": "us-west-2"}

    real = made_in(real_engine.project(name, program), "dev", config)
    project = engine_with("aws", "eks", "kubernetes").project(name, program)
    fake = made_in(project, "dev", config)

    assert fake.keys() == real.keys()
    different = [
        (urn.split("::", 2)[2], key, *values)
        for urn in fake
        for key in sorted({*fake[urn]["inputs"], *real[urn]["inputs"]} - NOT_STOOD_IN_FOR)
        if len({*(values := [_plain(each[urn]["inputs"].get(key)) for each in (fake, real)])}) > 1
    ]
    assert different == []


def _plain(value: Any) -> str:
    """A value without what is made up of the content of a resource."""
    return re.sub(r"-[0-9a-f]{7,}", "-ID", json.dumps(value, sort_keys=True))
