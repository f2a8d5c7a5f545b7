"""User data of nodes with an AMI of the user's own.

EKS adds the cluster's data itself where the AMI is its own; with another image the node has to be
told. Source: https://awslabs.github.io/amazon-eks-ami/nodeadm (NodeConfig, v1alpha1).
"""

from __future__ import annotations

import base64
import json

_BOUNDARY = "eks-gpushare"


def custom_ami_user_data(name: str, endpoint: str, authority: str, service_cidr: str) -> str:
    """User data by which an AL2023 node joins a cluster, base64 as launch templates want it.

    Args:
        name: Name of the EKS cluster.
        endpoint: URL of the API server.
        authority: Its certificate authority, base64.
        service_cidr: Address range of Kubernetes services.
    """
    config = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "cluster": {
                "name": name,
                "apiServerEndpoint": endpoint,
                "certificateAuthority": authority,
                "cidr": service_cidr,
            }
        },
    }
    text = "\n".join(
        [
            "MIME-Version: 1.0",
            f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"',
            "",
            f"--{_BOUNDARY}",
            "Content-Type: application/node.eks.aws",
            "",
            json.dumps(config, indent=2),  # JSON is YAML, and nothing in it needs quoting with care
            f"--{_BOUNDARY}--",
            "",
        ]
    )
    return base64.b64encode(text.encode()).decode()
