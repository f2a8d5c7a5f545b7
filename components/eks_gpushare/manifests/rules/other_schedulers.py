"""Rules about what pods say to schedulers other than Kubernetes' own."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

NOT_ASKED: Final = Rule(
    "GPU1274",
    "error",
    "What a pod asks of another scheduler is asked of it, in a way that it takes.",
    "Nothing else reads KAI's annotations or places Volcano's vGPUs: the pod runs without a GPU or "
    "beside the shares that were counted. KAI refuses a pod with a fraction and whole GPUs.",
    "https://github.com/kai-scheduler/KAI-Scheduler/tree/main/docs/gpu-sharing",
)
NO_SUCH_QUEUE: Final = Rule(
    "GPU1275",
    "error",
    "The queue of KAI or Volcano that a workload names is there, and takes workloads.",
    "KAI leaves jobs of a queue that it does not have, or that has queues below it, Pending; "
    "Volcano refuses them.",
    "https://github.com/kai-scheduler/KAI-Scheduler/tree/main/docs/queues",
)
NOT_OF_HAMI: Final = Rule(
    "GPU1276",
    "error",
    "What a container asks of HAMi's parts of a GPU is what a GPU has, and HAMi places it.",
    "Cores and memory are of each GPU: cores are percents and memory is MiB, without a unit. "
    "Without its scheduler nothing says which GPU the parts are of.",
    "https://github.com/Project-HAMi/HAMi/blob/master/docs/config.md",
)
