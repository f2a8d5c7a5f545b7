"""The edges of what holds tenants: namespaces, quotas, policies, queues, and their nodes.

Apart from the other stacks' table: one stack alone has them, so each is tried there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stack_mutants.edge import Edges, holds
from stack_mutants.operators import DROP, OTHER, RENAME, swap, to
from stack_mutants.wholes import WITHOUT

if TYPE_CHECKING:
    from collections.abc import Mapping

_TENANT = "eks-gpushare.io/tenant"
_LABELS = "metadata > labels"
_HARD = "spec > hard"
_SMALL = "requests.nvidia.com/gpu"
_QUEUED = "spec > resourceGroups > 0"

TENANT_EDGES = (
    *Edges("Namespace", holds("metadata", "labels", _TENANT))
    .at(f"{_LABELS} > {_TENANT}", "leak", DROP, OTHER)
    .at(f"{_LABELS} > eks-gpushare.io/isolation", "leak", DROP, OTHER)
    .at(f"{_LABELS} > pod-security.kubernetes.io/enforce", "leak", DROP, to("privileged"))
    .found,
    *Edges("ResourceQuota", holds("spec", "hard", _SMALL))
    .at("", "leak", WITHOUT)
    .at(f"{_HARD} > {_SMALL}", "leak", DROP, to("1000"))
    .at(f"{_HARD} > {_SMALL}", "leak", RENAME)
    .at("metadata > namespace", "leak", OTHER)
    .found,
    *Edges("ResourceQuota", holds("spec", "scopeSelector")).at("", "pods", WITHOUT).found,
    *Edges("NetworkPolicy")
    .at("", "leak", WITHOUT)
    .at("spec > ingress", "leak", DROP)
    .at("spec > egress", "leak", DROP)
    .found,
    *Edges("RoleBinding").at("roleRef > name", "rights", to("cluster-admin")).found,
    *Edges("ValidatingAdmissionPolicy")
    .at("", "leak", WITHOUT)
    .at("spec > failurePolicy", "leak", to("Ignore"))
    .at("spec > validations > 0", "leak", DROP)
    .found,
    *Edges("ValidatingAdmissionPolicyBinding")
    .at("", "leak", WITHOUT)
    .at("spec > validationActions", "leak", to(["Audit"], "to a note"))
    .at("spec > paramRef > namespace", "leak", DROP)
    .at("spec > policyName", "leak", OTHER)
    .found,
    *Edges("ConfigMap", holds("data", "poolLabel"))
    .at("", "leak", WITHOUT)
    .at("data > pools", "leak", OTHER)
    .at("data > resources", "leak", to("nvidia.com/gpu"))
    .at("data > queued", "leak", DROP)
    .found,
    *Edges("ClusterQueue")
    .at("", "pods", WITHOUT)
    .at(f"{_QUEUED} > flavors > 0 > name", "pods", OTHER)
    .at(f"{_QUEUED} > flavors > 0 > resources > 0 > nominalQuota", "pods", to(1000))
    .at("spec > namespaceSelector", "pods", DROP)
    .at("spec > cohortName", "pods", OTHER)
    .at("spec > preemption > reclaimWithinCohort", "pods", to("Never"))
    .at(f"{_QUEUED} > flavors > 1 > resources > 4 > borrowingLimit", "pods", to(100))
    .found,
    *Edges("LocalQueue").at("", "pods", WITHOUT).at("spec > clusterQueue", "pods", OTHER).found,
    *Edges("ResourceFlavor")
    .at("", "pods", WITHOUT)
    .at("spec > nodeLabels > eks-gpushare/pool", "pods", OTHER, RENAME)
    .at("spec > tolerations", "pods", DROP)
    .found,
    *Edges("LaunchTemplate", lambda each: "slices" in each.name)
    .at(
        "userData > (base64)",
        "leak",
        swap("-unprivileged=false", "-unprivileged=true", "open"),
    )
    .found,
    *Edges("ConfigMap", holds("data", "slices"))
    .at("data > slices", "pods", swap("volume-mounts", "envvar", "by the variable"))
    .found,
)
"""All of them."""

_RIGHTS = "rights: whom a RoleBinding makes what is for whoever watches the rights of a cluster"
_NOBODY = "no matter: nobody else's pods are on these nodes in the stack that is tried"
TENANT_REASONS: Mapping[str, str] = {
    "*/LaunchTemplate:*": _NOBODY,
    "*/RoleBinding:*": _RIGHTS,
}
"""Why no check catches some, by a pattern of the name."""
