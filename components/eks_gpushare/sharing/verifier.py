"""What runs `eks-gpushare verify` in the cluster, as Kubernetes' own documents.

From five minutes on it is a CronJob, whose Jobs fail where the cluster is not as declared. More
often than that a Deployment looks, since a pod for each look would cost more than the look.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.sharing.labels import POOL_LABEL, PRESENT_LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.verifier import Verifier

OBJECT_NAME: Final = "eks-gpushare-verify"
"""Name of its objects in the cluster: one looks at all of it."""
LEAST_MIB: Final = 128
"""What is set aside for its pod in any case: a small cluster takes some 60 MiB."""
LONGEST_NAME: Final = 40
"""So that a namespace that ends with it is one."""
STACK_KEY: Final = "Pulumi.stack.yaml"
"""Key of the ConfigMap with what is declared."""
LABELS: Final[Mapping[str, str]] = {
    "app.kubernetes.io/name": OBJECT_NAME,
    "app.kubernetes.io/part-of": "eks-gpushare",
}
NAMESPACE_LABELS: Final[Mapping[str, str]] = {
    **LABELS,
    "pod-security.kubernetes.io/enforce": "restricted",
}
PORT: Final = 9464
"""Of Prometheus exporters of OpenTelemetry, and nobody else's in a pod of its own."""

_LEAST_CRON = 300
_MIB, _STEP_MIB, _MIB_PER_NODE = 2**20, 128, 0.25
"""What `benchmarks/verify_many_nodes.py` takes of each node with ten pods."""
_SPARE = 1.5
"""Of pods there may be more than ten on a node."""
_ENOUGH_MIB = 512
_REQUESTED = 4
"""So much less than its limit is set aside for it."""
_HOUR = 3600
_MINUTE = 60
_FOLDER = "/stack"
USER: Final = 65532
"""`nonroot` of images without a shell (https://github.com/GoogleContainerTools/distroless)."""
_MARGIN = 30
"""Seconds by which a Job ends before the next one is due."""


_NOT_ON_GPUS: Final[Mapping[str, Any]] = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {
            "weight": 100,
            "preference": {
                "matchExpressions": [
                    {"key": label, "operator": "DoesNotExist"}
                    for label in (POOL_LABEL, PRESENT_LABEL)
                ]
            },
        }
    ]
}
"""It looks at nodes with GPUs, and should not end with one; where there are no others, it is
better there than nowhere."""


def is_cron_job(verifier: Verifier) -> bool:
    """Whether a CronJob looks; else a Deployment does."""
    return verifier.interval_seconds >= _LEAST_CRON


def is_regular(seconds: int) -> bool:
    """Whether a CronJob can look so often: minutes are counted from each full hour anew."""
    return seconds % _MINUTE == 0 and _HOUR % seconds == 0


def schedule(seconds: int) -> str:
    """The times of a CronJob."""
    return "0 * * * *" if seconds == _HOUR else f"*/{seconds // _MINUTE} * * * *"


def verifier_namespace(verifier: Verifier) -> str:
    """The namespace of it, which ends with its name unless one was given."""
    if verifier.name is None or "namespace" in verifier.model_fields_set:
        return verifier.namespace
    return f"{verifier.namespace}-{verifier.name}"


def cluster_wide_name(verifier: Verifier) -> str:
    """Name of its objects that are in no namespace."""
    return OBJECT_NAME if verifier.name is None else f"{OBJECT_NAME}-{verifier.name}"


def memory_mib(verifier: Verifier) -> int | None:
    """Its limit of memory in MiB; None where that is no amount."""
    if verifier.memory is None:
        return _ENOUGH_MIB
    found = quantity(verifier.memory)
    return None if found is None else int(found // _MIB)


def memory_for(nodes: int) -> str | None:
    """A limit of memory for a cluster of so many nodes; None where what it has by default does."""
    wanted = ceil(_SPARE * nodes * _MIB_PER_NODE / _STEP_MIB) * _STEP_MIB
    return f"{wanted}Mi" if wanted > _ENOUGH_MIB else None


def cron_job(verifier: Verifier, account: Any, config_map: Any | None) -> dict[str, Any]:
    """The spec of the CronJob.

    Args:
        verifier: How it looks.
        account: Name of its service account.
        config_map: Name of the ConfigMap with what is declared; None for edges and state alone.
    """
    more = ["--json", "--interval", str(verifier.interval_seconds), *_events(verifier)]
    if verifier.pushgateway is not None:
        more += ["--push", verifier.pushgateway]
        more += ["--push-as", verifier.name] if verifier.name is not None else []
    return {
        "schedule": schedule(verifier.interval_seconds),
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": verifier.interval_seconds - _MARGIN,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 3,
        "jobTemplate": {
            "metadata": {"labels": dict(LABELS)},
            "spec": {
                "activeDeadlineSeconds": verifier.interval_seconds - _MARGIN,
                "backoffLimit": 0,
                "template": {
                    "metadata": {"labels": dict(LABELS)},
                    "spec": {
                        **_pod(verifier, account, config_map, more),
                        "restartPolicy": "Never",
                    },
                },
            },
        },
    }


def deployment(verifier: Verifier, account: Any, config_map: Any | None) -> dict[str, Any]:
    """The spec of the Deployment; arguments are as above."""
    more = ["--json", "--watch", str(verifier.interval_seconds), "--listen", f":{PORT}"]
    more += _events(verifier)
    pod = _pod(verifier, account, config_map, more)
    probe = {"httpGet": {"path": "/healthz", "port": "metrics"}, "timeoutSeconds": 5}
    pod["containers"][0] |= {
        "ports": [{"name": "metrics", "containerPort": PORT}],
        "readinessProbe": probe,
        "livenessProbe": {**probe, "periodSeconds": _MINUTE},
    }
    return {
        "replicas": 1,
        # Two at a time would be counted twice.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": {"app.kubernetes.io/name": OBJECT_NAME}},
        "template": {
            "metadata": {
                "labels": dict(LABELS),
                "annotations": {
                    "prometheus.io/scrape": "true",
                    "prometheus.io/port": str(PORT),
                },
            },
            "spec": pod,
        },
    }


def service() -> dict[str, Any]:
    """The spec of the Service by which a ServiceMonitor finds the metrics."""
    return {
        "clusterIP": "None",
        "selector": {"app.kubernetes.io/name": OBJECT_NAME},
        "ports": [{"name": "metrics", "port": PORT, "targetPort": "metrics"}],
    }


def _events(verifier: Verifier) -> list[str]:
    return ["--events"] if verifier.events else []


def _pod(verifier: Verifier, account: Any, config_map: Any | None, more: list[str]) -> Any:
    mib = memory_mib(verifier) or _ENOUGH_MIB
    declared = [] if config_map is None else [f"{_FOLDER}/{STACK_KEY}"]
    mounts: list[Any] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108  (an emptyDir of the pod's own)
    volumes: list[Any] = [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}]
    if config_map is not None:
        mounts.append({"name": "stack", "mountPath": _FOLDER, "readOnly": True})
        volumes.append({"name": "stack", "configMap": {"name": config_map}})
    return {
        "serviceAccountName": account,
        "automountServiceAccountToken": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "affinity": {"nodeAffinity": dict(_NOT_ON_GPUS)},
        # Nodes for the cluster's own, as those that EKS's add-ons tolerate.
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "verify",
                "image": verifier.image,
                "args": ["verify", *more, *declared],
                "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108  (as above)
                "resources": {
                    "requests": {"cpu": "100m", "memory": f"{max(LEAST_MIB, mib // _REQUESTED)}Mi"},
                    "limits": {"memory": verifier.memory or f"{_ENOUGH_MIB}Mi"},
                },
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": mounts,
            }
        ],
        "volumes": volumes,
    }
