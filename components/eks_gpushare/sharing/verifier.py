"""What runs `eks-gpushare verify` in the cluster, as Kubernetes' own documents.

From five minutes on it is a CronJob, whose Jobs fail where the cluster is not as declared. More
often than that a Deployment looks, since a pod for each look would cost more than the look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.verifier import Verifier

OBJECT_NAME: Final = "eks-gpushare-verify"
"""Name of its objects in the cluster: one looks at all of it."""
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
_HOUR = 3600
_MINUTE = 60
_FOLDER = "/stack"
_USER = 65532
"""`nonroot` of images without a shell (https://github.com/GoogleContainerTools/distroless)."""
_MARGIN = 30
"""Seconds by which a Job ends before the next one is due."""


def is_cron_job(verifier: Verifier) -> bool:
    """Whether a CronJob looks; else a Deployment does."""
    return verifier.interval_seconds >= _LEAST_CRON


def is_regular(seconds: int) -> bool:
    """Whether a CronJob can look so often: minutes are counted from each full hour anew."""
    return seconds % _MINUTE == 0 and _HOUR % seconds == 0


def schedule(seconds: int) -> str:
    """The times of a CronJob."""
    return "0 * * * *" if seconds == _HOUR else f"*/{seconds // _MINUTE} * * * *"


def cron_job(verifier: Verifier, account: Any, config_map: Any | None) -> dict[str, Any]:
    """The spec of the CronJob.

    Args:
        verifier: How it looks.
        account: Name of its service account.
        config_map: Name of the ConfigMap with what is declared; None for edges and state alone.
    """
    more = ["--json"]
    if verifier.pushgateway is not None:
        more += ["--push", verifier.pushgateway]
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


def _pod(verifier: Verifier, account: Any, config_map: Any | None, more: list[str]) -> Any:
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
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "verify",
                "image": verifier.image,
                "args": ["verify", *more, *declared],
                "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108  (as above)
                "resources": {
                    "requests": {"cpu": "100m", "memory": "128Mi"},
                    # A thousand nodes with 13,000 pods take 231 MB (docs/verify.md).
                    "limits": {"memory": "512Mi"},
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
