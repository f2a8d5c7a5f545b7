"""The rule on tags, by which somebody pays for a resource."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity
from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.inventory.values import at
from gpushare_policies.props import each, read
from gpushare_policies.rule import ResourcePolicy, Setting, security_hub
from gpushare_policies.tokens import (
    AWS_CLUSTER,
    INSTANCE,
    KMS_KEY,
    LAUNCH_TEMPLATE,
    LOG_GROUP,
    NODE_GROUP,
    SCALING_GROUP,
    VOLUME,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def _parse(value: Any) -> Mapping[str, str]:
    return {str(key): str(value[key]) for key in value}


REQUIRED_TAGS: Setting[Mapping[str, str]] = Setting(
    "tags",
    {},
    "Keys of the tags that must be there, each with the value that the level `remediate` gives it; "
    "an empty value is never given.",
    {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
    _parse,
)
_RAW = "Add them to `tags`, or to `defaultTags` of the provider."
_FIX = Fix("Add them under `tags` in the stack file.", _RAW, _RAW)


def _given(args: ResourceValidationArgs) -> set[str]:
    """Keys of the tags that the resource gets, its provider's among them."""
    if args.resource_type == SCALING_GROUP:
        found = {
            str(read(tag, "key"))
            for key in ("tags", "tagsAll")
            for tag in each(read(args.props, key))
        }
    else:
        found = {str(name) for key in ("tags", "tagsAll") for name in read(args.props, key) or ()}
    if args.provider is not None:
        given = read(args.provider.props, "defaultTags")
        # Providers get what is no text as JSON.
        tags = at(_loaded(given) if isinstance(given, str) else given, "tags")
        found |= {str(name) for name in tags or ()}
    return found


def _loaded(given: str) -> Any:
    try:
        return json.loads(given)
    except ValueError:
        return None


def _missing(args: ResourceValidationArgs) -> list[str]:
    required = REQUIRED_TAGS.of(args)
    return [key for key in required if key not in _given(args)] if required else []


def _tagged(args: ResourceValidationArgs) -> Iterator[str]:
    if missing := _missing(args):
        yield (
            f"{args.name} has no tag {', '.join(missing)}. It must have each, so that somebody can "
            f"say who pays for it. {_FIX.of(args.urn)}"
        )


def _tag(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
    try:
        values = {key: REQUIRED_TAGS.of(args)[key] for key in _missing(args)}
    except UnknownValueError:
        return None  # the check says so
    values = {key: value for key, value in values.items() if value}
    if not values:
        return None
    props: Any = args.props
    if args.resource_type == SCALING_GROUP:
        new = [{"key": k, "value": v, "propagateAtLaunch": True} for k, v in values.items()]
        props["tags"] = [*each(read(props, "tags")), *new]
    else:
        there = read(props, "tags") or {}
        props["tags"] = {**{key: there[key] for key in there}, **values}
    return args.props


_TAGGED = (
    AWS_CLUSTER,
    NODE_GROUP,
    SCALING_GROUP,
    LAUNCH_TEMPLATE,
    INSTANCE,
    VOLUME,
    KMS_KEY,
    LOG_GROUP,
)

TAGS_REQUIRED = ResourcePolicy(
    "tags-required",
    "What costs money must have the tags that the configuration names.",
    checks=dict.fromkeys(_TAGGED, _tagged),
    level=EnforcementLevel.ADVISORY,
    unseen=(
        "resources that cost money and are not listed above, and whether machines get the tags of "
        "their Auto Scaling group."
    ),
    severity=Severity.LOW,
    framework=security_hub("EKS.6", "EKS clusters are tagged."),
    also=("aws-security-hub/EKS.7",),
    fix=_FIX,
    settings=(REQUIRED_TAGS,),
    remediate=dict.fromkeys(_TAGGED, _tag),
)
