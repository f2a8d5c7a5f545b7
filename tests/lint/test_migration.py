"""Stack files of foreign files: what is taken over, what is listed, and that `check` passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from foreign_reading import items, merged, read_text_with, read_with

from eks_gpushare.cli import migration as command
from eks_gpushare.cli.lint import run
from eks_gpushare.lint.migration.migrate import Migration, migrate
from eks_gpushare.lint.readers.compose import ComposeReader
from eks_gpushare.lint.readers.eksctl import EksctlReader
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.manifests.readers.karpenter import KarpenterReader

EXAMPLES = Path(__file__).parents[2] / "examples" / "migration"
CLUSTER = (EXAMPLES / "cluster.yaml").read_text(encoding="utf-8")
INSTALL = (EXAMPLES / "install.sh").read_text(encoding="utf-8")
PLAN: dict[str, Any] = yaml.safe_load((EXAMPLES / "compose.yaml").read_text(encoding="utf-8"))
POOL: dict[str, Any] = yaml.safe_load(
    """
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: gpu}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements:
            - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
            - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
          taints: [{key: dedicated, effect: NoSchedule}]
      limits: {nvidia.com/gpu: 3}
    """
)
GPU = "x-internal-integrations__multiTenantGpu"


def environment(made: Migration) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(made.text)["config"]["eks-gpushare:environment"]
    return found


def left(made: Migration) -> list[str]:
    return [each.what for each in made.left]


def of_eksctl(text: str, script: str = "") -> Migration:
    reads = [*read_with(EksctlReader(), text), *read_text_with(ShellReader(), script, "a.sh")]
    return migrate(items(reads), new=True)


def of_plan(**gpu: Any) -> Migration:
    return migrate(items(read_with(ComposeReader(), merged(PLAN, **{GPU: gpu}))), new=True)


def errors(made: Migration) -> list[str]:
    assert made.report is not None
    return [
        f"{each.path}: {each.message}" for each in made.report.findings if each.severity == "error"
    ]


def test_a_cluster_of_eksctl() -> None:
    made = of_eksctl(CLUSTER, INSTALL)

    assert errors(made) == []
    found = environment(made)
    assert yaml.safe_load(made.text)["config"]["aws:region"] == "us-east-1"
    assert found["cluster"] == {
        "name": "vision",
        "version": "1.35",
        "endpoint": {"public": True, "publicCidrs": ["203.0.113.0/24"]},
        "admins": ["arn:aws:iam::111122223333:role/Platform"],
    }
    assert found["network"] == {"cidr": "10.20.0.0/16", "natGateways": "single"}
    assert found["system"]["instanceTypes"] == ["m6i.large"]
    assert found["gpuStack"] == {"manager": "gpuOperator"}
    assert found["tags"] == {"team": "vision"}
    a100, t4 = found["pools"]["a100"], found["pools"]["t4"]
    assert a100["sharing"] == {"mode": "mig", "layout": "all-balanced", "strategy": "mixed"}
    assert a100["nodes"] == {"min": 0, "desired": 1, "max": 2}
    assert a100["rootVolumeGiB"] == 300
    assert a100["labels"] == {"team": "vision"}
    assert "taints" not in a100  # the default
    assert t4["capacityType"] == "spot"
    assert t4["sharing"] == {
        "mode": "timeSlicing",
        "replicas": 4,
        "rename": False,
        "failRequestsGreaterThanOne": False,
    }
    assert left(made) == [
        "the label nvidia.com/mig.config",
        "the label nvidia.com/device-plugin.config",
        "ssh of the node group t4",
        "addons",
    ]
    assert "# From file.yaml, line 24: the node group a100." in made.text


def test_a_service_plan() -> None:
    made = of_plan(instanceType="p4d.24xlarge", migProfile="1g.5gb")

    assert errors(made) == []
    found = environment(made)
    assert found["pools"]["gpu"]["sharing"] == {"mode": "mig", "layout": "all-1g.5gb"}
    assert found["workloads"]["app"]["replicas"] == {"min": 1, "max": 5}
    assert found["gpuStack"] == {"manager": "gpuOperator"}
    assert left(made) == [
        "enableAutoStop of the service app",
        "idleThreshold and overUtilizedThreshold",
        "x-omnistrate-service-plan",
    ]


@pytest.mark.parametrize(
    "gpu",
    [
        {"instanceType": "g4dn.xlarge", "timeSlicingReplicas": 2},
        {"instanceType": "g5.xlarge"},
        {"instanceType": "p4d.24xlarge", "migProfile": "1g.5gb", "timeSlicingReplicas": 4},
        {"instanceType": "p5.48xlarge", "migProfile": "2g.20gb"},
    ],
)
def test_check_passes_what_is_made_of_plans(gpu: dict[str, Any]) -> None:
    assert errors(of_plan(**gpu)) == []


def test_what_is_impossible_stays_for_check_to_say() -> None:
    made = of_plan(instanceType="g4dn.xlarge", migProfile="1g.5gb")

    assert any("T4" in each for each in errors(made))


def test_a_node_pool_with_a_chart() -> None:
    script = """
    cat > values.yaml <<EOF
    config:
      map:
        default: |
          version: v1
          sharing:
            timeSlicing:
              renameByDefault: true
              resources: [{name: nvidia.com/gpu, replicas: 5}]
    EOF
    helm install nvdp nvdp/nvidia-device-plugin -f values.yaml
    """
    reads = [*read_with(KarpenterReader(), POOL), *read_text_with(ShellReader(), script, "a.sh")]
    made = migrate(items(reads))

    assert errors(made) == []
    pool = environment(made)["pools"]["gpu"]
    assert pool["provisioner"] == "karpenter"
    assert pool["nodes"] == {"max": 3}
    assert pool["karpenter"] == {"capacityTypes": ["spot", "onDemand"]}
    assert pool["taints"] == [{"key": "dedicated", "effect": "NoSchedule"}]
    assert pool["sharing"]["rename"] is True
    assert pool["sharing"]["replicas"] == 5


def test_a_type_that_few_zones_have() -> None:
    made = of_eksctl(CLUSTER.replace("us-east-1", "eu-west-1"))

    found = environment(made)
    assert found["network"]["zones"] == ["eu-west-1a", "eu-west-1b"]
    assert found["pools"]["a100"]["zones"] == ["eu-west-1a"]
    assert not any("zones" in each for each in errors(made))


def test_a_layout_that_is_put_on_nodes_by_hand() -> None:
    text = CLUSTER.replace("nvidia.com/mig.config: all-balanced, ", "")
    made = of_eksctl(text, "kubectl label node n nvidia.com/mig.config=all-1g.5gb")

    assert environment(made)["pools"]["a100"]["sharing"]["layout"] == "all-1g.5gb"


def test_nothing_is_made_of_what_has_no_gpus() -> None:
    made = of_eksctl(CLUSTER.replace("p4d.24xlarge", "c5.large").replace("g4dn.", "m5."))

    assert made.text == ""
    assert made.report is None


@pytest.fixture
def arguments() -> Any:
    import argparse

    from eks_gpushare.cli.lint import add_arguments

    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    add_arguments(parser)
    return parser.parse_args


def test_the_command_prints_the_stack_file_and_what_it_lacks(
    arguments: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(EXAMPLES / each) for each in ("cluster.yaml", "install.sh")]

    assert run(arguments([*names, "--to-stack"])) == 0
    printed = capsys.readouterr()
    assert yaml.safe_load(printed.out)["config"]["aws:region"] == "us-east-1"
    assert f"{names[0]}:39: ssh of the node group t4." in printed.err


def test_the_command_writes_a_file_and_never_over_one(
    arguments: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "Pulumi.made.yaml"
    given = [str(EXAMPLES / "compose.yaml"), "--to-stack", "--json", "-o", str(target)]

    assert run(arguments(given)) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["stackFile"] == target.read_text(encoding="utf-8")
    assert printed["written"] == str(target)
    assert [each["line"] for each in printed["notTaken"]] == [2, 2, 3]
    assert command.run(arguments(given)) == 2


def test_what_git_ignores_is_read_where_somebody_wants_it(
    arguments: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("made.yaml\n")
    (tmp_path / "made.yaml").write_text((EXAMPLES / "cluster.yaml").read_text())
    monkeypatch.chdir(tmp_path)

    assert run(arguments([".", "--to-stack"])) != 0
    assert run(arguments([".", "--to-stack", "--no-respect-gitignore"])) == 0
    assert "pools:" in capsys.readouterr().out
