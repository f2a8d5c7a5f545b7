"""User data of Bottlerocket nodes: settings in TOML.

Where the image is EKS's own, EKS merges its settings into these; with an image of the user's own
they have to name the cluster as well. EKS reads less than all of TOML: no quoted keys in headers
and no escaped quotes (https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html).
"""

from __future__ import annotations

import base64
import ipaddress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_DNS_HOST = 10
"""EKS gives the cluster's DNS the tenth address of the range of services."""


def bottlerocket_user_data(nvidia: Mapping[str, Any]) -> str:
    """User data for an image of EKS, base64 as launch templates want it.

    Args:
        nvidia: What goes below `settings.kubelet-device-plugins.nvidia`.
    """
    return _encoded({"settings": _plugins(nvidia)})


def custom_bottlerocket_user_data(
    nvidia: Mapping[str, Any], name: str, endpoint: str, authority: str, service_cidr: str
) -> str:
    """User data by which a node with an image of the user's own joins a cluster, base64.

    Args:
        nvidia: What goes below `settings.kubelet-device-plugins.nvidia`; may be empty.
        name: Name of the EKS cluster.
        endpoint: URL of the API server.
        authority: Its certificate authority, base64.
        service_cidr: Address range of Kubernetes services.
    """
    kubernetes = {
        "cluster-name": name,
        "api-server": endpoint,
        "cluster-certificate": authority,
        "cluster-dns-ip": str(ipaddress.ip_network(service_cidr)[_DNS_HOST]),
    }
    return _encoded({"settings": {"kubernetes": kubernetes, **_plugins(nvidia)}})


def _plugins(nvidia: Mapping[str, Any]) -> dict[str, Any]:
    return {"kubelet-device-plugins": {"nvidia": dict(nvidia)}} if nvidia else {}


def _encoded(settings: Mapping[str, Any]) -> str:
    import tomli_w

    return base64.b64encode(tomli_w.dumps(settings).encode()).decode()
