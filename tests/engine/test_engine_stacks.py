from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.values import SECRET_SIGNATURE, SIGNATURE_KEY
from eks_gpushare.stack_file.yaml import read

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.conftest import Project, Result, StackFile

POOL = {
    "provisioner": "existing",
    "instanceTypes": ["g5.xlarge"],
    "sharing": {"mode": "timeSlicing", "replicas": 4},
}
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://127.0.0.1:6443"}}]
contexts: [{name: lab, context: {cluster: lab, user: me}}]
current-context: lab
users: [{name: me, user: {token: t}}]
"""


def test_every_stack_of_this_repository_can_be_previewed(
    project: Project, stack_file: Path
) -> None:
    stack = stack_file.name.removeprefix("Pulumi.").removesuffix(".yaml")
    project.init(stack, stack_file.read_text(encoding="utf-8"))

    assert set(project.preview(stack).changes.values()) == {"create"}


@pytest.fixture(scope="module")
def by_kubeconfig(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A stack on a cluster that is known by its kubeconfig, with nodes that are there."""
    kubeconfig = tmp_path_factory.mktemp("kubeconfig") / "config"
    kubeconfig.write_text(KUBECONFIG, encoding="utf-8")
    existing = {"kubeconfig": str(kubeconfig), "context": "lab"}
    project.init("by-kubeconfig", _config({"existing": existing}, {"gpu": POOL}))
    return project.up("by-kubeconfig")


def _config(cluster: StackFile, pools: StackFile) -> dict[str, Any]:
    environment = {"cluster": cluster, "pools": pools}
    return {"aws:region": "us-west-2", "eks-gpushare:environment": environment}


def test_a_cluster_known_by_its_kubeconfig_needs_nothing_of_aws(by_kubeconfig: Result) -> None:
    assert by_kubeconfig.types == {
        "pulumi:pulumi:Stack",
        "pulumi:providers:kubernetes",
        "eks-gpushare:index:GpuSharingEnvironment",
        "eks-gpushare:index:DevicePlugin",
        "kubernetes:core/v1:Namespace",
        "kubernetes:core/v1:ConfigMap",
        "kubernetes:helm.sh/v3:Release",
    }


def test_a_stack_says_where_it_is_and_what_its_pools_offer(by_kubeconfig: Result) -> None:
    outputs = dict(by_kubeconfig.outputs)
    pool = outputs["pools"]["gpu"]

    assert sorted(outputs) == ["cluster", "kubeconfig", "pools"]
    assert outputs["cluster"] == "lab"
    assert pool == {
        "provisioner": "existing",
        "instanceTypes": ["g5.xlarge"],
        "nodes": {"min": 0, "desired": 1, "max": 1},
        "gpusPerNode": {"g5.xlarge": 1},
        "perNode": {"g5.xlarge": {"nvidia.com/gpu": 4}},
        "atDesired": {"nvidia.com/gpu": 4},
        "atMax": {"nvidia.com/gpu": 4},
        "usdPerHour": {"atDesired": 1.006, "perShare": 0.2515},
        "request": {"nvidia.com/gpu": 1},
        "shares": [
            {
                "resource": "nvidia.com/gpu",
                "perNode": {"g5.xlarge": 4},
                "memoryMiB": 5757,
                "usdPerHour": 0.2515,
            }
        ],
        "nodeSelector": {"eks-gpushare/pool": "gpu"},
        "tolerations": [
            {
                "key": "nvidia.com/gpu",
                "operator": "Equal",
                "value": "true",
                "effect": "NoSchedule",
            }
        ],
        "nodeLabels": {
            "eks-gpushare/pool": "gpu",
            "nvidia.com/device-plugin.config": "gpu",
            "nvidia.com/gpu.present": "true",
        },
    }


def test_a_kubeconfig_is_a_secret_in_the_outputs(by_kubeconfig: Result) -> None:
    assert by_kubeconfig.outputs["kubeconfig"] == {
        SIGNATURE_KEY: SECRET_SIGNATURE,
        "ciphertext": "[secret]",
    }
    assert "127.0.0.1:6443" not in by_kubeconfig.text


@pytest.fixture(scope="module")
def by_name(project: Project) -> Result:
    """A pool for an EKS cluster that is there already."""
    pool = {**POOL, "provisioner": "managedNodeGroup"}
    project.init("by-name", _config({"existing": {"name": "shared"}}, {"gpu": pool}))
    return project.up("by-name")


def test_a_cluster_known_by_its_name_gets_a_pool_and_the_device_plugin(by_name: Result) -> None:
    managed = {name.split()[0] for name in by_name.changes}

    assert managed == {
        "ConfigMap",
        "LaunchTemplate",
        "Namespace",
        "NodeGroup",
        "Release",
        "Role",
        "RolePolicyAttachment",
        "kubernetes",
    }


def test_a_pool_joins_the_cluster_that_is_named(by_name: Result) -> None:
    inputs = by_name.inputs("NodeGroup gpushare-gpu")

    assert inputs["clusterName"] == "shared"
    assert inputs["subnetIds"] == ["subnet-assumed-1", "subnet-assumed-2"]


def test_the_provider_of_a_named_cluster_is_identified_by_its_arn(by_name: Result) -> None:
    inputs = by_name.inputs("kubernetes gpushare-kubernetes")

    assert inputs["clusterIdentifier"] == "arn:aws:eks:us-west-2:111122223333:cluster/shared"


ODD_SCALARS = """\
config:
  eks-gpushare:values:
    - yes
    - on
    - 1e3
    - 12:30:45
    - 0o17
    - 0777
    - 08
    - 0b101
    - 0x1F
    - 1_000
    - 1_0.5
    - 4.0
    - 4.5
    - 1.30
    - .5
    - ~
    - "1.30"
    - 'yes'
    - 2024-01-01
    - =
    - 18446744073709551615
    - !!str 17
    - |
      text
    - >-
      folded
      text
"""


def test_odd_scalars_reach_a_program_as_check_reads_them(project: Project) -> None:
    program = 'import pulumi\npulumi.export("values", pulumi.Config().require_object("values"))\n'
    scalars = project.engine.project(
        "scalars", program.replace("Config()", "Config('eks-gpushare')")
    )
    scalars.init("odd", ODD_SCALARS)
    content: Any = read(ODD_SCALARS).value

    assert scalars.preview("odd").outputs["values"] == content["config"]["eks-gpushare:values"]
