"""Clusters and nodes that a program has made by something that says so in another way.

A stack of CloudFormation has them in its template, Cloud Control as JSON, and aws-native in
properties of CloudFormation's names. What they say of node groups is read as if it were a resource
of `pulumi_aws`. What a command, a dynamic resource or another operator makes cannot be read at all.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from pulumi_policy import PolicyResource
from pulumi_policy.proxy import unknown_checking_proxy

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, pairs
from eks_gpushare.manifests.readers.values import walk
from gpushare_policies.reading.cloudformation import JUDGED, as_of_pulumi
from gpushare_policies.reading.delivered import charts_delivered, delivers_charts
from gpushare_policies.reading.launches import user_data
from gpushare_policies.reading.node_images import repository_of
from gpushare_policies.reading.objects import (
    POD_TEMPLATES,
    is_theirs,
    kind_of,
    objects_of,
    pod_templates,
    words_of,
)
from gpushare_policies.reading.plain import at_top, plain, text, with_sentinels
from gpushare_policies.reading.tools import BY_NAME, CALLS, OF_PODS, TOOLS
from gpushare_policies.tokens import NODE_GROUP, RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterator

_STACKS = ("aws:cloudformation/stack:Stack", "aws:cloudformation/stackSet:StackSet")
_NATIVE_STACKS = ("aws-native:cloudformation:Stack", "aws-native:cloudformation:StackSet")
_CLOUD_CONTROL = "aws:cloudcontrol/resource:Resource"
_NATIVE = "aws-native:"
_MAKERS = re.compile(
    r"AWS::(?:EKS::(?:Cluster|Nodegroup|FargateProfile|Addon)|EC2::(?:LaunchTemplate|"
    r"EC2Fleet|SpotFleet)|AutoScaling::(?:AutoScalingGroup|LaunchConfiguration)|"
    r"CloudFormation::(?:Stack|StackSet)|ServiceCatalog::CloudFormationProvisionedProduct|"
    r"Batch::ComputeEnvironment|SageMaker::Cluster|AWSQS::.*|.*::MODULE)"
)
"""Types of CloudFormation that are, or may make, clusters and nodes."""
_COMMANDS = re.compile(r"command:(?:local|remote):(?:Command|run|CopyToRemote)")
_BY_SERVICES = (
    (
        re.compile(
            r"aws:ssm/(?:association:Association|document:Document|maintenanceWindowTask:MaintenanceWindowTask)"
        ),
        "a command of Systems Manager",
        (("content",), ("parameters",), ("taskInvocationParameters",)),
    ),
    (
        re.compile(r"aws:codebuild/project:Project"),
        "a build of CodeBuild",
        (("source", "buildspec"), ("secondarySources",)),
    ),
    (re.compile(r"aws:imagebuilder/component:Component"), "a build of Image Builder", (("data",),)),
    (re.compile(r"aws:sfn/stateMachine:StateMachine"), "a state machine", (("definition",),)),
    (re.compile(r"aws:scheduler/schedule:Schedule"), "a schedule", (("target", "arn"),)),
)
"""Services that run commands: the type, what it is for messages, where they stand in it."""
_RUNNING = re.compile(
    r"argoproj\.io|tekton\.dev|jobset\.x-k8s\.io|batch\.volcano\.sh|kubeflow\.org|ray\.io"
)
"""Groups of whose kinds containers run what they are told once, by words or a script."""
_MACHINE = "aws:ec2/instance:Instance"
_BATCH = "aws:batch/computeEnvironment:ComputeEnvironment"
_MAKING = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (r"pulumi-(?:python|nodejs|java|dotnet):dynamic[/:].*", "the code of a dynamic resource"),
        (r"(?:terraform-module|[a-z0-9-]*tfmodule[a-z0-9-]*):.*", "a module of Terraform"),
        (r"aws:ec2/fleet:Fleet", "an EC2 Fleet"),
        (r"aws:servicecatalog/provisionedProduct:.*", "a product of Service Catalog"),
        (r"aws:batch/computeEnvironment:.*", "a compute environment of Batch"),
    )
)
_OPERATORS = re.compile(
    r"(?:eks|ec2|autoscaling|cloudformation)\.services\.k8s\.aws|"
    r"(?:(?:eks|ec2|autoscaling|cloudcontrol|batch|servicecatalog)\.aws|(?!.*\.aws\.)[a-z0-9.-]+)"
    r"(?:\.m)?\.(?:crossplane|upbound)\.io|(?:eks|provisioning|rke)\.cattle\.io|"
    r"(?:infrastructure|controlplane|bootstrap)?\.?cluster\.x-k8s\.io|(?:.*\.)?pulumi\.com|"
    r"infra\.contrib\.fluxcd\.io|app\.terraform\.io|tf\.galleybytes\.com"
)
"""Groups of operators that make clusters, nodes or resources of AWS."""


class MadeElsewhere(NamedTuple):
    """Something that a resource makes, and that stands in no resource of its own."""

    what: str
    """How it is made, for messages: `the template of a CloudFormation stack`."""
    makes: tuple[str, ...] = ()
    """Types that it is known to make; empty where that cannot be told."""
    unknown: bool = False
    """Whether what decides is not known yet."""


def made_elsewhere(token: str, props: Any) -> MadeElsewhere | None:
    """What a resource has made out of sight of the rules; None of any other."""
    if token in (*_STACKS, *_NATIVE_STACKS):
        return _of_template(_template(props))
    if token == _CLOUD_CONTROL:
        return _of_cloud_control(at_top(props, "typeName"))
    if _COMMANDS.fullmatch(token):
        return _of_command(props)
    if token == _MACHINE:
        return _of_machine(props)
    found = _of_service(token, props) or _of_pods(token, props) or _by_token(token)
    if found is not None and token == _BATCH:
        kind = str(at(at_top(props, "computeResources"), "type"))
        return None if kind.startswith("FARGATE") else found
    return found or _carried(token, props)


def _carried(token: str, props: Any) -> MadeElsewhere | None:
    """What an operator is told to make by an object that another one makes."""
    for obj in objects_of(token, props):
        for _, inner in walk(obj.body) if is_theirs(obj.kind) else ():
            version, kind = inner.get("apiVersion"), inner.get("kind")
            group = version.partition("/")[0] if isinstance(version, str) else ""
            if _OPERATORS.fullmatch(group) and isinstance(kind, str):
                return MadeElsewhere(f"the operator of {group}", (kind,))
    return None


def _by_token(token: str) -> MadeElsewhere | None:
    """What resources of a type make, whatever their properties are."""
    if token.startswith(_NATIVE):
        kind = _native_type(token)
        return MadeElsewhere("aws-native", (kind,)) if _MAKERS.fullmatch(kind) else None
    found = kind_of(token)
    if found is not None and _OPERATORS.fullmatch(found[0].group):
        return MadeElsewhere(f"the operator of {found[0].group}", (found[0].kind,))
    what = next((what for pattern, what in _MAKING if pattern.fullmatch(token)), None)
    return None if what is None else MadeElsewhere(what)


def _of_cloud_control(kind: Any) -> MadeElsewhere | None:
    if kind is UNKNOWN:
        return MadeElsewhere("Cloud Control", unknown=True)
    return MadeElsewhere("Cloud Control", (str(kind),)) if _MAKERS.fullmatch(str(kind)) else None


@cache
def may_make(token: str) -> bool:
    """Whether resources of a type may make something out of sight."""
    by_properties = token in (*_STACKS, *_NATIVE_STACKS, _CLOUD_CONTROL, _MACHINE)
    runs = _COMMANDS.fullmatch(token) or _TASKS.fullmatch(token) or token == _PIPELINE
    runs = runs or any(kind.fullmatch(token) for kind, *_ in _BY_SERVICES)
    found = kind_of(token)
    runs = runs or (found is not None and (found[0] in POD_TEMPLATES or is_theirs(found[0])))
    return bool(by_properties or runs or _by_token(token))


def _of_template(template: Any) -> MadeElsewhere | None:
    what = "the template of a CloudFormation stack"
    if template is UNKNOWN:
        return MadeElsewhere(what, unknown=True)
    if not isinstance(template, dict):
        return MadeElsewhere(what)
    if "Transform" in template:  # a macro makes of it what it likes
        return MadeElsewhere(what)
    kinds = {str(at(made, "Type")) for _, made in pairs(template.get("Resources"))}
    found = tuple(sorted(kind for kind in kinds if _MAKERS.fullmatch(kind)))
    return MadeElsewhere(what, found) if found else None


def _of_command(props: Any) -> MadeElsewhere | None:
    given = [at_top(props, key) for key in ("create", "update", "delete", "interpreter", "stdin")]
    if UNKNOWN in given[:3]:
        return MadeElsewhere("a command", unknown=True)
    words = " ".join(" ".join(map(str, v)) if isinstance(v, list) else str(v) for v in given if v)
    found = TOOLS.search(words)
    return MadeElsewhere("a command", (found[0].strip(),)) if found else None


_TASKS = re.compile(
    r"aws:(?:ecs/taskDefinition:TaskDefinition|batch/jobDefinition:JobDefinition"
    r"|lambda/function:Function)"
)
"""Containers of AWS, which run scripts of their own: only a tool by its name tells of clusters."""
_PIPELINE = "aws:codepipeline/pipeline:Pipeline"
_DEPLOYS = re.compile(r"\"provider\": \"(?:EKS|CloudFormation(?:StackSet|StackInstances)?)\"")
"""https://docs.aws.amazon.com/codepipeline/latest/userguide/actions-valid-providers.html"""
_BETWEEN = re.compile(r'[\\"]+, [\\"]+')
"""Two words of a command, as JSON in JSON has them."""
_OF_TASKS = ("containerDefinitions", "containerProperties", "nodeProperties", "imageConfig")


def _of_service(token: str, props: Any) -> MadeElsewhere | None:
    """What a service of AWS runs: texts of its resource, or parameters of one of AWS's."""
    for kind, what, places in _BY_SERVICES:
        if kind.fullmatch(token):
            given = [at(at_top(props, key), *path) for key, *path in places]
            if has_unknown(given):
                return MadeElsewhere(what, unknown=True)
            told = json.dumps(given, default=str)
            found = TOOLS.search(told) or CALLS.search(told)
            return MadeElsewhere(what, (found[0].strip(),)) if found else None
    if token == _PIPELINE and _DEPLOYS.search(json.dumps(at_top(props, "stages"), default=str)):
        return MadeElsewhere("a pipeline")
    if _TASKS.fullmatch(token):
        told = json.dumps([at_top(props, key) for key in _OF_TASKS], default=str)
        found = BY_NAME.search(_BETWEEN.sub(" ", told))
        return MadeElsewhere("a task of AWS", (found[0].strip(),)) if found else None
    return None


def _of_pods(token: str, props: Any) -> MadeElsewhere | None:
    """What containers run, by their image and their words."""
    for obj in objects_of(token, props):
        if obj.kind in POD_TEMPLATES:
            holders = [at(t.spec, key) for t in pod_templates(obj) for key in _CONTAINERS]
        else:
            holders = [obj.body] if _RUNNING.fullmatch(obj.kind.group) else []
        for _, container in walk(holders):
            if isinstance(container.get("image"), str):
                image = repository_of(container["image"]).rpartition("/")[2]
                script = [str(container.get(key) or "") for key in ("source", "script")]
                words = (_CLI.get(image, image), *words_of(container), *script)
                if found := OF_PODS.search(" ".join(words)):
                    return MadeElsewhere("a command in a pod", (found[0],))
    return None


def _of_machine(props: Any) -> MadeElsewhere | None:
    """What a machine runs when it starts; what is not known yet mostly joins a cluster."""
    found = OF_PODS.search(user_data(props) or "")
    return MadeElsewhere("user data", (found[0],)) if found else None


_CONTAINERS = ("initContainers", "containers")
_CLI = {"aws-cli": "aws", "opentofu": "tofu"}
"""Images whose program is called otherwise."""


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
    if token in (*_STACKS, *_NATIVE_STACKS, _CLOUD_CONTROL) or delivers_charts(token):
        return True
    return token.startswith(_NATIVE) and _native_type(token) in JUDGED


def _resources(token: str, name: str, props: Any) -> Iterator[tuple[str, str, Any]]:
    """Name, type and properties of resources, as CloudFormation spells them."""
    if token in (*_STACKS, *_NATIVE_STACKS):
        template = _template(props)
        for own, made in pairs(at(template, "Resources") if isinstance(template, dict) else {}):
            yield own, str(at(made, "Type")), _known(at(made, "Properties"))
    elif token == _CLOUD_CONTROL:
        yield name, str(at_top(props, "typeName")), _parsed(at_top(props, "desiredState"))
    elif token.startswith(_NATIVE) and holds_resources(token):
        yield name, _native_type(token), plain(props)


def _native_type(token: str) -> str:
    """The type of CloudFormation: `aws-native:eks:Nodegroup` is `AWS::EKS::Nodegroup`."""
    _, _, rest = token.partition(":")
    module, _, kind = rest.partition(":")
    service = next((name for name in _SERVICES if name.lower() == module), module.upper())
    return f"AWS::{service}::{kind}"


_SERVICES = ("AutoScaling", "CloudFormation", "ServiceCatalog", "Batch", "Logs", "SageMaker")
"""Whose names are no capitals alone."""


def _template(props: Any) -> Any:
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


def _function(_loader: Any, suffix: str, _node: Any) -> Any:
    return {f"Fn::{suffix}": ""}


_Loader.add_multi_constructor("!", _function)


def _known(given: Any) -> Any:
    """Properties in which what a function of CloudFormation makes is not known."""
    if isinstance(given, list):
        return [_known(item) for item in given]
    if not isinstance(given, dict):
        return given
    if len(given) == 1 and _is_function(text(next(iter(given)))):
        return UNKNOWN
    return {key: _known(item) for key, item in given.items()}


def _is_function(key: str) -> bool:
    return key in ("Ref", "Condition") or key.startswith("Fn::")


TOKENS = (*_STACKS, _CLOUD_CONTROL, "command:local:Command", "command:remote:Command")
"""The types that may be right, for the documentation; others never are."""
