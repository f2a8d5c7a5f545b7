"""What makes pods: how many it wants, how it is called, which events are about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eks_gpushare.live.pods import PodOwner
from eks_gpushare_lab.observing import observer

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Object

SCALABLE = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments/{}",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets/{}",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets/{}",
    "ReplicationController": "/api/v1/namespaces/{}/replicationcontrollers/{}",
}
"""Paths of the workloads that have replicas, by kind."""

DAEMON_SET = "/apis/apps/v1/namespaces/{}/daemonsets/{}"
"""Path of a DaemonSet."""
JOB = "/apis/batch/v1/namespaces/{}/jobs/{}"
"""Path of a Job."""
CRON_JOB = "/apis/batch/v1/namespaces/{}/cronjobs/{}"
"""Path of a CronJob."""
POD = "/api/v1/namespaces/{}/pods/{}"
"""Path of a Pod."""
SCALED_OBJECTS = "/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects"
"""Path of KEDA's ScaledObjects."""
PAUSED = "autoscaling.keda.sh/paused-replicas"
"""Annotation by which KEDA keeps a workload at a number of pods
(https://keda.sh/docs/latest/concepts/scaling-deployments/#pausing-autoscaling)."""
JOBS = ("Job", "CronJob")
"""Kinds whose pods come to an end."""
_SHORT = {
    "deploy": "deployment",
    "sts": "statefulset",
    "ds": "daemonset",
    "rs": "replicaset",
    "rc": "replicationcontroller",
    "cj": "cronjob",
    "po": "pod",
}
"""kubectl's short names of kinds."""


def wanted_by(given: Object) -> tuple[PodOwner, int | None] | None:
    """A workload with the pods that it wants, None where that is not known; None for others."""
    metadata, kind = given["metadata"], given["kind"]
    workload = PodOwner(metadata.get("namespace") or "default", kind, metadata.get("name", ""))
    spec = given.get("spec") or {}
    if kind in SCALABLE:
        # A Deployment that is paused makes no pods, however many it wants.
        return workload, None if spec.get("paused") else int(spec.get("replicas", 1))
    if kind == "Pod":
        return workload, 1
    return (workload, None) if kind in {*JOBS, "DaemonSet"} else None


def outcomes(job: Object) -> dict[str, Object]:
    """What has become of a Job, by type of condition: Complete or Failed, if it is over."""
    conditions = job.get("status", {}).get("conditions") or ()
    return {
        condition["type"]: condition for condition in conditions if condition["status"] == "True"
    }


def is_over(job: Object) -> bool:
    """Whether a Job has come to its end, well or not."""
    return not outcomes(job).keys().isdisjoint({"Complete", "Failed"})


def at_once(job: Object, succeeded: int) -> int:
    """Pods that a Job wants to have at once, when so many have succeeded."""
    spec = job["spec"]
    parallel, completions = int(spec.get("parallelism", 1)), spec.get("completions")
    if completions is None:  # a queue of work: when one has found it empty, no more are made
        return 0 if succeeded else parallel
    return max(0, min(parallel, int(completions) - succeeded))


def is_called(workload: PodOwner, name: str) -> bool:
    """Whether a name, with or without namespace and kind, is that of a workload."""
    if name in {workload.name, str(workload)}:
        return True
    kind, _, rest = name.lower().partition("/")
    kind = _SHORT.get(kind, kind).partition(".")[0]
    own = workload.kind.lower()
    return kind in {own, f"{own}s"} and rest in {workload.name, str(workload)}


def is_about(involved: Object, workload: PodOwner, trial: str | None) -> bool:
    """Whether an event's object is a workload, or what it makes its pods by."""
    if involved.get("namespace") != workload.namespace:
        return False
    name, kind = involved.get("name", ""), involved.get("kind")
    if kind == workload.kind:
        return bool(name == workload.name)
    if trial is not None and kind == "Job":
        return bool(name == trial)
    # A ReplicaSet is called after its Deployment and a hash.
    return workload.kind == "Deployment" and name.rpartition("-")[0] == workload.name


def trial_of(cron_job: Object) -> Object:
    """A Job of a CronJob, as `kubectl create job --from=cronjob/NAME` makes it."""
    metadata, template = cron_job["metadata"], cron_job["spec"]["jobTemplate"]
    spec = json.loads(json.dumps(template["spec"]))
    noted = spec["template"].setdefault("metadata", {}).setdefault("annotations", {})
    noted[observer.CRON_JOB] = metadata["name"]
    owner = {
        "apiVersion": cron_job["apiVersion"],
        "kind": "CronJob",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    made = {
        "generateName": f"{metadata['name']}-lab-",
        "namespace": metadata["namespace"],
        "labels": (template.get("metadata") or {}).get("labels") or {},
        "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
        "ownerReferences": [owner],
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": made, "spec": spec}
