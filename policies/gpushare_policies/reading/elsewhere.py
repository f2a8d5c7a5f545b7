"""Clusters and nodes that a program has made by something that says so in another way.

A stack of CloudFormation has them in its template, Cloud Control as JSON, and aws-native in
properties of CloudFormation's names. What they say of node groups is read as if it were a resource
of `pulumi_aws`. What a command, a dynamic resource or another operator makes cannot be read at all.
"""

from __future__ import annotations

import json
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, pairs
from eks_gpushare.manifests.readers.values import walk
from gpushare_policies.reading.charts import loaded
from gpushare_policies.reading.held_resources import (
    CLOUD_CONTROL,
    NATIVE,
    NATIVE_STACKS,
    STACKS,
    native_type,
    template_of,
)
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
from gpushare_policies.reading.plain import at_top, items
from gpushare_policies.reading.tools import BY_NAME, CALLS, OF_PODS, TOOLS
from gpushare_policies.tokens import (
    INSTANCE,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    SPOT_INSTANCE,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
            r"|aws:cloudwatch/eventTarget:EventTarget"
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
    (
        re.compile(r"aws:scheduler/schedule:Schedule"),
        "a schedule",
        (("target", "arn"), ("target", "input")),
    ),
    (re.compile(r"aws:lambda/invocation:Invocation"), "a call of a function", (("input",),)),
)
"""Services that run commands: the type, what it is for messages, where they stand in it."""
_RUNNING = re.compile(
    r"argoproj\.io|tekton\.dev|jobset\.x-k8s\.io|batch\.volcano\.sh|kubeflow\.org|ray\.io"
)
"""Groups of whose kinds containers run what they are told once, by words or a script."""
_MACHINES = (INSTANCE, SPOT_INSTANCE, LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION)
_BATCH = "aws:batch/computeEnvironment:ComputeEnvironment"
_MAKING = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (r"pulumi-(?:python|nodejs|java|dotnet):dynamic[/:].*", "the code of a dynamic resource"),
        (r"(?:terraform-module|[a-z0-9-]*tfmodule[a-z0-9-]*):.*", "a module of Terraform"),
        (r"aws:ec2/fleet:Fleet", "an EC2 Fleet"),
        (r"aws:servicecatalog/provisionedProduct:.*", "a product of Service Catalog"),
        (r"aws:batch/computeEnvironment:.*", "a compute environment of Batch"),
        (r"spotinst:aws/(?:ocean|elastigroup|managedInstance)[A-Za-z]*:.*", "Spot by Flexera"),
        (r"rancher2:index/(?:cluster|machineConfig|nodePool)(?:V2)?:.*", "Rancher"),
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
    if token in (*STACKS, *NATIVE_STACKS):
        return _of_template(template_of(props))
    if token == CLOUD_CONTROL:
        return _of_cloud_control(at_top(props, "typeName"))
    if _COMMANDS.fullmatch(token):
        return _of_command(props)
    if token in _MACHINES:
        return _of_machine(props)
    found = _of_service(token, props) or _of_pods(token, props) or _by_token(token)
    if token == _BATCH:
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
    if token.startswith(NATIVE):
        kind = native_type(token)
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
    by_properties = token in (*STACKS, *NATIVE_STACKS, CLOUD_CONTROL, *_MACHINES)
    runs = _COMMANDS.fullmatch(token) or _TASKS.fullmatch(token) or token == _PIPELINE
    runs = runs or any(kind.fullmatch(token) for kind, *_ in _BY_SERVICES)
    kind, *_ = kind_of(token) or (None,)
    runs = runs or (kind is not None and (kind in POD_TEMPLATES or is_theirs(kind)))
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


_RUNBOOKS = ("name", "taskArn", "arn", "input")
"""Where a runbook is named; what is not known there is mostly another thing."""


def _of_service(token: str, props: Any) -> MadeElsewhere | None:
    """What a service of AWS runs: texts of its resource, or parameters of one of AWS's."""
    for kind, what, places in _BY_SERVICES:
        if kind.fullmatch(token):
            given = [at(at_top(props, key), *path) for key, *path in places]
            if has_unknown(given):
                return MadeElsewhere(what, unknown=True)
            told = json.dumps([*given, *map(partial(at_top, props), _RUNBOOKS)], default=str)
            found = TOOLS.search(told) or CALLS.search(told) or CALLS.search(_steps(given))
            return MadeElsewhere(what, (found[0].strip(),)) if found else None
    if token == _PIPELINE and _DEPLOYS.search(json.dumps(at_top(props, "stages"), default=str)):
        return MadeElsewhere("a pipeline")
    if _TASKS.fullmatch(token):
        told = json.dumps([at_top(props, key) for key in _OF_TASKS], default=str)
        given = [at_top(props, key) for key in _OF_TASKS]
        found = BY_NAME.search(f"{_BETWEEN.sub(' ', told)} {_tasks(given)}")
        return MadeElsewhere("a task of AWS", (found[0].strip(),)) if found else None
    return None


def _steps(given: Sequence[Any]) -> str:
    """What steps of a runbook call, whose service and API stand there in any order."""
    found = [
        {str(key).lower(): value for key, value in step.items()}
        for written in given
        for _, step in walk(loaded(written) if isinstance(written, str) else None)
    ]
    return "; ".join(f"Service: {at(step, 'service')} Api: {at(step, 'api')}" for step in found)


def _tasks(given: Sequence[Any]) -> str:
    """What containers of a task run, with their images before the words as in pods."""
    return "; ".join(
        " ".join((*_program_of(container), *map(str, items(at(container, "command")))))
        for written in given
        for _, container in walk(loaded(written) if isinstance(written, str) else None)
        if isinstance(container.get("image"), str)
    )


def _program_of(container: Mapping[str, Any]) -> tuple[str, ...]:
    """What runs in a container, by its image and by what is said in place of that."""
    image = repository_of(container["image"]).rpartition("/")[2]
    return (_CLI.get(image, image), *map(str, items(at(container, "entryPoint"))))


def _of_pods(token: str, props: Any) -> MadeElsewhere | None:
    """What containers run, by their image and their words."""
    for obj in objects_of(token, props):
        if obj.kind in POD_TEMPLATES:
            holders = [at(t.spec, key) for t in pod_templates(obj) for key in _CONTAINERS]
        else:
            holders = [obj.body] if _RUNNING.fullmatch(obj.kind.group) else []
        for _, container in walk(holders):
            if isinstance(container.get("image"), str):
                script = [str(container.get(key) or "") for key in ("source", "script")]
                words = (*_program_of(container), *words_of(container), *script)
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


TOKENS = (*STACKS, CLOUD_CONTROL, "command:local:Command", "command:remote:Command")
"""The types that may be right, for the documentation; others never are."""
