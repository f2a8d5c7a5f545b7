"""`eks-gpushare preview --pod`: what to put into a pod, and onto nodes of somebody else."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
STACKS = sorted(f.stem.partition(".")[2] for f in (ROOT / "stacks").glob("Pulumi.*.yaml"))
OFTEN = ("karpenter-time-slicing", "mig-time-slicing", "mps", "multi-tenant", "serve")
"""Stacks with every mode and both provisioners; the pods of the others are looked at by night."""


@pytest.mark.parametrize(
    "stack",
    [
        stack if stack in OFTEN else pytest.param(stack, marks=pytest.mark.at_length)
        for stack in STACKS
    ],
)
def test_a_pod_says_what_the_json_says(run: Run, stack: str) -> None:
    """By default the resource of `request`; with --resource each that the pool has shares of."""
    pools = run("preview", stack, "--json").json["pools"]

    assert pools
    name, pool = max(pools.items(), key=lambda item: len(item[1]["shares"]))
    for resource in (None, *(share["resource"] for share in pool["shares"])):
        ran = run("preview", stack, "--pod", name, *(["--resource", resource] if resource else []))
        pod = yaml.safe_load(ran.out)
        (container,) = pod["spec"]["containers"]

        assert (ran.code, ran.err) == (0, "")
        assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
        assert pod["spec"]["nodeSelector"] == pool["nodeSelector"]
        assert pod["spec"].get("tolerations", []) == pool["tolerations"]
        limits = {resource: 1} if resource else pool["request"]
        assert container["resources"] == {"limits": limits}


def test_json_is_the_same_pod(run: Run) -> None:
    text = run("preview", "prod", "--pod", "training").out

    assert run("preview", "prod", "--pod", "training", "--json").json == yaml.safe_load(text)


def test_the_pods_of_all_pools_stand_in_the_preview_as_yaml(run: Run) -> None:
    out = run("preview", "multi-tenant").out
    stream = out.partition("Pods, to paste\n")[2].partition("\nCost in USD")[0]

    names = [document["metadata"]["name"] for document in yaml.safe_load_all(stream)]
    assert names == ["inference", "notebooks", "tenants", "whole"]
    assert "# Pool tenants: one nvidia.com/mig-1g.5gb. With --resource it asks for" in stream


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--pod", "gpus"),
            "there is no pool gpus; did you mean gpu? the stack has gpu",
        ),
        (("--pod", "training"), "there is no pool training; the stack has gpu"),
        (
            ("--pod", "gpu", "--resource", "nvidia.com/gpu"),
            (
                "pool gpu advertises no nvidia.com/gpu; pods there ask for nvidia.com/mig-1g.5gb "
                "or nvidia.com/mig-2g.10gb or nvidia.com/mig-3g.20gb"
            ),
        ),
        (
            ("--resource", "nvidia.com/gpu"),
            "--resource says what a pod asks for: give --pod too",
        ),
    ],
)
def test_what_is_not_there_is_wrong_usage(run: Run, words: tuple[str, ...], says: str) -> None:
    ran = run("preview", "mig-balanced", *words)

    assert (ran.code, ran.out, ran.err) == (2, "", f"eks-gpushare: {says}\n")


def test_of_a_stack_with_errors_there_is_no_pod(
    run: Run, tmp_path: Path, time_slicing: str
) -> None:
    file = tmp_path / "Pulumi.wrong.yaml"
    file.write_text(time_slicing.replace("replicas: 10", "replicas: 1"))

    ran = run("preview", str(file), "--program", str(ROOT), "--pod", "gpu")

    assert (ran.code, ran.out) == (1, "")
    assert "error GPU201" in ran.err


EXISTING = """config:
  eks-gpushare:environment:
    cluster: {existing: {kubeconfig: KUBECONFIG, context: mine}}
    pools:
      gpu:
        provisioner: existing
        instanceTypes: [g6.xlarge]
        labels: {team: a-b, tier: x}
        taints:
          - {key: nvidia.com/gpu, value: "true", effect: NoSchedule}
          - {key: own, effect: NoExecute}
        sharing: {mode: timeSlicing, replicas: 4, rename: true}
"""
KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: mine, cluster: {server: "https://127.0.0.1:6443"}}]
contexts: [{name: mine, context: {cluster: mine, user: me}}]
users: [{name: me, user: {token: abc}}]
current-context: mine
"""


def test_nodes_of_somebody_else_get_their_labels_and_taints_by_kubectl(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(EXISTING.replace("KUBECONFIG", str(tmp_path / "kubeconfig")))

    ran = run("preview", str(file), "--program", str(ROOT))

    assert ran.code == 0, ran.out + ran.err
    commands = ran.out.partition("Nodes that somebody else makes\n")[2].partition("\n\n")[0]
    words = [
        shlex.split(line)
        for line in commands.replace("\\\n", "").splitlines()
        if not line.startswith("#")
    ]
    document = run("preview", str(file), "--program", str(ROOT), "--json").json
    labels = [f"{key}={value}" for key, value in document["pools"]["gpu"]["nodeLabels"].items()]
    assert document["cost"]["items"] == []
    assert document["cost"]["notIncluded"] == [
        "nodes of pools that somebody else makes",
        "the cluster, which is not made here",
    ]
    assert words == [
        ["kubectl", "label", "nodes", "NODE", *labels],
        ["kubectl", "taint", "nodes", "NODE", "nvidia.com/gpu=true:NoSchedule", "own:NoExecute"],
    ]
    assert "eks-gpushare/pool=gpu" in labels
    assert max(map(len, commands.splitlines())) <= 80
