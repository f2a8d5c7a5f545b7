"""The rule on the key of Kubernetes secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.inventory.control_plane import encrypts_secrets
from gpushare_policies.props import each, format_value, given, peek, read
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.shapes import on_clusters
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY = Fix(
    "Set `cluster.secretsKeyArn` in the stack file, or leave the key out and the stack makes one.",
    "Set `encryptionConfigKeyArn` to the ARN of a key.",
    "Set `encryptionConfig: {provider: {keyArn: ...}, resources: [secrets]}`.",
)


def _secrets(args: ResourceValidationArgs) -> Iterator[str]:
    name = name_of(args.urn)
    path = ("encryptionConfig", "provider", "keyArn")
    key = str(peek(args.props, *path) or "")
    # Keys of AWS itself have reserved names:
    # https://docs.aws.amazon.com/kms/latest/developerguide/alias-about.html
    if not given(args.props, *path) or peek(args.props, *path) == "" or "alias/aws/" in key:
        yield (
            f"The secrets of {name} are encrypted with no KMS key of yours. They must be, so that "
            f"you decide who may decrypt. {_KEY.of(args.urn)}"
        )
        return
    kinds = [str(kind) for kind in each(read(args.props, "encryptionConfig", "resources"))]
    if not encrypts_secrets(kinds):
        yield (
            f"The KMS key of {name} encrypts {format_value(kinds)}. It must encrypt secrets. "
            f"{_KEY.of(args.urn)}"
        )


SECRETS_ENCRYPTED = ResourcePolicy(
    "secrets-encrypted",
    "Kubernetes secrets must be encrypted with a KMS key of your own.",
    checks=on_clusters(_secrets),
    severity=Severity.HIGH,
    framework=cis("5.3.1", "Secrets are encrypted with a customer managed key in AWS KMS."),
    also=("aws-security-hub/EKS.3", "prowler/eks_cluster_kms_cmk_encryption_in_secrets_enabled"),
    fix=_KEY,
)
