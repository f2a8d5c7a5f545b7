"""Where each kind of cluster resource keeps the same setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from pulumi_policy import ResourceValidationArgs

from gpushare_policies.props import given, read
from gpushare_policies.tokens import AWS_CLUSTER, EKS_CLUSTER, OUR_CLUSTER

if TYPE_CHECKING:
    from gpushare_policies.rule import Check

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """Property paths of one resource type, and the defaults in force where one is absent."""

    public: Path
    public_default: bool
    public_cidrs: Path
    private: Path
    log_types: Path = ("enabledClusterLogTypes",)
    mode: Path = ("authenticationMode",)
    version: Path = ("version",)
    support_type: Path = ("upgradePolicy", "supportType")
    deletion_protection: Path = ("deletionProtection",)
    secrets_key: Path = ("encryptionConfigKeyArn",)
    encrypted_kinds: Path | None = None


SHAPES: Mapping[str, ClusterShape] = {
    AWS_CLUSTER: ClusterShape(
        public=("vpcConfig", "endpointPublicAccess"),
        public_default=True,
        public_cidrs=("vpcConfig", "publicAccessCidrs"),
        private=("vpcConfig", "endpointPrivateAccess"),
        mode=("accessConfig", "authenticationMode"),
        secrets_key=("encryptionConfig", "provider", "keyArn"),
        encrypted_kinds=("encryptionConfig", "resources"),
    ),
    EKS_CLUSTER: ClusterShape(
        public=("endpointPublicAccess",),
        public_default=True,
        public_cidrs=("publicAccessCidrs",),
        private=("endpointPrivateAccess",),
    ),
    OUR_CLUSTER: ClusterShape(
        public=("endpoint", "public"),
        public_default=False,
        public_cidrs=("endpoint", "publicCidrs"),
        private=("endpoint", "private"),
        support_type=("supportType",),
    ),
}

ClusterCheck: TypeAlias = Callable[[ResourceValidationArgs, ClusterShape], Iterator[str]]
"""Yields a message for each violation of one cluster."""


def _if_visible(
    check: ClusterCheck, shape: ClusterShape, args: ResourceValidationArgs
) -> Iterator[str]:
    # A component may be registered without its arguments; its children carry them then.
    if any(given(args.props, key) for key in args.props):
        yield from check(args, shape)


def on_clusters(
    check: ClusterCheck, tokens: Sequence[str] = (AWS_CLUSTER, EKS_CLUSTER)
) -> dict[str, Check]:
    """The check for each kind of cluster.

    `EksCluster` of this project is no part of the default: the `eks.Cluster` below it carries
    all it was given, and one mistake is reported once.
    """
    return {token: partial(_if_visible, check, SHAPES[token]) for token in tokens}


def switch(args: ResourceValidationArgs, path: Path, *, default: bool) -> Any:
    """The value of a switch, or what is in force where it is absent."""
    value = read(args.props, *path)
    return default if value is None else value
