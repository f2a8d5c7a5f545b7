"""User data of AL2023 nodes, as MIME multipart.

EKS adds the cluster's data itself where the AMI is its own; with another image the node has to be
told. Source: https://awslabs.github.io/amazon-eks-ami/nodeadm (NodeConfig, v1alpha1).
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

USER_DATA_LIMIT = 12 * 1024
"""Most bytes of user data before base64. EC2 takes 16 KB; EKS puts a NodeConfig of its own into it,
with the certificate authority and the labels of the node group, for which 4 KB are left
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html)."""

NODE_CONFIG = "application/node.eks.aws"
"""Content type of what nodeadm reads; cloud-init passes it over."""
SHELL = 'text/x-shellscript; charset="us-ascii"'
"""Content type of the scripts that nodes run once."""

_BOUNDARY = "eks-gpushare"  # the same always: another one would roll every node


def user_data(
    script: str | None = None,
    cluster: tuple[str, str, str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    parts: Sequence[tuple[str, str]] = (),
) -> str:
    """User data of a node, base64 as launch templates want it.

    Args:
        script: Shell script that cloud-init runs once, after everything else. Default: none.
        cluster: Name, URL, certificate authority and range of services of the cluster, only for an
            image of the user's own; in a node group with an AMI type they are EKS's to add.
        spec: What else goes below `spec` of the NodeConfig, such as `kubelet`. Default: nothing.
        parts: Content type and content of further parts. nodeadm merges a NodeConfig among them
            over the first, and cloud-init works through the others before `script`.
    """
    made = [*_own_config(cluster, spec or {}), *parts, *([(SHELL, script)] if script else [])]
    return base64.b64encode(_multipart(made).encode()).decode()


def registration_flags(
    labels: Mapping[str, str], taints: Iterable[tuple[str, str, str]]
) -> list[str]:
    """Flags by which a kubelet registers its node with labels and taints.

    In one order whatever that of the stack file is: other user data means other nodes.

    Args:
        labels: Labels of the node.
        taints: Key, value and effect of each of its taints.
    """
    flags = []
    if labels:
        listed = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        flags.append(f"--node-labels={listed}")
    if given := sorted(taints):
        listed = ",".join(f"{key}={value}:{effect}" for key, value, effect in given)
        flags.append(f"--register-with-taints={listed}")
    return flags


def user_data_bytes(user_data: str) -> int:
    """Size of user data before base64, which is what EC2 limits."""
    return len(base64.b64decode(user_data))


def ends_a_part(content: str) -> bool:
    """Whether a line of the content begins like the boundary of parts."""
    return f"\n--{_BOUNDARY}" in f"\n{content}"


def _own_config(
    cluster: tuple[str, str, str, str] | None, spec: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """The one NodeConfig of a node, if there is anything to say in it."""
    whole = dict(spec)
    if cluster is not None:
        name, endpoint, authority, service_cidr = cluster
        told = {
            "name": name,
            "apiServerEndpoint": endpoint,
            "certificateAuthority": authority,
            "cidr": service_cidr,
        }
        whole = {"cluster": told, **spec}
    if whole:
        config = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": whole}
        yield NODE_CONFIG, json.dumps(config, indent=2)  # JSON is YAML that needs no care


def _multipart(parts: Iterable[tuple[str, str]]) -> str:
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', ""]
    for kind, content in parts:
        if ends_a_part(content):
            raise ValueError(f"a line of the {kind} part begins like the boundary of parts")
        lines += [f"--{_BOUNDARY}", f"Content-Type: {kind}", "", content]
    return "\n".join([*lines, f"--{_BOUNDARY}--", ""])
