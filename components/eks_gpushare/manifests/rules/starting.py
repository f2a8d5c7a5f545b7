"""Rules about what containers with GPUs start, and what they are told by their environment."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

NOT_WORDS: Final = Rule(
    "GPU1386",
    "error",
    "A container's command is a list of words, each by itself.",
    "No shell takes a list apart: of a whole line a program of that name is looked for, of two "
    "words in one there is no such option, and what follows the script of `sh -c` is lost.",
    "https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/",
)
NO_USE_OF_IT: Final = Rule(
    "GPU1387",
    "error",
    "A program on GPUs can use what its variables and its command line say.",
    "It ends as it starts, shares no GPU, or finds no network, no encoder or no place to write to, "
    "and the GPU that it asked for is held all the while.",
    "https://docs.vllm.ai/en/stable/configuration/env_vars/",
)
ONE_NODE: Final = Rule(
    "GPU1388",
    "error",
    "Pods get the volume that they claim, and a disk is where all that have it can be.",
    "An EBS volume is attached to one instance: pods on others stay in ContainerCreating with "
    "Multi-Attach error, and hold their GPUs, and for a claim that is for many none is made. It "
    "stays in one zone: where no node of its pod is there, the pod stays Pending. A claim of "
    "another class than the volume that it names is never bound.",
    "https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes",
)
OTHER_RUNTIME: Final = Rule(
    "GPU1389",
    "warning",
    "What needs NVIDIA's container runtime is started by it.",
    "Where runc is the default, a device plugin that it starts finds no library of the driver and "
    "makes no GPU known; an exporter finds none either.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/406",
)
