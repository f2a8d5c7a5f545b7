"""Rules about commands, in scripts and in documentation."""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule

BY_HAND = Rule(
    "GPU1062",
    "warning",
    "Labels and taints of nodes come with the nodes.",
    "What is put on a node by hand is gone when another takes its place: what selects by it, a "
    "device plugin's DaemonSet or a MIG layout, is then nowhere.",
    "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html",
)
BAD_TAINT = Rule(
    "GPU1063",
    "error",
    "A taint on a command line is KEY=VALUE:EFFECT.",
    "kubectl and eksctl refuse it, and the node stays open to every pod.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
NO_YAML = Rule(
    "GPU1064",
    "info",
    "A block of YAML in documentation can be read.",
    "Whoever copies it gets an error, and it is not checked.",
    "https://yaml.org/spec/1.1/",
)
NO_RESOURCES = Rule(
    "GPU1314",
    "warning",
    "kubectl run takes no resources of a pod.",
    "kubectl has no --limits and no --requests since 1.24 and refuses the command, so that the pod "
    "which was to show the GPU is never made.",
    "https://github.com/kubernetes/kubernetes/pull/108820",
)
NO_SUCH_CHART = Rule(
    "GPU1338",
    "error",
    "A command asks a repository of NVIDIA's for a chart that it has.",
    "Helm ends with `chart not found`, and nothing is installed. The repository "
    "https://nvidia.github.io/k8s-device-plugin is called after the project, and its chart "
    "nvidia-device-plugin.",
    "https://github.com/NVIDIA/k8s-device-plugin#deployment-via-helm",
)
