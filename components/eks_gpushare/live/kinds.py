"""The kinds of objects that are read of a cluster: with `get` and `list`, and no Secret among them.

One list: the requests, the ClusterRole of `--rbac` and what is said of missing rights come from it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Where: TypeAlias = Literal["always", "tenants", "claims", "refusals", "stuck"]
"""Where a kind is asked for: `tenants` is where a stack declares some, `claims` where something
names claims of devices, `refusals` where a controller has fewer pods than it wants, `stuck` where a
pod has a node and its containers are not created."""


class ListedKind(NamedTuple):
    """A kind that is read."""

    kind: str
    group: str
    """Empty for the core of Kubernetes."""
    plural: str
    for_: str
    """What is not known without it."""
    version: str = ""
    """Where it is always served; empty of a custom resource, whose version the server says."""
    selector: str = ""
    """A field selector that leaves out what is of no use here."""
    where: Where = "always"
    """Where it is asked for; a kind that hangs on others comes after them."""

    def path(self, version: str) -> str:
        """Where an API server lists all of them."""
        base = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        return f"{base}/{self.plural}"


_ADMISSION = "admissionregistration.k8s.io"

LISTED = (
    ListedKind("Node", "", "nodes", "which nodes there are and what they advertise", "v1"),
    ListedKind("Pod", "", "pods", "which pods run, wait or were refused", "v1"),
    ListedKind(
        "ConfigMap",
        "",
        "configmaps",
        "what the device plugin reads",
        "v1",
        "metadata.name!=kube-root-ca.crt",
    ),
    ListedKind("Namespace", "", "namespaces", "whose namespaces they are", "v1"),
    ListedKind("ResourceQuota", "", "resourcequotas", "which quota refuses pods", "v1"),
    ListedKind("DaemonSet", "apps", "daemonsets", "whether a device plugin is there", "v1"),
    ListedKind("Deployment", "apps", "deployments", "what makes the pods", "v1"),
    ListedKind("StatefulSet", "apps", "statefulsets", "what makes the pods", "v1"),
    ListedKind("Job", "batch", "jobs", "what makes the pods", "v1"),
    ListedKind("CronJob", "batch", "cronjobs", "what will make pods", "v1"),
    ListedKind("PodDisruptionBudget", "policy", "poddisruptionbudgets", "what holds nodes", "v1"),
    ListedKind(
        "NetworkPolicy",
        "networking.k8s.io",
        "networkpolicies",
        "who reaches pods of tenants",
        "v1",
        where="tenants",
    ),
    ListedKind(
        "ValidatingAdmissionPolicy",
        _ADMISSION,
        "validatingadmissionpolicies",
        "what pods of tenants may ask for",
        "v1",
        where="tenants",
    ),
    ListedKind(
        "ValidatingAdmissionPolicyBinding",
        _ADMISSION,
        "validatingadmissionpolicybindings",
        "whom admission policies are for",
        "v1",
        where="tenants",
    ),
    ListedKind(
        "MutatingAdmissionPolicy",
        _ADMISSION,
        "mutatingadmissionpolicies",
        "what is added to pods of tenants",
        where="tenants",
    ),
    ListedKind(
        "MutatingAdmissionPolicyBinding",
        _ADMISSION,
        "mutatingadmissionpolicybindings",
        "whose pods something is added to",
        where="tenants",
    ),
    ListedKind("NodePool", "karpenter.sh", "nodepools", "what Karpenter may launch"),
    ListedKind("NodeClaim", "karpenter.sh", "nodeclaims", "which nodes Karpenter waits for"),
    ListedKind("NodeOverlay", "karpenter.sh", "nodeoverlays", "what Karpenter takes nodes for"),
    ListedKind("EC2NodeClass", "karpenter.k8s.aws", "ec2nodeclasses", "what Karpenter launches"),
    ListedKind("ScaledObject", "keda.sh", "scaledobjects", "what KEDA scales"),
    ListedKind("ClusterQueue", "kueue.x-k8s.io", "clusterqueues", "what Kueue admits"),
    ListedKind("Workload", "kueue.x-k8s.io", "workloads", "for what Kueue holds pods back"),
    ListedKind("LocalQueue", "kueue.x-k8s.io", "localqueues", "which queues there are"),
    ListedKind(
        "ResourceFlavor",
        "kueue.x-k8s.io",
        "resourceflavors",
        "on which nodes Kueue lands pods",
    ),
    ListedKind(
        "Cohort",
        "kueue.x-k8s.io",
        "cohorts",
        "what tenants may borrow of each other",
        where="tenants",
    ),
    ListedKind(
        "DeviceClass",
        "resource.k8s.io",
        "deviceclasses",
        "what claims may ask for",
        where="claims",
    ),
    ListedKind(
        "ResourceClaim",
        "resource.k8s.io",
        "resourceclaims",
        "which claims pods have",
        where="claims",
    ),
    ListedKind(
        "ResourceClaimTemplate",
        "resource.k8s.io",
        "resourceclaimtemplates",
        "what claims of pods are made from",
        where="claims",
    ),
    ListedKind(
        "Event",
        "",
        "events",
        "why pods cannot be created",
        "v1",
        "reason=FailedCreate",
        where="refusals",
    ),
    ListedKind(
        "Event",
        "",
        "events",
        "why containers of pods are not created",
        "v1",
        "type=Warning,involvedObject.kind=Pod",
        where="stuck",
    ),
)
"""Those without a version, mostly custom ones, are asked for only where the server has them."""

NEEDED = ("Node", "Pod")
"""Without these nothing can be said."""


_WRITING = {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]}
EVENTS_SOURCE = "eks-gpushare-verify"
"""Component by whose name Events that `verify` writes are known."""
OWN_EVENTS = ListedKind(
    "Event", "", "events", "which were told before", "v1", f"source={EVENTS_SOURCE}"
)


def cluster_role(name: str, *, events: bool = False) -> dict[str, object]:
    """A ClusterRole that allows exactly what is read.

    Args:
        name: Its name.
        events: Whether Events may be written as well, and nothing else.
    """
    groups: dict[str, list[str]] = {}
    for listed in LISTED:
        plurals = groups.setdefault(listed.group, [])
        if listed.plural not in plurals:  # events are asked for twice
            plurals.append(listed.plural)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [
            {"apiGroups": [group], "resources": plurals, "verbs": ["get", "list"]}
            for group, plurals in groups.items()
        ]
        + ([_WRITING] if events else []),
    }
