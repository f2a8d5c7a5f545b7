"""Rules about the files that a stack file names; `stack_file.local_files` looks at them."""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule

KUBECONFIG = Rule(
    "GPU470",
    "error",
    "A kubeconfig is a file that can be read.",
    "The program stops at it, wherever it runs: on your machine, and in CI.",
    "https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/",
)
CONTEXT = Rule(
    "GPU471",
    "error",
    "The context of a kubeconfig is in it, with its cluster and user.",
    "The Kubernetes provider finds no cluster and reports every resource as unreachable.",
    "https://kubernetes.io/docs/tasks/access-application-cluster/configure-access-multiple-clusters/",
)
CHART_ON_DISK = Rule(
    "GPU472",
    "error",
    "A chart on disk is there.",
    "Helm takes a path that leads nowhere for the name of a chart in a repository.",
    "https://helm.sh/docs/helm/helm_install/",
)
