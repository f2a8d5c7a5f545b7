"""The fields of a pod that have to do with where it runs and what it gets.

Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/, v1.35.
"""

from __future__ import annotations

from typing import Final

POD: Final = frozenset(
    (
        *("activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers"),
        *("dnsConfig", "dnsPolicy", "enableServiceLinks", "ephemeralContainers", "hostAliases"),
        *("hostIPC", "hostNetwork", "hostPID", "hostUsers", "hostname", "hostnameOverride"),
        *("imagePullSecrets", "initContainers", "nodeName", "nodeSelector", "os", "overhead"),
        *("preemptionPolicy", "priority", "priorityClassName", "readinessGates"),
        *("resourceClaims", "resources", "restartPolicy", "runtimeClassName", "schedulerName"),
        *("schedulingGates", "schedulingGroup", "securityContext", "serviceAccount"),
        *("serviceAccountName",),
        *("setHostnameAsFQDN", "shareProcessNamespace", "subdomain"),
        *("terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints"),
        *("volumes", "workloadRef"),
    )
)
CONTAINER: Final = frozenset(
    (
        *("args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle"),
        *("livenessProbe", "name", "ports", "readinessProbe", "resizePolicy", "resources"),
        *("restartPolicy", "restartPolicyRules", "securityContext", "startupProbe", "stdin"),
        *("stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty"),
        *("volumeDevices", "volumeMounts", "workingDir", "targetContainerName"),
    )
)
RESOURCES: Final = frozenset(("limits", "requests", "claims"))
TOLERATION: Final = frozenset(("key", "operator", "value", "effect", "tolerationSeconds"))
OPERATORS: Final = ("Exists", "Equal", "Gt", "Lt")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
ONLY_PODS: Final = frozenset(
    ("affinity", "containers", "nodeSelector", "runtimeClassName", "tolerations")
)
"""Fields that none of the kinds around pods has."""


def is_plain(kind: str) -> bool:
    """Whether a kind is one of Kubernetes' own, whose pods are as they are written."""
    return kind in (
        *("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"),
        *("ReplicationController", "PodTemplate"),
    )
