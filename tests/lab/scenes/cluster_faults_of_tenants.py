"""Faults of what holds tenants to their contracts."""

from __future__ import annotations

from cluster_breaking import ClusterFault, Object, object_at, patched, replaced

STACK = "tenants"
CODE = "GPU1370"
_SPACE = "/api/v1/namespaces/vision"
_NETWORKS = "/apis/networking.k8s.io/v1/namespaces/research/networkpolicies"
_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def of_tenants() -> list[ClusterFault]:
    quota = f"{_SPACE}/resourcequotas/gpu-shares"
    binding = f"{_ADMISSION}/validatingadmissionpolicybindings/eks-gpushare-tenants-pods-vision"
    more = {"spec": {"hard": {"requests.nvidia.com/gpu.shared": "1"}}}
    other = {"metadata": {"labels": {"eks-gpushare.io/isolation": "none"}}}
    nodes = {"spec": {"nodeLabels": {"eks-gpushare/pool": "notebooks"}}}
    let_in: Object = {"spec": {"ingress": [{}]}}
    found = (
        ("a quota that gives what is not the tenant's", patched(quota, more), "vision/gpu-shares"),
        ("a quota that is gone", replaced(object_at(quota), _nothing), "vision/gpu-shares"),
        ("a tenant that is kept apart less", patched(_SPACE, other), "Namespace vision"),
        ("a network open to all", patched(f"{_NETWORKS}/tenant", let_in), "research/tenant"),
        ("a flavor of other nodes", patched(f"{_KUEUE}/resourceflavors/slices", nodes), "slices"),
        ("a policy for nobody", replaced(object_at(binding), _nothing), "pods-vision"),
    )
    return [
        ClusterFault(name, STACK, (change,), CODE, about=about) for name, change, about in found
    ]


def _nothing(_: object) -> None:
    return None
