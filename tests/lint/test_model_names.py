"""Names of models in queries of autoscalers, against the name by which the server has them."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: own}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: ARGS
          resources: {limits: {nvidia.com/gpu: 1}}
"""
SCALER = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: chat, namespace: own}
spec:
  scaleTargetRef: {name: chat}
  minReplicaCount: 1
  triggers:
    - type: prometheus
      metadata:
        serverAddress: http://prometheus.monitoring:9090
        threshold: "5"
        query: 'QUERY'
"""
MONITOR = """\
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: chat, namespace: own}
spec:
  selector: {matchLabels: {app: chat}}
  podMetricsEndpoints:
    - {port: http, metricRelabelings: [{targetLabel: model_name, replacement: own/big}]}
"""
QUERY = 'sum(vllm:num_requests_waiting{namespace="own",model_name="own/big"})'
SERVED = "[--model=own/big, --served-model-name=chat]"


def server(args: str, name: str = "chat") -> str:
    """A Deployment of vLLM."""
    return SERVER.replace("NAME", name).replace("ARGS", args)


def found(args: str = SERVED, query: str = QUERY, *more: str) -> list[str]:
    """What is said of a scaler of one."""
    texts = (server(args), SCALER.replace("QUERY", query), *more)
    said = found_in({f"{number}.yaml": text for number, text in enumerate(texts)})
    return [each.message for each in said if each.code == "GPU1242"]


@pytest.mark.parametrize(
    ("args", "name"),
    [
        (SERVED, "chat"),
        ("[--model, own/big, --served-model-name, chat, own/big]", "chat"),
        ("[--model=own/big, --served_model_name=chat, --tensor-parallel-size=$(GPUS)]", "chat"),
        ("[--model=own/other]", "own/other"),
        ("[own/big, --model=own/other]", "own/other"),
    ],
)
def test_a_query_is_for_the_name_that_the_server_has(args: str, name: str) -> None:
    (message,) = found(args)

    assert message == (
        "The query of trigger 0 of the ScaledObject chat is for the model own/big, and what it "
        f"scales serves {name}."
    )


@pytest.mark.parametrize(
    ("args", "query"),
    [
        ("[--model=own/big]", QUERY),
        ("[--model=own/small, --served-model-name, own/big, chat]", QUERY),
        (SERVED, QUERY.replace("own/big", "chat")),
        (SERVED, QUERY.replace('="own/big"', '=~"own/.*"')),
        (SERVED, QUERY.replace('="own/big"', '!="own/big"')),
        (SERVED, QUERY.replace("own/big", "$MODEL")),
        (SERVED, QUERY.replace("vllm:num_requests_waiting", "gateway_requests")),
        (SERVED, QUERY.replace("model_name", "base_model_name")),
        ("[--served-model-name=$(NAME), --model=own/other]", QUERY),
        ("[--model=own/other, $(MORE)]", QUERY),
        ("[--config=/etc/vllm.yaml, --served-model-name=chat]", QUERY),
        ("[own/other]", QUERY),  # where the command is the image's
    ],
)
def test_the_same_name_and_what_is_not_known_are_let_be(args: str, query: str) -> None:
    assert found(args, query) == []


def test_a_model_of_another_server_may_be_meant() -> None:
    assert found(SERVED, QUERY, server("[--model=own/big]", "big")) == []
    assert found(SERVED, QUERY, server("[--model=$(MODEL)]", "big")) == []
    assert len(found(SERVED, QUERY, server("[--model=own/small]", "small"))) == 1


def test_other_programs_have_other_labels() -> None:
    for other in ("lmsysorg/sglang:v0.5.2", "own/server:1"):
        texts = (server(SERVED).replace("vllm/vllm-openai:v0.11.0", other), SCALER)
        said = found_in({f"{n}.yaml": each.replace("QUERY", QUERY) for n, each in enumerate(texts)})
        assert not {each.code for each in said} & {"GPU1242", "GPU012"}


def test_a_monitor_may_write_the_label() -> None:
    assert found(SERVED, QUERY, MONITOR) == []
    assert len(found(SERVED, QUERY, MONITOR.replace("model_name", "model"))) == 1
