"""User data of Bottlerocket nodes: settings in TOML.

Where the image is EKS's own, EKS merges its settings into these; with an image of the user's own
they have to name the cluster as well. EKS reads less than all of TOML: no quoted keys in headers
and no escaped quotes (https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html).
"""

from __future__ import annotations

import base64
import ipaddress
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.helm import merge_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DNS_HOST = 10
"""EKS gives the cluster's DNS the tenth address of the range of services."""


def bottlerocket_user_data(
    nvidia: Mapping[str, Any], settings: Mapping[str, Any] | None = None
) -> str:
    """User data for an image of EKS, base64 as launch templates want it.

    Args:
        nvidia: What goes below `settings.kubelet-device-plugins.nvidia`.
        settings: Further settings. Default: none.
    """
    return _encoded(bottlerocket_document(nvidia, settings))


def custom_bottlerocket_user_data(
    nvidia: Mapping[str, Any],
    name: str,
    endpoint: str,
    authority: str,
    service_cidr: str,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """User data by which a node with an image of the user's own joins a cluster, base64.

    Args:
        nvidia: What goes below `settings.kubelet-device-plugins.nvidia`; may be empty.
        name: Name of the EKS cluster.
        endpoint: URL of the API server.
        authority: Its certificate authority, base64.
        service_cidr: Address range of Kubernetes services.
        settings: Further settings. Default: none.
    """
    kubernetes = {
        "cluster-name": name,
        "api-server": endpoint,
        "cluster-certificate": authority,
        "cluster-dns-ip": str(ipaddress.ip_network(service_cidr)[_DNS_HOST]),
    }
    joining = {"kubernetes": kubernetes}
    return _encoded(bottlerocket_document(nvidia, merge_values(joining, settings or {})))


def registration_settings(
    labels: Mapping[str, str], taints: Iterable[tuple[str, str, str]]
) -> dict[str, Any]:
    """What goes below `settings.kubernetes` for a node to register with labels and taints.

    In one order whatever that of the stack file is: other user data means other nodes.

    Args:
        labels: Labels of the node.
        taints: Key, value and effect of each of its taints.
    """
    by_key: dict[str, list[str]] = {}
    for key, value, effect in sorted(taints):
        by_key.setdefault(key, []).append(f"{value}:{effect}")
    settings = {"node-labels": dict(sorted(labels.items())), "node-taints": by_key}
    return {key: value for key, value in settings.items() if value}


def bottlerocket_document(
    nvidia: Mapping[str, Any], settings: Mapping[str, Any] | None = None
) -> str:
    """Settings as the text of user data."""
    import tomli_w

    return tomli_w.dumps({"settings": merge_values(settings or {}, _plugins(nvidia))})


def _plugins(nvidia: Mapping[str, Any]) -> dict[str, Any]:
    return {"kubelet-device-plugins": {"nvidia": dict(nvidia)}} if nvidia else {}


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
