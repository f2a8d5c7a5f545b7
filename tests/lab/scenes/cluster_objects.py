"""Objects that somebody applies to a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cluster_breaking import GPU

if TYPE_CHECKING:
    from cluster_breaking import Object


def pod_spec(resource: str = GPU, count: int = 1, **more: Any) -> Object:
    container = {
        "name": "main",
        "image": "registry.example.com/main:1",
        "resources": {"limits": {resource: str(count)}},
    }
    return {"containers": [container], **more}


def workload(
    name: str, spec: Object, replicas: int = 1, kind: str = "Deployment", space: str = "default"
) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    metadata = {"name": name, "namespace": space}
    if kind in {"Job", "CronJob"}:
        spec["restartPolicy"] = "Never"
        job: Object = {"template": template}
        if kind == "CronJob":
            job = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job}}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": job}
    of_kind = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        of_kind["serviceName"] = name
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": of_kind}


def about(api: str, kind: str, name: str = "one", *, space: str = "default", **body: Any) -> Object:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": space},
        **body,
    }


def quota(**hard: str) -> Object:
    return about("v1", "ResourceQuota", spec={"hard": hard})
