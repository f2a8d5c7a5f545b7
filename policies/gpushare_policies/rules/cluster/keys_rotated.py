"""The rule on the rotation of KMS keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import format_value, is_true, read
from gpushare_policies.rule import ResourcePolicy, security_hub
from gpushare_policies.tokens import KMS_KEY
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_RAW = "Set `enableKeyRotation: true`."
_FIX = Fix("A key made from a stack file rotates: remove what takes that away.", _RAW, _RAW)
_SYMMETRIC = "SYMMETRIC_DEFAULT"


def _rotated(args: ResourceValidationArgs) -> Iterator[str]:
    # KMS rotates symmetric keys only, and none whose material is somewhere else:
    # https://docs.aws.amazon.com/kms/latest/developerguide/rotate-keys.html, read 2026-11-22.
    if str(read(args.props, "customerMasterKeySpec") or _SYMMETRIC) != _SYMMETRIC:
        return
    if read(args.props, "customKeyStoreId") or read(args.props, "xksKeyId"):
        return
    rotation = read(args.props, "enableKeyRotation")
    if not is_true(rotation):
        yield (
            f"Rotation of the KMS key {args.name} is {format_value(rotation)}. It must be on, so "
            f"that what leaks today is of no use next year. {_FIX.of(args.urn)}"
        )


KEYS_ROTATED = ResourcePolicy(
    "keys-rotated",
    "KMS keys whose material KMS makes must be rotated.",
    checks={KMS_KEY: _rotated},
    severity=Severity.MEDIUM,
    framework=security_hub("KMS.4", "AWS KMS key rotation is enabled."),
    fix=_FIX,
)
