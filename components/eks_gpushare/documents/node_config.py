"""User data of AL2023 nodes, as MIME multipart.

EKS adds the cluster's data itself where the AMI is its own; with another image the node has to be
told. Source: https://awslabs.github.io/amazon-eks-ami/nodeadm (NodeConfig, v1alpha1).
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

USER_DATA_LIMIT = 12 * 1024
"""Most bytes of user data before base64. EC2 takes 16 KB; EKS puts a NodeConfig of its own into it,
with the certificate authority and the labels of the node group, for which 4 KB are left
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html)."""

_BOUNDARY = "eks-gpushare"  # the same always: another one would roll every node
_NODE_CONFIG = "application/node.eks.aws"
_SHELL = 'text/x-shellscript; charset="us-ascii"'


def user_data(script: str | None = None, cluster: tuple[str, str, str, str] | None = None) -> str:
    """User data of a node, base64 as launch templates want it.

    Args:
        script: Shell script that cloud-init runs once, after everything else. Default: none.
        cluster: Name, URL, certificate authority and range of services of the cluster, only for an
            image of the user's own; in a node group with an AMI type they are EKS's to add.
    """
    return base64.b64encode(_multipart(_parts(script, cluster)).encode()).decode()


def user_data_bytes(user_data: str) -> int:
    """Size of user data before base64, which is what EC2 limits."""
    return len(base64.b64decode(user_data))


def _parts(
    script: str | None, cluster: tuple[str, str, str, str] | None
) -> Iterator[tuple[str, str]]:
    if cluster is not None:
        name, endpoint, authority, service_cidr = cluster
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
        yield _NODE_CONFIG, json.dumps(config, indent=2)  # JSON is YAML that needs no care
    if script is not None:
        yield _SHELL, script


def _multipart(parts: Iterator[tuple[str, str]]) -> str:
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', ""]
    for kind, content in parts:
        if f"\n--{_BOUNDARY}" in f"\n{content}":
            raise ValueError(f"a line of the {kind} part begins like the boundary of parts")
        lines += [f"--{_BOUNDARY}", f"Content-Type: {kind}", "", content]
    return "\n".join([*lines, f"--{_BOUNDARY}--", ""])
