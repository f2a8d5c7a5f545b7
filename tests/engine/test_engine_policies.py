"""`pulumi --policy-pack` and the pack run in-process say the same of the same program."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from eks_gpushare.program.policies.analyzer import run_pack
from eks_gpushare.program.policies.packs import load_pack
from eks_gpushare.program.preview import record
from eks_gpushare.stack_file.check import check_file
from eks_gpushare.stack_file.project import find_project

if TYPE_CHECKING:
    from tests.engine.conftest import Engine, Project, Result, StackFile

    from eks_gpushare.program.policies.violations import Violation

Verdict: TypeAlias = tuple[str, str, str, str]

PACK = Path(__file__).parents[2] / "policies"
CONFIG = {"aws:region": "us-west-2"}
ADVISORY = {"all": "advisory"}
NOT_RUN = "can't run policy"
"""How the SDK begins what it says of one that met something unknown: advisory at any level."""
_MADE_UP = re.compile(r"-[0-9a-f]{10}\b")
"""The end of a name that a provider makes up, which a preview of the engine may not know yet."""

# One of each kind of resource that the rules look at, as careless as its SDK allows.
CARELESS = """\
import json

import pulumi
from pulumi_aws.ec2 import LaunchTemplate
from pulumi_aws.eks import NodeGroup
from pulumi_eks import Cluster
from pulumi_kubernetes import Provider
from pulumi_kubernetes.core.v1 import ConfigMap
from pulumi_kubernetes.helm.v3 import Release
from pulumi_kubernetes.rbac.v1 import ClusterRoleBinding

cluster = Cluster("open", vpc_id="vpc-1", subnet_ids=["subnet-1"], skip_default_node_group=True)
template = LaunchTemplate("open", metadata_options={"http_put_response_hop_limit": 2})
group = NodeGroup(
    "open",
    cluster_name="open",
    node_role_arn="arn:aws:iam::111122223333:role/nodes",
    subnet_ids=["subnet-1"],
    instance_types=["g5.xlarge"],
    ami_type="AL2023_x86_64_NVIDIA",
    labels={"nvidia.com/device-plugin.config": "absent"},
    launch_template={"id": template.id, "version": "$Latest"},
    scaling_config={"min_size": 0, "desired_size": 1, "max_size": 1},
)
provider = Provider("open", kubeconfig="{}")
inside = pulumi.ResourceOptions(provider=provider)
ConfigMap("config", metadata={"name": "config"}, data={"present": "version: v1"}, opts=inside)
Release("plugin", chart="nvidia-device-plugin", values={"config": {"name": "config"}}, opts=inside)
ClusterRoleBinding(
    "admins",
    role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    subjects=[{"kind": "Group", "name": "system:masters"}],
    opts=inside,
)
"""


@pytest.fixture(scope="module")
def careless(engine: Engine) -> Project:
    """A program that breaks many rules, with the pack beside it."""
    other = engine.project("careless", CARELESS)
    _add_pack(other)
    other.init("dev", CONFIG)
    return other


def _add_pack(project: Project) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    there = project.directory / "policies"
    shutil.copytree(PACK, there, ignore=ignored, dirs_exist_ok=True)


def _engines(project: Project, stack: str, levels: StackFile, *, fails: bool = False) -> Result:
    settings = project.directory / "levels.json"
    settings.write_text(json.dumps(levels), encoding="utf-8")
    pack = ("--policy-pack", "policies", "--policy-pack-config", str(settings))
    return project.preview(stack, None, *pack, fails=fails)


def _ours(project: Project, stack: str, levels: StackFile) -> set[Verdict]:
    found = find_project(project.directory)
    recording = record(found, check_file(found.stack_file(stack)), stack)
    pack = load_pack(project.directory / "policies")
    violations = run_pack(
        pack.policies,
        recording,
        config=dict(levels),
        initial_config=pack.initial_config,
        pack=pack.name,
        level=pack.level,
    )
    return {(v.policy, v.level, v.urn, _as_the_engine_has_it(v)) for v in violations}


def _as_the_engine_has_it(violation: Violation) -> str:
    """The message after the description; of a policy that could not run, alone."""
    if violation.message.startswith(NOT_RUN):
        return violation.message
    return f"{violation.description}\n{violation.message}"


def test_both_say_the_same_of_a_careless_program(careless: Project) -> None:
    ours = _ours(careless, "dev", ADVISORY)

    assert len({policy for policy, *_ in ours}) > 10
    assert _engines(careless, "dev", ADVISORY).violations == ours


def test_a_mandatory_violation_fails_the_preview(careless: Project) -> None:
    result = _engines(careless, "dev", {}, fails=True)

    assert "mandatory" in {level for _, level, *_ in result.violations}
    assert result.violations <= _ours(careless, "dev", {})


@pytest.mark.parametrize("preset", ["baseline", "recommended", "strict"])
def test_a_preset_decides_the_levels_for_both(careless: Project, preset: str) -> None:
    levels = json.loads((PACK / "presets" / f"{preset}.json").read_text(encoding="utf-8"))
    ours = _ours(careless, "dev", levels)
    grave = {policy for policy, level, *_ in ours if level == "mandatory"}
    result = _engines(careless, "dev", levels, fails=bool(grave))

    assert grave
    assert result.violations <= ours  # the engine ends at the first resource that is refused
    assert grave & {policy for policy, level, *_ in result.violations if level == "mandatory"}
    if preset == "strict":
        judged = [verdict for verdict in ours if not verdict[3].startswith(NOT_RUN)]
        assert {level for _, level, *_ in judged} == {"mandatory"}


def test_both_say_the_same_of_the_stacks_of_this_repository(
    project: Project, time_slicing: StackFile
) -> None:
    _add_pack(project)
    project.init("judged", time_slicing)

    engines, ours = (
        {(*others, _MADE_UP.sub("", text)) for *others, text in verdicts}
        for verdicts in (_engines(project, "judged", {}).violations, _ours(project, "judged", {}))
    )
    assert engines == ours
