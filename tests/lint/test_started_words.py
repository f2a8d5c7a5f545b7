"""What is said of commands, variables, volumes and runtimes, where, and where nothing is."""

from __future__ import annotations

import pytest
from linted import every
from started_scenes import (
    CHART,
    CLAIM,
    FALCON,
    FARGATE,
    FEATURES,
    MOUNTED,
    NAMED,
    ON_G6,
    PLUGIN,
    RUNTIME,
    SCALER,
    SERVED,
    SHELL,
    group,
    pod,
    said,
)

from eks_gpushare.manifests.checks.programs.model_sizes import weights_gib

OWN = "own:1"
CLUSTER = f"{group()}    volumeEncrypted: true\n"


def told(code: str, *texts: str) -> list[tuple[str, str, str]]:
    """Path, message and fix of each finding of a code, of files side by side."""
    files = ((f"{index}.yaml", text) for index, text in enumerate(texts))
    return [(found.path, found.message, found.fix) for found in every(files) if found.code == code]


CONTAINER = "spec.template.spec.containers[0]"
LONG = "python3 -m vllm.entrypoints.openai.api_server --model m"


@pytest.mark.parametrize(
    ("container", "path", "message"),
    [
        (
            f'command: ["{LONG}"]',
            "command[0]",
            f'The Deployment llm has the command "{LONG[:40]}..." in one word',
        ),
        (
            'command: ["python a.py"]',
            "command[0]",
            'The Deployment llm has the command "python a.py" in one word',
        ),
        (
            'command: ["/bin/sh", "-c", "vllm", "serve"]\n          args: ["m", "--port=1"]',
            "command",
            "The Deployment llm has /bin/sh -c run vllm alone: serve m --port=1 is lost.",
        ),
        (
            'args: ["sh", "-c", "vllm", "serve"]',
            "args",
            "The Deployment llm has sh -c run vllm alone: serve is lost.",
        ),
        (
            'args: ["--model=m", "--port 1"]',
            "args[1]",
            'The Deployment llm has "--port 1" in one word, and there is no option of that name.',
        ),
    ],
)
def test_a_line_is_shown_with_its_place(container: str, path: str, message: str) -> None:
    found = told("GPU1386", pod(container))

    assert [each[0] for each in found] == [f"{CONTAINER}.{path}"]
    assert found[0][1].startswith(message)


def test_a_line_of_forty_letters_is_shown_whole() -> None:
    line = "python " + "a" * 33

    (found,) = told("GPU1386", pod(f'command: ["{line}"]'))

    assert f'"{line}" in one word' in found[1]


def test_variables_are_named_with_what_is_meant() -> None:
    (found,) = told("GPU1387", pod('env: [{name: DCGM_EXPORTER_LISTEN, value: "9400"}]'))

    assert found[0] == f"{CONTAINER}.env[0].value"
    assert found[1].endswith("sets DCGM_EXPORTER_LISTEN to 9400, which is no address to listen at.")
    assert found[2] == 'Write ":9400".'


@pytest.mark.parametrize(
    "container",
    [
        "env: [{name: NCCL_SOCKET_IFNAME, valueFrom: {fieldRef: {fieldPath: a}}}]",
        'env: [{name: NCCL_SOCKET_IFNAME, value: "^$(NET),eth"}]',
        'env: [{name: NCCL_SOCKET_IFNAME, value: ""}]',
        'env: [{name: NCCL_DEBUG, value: "ens5"}]',
    ],
)
def test_values_that_are_not_known_are_not_judged(container: str) -> None:
    assert told("GPU1387", pod(container)) == []


def test_pods_with_further_interfaces_are_not_judged() -> None:
    more = ", example.com/rdma: 1"
    env = 'env: [{name: NCCL_SOCKET_IFNAME, value: "ens5"}]'

    assert told("GPU1387", pod(env, limits=more)) == []
    assert len(told("GPU1387", pod(env, limits=", vpc.amazonaws.com/efa: 1"))) == 1
    plain = pod(env).replace("labels: {app: llm}}", "labels: {app: llm}, annotations: {a: b}}")
    assert len(told("GPU1387", plain)) == 1


def test_what_the_exporter_listens_at_needs_no_gpu() -> None:
    env = 'env: [{name: NVIDIA_DRIVER_CAPABILITIES, value: "utility"}]'
    line = f'args: ["-c:v", "hevc_nvenc"]\n          {env}'

    assert len(told("GPU1387", pod(line, image=OWN))) == 1
    assert told("GPU1387", pod(line, image=OWN, gpus=0)) == []


def claim(mode: str = "[ReadWriteOnce]", storage: str = "storageClassName: gp3,") -> str:
    text = CLAIM.replace("[MODE]", mode).replace("CLASS", storage)
    return text.replace("SIZE", "200Gi")


def three(spec: str = ON_G6, gpus: int = 1) -> str:
    return pod(SHELL, image=OWN, spec=spec, replicas=3, gpus=gpus)


def test_a_volume_is_told_with_how_many_pods_there_are() -> None:
    ((path, message, _),) = told("GPU1388", three(), claim())

    assert path == "spec.template.spec.volumes[0]"
    assert message == (
        "The Deployment llm has up to 3 pods, a node has GPUs for 1 of them, and the "
        "PersistentVolumeClaim models is attached to one node."
    )
    two = told("GPU1388", three(gpus=2), claim())
    assert "a node has too few GPUs for one, and" in two[0][1]
    apart = """affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
        {topologyKey: KEY, labelSelector: {matchLabels: {app: llm}}}]}}
      """
    assert (
        "GPUs for 1 of them"
        in told(
            "GPU1388", three(f"{apart}{MOUNTED}".replace("KEY", "kubernetes.io/hostname")), claim()
        )[0][1]
    )
    zones = f"{apart}{MOUNTED}".replace("KEY", "topology.kubernetes.io/zone")
    assert told("GPU1388", three(zones), claim()) == []


@pytest.mark.parametrize(
    "texts",
    [
        (three(), claim("[ReadWriteOnce, ReadWriteMany]")),
        (three(), claim("[]")),
        (three(), claim().replace("name: models", "name: others")),
        (three(), claim().replace("namespace: ml", "namespace: other")),
        (three(), claim(storage="")),  # by a default that nobody says
        (three(ON_G6.replace("g6.2xlarge", "x9.large")), claim()),
        (three(), claim(), CLUSTER),  # on no node that is here
        (three(ON_G6.replace("persistentVolumeClaim: {claimName: models}", "emptyDir: {}")),),
        (three(), claim(storage='storageClassName: "",'), CLUSTER),
        (pod(SHELL, image=OWN, spec=ON_G6), claim(), SCALER.replace("name: llm}", "name: a}")),
    ],
)
def test_volumes_of_several_nodes_or_of_no_known_kind_are_not_judged(
    texts: tuple[str, ...],
) -> None:
    many = [text.replace("MOST", "5").replace("METRIC", "cpu") for text in texts]

    assert told("GPU1388", *many) == []


def test_the_class_of_eks_is_that_of_ebs() -> None:
    spec = f"tolerations: [{{operator: Exists}}]\n      {MOUNTED}"

    assert len(told("GPU1388", three(spec), claim(storage=""), CLUSTER)) == 1
    other = CLUSTER.replace("g4dn.xlarge", "g4dn.12xlarge")
    assert told("GPU1388", three(spec), claim(storage=""), other) == []
    both = claim("[ReadWriteOnce, ReadWriteOncePod]")
    assert len(told("GPU1388", three(), both)) == 1
    scaled = SCALER.replace("MOST", "3").replace("METRIC", "cpu")
    kinds = scaled.replace("apiVersion: apps/v1, kind: Deployment, name: llm", "name: llm")
    assert len(told("GPU1388", pod(SHELL, image=OWN, spec=ON_G6), claim(), kinds)) == 1


SHARED = CHART.replace(
    "VALUES",
    """config:
      map:
        default: |-
          version: v1
          sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}""",
)
OVERLAY = """\
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: o}
spec: {requirements: [], capacity: {nvidia.com/gpu: "4"}}
"""


@pytest.mark.parametrize("shared", [SHARED, OVERLAY])
def test_shared_gpus_have_room_for_several(shared: str) -> None:
    assert told("GPU1388", three(), claim(), shared) == []


USER = RUNTIME + pod(SHELL, image=OWN, spec=NAMED)
RUNC = PLUGIN.replace("          env: [{name: NVIDIA_DRIVER_ROOT, value: ROOT}]\n", "").replace(
    "SPEC", "priorityClassName: a"
)


def test_the_runtime_is_told_at_the_pods_or_at_the_values() -> None:
    ((path, message, fix),) = told("GPU1389", USER, RUNC)
    assert path == "spec.template.spec"
    assert message == (
        "The device plugin of the DaemonSet plugin has no runtimeClassName, and the Deployment llm "
        "has nvidia, so that another runtime is the default."
    )
    assert fix == "Write runtimeClassName: nvidia."
    (found,) = told("GPU1389", USER, CHART.replace("VALUES", "gfd: {enabled: true}"))
    assert found[2] == "Write runtimeClassName: nvidia into its values."


@pytest.mark.parametrize(
    "texts",
    [
        (USER, RUNC, CLUSTER),  # whose images have the runtime as the default
        (USER.replace("handler: nvidia", "handler: runc"), RUNC),
        (USER, CHART.replace("chart: nvidia-device-plugin", "chart: gpu-operator"), RUNC),
        (USER, RUNC.replace("k8s-device-plugin:v0.17.1", "k8s-mig-manager:v0.12")),
        (USER, CHART.replace("VALUES", "nvidiaDriverRoot: /driver")),
        (USER, CHART.replace("chart: nvidia-device-plugin", "chart: gpu-feature-discovery")),
        (RUNTIME, RUNC),
        (USER.replace("kind: RuntimeClass", "kind: PriorityClass"), RUNC),
    ],
)
def test_runtimes_that_may_be_the_default_are_not_judged(texts: tuple[str, ...]) -> None:
    assert told("GPU1389", *texts) == []


def test_an_exporter_that_names_the_runtime_says_nothing_of_pods() -> None:
    exporter = PLUGIN.replace("k8s-device-plugin:v0.17.1", "dcgm-exporter:4.4").replace(
        "SPEC", NAMED
    )
    other = pod(SHELL, image=OWN).replace("llm", "other")

    assert told("GPU1389", USER, exporter, other) == []


def test_features_are_told_at_the_map() -> None:
    off = FEATURES.replace("KEY", "nodeselector").replace("VALUE", "disabled")
    unsaid = FEATURES.replace("KEY", "tolerations").replace("VALUE", "enabled")
    served = SERVED.replace("MODE", "Serverless")

    assert told("GPU1256", off + served)[0][0] == 'data["kubernetes.podspec-nodeselector"]'
    assert told("GPU1256", unsaid + served)[0][0] == "data"
    assert told("GPU1256", off.replace("config-features", "others") + served) == []
    assert told("GPU1256", off + served.replace("nvidia.com/gpu: 1", "cpu: 1")) == []
    service = """\
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: s, namespace: ml}
spec:
  template:
    spec:
      nodeSelector: {pool: gpu}
      containers: [{name: c, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
    assert len(told("GPU1256", off + service)) == 1
    plain = served.replace(", annotations: {serving.kserve.io/deploymentMode: Serverless}", "")
    other = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: inferenceservice-config}\n"
    settings = f'{other}data: {{deploy: \'{{"defaultDeploymentMode": "Serverless"}}\'}}\n'
    assert len(told("GPU1256", off + plain + settings)) == 1


def test_a_model_is_told_with_its_size() -> None:
    spec = "volumes: [{name: data, emptyDir: {}}]"
    text = pod(FALCON, spec=spec, limits=", ephemeral-storage: 5Gi")

    ((path, message, fix),) = told("GPU1249", text)
    assert path == f"{CONTAINER}.resources.limits.ephemeral-storage"
    assert message == (
        "The Deployment llm downloads tiiuae/falcon-7b-instruct, of 13 GiB or more, to /data, and "
        "its ephemeral-storage is limited to 5Gi."
    )
    assert fix == "Let it be 28Gi or more."
    experts = text.replace("tiiuae/falcon-7b-instruct", "mistralai/Mixtral-8x7B-Instruct-v0.1")
    assert "of 83 GiB or more" in told("GPU1249", experts)[0][1]


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ('"tiiuae/falcon-7b-instruct"', '"a/b-7b", "--download-dir", "/data"', True),
        ('"tiiuae/falcon-7b-instruct"', '"a/b-7b", "--download-dir", "data"', False),
        ('"tiiuae/falcon-7b-instruct"', '"a/b-7b", "--download-dir", "/data", "--x"', True),
        ("env: [{name: HF_HOME, value: /data}]", "envFrom: [{secretRef: {name: a}}]", False),
        ("env: [{name: HF_HOME, value: /data}]", "workingDir: /a", True),
        ("mountPath: /data", "mountPath: /other", True),  # a part of the container's own disk
        ("nvidia.com/gpu: 1", "nvidia.com/gpu: 0", False),
        ("kind: Deployment", "kind: Other", False),
    ],
)
def test_where_a_model_goes_is_known(old: str, new: str, wrong: bool) -> None:
    spec = "volumes: [{name: data, emptyDir: {}}]"
    text = pod(FALCON, spec=spec, limits=", ephemeral-storage: 5Gi")

    assert bool(told("GPU1249", text.replace(old, new))) == wrong


def test_a_claim_of_another_namespace_is_another() -> None:
    spec = "volumes: [{name: data, persistentVolumeClaim: {claimName: models}}]"
    small = claim().replace("200Gi", "10Gi")

    assert len(told("GPU1249", pod(FALCON, spec=spec), small)) == 1
    assert told("GPU1249", pod(FALCON, spec=spec), small.replace("ml", "other")) == []


def test_a_profile_of_fargate_is_one_that_is_known() -> None:
    labels = FARGATE.replace("SPACE", 'ml, labels: {app: "{{ .Values.app }}"}')
    text = pod(SHELL, image=OWN)

    assert told("GPU1110", CLUSTER + labels, text) == []
    away = text.replace(", namespace: ml", "")
    assert told("GPU1110", CLUSTER + FARGATE.replace("SPACE", '"*"'), away) == []
    other = CLUSTER + FARGATE.replace("SPACE", "ml, labels: {app: other}")
    assert told("GPU1110", other, text) == []


def test_a_plugin_that_is_off_takes_no_room() -> None:
    pool = f"{CLUSTER}    maxPodsPerNode: 3\n"

    assert told("GPU1251", pool, RUNC.replace("k8s-device-plugin:v0.17.1", "other:1")) == []
    assert len(told("GPU1251", pool, RUNC)) == 1
    exporter = RUNC.replace("k8s-device-plugin:v0.17.1", "dcgm-exporter:4.4")
    assert "GPU1251" not in said(a__yaml=pool, b__yaml=exporter)


@pytest.mark.parametrize(
    ("model", "gib"),
    [
        ("tiiuae/falcon-7b-instruct", 13),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", 83),
        ("someone/own-7b", 7),  # may be of 8 bits
        ("openai/gpt-oss-120b", None),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", None),
        ("Qwen/Qwen3-30B-A3B", 56),
        ("facebook/opt-1.3b", 2),
        ("meta-llama/Llama-4", None),
    ],
)
def test_models_are_as_large_as_their_names_say(model: str, gib: int | None) -> None:
    found = weights_gib(f"--model {model}")

    assert (None if found is None else round(found)) == gib


def test_a_size_is_one_of_a_disk() -> None:
    spec = "volumes: [{name: data, persistentVolumeClaim: {claimName: models}}]"
    small = claim().replace("200Gi", "10Gi")

    assert told("GPU1249", pod(FALCON, spec=spec), small.replace("gp3", "efs")) == []


def test_parts_of_pods_and_services_without_gpus_are_let_be() -> None:
    part = """\
worker:
  containers:
    - name: c
      image: a
      env: [{name: NCCL_SOCKET_IFNAME, value: ens5}]
"""
    service = """\
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: s, namespace: ml}
spec: {template: {spec: {nodeSelector: {a: b}, containers: [{name: c, image: a}]}}}
"""
    off = FEATURES.replace("KEY", "nodeselector").replace("VALUE", "disabled")
    number = pod("env: [{name: NCCL_SOCKET_IFNAME, value: [ens5]}]")

    assert told("GPU1387", part) == []
    assert told("GPU1256", off + service) == []
    assert told("GPU1387", number) == []
