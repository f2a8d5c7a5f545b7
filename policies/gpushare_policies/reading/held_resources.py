"""Resources that stand in the properties of others, read as those of `pulumi_aws`.

A stack of CloudFormation has them in its template, Cloud Control as JSON, aws-native in properties
of CloudFormation's names, and an application of Flux or Argo CD has a chart.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from pulumi_policy import PolicyResource
from pulumi_policy.proxy import unknown_checking_proxy

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs
from gpushare_policies.reading.cloudformation import JUDGED, as_of_pulumi
from gpushare_policies.reading.delivered import charts_delivered, delivers_charts
from gpushare_policies.reading.plain import at_top, plain, text, with_sentinels
from gpushare_policies.tokens import NODE_GROUP, RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterator

STACKS = ("aws:cloudformation/stack:Stack", "aws:cloudformation/stackSet:StackSet")
NATIVE_STACKS = ("aws-native:cloudformation:Stack", "aws-native:cloudformation:StackSet")
CLOUD_CONTROL = "aws:cloudcontrol/resource:Resource"
NATIVE = "aws-native:"


def nodes_elsewhere(resource: PolicyResource) -> Iterator[PolicyResource]:
    """The node groups that a resource makes, as `aws.eks.NodeGroup` would say them."""
    for made in resources_elsewhere(resource.resource_type, resource.name, resource.props):
        if made.token == NODE_GROUP:
            props = {"nodeGroupName": made.name, **made.props}
            yield _of_pulumi(resource, made, props)


def made_by(resource: PolicyResource, token: str) -> Iterator[PolicyResource]:
    """The resources of a type of `pulumi_aws` that a resource makes, as that would say them."""
    for made in resources_elsewhere(resource.resource_type, resource.name, resource.props):
        if made.token == token:
            yield _of_pulumi(resource, made, unknown_checking_proxy(with_sentinels(made.props)))


def _of_pulumi(resource: PolicyResource, made: Foreign, props: Any) -> PolicyResource:
    return PolicyResource(
        made.token,
        props,
        resource.urn,
        resource.name,
        resource.opts,
        resource.provider,
        resource.parent,
        resource.dependencies,
        {},
    )


class Foreign(NamedTuple):
    """A resource that stands in another's properties, as `pulumi_aws` would have it."""

    token: str
    name: str
    props: dict[str, Any]
    """What is not known in it is `UNKNOWN`."""


def resources_elsewhere(token: str, name: str, props: Any) -> Iterator[Foreign]:
    """The resources that one makes of which rules can judge the properties.

    Args:
        token: Its type.
        name: Its name.
        props: Its properties.
    """
    for release in charts_delivered(token, props):
        yield Foreign(RELEASE, name, release)
    for called, kind, given in _resources(token, name, props):
        made = as_of_pulumi(kind, given)
        if made is not None:
            yield Foreign(made[0], called, made[1])


@cache
def holds_resources(token: str) -> bool:
    """Whether resources of a type have in their properties what rules can judge."""
    if token in (*STACKS, *NATIVE_STACKS, CLOUD_CONTROL) or delivers_charts(token):
        return True
    return token.startswith(NATIVE) and native_type(token) in JUDGED


def _resources(token: str, name: str, props: Any) -> Iterator[tuple[str, str, Any]]:
    """Name, type and properties of resources, as CloudFormation spells them."""
    if token in (*STACKS, *NATIVE_STACKS):
        template = template_of(props)
        for own, made in pairs(at(template, "Resources") if isinstance(template, dict) else {}):
            yield own, str(at(made, "Type")), _known(at(made, "Properties"))
    elif token == CLOUD_CONTROL:
        yield name, str(at_top(props, "typeName")), _parsed(at_top(props, "desiredState"))
    elif token.startswith(NATIVE):
        yield name, native_type(token), plain(props)


def native_type(token: str) -> str:
    """The type of CloudFormation: `aws-native:eks:Nodegroup` is `AWS::EKS::Nodegroup`."""
    _, _, rest = token.partition(":")
    module, _, kind = rest.partition(":")
    service = next((name for name in _SERVICES if name.lower() == module), module.upper())
    return f"AWS::{service}::{kind}"


_SERVICES = ("AutoScaling", "CloudFormation", "ServiceCatalog", "Batch", "Logs", "SageMaker")
"""Whose names are no capitals alone."""


def template_of(props: Any) -> Any:
    """The template of a stack of CloudFormation; None where it is at an address."""
    body = at_top(props, "templateBody")
    return _parsed(body) if body is not None else None


def _parsed(given: Any) -> Any:
    """JSON or YAML; None for what is neither, and for what a URL has."""
    return given if given is UNKNOWN or isinstance(given, dict) else _parsed_text(str(given))


@lru_cache(maxsize=64)  # each rule asks
def _parsed_text(given: str) -> Any:
    try:
        return json.loads(given)
    except ValueError:
        pass
    try:
        return yaml.load(given, Loader=_Loader)  # noqa: S506  (the safe loader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


class _Loader(yaml.SafeLoader):
    """The safe loader, for which what a function of CloudFormation makes is not known."""


_NO_VALUE = {"Ref": "AWS::NoValue"}
"""A property that has this is not set:
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/pseudo-parameter-reference.html"""


def _function(_loader: Any, suffix: str, node: Any) -> Any:
    return _NO_VALUE if {suffix: node.value} == _NO_VALUE else {f"Fn::{suffix}": ""}


_Loader.add_multi_constructor("!", _function)


def _known(given: Any) -> Any:
    """Properties in which what a function of CloudFormation makes is not known."""
    if isinstance(given, list):
        return [_known(item) for item in given]
    if not isinstance(given, dict):
        return given
    if len(given) == 1 and _is_function(text(next(iter(given)))):
        return UNKNOWN
    return {key: _known(item) for key, item in given.items() if item != _NO_VALUE}


def _is_function(key: str) -> bool:
    return key in ("Ref", "Condition") or key.startswith("Fn::")
