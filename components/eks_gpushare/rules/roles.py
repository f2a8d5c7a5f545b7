"""Rules about what the IAM roles of a stack have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.arns import path_fault, policy_fault
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

BAD_ROLE_SETTING = Rule(
    "GPU320",
    "error",
    "The permissions boundary is the ARN of a policy, and the path begins and ends with a slash.",
    "IAM refuses every role of the stack.",
    "https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html",
)


@check(Scope.TAGS, BAD_ROLE_SETTING)
def role_settings(ctx: Context) -> Iterator[Finding]:
    iam = ctx.environment.iam
    if iam is None:
        return
    boundary, path = iam.permissions_boundary, iam.path
    if boundary is not None and (fault := policy_fault(boundary)):
        yield BAD_ROLE_SETTING.finding(
            ("iam", "permissionsBoundary"),
            f'"{boundary}" {fault}.',
            "Write arn:aws:iam::111122223333:policy/Boundary.",
        )
    if path is not None and (fault := path_fault(path)):
        yield BAD_ROLE_SETTING.finding(("iam", "path"), f'"{path}" {fault}.', "Write it as /team/.")
