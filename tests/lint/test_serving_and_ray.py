"""vLLM's production stack, Ray, lists of metrics, containerd of distributions, pods that stay."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from foreign_objects import POOL
from foreign_reading import merged
from lint_corpus import found_in

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.readers.production_stack import ProductionStackReader
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts


def codes(**texts: str) -> list[str]:
    return [each.code for each in found_in({f"{name}.yaml": text for name, text in texts.items()})]


def values(engines: dict[str, Any] | None = None, **model: Any) -> dict[str, Any]:
    """Values of one model, with what is said of all."""
    given = {
        "name": "llama",
        "repository": "vllm/vllm-openai",
        "tag": "v0.11.0",
        "modelURL": "meta-llama/Llama-3.1-8B",
        "replicaCount": 1,
        "requestCPU": 4,
        "requestMemory": "16Gi",
        "requestGPU": 2,
        "vllmConfig": {"tensorParallelSize": 2},
        **model,
    }
    return {"servingEngineSpec": {**(engines or {}), "modelSpec": [given]}}


def text(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False)


def pods(value: object) -> list[Any]:
    """The specs of pods that values make."""
    reader = ProductionStackReader()
    (document,) = read_texts(text(value), "values.yaml").documents
    found = reader.read(document).items if reader.matches(document) else ()
    return [item.spec for item in found if isinstance(item, Workload)]


def one(value: object) -> Any:
    (spec,) = pods(value)
    return spec


def test_a_model_is_a_deployment() -> None:
    spec = one(values())
    (container,) = spec["containers"]

    assert container["image"] == "vllm/vllm-openai:v0.11.0"
    assert container["command"] == [
        *("vllm", "serve", "meta-llama/Llama-3.1-8B", "--tensor-parallel-size", "2")
    ]
    assert container["resources"] == {
        "requests": {"memory": "16Gi", "cpu": 4, "nvidia.com/gpu": 2},
        "limits": {"nvidia.com/gpu": 2},
    }
    assert container["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108
    assert (spec["tolerations"], spec["runtimeClassName"], spec["affinity"]) == ([], "nvidia", {})
    assert "hostIPC" not in spec
    assert "nodeName" not in spec


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (values(), 1),
        ({"vllm-stack": values()}, 1),
        ({"other": values()}, 0),
        (values({"enableEngine": True}), 1),
        (values({"enableEngine": False}), 0),
        (values(enabled=False), 0),
        (values(enabled=True), 1),
        (values(raySpec={"enabled": True}), 0),
        (values(raySpec={"enabled": False}), 1),
        ({"kind": "A", **values()}, 0),
        ({"servingEngineSpec": {"modelSpec": []}}, 0),
    ],
)
def test_which_models_are_served(value: dict[str, Any], count: int) -> None:
    assert len(pods(value)) == count


@pytest.mark.parametrize(
    ("model", "resources"),
    [
        ({"requestGPU": 0.5}, {}),
        ({"requestGPU": 0}, {}),
        ({"requestGPUType": "nvidia.com/mig-1g.5gb"}, {"nvidia.com/mig-1g.5gb": 2}),
        ({"limitMemory": "32Gi"}, {"memory": "32Gi", "nvidia.com/gpu": 2}),
        ({"resources": {"limits": {"a.b/c": 1}}}, {"a.b/c": 1}),
    ],
)
def test_what_a_model_is_limited_to(model: dict[str, Any], resources: dict[str, Any]) -> None:
    assert one(values(**model))["containers"][0]["resources"]["limits"] == resources


def test_a_model_without_tensor_parallelism_has_no_shared_memory() -> None:
    flags = {"extraArgs": ["--tensor-parallel-size", 2]}
    spec = one(values(vllmConfig=flags))

    assert spec["volumes"] == []
    assert spec["containers"][0]["command"][-2:] == ["--tensor-parallel-size", "2"]
    assert codes(values=text(values(vllmConfig=flags))) == ["GPU1237"]


ONE, OTHER = {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}


@pytest.mark.parametrize(
    ("engines", "model", "tolerations"),
    [
        ({"tolerations": [ONE]}, {}, [ONE]),
        ({}, {"tolerations": [OTHER]}, [OTHER]),
        ({"tolerations": [ONE]}, {"tolerations": [OTHER]}, [ONE, OTHER]),
        (
            {"tolerations": [ONE]},
            {"tolerations": [OTHER], "tolerationsPolicy": "override"},
            [OTHER],
        ),
        ({"tolerations": [ONE]}, {"tolerationsPolicy": "override"}, [ONE]),
    ],
)
def test_tolerations_of_all_and_of_one(
    engines: dict[str, Any], model: dict[str, Any], tolerations: list[Any]
) -> None:
    assert one(values(engines, **model))["tolerations"] == tolerations


@pytest.mark.parametrize(
    ("engines", "model", "name"),
    [
        ({"runtimeClassName": ""}, {}, ""),
        ({"runtimeClassName": "a"}, {"runtimeClassName": "b"}, "b"),
        ({}, {"runtimeClassName": ""}, ""),
    ],
)
def test_the_runtime_class_of_one_goes_over_that_of_all(
    engines: dict[str, Any], model: dict[str, Any], name: str
) -> None:
    assert one(values(engines, **model))["runtimeClassName"] == name


def test_what_else_a_model_says_of_its_pods() -> None:
    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
    required = {"nodeSelectorTerms": terms}
    inner = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    env = [{"name": "A", "value": "1"}]

    assert one(values(nodeSelectorTerms=terms))["affinity"] == inner
    assert one(values(nodeSelectorTerms=terms, affinity={"a": 1}))["affinity"] == {"a": 1}
    assert one(values(nodeSelectorTerms=terms, nodeName="node-1"))["affinity"] == {}
    assert one(values(nodeName="node-1"))["nodeName"] == "node-1"
    assert one(values(lmcacheConfig={"enablePD": True}))["hostIPC"] is True
    assert "hostIPC" not in one(values(lmcacheConfig={"enablePD": False}))
    assert one(values({"env": env}, env=env, lmcacheConfig={"cudaVisibleDevices": "3"}))[
        "containers"
    ][0]["env"] == [*env, *env, {"name": "CUDA_VISIBLE_DEVICES", "value": "3"}]
    assert one(values(extraVolumes=[{"name": "v"}], extraVolumeMounts=[{"name": "m"}]))["volumes"][
        0
    ] == {"name": "v"}


def test_what_is_filled_in_is_not_judged() -> None:
    assert codes(values=text(values(requestGPU="$GPUS"))) == []
    assert codes(values=text(values(tag="$TAG", requestGPU="$GPUS", vllmConfig="$CONFIG"))) == []
    assert codes(values=text(values({"env": "$ENV", "tolerations": "$T"}))) == []


def lines(value: object) -> list[tuple[str, str]]:
    """Codes, and the lines that they point to."""
    given = text(value)
    rows = given.splitlines()
    found = found_in({"values.yaml": given})
    return [(each.code, rows[(each.line or 1) - 1].strip(" -")) for each in found]


def test_findings_point_into_the_values() -> None:
    wrong = {"key": "a", "operator": "Exist"}
    split = values(name="a", requestGPU=1)
    env = [{"name": "A", "value": 1}]

    assert lines(split) == [("GPU1236", "name: a")]
    assert lines(values(requestGPU=1.5)) == [("GPU1114", "requestGPU: 1.5")]
    assert lines(values(replicaCount=1, repository="vllm/vllm-openai-cpu")) == [
        ("GPU1380", "tag: v0.11.0")
    ]
    assert lines(values({"tolerations": [wrong]})) == [("GPU1006", "operator: Exist")]
    assert lines(values({"tolerations": [ONE]}, tolerations=[wrong])) == [
        ("GPU1006", "operator: Exist")
    ]
    assert lines(values(tolerations=[ONE, wrong], tolerationsPolicy="override")) == [
        ("GPU1006", "operator: Exist")
    ]
    assert lines(values({"env": env})) == [("GPU1004", "value: 1")]
    assert lines(values({"env": [{"name": "B", "value": "b"}]}, env=env)) == [
        ("GPU1004", "value: 1")
    ]
    assert lines(values(lmcacheConfig={"cudaVisibleDevices": "3"}))[0][0] == "GPU1235"


FLUX = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease"}
ARGO = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
WRONG = values(requestGPU=1)


def argo(**helm: Any) -> dict[str, Any]:
    source = {"chart": "vllm-stack", "repoURL": "https://a.example", "helm": helm}
    return {**ARGO, "metadata": {"name": "a"}, "spec": {"source": source}}


def flux(**spec: Any) -> dict[str, Any]:
    chart = {"spec": {"chart": "vllm-stack"}}
    return {**FLUX, "metadata": {"name": "a"}, "spec": {"chart": chart, **spec}}


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (argo(valuesObject=WRONG), True),
        (argo(values=text(WRONG)), True),
        (argo(valuesObject=values()), False),
        (argo(valuesObject={"other": WRONG}), False),
        (argo(valuesObject={"tolerations": [{"key": "a", "operator": "Exist"}]}), False),
        (argo(values=text(WRONG), valueFiles=["more.yaml"]), False),
        (argo(valuesObject=WRONG, parameters=[{"name": "a", "value": "b"}]), False),
        (argo(values=""), False),
        (flux(values=WRONG), True),
        (flux(values=WRONG, valuesFrom=[{"kind": "ConfigMap", "name": "more"}]), False),
        (flux(), False),
    ],
)
def test_values_within_an_object_are_read_where_they_are_all(value: Any, wrong: bool) -> None:
    assert codes(a=text(value)) == (["GPU1236"] if wrong else [])


def made(value: object) -> Any:
    """The Deployment that values make."""
    (document,) = read_texts(text(value), "values.yaml").documents
    (item,) = ProductionStackReader().read(document).items
    return item


def test_a_deployment_is_called_by_its_model_and_not_written_to() -> None:
    item = made(values())

    assert item.source.name == "the Deployment of the model llama"
    assert made(values(name=None)).source.name == "the Deployment of a model"
    assert not item.source.document.editable
    assert item.source.document.value["spec"]["strategy"] == {
        "rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}
    }
    again = made(values({"strategy": {"type": "Recreate"}}))
    assert again.source.document.value["spec"]["strategy"] == {"type": "Recreate"}
    assert made(values(tag=None)).spec["containers"][0]["image"] is UNKNOWN


POD = ("spec", "template", "spec")
CONTAINER = (*POD, "containers", 0)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("spec", "replicas"), "replicaCount: 1"),
        (("spec", "strategy"), "name: llama"),
        (("metadata",), "name: llama"),
        ((*CONTAINER, "resources"), "requestGPU: 2"),
        ((*CONTAINER, "resources", "limits"), "requestGPU: 2"),
        ((*CONTAINER, "resources", "limits", "nvidia.com/gpu"), "requestGPU: 2"),
        ((*CONTAINER, "resources", "limits", "memory"), "limitMemory: 32Gi"),
        ((*CONTAINER, "resources", "requests", "memory"), "requestMemory: 16Gi"),
        ((*CONTAINER, "resources", "requests", "memory", "more"), "requestMemory: 16Gi"),
        ((*CONTAINER, "args"), "vllmConfig:"),
        ((*CONTAINER, "command", 1), "vllmConfig:"),
        ((*CONTAINER, "image"), "tag: v0.11.0"),
        ((*CONTAINER, "volumeMounts", 0, "name"), "name: data"),
        ((*POD, "runtimeClassName"), "runtimeClassName: a"),
        ((*POD, "tolerations"), "tolerations: []"),
        ((*POD, "nodeName"), "nodeName: here"),
        (
            (
                *(*POD, "affinity", "nodeAffinity"),
                *("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", 0),
                *("matchExpressions", 0, "key"),
            ),
            "key: zone",
        ),
    ],
)
def test_each_part_of_a_deployment_stands_in_the_values(path: Any, line: str) -> None:
    value = values(
        {"runtimeClassName": "a", "tolerations": []},
        limitMemory="32Gi",
        nodeName="here",
        extraVolumeMounts=[{"name": "data"}],
        nodeSelectorTerms=[{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}],
    )
    rows = text(value).splitlines()
    where = made(value).source.document.position(path)

    assert rows[where.line - 1].strip(" -") == line


def test_what_one_model_says_itself_is_pointed_at_there() -> None:
    value = values(
        {"runtimeClassName": "a"}, runtimeClassName="b", affinity={"podAffinity": {"c": "d"}}
    )
    rows = text(value).splitlines()
    position = made(value).source.document.position

    def line(*path: str | int) -> str:
        return str(rows[position((*POD, *path)).line - 1]).strip()

    assert line("runtimeClassName") == "runtimeClassName: b"
    assert line("affinity", "podAffinity", "c") == "c: d"
    resources = made(values(resources={"limits": {"a.b/c": 1}})).source.document
    assert resources.position((*CONTAINER, "resources", "limits", "a.b/c")).line == (
        1 + text(values(resources={"limits": {"a.b/c": 1}})).splitlines().index("        a.b/c: 1")
    )


def test_other_parts_of_the_values_are_read_as_before() -> None:
    router = {"routerSpec": {"tolerations": [{"key": "a", "operator": "Exist"}]}}

    assert codes(values=text({**values(), **router})) == ["GPU1006"]


RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo}
spec:
  enableInTreeAutoscaling: SCALES
  headGroupSpec:
    rayStartParams: {HEAD}
    template:
      spec:
        containers: [{name: head, image: "own:1", resources: {limits: {AT_HEAD}}}]
  workerGroupSpecs:
    - groupName: gpu
      MORE
      template:
        spec:
          containers: [{name: worker, image: "own:1", resources: {limits: {LIMITS}}}]
"""


def ray(
    more: str = "rayStartParams: {}",
    limits: str = "nvidia.com/gpu: 1",
    head: str = "",
    at_head: str = "cpu: 1",
    scales: str = "true",
) -> str:
    made = RAY.replace("AT_HEAD", at_head).replace("MORE", more).replace("LIMITS", limits)
    return made.replace("HEAD", head).replace("SCALES", scales)


def told(number: str) -> str:
    return f"rayStartParams: {{num-gpus: {number}}}"


SEEING = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo}
spec:
  headGroupSpec:
    rayStartParams: {PARAMS}
    template:
      spec:
        nodeSelector: {SELECTED}
        MORE
        containers:
          - {name: head, image: "IMAGE", env: [ENV], FROM, resources: {limits: {LIMITS}}}
"""


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, True),
        ({"SELECTED": "beta.kubernetes.io/instance-type: g5.12xlarge"}, True),
        ({"IMAGE": "docker.io/rayproject/ray-ml:2.9.0-py310-cu121"}, True),
        ({"PARAMS": 'num-gpus: "0"'}, False),
        ({"SELECTED": "node.kubernetes.io/instance-type: m6i.large"}, False),
        ({"SELECTED": "node.kubernetes.io/instance-type: $TYPE"}, False),
        ({"SELECTED": "team: a"}, False),
        ({"IMAGE": "rayproject/ray:2.40.0"}, False),
        ({"IMAGE": "own/ray:2.40.0-gpu"}, False),
        ({"ENV": "{name: NVIDIA_VISIBLE_DEVICES, value: void}"}, False),
        ({"ENV": "{name: CUDA_VISIBLE_DEVICES, value: ''}"}, False),
        ({"ENV": "{name: A, value: $A}"}, False),
        ({"FROM": "envFrom: [{configMapRef: {name: a}}]"}, False),
        ({"LIMITS": "nvidia.com/gpu: 1"}, False),
        ({"LIMITS": "nvidia.com/gpu: $N"}, False),
        ({"MORE": "resourceClaims: [{name: a, resourceClaimName: b}]"}, False),
    ],
)
def test_a_head_that_asks_for_no_gpu_sees_none(changes: dict[str, str], wrong: bool) -> None:
    given = {
        "PARAMS": "dashboard-host: 0.0.0.0",
        "SELECTED": "node.kubernetes.io/instance-type: g5.12xlarge",
        "MORE": "dnsPolicy: Default",
        "IMAGE": "rayproject/ray:2.40.0-gpu",
        "ENV": "",
        "FROM": "tty: false",
        "LIMITS": "cpu: 1",
        **changes,
    }
    text = SEEING
    for key, value in given.items():
        text = text.replace(key, value)

    assert ("GPU1382" in codes(a=text)) is wrong


def test_a_container_beside_the_first_is_not_of_ray() -> None:
    text = SEEING.replace("containers:", "containers:\n          - {name: own, image: own:1}")
    given = {
        "PARAMS": "a: b",
        "SELECTED": "node.kubernetes.io/instance-type: g5.12xlarge",
        "MORE": "dnsPolicy: Default",
        "IMAGE": "rayproject/ray:2.40.0-gpu",
        "ENV": "",
        "FROM": "tty: false",
        "LIMITS": "cpu: 1",
    }
    for key, value in given.items():
        text = text.replace(key, value)

    assert "GPU1382" not in codes(a=text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (ray(), False),
        (ray(told('"1"')), False),
        (ray(told('"0.5"')), True),
        (ray(told('".5"'), "cpu: 1"), True),
        (ray(told('"2"')), True),
        (ray(told('"0"')), True),
        (ray(told('"2"'), "cpu: 1"), False),
        (ray(told("$N")), False),
        (ray(f'{told(chr(34) + "2" + chr(34))}\n      resources: {{GPU: "2"}}'), False),
        (ray(told('"2"'), "nvidia.com/gpu: $N"), False),
        (ray(head='num-gpus: "0"', at_head="nvidia.com/gpu: 1"), False),
        (ray(told('"1"'), "cpu: 4").replace("own:1", "rayproject/ray:2.46.0-gpu"), True),
        (ray(told('"0"'), "cpu: 4").replace("own:1", "rayproject/ray:2.46.0-gpu"), False),
        (ray(told('"1"'), "a.b/gpu: 1").replace("own:1", "rayproject/ray:2.46.0-gpu"), False),
        (
            ray(told('"1"'), "cpu: 4")
            .replace("own:1", "rayproject/ray:2.46.0-gpu")
            .replace(
                "          containers: [{name: worker",
                "          initContainers: [{name: a, image: busybox}]\n"
                "          containers: [{name: worker",
            ),
            True,
        ),
        (
            ray(told('"1"'), "cpu: 4").replace(
                "own:1", 'rayproject/ray:2.46.0-gpu", envFrom: [{secretRef: {name: a}}], x: "'
            ),
            False,
        ),
        (ray(head='num-gpus: "2"', at_head="nvidia.com/gpu: 1"), True),
        (ray(limits="nvidia.com/gpu.shared: 1"), True),
        (ray(limits="nvidia.com/gpu.shared: 1", scales="false"), False),
        (ray(told('"1"'), "nvidia.com/gpu.shared: 1"), False),
        (ray(at_head="nvidia.com/gpu.shared: 1"), False),
        (ray(told('"2"')).replace("RayCluster", "Cluster"), False),
        (ray("rayStartParams: $PARAMS"), False),
        (ray(""), False),
    ],
)
def test_ray_is_told_of_as_many_gpus_as_there_are(text: str, wrong: bool) -> None:
    assert codes(a=text) == (["GPU1382"] if wrong else [])


def test_a_number_is_wrong_whatever_the_container_gets() -> None:
    (found,) = found_in({"a.yaml": ray(told('"0.5"'), "nvidia.com/gpu: $N")})

    assert found.line == 13


@pytest.mark.parametrize(
    "more",
    [
        "runtimeClassName: nvidia",
        "resourceClaims: [{name: a, resourceClaimName: b}]",
        "hostNetwork: $HOST",
    ],
)
def test_a_container_that_may_get_a_gpu_otherwise(more: str) -> None:
    text = ray(told('"1"'), "cpu: 4").replace("own:1", "rayproject/ray:2.46.0-gpu")
    (at_worker,) = [line for line in text.splitlines() if "{name: worker" in line]

    assert codes(a=text) == ["GPU1382"]
    assert codes(a=text.replace(at_worker, f"          {more}\n{at_worker}")) == []


@pytest.mark.parametrize(
    ("limits", "message", "fix"),
    [
        ("nvidia.com/gpu: 1", "and its container gets 1.", "Remove num-gpus: KubeRay"),
        ("cpu: 4", "its container asks for none: it has", "Write limits: {nvidia.com/gpu: 2}"),
    ],
)
def test_what_is_said_of_a_number_unlike_the_containers(
    limits: str, message: str, fix: str
) -> None:
    text = ray(told('"2"'), limits).replace("own:1", "rayproject/ray:2.46.0-gpu")
    (file,) = lint_files([GivenFile("a.yaml", text)])
    (found,) = [each for each in file.findings if each.code == "GPU1382"]

    assert message in found.message
    assert found.fix.startswith(fix)


def test_who_is_told_wrongly_is_said() -> None:
    (worker,) = found_in({"a.yaml": ray(told('"0.5"'))})
    (unnamed,) = found_in({"a.yaml": ray(told('"2"')).replace("groupName: gpu", "x: y")})
    (head,) = found_in({"a.yaml": ray(head='num-gpus: "2"', at_head="nvidia.com/gpu: 1")})

    assert worker.message == (
        "The worker group gpu of the RayCluster demo has num-gpus 0.5, which neither ray start nor "
        "the autoscaler takes."
    )
    assert unnamed.message.startswith("A worker group of the RayCluster demo has num-gpus 2")
    assert head.message.startswith("The head of the RayCluster demo has num-gpus 2")


CHART = """\
head:
  rayStartParams: {num-gpus: "0"}
  resources: {limits: {AT_HEAD}}
worker:
  rayStartParams: PARAMS
  resources: {limits: {nvidia.com/gpu: 1}}
additionalWorkerGroups:
  more:
    rayStartParams: {num-gpus: "1"}
    resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize(
    ("params", "at_head", "wrong"),
    [
        ('{num-gpus: "2"}', "cpu: 1", True),
        ('{num-gpus: "0"}', "cpu: 1", True),
        ('{num-gpus: "1"}', "nvidia.com/gpu: 1", False),
        ("{}", "cpu: 1", False),
        ("$PARAMS", "cpu: 1", False),
    ],
)
def test_values_of_rays_chart_are_judged_too(params: str, at_head: str, wrong: bool) -> None:
    value = CHART.replace("PARAMS", params).replace("AT_HEAD", at_head)
    found = found_in({"values.yaml": value})

    assert [each.code for each in found] == (["GPU1382"] if wrong else [])
    assert [each.line for each in found] == ([5] if wrong else [])


SERVE = """\
apiVersion: ray.io/v1
kind: RayService
metadata: {name: llm}
spec:
  serveConfigV2: |
    applications:
      - name: llm
        deployments:
          - {name: model, ray_actor_options: {num_gpus: WANTED}}
  rayClusterConfig:
"""


def serve(wanted: str, cluster: str) -> str:
    inner = cluster[cluster.index("  enableIn") :].replace("\n", "\n  ").rstrip()
    return SERVE.replace("WANTED", wanted) + "  " + inner + "\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (serve("2", ray()), True),
        (serve("1", ray()), False),
        (serve("0.5", ray()), False),
        (serve("2", ray(told('"2"'), "nvidia.com/gpu: 2")), False),
        (serve("2", ray(told('"2"'), "cpu: 1")), False),
        (serve("2", ray(at_head="nvidia.com/gpu: 2")), False),
        (serve("2", ray(limits="nvidia.com/gpu: $N")), False),
        (serve("2", ray().replace("{limits: {nvidia.com/gpu: 1}}", "$R")), False),
        (
            serve("2", ray().replace("{limits: {nvidia.com/gpu: 1}}}", "$R}, {name: s}")),
            False,
        ),
        (serve("2", ray()).replace("      template:", "      x:"), False),
        (serve("2", ray()).replace("serveConfigV2", "other"), False),
        (serve("2", ray()).replace("ray_actor_options", "others"), False),
    ],
)
def test_an_actor_asks_for_no_more_than_a_node_of_ray_has(text: str, wrong: bool) -> None:
    assert codes(a=text) == (["GPU1382"] if wrong else [])


ENTRY = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: embed, namespace: ml}
spec:
  entrypoint: python embed.py
  entrypointNumGpus: WANTED
"""


def entered(wanted: str, cluster: str) -> str:
    """A job with a cluster of its own."""
    inner = cluster[cluster.index("  enableIn") :].replace("\n", "\n  ").rstrip()
    return ENTRY.replace("WANTED", wanted) + "  rayClusterSpec:\n  " + inner + "\n"


def chosen(wanted: str, name: str, space: str = "ml") -> str:
    """A job on a cluster that stands."""
    text = ENTRY.replace("WANTED", wanted).replace("namespace: ml", f"namespace: {space}")
    return f"{text}  clusterSelector: {{ray.io/cluster: {name}}}\n"


STANDING = ray().replace("{name: demo}", "{namespace: ml, name: demo}")


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ((entered("2", ray()),), True),
        ((entered("1", ray()),), False),
        ((entered("$N", ray()),), False),
        ((entered("1.5", ray()),), False),
        ((entered("2", ray(told('"2"'), "nvidia.com/gpu: 2")),), False),
        ((entered("2", ray(limits="nvidia.com/gpu: $N")),), False),
        ((entered("2", ray()).replace("ray.io/v1", "example.com/v1"),), False),
        ((chosen("2", "demo"), STANDING), True),
        ((chosen("1", "demo"), STANDING), False),
        ((chosen("2", "other"), STANDING), False),
        ((chosen("2", "demo", "other"), STANDING), False),
        (
            (chosen("2", "demo", "$SPACE"), STANDING.replace("namespace: ml", "namespace: $B")),
            False,
        ),
        ((chosen("2", "$NAME"), STANDING.replace("name: demo", "name: $OTHER")), False),
        ((chosen("2", "demo"), STANDING, STANDING.replace("gpu: 1", "gpu: 2")), False),
        ((chosen("2", "demo"),), False),
        ((entered("2", ray()) + "  clusterSelector: {ray.io/cluster: other}\n",), False),
        ((entered("2", ray()).replace("rayClusterSpec", "other"), STANDING), False),
    ],
)
def test_an_entry_point_asks_for_no_more_than_a_node_of_ray_has(
    texts: tuple[str, ...], wrong: bool
) -> None:
    assert codes(**dict(zip("abc", texts, strict=False))) == (["GPU1382"] if wrong else [])


def of_kuberay(path: str, parallel: str) -> str:
    """KubeRay's sample of vLLM, whose replicas ask for GPUs by a variable."""
    more = f"import_path: {path}\n        runtime_env: {{env_vars: {{{parallel}}}}}"
    actors = "ray_actor_options: {num_cpus: 8}"
    given = serve("2", ray()).replace("ray_actor_options: {num_gpus: 2}", actors)
    return given.replace("- name: llm\n", f"- name: llm\n        {more}\n")


@pytest.mark.parametrize(
    ("path", "parallel", "wrong"),
    [
        ("ray-operator.config.samples.vllm.serve:model", 'TENSOR_PARALLELISM: "2"', True),
        ("ray-operator.config.samples.vllm.serve:model", 'TENSOR_PARALLELISM: "1"', False),
        ("ray-operator.config.samples.vllm.serve:model", "TENSOR_PARALLELISM: $TP", False),
        ("ray-operator.config.samples.vllm.serve:model", 'PIPELINE_PARALLELISM: "2"', False),
        ("mine.serve:model", 'TENSOR_PARALLELISM: "2"', False),
    ],
)
def test_kuberays_sample_asks_for_gpus_by_a_variable(path: str, parallel: str, wrong: bool) -> None:
    assert codes(a=of_kuberay(path, parallel)) == (["GPU1382"] if wrong else [])


LIST = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: metrics}
data:
  dcgm-metrics.csv: |
    # field, type, text
    DCGM_FI_DEV_GPU_UTIL, gauge, utilization
    LINE
"""


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("DCGM_FI_DEV_FB_USED, gauge, used", ""),
        ("DCGM_FI_DEV_FB_USED,gauge,used", ""),
        ("DCGM_FI_DEV_FB_USED , label, used", ""),
        ("DCGM_FI_DEV_FB_USED, gauge, used, in MiB", "has 4 fields"),
        ("DCGM_FI_DEV_FB_USED, gauge", "has 2 fields"),
        ("DCGM_FI_DEV_FB_USED", "has 1 fields"),
        ('DCGM_FI_DEV_FB_USED, gauge,"used, in MiB"', ""),
        ('DCGM_FI_DEV_FB_USED, gauge,"used, ""all"""', ""),
        ('DCGM_FI_DEV_FB_USED, gauge, "used, in MiB"', "has a quote within a field"),
        ('DCGM_FI_DEV_FB_USED, gauge,"used" in MiB', "has a quote within a field"),
        ('DCGM_FI_DEV_FB_USED, gauge,"used,"', ""),
        ('DCGM_FI_DEV_FB_USED, gauge,"used', ""),
        ("DCGM_FI_DEV_FB_USED, guage, used", "has the type guage"),
        ("DCGM_FI_DEV_FB_USED, , used", "has no type"),
        ("DCGM_EXP_XID_ERRORS_COUNT, any, used", ""),
        ("  # a comment", "is no comment"),
        ("{{ .Values.more }}", ""),
        ("#DCGM_FI_DEV_FB_USED, gauge, used, in MiB", ""),
    ],
)
def test_a_list_of_metrics_is_read_as_the_exporter_reads_it(line: str, wrong: str) -> None:
    found = found_in({"a.yaml": LIST.replace("LINE", line)})

    assert [each.code for each in found] == (["GPU1381"] if wrong else [])
    assert all(f"Line 3 of dcgm-metrics.csv of the ConfigMap metrics {wrong}" in each.message for each in found)  # fmt: skip  # noqa: E501


def test_a_line_of_blanks_is_one() -> None:
    text = LIST.replace("    LINE", "    \n    DCGM_FI_DEV_FB_USED, gauge, used").replace(
        "dcgm-metrics.csv: |\n", "dcgm-metrics.csv: |\n    DCGM_FI_A, gauge, a\n      \n"
    )

    assert codes(a=text) == ["GPU1381"]


@pytest.mark.parametrize("line", ["other, text", "a: DCGM_FI_DEV_FB_USED, gauge, a, b"])
def test_another_text_is_no_list_of_metrics(line: str) -> None:
    text = LIST.replace("LINE", f"{line}\n    {line}")

    assert codes(a=text) == []


@pytest.mark.parametrize(
    ("chart", "given"),
    [
        ("dcgm-exporter", "customMetrics: '%s'"),
        ("gpu-operator", "dcgmExporter: {config: {name: m, create: true, data: '%s'}}"),
        ("nvidia-device-plugin", None),
    ],
)
def test_charts_are_given_such_lists(chart: str, given: str | None) -> None:
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n"
        f"  source:\n    chart: {chart}\n    repoURL: https://nvidia.github.io/a\n"
        "    targetRevision: 4.0.0\n    helm:\n      valuesObject: {VALUES}\n"
    )
    wrong, right = ((given or "gfd: {enabled: true}").replace("%s", line) for line in ("DCGM_FI_A, gauge", "DCGM_FI_A, gauge, a"))  # fmt: skip  # noqa: E501

    assert ("GPU1381" in codes(a=application.replace("VALUES", wrong))) == (given is not None)
    assert "GPU1381" not in codes(a=application.replace("VALUES", right))


K3S = """\
apiVersion: GROUP/v1
kind: HelmChart
metadata: {name: gpu-operator, namespace: kube-system}
spec:
  chart: gpu-operator
  targetNamespace: gpu-operator
  KEY
"""
SOCKET = "{name: CONTAINERD_SOCKET, value: /run/k3s/containerd/containerd.sock}"


def k3s(env: str | None, more: str = "", group: str = "helm.cattle.io", key: str = "") -> str:
    inner = "{}" if env is None else f"{{toolkit: {{{more}env: [{env}]}}}}"
    content = key.replace("%s", inner) if key else f"valuesContent: |-\n    {inner}"
    return K3S.replace("GROUP", group).replace("KEY", content)


def config(path: str) -> str:
    return f"{{name: CONTAINERD_CONFIG, value: {path}}}"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (k3s(None), True),
        (k3s(SOCKET), False),
        (k3s(SOCKET.replace("/run", "/var/run")), False),
        (k3s(SOCKET.replace("/run", "unix:///run")), False),
        (k3s(SOCKET.replace("k3s/", "")), True),
        (k3s("", "enabled: false, "), False),
        (k3s(None).replace("{}", "cdi: {nriPluginEnabled: true}"), False),
        (k3s(None).replace("{}", "cdi: {nriPluginEnabled: false}"), True),
        (k3s(SOCKET.replace("/run/k3s/containerd/containerd.sock", "$SOCKET")), False),
        (k3s(f"{SOCKET}, {config('/etc/containerd/config.toml')}"), True),
        (k3s(f"{SOCKET}, {config('/var/lib/rancher/k3s/agent/etc/containerd/a')}"), False),
        (k3s(f"{SOCKET}, {config('/data/k3s/agent/etc/containerd/a')}"), False),
        (k3s(None).replace("gpu-operator\n  target", "other\n  target"), False),
    ],
)
def test_the_toolkit_is_told_of_the_containerd_of_the_nodes(text: str, wrong: bool) -> None:
    assert ("GPU1384" in codes(a=text)) == wrong


VALUES = "# Values of gpu-operator\ndriver: {enabled: false}\ntoolkit: {env: [ENV]}\n"
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {}}
status: {nodeInfo: {kubeletVersion: VERSION}}
"""


@pytest.mark.parametrize(
    ("env", "wrong"),
    [
        ("", False),
        (config("/etc/containerd/config.toml"), False),
        (SOCKET, False),
        (f"{SOCKET}, {config('/etc/containerd/config.toml')}", True),
        (config("/var/lib/rancher/rke2/agent/etc/containerd/config.toml.tmpl"), True),
        (config("/var/snap/microk8s/current/args/containerd-template.toml"), True),
        (config("/etc/k0s/containerd.d/nvidia.toml"), True),
        (f"{config('/etc/k0s/a.toml')}, {SOCKET.replace('k3s/containerd', 'k0s')}", False),
    ],
)
def test_values_may_contradict_themselves(env: str, wrong: bool) -> None:
    assert codes(values=VALUES.replace("ENV", env)) == (["GPU1384"] if wrong else [])


@pytest.mark.parametrize(
    ("version", "wrong"),
    [
        ("v1.34.1+k3s1", True),
        ("v1.34.1+rke2r1", True),
        ("v1.34.1-eks-1", False),
    ],
)
def test_nodes_say_which_distribution_they_are_of(version: str, wrong: bool) -> None:
    found = codes(nodes=NODE.replace("VERSION", version), values=VALUES.replace("ENV", ""))

    assert ("GPU1384" in found) == wrong


def test_on_eks_the_controller_of_charts_says_nothing() -> None:
    group = (
        "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n"
        "metadata: {name: a, region: us-east-1}\n"
        "managedNodeGroups: [{name: gpu, instanceType: g5.xlarge}]\n"
    )

    assert "GPU1384" not in codes(all=f"{k3s(None)}---\n{group}")


def test_the_policy_is_named() -> None:
    (named,) = (each for each in found_in({"a.yaml": text(MOVED)}) if each.code == "GPU1079")
    default = merged(POOL, spec__disruption=...)
    (other,) = (each for each in found_in({"a.yaml": text(default)}) if each.code == "GPU1079")

    assert named.message.startswith("With WhenEmptyOrUnderutilized Karpenter moves")
    assert other.message.startswith("With WhenEmptyOrUnderutilized, its default, Karpenter moves")


def test_a_socket_that_is_missing_may_be_told_elsewhere() -> None:
    (found,) = found_in({"a.yaml": k3s(None)})

    assert found.message == (
        "The release gpu-operator of gpu-operator has no CONTAINERD_SOCKET, and K3s and RKE2 have "
        "theirs at /run/k3s/containerd/containerd.sock."
    )


MOVED = merged(POOL, spec__disruption__consolidationPolicy="WhenEmptyOrUnderutilized")
STAYS = {"karpenter.sh/do-not-disrupt": "true"}
GPU_POD = """\
apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec:
  template:
    metadata: {annotations: {ANNOTATIONS}}
    spec:
      containers: [{name: a, image: "own:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""
DO_NOT = 'karpenter.sh/do-not-disrupt: "true"'


def job(name: str, annotations: str) -> str:
    return GPU_POD.replace("NAME", name).replace("ANNOTATIONS", annotations)


@pytest.mark.parametrize(
    ("pool", "wrong"),
    [
        (MOVED, True),
        (POOL, False),
        (merged(POOL, spec__disruption__consolidationPolicy=...), True),
        (merged(POOL, spec__disruption=...), True),
        (
            merged(
                POOL,
                spec__disruption={
                    "consolidationPolicy": "Balanced",
                    "consolidateAfter": "1m",
                    "budgets": [{"nodes": "1"}],
                },
            ),
            True,
        ),
        (merged(MOVED, spec__disruption__budgets=[{"nodes": "0"}]), False),
        (merged(MOVED, spec__disruption__consolidateAfter="Never"), False),
        (merged(MOVED, spec__replicas=2), False),
        (merged(MOVED, spec__disruption="$DISRUPTION"), False),
        (merged(MOVED, spec__template__metadata__annotations=STAYS), False),
        (merged(MOVED, spec__template__metadata__annotations={"a": "true"}), True),
    ],
)
def test_pods_on_gpus_are_moved_or_stay(pool: dict[str, Any], wrong: bool) -> None:
    found = [code for code in codes(a=text(pool)) if code == "GPU1079"]

    assert found == (["GPU1079"] if wrong else [])


@pytest.mark.parametrize(
    ("jobs", "wrong"),
    [
        ([job("a", DO_NOT)], False),
        ([job("a", DO_NOT), job("b", DO_NOT)], False),
        ([job("a", DO_NOT), job("b", "")], True),
        ([job("a", "a: b")], True),
        ([job("a", 'karpenter.sh/do-not-disrupt: "$STAYS"')], False),
        ([job("a", DO_NOT).replace("nvidia.com/gpu", "cpu")], True),
    ],
)
def test_pods_may_say_that_they_stay(jobs: list[str], wrong: bool) -> None:
    found = codes(all="---\n".join([text(MOVED), *jobs]))

    assert ("GPU1079" in found) == wrong


FOUND = 'k8s.io/cluster-autoscaler/enabled: "true"'
TOLD = "k8s.io/cluster-autoscaler/node-template/label/"
GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: lab, region: us-east-1, version: "1.35"}
nodeGroups:
  - name: gpu
    instanceType: g5.xlarge
    minSize: 0
    maxSize: 2
    MORE
    taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
"""


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ("", True),
        ("desiredCapacity: 0", True),
        ("desiredCapacity: 1", False),
        ("desiredCapacity: $N", True),
        ("desiredCapacity: 1\n    iam: {withAddonPolicies: {autoScaler: true}}", True),
        ("desiredCapacity: 1\n    iam: {withAddonPolicies: {autoScaler: false}}", False),
        ('desiredCapacity: 1\n    tags: {k8s.io/cluster-autoscaler/enabled: "true"}', True),
        ('desiredCapacity: 1\n    tags: {team: "a"}', False),
        (f"labels: {{a: b}}\n    tags: {{{FOUND}}}", True),
        (f"labels: {{a: b}}\n    tags: {{{FOUND}, {TOLD}a: b}}", False),
        (f"labels: {{a: b}}\n    tags: {{{FOUND}, {TOLD}c: d}}", True),
        (f"labels: {{a: b}}\n    tags: {{{TOLD}c: d}}", False),
    ],
)
def test_a_group_that_starts_with_nodes_is_emptied_by_an_autoscaler(more: str, wrong: bool) -> None:
    found = codes(a=GROUP.replace("MORE", more))

    assert [code for code in found if code == "GPU1073"] == (["GPU1073"] if wrong else [])
