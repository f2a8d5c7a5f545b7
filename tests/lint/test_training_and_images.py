"""Training on several GPUs, images without CUDA, probes and EFA: wrong, and near it."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

SHM = "volumeMounts: [{name: shm, mountPath: /dev/shm}]"
VOLUME = "volumes: [{name: shm, emptyDir: {medium: Memory}}]"
JOB = """\
apiVersion: kubeflow.org/v1
kind: KIND
metadata: {name: train}
spec:
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers: [{name: a, image: "own:1", command: [mpirun], args: [STARTED]}]
  replicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: worker
              image: own:1
              command: [COMMAND]
              resources: {limits: {nvidia.com/gpu: GPUS}}
              MOUNTS
          VOLUMES
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: demo}
spec:
  containers:
    - name: main
      image: IMAGE
      args: [ARGS]
      env: [ENV]
      resources: {limits: {LIMITS}}
      MORE
  VOLUMES
"""


def codes(text: str, name: str = "a.yaml") -> list[str]:
    return [each.code for each in found_in({name: text})]


def messages(text: str) -> list[str]:
    return [each.message for each in found_in({"a.yaml": text})]


def job(
    kind: str = "PyTorchJob",
    command: str = "python",
    gpus: str = "4",
    mounts: str = "",
    volumes: str = "",
    mpi: str = "python, train.py",
) -> str:
    text = JOB.replace("KIND", kind).replace("COMMAND", command).replace("GPUS", gpus)
    return text.replace("MOUNTS", mounts).replace("VOLUMES", volumes).replace("STARTED", mpi)


def pod(
    args: str = "",
    limits: str = "nvidia.com/gpu: 1",
    image: str = "own:1",
    more: str = "",
    volumes: str = "",
    env: str = "",
) -> str:
    text = POD.replace("ARGS", args).replace("LIMITS", limits).replace("IMAGE", image)
    return text.replace("MORE", more).replace("VOLUMES", volumes).replace("ENV", env)


def daemon(text: str, kind: str = "DaemonSet") -> str:
    """A pod as the template of another kind."""
    head, _, spec = text.partition("spec:\n")
    inner = "".join(f"    {line}\n" for line in spec.splitlines())
    labels = "{matchLabels: {a: b}}"
    above = f"spec:\n  selector: {labels}\n  template:\n    metadata: {{labels: {{a: b}}}}\n"
    made = head.replace("kind: Pod", f"kind: {kind}").replace("v1", "apps/v1")
    return f"{made}{above}    spec:\n{inner}"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (job(), True),
        (job("TFJob"), True),
        (job(command="python3, train.py"), False),
        (job(command="python3, -u, train.py, --epochs, '3'"), False),
        (job(command="python3, train.py, --devices, '4'"), True),
        (job(command="python3, -m, train"), True),
        (job(command='/bin/bash, -c, "time python3 /opt/train.py --epochs=20"'), False),
        (job(command='sh, -c, "python train.py"'), False),
        (job(command='sh, -c, "pip install a && python train.py"'), True),
        (job(command='sh, -c, "python train.py --devices 4"'), True),
        (job("MPIJob"), True),
        (job("MPIJob", mpi="/opt/nccl-tests/build/all_reduce_perf"), True),
        (job("MPIJob", mpi="fi_info"), False),
        (job("MPIJob", mpi="-n 2 -N 1 all_reduce_perf -b 8 -g 1"), False),
        (job("MPIJob", mpi="-n 2 -npernode 1 python t.py"), False),
        (job("MPIJob", mpi="-n 2 --map-by ppr:1:node python t.py"), False),
        (job("MPIJob", mpi="-n 16 -N 8 all_reduce_perf -b 8 -g 1"), True),
        (job("MPIJob", mpi="-n 16 -N 16 python t.py"), True),
        (job("MPIJob", mpi="-n 2 -N 1 all_reduce_perf -b 8 -g 8"), True),
        (job("MPIJob", mpi="-n 2 -N 1 all_reduce_perf -t 2 -g 1"), True),
        (job("MPIJob", mpi="-n 2 -N 1 python -m torch.distributed.run --nproc=8"), True),
        (job("MPIJob", mpi="-N 1 python launch.py --num_processes 16"), True),
        (job("MPIJob", mpi="-N 8 python train.py -N 1"), True),
        (job("MPIJob", mpi="-N 1 hostname && mpirun -N 8 python train.py"), True),
        (job("MPIJob", mpi="-x A=-N 1 python train.py"), True),
        (job(gpus="1"), False),
        (job(mounts=SHM, volumes=VOLUME), False),
        (job(volumes="hostIPC: true"), False),
        (job("RayCluster", command="torchrun, train.py"), False),
        (job("LeaderWorkerSet"), False),
        (job("LeaderWorkerSet", command="torchrun, train.py"), True),
        (job("JobSet", command="bash, -c, accelerate launch train.py"), True),
        (pod("python, -m, torch.distributed.run, t.py", "nvidia.com/gpu: 2"), True),
        (pod("/usr/bin/deepspeed, t.py", "nvidia.com/gpu: 2"), True),
        (pod("python, t.py", "nvidia.com/gpu: 2"), False),
        (pod("torchrun, t.py", "nvidia.com/gpu: 2", env="{name: NCCL_SHM_DISABLE}"), False),
        (pod("torchrun, t.py", "nvidia.com/gpu: $GPUS"), False),
    ],
)  # fmt: skip
def test_processes_on_several_gpus_share_memory(text: str, wrong: bool) -> None:
    assert codes(text) == (["GPU1237"] if wrong else [])


def test_a_daemonset_trains_nothing() -> None:
    trains = pod("torchrun, t.py", "nvidia.com/gpu: 2")

    assert "GPU1237" in codes(daemon(trains, "Deployment"))
    assert "GPU1237" not in codes(daemon(trains))


TORCH = 'bash, -c, "torchrun --nnodes=2 %s train.py"'
TWO = "nvidia.com/gpu: 2"


@pytest.mark.parametrize(
    ("args", "env", "wrong"),
    [
        (TORCH % "--nproc_per_node=4", "", True),
        (TORCH % "--nproc-per-node 4", "", True),
        (TORCH % "--nproc_per_node=2", "", False),
        (TORCH % "--nproc_per_node=1", "", False),
        (TORCH % "--nproc_per_node=$N", "", False),
        (TORCH % "--nproc_per_node=gpu", "", False),
        (TORCH % "--nproc_per_node=4 a.py; torchrun --nproc_per_node=2", "", False),
        ("deepspeed, --num_gpus, '4', train.py", "", True),
        ("python, --nproc_per_node=4", "", False),
        ("torchrun, train.py", '{name: PET_NPROC_PER_NODE, value: "4"}', True),
        ("torchrun, train.py", '{name: PET_NPROC_PER_NODE, value: "2"}', False),
        ("torchrun, train.py", "{name: PET_NPROC_PER_NODE, value: auto}", False),
        ("torchrun, train.py", '{name: OMP_NUM_THREADS, value: "4"}', False),
    ],
)
def test_no_more_processes_are_started_than_gpus(args: str, env: str, wrong: bool) -> None:
    text = pod(args, TWO, env=env, more=SHM, volumes=VOLUME)

    assert codes(text) == (["GPU1236"] if wrong else [])


def test_how_many_processes_there_are_is_said() -> None:
    one = pod(TORCH % "--nproc_per_node=4", TWO, more=SHM, volumes=VOLUME)
    other = pod(TORCH % "--nproc_per_node=2", more=SHM, volumes=VOLUME)

    assert messages(one) == [
        "The Pod demo starts 4 processes in a container of 2 GPUs, of which each takes one."
    ]
    assert messages(other) == [
        "The Pod demo starts 2 processes in a container of 1 GPU, of which each takes one."
    ]


TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec:
  trainer:
    numProcPerNode: NUMBER
    COMMAND
    resourcesPerNode: {limits: {nvidia.com/gpu: 4}}
"""


@pytest.mark.parametrize(
    ("number", "command", "wrong"),
    [
        ("1", "", True),
        ("8", "", True),
        ("4", "", False),
        ("auto", "", False),
        ("$N", "", False),
        ("1", "command: [torchrun, --nproc_per_node=4, t.py]", False),
    ],
)
def test_a_train_job_starts_a_process_for_each_gpu(number: str, command: str, wrong: bool) -> None:
    text = TRAIN_JOB.replace("NUMBER", number).replace("COMMAND", command)

    assert codes(text) == (["GPU1236"] if wrong else [])


def test_a_number_of_processes_is_pointed_at() -> None:
    (found,) = found_in({"a.yaml": TRAIN_JOB.replace("NUMBER", "1").replace("    COMMAND\n", "")})

    assert found.line == 6
    assert found.message == (
        "The TrainJob train starts 1 process in a container of 4 GPUs, of which each takes one."
    )


@pytest.mark.parametrize(("number", "wrong"), [('"2"', True), ('"4"', False), ("auto", False)])
def test_a_pytorch_job_may_say_so_too(number: str, wrong: bool) -> None:
    text = job(mounts=SHM, volumes=VOLUME).replace("spec:", f"spec:\n  nprocPerNode: {number}", 1)

    assert codes(text) == (["GPU1236"] if wrong else [])


@pytest.mark.parametrize(
    ("image", "wrong"),
    [
        ("tensorflow/tensorflow", True),
        ("tensorflow/tensorflow:2.16.1", True),
        ("docker.io/tensorflow/tensorflow:latest-jupyter", True),
        ("tensorflow/tensorflow:2.16.1-gpu", False),
        ("tensorflow/tensorflow:latest-gpu-jupyter", False),
        ("tensorflow/tensorflow@sha256:0123", False),
        ("tensorflow/tensorflow-own:1", False),
        ("registry:5000/tensorflow/serving", True),
        ("tensorflow/serving:2.6.2-gpu", False),
        ("pytorch/torchserve:0.9.0-cpu", True),
        ("pytorch/torchserve-kfs:0.9.0-gpu", False),
        ("pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime", False),
        ("kserve/huggingfaceserver:v0.15.0", True),
        ("kserve/huggingfaceserver:v0.13.0", False),
        ("kserve/huggingfaceserver:latest-gpu", False),
        ("vllm/vllm-openai-cpu:v0.19.0", True),
        ("public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.11.0", True),
        ("ghcr.io/huggingface/text-embeddings-inference:cpu-1.8", True),
        ("ghcr.io/huggingface/text-embeddings-inference:1.8", False),
        ("ghcr.io/ggml-org/llama.cpp:server", True),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda", False),
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.3.0-cpu-py311", True),
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.3.0-gpu-py311", False),
        ("kubeflownotebookswg/jupyter-pytorch-full:v1.9.0", True),
        ("kubeflownotebookswg/jupyter-pytorch-cuda-full:v1.9.0", False),
        ("quay.io/jupyter/pytorch-notebook:2024-05-27", True),
        ("quay.io/jupyter/pytorch-notebook:cuda12-2024-05-27", False),
        ("ghcr.io/huggingface/text-generation-inference:3.3.4-intel-cpu", True),
        ("lmsysorg/sglang:v0.5.3-xeon", True),
        ("xprobe/xinference:v1.9.0-cpu", True),
        ("xprobe/xinference:v1.9.0", False),
        ("localai/localai:latest", True),
        ("localai/localai:v2.19.0-cublas-cuda12", False),
        ("quay.io/jupyter/tensorflow-notebook:cuda-latest", False),
        ("localai/localai:latest-gpu-nvidia-cuda-12", False),
        ("own/trainer:1-cpu", False),
    ],
)
def test_an_image_for_a_gpu_has_cuda(image: str, wrong: bool) -> None:
    assert codes(pod(image=image)) == (["GPU1380"] if wrong else [])


def test_an_image_without_cuda_is_right_without_a_gpu() -> None:
    assert codes(pod(limits="cpu: 1", image="tensorflow/tensorflow:2.16.1")) == []


def test_an_image_that_is_filled_in_is_not_judged() -> None:
    assert codes(pod(image="tensorflow/tensorflow:$TAG")) == []
    assert codes(pod(image="$IMAGE")) == []


STOCK = "kserve-tensorflow-serving"
SERVED = """\
apiVersion: serving.kserve.io/v1beta1
kind: KIND
metadata: {name: a}
spec:
  predictor:
    NAME:
      FORMAT
      resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize(
    ("name", "more", "wrong"),
    [
        ("model", "modelFormat: {name: pytorch}\n      runtimeVersion: 0.9.0", True),
        ("model", "modelFormat: {name: pytorch}\n      runtimeVersion: 0.9.0-gpu", False),
        ("model", "modelFormat: {name: pytorch}", False),
        ("model", "modelFormat: {name: onnx}\n      runtimeVersion: 0.9.0", False),
        ("model", "modelFormat: {name: pytorch}\n      runtimeVersion: $V", False),
        (
            "model",
            "modelFormat: {name: pytorch}\n      runtimeVersion: 0.9.0\n      protocolVersion: v2",
            False,
        ),
        (
            "model",
            "modelFormat: {name: pytorch}\n      runtimeVersion: 0.9.0\n      protocolVersion: v1",
            True,
        ),
        (
            "model",
            "modelFormat: {name: tensorflow}\n      runtimeVersion: 2.6.2\n      runtime: own",
            False,
        ),
        (
            "model",
            "modelFormat: {name: tensorflow}\n      runtimeVersion: 2.6.2\n      runtime: " + STOCK,
            True,
        ),
        ("model", "modelFormat: {name: pytorch}\n      runtimeVersion: '1'\n      image: a", False),
        ("pytorch", "runtimeVersion: 0.9.0", True),
        ("tensorflow", "runtimeVersion: 2.6.2-gpu", False),
        ("tensorflow", "image: tensorflow/serving:2.6.2", False),
        ("sklearn", "runtimeVersion: 2.6.2", False),
    ],
)
def test_kserve_finds_an_image_with_cuda_unless_a_version_says_otherwise(
    name: str, more: str, wrong: bool
) -> None:
    text = SERVED.replace("KIND", "InferenceService").replace("NAME", name).replace("FORMAT", more)

    assert codes(text) == (["GPU1380"] if wrong else [])


def test_the_images_of_runtimes_get_cuda_by_kserve() -> None:
    runtime = (
        "apiVersion: serving.kserve.io/v1alpha1\nkind: ClusterServingRuntime\nmetadata: {name: a}\n"
        "spec:\n  containers:\n    - {name: c, image: 'tensorflow/serving:2.6.2', "
        "resources: {limits: {nvidia.com/gpu: 1}}}\n"
    )

    assert codes(runtime) == []
    assert codes(runtime.replace("ClusterServingRuntime", "ModelServer")) == ["GPU1380"]


def test_a_model_of_another_kind_has_the_image_that_it_names() -> None:
    text = SERVED.replace("NAME", "model").replace("FORMAT", "image: tensorflow/serving:2.6.2")
    other = text.replace("serving.kserve.io/v1beta1", "example.com/v1").replace("KIND", "Served")

    assert codes(other) == ["GPU1380"]


def test_what_serves_with_kserve_by_containers_is_as_written() -> None:
    text = (
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: a}\n"
        "spec:\n  predictor:\n    MORE\n    containers:\n      - {name: c, image: 'vllm/vllm-openai"
        ":v0.11.0', args: [--model, m], resources: {limits: {nvidia.com/gpu: 2}}}\n"
    )

    assert codes(text.replace("    MORE\n", "")) == ["GPU1236"]
    assert codes(text.replace("MORE", "model: {modelFormat: {name: a}}")) == []
    assert codes(text.replace("MORE", "workerSpec: {pipelineParallelSize: 2}")) == []
    assert codes(text.replace("    MORE\n", "").replace("predictor", "transformer")) == []


ON_NODES = 'sh, -c, "ray start --head; vllm serve m --tensor-parallel-size %s $MORE"'


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (pod(ON_NODES % 2, TWO), ["GPU1237"]),
        (pod(ON_NODES % 2, TWO, more=SHM, volumes=VOLUME), []),
        (pod(ON_NODES % 1, TWO), []),
        (pod(ON_NODES % 2), []),
        (pod(ON_NODES % "$N", TWO), []),
    ],
)
def test_a_part_of_a_server_on_several_nodes_shares_memory(text: str, wrong: list[str]) -> None:
    assert codes(text) == wrong


@pytest.mark.parametrize(
    ("args", "wrong"),
    [
        ("trtllm-serve, m, --tp_size, '4'", True),
        ("trtllm-serve, m, --tp_size, '2'", False),
        ("trtllm-serve, m, --extra_llm_api_options, a.yaml", False),
        ("lmdeploy, serve, api_server, m", True),
        ("lmdeploy, serve, api_server, m, --tp, '2'", False),
    ],
)
def test_other_servers_are_split_as_well(args: str, wrong: bool) -> None:
    text = pod(args, TWO, more=SHM, volumes=VOLUME)

    assert ("GPU1236" in codes(text)) == wrong


PROBE = "livenessProbe: {httpGet: {path: /health, port: 8000}%s}"
VLLM = "vllm/vllm-openai:v0.11.0"


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        (PROBE % "", True),
        (PROBE % ", initialDelaySeconds: 15", True),
        (PROBE % ", initialDelaySeconds: 16", False),
        (PROBE % ", periodSeconds: 20, failureThreshold: 2", True),
        (PROBE % ", periodSeconds: 30", False),
        (PROBE % ", periodSeconds: $SECONDS", False),
        (PROBE % ", periodSeconds: soon", False),
        (PROBE % ", initialDelaySeconds: null", True),
        (
            f"{PROBE % ''}\n      startupProbe: {{httpGet: {{port: 1}}, failureThreshold: 60}}",
            False,
        ),
        (f"{PROBE % ''}\n      startupProbe: {{httpGet: {{port: 1}}}}", True),
        ("startupProbe: {httpGet: {port: 1}, periodSeconds: 5}", True),
        ("readinessProbe: {httpGet: {port: 1}}", False),
        ("livenessProbe: $PROBE", False),
    ],
)
def test_a_probe_lets_a_server_load_its_model(more: str, wrong: bool) -> None:
    assert ("GPU1385" in codes(pod("--model, m", image=VLLM, more=more))) == wrong


def test_only_servers_on_gpus_take_minutes() -> None:
    assert codes(pod(more=PROBE % "")) == []
    assert "GPU1385" not in codes(pod("--model, m", "cpu: 1", VLLM, PROBE % ""))
    assert "GPU1385" not in codes(
        pod("--model, m", image=VLLM, more=PROBE % "").replace("kind: Pod", "kind: RayCluster")
    )


FOLDER = "volumes: [{name: ib, hostPath: {path: /dev/infiniband/}}]"
MOUNTED = "volumeMounts: [{name: ib, mountPath: /dev/infiniband}]"
EFA = "nvidia.com/gpu: 1, vpc.amazonaws.com/efa: 1"


@pytest.mark.parametrize(
    ("limits", "more", "volumes", "wrong"),
    [
        (EFA, MOUNTED, FOLDER, True),
        ("nvidia.com/gpu: 1", MOUNTED, FOLDER, True),
        ("vpc.amazonaws.com/efa: 1", MOUNTED, FOLDER, True),
        ("cpu: 1", MOUNTED, FOLDER, False),
        (EFA, "", FOLDER, False),
        (EFA, MOUNTED, "volumes: [{name: ib, hostPath: {path: /dev/fuse}}]", False),
        (EFA, f"{MOUNTED}\n      securityContext: {{privileged: true}}", FOLDER, True),
        (
            "nvidia.com/gpu: 1",
            f"{MOUNTED}\n      securityContext: {{privileged: true}}",
            FOLDER,
            False,
        ),
        (EFA, f"{MOUNTED}\n      securityContext: $RIGHTS", FOLDER, False),
        ("nvidia.com/gpu: 1, rdma/hca: 1", MOUNTED, FOLDER, False),
    ],
)
def test_efa_comes_from_its_device_plugin(
    limits: str, more: str, volumes: str, wrong: bool
) -> None:
    found = codes(pod(limits=limits, more=more, volumes=volumes))

    assert found == (["GPU1383"] if wrong else [])


def test_what_is_missing_with_efa_is_said() -> None:
    (one,) = found_in({"a.yaml": pod(limits=EFA, more=MOUNTED, volumes=FOLDER)})
    (other,) = found_in({"a.yaml": pod(more=MOUNTED, volumes=FOLDER)})
    one_fix, other_fix = (
        next(each.finding.fix for each in lint_files([GivenFile("a.yaml", text)])[0].found)
        for text in (
            pod(limits=EFA, more=MOUNTED, volumes=FOLDER),
            pod(more=MOUNTED, volumes=FOLDER),
        )
    )

    by_right = f"{MOUNTED}\n      securityContext: {{privileged: true}}"
    (mighty,) = found_in({"a.yaml": pod(limits=EFA, more=by_right, volumes=FOLDER)})
    assert mighty.message.endswith("and is privileged: it opens those of other pods.")
    assert one.message == (
        "The Pod demo mounts /dev/infiniband of the node in a container that asks for "
        "vpc.amazonaws.com/efa and is not privileged."
    )
    assert "asks for no vpc.amazonaws.com/efa and" in other.message
    assert one_fix.startswith("Remove the volume: the device plugin")
    assert other_fix.startswith("Remove the volume, and ask for vpc.amazonaws.com/efa: the")


def test_what_hands_out_efa_mounts_the_folder() -> None:
    assert "GPU1383" in codes(daemon(pod(more=MOUNTED, volumes=FOLDER), "Deployment"))
    assert "GPU1383" not in codes(daemon(pod(more=MOUNTED, volumes=FOLDER)))
