"""Models by name, and the memory of the GPUs that a server gets: too little, and near it."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

from eks_gpushare.manifests.checks.programs.selected_gpus import selected_gpus

NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: a, region: eu-west-1, version: "1.34"}
managedNodeGroups:
  - {name: one, instanceType: TYPE, amiFamily: AmazonLinux2023, maxSize: 2, labels: {for: one}}
"""
POD = """\
apiVersion: VERSION
kind: KIND
metadata: {name: demo}
spec:
  nodeSelector: {SELECTED}
  containers:
    - name: main
      image: IMAGE
      args: [ARGS]
      resources: {limits: {LIMITS}}
    - {name: other, image: other, resources: {limits: {cpu: 1}}}
"""
SHARES = """\
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvdp, namespace: nvdp}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.1}}
  values:
    gfd: {enabled: true}
    config:
      map:
        default: "version: v1\\nsharing: {WAY: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}"
"""
LARGE = "--model=meta-llama/Llama-2-13b-hf"


def found(
    kind: str = "g5.xlarge",
    args: str = LARGE,
    limits: str = "nvidia.com/gpu: 1",
    selected: str = "for: one",
    image: str = "vllm/vllm-openai:v0.11.0",
    more: str = "",
    of: str = "Pod",
    *,
    nodes: bool = True,
) -> list[str]:
    pod = POD.replace("SELECTED", selected).replace("IMAGE", image).replace("ARGS", args)
    pod = pod.replace("LIMITS", limits).replace("KIND", of).replace("VERSION", "v1")
    every = NODES.replace(
        "instanceType: TYPE", f"instanceTypes: {kind}" if "[" in kind else f"instanceType: {kind}"
    )
    texts = [every] if nodes else []
    found = found_in({"a.yaml": "---\n".join([*texts, pod]) + more})
    return [each.message for each in found if each.code == "GPU1390"]


ALONE = {"nodes": False, "selected": "node.kubernetes.io/instance-type: g5.xlarge"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "of 24 GiB or more, and what it gets of the node group one has 23028 MiB."),
        ({"kind": "g4dn.xlarge", "args": "--model, Qwen/Qwen2.5-14B-Instruct"}, "of 26 GiB"),
        (
            {
                "kind": "g5.12xlarge",
                "args": "--model=meta-llama/Llama-3.1-70B-Instruct, --tensor-parallel-size=4",
                "limits": "nvidia.com/gpu: 4",
            },
            "has 92112 MiB.",
        ),
        ({"kind": "g5.12xlarge", "limits": "nvidia.com/gpu: 1"}, "has 23028 MiB."),
        ({**ALONE}, "and the 1 GPU that it gets has 23028 MiB."),
        (
            {
                **ALONE,
                "args": "--model=meta-llama/Llama-3.1-70B-Instruct",
                "limits": "nvidia.com/gpu: 4",
            },
            "and the 4 GPUs that it gets have 92112 MiB.",
        ),
        (
            {
                **ALONE,
                "args": "--model=meta-llama/Llama-3.1-70B-Instruct",
                "limits": "nvidia.com/gpu: 2",
            },
            "and the 2 GPUs that it gets have 46056 MiB.",
        ),
        (
            {"limits": "nvidia.com/mig-1g.10gb: 2", "nodes": False, "selected": ""},
            "and its devices of MIG have 20480 MiB.",
        ),
        (
            {
                "image": "ghcr.io/huggingface/text-generation-inference:3.0",
                "args": "--model-id=tiiuae/falcon-40b",
            },
            "loads tiiuae/falcon-40b, of 75 GiB",
        ),
        (
            {"limits": "nvidia.com/gpu: 2", "more": SHARES.replace("WAY", "timeSlicing")},
            "23028 MiB",
        ),
        (
            {
                "args": "--model=meta-llama/Llama-3.1-8B",
                "more": SHARES.replace("WAY", "mps"),
            },
            "has 11514 MiB.",
        ),
    ],
)
def test_weights_that_have_no_room(given: dict[str, str], said: str) -> None:
    assert [said in each for each in found(**given)] == [True]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "g6e.xlarge"},
        {"kind": "$TYPE"},
        {"kind": "g9z.xlarge"},
        {"kind": "[g5.xlarge, g9z.xlarge]"},
        {"kind": "m6i.large"},
        {"limits": "nvidia.com/gpu: 1, nvidia.com/gpu.shared: 1", "nodes": False},
        {"of": "RayService"},
        {"args": "--model=meta-llama/Llama-2-7b-hf"},
        {"args": "--model=TheBloke/Llama-2-70B-AWQ"},
        {"args": f"{LARGE}, --quantization=fp8"},
        {"args": f"{LARGE}, --cpu-offload-gb=10"},
        {"args": f"{LARGE}, --distributed-executor-backend=ray"},
        {"args": "--model=/models/13b"},
        {"args": "--port=80"},
        {"image": "own:1"},
        {"limits": "nvidia.com/gpu: $GPUS"},
        {"limits": "cpu: 1"},
        {"limits": "nvidia.com/mig-2g.20gb: 2", "nodes": False, "selected": ""},
        {"limits": "nvidia.com/mig-2g.20gb: $N", "nodes": False, "selected": ""},
        {"limits": "nvidia.com/mig-own: 1", "nodes": False, "selected": ""},
        {"limits": "nvidia.com/gpu: 1, nvidia.com/mig-1g.10gb: 1"},
        {"selected": "for: $WHERE"},
        {"selected": ""} | {"nodes": False},
        {**ALONE, "selected": "node.kubernetes.io/instance-type: g6e.xlarge"},
        {**ALONE, "selected": "karpenter.k8s.aws/instance-category: g"},
        {**ALONE, "limits": "nvidia.com/gpu: 2"},
        {
            "args": "--model=meta-llama/Llama-3.1-8B",
            "limits": "nvidia.com/gpu: 2",
            "more": SHARES.replace("WAY", "mps"),
        },
        {"args": "--model=meta-llama/Llama-3.1-8B", "more": SHARES.replace("WAY", "timeSlicing")},
        {
            "args": "--model=meta-llama/Llama-3.1-8B",
            "more": SHARES.replace("WAY", "mps").replace("gpu, replicas", "mig-1g.5gb, replicas"),
        },
    ],
)
def test_weights_that_have_or_may_have_room(given: dict[str, str]) -> None:
    assert found(**given) == []  # type: ignore[arg-type]


def test_labels_that_all_types_have_leave_all() -> None:
    selector = {"karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia"}

    assert len({gpu.model for gpu in selected_gpus({"nodeSelector": selector})}) > 5
    assert selected_gpus({"nodeSelector": {"team": "a"}}) == []


def test_of_nodes_that_are_cut_the_devices_count() -> None:
    node = NODES.replace("TYPE", "p4d.24xlarge").replace(
        "{for: one}", "{for: one, nvidia.com/mig.config: all-1g.5gb}"
    )
    values = "mig: {strategy: single}\n    driver: {enabled: false}\n    toolkit: {enabled: false}"
    operator = SHARES.partition("  values:")[0].replace("nvidia-device-plugin", "gpu-operator")
    pod = POD.replace("SELECTED", "for: one").replace("IMAGE", "vllm/vllm-openai:v0.11.0")
    pod = pod.replace("ARGS", LARGE).replace("LIMITS", "nvidia.com/gpu: 1").replace("KIND", "Pod")
    release = operator.replace("0.17.1", "v25.3.0") + f"  values:\n    {values}\n"
    texts = [node, pod.replace("VERSION", "v1"), release.removeprefix("---\n")]
    every = found_in({"a.yaml": "---\n".join(texts)})

    assert "GPU1390" not in [each.code for each in every]


@pytest.mark.parametrize(
    ("env", "count"),
    [
        ("{name: MODEL_ID, value: tiiuae/falcon-40b}", 1),
        ("{name: MODEL_ID, value: tiiuae/falcon-7b}", 0),
        ("{name: MODEL_ID, value: tiiuae/falcon-40b}, {name: QUANTIZE, value: awq}", 0),
        ("{name: MODEL_ID, value: $MODEL}", 0),
        ("{name: OTHER, value: tiiuae/falcon-40b}", 0),
    ],
)
def test_a_variable_tells_the_model_too(env: str, count: int) -> None:
    given = {**ALONE, "args": "--port=80", "image": "huggingface/text-generation-inference:3.0"}
    given["args"] = f"--port=80]\n      env: [{env}"

    assert len(found(**given)) == count  # type: ignore[arg-type]


def test_of_a_group_of_pods_each_has_a_part() -> None:
    text = POD.replace("SELECTED", "node.kubernetes.io/instance-type: g5.xlarge")
    text = text.replace("IMAGE", "vllm/vllm-openai:v0.11.0").replace("ARGS", LARGE)
    text = text.replace("LIMITS", "nvidia.com/gpu: 1").partition("spec:\n")[2]
    spec = "".join(f"      {line}\n" for line in text.splitlines())
    group = f"""\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: KIND
metadata: {{name: a}}
spec:
  leaderWorkerTemplate:
    workerTemplate:
      spec:
{spec}
"""

    assert found_in({"a.yaml": group.replace("KIND", "LeaderWorkerSet")}) == ()
