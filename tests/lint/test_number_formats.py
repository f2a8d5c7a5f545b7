"""vLLM told to compute in bfloat16, on nodes that have it, have not, or may have."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: a, region: eu-west-1, version: "1.34"}
managedNodeGroups:
  - {name: one, instanceType: TYPE, amiFamily: AmazonLinux2023, maxSize: 2, labels: {for: one}}
  - {name: two, instanceType: g5.xlarge, amiFamily: AmazonLinux2023, maxSize: 2, labels: {for: two}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: demo}
spec:
  nodeSelector: {SELECTED}
  containers:
    - name: main
      image: IMAGE
      args: [ARGS]
      resources: {limits: {nvidia.com/gpu: 1}}
"""


def messages(
    kind: str = "g4dn.xlarge",
    args: str = '--model=/models, "--dtype=bfloat16"',
    selected: str = "for: one",
    image: str = "vllm/vllm-openai:v0.11.0",
) -> list[str]:
    pod = POD.replace("SELECTED", selected).replace("IMAGE", image).replace("ARGS", args)
    found = found_in({"a.yaml": f"{NODES.replace('TYPE', kind)}---\n{pod}"})
    return [each.message for each in found if each.code == "GPU1390"]


@pytest.mark.parametrize(
    ("kind", "gpu"),
    [("g4dn.xlarge", "T4 of compute capability 7.5"), ("p3.2xlarge", "V100 of compute capability")],
)
def test_gpus_without_the_format_are_named(kind: str, gpu: str) -> None:
    assert [gpu in each for each in messages(kind)] == [True]
    assert len(messages(kind, args="serve, /models, --dtype, bfloat16")) == 1
    assert len(messages(kind, '"python -m vllm --dtype bfloat16 --port 80"', image="own:1")) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "g5.xlarge"},
        {"kind": "p4d.24xlarge"},
        {"kind": "$TYPE"},
        {"selected": "for: two"},
        {"selected": ""},  # may be on either
        {"selected": "for: $WHERE"},
        {"args": "--dtype=half"},
        {"args": "--dtype=auto"},
        {"args": "--kv-cache-dtype=bfloat16"},
        {"image": "own:1"},  # others compute in another format, and say so
    ],
)
def test_nothing_is_said_where_it_is_there_or_may_be(given: dict[str, str]) -> None:
    assert messages(**given) == []


def test_nodes_whose_labels_are_not_known_may_be_others() -> None:
    told = POD.replace("SELECTED", "for: one").replace("IMAGE", "vllm/vllm-openai:v0.11.0")
    pod = told.replace("ARGS", "--dtype=bfloat16")
    nodes = NODES.replace("TYPE", "g4dn.xlarge").replace("{for: two}", "$LABELS")

    assert "GPU1390" not in [each.code for each in found_in({"a.yaml": f"{nodes}---\n{pod}"})]


@pytest.mark.parametrize(
    ("kind", "args", "image", "wrong"),
    [
        ("p3.2xlarge", "--quantization=awq", "v0.9.2", True),
        ("p3.2xlarge", "--quantization, awq", "v0.19.0", True),
        ("p3.2xlarge", "-q, fp8", "latest", True),
        ("p3.2xlarge", "--quantization=gptq", "v0.9.2", False),
        ("g4dn.xlarge", "--quantization=awq", "v0.9.2", False),
        ("g4dn.xlarge", "--quantization=fp8", "v0.9.2", True),
        ("g4dn.xlarge", "--quantization=awq_marlin", "v0.11.0", True),
        ("g4dn.xlarge", "--quantization=gptq_marlin", "0.8.5.post1", True),
        ("g4dn.xlarge", "--quantization=fp8", "v0.12.0", False),
        ("g4dn.xlarge", "--quantization=fp8", "latest", False),
        ("g4dn.xlarge", "--quantization=fp8_own", "v0.9.2", False),
        ("g5.xlarge", "--quantization=fp8", "v0.9.2", False),
    ],
)
def test_quantizations_that_a_gpu_has_not(kind: str, args: str, image: str, wrong: bool) -> None:
    said = messages(kind, f"--model=/models, {args}", image=f"vllm/vllm-openai:{image}")

    assert len(said) == wrong


def test_of_an_image_that_is_not_known_to_be_vllm_a_quantization_says_nothing() -> None:
    assert messages("p3.2xlarge", "--quantization=awq", image="own/vllm:1") == []


@pytest.mark.parametrize(("kind", "wrong"), [("p3.2xlarge", True), ("g4dn.xlarge", False)])
def test_sglang_begins_at_turing(kind: str, wrong: bool) -> None:
    said = messages(kind, "python, -m, sglang.launch_server, --model-path, /m", image="a/sglang:1")

    assert ["runs SGLang" in each for each in said] == ([True] if wrong else [])


@pytest.mark.parametrize(
    ("selected", "count"),
    [
        ("node.kubernetes.io/instance-type: g4dn.xlarge", 1),
        ("beta.kubernetes.io/instance-type: p3.2xlarge", 1),
        ("karpenter.k8s.aws/instance-family: g4dn", 1),
        ("eks.amazonaws.com/instance-family: g4dn", 1),
        ("karpenter.k8s.aws/instance-gpu-name: t4", 1),
        ("karpenter.k8s.aws/instance-gpu-name: t4, team: a", 1),
        ("nvidia.com/gpu.product: Tesla-T4", 1),
        ("nvidia.com/gpu.product: Tesla-V100-SXM2-16GB", 1),
        ("nvidia.com/gpu.product: NVIDIA-A10G", 0),
        ("nvidia.com/gpu.product: NVIDIA-A2", 0),
        ("karpenter.k8s.aws/instance-family: g5", 0),
        ("karpenter.k8s.aws/instance-category: g", 0),
        ("node.kubernetes.io/instance-type: g4dn.tiny", 0),
        ("node.kubernetes.io/instance-type: $TYPE", 0),
        ("team: a", 0),
        ("", 0),
    ],
)
def test_what_pods_select_tells_of_gpus_too(selected: str, count: int) -> None:
    pod = POD.replace("SELECTED", selected).replace("IMAGE", "vllm/vllm-openai:v0.11.0")
    found = found_in({"a.yaml": pod.replace("ARGS", "--dtype=bfloat16")})
    said = [each.message for each in found if each.code == "GPU1390"]

    assert ["the nodes that it selects have a" in each for each in said] == [True] * count


TERM = "{matchExpressions: [{key: KEY, operator: OPERATOR, values: [VALUES]}]}"
AFFINITY = """\
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [TERMS]}
"""
FAMILY = "karpenter.k8s.aws/instance-family"


def term(values: str, key: str = FAMILY, operator: str = "In") -> str:
    return TERM.replace("KEY", key).replace("VALUES", values).replace("OPERATOR", operator)


@pytest.mark.parametrize(
    ("terms", "count"),
    [
        (term("g4dn"), 1),
        (term("g4dn, p3"), 1),
        (term("g4dn, g5"), 0),
        (term("g4dn, g99"), 0),
        (term("g4dn", operator="NotIn"), 0),
        (term("g4dn, $FAMILY"), 0),
        (f"{term('g4dn')}, {term('g5')}", 0),
        (term("g4dn", key="team"), 0),
    ],
)
def test_so_do_terms_of_an_affinity(terms: str, count: int) -> None:
    pod = POD.replace("  nodeSelector: {SELECTED}\n", AFFINITY.replace("TERMS", terms))
    pod = pod.replace("IMAGE", "vllm/vllm-openai:v0.11.0").replace("ARGS", "--dtype=bfloat16")
    found = found_in({"a.yaml": pod})

    assert len([each for each in found if each.code == "GPU1390"]) == count


def test_kserve_serves_a_model_of_hugging_face_by_vllm() -> None:
    def told(model: str) -> list[str]:
        text = f"""\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: demo}}
spec:
  predictor:
    nodeSelector: {{node.kubernetes.io/instance-type: g4dn.xlarge}}
    model:
      modelFormat: {{name: {model}}}
      args: [--dtype=bfloat16]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
        return [each.code for each in found_in({"a.yaml": text})]

    assert "GPU1390" in told("huggingface")
    assert "GPU1390" not in told("pytorch")
