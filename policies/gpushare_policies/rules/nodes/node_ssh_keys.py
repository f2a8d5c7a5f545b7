"""The rule on SSH keys of nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import decoded
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import given, peek
from gpushare_policies.reading.karpenter import NODE_CLASS
from gpushare_policies.reading.launches import launch_of, on_launches
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import NODE_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIX = Fix(
    "Nodes made from a stack file have none: remove what gives them one, such as a transform.",
    "Remove `keyName`, `nodePublicKey`, `remoteAccess`, or the key in the user data; AWS Systems "
    "Manager opens a session without a key.",
    "Remove `keyName`, `remoteAccess` of the node group, or the key in the user data; AWS Systems "
    "Manager opens a session without a key.",
)
_AUTHORIZED: Final = re.compile(
    r"authorized[_-]keys.*?\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+|sk-ssh-[a-z0-9]+@)|ssh_import_id:"
    r"|\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+) [^\n]*authorized_keys"
    r"|(?:>>|\b(?:tee|cp|mv|install)\s|\s(?:-[oO]|--output)[ =]"
    r"|\b(?:echo|printf|curl|wget|aws|base64)\s[^\n;]*>)[^\n;]*authorized_keys|\bssh-import-id(?:-[a-z]+)?\s"
    r"|\b(?:TrustedUserCAKeys|AuthorizedKeysCommand)\s+/",
    re.DOTALL,
)
"""Keys that cloud-config or a script lets in."""
_PACKED: Final = re.compile(
    r"user-data\s*=\s*[\"']([A-Za-z0-9+/=\s]+)[\"']|^([A-Za-z0-9+/=]{40,}\s*)+$", re.MULTILINE
)
"""Base64 within user data: that of Bottlerocket's containers, and parts of MIME."""


def _lets_in(user_data: object) -> bool:
    """Whether user data puts a key on the node, at any depth that EC2 or a part of it packs."""
    data = decoded(user_data)
    if data is UNKNOWN:
        return False
    inner = (decoded(found[1] or found[0]) for found in _PACKED.finditer(data))
    return any(_AUTHORIZED.search(each) for each in (data, *inner) if each is not UNKNOWN)


def _node_class(subject: Subject) -> Iterator[str | Unjudged]:
    data = at(subject.object.body, "spec", "userData")
    if data is UNKNOWN:
        yield Unjudged("userData")
    elif _lets_in(data):
        yield _message(f"The user data of {subject.title} puts its SSH key", subject.args.urn)


def _key(args: ResourceValidationArgs) -> Iterator[str]:
    for launch in launch_of(args):
        if not launch.is_of_nodes:
            continue
        if _lets_in(peek(launch.props, "userData") or peek(launch.props, "userDataBase64")):
            yield _message(f"{launch.called} puts the SSH key of its user data", args.urn)
        if not given(launch.props, "keyName"):
            continue
        if (key := peek(launch.props, "keyName")) != "":
            yield _message(f"{launch.called} puts the SSH key {key or 'of this stack'}", args.urn)


def _remote_access(args: ResourceValidationArgs) -> Iterator[str]:
    path = ("remoteAccess", "ec2SshKey")
    if given(args.props, *path) and (key := peek(args.props, *path)) != "":
        who = f"The node group {args.name} puts the SSH key {key or 'of this stack'}"
        yield _message(who, args.urn)


def _message(who: str, urn: str) -> str:
    return (
        f"{who} on its nodes. There must be none: nobody sees who used it, and it does not expire. "
        f"{_FIX.of(urn)}"
    )


NODE_SSH_KEYS = ResourcePolicy(
    "node-ssh-keys",
    "Nodes must have no SSH key.",
    checks=ObjectChecks(
        {NODE_CLASS: _node_class},
        {**on_launches(_key), NODE_GROUP: _remote_access},
    ),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    also=("aws-eks-best-practices/minimize-access-to-worker-nodes",),
    fix=_FIX,
)
