"""A policy pack of others, with every shape that a policy may have; `PolicyPack` never returns."""

from __future__ import annotations

import asyncio
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    PolicyPack,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

BUCKET = "aws:s3/bucket:Bucket"
SERVICE = "kubernetes:core/v1:Service"


def is_private(args: ResourceValidationArgs, report: Any) -> None:
    if args.resource_type == BUCKET and args.props.get("acl") == "public-read":
        report("Everybody may read it.")


def is_named(args: ResourceValidationArgs, report: Any) -> None:
    if args.resource_type == BUCKET and "bucketPrefix" not in args.props:
        report(f"{args.name} has no prefix.", args.urn)


async def is_inside(args: ResourceValidationArgs, report: Any) -> None:
    await asyncio.sleep(0)
    if args.resource_type == SERVICE and args.props["spec"]["type"] == "LoadBalancer":
        report("It is a load balancer.")


class FewTags(ResourceValidationPolicy):
    """A policy as a class, with a setting."""

    def __init__(self) -> None:
        schema = {"most": {"type": "integer", "default": 1, "minimum": 0}}
        super().__init__(
            "few-tags", "Tags are few.", config_schema=PolicyConfigSchema(schema, ["most"])
        )

    def validate(self, args: ResourceValidationArgs, report: Any) -> None:
        if args.resource_type != BUCKET:
            args.not_applicable("no bucket")
        if len(args.props.get("tags") or {}) > args.get_config()["most"]:
            report(f"More than {args.get_config()['most']:g}.")


def owned(args: ResourceValidationArgs) -> Any:
    if args.resource_type == BUCKET:
        return {**args.props, "tags": {**(args.props.get("tags") or {}), "owner": "us"}}
    return None


def kept(args: ResourceValidationArgs, report: Any) -> Any:
    if args.resource_type == BUCKET and args.props.get("forceDestroy"):
        report("It goes with all that is in it.")
        return {**args.props, "forceDestroy": False}
    return None


def scribbles(args: ResourceValidationArgs, report: Any) -> None:
    """What one policy writes, none after it may see."""
    if args.resource_type == BUCKET:
        if args.props.get("acl") == "scribbled":
            report("Somebody else has been here.")
        args.props["acl"] = "scribbled"  # type: ignore[index]  # the SDK lets it


def are_few(args: StackValidationArgs, report: Any) -> None:
    buckets = [each for each in args.resources if each.resource_type == BUCKET]
    if len(buckets) > 1:
        report(f"There are {len(buckets)}.")


class Parented(StackValidationPolicy):
    """A policy on stacks as a class, which is asynchronous too."""

    def __init__(self) -> None:
        super().__init__("parented", "Buckets have parents.", severity=Severity.LOW)

    async def validate(self, args: StackValidationArgs, report: Any) -> None:
        for each in args.resources:
            if each.resource_type == BUCKET and each.parent is not None:
                report(f"{each.name} is below {each.parent.name}.", each.urn)


PolicyPack(
    "theirs",
    [
        ResourceValidationPolicy("bucket", "Buckets are ours.", [is_private, is_named]),
        ResourceValidationPolicy("service", "Services are inside.", is_inside),
        FewTags(),
        ResourceValidationPolicy(
            "owned", "It is owned.", enforcement_level=EnforcementLevel.REMEDIATE, remediate=owned
        ),
        ResourceValidationPolicy("kept", "It is kept.", validate_remediate=kept),
        ResourceValidationPolicy("scribbles", "First.", scribbles),
        ResourceValidationPolicy("scribbles-again", "Second.", scribbles),
        StackValidationPolicy("few", "Buckets are few.", are_few, EnforcementLevel.MANDATORY),
        Parented(),
    ],
    EnforcementLevel.ADVISORY,
    {"few-tags": {"most": 2}},
    description="Somebody's.",
)
