"""`eks-gpushare preview`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.conftest import sampled

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]


def test_time_slicing_shows_forty_shares_a_node(run: Run) -> None:
    """The first seed's environment: four GPUs, ten replicas."""
    ran = run("preview", "time-slicing")

    assert ran.code == 0
    row = next(line for line in ran.out.splitlines() if line.startswith("gpu "))
    assert row.split()[3:7] == ["nvidia.com/gpu", "40", "40", "40"]
    assert ran.err == ""


def test_json_has_the_keys_of_the_contract_and_nothing_else_is_printed(run: Run) -> None:
    document = run("preview", "time-slicing", "--json").json

    pool = document["pools"]["gpu"]
    assert set(document) >= {"stack", "pools", "resources", "findings"}
    assert document["stack"] == "time-slicing"
    assert pool == {
        "provisioner": "managedNodeGroup",
        "instanceTypes": ["g6.12xlarge"],
        "nodes": {"min": 1, "desired": 1, "max": 1},
        "gpusPerNode": {"g6.12xlarge": 4},
        "perNode": {"g6.12xlarge": {"nvidia.com/gpu": 40}},
        "atDesired": {"nvidia.com/gpu": 40},
        "atMax": {"nvidia.com/gpu": 40},
        "usdPerHour": {"atDesired": 4.6016, "perShare": 0.11504},
        "request": {"nvidia.com/gpu": 1},
        "shares": [
            {
                "resource": "nvidia.com/gpu",
                "perNode": {"g6.12xlarge": 40},
                "memoryMiB": 2303,
                "usdPerHour": 0.11504,
            }
        ],
        "nodeSelector": {"eks-gpushare/pool": "gpu"},
        "tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
        ],
    }


def test_what_karpenter_buys_stands_beside_the_cheapest(run: Run, tmp_path: Path) -> None:
    text = (ROOT / "stacks" / "Pulumi.karpenter-time-slicing.yaml").read_text(encoding="utf-8")
    given = yaml.safe_load(text)
    pool = given["config"]["eks-gpushare:environment"]["pools"]["gpu"]
    pool["instanceTypes"] = ["g6.xlarge", "g6.12xlarge"]
    pool["sharing"] = {"mode": "timeSlicing", "replicas": 4}
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(yaml.safe_dump(given), encoding="utf-8")
    mine = ("preview", str(file), "--program", str(ROOT), "--quiet", "--pods")

    assert run(*mine, "gpu=25").out.splitlines()[-3:] == [
        "What Karpenter buys",
        "  gpu: for 25 pods 2 x g6.12xlarge, 9.20 $/hour",
        "    the cheapest would be 7 x g6.xlarge, 5.63 $/hour",
    ]
    assert run(*mine, "gpu=4", "--json").json["purchases"] == {
        "gpu": {
            "pods": 4,
            "waiting": 0,
            "bought": {"nodes": {"g6.xlarge": 1}, "usdPerHour": 0.8048},
            "cheapest": {"nodes": {"g6.xlarge": 1}, "usdPerHour": 0.8048},
        }
    }
    refused = run(*mine, "slices=4")
    assert refused.code == 2
    assert "--pods slices=4: pools that Karpenter makes nodes for are gpu" in refused.err


def test_each_resource_has_the_keys_of_the_contract(run: Run) -> None:
    resources = run("preview", "time-slicing", "--json").json["resources"]

    keys = {"urn", "type", "name", "parent", "inputs", "dependencies", "provider", "protect"}
    assert {frozenset(resource) for resource in resources} == {frozenset(keys)}


def test_a_stack_may_be_named_by_its_file_from_anywhere(run: Run, tmp_path: Path) -> None:
    file = ROOT / "stacks" / "Pulumi.time-slicing.yaml"

    ran = run("preview", str(file), "--json", cwd=tmp_path)

    assert ran.code == 0
    assert ran.json["stack"] == "time-slicing"


def test_a_stack_that_is_not_there_is_wrong_usage(run: Run) -> None:
    ran = run("preview", "nope")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("eks-gpushare: There is no stack nope in ")
    assert "time-slicing" in ran.err


def test_outside_of_a_program_the_command_says_where_it_looked(run: Run, tmp_path: Path) -> None:
    ran = run("preview", "dev", cwd=tmp_path)

    assert ran.code == 2
    assert ran.err == (
        f"eks-gpushare: There is no Pulumi.yaml in {tmp_path} or above it. Run the command in the "
        "directory of a Pulumi program, or name one with --program.\n"
    )


def test_a_wrong_stack_is_refused_before_its_program_runs(
    run: Run, tmp_path: Path, time_slicing: str
) -> None:
    file = tmp_path / "Pulumi.wrong.yaml"
    file.write_text(time_slicing.replace("replicas: 10", "replicas: 1"))

    document = run("preview", str(file), "--program", str(ROOT), "--json")

    errors = [f["code"] for f in document.json["findings"] if f["severity"] == "error"]
    assert document.code == 1
    assert errors == ["GPU201"]
    assert document.json["resources"] == []


def test_a_pool_that_karpenter_scales_begins_without_a_node(
    run: Run, tmp_path: Path, time_slicing: str
) -> None:
    file = tmp_path / "Pulumi.karpenter.yaml"
    types = "instanceTypes: [g5.xlarge, g5.12xlarge]"
    text = time_slicing.replace("instanceTypes: [g6.12xlarge]", types)
    text = text.replace("nodes: {min: 1, desired: 1, max: 1}", "nodes: {max: 2}")
    file.write_text(text.replace("sharing:", "provisioner: karpenter\n        sharing:"))

    pool = run("preview", str(file), "--program", str(ROOT), "--json").json["pools"]["gpu"]

    assert pool["nodes"] == {"min": 0, "desired": 0, "max": 2}
    assert pool["atDesired"] == {"nvidia.com/gpu.shared": 0}
    assert pool["usdPerHour"]["atDesired"] == 0


def test_an_unreadable_stack_file_is_exit_code_two(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.broken.yaml"
    file.write_text("config: [")

    ran = run("preview", str(file), "--program", str(ROOT))

    assert ran.code == 2
    assert "GPU001" in ran.out


def test_manifests_are_written_as_kubernetes_takes_them(run: Run, tmp_path: Path) -> None:
    ran = run("preview", "time-slicing", "--manifests", str(tmp_path / "out"))

    namespace, config, values = sorted((tmp_path / "out").iterdir())
    document = yaml.safe_load(config.read_text())
    assert ran.code == 0
    assert namespace.name == "01-namespace-nvidia-device-plugin.yaml"
    assert document["metadata"]["name"] == config.name[len("02-configmap-") : -len(".yaml")]
    assert yaml.safe_load(document["data"]["gpu"])["sharing"]["timeSlicing"]["resources"] == [
        {"name": "nvidia.com/gpu", "replicas": 10}
    ]
    assert yaml.safe_load(values.read_text())["config"]["name"] == document["metadata"]["name"]


def test_manifests_that_cannot_be_written_are_said_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    ran = run("preview", "time-slicing", "--manifests", str(tmp_path / "file"))

    assert ran.code == 2
    assert ran.err == f"eks-gpushare: {tmp_path / 'file'} cannot be written to: File exists\n"


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    sampled(
        [
            ("replicas: 10", "replicas: 4", [("gpushare-device-plugin-release", "restart")]),
            ("labels: {eks-node: gpu}", "labels: {eks-node: other}", [("gpushare-gpu", "update")]),
            ("max: 1}", "max: 3}", [("gpushare-gpu", "update")]),
            (
                "labels: {eks-node: gpu}",
                "labels: {eks-node: gpu}\n        rootVolumeGiB: 300",
                [("gpushare-gpu", "roll")],
            ),
            ("1.35.8-20260930", "1.35.6-20260714", [("gpushare-gpu", "roll")]),
            ("[g6.12xlarge]", "[g5.12xlarge]", [("gpushare-gpu", "replace")]),
            ("tags: {team: ml-platform}", "tags: {team: other}", "updates only"),
            (
                "cidr: 10.0.0.0/16",
                "cidr: 10.1.0.0/16",
                [("gpushare-cluster-eks", "refused")],
            ),
            (
                "name: gpusharing-demo",
                "name: other",
                [
                    ("gpushare-system", "replace"),
                    ("gpushare-gpu", "replace"),
                    ("gpushare-cluster-eks", "replace"),
                    ("gpushare-cluster-eks-kube-proxy", "replace"),
                    ("gpushare-cluster-eks-vpc-cni", "replace"),
                    ("gpushare-cluster-coredns", "replace"),
                    ("gpushare-cluster-pod-identity-agent", "replace"),
                    ("gpushare-cluster-node-monitoring-agent", "replace"),
                ],
            ),
            (
                "    pools:",
                "    gpuStack: {namespace: gpu}\n    pools:",
                [
                    ("gpushare-device-plugin-release", "replace"),
                    ("gpushare-device-plugin-namespace", "replace"),
                ],
            ),
            (
                "    pools:",
                "    gpuStack: {manager: gpuOperator}\n    pools:",
                [("gpushare-gpu", "roll"), ("gpushare-gpu-operator", "replace")],
            ),
            ("", "", []),
        ],
        3,
    ),
)
def test_an_edit_is_announced_by_what_it_does_to_nodes(
    run: Run,
    tmp_path: Path,
    time_slicing: str,
    old: str,
    new: str,
    effect: list[tuple[str, str]] | str,
) -> None:
    """Each row of the table of edits in docs/upgrades.md."""
    before = tmp_path / "Pulumi.before.yaml"
    after = tmp_path / "Pulumi.after.yaml"
    before.write_text(time_slicing)
    after.write_text(time_slicing.replace(old, new, 1) if old else time_slicing)

    ran = run("preview", str(after), "--program", str(ROOT), "--before", str(before), "--json")

    found = [(edit["name"], edit["effect"]) for edit in ran.json["edits"]]
    if effect == "updates only":
        assert {kind for _, kind in found} == {"update"}
    else:
        assert found == effect


@pytest.mark.parametrize(
    ("managers", "says"),
    [
        (
            ("devicePlugin", "gpuOperator"),
            "gpushare-gpu-operator: the GPU Operator takes over from the device plugin's chart",
        ),
        (
            ("gpuOperator", "devicePlugin"),
            "gpushare-device-plugin: the device plugin's chart takes over from the GPU Operator",
        ),
    ],
)
def test_another_manager_is_announced_with_what_restarts(
    run: Run, tmp_path: Path, time_slicing: str, managers: tuple[str, str], says: str
) -> None:
    files = [tmp_path / f"Pulumi.{name}.yaml" for name in ("before", "after")]
    for file, manager in zip(files, managers, strict=True):
        file.write_text(
            time_slicing.replace("    pools:", f"    gpuStack: {{manager: {manager}}}\n    pools:")
        )
    before, after = map(str, files)

    ran = run("preview", after, "--program", str(ROOT), "--before", before, "--json")

    rolled, *others = [edit["message"] for edit in ran.json["edits"]]
    # With the operator kubelet waits for the driver, which is in the user data.
    assert rolled.startswith("gpushare-gpu: each of its nodes is exchanged for a new one")
    assert others == [
        (
            f"{says}: device plugin and feature discovery are removed from the nodes of every pool "
            "and come back; by itself that leaves nodes and running pods as they are, but no new "
            "pod gets a GPU until the new device plugin has registered (gpuStack.manager)."
        )
    ]


MANAGED = "{mode: mig, layout: all-1g.5gb, apply: migManager}"


@pytest.mark.parametrize(
    ("stack", "edit", "effect"),
    sampled(
        [
            ("mig-uniform", ("layout: all-1g.5gb", "layout: all-balanced"), ("gpu", "roll")),
            ("gpu-operator", ("layout: all-1g.5gb", "layout: all-2g.10gb"), ("mig", "recut")),
            ("gpu-operator", (MANAGED, "{mode: mig, layout: all-1g.5gb}"), ("mig", "roll")),
            ("bottlerocket", ("replicas: 4", "replicas: 2"), ("slices", "roll")),
        ],
        2,
    ),
)
def test_another_layout_is_announced_by_what_it_does_to_nodes(
    run: Run, tmp_path: Path, stack: str, edit: tuple[str, str], effect: tuple[str, str]
) -> None:
    before = ROOT / "stacks" / f"Pulumi.{stack}.yaml"
    after = tmp_path / "Pulumi.after.yaml"
    after.write_text(before.read_text().replace(*edit))

    ran = run("preview", str(after), "--program", str(ROOT), "--before", str(before), "--json")

    found = [(each["name"].removeprefix("gpushare-"), each["effect"]) for each in ran.json["edits"]]
    assert effect in found
    assert "replace" not in {kind for _, kind in found}


def test_nodes_that_mig_manager_no_longer_cuts_stay_as_they_are(run: Run, tmp_path: Path) -> None:
    before = ROOT / "stacks" / "Pulumi.gpu-operator.yaml"
    after = tmp_path / "Pulumi.after.yaml"
    after.write_text(before.read_text().replace(MANAGED, "{mode: exclusive}"))

    ran = run("preview", str(after), "--program", str(ROOT), "--before", str(before), "--json")

    assert [edit["message"] for edit in ran.json["edits"] if "labels" in edit["because"]] == [
        (
            "gpushare-mig: no layout is named to MIG manager any more, which then leaves the GPUs "
            "of running nodes cut, so they advertise something else than new nodes: replace them "
            "(labels)."
        )
    ]


def test_an_earlier_file_with_errors_cannot_be_compared_with(
    run: Run, tmp_path: Path, time_slicing: str
) -> None:
    before = tmp_path / "Pulumi.before.yaml"
    before.write_text(time_slicing.replace("replicas: 10", "replicas: 1"))

    ran = run("preview", "time-slicing", "--before", str(before))

    assert ran.code == 2
    assert ran.err.startswith(f"eks-gpushare: {before} has errors, so nothing can be compared")


PROGRAM = """import pulumi
from pulumi_aws.ec2 import Vpc
from eks_gpushare import GpuPool

vpc = Vpc("mine", cidr_block="10.0.0.0/16")
pool = GpuPool(
    "gpu",
    {
        "pool": "gpu",
        "cluster_name": "mine",
        "cluster_subnet_ids": [vpc.id],
        "instance_types": ["g6.xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": REPLICAS},
    },
)
pulumi.export("request", pool.request)
"""


@pytest.fixture
def other_program(tmp_path: Path) -> Path:
    """Another project's program that uses one component."""
    (tmp_path / "Pulumi.yaml").write_text("name: mine\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  aws:region: us-west-2\n")
    (tmp_path / "__main__.py").write_text(PROGRAM.replace("REPLICAS", "4"))
    return tmp_path


def test_a_program_of_another_project_is_previewed_too(run: Run, other_program: Path) -> None:
    document = run("preview", "dev", "--json", cwd=other_program)

    types = [resource["type"] for resource in document.json["resources"]]
    assert document.code == 0, document.err
    assert "eks-gpushare:index:GpuPool" in types
    assert document.json["outputs"] == {"request": {"nvidia.com/gpu": 1}}


def test_edits_of_another_projects_stack_are_announced_too(run: Run, other_program: Path) -> None:
    """Its files have no environment of ours, and need none."""
    before = other_program / "Pulumi.dev.yaml"

    document = run("preview", "dev", "--before", str(before), "--json", cwd=other_program)

    assert (document.code, document.err) == (0, "")
    assert document.json["edits"] == []


def test_an_error_in_a_program_points_at_the_line_of_its_author(
    run: Run, other_program: Path
) -> None:
    (other_program / "__main__.py").write_text(PROGRAM.replace("REPLICAS", "1"))

    ran = run("preview", "dev", cwd=other_program)

    assert ran.code == 1
    assert f"{other_program / '__main__.py'}:6: " in ran.err
    assert (
        "sharing.replicas: 1 is less than 2; a GPU is shared by at least two pods. "
        'Set 2 or more, or "mode": "exclusive" for a pod per GPU. [GPU201]'
    ) in ran.err


@pytest.mark.parametrize("runtime", ["", "runtime: 7", "runtime: {options: {}}", "runtime: a/b"])
def test_a_program_of_no_runtime_is_refused(run: Run, other_program: Path, runtime: str) -> None:
    (other_program / "Pulumi.yaml").write_text(f"name: mine\n{runtime}\n")

    ran = run("preview", "dev", cwd=other_program)

    assert ran.code == 2
    assert f"{other_program / 'Pulumi.yaml'} has " in ran.err
    assert "name one, such as python, nodejs, go or yaml." in ran.err


def test_a_preview_leaves_no_files_behind(run: Run, other_program: Path) -> None:
    before = sorted(path.name for path in other_program.iterdir())

    run("preview", "dev", cwd=other_program)

    shutil.rmtree(other_program / "__pycache__", ignore_errors=True)
    assert sorted(path.name for path in other_program.iterdir()) == before
