"""Fields of pods that stand in a container of KServe's, where nothing reads them."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

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
