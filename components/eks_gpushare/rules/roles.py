"""Rules about what the IAM roles of a stack have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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

_POLICY = re.compile(r"arn:aws[a-z-]*:iam::(aws|\d{12}):policy/[\w+=,.@/-]+")
_PATH = re.compile(r"/|/[\x21-\x7e]+/")
_LONGEST_PATH = 512


@check(Scope.TAGS, BAD_ROLE_SETTING)
def role_settings(ctx: Context) -> Iterator[Finding]:
    iam = ctx.environment.iam
    if iam is None:
        return
    boundary, path = iam.permissions_boundary, iam.path
    if boundary is not None and not _POLICY.fullmatch(boundary):
        yield BAD_ROLE_SETTING.finding(
            ("iam", "permissionsBoundary"),
            f'"{boundary}" is not the ARN of an IAM policy.',
            "Write arn:aws:iam::111122223333:policy/Boundary.",
        )
    if path is not None and (not _PATH.fullmatch(path) or len(path) > _LONGEST_PATH):
        yield BAD_ROLE_SETTING.finding(
            ("iam", "path"),
            f'"{path}" is not a path of IAM: up to {_LONGEST_PATH} characters between slashes, '
            "without spaces.",
            "Write it as /team/.",
        )
