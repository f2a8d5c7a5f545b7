"""Names and numbers that several parts of the lab agree on."""

from __future__ import annotations

SIMULATED_NODE = ("kwok.x-k8s.io/node", "fake")
"""The annotation of nodes whose kubelet kwok plays; it leaves all others alone.

It is the one that kwok documents and that Karpenter's kwok provider writes.
"""

ADMITTED = "lab.eks-gpushare/admitted"
"""The annotation of a pod that its simulated node has given several devices of one kind.

kwok starts such a pod only then: the device plugin of its node may refuse it.
"""

SERVICE_ADDRESSES = "10.100.0.0/16"
"""Cluster IPs, as EKS gives them out by default. The first is that of the API server."""

FRONT_PROXY = "front-proxy-client"
"""Name by which the API server asks the servers that it stands before, such as KEDA's adapter."""
