"""The fields of a pod that have to do with where it runs and what it gets.

Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/, v1.35.
"""

from __future__ import annotations

import re
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
VARIABLE: Final = frozenset(("name", "value", "valueFrom"))
_OF_KEYS: Final = frozenset(("name", "key", "optional"))
VALUE_FROM: Final = {
    "fieldRef": frozenset(("apiVersion", "fieldPath")),
    "resourceFieldRef": frozenset(("containerName", "resource", "divisor")),
    "fileKeyRef": frozenset(("volumeName", "path", "key", "optional")),
    "configMapKeyRef": _OF_KEYS,
    "secretKeyRef": _OF_KEYS,
}
"""Where the value of a variable comes from, each with its fields."""
TOLERATION: Final = frozenset(("key", "operator", "value", "effect", "tolerationSeconds"))
WITHIN_POD: Final = {
    "tolerations": TOLERATION,
    "affinity": frozenset(("nodeAffinity", "podAffinity", "podAntiAffinity")),
    "imagePullSecrets": frozenset(("name",)),
    "resourceClaims": frozenset(  # `source` is told of where the claims are: GPU1149
        ("name", "resourceClaimName", "resourceClaimTemplateName", "source")
    ),
    "securityContext": frozenset(
        (
            *("appArmorProfile", "fsGroup", "fsGroupChangePolicy", "runAsGroup", "runAsNonRoot"),
            *("runAsUser", "seLinuxChangePolicy", "seLinuxOptions", "seccompProfile"),
            *("supplementalGroups", "supplementalGroupsPolicy", "sysctls", "windowsOptions"),
        )
    ),
    "topologySpreadConstraints": frozenset(
        (
            *("labelSelector", "matchLabelKeys", "maxSkew", "minDomains", "nodeAffinityPolicy"),
            *("nodeTaintsPolicy", "topologyKey", "whenUnsatisfiable"),
        )
    ),
    "volumes": frozenset(
        (
            *("awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "configMap"),
            *("csi", "downwardAPI", "emptyDir", "ephemeral", "fc", "flexVolume", "flocker"),
            *("gcePersistentDisk", "gitRepo", "glusterfs", "hostPath", "image", "iscsi", "name"),
            *("nfs", "persistentVolumeClaim", "photonPersistentDisk", "portworxVolume"),
            *("projected", "quobyte", "rbd", "scaleIO", "secret", "storageos", "vsphereVolume"),
        )
    ),
}
"""Fields of what stands under fields of a pod."""
_PROBE: Final = frozenset(
    (
        *("exec", "failureThreshold", "grpc", "httpGet", "initialDelaySeconds", "periodSeconds"),
        *("successThreshold", "tcpSocket", "terminationGracePeriodSeconds", "timeoutSeconds"),
    )
)
WITHIN_CONTAINER: Final = {
    "resources": RESOURCES,
    "env": VARIABLE,
    "envFrom": frozenset(("configMapRef", "prefix", "secretRef")),
    "lifecycle": frozenset(("postStart", "preStop", "stopSignal")),
    "ports": frozenset(("containerPort", "hostIP", "hostPort", "name", "protocol")),
    "securityContext": frozenset(
        (
            *("allowPrivilegeEscalation", "appArmorProfile", "capabilities", "privileged"),
            *("procMount", "readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser"),
            *("seLinuxOptions", "seccompProfile", "windowsOptions"),
        )
    ),
    "volumeMounts": frozenset(
        (
            *("mountPath", "mountPropagation", "name", "readOnly", "recursiveReadOnly"),
            *("subPath", "subPathExpr"),
        )
    ),
    **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), _PROBE),
}
"""Fields of what stands under fields of a container."""
LISTS: Final = frozenset(
    (
        *("env", "envFrom", "imagePullSecrets", "ports", "resourceClaims", "tolerations"),
        *("topologySpreadConstraints", "volumeMounts", "volumes"),
    )
)
"""Those of which there are several."""
OPERATORS: Final = ("Exists", "Equal", "Gt", "Lt")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
ONLY_PODS: Final = frozenset(
    ("affinity", "containers", "nodeSelector", "runtimeClassName", "tolerations")
)
"""Fields that none of the kinds around pods has."""


PATHS: Final = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName"),
    *("spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP"),
    "status.podIPs",
)
"""What variables can have of their pod:
https://kubernetes.io/docs/concepts/workloads/pods/downward-api/#available-fields"""
_OF_KEY: Final = re.compile(r"metadata\.(?:labels|annotations)\['[^']+'\]")
_WRITTEN: Final = re.compile(r"[A-Za-z0-9._/\['\]-]+")
"""By a hand, without placeholders."""


def is_no_path(given: str) -> bool:
    """Whether a variable asks for what it cannot have of its pod."""
    return (
        given not in PATHS
        and _OF_KEY.fullmatch(given) is None
        and _WRITTEN.fullmatch(given) is not None
    )


def is_plain(kind: str) -> bool:
    """Whether a kind is one of Kubernetes' own, whose pods are as they are written."""
    return kind in (
        *("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"),
        *("ReplicationController", "PodTemplate"),
    )
