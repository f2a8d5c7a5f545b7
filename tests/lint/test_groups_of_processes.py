"""EFA, processes of MPI and torchrun, and shared memory of Triton: wrong, and near it."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

JOB = """\
apiVersion: APIVERSION
kind: KIND
metadata: {name: train}
spec:
  TOP
  replicaSpecs:
    Worker:
      replicas: REPLICAS
      template:
        spec:
          MORE
          containers:
            - name: main
              image: own:1
              command: [COMMAND]
              env: [ENV]
              securityContext: CONTEXT
              resources: {limits: {LIMITS}, CLAIMS}
"""
EFA = "{name: FI_PROVIDER, value: efa}"


def job(
    kind: str = "PyTorchJob",
    command: str = "bash, train.sh",
    env: str = EFA,
    limits: str = "nvidia.com/gpu: 1",
    context: str = "{}",
    claims: str = "requests: {}",
    more: str = "dnsPolicy: Default",
    top: str = "a: b",
    version: str = "kubeflow.org/v1",
    replicas: str = "2",
) -> str:
    text = JOB.replace("KIND", kind).replace("APIVERSION", version).replace("COMMAND", command)
    text = text.replace("ENV", env).replace("LIMITS", limits).replace("CONTEXT", context)
    text = text.replace("CLAIMS", claims).replace("MORE", more).replace("TOP", top)
    return text.replace("REPLICAS", replicas)


def pods(kind: str, replicas: str) -> str:
    template = "template: {metadata: {labels: {a: b}}, spec: {containers: [CONTAINER]}}"
    container = (
        f"{{name: a, image: own, env: [{EFA}], resources: {{limits: {{nvidia.com/gpu: 1}}}}}}"
    )
    counted = "parallelism" if kind == "Job" else "selector: {matchLabels: {a: b}}, replicas"
    inner = template.replace("CONTAINER", container)
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return f"""\
apiVersion: {version}
kind: {kind}
metadata: {{name: a}}
spec: {{{counted}: {replicas}, {inner}}}
"""


def codes(text: str) -> list[str]:
    ours = ("GPU1383", "GPU1236", "GPU1237")
    return [each.code for each in found_in({"a.yaml": text}) if each.code in ours]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (job(), True),
        (job("JobSet"), True),
        (job("LeaderWorkerSet"), True),
        (job("RayCluster"), True),
        (job(env='{name: FI_EFA_USE_DEVICE_RDMA, value: "1"}'), True),
        (job(env=f"{{name: A, value: a}}, {EFA}"), True),
        (job(env="{name: FI_PROVIDER, value: tcp}"), False),
        (job(env='{name: FI_EFA_USE_DEVICE_RDMA, value: "0"}'), False),
        (job(env=f"{EFA}, {{name: A, value: $A}}"), False),
        (job(limits="nvidia.com/gpu: 1, vpc.amazonaws.com/efa: 1"), False),
        (job(limits="nvidia.com/gpu: 1, rdma/hca: 1"), False),
        (job(limits="cpu: 1"), False),
        (job(limits="nvidia.com/gpu: $GPUS"), False),
        (job(context="{privileged: true}"), False),
        (job(context="{privileged: false}"), True),
        (job(claims="claims: [{name: efa}]"), False),
        (job(more="resourceClaims: [{name: efa, resourceClaimName: a}]"), False),
        (pods("Job", "2"), True),
        (pods("Job", "1"), False),
        (pods("StatefulSet", "2"), True),
        (pods("StatefulSet", "$N"), False),
        (pods("Deployment", "2"), False),
        (pods("DaemonSet", "2"), False),
    ],
)
def test_who_counts_on_efa_asks_for_it(text: str, wrong: bool) -> None:
    assert codes(text) == (["GPU1383"] if wrong else [])


@pytest.mark.parametrize(
    ("command", "top", "wrong"),
    [
        ("python, train.py", 'nprocPerNode: "4"', True),
        ("/usr/bin/python3.11, -u, tools/train.py, --launcher, pytorch", "nprocPerNode: 4", True),
        ("python, train.py", "nprocPerNode: 1", False),
        ("python, train.py", "nprocPerNode: gpu", False),
        ("python, train.py", "nprocPerNode: $N", False),
        ("python, train.py", "a: b", False),
        ("python, train.py, --devices, '4'", "nprocPerNode: 4", False),
        ("python, -m, torch.distributed.run, train.py", "nprocPerNode: 4", False),
        ("python, -m, own.train", "nprocPerNode: 4", False),
        ("python, $SCRIPT", "nprocPerNode: 4", False),
        ("python, train", "nprocPerNode: 4", False),
        ("python", "nprocPerNode: 4", False),
        ("torchrun, train.py", "nprocPerNode: 4", False),
        ("bash, train.py", "nprocPerNode: 4", False),
    ],
)
def test_only_torchrun_starts_several_processes(command: str, top: str, wrong: bool) -> None:
    text = job(command=command, env="", limits="nvidia.com/gpu: 4", top=top, more="hostIPC: true")
    found = [each.message for each in found_in({"a.yaml": text}) if each.code == "GPU1236"]

    assert any("one process" in each for each in found) is wrong
    assert not any("starts python" in each for each in messages(text.replace("PyTorchJob", "Job")))


def messages(text: str) -> list[str]:
    return [each.message for each in found_in({"a.yaml": text})]


@pytest.mark.parametrize(("gpus", "said"), [("1", "of 1 GPU."), ("2", "of 2 GPUs.")])
def test_of_how_many_gpus_it_is_one_process(gpus: str, said: str) -> None:
    text = job(
        command="python, t.py",
        env="",
        limits=f"nvidia.com/gpu: {gpus}",
        top="nprocPerNode: 2",
        more="hostIPC: true",
    )

    assert [said in each for each in messages(text) if "starts python" in each] == [True]


def test_a_number_of_processes_unlike_that_of_gpus_is_told_besides() -> None:
    text = job(
        command="python, train.py", env="", limits="nvidia.com/gpu: 2", top="nprocPerNode: 4"
    )

    assert codes(text.replace("  replicaSpecs", "  pytorchReplicaSpecs")).count("GPU1236") == 2


MPI = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  TOP
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - {name: main, image: own, command: [COMMAND]}
    Worker:
      WORKERS
      template:
        spec:
          hostIPC: true
          containers:
            - {name: main, image: own, command: [AGAIN], resources: {limits: {nvidia.com/gpu: 2}}}
"""


def mpi(
    command: str = "mpirun, -np, '4', python, t.py",
    top: str = "slotsPerWorker: 1",
    workers: str = "replicas: 2",
) -> list[str]:
    text = MPI.replace("COMMAND", command).replace("TOP", top).replace("WORKERS", workers)
    text = text.replace("AGAIN", "mpirun, -np, '9', a")
    return [each.message for each in found_in({"a.yaml": text}) if each.code == "GPU1236"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"top": "a: b"},
        {"top": "mpiImplementation: OpenMPI"},
        {"top": "slotsPerWorker: 2", "workers": "a: b"},
        {"command": "/usr/bin/mpirun, --allow-run-as-root, -n, '3', a"},
        {"command": "horovodrun, -np, '4', python, t.py"},
        {"command": "bash, -c, 'cd /a; mpirun -np 4 python t.py'"},
        {"command": "mpirun, -np, '4', --map-by, slot, python, t.py"},
        {"top": "runLauncherAsWorker: false"},
    ],
)
def test_more_processes_than_slots(given: dict[str, str]) -> None:
    assert len(mpi(**given)) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"top": "slotsPerWorker: 2"},
        {"top": "slotsPerWorker: 4"},
        {"top": "slotsPerWorker: $SLOTS"},
        {"top": "slotsPerWorker: some"},
        {"top": "mpiImplementation: Intel"},
        {"top": "runLauncherAsWorker: true"},
        {"workers": "replicas: 4"},
        {"workers": "replicas: $N"},
        {"command": "mpirun, -np, '2', python, t.py"},
        {"command": "mpirun, -np, '4', --oversubscribe, python, t.py"},
        {"command": "mpirun, -np, '4', -H, 'a:2,b:2', python, t.py"},
        {"command": "mpirun, -np, '4', --map-by, 'slot:OVER', python, t.py"},
        {"command": "mpirun, -np, $N, python, t.py"},
        {"command": "echo, -n, '4'"},
        {"command": "python, -n, '4'"},
        {"command": "bash, -c, 'mpirun -np 2 all_reduce_perf -g 1 #-w 2 -n 20 '"},
        {"command": "bash, -c, 'mpirun -np 2 program -n 20'"},
    ],
)
def test_no_more_processes_than_slots_as_far_as_is_known(given: dict[str, str]) -> None:
    assert mpi(**given) == []


def test_the_slots_are_told() -> None:
    assert "workers 2, slots of each 1." in mpi()[0]
    text = MPI.replace("    Worker:", "    Other:").replace("TOP", "slotsPerWorker: 1")
    text = text.replace("COMMAND", "mpirun, -np, '4', python").replace("WORKERS", "replicas: 1")

    assert "GPU1236" not in [each.code for each in found_in({"a.yaml": text})]


TRITON = """\
apiVersion: v1
kind: Pod
metadata: {name: demo}
spec:
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
  containers:
    - name: main
      image: nvcr.io/nvidia/tritonserver:25.06-py3
      args: [tritonserver, "--backend-config=TOLD"]
      resources: {limits: {LIMIT}}
      volumeMounts: [MOUNT]
"""


@pytest.mark.parametrize(
    ("told", "limit", "mount", "wrong"),
    [
        ("python,shm-default-byte-size=268435456", "nvidia.com/gpu: 1", "", True),
        ("python,shm-default-byte-size=67108864", "nvidia.com/gpu: 1", "", True),
        ("python,shm-default-byte-size=67108863", "nvidia.com/gpu: 1", "", False),
        ("python,shm-region-prefix-name=a", "nvidia.com/gpu: 1", "", False),
        ("onnxruntime,shm-default-byte-size=268435456", "nvidia.com/gpu: 1", "", False),
        (
            "python,shm-default-byte-size=268435456",
            "nvidia.com/gpu: 1",
            "{name: shm, mountPath: /dev/shm}",
            False,
        ),
        ("python,shm-default-byte-size=268435456", "cpu: 1", "", False),
    ],
)
def test_shared_memory_that_triton_takes(told: str, limit: str, mount: str, wrong: bool) -> None:
    text = TRITON.replace("TOLD", told).replace("LIMIT", limit).replace("MOUNT", mount)

    assert codes(text) == (["GPU1237"] if wrong else [])
