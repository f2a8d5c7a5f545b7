"""Fields of pods that stand in a container of KServe's, where nothing reads them."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

SERVICE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: gemma}
spec:
  PART:
    AT_PART
    RUNTIME:
      modelFormat: {name: huggingface}
      resources: {limits: {nvidia.com/gpu: "1"}}
      AT_RUNTIME
"""
TAINT = "tolerations: [{key: nvidia.com/gpu, operator: Exists}]"


def found(part: str, runtime: str, at_part: str = "", at_runtime: str = "") -> list[str]:
    text = SERVICE.replace("AT_PART", at_part).replace("AT_RUNTIME", at_runtime)
    text = text.replace("PART", part).replace("RUNTIME", runtime)
    return [f"{each.code} {each.message}" for each in found_in({"a.yaml": text})]


@pytest.mark.parametrize("part", ["predictor", "transformer", "explainer"])
@pytest.mark.parametrize("runtime", ["model", "triton", "huggingface"])
def test_tolerations_are_of_the_pod_and_not_of_the_model(part: str, runtime: str) -> None:
    (said,) = found(part, runtime, at_runtime=TAINT)

    assert said == (
        f"GPU1005 tolerations stands in spec.{part}.{runtime} of the InferenceService gemma."
    )
    assert found(part, runtime, at_part=TAINT) == []


RUNTIME = """\
apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: embeddings, namespace: SPACE}
spec:
  supportedModelFormats: [{name: huggingface, autoSelect: true}]
  containers: [{name: kserve-container, image: own/server, resources: {limits: {nvidia.com/gpu: 1}}}]
"""  # noqa: E501  (a line of YAML)
MODEL = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: e5, namespace: search}
spec:
  predictor: {model: {modelFormat: {name: huggingface}, runtime: embeddings, storageUri: s3://own}}
"""


def of_runtimes(files: dict[str, str]) -> list[str]:
    reports = lint_files([GivenFile(*each) for each in files.items()])
    findings = [each for report in reports for each in report.findings]
    return [each.message for each in findings if each.code in ("GPU1333", "GPU012")]


def test_a_runtime_of_another_namespace_is_none_of_a_model() -> None:
    files = {"runtime.yaml": RUNTIME.replace("SPACE", "platform"), "model.yaml": MODEL}

    (message,) = of_runtimes(files)

    assert message == (
        "The InferenceService e5 of the namespace search names the runtime embeddings, and the "
        "ServingRuntime embeddings is of platform."
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("namespace: platform", "namespace: search"),
        ("kind: ServingRuntime", "kind: ClusterServingRuntime"),
        (", namespace: platform", ""),
        ("name: embeddings", "name: $NAME"),
        ("name: embeddings", "name: others"),  # KServe's own are not among the files
        (", namespace: search", ""),
        (", runtime: embeddings", ""),
        (", runtime: embeddings", ", runtime: $RUNTIME"),
        ("serving.kserve.io/v1beta1", "example.com/v1"),
    ],
)
def test_a_runtime_that_a_model_may_have_is_let_be(before: str, after: str) -> None:
    files = {"runtime.yaml": RUNTIME.replace("SPACE", "platform"), "model.yaml": MODEL}
    changed = {name: text.replace(before, after) for name, text in files.items()}
    assert files != changed

    assert of_runtimes(changed) == []


def test_kustomizations_of_runtimes_and_of_models_are_of_one_cluster() -> None:
    bare = {
        "runtimes/one.yaml": RUNTIME.replace(", namespace: SPACE", ""),
        "models/search/e5.yaml": MODEL.replace(", namespace: search", ""),
    }
    built = {
        "runtimes/kustomization.yaml": "namespace: platform\nresources: [one.yaml]\n",
        "models/search/kustomization.yaml": "namespace: search\nresources: [e5.yaml]\n",
    }

    assert len(of_runtimes({**bare, **built})) == 1
    one = {name: text.replace("platform", "search") for name, text in built.items()}
    assert of_runtimes({**bare, **one}) == []
