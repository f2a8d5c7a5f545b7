"""Rules about programs that run on GPUs, as far as their containers tell."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

NO_SUCH_DEVICE: Final = Rule(
    "GPU1235",
    "error",
    "Devices that a program is told by number are devices that its container gets.",
    "A container sees what it asked for and nothing else, counted from 0: of a number beyond that "
    "CUDA ends its list, and finds no GPU.",
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables",
)
SPLIT: Final = Rule(
    "GPU1236",
    "warning",
    "A program is split over as many GPUs as its container asks for.",
    "With fewer GPUs it does not start; of more it uses one, and the others are paid for.",
    "https://docs.vllm.ai/en/stable/serving/parallelism_scaling/",
)
NO_SHARED_MEMORY: Final = Rule(
    "GPU1237",
    "warning",
    "The processes of a program that is split over GPUs have a volume of shared memory.",
    "A container has 64 MiB of /dev/shm, with which NCCL fails at the start or hangs.",
    "https://github.com/vllm-project/vllm/issues/37982",
)
ASKS_FOR_NONE: Final = Rule(
    "GPU1238",
    "warning",
    "A server that needs a GPU asks for one.",
    "Without a request it is put anywhere: where there is no GPU it does not start, and where "
    "there is one it uses what others asked for.",
    "https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/",
)
NO_CUDA: Final = Rule(
    "GPU1380",
    "warning",
    "An image has CUDA where its container asks for a GPU.",
    "A program that was built without CUDA runs on the CPU, or not at all, and the GPU that was "
    "asked for is paid for and idle.",
    "https://www.tensorflow.org/install/docker#download_a_tensorflow_docker_image",
)
UNLIKE_RAY: Final = Rule(
    "GPU1382",
    "warning",
    "Ray is told of as many GPUs as its containers get, in whole numbers.",
    "It places tasks by the number that it is told: of more than there are they fail, of fewer the "
    "others stay idle, a part of one is none that `ray start` and the autoscaler read, and "
    "replicas that take more than all its nodes have wait for ever.",
    "https://docs.ray.io/en/latest/cluster/kubernetes/user-guides/gpu.html",
)
EFA_BY_HAND: Final = Rule(
    "GPU1383",
    "warning",
    "EFA interfaces come from EFA's device plugin, which is asked for them.",
    "A container may open what it asked for and nothing else: of a whole folder it sees the "
    "interfaces of others first, and opening them is refused. Without any it exchanges by TCP, at "
    "a fraction of the speed, or ends.",
    "https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html",
)
ENDED_EARLY: Final = Rule(
    "GPU1385",
    "warning",
    "A server has the time to load its model, and a notebook to get a node, before it is ended.",
    "It answers once the model is on the GPU, which takes minutes: a liveness probe that counts "
    "from the start ends the container before, again and again. So does JupyterHub with notebooks "
    "whose node has to be made first.",
    "https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/",
)
NO_SUCH_PORT: Final = Rule(
    "GPU1397",
    "error",
    "A probe that names a port names one of its own container.",
    "The kubelet looks for the name among the ports of the container, and an API server does not: "
    "without it every probe fails, so that the pod is never ready, or ended again and again while "
    "it holds its GPU.",
    "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/#use-a-named-port",
)
OTHER_GPUS: Final = Rule(
    "GPU1390",
    "warning",
    "What runs on GPUs is for the GPUs and the driver that its nodes have.",
    "On a GPU without bfloat16, or of a compute capability below that of a quantization, vLLM ends "
    "at its start; so does SGLang on GPUs before Turing. Images of a CUDA that the driver is too "
    "old for are not started.",
    "https://docs.vllm.ai/en/stable/configuration/engine_args/",
)
NO_MEETING_POINT: Final = Rule(
    "GPU1339",
    "error",
    "Processes of several pods meet at a name that DNS knows.",
    "The name of a pod is no name in DNS: the first pod finds itself and waits, the others end or "
    "wait for it, and all of them hold their GPUs.",
    "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/",
)
