"""Faults of workloads, and of what decides on them: quotas, policies, KEDA, Kueue, Karpenter."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from cluster_breaking import GPU, ClusterFault, Object, served, there_is, wait_until
from cluster_machines import (
    BOTTLEROCKET_ALL,
    EXCLUSIVE,
    KARPENTER,
    MIXED,
    MPS,
    OPERATED,
    OPERATED_MIG,
    RENAMED,
    SLICED,
    TOLERATES,
    fault,
)
from cluster_objects import about, pod_spec, quota, workload

from eks_gpushare_lab.client import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cluster_breaking import Change

    from eks_gpushare_lab.client import Client


KUEUE_GATE = {"name": "kueue.x-k8s.io/admission"}


def of_pods() -> list[ClusterFault]:
    found = []
    for machine in (SLICED, MPS, MIXED, RENAMED, OPERATED, OPERATED_MIG, BOTTLEROCKET_ALL):
        spec = pod_spec(machine.resource, tolerations=machine.tolerations)
        many = workload("many", spec, machine.shares + 1)
        found.append(
            fault(
                f"too many pods for {machine.resource}",
                machine,
                "GPU1341",
                there_is(many),
                about="many",
            )
        )
    for machine in (SLICED, MIXED, OPERATED):
        odd = pod_spec("nvidia.com/mig-9g.1gb")
        away = pod_spec(
            machine.resource, nodeSelector={"no": "where"}, tolerations=machine.tolerations
        )
        found += [
            fault(
                "a share that nobody has",
                machine,
                "GPU1110",
                there_is(workload("odd", odd, 2)),
                follows="GPU1340",
                about="odd",
                always=machine is SLICED,
            ),
            fault(
                "nodes that nobody has",
                machine,
                "GPU1112",
                there_is(workload("away", away, 2)),
                follows="GPU1340",
                about="away",
            ),
        ]
    for machine in (MIXED, RENAMED, OPERATED_MIG):
        found.append(
            fault(
                "no toleration",
                machine,
                "GPU1111",
                there_is(workload("bare", pod_spec(machine.resource), 2)),
                follows="GPU1340",
                about="bare",
            )
        )
    for kind in ("StatefulSet", "Job", "CronJob"):
        found.append(
            fault(
                f"a {kind} for a share that nobody has",
                SLICED,
                "GPU1110",
                there_is(workload("odd", pod_spec("nvidia.com/gpu.shared"), kind=kind)),
                about="odd",
            )
        )
    found += [
        *(
            fault(
                "two shares in a container",
                machine,
                "GPU1113",
                there_is(workload("two", pod_spec(count=2))),
                about="two",
            )
            for machine in (SLICED, MPS)
        ),
        fault(
            "more than there is",
            SLICED,
            "GPU1113",
            there_is(workload("big", pod_spec(count=50))),
            follows="GPU1115 GPU1340",
            about="big",
        ),
        fault(
            "more GPUs than a node has",
            EXCLUSIVE,
            "GPU1115",
            there_is(workload("big", pod_spec(count=50))),
            follows="GPU1340",
            about="big",
        ),
        fault(
            "memory that no node has",
            SLICED,
            "GPU1340",
            there_is(workload("fat", fat())),
            about="fat",
        ),
        fault(
            "a gate",
            SLICED,
            "GPU1344",
            there_is(
                about(
                    "v1",
                    "Pod",
                    "queued",
                    spec=pod_spec(schedulingGates=[KUEUE_GATE]),
                )
            ),
            about="queued",
        ),
        fault(
            "a budget that holds all",
            SLICED,
            "GPU1195",
            there_is(
                workload("held", pod_spec(), 2),
                about(
                    "policy/v1",
                    "PodDisruptionBudget",
                    spec={"minAvailable": 2, "selector": {"matchLabels": {"app": "held"}}},
                ),
            ),
            about="one",
        ),
        fault(
            "a quota that refuses",
            SLICED,
            "GPU1343",
            there_is(quota(**{f"requests.{GPU}": "1"}), workload("more", pod_spec(), 3)),
            about="more",
        ),
        fault(
            "a quota that refuses",
            MIXED,
            "GPU1343",
            there_is(
                quota(**{f"requests.{MIXED.resource}": "1"}),
                workload("more", pod_spec(MIXED.resource, tolerations=TOLERATES), 3),
            ),
            about="more",
        ),
        fault(
            "a quota on nobody's resource",
            SLICED,
            "GPU1150",
            there_is(quota(**{"requests.nvidia.com/gpu.shared": "4"})),
            about="one",
        ),
        fault(
            "a quota beyond all nodes",
            SLICED,
            "GPU1151",
            there_is(quota(**{f"requests.{GPU}": "400"})),
            about="one",
        ),
        fault(
            "pod security refuses",
            SLICED,
            "GPU1343",
            there_is(
                strict_space(), workload("rooted", pod_spec(hostNetwork=True), space="strict")
            ),
            about="rooted",
        ),
        fault(
            "an admission policy refuses",
            SLICED,
            "GPU1343",
            refusing(),
            there_is(workload("named", pod_spec())),
            about="named",
        ),
        fault(
            "a node of Karpenter that does not come",
            KARPENTER,
            "GPU1351",
            there_is(workload("first", pod_spec("nvidia.com/gpu.shared", tolerations=TOLERATES))),
            about="first",
        ),
        fault(
            "a claim that nobody makes",
            SLICED,
            "GPU1148",
            there_is(workload("claims", claiming())),
            about="claims",
        ),
    ]
    return found


def fat() -> Object:
    spec = pod_spec()
    spec["containers"][0]["resources"]["requests"] = {"memory": "9000Gi"}
    return spec


def strict_space() -> Object:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "strict", "labels": labels},
    }


def policy() -> tuple[Object, Object]:
    name = "no-pods-named"
    api = "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    says = {"expression": "!object.metadata.name.startsWith('named')", "message": "not these"}
    spec = {
        "failurePolicy": "Ignore",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [says],
    }
    return (
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": spec,
        },
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    )


def refusing() -> Change:
    """The policy, once the API server goes by it."""

    @contextmanager
    def made(client: Client) -> Iterator[None]:
        tried = {"metadata": {"name": "named-1"}, "spec": pod_spec()}

        def is_refused() -> bool:
            try:
                client.request(
                    "POST", "/api/v1/namespaces/default/pods", query={"dryRun": "All"}, body=tried
                )
            except ApiError as error:
                return "not these" in error.message
            return False

        with there_is(*policy())(client):
            wait_until(is_refused)
            yield

    return made


def claiming() -> Object:
    container = {
        "name": "main",
        "image": "registry.example.com/main:1",
        "resources": {"claims": [{"name": "gpu"}]},
    }
    claim = {"name": "gpu", "resourceClaimTemplateName": "nobodys"}
    return {"containers": [container], "resourceClaims": [claim]}


def of_custom_resources() -> list[ClusterFault]:
    keda = served(("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects"))
    kueue = served(("kueue.x-k8s.io", "v1beta2", "Workload", "workloads"))
    karpenter = served(
        ("karpenter.sh", "v1", "NodeClaim", "nodeclaims"),
        ("karpenter.sh", "v1", "NodePool", "nodepools"),
    )
    failing = {
        "conditions": [{"type": "Ready", "status": "False", "message": "failed to ensure HPA"}]
    }
    launched = {"conditions": [{"type": "Launched", "status": "Unknown", "message": "no capacity"}]}
    claim = about("karpenter.sh/v1", "NodeClaim", "gpu-x", status=launched)
    claim["metadata"] = {"name": "gpu-x", "labels": {"karpenter.sh/nodepool": "gpu"}}
    said = {
        "conditions": [
            {"type": "QuotaReserved", "status": "False", "message": "insufficient unused quota"}
        ]
    }
    queued = about(
        "v1",
        "Pod",
        "queued",
        spec=pod_spec(MIXED.resource, tolerations=TOLERATES, schedulingGates=[KUEUE_GATE]),
    )
    return [
        fault(
            "a scaler of nothing",
            SLICED,
            "GPU1191",
            keda,
            there_is(
                about(
                    "keda.sh/v1alpha1",
                    "ScaledObject",
                    spec={"scaleTargetRef": {"name": "gone"}, "triggers": []},
                )
            ),
            about="one",
        ),
        fault(
            "a scaler that KEDA does not take",
            SLICED,
            "GPU1353",
            keda,
            there_is(
                workload("model", pod_spec()),
                about(
                    "keda.sh/v1alpha1",
                    "ScaledObject",
                    spec={"scaleTargetRef": {"name": "model"}, "triggers": []},
                    status=failing,
                ),
            ),
            about="one",
        ),
        fault(
            "a node that never came, of a NodePool that is gone",
            KARPENTER,
            "GPU1374",
            karpenter,
            there_is(claim),
            follows="GPU1352",
            about="gpu",
        ),
        fault(
            "a gate of Kueue",
            MIXED,
            "GPU1344",
            kueue,
            there_is(queued, about("kueue.x-k8s.io/v1beta2", "Workload", status=said)),
            about="queued",
        ),
    ]
