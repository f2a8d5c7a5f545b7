"""Replicas of Ray Serve, held against the nodes that Ray can have."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from linted import found

ACTOR = {"name": "model", "num_replicas": 2, "ray_actor_options": {"num_gpus": 1}}
MODEL = {
    "model_loading_config": {"model_id": "qwen"},
    "accelerator_type": "L40S",
    "engine_kwargs": {"tensor_parallel_size": 2, "pipeline_parallel_size": 2},
    "deployment_config": {"autoscaling_config": {"min_replicas": 1, "max_replicas": 8}},
}


def served(group: dict[str, Any], *actors: Any, scales: Any = True, models: Any = ()) -> list[str]:
    """The messages of GPU1382 about a RayService with one group of workers with a GPU each."""
    limits = {"resources": {"limits": {"nvidia.com/gpu": group.pop("gpus", 1)}}}
    main = {"name": "w", "image": group.pop("image", "own:1"), **limits}
    pod = {"containers": [main], "runtimeClassName": group.pop("runtime", None)}
    worker = {"rayStartParams": {}, "template": {"spec": pod}}
    application = {"name": "llm", "deployments": actors, "args": {"llm_configs": models}}
    value = {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": {"name": "llm"},
        "spec": {
            "serveConfigV2": "CONFIG",
            "rayClusterConfig": {
                "enableInTreeAutoscaling": scales,
                "headGroupSpec": {
                    "rayStartParams": {"num-gpus": "0"},
                    "template": {"spec": {"containers": [{"name": "h"}]}},
                },
                "workerGroupSpecs": [worker | group],
            },
        },
    }
    config = json.dumps({"applications": [application]})
    text = yaml.safe_dump(value).replace("CONFIG", f"|\n    {config}")
    given = found([("service.yaml", text)])
    return [each.message for each in given if each.code == "GPU1382"]


@pytest.mark.parametrize(
    ("group", "changes", "scales", "wrong"),
    [
        ({"maxReplicas": 1}, {}, True, True),
        ({"maxReplicas": 2}, {}, True, False),
        ({"maxReplicas": 1, "numOfHosts": 2}, {}, True, False),
        ({"maxReplicas": 1, "numOfHosts": "$N"}, {}, True, False),
        ({"maxReplicas": 1, "gpus": 2}, {}, True, False),
        ({"maxReplicas": 1, "gpus": "$N"}, {}, True, False),
        ({}, {}, True, False),
        ({"replicas": 2, "maxReplicas": 1}, {}, True, True),
        ({"replicas": 1, "maxReplicas": 4}, {}, False, True),
        ({"replicas": 1, "minReplicas": 2, "maxReplicas": 4}, {}, None, False),
        ({"replicas": "$N", "maxReplicas": 1}, {}, False, False),
        ({"maxReplicas": 4}, {}, None, True),
        ({"replicas": 0}, {"num_replicas": 1}, False, True),
        ({"minReplicas": 0}, {"num_replicas": 1}, False, True),
        ({"maxReplicas": 1}, {"num_replicas": "auto"}, True, False),
        ({"maxReplicas": 1}, {"num_replicas": None}, True, False),
        ({"maxReplicas": 1}, {"autoscaling_config": {"max_replicas": 2}}, True, False),
        ({"maxReplicas": 1}, {"autoscaling_config": {"min_replicas": 2}}, True, True),
        ({"maxReplicas": 1}, {"autoscaling_config": {"initial_replicas": 3}}, True, True),
        ({"maxReplicas": 1}, {"autoscaling_config": {"min_replicas": "$N"}}, True, False),
        ({"maxReplicas": 1}, {"ray_actor_options": {"num_gpus": 0.5}}, True, False),
        ({"maxReplicas": 1}, {"ray_actor_options": {"num_gpus": 0.75}}, True, True),
        ({"maxReplicas": 1}, {"ray_actor_options": {"num_gpus": "$N"}}, True, False),
    ],
)
def test_nodes_of_ray_have_gpus_for_all_replicas_from_the_start(
    group: dict[str, Any], changes: dict[str, Any], scales: Any, wrong: bool
) -> None:
    assert bool(served(dict(group), ACTOR | changes, scales=scales)) is wrong


@pytest.mark.parametrize(
    ("group", "changes", "wrong"),
    [
        ({"maxReplicas": 3}, {}, True),
        ({"maxReplicas": 4}, {}, False),
        ({"maxReplicas": 3, "image": "rayproject/ray:2.52.0-gpu"}, {}, True),
        ({"maxReplicas": 3, "runtime": "nvidia"}, {}, True),
        ({"gpus": 0}, {}, True),
        ({"gpus": 0, "image": "rayproject/ray:2.52.0-gpu"}, {}, False),
        ({"gpus": 0, "runtime": "nvidia"}, {}, False),
        ({"maxReplicas": 0}, {"accelerator_type": "TPU-V5P"}, False),
        ({"maxReplicas": 3}, {"engine_kwargs": {}}, False),
        ({"maxReplicas": 3}, {"engine_kwargs": {"tensor_parallel_size": 4}}, True),
        ({"maxReplicas": 3}, {"accelerator_type": "TPU-V5P"}, False),
        ({"maxReplicas": 3}, {"accelerator_type": "Intel-GAUDI"}, False),
        ({"maxReplicas": 3}, {"accelerator_type": "A100-80G"}, True),
        ({"maxReplicas": 3}, {"accelerator_type": None}, False),
        ({"maxReplicas": 3}, {"placement_group_config": {"bundles": [{"GPU": 1}]}}, False),
        ({"maxReplicas": 3}, {"accelerator_config": {"kind": "cpu"}}, False),
        ({"maxReplicas": 3}, {"deployment_config": {"num_replicas": 1}}, True),
        ({"maxReplicas": 3}, {"deployment_config": {}}, False),
    ],
)
def test_models_of_ray_serve_take_the_gpus_over_which_they_are_split(
    group: dict[str, Any], changes: dict[str, Any], wrong: bool
) -> None:
    assert bool(served(dict(group), models=[MODEL | changes])) is wrong


def test_replicas_of_all_deployments_are_counted_together_and_said_once() -> None:
    other = ACTOR | {"name": "embed", "num_replicas": 1}

    assert served({"maxReplicas": 3}, ACTOR, other) == []
    assert served({"maxReplicas": 2}, ACTOR, other, {"name": "ingress"}) == [
        (
            "The replicas of model and embed take 3 GPUs from the start, and Ray's nodes of the "
            "RayService llm have 2 at most."
        )
    ]
    [alone] = served({"maxReplicas": 2}, ACTOR | {"ray_actor_options": {"num_gpus": 2}})
    assert alone.startswith("The deployment model of")
